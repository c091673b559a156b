#include "cli/explain.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text.h"

namespace hearth::cli {
namespace {

using domain::Layer;

constexpr std::size_t kLongestQuote = 200;

std::string quoted(std::string_view text) { return base::printable(text, kLongestQuote); }

// What was going on while the layer was missed.
std::string_view work_of(Layer layer) {
  switch (layer) {
    case Layer::artifact:
      return "fetching the model's file";
    case Layer::pages:
      return "reading the model from storage";
    case Layer::packed:
      return "repacking the weights";
    case Layer::process:
      return "starting the engine process";
    case Layer::weights:
      return "loading the weights";
    case Layer::device:
      return "uploading the weights to the device";
    case Layer::kernels:
      return "compiling kernels";
    case Layer::prefix:
      return "evaluating a prompt that was not held";
    case Layer::power:
      return "waking the hardware";
  }
  return "";
}

// "process_stopped" -> "process stopped"
std::string words_of(std::string_view event) {
  std::string words = quoted(event);
  for (char& c : words) {
    if (c == '_') c = ' ';
  }
  return words;
}

std::string happening_of(const domain::CausalEvent& event) {
  if (event.event == "process_stopped") return "its engine was stopped";
  if (event.event == "process_failed") return "its engine failed";
  if (event.event == "hibernated") return "it was hibernated";
  return fmt::format("of \"{}\"", words_of(event.event));
}

std::string because_of(const domain::CausalEvent& event) {
  if (event.event == "never_started") return "the model had not been started since the server came up";
  std::string text = fmt::format("{} at {}", happening_of(event), quoted(event.at));
  if (event.by) text += fmt::format(" ({})", quoted(*event.by));
  if (event.for_whom) text += fmt::format(" for {}", quoted(*event.for_whom));
  return text;
}

std::string remedy_of(const domain::Remedy& remedy) {
  const std::string detail =
      remedy.detail.empty() ? std::string(domain::name_of(remedy.action)) : quoted(remedy.detail);
  if (remedy.action == domain::RemedyAction::accept) return "to be accepted: " + detail;
  return "to avoid it: " + detail;
}

std::string start_of(const domain::RequestRecord& record) {
  if (record.ttft_ms) return fmt::format("{} to the first token", format_ms(*record.ttft_ms));
  const bool failed = record.error || record.status >= 400;
  return fmt::format("{} {}", format_ms(record.total_ms), failed ? "and no token" : "for the whole answer");
}

std::string cause_of(const domain::RequestRecord& record) {
  if (!record.cause) return record.error ? fmt::format("it failed: {}", quoted(*record.error)) : "no layer missed";
  const auto& cause = *record.cause;
  const std::string_view guess = cause.confidence == domain::Confidence::inferred ? ", as far as can be told," : "";
  std::string text = fmt::format("{} ({:.0f} %) of {} was{} {}", format_ms(cause.ms), cause.share * 100,
                                 record.ttft_ms ? "it" : "the wait", guess, work_of(cause.layer));
  if (!cause.because.empty()) text += ", because " + because_of(cause.because.front());
  return text + "; " + remedy_of(cause.remedy);
}

}  // namespace

std::string format_ms(double ms) {
  if (ms >= 9999.5) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms < 9.95 ? 1 : 0);
}

std::string explain_sentence(const domain::RequestRecord& record) {
  const std::string promise = record.cold_start ? fmt::format("; for class {}, {}", name_of(record.service_class),
                                                              quoted(record.cold_start->why))
                                                : "";
  return fmt::format("{}; {}{}.", start_of(record), cause_of(record), promise);
}

}  // namespace hearth::cli
