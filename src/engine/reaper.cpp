#include "engine/reaper.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "domain/json_text.h"

namespace hearth::engine {
namespace {

using base::ErrorCode;
using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr base::Bytes kRecordLimit = 65536;

// Only a socket beside its record is removed, whatever a damaged record says.
bool lies_in(const std::string& path, const std::string& folder) {
  return sys::directory_of(path) == folder && path.ends_with(".sock");
}

// Opens the process of a record if it is exactly that process; the identity is read again once the pidfd holds it.
base::Result<base::Fd> open_exactly(const sys::Processes& processes, const sys::ProcessIdentity& identity) {
  auto pidfd = processes.open(identity.pid);
  if (!pidfd) return pidfd;
  const auto now = processes.identity_of(identity.pid);
  if (!now || *now != identity) return base::fail(ErrorCode::not_found, "its pid belongs to another process now");
  return pidfd;
}

struct Outcome {
  Reaped::Fate fate;
  std::string why;
};

Outcome end_process(sys::Processes& processes, const EngineRecord& record, std::chrono::milliseconds patience) {
  const auto who = record.argv0 + " (pid " + std::to_string(record.identity.pid) + ")";
  const auto pidfd = open_exactly(processes, record.identity);
  if (!pidfd) return {Reaped::Fate::gone, who + " does not run any more: " + pidfd.error().message};
  const auto sent = processes.signal(*pidfd, SIGKILL);
  if (!sent && sent.error().code != ErrorCode::not_found)
    return {Reaped::Fate::stuck, who + ": " + sent.error().message};
  if (!processes.wait_ended(*pidfd, patience)) return {Reaped::Fate::stuck, who + " was killed and has not ended yet"};
  return {Reaped::Fate::killed, who + " was left over from an earlier server and was killed"};
}

Reaped reap_one(sys::Files& files, sys::Processes& processes, const std::string& folder, const std::string& name,
                std::chrono::milliseconds patience) {
  const auto path = folder + "/" + name;
  const auto record = read_record(files, path);
  Outcome outcome{Reaped::Fate::unreadable, ""};
  if (record)
    outcome = end_process(processes, *record, patience);
  else
    outcome.why = record.error().message;
  if (outcome.fate != Reaped::Fate::stuck) {
    if (record && lies_in(record->socket, folder)) (void)files.remove(record->socket);  // the next start removes it too
    if (const auto removed = files.remove(path); !removed) outcome.why += "; " + removed.error().message;
  }
  return {name, outcome.fate, outcome.why};
}

}  // namespace

base::Status write_record(sys::Files& files, const std::string& path, const EngineRecord& record) {
  const Json json = {{"version", kVersion},
                     {"pid", record.identity.pid},
                     {"start_ticks", record.identity.start_ticks},
                     {"boot_id", record.identity.boot_id},
                     {"argv0", record.argv0},
                     {"socket", record.socket}};
  const auto text = domain::text_of(json);
  return sys::write_atomic(files, path, text, sys::Survives::process_death);
}

base::Result<EngineRecord> read_record(const sys::Files& files, const std::string& path) {
  auto text = files.read(path, kRecordLimit);
  if (!text) return base::pass(text);
  try {
    const auto json = Json::parse(*text);
    if (json.at("version") != kVersion) return base::fail(ErrorCode::corrupt, path + " is a record of another version");
    EngineRecord record;
    record.identity.pid = json.at("pid").get<pid_t>();
    record.identity.start_ticks = json.at("start_ticks").get<std::uint64_t>();
    record.identity.boot_id = json.at("boot_id").get<std::string>();
    record.argv0 = json.at("argv0").get<std::string>();
    record.socket = json.at("socket").get<std::string>();
    // 1 is init; 0 and below mean groups to the kernel.
    if (record.identity.pid <= 1) return base::fail(ErrorCode::corrupt, path + " names a pid that no engine can have");
    return record;
  } catch (const Json::exception&) {
    return base::fail(ErrorCode::corrupt, path + " is not a record of an engine");
  }
}

base::Result<std::vector<Reaped>> reap_leftovers(sys::Files& files, sys::Processes& processes,
                                                 const std::string& folder, std::chrono::milliseconds patience) {
  std::vector<Reaped> reaped;
  auto names = files.list(folder);
  if (!names && names.error().code == ErrorCode::not_found) return reaped;
  if (!names) return base::pass(names, "looking for engines of an earlier server");
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& name : *names) {
    if (!name.ends_with(".json")) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    reaped.push_back(reap_one(files, processes, folder, name, std::max(left, std::chrono::milliseconds::zero())));
  }
  return reaped;
}

}  // namespace hearth::engine
