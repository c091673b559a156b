// make_model: a GGUF file of any llama shape with random weights (docs/make-model.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "tools/make_model/model_file.h"
#include "tools/make_model/progress.h"

namespace {

using namespace hearth;
using namespace hearth::make_model;

std::atomic<bool> stop = false;

struct Options {
  std::string out;
  Shape shape;
};

void declare(CLI::App& app, Options& options) {
  const std::map<std::string, WeightType> types = {
      {"q4_0", WeightType::q4_0}, {"q8_0", WeightType::q8_0}, {"f16", WeightType::f16}, {"q4_k", WeightType::q4_k}};
  auto& shape = options.shape;
  app.add_option("--out", options.out, "File to write; replaced when it is there")->required();
  app.add_option("--layers", shape.layers, "Transformer blocks")->required();
  app.add_option("--embd", shape.embd, "Embedding length")->required();
  app.add_option("--ff", shape.ff, "Feed-forward length")->required();
  app.add_option("--heads", shape.heads, "Attention heads")->required();
  app.add_option("--kv-heads", shape.kv_heads, "Key and value heads")->required();
  app.add_option("--vocab", shape.vocab, "Tokens, at least 260")->required();
  const auto choose_type = [&shape, types](const std::string& name) {
    const auto found = types.find(name);
    if (found == types.end()) throw CLI::ValidationError("--type " + name, "it must be q4_0, q8_0, f16 or q4_k");
    shape.type = found->second;
  };
  app.add_option_function<std::string>("--type", choose_type, "Type of the weights: q4_0, q8_0, f16 or q4_k")
      ->required();
  app.add_option("--seed", shape.seed, "The same seed and shape give the same bytes")->required();
  app.add_option("--context", shape.context, "Context length the file claims")->capture_default_str();
  app.add_option("--rope-base", shape.rope_base, "Base of the rotary frequencies")->capture_default_str();
  app.add_option("--sliding-window", shape.sliding_window,
                 "Tokens that five layers of six look back (0: all see everything)")
      ->capture_default_str();
  app.add_flag("--untied", shape.untied, "Give the output a matrix of its own instead of the embedding's");
}

int complain(int status, std::string_view sentence) {
  fmt::print(stderr, "make_model: {}\n", sentence);
  return status;
}

int make(const Options& options) {
  if (auto good = check(options.shape); !good) return complain(2, good.error().message);
  const Plan plan = plan_for(options.shape);
  const base::SystemClock clock;
  Progress progress(file_bytes(plan), clock, stderr);
  const auto written = write_model(
      plan, options.out, [&](base::Bytes bytes) { progress.done(bytes); }, stop);
  progress.finish();
  if (!written) return complain(1, written.error().message);
  fmt::print("{}: {}\n", options.out, base::format_bytes(file_bytes(plan)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, [](int) { stop = true; });
  CLI::App app("Writes a GGUF model of the llama architecture, of any shape, with seeded random weights.",
               "make_model");
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(2, fmt::format("{}; see make_model --help", error.what()));
  }
  return make(options);
}
