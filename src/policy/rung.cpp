#include "policy/rung.h"

#include <stdexcept>

#include "domain/named.h"

namespace hearth::policy {

std::string_view name_of(Rung rung) {
  switch (rung) {
    case Rung::serving:
      return "serving";
    case Rung::shrunk:
      return "shrunk";
    case Rung::hibernated:
      return "hibernated";
    case Rung::pages:
      return "pages";
    case Rung::cold:
      return "cold";
  }
  return "cold";
}

std::optional<Rung> rung_named(std::string_view name) { return domain::find_named(kAllRungs, name); }

std::string_view demotion_to(Rung rung) {
  switch (rung) {
    case Rung::serving:
      return "keep";
    case Rung::shrunk:
      return "shrink";
    case Rung::hibernated:
      return "hibernate";
    case Rung::pages:
      return "stop";
    case Rung::cold:
      return "drop";
  }
  return "drop";
}

Ladder::Ladder(std::initializer_list<RungCost> rungs) {
  for (const auto& rung : rungs)
    add(rung);
}

void Ladder::add(const RungCost& rung) {
  if (size_ == rungs_.size() || (size_ > 0 && rungs_[size_ - 1].rung >= rung.rung))
    throw std::logic_error("the rungs of a ladder descend");
  rungs_[size_++] = rung;
}

const RungCost* Ladder::find(Rung rung) const {
  const auto found = std::ranges::find(rungs(), rung, &RungCost::rung);
  return found == rungs().end() ? nullptr : &*found;
}

std::span<const RungCost> Ladder::below(Rung rung) const {
  const auto first = std::ranges::find_if(rungs(), [rung](const RungCost& cost) { return cost.rung > rung; });
  return {first, rungs().end()};
}

Footprint Ladder::bytes_at(Rung rung) const {
  const auto* found = find(rung);
  return found == nullptr ? Footprint{} : found->bytes;
}

double Ladder::ready_s_at(Rung rung) const {
  const auto found = std::ranges::find_if(rungs(), [rung](const RungCost& cost) { return cost.rung >= rung; });
  return found == rungs().end() ? 0 : found->ready_s;
}

}  // namespace hearth::policy
