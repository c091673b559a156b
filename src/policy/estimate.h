#pragma once
// What a load of a model will take: learnt from what earlier loads took, per model and options.
//
// The first load is estimated from the file (the caller's `prior`). From the second load on the estimate is what was
// measured. For options never loaded, what does not depend on the context (weights, overhead) comes from the same
// model's other loads, the rest from the prior, scaled by how far the prior was off. What was learnt of a file of
// another size (the prior's weights) counts for nothing. The engine's prompt cache is what it is given this time: the
// prior's.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/model_id.h"
#include "policy/ledger.h"

namespace hearth::policy {

struct LoadOptions {
  std::uint64_t context = 0;
  unsigned slots = 1;
  int device_layers = 0;
  std::string other;  // whatever else changes the size (KV type, projector), in a fixed order

  friend auto operator<=>(const LoadOptions&, const LoadOptions&) = default;
};

struct Estimate {
  Claim claim;
  std::size_t measured_times = 0;  // with these very options
  std::string basis;               // for people
};

// What is known of one model with certain options.
struct Learnt {
  domain::ModelId id;
  LoadOptions options;
  Claim measured;  // the most that a load took
  Claim prior;     // what the file promised then
  std::size_t times = 0;

  friend bool operator==(const Learnt&, const Learnt&) = default;
};

class Estimator {
 public:
  static constexpr std::size_t kMostEntries = 1024;  // beyond, the one learnt longest ago goes

  [[nodiscard]] Estimate estimate(const domain::ModelId& id, const LoadOptions& options, const Claim& prior) const;
  // What a running engine took at most, `prior` being what the file promised.
  void learn(const domain::ModelId& id, const LoadOptions& options, const Claim& measured, const Claim& prior);
  // As an earlier run left it.
  void restore(const Learnt& learnt);
  // Empty: nothing.
  [[nodiscard]] std::optional<Learnt> learnt(const domain::ModelId& id, const LoadOptions& options) const;
  void forget(const domain::ModelId& id);  // its file changed
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    Claim claim;
    Claim prior;
    std::size_t times = 0;
    std::uint64_t order = 0;
  };
  using Key = std::pair<domain::ModelId, LoadOptions>;
  [[nodiscard]] const Known* nearest(const domain::ModelId& id, const LoadOptions& options, const Claim& prior) const;
  void keep(const Key& key, Known known);
  std::map<Key, Known> known_;
  std::uint64_t learnt_ = 0;
};

// Bytes of a transformer's KV cache: 2 tensors x layers x KV heads x head size x context x bytes of an element. Holds
// for full attention; for a sliding window it is an upper bound.
struct KvShape {
  std::uint64_t layers = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t key_size = 0;    // per head
  std::uint64_t value_size = 0;  // per head
  double element_bytes = 2;

  [[nodiscard]] double bytes_per_token() const;
};

}  // namespace hearth::policy
