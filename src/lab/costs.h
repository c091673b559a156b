#pragma once
// What holding and readying a model costs, as a function of its size: the line through what was measured.
//
// Measured on a 2-core AVX-512 machine with llama-server and a 703 MB Q4_0 model, paired runs, medians (docs/lab.md):
// time to first token 0.18 s resident; 3.9 s after a stock restart with the file in the page cache; 1.8 s restarted
// with packed weights and everything cold; 0.62 s from hibernation with cold pages. Of a restart 1.2 s do not depend on
// the size of the weights (process, vocabulary, context, warm-up run); the rest is taken as proportional to it.
#include <optional>

#include "policy/rung.h"

namespace hearth::lab {

struct CostModel {
  double restart_s = 1.2;                 // process, vocabulary, context, warm-up: any restart
  double stock_s_per_gb = 2.52 / 0.703;   // repacking, file in the page cache
  double packed_s_per_gb = 0.42 / 0.703;  // reading packed weights from storage
  double wake_s_per_gb = 0.44 / 0.703;    // hibernated, pages cold
  double mapped_share = 0.2;              // of the file that stays mapped beside the weights (147 of 703 MB)
  double first_token_s = 0.07;            // template, tokenising, first decode
  double prefill_per_s = 186;             // tokens, for 0.703 GB of weights; inversely proportional to size
  double decode_per_s = 44;
};

// What one model was measured to cost on one machine, in place of the line.
struct MeasuredCosts {
  policy::Ladder ladder;  // seconds of a rung: what its request waits longer than one of a serving model
  double first_token_s = 0;
  double prefill_per_s = 0;  // tokens; more than 0
  double decode_per_s = 0;   // more than 0
  double sleep_s = 0;        // until its weights have left
  double stop_s = 0;         // until its engine is gone
};

struct ModelSize {
  double weights_gb = 0.703;
  double context_gb = 0.09;                              // KV and compute buffers
  double overhead_gb = 0.1;                              // the process besides
  std::optional<MeasuredCosts> measured = std::nullopt;  // wins over the rest
};

// Every rung that Hearth has: serving, hibernated, cold (packed); or those that were measured.
[[nodiscard]] policy::Ladder layered(const ModelSize& size, const CostModel& costs);
// What a server has that can only start and stop a stock engine: serving, cold. Its files count as cached for free.
// Where costs were measured, a start and a stop cost what they cost there.
[[nodiscard]] policy::Ladder stock(const ModelSize& size, const CostModel& costs);
// How long it takes until a model has given up what it has above that rung; nothing where that was not measured.
[[nodiscard]] double leave_s(const ModelSize& size, policy::Rung to);
// Seconds of a request on a warm engine: until its first token, and in all.
[[nodiscard]] double first_token_s(const ModelSize& size, const CostModel& costs, double prompt_tokens);
[[nodiscard]] double busy_s(const ModelSize& size, const CostModel& costs, double prompt_tokens,
                            double generated_tokens);

}  // namespace hearth::lab
