#pragma once
// A prefix store over files in memory, and an engine that writes state files as llama-server does. For tests.
#include <algorithm>
#include <cstring>
#include <random>

#include "prefix/store.h"
#include "sys/fake_files.h"

namespace hearth::prefix {

class StillClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return {}; }
  [[nodiscard]] base::Wall wall() const override { return base::Wall{} + std::chrono::hours(500'000) + passed; }
  std::chrono::hours passed{0};
};

inline std::string state_of(const Tokens& tokens, std::size_t payload = 64) {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t words[] = {0x67677371U, 4, count + 4, 0xffffffffU, 1, count};
  std::string bytes(reinterpret_cast<const char*>(words), sizeof words);
  bytes.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token));
  return bytes.append(4, '\0').append(payload, 'k');
}

inline Tokens random_tokens(std::mt19937& random, std::size_t count) {
  Tokens tokens(count);
  for (auto& token : tokens)
    token = static_cast<Token>(random() % 32000);
  return tokens;
}

struct StoreFixture {
  sys::FakeFiles files;
  StillClock clock;
  StoreLimits limits{.disk = 1'000'000, .leave_free = 1000};
  std::vector<domain::Event> events;
  std::string index_path = ":memory:";
  std::unique_ptr<Store> store;

  StoreFixture() { files.set_free_space(100'000'000); }

  base::Status open() {
    store.reset();
    auto opened = Store::open({.folder = "/prefix",
                               .files = files,
                               .clock = clock,
                               .limits = limits,
                               .on_event = [this](const domain::Event& event) { events.push_back(event); },
                               .index_path = index_path});
    if (!opened) return std::unexpected(opened.error());
    store = std::move(*opened);
    return {};
  }
  base::Status put(const std::string& path, const std::string& bytes) {
    auto file = files.create(path, sys::IfPresent::truncate, 0600);
    if (!file) return std::unexpected(file.error());
    return (*file)->write(bytes);
  }
  base::Result<Match> save(const std::string& fingerprint, const Tokens& tokens, const std::string& name = {},
                           const Keys& spared = {}) {
    auto part = store->begin_save(fingerprint, tokens.size(), spared);
    if (!part) return std::unexpected(part.error());
    const std::string bytes = state_of(tokens);
    if (auto written = put("/prefix/states/" + fingerprint + "/" + *part, bytes); !written) {
      store->give_up(fingerprint, *part);
      return std::unexpected(written.error());
    }
    return store->commit(*part,
                         {.fingerprint = fingerprint,
                          .tokens = tokens,
                          .prefill_ms_per_token = 4,
                          .origin = name.empty() ? Origin::discovered : Origin::declared,
                          .name = name,
                          .model = "m",
                          .engine = "llama-server-1",
                          .spared = spared},
                         bytes.size());
  }
  [[nodiscard]] bool told(std::string_view what) const {
    return std::ranges::any_of(events, [&](const auto& event) { return event.what == what; });
  }
};

inline const std::string kFingerprint(32, 'a');

}  // namespace hearth::prefix
