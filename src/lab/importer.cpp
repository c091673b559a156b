#include "lab/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "domain/named.h"
#include "lab/csv.h"
#include "lab/random.h"

namespace hearth::lab {
namespace {

using base::ErrorCode;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRequests = 20'000'000;
constexpr double kMostTokens = 10'000'000;
constexpr std::array kSizesGb = {0.8, 2.5, 1.5, 4.7, 0.6, 3.0, 2.0, 1.2, 5.5, 1.8, 0.4, 4.0};

struct Row {
  std::string model;
  double at_s = 0;  // since the origin, or since 1970
  double prompt = 0;
  double generated = 0;
  double busy_s = 0;
};

enum class Verdict { taken, skipped, failed };

// Reads the lines of one format into rows.
class Reader {
 public:
  Reader(const ImportOptions& options, Imported& into) : options_(options), into_(into), random_(options.seed) {}
  virtual ~Reader() = default;

  base::Status read(std::istream& input) {
    std::string line;
    while (std::getline(input, line)) {
      ++lines_;
      if (base::trim(line).empty()) continue;
      if (lines_ == 1 && !header(line))
        return base::fail(ErrorCode::bad_request, fmt::format("line 1 is not the header of a {} trace: \"{}\"",
                                                              name_of(options_.format), base::printable(line, 80)));
      if (lines_ == 1 && has_header()) continue;
      const Verdict verdict = row(line);
      if (verdict == Verdict::skipped) ++into_.skipped;
      if (verdict == Verdict::failed) ++into_.failures;
      if (rows_.size() > kMostRequests)
        return base::fail(ErrorCode::too_large, fmt::format("the trace has more than {} requests", kMostRequests));
    }
    return judge();
  }

  [[nodiscard]] std::vector<Row>& rows() { return rows_; }
  [[nodiscard]] bool absolute() const { return absolute_; }

 protected:
  virtual bool has_header() const { return true; }
  virtual bool header(const std::string& line) = 0;
  virtual Verdict row(const std::string& line) = 0;

  Verdict take(Row one) {
    if (!(one.at_s >= 0) || one.at_s > 8e9 || !(one.busy_s >= 0)) return Verdict::skipped;
    one.prompt = std::clamp(one.prompt, 0.0, kMostTokens);
    one.generated = std::clamp(one.generated, 0.0, kMostTokens);
    rows_.push_back(std::move(one));
    return Verdict::taken;
  }
  [[nodiscard]] const ImportOptions& options() const { return options_; }
  [[nodiscard]] Random& random() { return random_; }
  void set_absolute() { absolute_ = true; }

 private:
  base::Status judge() const {
    if (rows_.empty())
      return base::fail(ErrorCode::bad_request, fmt::format("no request of a {} trace was found in {} lines",
                                                            name_of(options_.format), lines_));
    if (into_.skipped * 10 > lines_)
      return base::fail(ErrorCode::bad_request, fmt::format("{} of {} lines are not of a {} trace", into_.skipped,
                                                            lines_, name_of(options_.format)));
    return {};
  }

  const ImportOptions& options_;
  Imported& into_;
  Random random_;
  std::vector<Row> rows_;
  std::uint64_t lines_ = 0;
  bool absolute_ = false;
};

// Columns found by the names in the header, without regard to case.
class ByColumn : public Reader {
 public:
  using Reader::Reader;

 protected:
  bool find(const std::string& line, std::initializer_list<std::string_view> needed) {
    names_.clear();
    for (const auto& field : split_csv(line))
      names_.push_back(base::to_lower(base::trim(field)));
    if (!names_.empty() && names_[0].starts_with("\xef\xbb\xbf")) names_[0].erase(0, 3);
    return std::ranges::all_of(needed, [this](std::string_view name) { return column(name).has_value(); });
  }
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }
  [[nodiscard]] static std::string_view field(const std::vector<std::string>& fields,
                                              const std::optional<std::size_t>& index) {
    return index && *index < fields.size() ? std::string_view(fields[*index]) : std::string_view();
  }

 private:
  std::vector<std::string> names_;
};

class Azure2019 final : public ByColumn {
 public:
  using ByColumn::ByColumn;

