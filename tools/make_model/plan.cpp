#include "tools/make_model/plan.h"

#include <fmt/format.h>

namespace hearth::make_model {
namespace {

constexpr std::uint32_t kF32 = 0;

class Tensors {
 public:
  explicit Tensors(Plan& plan) : plan_(plan) {}

  void matrix(std::string name, std::uint64_t columns, std::uint64_t rows) {
    const auto& layout = layout_of(plan_.type);
    add({.name = std::move(name),
         .dimensions = {columns, rows},
         .norm = false,
         .bytes = columns / layout.block_elements * layout.block_bytes * rows},
        layout.number);
  }
  void norm(std::string name, std::uint64_t length) {
    add({.name = std::move(name), .dimensions = {length}, .norm = true, .bytes = length * sizeof(float)}, kF32);
  }

 private:
  void add(TensorPlan tensor, std::uint32_t type) {
    plan_.head.tensor(tensor.name, tensor.dimensions, type, tensor.bytes);
    plan_.tensors.push_back(std::move(tensor));
  }
  Plan& plan_;
};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

void describe(const Shape& shape, const std::string& architecture, GgufHead& head) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", architecture, name); };
  const auto& layout = layout_of(shape.type);
  head.text("general.architecture", architecture);
  head.text("general.type", "model");
  head.text("general.name", fmt::format("Random {} {}x{} {} (seed {})", architecture, shape.layers, shape.embd,
                                        layout.name, shape.seed));
  head.number("general.file_type", layout.file_type);
  head.number("general.quantization_version", 2);
  head.number(key("block_count"), u32(shape.layers));
  head.number(key("context_length"), u32(shape.context));
  head.number(key("embedding_length"), u32(shape.embd));
  head.number(key("feed_forward_length"), u32(shape.ff));
  head.number(key("attention.head_count"), u32(shape.heads));
  head.number(key("attention.head_count_kv"), u32(shape.kv_heads));
  head.real(key("attention.layer_norm_rms_epsilon"), 1e-5F);
  head.number(key("rope.dimension_count"), u32(shape.head_size()));
  head.real(key("rope.freq_base"), static_cast<float>(shape.rope_base));
  head.number(key("vocab_size"), u32(shape.vocab));
  if (shape.sliding_window == 0) return;
  head.number(key("attention.sliding_window"), u32(shape.sliding_window));
  head.number(key("attention.key_length"), u32(shape.head_size()));
  head.number(key("attention.value_length"), u32(shape.head_size()));
}

void describe(const Vocabulary& vocabulary, GgufHead& head) {
  head.text("tokenizer.ggml.model", "gpt2");
  head.text("tokenizer.ggml.pre", "llama-bpe");
  head.texts("tokenizer.ggml.tokens", vocabulary.tokens);
  head.numbers("tokenizer.ggml.token_type", vocabulary.types);
  head.texts("tokenizer.ggml.merges", vocabulary.merges);
  head.number("tokenizer.ggml.bos_token_id", vocabulary.begin_of_text);
  head.number("tokenizer.ggml.eos_token_id", vocabulary.end_of_text);
  head.number("tokenizer.ggml.eot_token_id", vocabulary.turn_end);
  head.flag("tokenizer.ggml.add_bos_token", true);
  head.text("tokenizer.chat_template", chat_template());
}

void add_block(const Shape& shape, std::uint64_t index, Tensors& tensors) {
  const auto name = [index](std::string_view part) { return fmt::format("blk.{}.{}.weight", index, part); };
  const std::uint64_t kv = shape.kv_heads * shape.head_size();
  tensors.norm(name("attn_norm"), shape.embd);
  tensors.matrix(name("attn_q"), shape.embd, shape.embd);
  tensors.matrix(name("attn_k"), shape.embd, kv);
  tensors.matrix(name("attn_v"), shape.embd, kv);
  tensors.matrix(name("attn_output"), shape.embd, shape.embd);
  tensors.norm(name("ffn_norm"), shape.embd);
  tensors.matrix(name("ffn_gate"), shape.embd, shape.ff);
  tensors.matrix(name("ffn_up"), shape.embd, shape.ff);
  tensors.matrix(name("ffn_down"), shape.ff, shape.embd);
  if (shape.sliding_window == 0) return;
  tensors.norm(name("attn_q_norm"), shape.head_size());
  tensors.norm(name("attn_k_norm"), shape.head_size());
  tensors.norm(name("post_attention_norm"), shape.embd);
  tensors.norm(name("post_ffw_norm"), shape.embd);
}

Plan plan_of(const Shape& shape, const std::string& architecture) {
  Plan plan{.type = shape.type, .seed = shape.seed, .head = {}, .tensors = {}};
  describe(shape, architecture, plan.head);
  describe(make_vocabulary(shape.vocab), plan.head);
  Tensors tensors(plan);
  tensors.matrix("token_embd.weight", shape.embd, shape.vocab);
  for (std::uint64_t index = 0; index < shape.layers; ++index)
    add_block(shape, index, tensors);
  tensors.norm("output_norm.weight", shape.embd);
  if (shape.untied) tensors.matrix("output.weight", shape.embd, shape.vocab);
  return plan;
}

}  // namespace

Plan llama_plan(const Shape& shape) { return plan_of(shape, "llama"); }
Plan sliding_window_plan(const Shape& shape) { return plan_of(shape, "gemma3"); }
Plan plan_for(const Shape& shape) { return shape.sliding_window > 0 ? sliding_window_plan(shape) : llama_plan(shape); }

}  // namespace hearth::make_model
