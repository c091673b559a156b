#include "daemon/packed_quota.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "engine/packed_files.h"
#include "policy/packed_eviction.h"

namespace hearth::daemon {
namespace {

// Keys stay in use while their engines run, and nothing of an engine is in the list that is judged.
std::vector<policy::PackedItem> items_of(const std::vector<engine::PackedFolder>& folders,
                                         const std::set<std::string>& in_use) {
  std::vector<policy::PackedItem> items;
  for (const auto& folder : folders)
    items.push_back({folder.key, folder.bytes, folder.pack_ms, folder.last_used, in_use.contains(folder.key)});
  return items;
}

// `held`: what packed weights take there already, named or not.
base::Bytes half_of_the_room(const std::string& root, base::Bytes held) {
  std::error_code failed;
  auto space = std::filesystem::space(root, failed);
  if (failed) space = std::filesystem::space(std::filesystem::path(root).parent_path(), failed);  // made by the first
  return failed ? held : (held + space.available) / 2;
}

base::Bytes sum_of(const std::vector<engine::PackedFolder>& folders) {
  base::Bytes held = 0;
  for (const auto& folder : folders)
    held += folder.bytes;
  return held;
}

domain::Event eviction_of(const policy::PackedVictim& victim) {
  domain::Event event;
  event.what = "packed_evicted";
  event.layer = domain::Layer::packed;
  event.bytes = victim.bytes;
  event.by = "quota";
  event.why = victim.key + ": " + victim.why;
  return event;
}

}  // namespace

PackedQuota::PackedQuota(Parts parts) : parts_(std::move(parts)), tasks_(parts_.executor, parts_.on_crash) {}

void PackedQuota::hear(const domain::Event& event) {
  if (!event.model) return;
  const std::string& model = *event.model;
  if (event.what == "weights_placed") packing_since_[model] = event.at;
  if (event.what == "weights_settled") {
    const auto since = packing_since_.find(model);
    if (since == packing_since_.end()) return;
    packed_in_ms_[model] = std::chrono::duration<double, std::milli>(event.at - since->second).count();
    packing_since_.erase(since);
  }
  hear_placed(event);
  const bool grown = event.what == "packed_published";
  if (!grown && event.what != "packed_attached") return;
  std::optional<double> took;
  if (const auto known = packed_in_ms_.find(model); grown && known != packed_in_ms_.end() && known->second >= 0)
    took = known->second;
  if (std::string key = parts_.key_of(model); !key.empty()) tasks_.spawn(note_use(std::move(key), took, grown));
}

// What is placed in a file takes its room from then on, and is listed only once it is published.
void PackedQuota::hear_placed(const domain::Event& event) {
  const base::Bytes bytes = event.bytes.value_or(0);
  if (event.what == "weights_placed") packing_[*event.model] += bytes;
  const auto known = packing_.find(*event.model);
  if (known != packing_.end() && (event.what == "packed_published" || event.what == "weights_released"))
    known->second -= std::min(known->second, bytes);
  if (event.what != "process_stopped" && event.what != "process_failed") return;
  packing_.erase(*event.model);
  look();
}

void PackedQuota::look() { tasks_.spawn(keep_within()); }

base::Bytes PackedQuota::allowance(const std::string& model) const {
  const auto folders = engine::list_packed(parts_.root);
  const auto in_use = parts_.keys_in_use();
  const std::string own = parts_.key_of(model);
  base::Bytes unnamed = 0;
  base::Bytes fixed = 0;
  for (const auto& [other, bytes] : packing_) {
    unnamed += bytes;
    if (other != model) fixed += bytes;
  }
  for (const auto& folder : folders) {
    if (folder.key != own && in_use.contains(folder.key)) fixed += folder.bytes;
  }
  const base::Bytes quota = parts_.quota ? *parts_.quota : half_of_the_room(parts_.root, sum_of(folders) + unnamed);
  return quota - std::min(quota, fixed);
}

rt::Task<void> PackedQuota::note_use(std::string key, std::optional<double> pack_ms, bool grown) {
  const std::string folder = parts_.root + "/" + key;
  const base::Wall now = parts_.clock.wall();
  const auto noted = co_await parts_.pool.run([&] { return engine::note_packed_use(folder, now, pack_ms); });
  if (!noted) spdlog::warn("{}", noted.error().message);
  if (grown) co_await keep_within();
}

// One look at a time: two would remove the same and tell it twice.
rt::Task<void> PackedQuota::keep_within() {
  again_ = true;
  if (keeping_) co_return;
  keeping_ = true;
  while (again_) {
    again_ = false;
    co_await remove_worst();
  }
  keeping_ = false;
}

rt::Task<void> PackedQuota::remove_worst() {
  const auto folders = co_await parts_.pool.run([&] { return engine::list_packed(parts_.root); });
  const base::Bytes quota = parts_.quota ? *parts_.quota : half_of_the_room(parts_.root, sum_of(folders));
  const auto victims =
      policy::choose_packed_victims(items_of(folders, parts_.keys_in_use()), quota, parts_.clock.wall());
  for (const auto& victim : victims) {
    const auto removed = co_await parts_.pool.run([&] { return engine::remove_packed(parts_.root, victim.key); });
    if (!removed) spdlog::warn("{}", removed.error().message);
    if (removed) parts_.tell(eviction_of(victim));
  }
}

rt::Task<void> PackedQuota::stop() {
  tasks_.cancel_all();
  const bool ended = co_await tasks_.join(std::chrono::seconds(5));
  if (!ended) spdlog::warn("keeping packed weights within their quota did not end in time");
}

}  // namespace hearth::daemon