 protected:
  bool header(const std::string& line) override { return find(line, {"hashapp", "1", "1440"}); }
  Verdict row(const std::string& line) override {
    const auto fields = split_csv(line);
    const auto first = *column("1");
    if (fields.size() < first + 1440) return Verdict::skipped;
    for (std::size_t minute = 0; minute < 1440; ++minute) {
      const auto count = number_of(fields[first + minute]);
      if (!count || *count < 0 || *count > 1e6) return Verdict::skipped;
      for (int i = 0; i < static_cast<int>(*count); ++i)
        (void)take(
            {std::string(field(fields, column("hashapp"))), (static_cast<double>(minute) + random().uniform()) * 60});
    }
    return Verdict::taken;
  }
};

class Azure2021 final : public ByColumn {
 public:
  using ByColumn::ByColumn;

 protected:
  bool header(const std::string& line) override { return find(line, {"app", "end_timestamp", "duration"}); }
  Verdict row(const std::string& line) override {
    const auto fields = split_csv(line);
    const auto end = number_of(field(fields, column("end_timestamp")));
    const auto duration = number_of(field(fields, column("duration")));
    if (!end || !duration || field(fields, column("app")).empty()) return Verdict::skipped;
    return take({std::string(field(fields, column("app"))), std::max(0.0, *end - *duration), 0, 0, *duration});
  }
};

class AzureLlm final : public ByColumn {
 public:
  using ByColumn::ByColumn;

 protected:
  bool header(const std::string& line) override {
    set_absolute();
    return find(line, {"timestamp", "contexttokens", "generatedtokens"});
  }
  Verdict row(const std::string& line) override {
    const auto fields = split_csv(line);
    const auto at = timestamp_of(field(fields, column("timestamp")));
    const auto prompt = number_of(field(fields, column("contexttokens")));
    const auto generated = number_of(field(fields, column("generatedtokens")));
    if (!at || !prompt || !generated) return Verdict::skipped;
    return take({options().name, static_cast<double>(*at) / 1e9, *prompt, *generated});
  }
};

class BurstGpt final : public ByColumn {
 public:
  using ByColumn::ByColumn;

 protected:
  bool header(const std::string& line) override {
    return find(line, {"timestamp", "model", "request tokens", "response tokens"});
  }
  Verdict row(const std::string& line) override {
    const auto fields = split_csv(line);
    const auto at = number_of(field(fields, column("timestamp")));
    const auto prompt = number_of(field(fields, column("request tokens")));
    const auto generated = number_of(field(fields, column("response tokens")));
    if (!at || !prompt || !generated || field(fields, column("model")).empty()) return Verdict::skipped;
    if (*generated <= 0) return Verdict::failed;
    return take({std::string(field(fields, column("model"))), *at, *prompt, *generated});
  }
};

class Mooncake final : public Reader {
 public:
  using Reader::Reader;

 protected:
  bool has_header() const override { return false; }
  bool header(const std::string& line) override { return Json::accept(line); }
  Verdict row(const std::string& line) override {
    const auto json = Json::parse(line, nullptr, false);
    const auto number = [&json](const char* key) -> std::optional<double> {
      const auto found = json.is_object() ? json.find(key) : json.end();
      return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
    };
    const auto at = number("timestamp");
    const auto input = number("input_length");
    const auto output = number("output_length");
    if (!at || !input || !output) return Verdict::skipped;
    return take({options().name, *at / 1000, *input, *output});
  }
};

class Chutes final : public ByColumn {
 public:
  using ByColumn::ByColumn;

