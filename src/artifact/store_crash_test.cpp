// Killing the process, and failing the disk, at every single operation of every change. Afterwards the store is the old
// or the new whole, opens without help, and holds nothing that nobody names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "artifact/store_fixture.h"

namespace hearth::artifact {
namespace {

using base::ErrorCode;
using ::testing::AnyOf;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Change {
  const char* name;
  std::function<base::Status(Store&)> act;
  std::vector<std::string> before;  // digests' origin: the general.name of model "m" before; empty: no such model
  std::vector<std::string> after;
};

class StoreCrash : public StoreFixture {
 protected:
  template <typename T>
  static base::Status as_status(base::Result<T> result) {
    if (!result) return std::unexpected(std::move(result.error()));
    return {};
  }

  static std::vector<Change> changes() {
    return {
        {"import", [](Store& store) { return as_status(import(store, "m", GgufSample::model("new"))); }, {}, {"new"}},
        {"replace",
         [](Store& store) { return as_status(import(store, "m", GgufSample::model("new"))); },
         {"old"},
         {"new"}},
        {"import again",
         [](Store& store) { return as_status(import(store, "m", GgufSample::model("old"))); },
         {"old"},
         {"old"}},
        {"remove", [](Store& store) { return store.remove(id("m")); }, {"old"}, {}},
        {"verify", [](Store& store) { return as_status(store.verify(id("m"), {})); }, {"old"}, {"old"}},
    };
  }

  void start(const Change& change) {
    std::filesystem::remove_all(folder_);
    events_.clear();
    files_.arm({});
    auto store = open();
    ASSERT_TRUE(import(*store, "bystander", GgufSample::model("bystander")));
    for (const auto& name : change.before)
      ASSERT_TRUE(import(*store, "m", GgufSample::model(name)));
  }

  // What "m" is: its general.name, or nothing.
  static std::vector<std::string> state(Store& store) {
    const auto found = store.find(id("m"));
    if (found) return {found->manifest.gguf.name.value_or("?")};
    EXPECT_EQ(found.error().code, ErrorCode::model_not_found) << found.error().message;
    return {};
  }

  void expect_whole(const Change& change, int at) {
    SCOPED_TRACE(std::string(change.name) + ", operation " + std::to_string(at));
    events_.clear();
    files_.arm({});
    auto store = try_open();
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_THAT(state(**store), AnyOf(change.before, change.after));
    EXPECT_TRUE((*store)->verify(id("bystander"), {}));
    for (const auto& model : (*store)->list()) {
      EXPECT_TRUE(model.verified);
      EXPECT_EQ(sha256(contents(model.path)), model.manifest.digest);
    }
    EXPECT_THAT(names("incoming"), IsEmpty());
    EXPECT_THAT(names("quarantine"), IsEmpty());
    EXPECT_THAT(names("blobs"), SizeIs((*store)->list().size()));
    EXPECT_FALSE(saw("artifact_quarantined"));
  }
};

// Runs `body` in a child process; true when it was killed, false when it came to its end.
bool killed(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST_F(StoreCrash, KilledAtEveryOperation) {
  for (const auto& change : changes()) {
    int at = 1;
    for (;; ++at) {
      start(change);
      const bool was_killed = killed([&] {
        int left = at;
        files_.arm([&](std::string_view) -> std::optional<base::Error> {
          if (--left == 0) ::kill(::getpid(), SIGKILL);
          return std::nullopt;
        });
        const auto store = open();
        std::ignore = change.act(*store);
      });
      expect_whole(change, at);
      if (!was_killed) break;
    }
    EXPECT_GT(at, 5) << change.name;
  }
}

// The change itself fails, in the running server, and again after it was opened anew.
TEST_F(StoreCrash, FailedAtEveryOperation) {
  for (const int error_number : {ENOSPC, EIO}) {
    for (const auto& change : changes()) {
      bool failed = true;
      for (int at = 1; failed; ++at) {
        start(change);
        {
          auto store = open();
          int left = at;
          failed = false;
          files_.arm([&](std::string_view operation) -> std::optional<base::Error> {
            if (--left != 0) return std::nullopt;
            failed = true;
            return base::error_from_errno(operation, error_number);
          });
          std::ignore = change.act(*store);
          files_.arm({});
          EXPECT_THAT(state(*store), AnyOf(change.before, change.after)) << change.name << at;
        }
        expect_whole(change, at);
      }
    }
  }
}

TEST_F(StoreCrash, AFullDiskIsOneSentenceAndLeavesNothing) {
  auto store = open();
  int writes = 0;
  files_.arm([&](std::string_view operation) -> std::optional<base::Error> {
    if (operation != "write" || ++writes < 3) return std::nullopt;
    return base::error_from_errno("writing", ENOSPC);
  });
  const auto imported = import(*store, "m", GgufSample::model());
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, ErrorCode::no_space);
  EXPECT_THAT(imported.error().message, ::testing::HasSubstr("is full after 300 B of"));
  EXPECT_THAT(names("incoming"), IsEmpty());
  EXPECT_THAT(names("blobs"), IsEmpty());
}

}  // namespace
}  // namespace hearth::artifact
