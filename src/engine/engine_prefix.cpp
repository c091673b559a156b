#include "engine/engine_prefix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "domain/json_text.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using Json = nlohmann::ordered_json;

constexpr std::array<PrefixArchitecture, 2> kArchitectures = {{
    {.debian = "amd64", .triplet = "x86_64-linux-gnu", .loader = "ld-linux-x86-64.so.2"},
    {.debian = "arm64", .triplet = "aarch64-linux-gnu", .loader = "ld-linux-aarch64.so.1"},
}};

constexpr std::size_t kLargestRecord = 1 << 20;

// Reads fields of the kind that it is asked for and remembers the first that is missing or mistyped.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  std::string text(const char* name) { return get<std::string>(name, &Json::is_string); }
  bool flag(const char* name) { return get<bool>(name, &Json::is_boolean); }
  base::Bytes bytes(const char* name) { return get<base::Bytes>(name, &Json::is_number_unsigned); }
  const Json& list(const char* name) {
    static const Json kNone = Json::array();
    return check(name, &Json::is_array) ? json_.at(name) : kNone;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  using Kind = bool (Json::*)() const noexcept;

  bool check(const char* name, Kind kind) {
    const bool good = json_.is_object() && json_.contains(name) && (json_.at(name).*kind)();
    if (!good && wrong_.empty()) wrong_ = name;
    return good;
  }
  template <typename T>
  T get(const char* name, Kind kind) {
    return check(name, kind) ? json_.at(name).template get<T>() : T{};
  }

  const Json& json_;
  std::string wrong_;
};

std::unexpected<base::Error> wrong_field(const std::string& name) {
  return base::fail(ErrorCode::corrupt, fmt::format("the field \"{}\" is missing or of another kind", name));
}

Result<PackageRecord> package_from_json(const Json& json) {
  Fields fields(json);
  PackageRecord package{.name = fields.text("name"),
                        .version = fields.text("version"),
                        .architecture = fields.text("architecture"),
                        .bytes = fields.bytes("bytes"),
                        .sha256 = fields.text("sha256")};
  if (!fields.wrong().empty()) return wrong_field("packages[]." + fields.wrong());
  return package;
}

Result<InstalledPrefix> read_prefix(const fs::path& folder) {
  std::ifstream file(folder / "install.json", std::ios::binary);
  if (!file) return base::fail(ErrorCode::not_found, "it has no readable install.json");
  std::string text(kLargestRecord, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  auto record = record_from_json(text);
  if (!record) return base::pass(record, "install.json");
  const auto architecture = find_architecture(record->architecture);
  if (!architecture)
    return base::fail(ErrorCode::unsupported, fmt::format("its architecture {} is not known", record->architecture));
  std::error_code error;
  if (!fs::is_regular_file(prefix_program(folder), error)) return base::fail(ErrorCode::corrupt, "its program is gone");
  return InstalledPrefix{.folder = folder, .architecture = *architecture, .record = *std::move(record)};
}

// Build numbers by value; what is no number comes last.
std::uint64_t build_number(const InstalledPrefix& prefix) {
  std::uint64_t number = 0;
  const std::string& text = prefix.record.build;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_newer(const InstalledPrefix& a, const InstalledPrefix& b) {
  if (build_number(a) != build_number(b)) return build_number(a) > build_number(b);
  return a.record.installed_at > b.record.installed_at;
}

}  // namespace

std::optional<PrefixArchitecture> find_architecture(std::string_view debian) {
  const auto found = std::ranges::find(kArchitectures, debian, &PrefixArchitecture::debian);
  if (found == kArchitectures.end()) return std::nullopt;
  return *found;
}

fs::path prefix_libraries(const fs::path& prefix, const PrefixArchitecture& architecture) {
  return prefix / "usr/lib" / architecture.triplet;
}

fs::path prefix_program(const fs::path& prefix) { return prefix / "usr/bin/llama-server"; }

std::vector<std::string> prefix_library_path(const fs::path& prefix, const PrefixArchitecture& architecture) {
  const fs::path libraries = prefix_libraries(prefix, architecture);
  return {libraries.string(), (libraries / "llama").string()};
}

std::vector<std::string> prefix_command(const fs::path& prefix, const PrefixArchitecture& architecture) {
  const auto folders = prefix_library_path(prefix, architecture);
  return {(prefix_libraries(prefix, architecture) / architecture.loader).string(), "--library-path",
          folders[0] + ":" + folders[1], prefix_program(prefix).string()};
}

std::string record_to_json(const InstallRecord& record) {
  Json packages = Json::array();
  for (const PackageRecord& package : record.packages) {
    packages.push_back({{"name", package.name},
                        {"version", package.version},
                        {"architecture", package.architecture},
                        {"bytes", package.bytes},
                        {"sha256", package.sha256}});
  }
  const Json json = {{"version", record.version},
                     {"build", record.build},
                     {"package_version", record.package_version},
                     {"architecture", record.architecture},
                     {"suite", record.suite},
                     {"installed_at", record.installed_at},
                     {"expiry_waived", record.expiry_waived},
                     {"packages", std::move(packages)}};
  return domain::text_of(json, 2) + "\n";
}

Result<InstallRecord> record_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return base::fail(ErrorCode::corrupt, "not JSON");
  Fields fields(json);
  InstallRecord record{.version = fields.text("version"),
                       .build = fields.text("build"),
                       .package_version = fields.text("package_version"),
                       .architecture = fields.text("architecture"),
                       .suite = fields.text("suite"),
                       .installed_at = fields.text("installed_at"),
                       .expiry_waived = fields.flag("expiry_waived"),
                       .packages = {}};
  for (const Json& entry : fields.list("packages")) {
    auto package = package_from_json(entry);
    if (!package) return base::pass(package);
    record.packages.push_back(*std::move(package));
  }
  if (!fields.wrong().empty()) return wrong_field(fields.wrong());
  return record;
}

std::vector<InstalledPrefix> installed_prefixes(const fs::path& engines,
                                                const std::function<void(std::string_view)>& on_skipped) {
  std::vector<InstalledPrefix> found;
  std::error_code error;
  for (fs::directory_iterator entry(engines, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with("llama-server-")) continue;
    auto prefix = read_prefix(entry->path());
    if (prefix) {
      found.push_back(*std::move(prefix));
    } else if (on_skipped) {
      on_skipped(fmt::format("{} is not a whole engine: {}", entry->path().string(), prefix.error().message));
    }
  }
  std::ranges::sort(found, is_newer);
  return found;
}

}  // namespace hearth::engine