 protected:
  bool header(const std::string& line) override {
    set_absolute();
    return find(line, {"chute_id", "started_at", "completed_at", "it", "ot"});
  }
  Verdict row(const std::string& line) override {
    const auto fields = split_csv(line);
    const auto begin = timestamp_of(field(fields, column("started_at")));
    const auto end = timestamp_of(field(fields, column("completed_at")));
    if (!begin || field(fields, column("chute_id")).empty()) return Verdict::skipped;
    // No end: it never completed.
    if (!end || *end < *begin) return Verdict::failed;
    return take({std::string(field(fields, column("chute_id"))), static_cast<double>(*begin) / 1e9,
                 number_of(field(fields, column("it"))).value_or(0), number_of(field(fields, column("ot"))).value_or(0),
                 static_cast<double>(*end - *begin) / 1e9});
  }
};

std::unique_ptr<Reader> reader_for(const ImportOptions& options, Imported& into) {
  switch (options.format) {
    case TraceFormat::azure2019:
      return std::make_unique<Azure2019>(options, into);
    case TraceFormat::azure2021:
      return std::make_unique<Azure2021>(options, into);
    case TraceFormat::azurellm:
      return std::make_unique<AzureLlm>(options, into);
    case TraceFormat::burstgpt:
      return std::make_unique<BurstGpt>(options, into);
    case TraceFormat::mooncake:
      return std::make_unique<Mooncake>(options, into);
    case TraceFormat::chutes:
      return std::make_unique<Chutes>(options, into);
    case TraceFormat::hearth:
      break;
  }
  return nullptr;
}

// The models that are used most, in the order in which they first appear; the rows of the others go.
std::vector<std::string> keep_most_used(std::vector<Row>& rows, std::size_t most) {
  std::map<std::string, std::size_t> uses;
  for (const Row& row : rows)
    ++uses[row.model];
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [model, count] : uses)
    ranked.emplace_back(count, model);
  std::ranges::sort(ranked, [](const auto& left, const auto& right) {
    return left.first != right.first ? left.first > right.first : left.second < right.second;
  });
  if (ranked.size() > most) ranked.resize(most);
  std::map<std::string, bool> kept;
  for (const auto& [count, model] : ranked)
    kept[model] = false;
  std::erase_if(rows, [&kept](const Row& row) { return !kept.contains(row.model); });
  std::vector<std::string> order;
  for (const Row& row : rows) {
    if (!std::exchange(kept[row.model], true)) order.push_back(row.model);
  }
  return order;
}

// A name of the trace (a hash, "GPT-4") as one of ours.
domain::ModelId id_for(const std::string& name, std::size_t number, const ImportOptions& options) {
  const auto mapped = options.names.find(name);
  auto id = domain::ModelId::from_file_name(mapped == options.names.end() ? name.substr(0, 24) : mapped->second);
  return id ? std::move(*id) : domain::ModelId::parse("model-" + std::to_string(number)).value();
}

void build(std::vector<Row>& rows, bool absolute, const ImportOptions& options, Trace& trace) {
  std::ranges::stable_sort(rows, {}, &Row::at_s);
  const auto names = keep_most_used(rows, options.most_models);
  std::map<std::string, std::uint32_t> index;
  for (const auto& name : names) {
    const std::size_t number = trace.models.size();
    const double size = kSizesGb[number % kSizesGb.size()];
    auto id = id_for(name, number + 1, options);
    // Two names may become one; they are then one model.
    const auto same = std::ranges::find(trace.models, id, &TraceModel::id);
    index[name] = static_cast<std::uint32_t>(same - trace.models.begin());
    if (same == trace.models.end())
      trace.models.push_back({std::move(id), domain::ServiceClass::interactive, {size, 0.05 + 0.06 * size, 0.1}});
  }
  const double origin = absolute ? rows.front().at_s : 0;
  if (absolute) trace.local_minute = minute_since_monday(static_cast<std::int64_t>(origin) * 1'000'000'000);
  for (const Row& row : rows) {
    trace.requests.push_back({static_cast<std::int64_t>((row.at_s - origin) / options.speed * 1e9), index.at(row.model),
                              static_cast<std::uint32_t>(row.prompt), static_cast<std::uint32_t>(row.generated),
                              static_cast<float>(row.busy_s)});
  }
}

std::unexpected<base::Error> bad_line(std::uint64_t line, std::string_view what) {
  return base::fail(ErrorCode::bad_request, fmt::format("line {} of the trace: {}", line, what));
}

base::Status read_models(const Json& json, Trace& trace) {
  trace.name = json.at("trace").get<std::string>();
  trace.local_minute = json.at("local_minute").get<std::int64_t>();
  for (const auto& one : json.at("models")) {
    auto id = domain::ModelId::parse(one.at("id").get<std::string>());
    if (!id) return base::pass(id, "the trace's models");
    const auto service_class = domain::service_class_named(one.at("class").get<std::string>());
    if (!service_class) return bad_line(1, "an unknown class");
    trace.models.push_back({std::move(*id),
                            *service_class,
                            {one.at("weights_gb").get<double>(), one.at("context_gb").get<double>(),
                             one.at("overhead_gb").get<double>()}});
  }
  return {};
}

base::Status read_own_line(const Json& json, std::uint64_t line, Trace& trace) {
  if (line == 1) return read_models(json, trace);
  const TraceRequest request{json.at("at_ns").get<std::int64_t>(), json.at("model").get<std::uint32_t>(),
                             json.at("prompt").get<std::uint32_t>(), json.at("generated").get<std::uint32_t>(),
                             json.value("busy_s", 0.0F)};
  if (request.model >= trace.models.size() || request.at_ns < 0) return bad_line(line, "a model that is not listed");
  if (trace.requests.size() >= kMostRequests)
    return base::fail(ErrorCode::too_large, fmt::format("the trace has more than {} requests", kMostRequests));
  trace.requests.push_back(request);
  return {};
}

// Models of one name become one, the first of them.
base::Status rename_models(Trace& trace, const std::map<std::string, std::string>& names) {
  std::vector<TraceModel> kept;
  std::vector<std::uint32_t> index;
  for (TraceModel& model : trace.models) {
    if (const auto mapped = names.find(model.id.text()); mapped != names.end()) {
      auto id = domain::ModelId::parse(mapped->second);
      if (!id) return std::unexpected(std::move(id.error()));
      model.id = std::move(*id);
    }
    const auto same = std::ranges::find(kept, model.id, &TraceModel::id);
    index.push_back(static_cast<std::uint32_t>(same - kept.begin()));
    if (same == kept.end()) kept.push_back(std::move(model));
  }
  trace.models = std::move(kept);
  for (TraceRequest& request : trace.requests)
    request.model = index[request.model];
  return {};
}

void divide_times(Trace& trace, double speed) {
  if (speed == 1) return;
  for (TraceRequest& request : trace.requests)
    request.at_ns = static_cast<std::int64_t>(static_cast<double>(request.at_ns) / speed);
}

base::Result<Imported> import_own(std::istream& input, const ImportOptions& options) {
  Imported imported;
  std::string line;
  for (std::uint64_t number = 1; std::getline(input, line); ++number) {
    if (base::trim(line).empty()) continue;
    try {
      if (auto done = read_own_line(Json::parse(line), number, imported.trace); !done)
        return std::unexpected(std::move(done.error()));
    } catch (const Json::exception& error) {
      return bad_line(number, base::printable(error.what(), 120));
    }
  }
  if (imported.trace.requests.empty()) return base::fail(ErrorCode::bad_request, "the trace has no requests");
  sort_by_time(imported.trace);
  divide_times(imported.trace, options.speed);
  if (auto renamed = rename_models(imported.trace, options.names); !renamed) return base::pass(renamed);
  return imported;
}

}  // namespace

