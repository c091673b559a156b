#include "keeper/refusal.h"

#include <fmt/format.h>

#include "base/text.h"
#include "domain/json.h"

namespace hearth::keeper {

using base::Error;
using base::ErrorCode;
using domain::Json;

namespace {

constexpr std::chrono::seconds kComeBack{30};

Json numbers_of(const policy::FitVerdict& verdict) {
  return {{"needed", verdict.needed.total()}, {"available", verdict.available.total()}};
}

std::chrono::milliseconds retry_after(const std::optional<base::Duration>& expected) {
  if (!expected) return kComeBack;
  return std::max<std::chrono::milliseconds>(std::chrono::ceil<std::chrono::milliseconds>(*expected),
                                             std::chrono::seconds(1));
}

std::vector<std::string> names_of(std::span<const domain::ModelId> ids) {
  std::vector<std::string> names;
  for (const auto& id : ids)
    names.push_back(id.text());
  return names;
}

// Nothing that it could wait for would happen.
Error kept_forever(const domain::ModelId& id, const policy::FitVerdict& verdict) {
  const auto names = names_of(verdict.kept_forever);
  Json details = numbers_of(verdict);
  details["kept_forever"] = names;
  Error error(ErrorCode::pinned_conflict,
              fmt::format("model {0} needs {1} and {2} can be made available; what is kept forever for a higher class "
                          "has the rest: {3}; give it a keep_alive that ends, or let it go with `hearth cool {4} "
                          "--layer process`",
                          id.text(), format(verdict.needed), format(verdict.available), base::join(names, ", "),
                          names.front()));
  error.details = details.dump();
  return error;
}

}  // namespace

Error never_fits(const domain::ModelId& id, const policy::FitVerdict& verdict,
                 std::span<const domain::ModelId> pinned) {
  if (!verdict.kept_forever.empty()) return kept_forever(id, verdict);
  Json details = numbers_of(verdict);
  details["largest_context"] = verdict.largest_context ? Json(*verdict.largest_context) : Json(nullptr);
  details["smaller_quantisations"] = verdict.smaller_quantisations;
  Error error(ErrorCode::does_not_fit, fmt::format("model {} does not fit: {}", id.text(), verdict.reason));
  if (verdict.pinned_conflict) {
    const auto names = names_of(pinned);
    error.code = ErrorCode::pinned_conflict;
    error.message += fmt::format("; unpin one of them with `hearth unpin {}`", names.empty() ? "MODEL" : names.front());
    details["pinned"] = names;
  }
  error.details = details.dump();
  return error;
}

Error waited_in_vain(const domain::ModelId& id, const policy::FitVerdict& verdict, base::Duration waited) {
  Json details = numbers_of(verdict);
  details["waits_for"] = Json::array();
  for (const auto& one : verdict.waits_for)
    details["waits_for"].push_back({{"model", one.id.text()}, {"why", name_of(one.why)}, {"bytes", one.bytes.total()}});
  const auto code = verdict.waits_for.empty() ? ErrorCode::does_not_fit : ErrorCode::loading;
  Error error(code,
              fmt::format("model {} waited {:.0f} s for memory: {}; ask again later", id.text(),
                          base::to_ms(waited) / 1000, verdict.reason),
              retry_after(verdict.expected_wait));
  error.details = details.dump();
  return error;
}

Error no_place(const domain::ModelId& id, domain::ServiceClass service_class, const policy::QueueVerdict& verdict) {
  Error error(ErrorCode::queue_full, fmt::format("model {}: {}", id.text(), verdict.reason),
              std::chrono::ceil<std::chrono::milliseconds>(verdict.retry_after));
  const Json details = {{"class", name_of(service_class)}};
  error.details = details.dump();
  return error;
}

}  // namespace hearth::keeper
