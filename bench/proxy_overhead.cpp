// What going through Hearth costs against talking to the same engine process directly.
//
// Pairs: in every round the same number of clients asks once directly and once through Hearth, the order alternating,
// so that a drift of the machine meets both alike. Reports per number of clients the median TTFT and token rate of both
// ways, and the median over rounds of the paired difference. `bench/run_proxy_overhead` sets everything up.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/statistics.h"
#include "bench/stream_client.h"

namespace {

using namespace hearth;
using Json = nlohmann::ordered_json;

struct Options {
  std::string engine;
  std::string hearth;
  std::string model;
  std::vector<int> clients = {1, 32};
  int rounds = 15;
  int tokens = 64;
  std::string json;
};

// The medians over the clients of one batch.
struct Batch {
  double ttft_ms = 0;
  double tokens_per_s = 0;
};

struct Series {
  std::vector<double> ttft_ms;
  std::vector<double> tokens_per_s;
  void add(const Batch& batch) {
    ttft_ms.push_back(batch.ttft_ms);
    tokens_per_s.push_back(batch.tokens_per_s);
  }
};

Batch run_batch(const std::string& address, const Options& options, int clients, int serial) {
  rt::asio::io_context io(1);
  std::vector<double> ttft;
  std::vector<double> rate;
  const auto endpoint = bench::endpoint_of(address);
  for (int client = 0; client < clients; ++client) {
    // Equal length and no common prefix: every request prefills the same number of tokens.
    const std::string unique = fmt::format("{:06}{:03}", serial, client);
    rt::asio::co_spawn(io, bench::timed_chat(endpoint, options.model, unique, options.tokens),
                       [&](std::exception_ptr failure, bench::Timing timing) {
                         if (failure) std::rethrow_exception(failure);
                         ttft.push_back(timing.ttft_ms);
                         rate.push_back(timing.tokens_per_s);
                       });
  }
  io.run();
  return {.ttft_ms = bench::quantile(ttft, 0.5), .tokens_per_s = bench::quantile(rate, 0.5)};
}

Json spread_json(const bench::Spread& spread) {
  return {{"p25", spread.p25}, {"median", spread.median}, {"p75", spread.p75}};
}

Json report(int clients, const Series& direct, const Series& hearth) {
  std::vector<double> ttft_difference;
  std::vector<double> rate_ratio;
  for (std::size_t i = 0; i < direct.ttft_ms.size(); ++i) {
    ttft_difference.push_back(hearth.ttft_ms[i] - direct.ttft_ms[i]);
    rate_ratio.push_back(hearth.tokens_per_s[i] / direct.tokens_per_s[i]);
  }
  const auto difference = bench::spread_of(ttft_difference);
  const auto ratio = bench::spread_of(rate_ratio);
  fmt::print("{:>7} | {:>10.2f} {:>10.2f} {:>+9.2f} [{:+.2f} {:+.2f}] | {:>9.1f} {:>9.1f} {:>7.4f} [{:.4f} {:.4f}]\n",
             clients, bench::quantile(direct.ttft_ms, 0.5), bench::quantile(hearth.ttft_ms, 0.5), difference.median,
             difference.p25, difference.p75, bench::quantile(direct.tokens_per_s, 0.5),
             bench::quantile(hearth.tokens_per_s, 0.5), ratio.median, ratio.p25, ratio.p75);
  return {{"clients", clients},
          {"rounds", direct.ttft_ms.size()},
          {"direct",
           {{"ttft_ms", spread_json(bench::spread_of(direct.ttft_ms))},
            {"tokens_per_s", spread_json(bench::spread_of(direct.tokens_per_s))}}},
          {"hearth",
           {{"ttft_ms", spread_json(bench::spread_of(hearth.ttft_ms))},
            {"tokens_per_s", spread_json(bench::spread_of(hearth.tokens_per_s))}}},
          {"ttft_difference_ms", spread_json(difference)},
          {"tokens_per_s_ratio", spread_json(ratio)}};
}

Json measure(const Options& options, int clients, int& serial) {
  Series direct;
  Series hearth;
  run_batch(options.engine, options, clients, serial++);  // one uncounted pair
  run_batch(options.hearth, options, clients, serial++);
  for (int round = 0; round < options.rounds; ++round) {
    const bool direct_first = round % 2 == 0;
    if (direct_first) direct.add(run_batch(options.engine, options, clients, serial++));
    hearth.add(run_batch(options.hearth, options, clients, serial++));
    if (!direct_first) direct.add(run_batch(options.engine, options, clients, serial++));
  }
  return report(clients, direct, hearth);
}

int run(const Options& options) {
  fmt::print("clients |  TTFT ms: direct  hearth   difference [p25 p75]  | tokens/s: direct hearth  ratio [p25 p75]\n");
  Json results = Json::array();
  int serial = 0;
  for (const int clients : options.clients)
    results.push_back(measure(options, clients, serial));
  if (!options.json.empty())
    std::ofstream(options.json)
        << Json{{"benchmark", "proxy_overhead"}, {"tokens", options.tokens}, {"results", results}}.dump(2) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Cost of going through Hearth, against the same engine directly");
  app.add_option("--engine", options.engine, "unix:PATH or HOST:PORT of the engine")->required();
  app.add_option("--hearth", options.hearth, "HOST:PORT of the server")->required();
  app.add_option("--model", options.model, "Model id")->required();
  app.add_option("--clients", options.clients, "Numbers of clients")->delimiter(',');
  app.add_option("--rounds", options.rounds, "Counted rounds")->check(CLI::Range(1, 1000));
  app.add_option("--tokens", options.tokens, "Tokens an answer")->check(CLI::Range(2, 4096));
  app.add_option("--json", options.json, "File for the results");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "proxy_overhead: " << error.what() << "\n";
    return 1;
  }
}
