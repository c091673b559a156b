#include "cli/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/explain.h"
#include "cli/time_axis.h"

namespace hearth::cli {
namespace {

using domain::Stage;

constexpr std::size_t kNarrowest = 50;
constexpr std::size_t kWidest = 200;
constexpr std::size_t kWideEnoughForNotes = 72;
constexpr std::size_t kLeft = 37;   // indent, stage, ms, share, gap
constexpr std::size_t kBytes = 9;   // " 703.2 MB"
constexpr std::size_t kSource = 7;  // " hearth"
constexpr double kLeastShownMs = 0.05;

bool is_shown(const domain::StageSpan& span) { return span.critical_ms >= kLeastShownMs || span.ms >= kLeastShownMs; }

// In the order in which they began.
std::vector<domain::StageSpan> shown_stages(const domain::RequestRecord& record) {
  std::vector<domain::StageSpan> shown;
  std::ranges::copy_if(record.stages, std::back_inserter(shown), is_shown);
  std::ranges::stable_sort(shown, {}, &domain::StageSpan::start_ms);
  return shown;
}

struct Sheet {
  const domain::RequestRecord& record;
  WaterfallStyle style;
  bool notes = false;  // source, and bytes where there are any
  bool bytes = false;
  TimeAxis axis;
};

std::size_t bar_width(std::size_t columns, bool notes, bool bytes) {
  return columns - kLeft - (notes ? 1 + kSource : 0) - (bytes ? kBytes : 0);
}

Sheet sheet_of(const domain::RequestRecord& record, WaterfallStyle style) {
  style.columns = std::clamp(style.columns, kNarrowest, kWidest);
  const bool notes = style.columns >= kWideEnoughForNotes;
  const bool bytes =
      notes && std::ranges::any_of(record.stages, [](const auto& span) { return is_shown(span) && span.bytes; });
  return {record, style, notes, bytes, TimeAxis(record, bar_width(style.columns, notes, bytes))};
}

std::string right_trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string_view colour_of(Stage stage) {
  switch (stage) {
    case Stage::artifact_fetch:
    case Stage::storage_read:
    case Stage::process_start:
    case Stage::weights_load:
    case Stage::device_upload:
    case Stage::kernel_compile:
      return "33";
    case Stage::chat_template:
    case Stage::tokenize:
    case Stage::prefix_restore:
    case Stage::prefill:
    case Stage::first_decode:
      return "36";
    case Stage::decode:
      return "32";
    case Stage::queue:
    case Stage::admission:
    case Stage::other:
      return "35";
  }
  return "0";
}

std::string coloured(const Sheet& sheet, std::string_view colour, std::string_view text) {
  return sheet.style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
}

std::string headline(const domain::RequestRecord& record) {
  std::string line = record.model ? base::printable(*record.model, 80) : "no model";
  line += record.ttft_ms
              ? fmt::format(": first token {}, total {}", format_ms(*record.ttft_ms), format_ms(record.total_ms))
              : fmt::format(": total {}", format_ms(record.total_ms));
  if (record.tokens) {
    line += fmt::format("; tokens: {} in ({} cached), {} out", record.tokens->prompt, record.tokens->cached,
                        record.tokens->generated);
  }
  if (record.decode_tokens_per_s) line += fmt::format(", {:.1f}/s", *record.decode_tokens_per_s);
  return line;
}

// "first token ▼", its arrow above the cell of the first token.
std::string arrow_line(const Sheet& sheet) {
  const auto cell = sheet.axis.first_token();
  if (!cell) return "";
  constexpr std::string_view kLabel = "first token";
  const std::string_view arrow = sheet.style.ascii ? "v" : "▼";
  if (*cell > kLabel.size()) return fmt::format("{:>{}} {}", kLabel, *cell - 1, arrow);
  const bool fits = *cell + 2 + kLabel.size() <= sheet.axis.width();
  return fmt::format("{:{}}{} {}", "", *cell, arrow, fits ? kLabel : "");
}

std::string heading(const Sheet& sheet) {
  const std::string_view share = sheet.record.ttft_ms ? "of ttft" : "of all";
  return right_trimmed(fmt::format("  {:<14} {:>9}  {:>7}  {}", "stage", "ms", share, arrow_line(sheet)));
}

// Of the time to the first token; what comes after has no share in it.
std::string share_of(const Sheet& sheet, const domain::StageSpan& span) {
  const auto& ttft = sheet.record.ttft_ms;
  const double whole = ttft.value_or(sheet.record.total_ms);
  if (!(whole > 0) || (ttft && span.stage == Stage::decode)) return "";
  return fmt::format("{:.0f} %", 100 * span.critical_ms / whole);
}

// The bar's cells, with the mark of the first token where they are free.
std::string bar(const Sheet& sheet, const domain::StageSpan& span) {
  auto cells = sheet.axis.bar_of(span, sheet.style.ascii);
  const auto mark = sheet.axis.first_token();
  std::string text;
  std::string run;
  const auto end_run = [&] {
    if (!run.empty()) text += coloured(sheet, colour_of(span.stage), run);
    run.clear();
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] != " ") {
      run += cells[i];
      continue;
    }
    end_run();
    text += i == mark ? (sheet.style.ascii ? "|" : "│") : " ";
  }
  end_run();
  return text;
}

