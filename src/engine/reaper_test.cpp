#include "engine/reaper.h"

#include <gmock/gmock.h>

#include <csignal>

#include "sys/fake_files.h"
#include "sys/fake_processes.h"

namespace hearth::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class ReaperTest : public testing::Test {
 protected:
  ReaperTest() { EXPECT_TRUE(files.ensure_directory("/run/engines", 0700)); }
  void record(const std::string& name, const sys::ProcessIdentity& identity) {
    ASSERT_TRUE(write_record(files, "/run/engines/" + name + ".json",
                             {identity, "/usr/bin/llama-server", "/run/engines/" + name + ".sock"}));
    ASSERT_TRUE(sys::write_atomic(files, "/run/engines/" + name + ".sock", ""));
  }
  std::vector<Reaped> reap() { return reap_leftovers(files, processes, "/run/engines").value(); }

  sys::FakeFiles files;
  sys::FakeProcesses processes;
};

TEST_F(ReaperTest, ARecordComesBackAsItWent) {
  record("a", {7, 8, "boot"});
  const auto back = read_record(files, "/run/engines/a.json").value();
  EXPECT_EQ(back.identity, (sys::ProcessIdentity{7, 8, "boot"}));
  EXPECT_EQ(back.argv0, "/usr/bin/llama-server");
  EXPECT_EQ(back.socket, "/run/engines/a.sock");
}

TEST_F(ReaperTest, ALeftoverIsKilledAndItsTracesGo) {
  record("a", processes.add_stranger(4000, {"llama-server"}));
  const auto reaped = reap();
  ASSERT_EQ(reaped.size(), 1U);
  EXPECT_EQ(reaped[0].fate, Reaped::Fate::killed);
  EXPECT_THAT(processes.signals(), ElementsAre(Pair(4000, SIGKILL)));
  EXPECT_THAT(files.list("/run/engines").value(), IsEmpty());
}

TEST_F(ReaperTest, APidGivenAgainIsNotTouched) {
  auto identity = processes.add_stranger(4000, {"somebody-else"});
  ++identity.start_ticks;
  record("ticks", identity);
  identity = processes.identity_of(4000).value();
  identity.boot_id = "an earlier boot";
  record("boot", identity);
  record("none", {4001, 1, "boot-1"});
  for (const auto& one : reap())
    EXPECT_EQ(one.fate, Reaped::Fate::gone) << one.record;
  EXPECT_THAT(processes.signals(), IsEmpty());
  EXPECT_TRUE(processes.running(4000));
  EXPECT_THAT(files.list("/run/engines").value(), IsEmpty());
}

TEST_F(ReaperTest, WhatIsNoRecordOnlyGoes) {
  for (const char* text :
       {"", "{", "[]", "{\"version\":2}", "{\"version\":1,\"pid\":\"x\"}",
        R"({"version":1,"pid":-1,"start_ticks":1,"boot_id":"b","argv0":"x","socket":"/etc/x.sock"})"}) {
    ASSERT_TRUE(sys::write_atomic(files, "/run/engines/a.json", text));
    const auto reaped = reap();
    ASSERT_EQ(reaped.size(), 1U) << text;
    EXPECT_EQ(reaped[0].fate, Reaped::Fate::unreadable) << text;
    EXPECT_FALSE(reaped[0].why.empty());
  }
  EXPECT_THAT(processes.signals(), IsEmpty());
}

TEST_F(ReaperTest, NothingOutsideTheFolderIsRemoved) {
  ASSERT_TRUE(sys::write_atomic(files, "/run/engines/note.txt", "x"));
  ASSERT_TRUE(files.ensure_directory("/etc", 0755));
  ASSERT_TRUE(sys::write_atomic(files, "/etc/x.sock", "x"));
  EngineRecord record;  // filled in steps: GCC 12 at -O3 takes the aggregate for uninitialised
  record.identity.pid = 4001;
  record.identity.start_ticks = 1;
  record.identity.boot_id = "b";
  record.argv0 = "x";
  record.socket = "/etc/x.sock";
  ASSERT_TRUE(write_record(files, "/run/engines/a.json", record));
  reap();
  EXPECT_TRUE(files.read("/etc/x.sock", 10));
  EXPECT_THAT(files.list("/run/engines").value(), ElementsAre("note.txt"));
}

TEST_F(ReaperTest, NoFolderIsNoWork) { EXPECT_THAT(reap_leftovers(files, processes, "/nowhere").value(), IsEmpty()); }

}  // namespace
}  // namespace hearth::engine