std::string_view name_of(TraceFormat format) {
  switch (format) {
    case TraceFormat::azure2019:
      return "azure2019";
    case TraceFormat::azure2021:
      return "azure2021";
    case TraceFormat::azurellm:
      return "azurellm";
    case TraceFormat::burstgpt:
      return "burstgpt";
    case TraceFormat::mooncake:
      return "mooncake";
    case TraceFormat::chutes:
      return "chutes";
    case TraceFormat::hearth:
      return "hearth";
  }
  return "hearth";
}

std::optional<TraceFormat> trace_format_named(std::string_view name) {
  return domain::find_named(kAllTraceFormats, name);
}

base::Result<Imported> import_trace(std::istream& input, const ImportOptions& options) {
  if (options.format == TraceFormat::hearth) return import_own(input, options);
  Imported imported;
  const auto reader = reader_for(options, imported);
  if (auto read = reader->read(input); !read) return std::unexpected(std::move(read.error()));
  imported.trace.name = options.name;
  build(reader->rows(), reader->absolute(), options, imported.trace);
  return imported;
}

void write_trace(std::ostream& output, const Trace& trace) {
  Json head = {{"trace", trace.name}, {"local_minute", trace.local_minute}, {"models", Json::array()}};
  for (const TraceModel& model : trace.models) {
    head["models"].push_back({{"id", model.id.text()},
                              {"class", domain::name_of(model.service_class)},
                              {"weights_gb", model.size.weights_gb},
                              {"context_gb", model.size.context_gb},
                              {"overhead_gb", model.size.overhead_gb}});
  }
  output << head.dump() << '\n';
  for (const TraceRequest& request : trace.requests) {
    Json line = {{"at_ns", request.at_ns},
                 {"model", request.model},
                 {"prompt", request.prompt_tokens},
                 {"generated", request.generated_tokens}};
    if (request.busy_s > 0) line["busy_s"] = request.busy_s;
    output << line.dump() << '\n';
  }
}

}  // namespace hearth::lab
