// What going through Hearth costs against talking to the same engine process directly, and what it costs to go through
// a program that only copies bytes (plain_forwarder): the least that anything in between takes on this machine.
//
// Pairs: in every round the same number of clients asks once each way, the first of them changing from round to round,
// so that a drift of the machine meets all alike. Reports per number of clients the median TTFT and token rate of each
// way, and the median over rounds of the difference from the direct way. `bench/run_proxy_overhead` sets everything up.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
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
  std::string floor;  // of the forwarder; empty: left out
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

struct Way {
  const char* name;
  std::string address;
  Series series = {};
};

Json series_json(const Series& series) {
  return {{"ttft_ms", spread_json(bench::spread_of(series.ttft_ms))},
          {"tokens_per_s", spread_json(bench::spread_of(series.tokens_per_s))}};
}

// One way against the direct one.
Json compare(int clients, const Series& direct, const Way& way) {
  std::vector<double> ttft_difference;
  std::vector<double> rate_ratio;
  for (std::size_t i = 0; i < direct.ttft_ms.size(); ++i) {
    ttft_difference.push_back(way.series.ttft_ms[i] - direct.ttft_ms[i]);
    rate_ratio.push_back(way.series.tokens_per_s[i] / direct.tokens_per_s[i]);
  }
  const auto difference = bench::spread_of(ttft_difference);
  const auto ratio = bench::spread_of(rate_ratio);
  fmt::print(
      "{:>7} {:>9} | {:>9.2f} {:>9.2f} {:>+9.2f} [{:+.2f} {:+.2f}] | {:>8.1f} {:>8.1f} {:>7.4f} [{:.4f} {:.4f}]\n",
      clients, way.name, bench::quantile(direct.ttft_ms, 0.5), bench::quantile(way.series.ttft_ms, 0.5),
      difference.median, difference.p25, difference.p75, bench::quantile(direct.tokens_per_s, 0.5),
      bench::quantile(way.series.tokens_per_s, 0.5), ratio.median, ratio.p25, ratio.p75);
  std::fflush(stdout);  // a row may take minutes
  Json json = series_json(way.series);
  json["ttft_difference_ms"] = spread_json(difference);
  json["tokens_per_s_ratio"] = spread_json(ratio);
  return json;
}

Json measure(const Options& options, int clients, int& serial) {
  std::vector<Way> ways = {{"direct", options.engine}, {"hearth", options.hearth}};
  if (!options.floor.empty()) ways.push_back({"forwarder", options.floor});
  for (const Way& way : ways)
    run_batch(way.address, options, clients, serial++);  // uncounted
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t turn = 0; turn < ways.size(); ++turn) {
      Way& way = ways[(static_cast<std::size_t>(round) + turn) % ways.size()];
      way.series.add(run_batch(way.address, options, clients, serial++));
    }
  }
  Json result = {{"clients", clients}, {"rounds", options.rounds}, {"direct", series_json(ways[0].series)}};
  for (std::size_t i = 1; i < ways.size(); ++i)
    result[ways[i].name] = compare(clients, ways[0].series, ways[i]);
  return result;
}

int run(const Options& options) {
  fmt::print(
      "clients   through | TTFT ms: direct, through, difference [p25 p75]  | tokens/s: direct, through, ratio [p25 "
      "p75]\n");
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
  app.add_option("--floor", options.floor, "HOST:PORT of plain_forwarder, to compare with");
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