std::string row(const Sheet& sheet, const domain::StageSpan& span) {
  std::string line = fmt::format("  {:<14} {:>9.1f}  {:>7}  {}", domain::name_of(span.stage), span.critical_ms,
                                 share_of(sheet, span), bar(sheet, span));
  if (sheet.bytes) line += fmt::format(" {:>8}", span.bytes ? base::format_bytes(*span.bytes) : "");
  if (sheet.notes) line += fmt::format("  {}", domain::name_of(span.source));
  if (sheet.notes && span.saved_ms) line += fmt::format(", saved {:.0f} ms", *span.saved_ms);
  return right_trimmed(std::move(line));
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string lines;
  std::size_t used = 0;
  for (const auto word : base::split(text, ' ')) {
    const bool breaks = used > 0 && used + 1 + word.size() > columns;
    if (used > 0) lines += breaks ? '\n' : ' ';
    used = (used == 0 || breaks ? 0 : used + 1) + word.size();
    lines += word;
  }
  return lines;
}

std::vector<std::string> notes(const Sheet& sheet) {
  std::vector<std::string> lines;
  const auto& stages = sheet.record.stages;
  if (sheet.axis.compressed())
    lines.emplace_back("The axis ends at the first token; decode is drawn compressed behind it.");
  if (std::ranges::any_of(stages, [](const auto& span) { return is_shown(span) && shares_its_time(span); })) {
    lines.push_back(fmt::format("{} overlaps another stage; its ms are its own share.", sheet.style.ascii ? "=" : "▒"));
  }
  return lines;
}

std::string only_ascii(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return text;
}

bool is_set(const char* value) { return value != nullptr && *value != '\0'; }

bool names_utf8(std::string_view locale) {
  const std::string lower = base::to_lower(locale);
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

}  // namespace

WaterfallStyle waterfall_style(bool is_terminal, std::size_t columns, const char* (*environment)(const char*)) {
  WaterfallStyle style;
  if (columns > 0) style.columns = columns;
  const char* term = environment("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  style.colour = is_terminal && !dumb && !is_set(environment("NO_COLOR"));
  style.ascii = true;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = environment(name);
    if (!is_set(locale)) continue;
    style.ascii = !names_utf8(locale);
    break;
  }
  return style;
}

std::string waterfall(const domain::RequestRecord& record, const WaterfallStyle& style) {
  const Sheet sheet = sheet_of(record, style);
  std::vector<std::string> lines = {wrapped(headline(record), sheet.style.columns), heading(sheet)};
  for (const auto& span : shown_stages(record))
    lines.push_back(row(sheet, span));
  for (const auto& note : notes(sheet))
    lines.push_back(wrapped(note, sheet.style.columns));
  lines.push_back(wrapped(explain_sentence(record), sheet.style.columns));
  if (record.start_flags)
    lines.push_back(
        wrapped("its engine was started with " + base::printable(*record.start_flags, 300) + ".", sheet.style.columns));
  const std::string text = base::join(lines, "\n") + "\n";
  return style.ascii ? only_ascii(text) : text;
}

}  // namespace hearth::cli
