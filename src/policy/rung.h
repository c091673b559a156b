#pragma once
// The ways in which a model can be held, from ready to not at all, and what each costs: bytes that it keeps, and
// seconds from there until a request can be sent to the engine. Every number is measured or estimated by the caller.
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "policy/footprint.h"

namespace hearth::policy {

enum class Rung {
  serving,     // process up, weights resident, context as asked for
  shrunk,      // the same with a smaller context or fewer layers on the device
  hibernated,  // process up, weights out of memory
  pages,       // no process, its files in the page cache
  cold         // nothing held in memory
};
inline constexpr std::array kAllRungs = {Rung::serving, Rung::shrunk, Rung::hibernated, Rung::pages, Rung::cold};
[[nodiscard]] std::string_view name_of(Rung rung);
[[nodiscard]] std::optional<Rung> rung_named(std::string_view name);
// What is done to get a model down there, as events and sentences say it: "hibernate", "stop", "drop pages", …
[[nodiscard]] std::string_view demotion_to(Rung rung);

struct RungCost {
  Rung rung = Rung::cold;
  Footprint bytes;
  double ready_s = 0;
};

// The rungs that this model has here, warmest first; a rung that the machine cannot give is not in it.
class Ladder {
 public:
  Ladder() = default;
  // REQUIRES: descending warmth, at most one of each, the last is cold.
  Ladder(std::initializer_list<RungCost> rungs);
  void add(const RungCost& rung);

  [[nodiscard]] std::span<const RungCost> rungs() const { return std::span(rungs_).first(size_); }
  [[nodiscard]] const RungCost* find(Rung rung) const;
  // Those that are colder than `rung`.
  [[nodiscard]] std::span<const RungCost> below(Rung rung) const;
  [[nodiscard]] Footprint bytes_at(Rung rung) const;  // nothing for a rung that it does not have
  [[nodiscard]] double ready_s_at(Rung rung) const;   // that of the next colder one for a rung that it does not have

 private:
  std::array<RungCost, kAllRungs.size()> rungs_;
  std::size_t size_ = 0;
};

}  // namespace hearth::policy
