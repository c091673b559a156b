#include "artifact/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <thread>

#include "artifact/store_fixture.h"

namespace hearth::artifact {
namespace {

using base::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using StoreTest = StoreFixture;

TEST_F(StoreTest, KeepsWhatWasImported) {
  files_.really_sync = true;
  const std::string bytes = GgufSample::model("Demo");
  {
    auto store = open();
    const auto imported = import(*store, "demo:q4_0", bytes);
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_TRUE(imported->fresh);
  }
  const auto found = open()->find(id("demo:q4_0"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(contents(found->path), bytes);
  EXPECT_EQ(found->manifest.bytes, bytes.size());
  EXPECT_EQ(found->manifest.digest, sha256(bytes));
  EXPECT_EQ(found->manifest.gguf.name, "Demo");
  EXPECT_EQ(found->present, bytes.size());
  EXPECT_TRUE(found->verified);
  EXPECT_TRUE(saw("artifact_imported"));
  EXPECT_THAT(names("incoming"), IsEmpty());
}

TEST_F(StoreTest, ListsById) {
  auto store = open();
  ASSERT_TRUE(import(*store, "b", GgufSample::model("b")));
  ASSERT_TRUE(import(*store, "a", GgufSample::model("a")));
  const auto models = store->list();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].manifest.id.text(), "a");
  EXPECT_EQ(models[1].manifest.id.text(), "b");
}

TEST_F(StoreTest, KeepsEqualFilesOnce) {
  auto store = open();
  const std::string bytes = GgufSample::model();
  ASSERT_TRUE(import(*store, "one", bytes));
  const auto second = import(*store, "two", bytes);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->fresh);
  EXPECT_FALSE(import(*store, "two", bytes)->fresh);
  EXPECT_THAT(names("blobs"), SizeIs(1));
  ASSERT_TRUE(store->remove(id("one")));
  EXPECT_THAT(names("blobs"), SizeIs(1));
  ASSERT_TRUE(store->remove(id("two")));
  EXPECT_THAT(names("blobs"), IsEmpty());
  EXPECT_TRUE(saw("artifact_removed"));
}

TEST_F(StoreTest, ReplacesANameAndItsFile) {
  auto store = open();
  ASSERT_TRUE(import(*store, "m", GgufSample::model("old")));
  ASSERT_TRUE(import(*store, "m", GgufSample::model("new")));
  EXPECT_EQ(store->find(id("m"))->manifest.gguf.name, "new");
  EXPECT_THAT(names("blobs"), SizeIs(1));
}

TEST_F(StoreTest, CanRefuseToReplace) {
  auto store = open();
  ASSERT_TRUE(import(*store, "m", GgufSample::model("old")));
  const auto refused = import(*store, "m", GgufSample::model("new"), IfTaken::refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(store->find(id("m"))->manifest.gguf.name, "old");
  EXPECT_THAT(names("blobs"), SizeIs(1));
  EXPECT_THAT(names("incoming"), IsEmpty());
  EXPECT_TRUE(import(*store, "m", GgufSample::model("old"), IfTaken::refuse));
}

TEST_F(StoreTest, AnEngineKeepsAFileThatIsRemoved) {
  auto store = open();
  const std::string bytes = GgufSample::model();
  const auto model = import(*store, "m", bytes)->model;
  const auto reader = FileSource::open(model.path.c_str());
  ASSERT_TRUE(store->remove(id("m")));
  std::string read(bytes.size(), '\0');
  ASSERT_TRUE(reader->read_at(0, std::as_writable_bytes(std::span(read))));
  EXPECT_EQ(read, bytes);
}

TEST_F(StoreTest, NamesAModelThatIsNotThere) {
  auto store = open();
  EXPECT_EQ(store->find(id("nobody")).error().code, ErrorCode::model_not_found);
  EXPECT_EQ(store->remove(id("nobody")).error().code, ErrorCode::model_not_found);
  EXPECT_EQ(store->verify(id("nobody"), {}).error().code, ErrorCode::model_not_found);
}

TEST_F(StoreTest, AnAbandonedImportLeavesNothing) {
  auto store = open();
  {
    auto session = store->begin_import(id("m"), std::nullopt);
    ASSERT_TRUE(session);
    const std::string some = GgufSample::model().substr(0, 100);
    ASSERT_TRUE(session->write(std::as_bytes(std::span(some))));
    EXPECT_EQ(session->received(), 100U);
    EXPECT_THAT(names("incoming"), SizeIs(1));
  }
  EXPECT_THAT(names("incoming"), IsEmpty());
  EXPECT_THAT(store->list(), IsEmpty());
}

TEST_F(StoreTest, StopsAtTheFirstBytesOfSomethingElse) {
  auto store = open();
  auto session = store->begin_import(id("m"), 1'000'000);
  const std::string html = "<!doctype html>";
  const auto written = session->write(std::as_bytes(std::span(html)));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::bad_request);
  EXPECT_THAT(written.error().message, HasSubstr("m: is not a GGUF file"));
  EXPECT_EQ(std::move(*session).finish().error().code, ErrorCode::bad_request);
}

TEST_F(StoreTest, RefusesIncompleteAndDamagedFiles) {
  auto store = open();
  const std::string whole = GgufSample::model();
  const auto truncated = import(*store, "m", whole.substr(0, whole.size() - 10));
  EXPECT_EQ(truncated.error().code, ErrorCode::bad_request);
  EXPECT_THAT(truncated.error().message, HasSubstr("10 of"));
  EXPECT_THAT(import(*store, "m", GgufSample().text("general.architecture", "llama").bytes()).error().message,
              HasSubstr("no weights"));
  EXPECT_EQ(import(*store, "m", "").error().code, ErrorCode::bad_request);
  EXPECT_THAT(store->list(), IsEmpty());
  EXPECT_THAT(names("incoming"), IsEmpty());
  EXPECT_THAT(names("blobs"), IsEmpty());
}

TEST_F(StoreTest, HoldsTheSenderToItsAnnouncement) {
  auto store = open();
  const std::string whole = GgufSample::model();
  auto shorter = store->begin_import(id("m"), whole.size() + 1);
  ASSERT_TRUE(shorter->write(std::as_bytes(std::span(whole))));
  EXPECT_THAT(std::move(*shorter).finish().error().message, HasSubstr("is incomplete"));
  auto longer = store->begin_import(id("m"), whole.size() - 1);
  EXPECT_THAT(longer->write(std::as_bytes(std::span(whole))).error().message, HasSubstr("longer than"));
}

TEST_F(StoreTest, ComparesTheSizeWithTheFreeSpaceFirst) {
  auto store = open();
  files_.free = 1'000'000;
  const auto session = store->begin_import(id("m"), 5'000'000'000);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::no_space);
  EXPECT_THAT(session.error().message, HasSubstr("needs 5.0 GB"));
  EXPECT_THAT(session.error().message, HasSubstr("1.0 MB free"));
}

TEST_F(StoreTest, VerifyFindsAFlippedBit) {
  auto store = open();
  const std::string bytes = GgufSample::model();
  const auto model = import(*store, "m", bytes)->model;
  ASSERT_TRUE(import(*store, "same", bytes));
  std::string bad = bytes;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  overwrite(model.path, bad);
  EXPECT_FALSE(store->find(id("m"))->verified);
  const auto verified = store->verify(id("m"), {});
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::corrupt);
  EXPECT_EQ(store->find(id("m")).error().code, ErrorCode::model_not_found);
  EXPECT_EQ(store->find(id("same")).error().code, ErrorCode::model_not_found);
  EXPECT_THAT(names("quarantine"), SizeIs(3));
  EXPECT_TRUE(saw("artifact_quarantined"));
  EXPECT_TRUE(import(*store, "m", bytes));
  EXPECT_TRUE(store->find(id("m"))->verified);
}

TEST_F(StoreTest, VerifyTrustsAgainWhatItHashed) {
  auto store = open();
  const auto model = import(*store, "m", GgufSample::model())->model;
  std::filesystem::last_write_time(model.path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(store->find(id("m"))->verified);
  base::Bytes seen = 0;
  const auto verified = store->verify(id("m"), [&](base::Bytes done, base::Bytes total) {
    seen = done;
    return done <= total;
  });
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(verified->verified);
  EXPECT_EQ(seen, model.manifest.bytes);
  store.reset();
  EXPECT_TRUE(open()->find(id("m"))->verified);
}

TEST_F(StoreTest, VerifyCanBeStopped) {
  auto store = open();
  ASSERT_TRUE(import(*store, "m", GgufSample::model()));
  EXPECT_EQ(store->verify(id("m"), [](base::Bytes, base::Bytes) { return false; }).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(store->find(id("m")));
}

TEST_F(StoreTest, ADamagedManifestIsSetAsideAndItsFileKept) {
  ASSERT_TRUE(import(*open(), "m", GgufSample::model()));
  const std::string path = folder_ + "/manifests/m.manifest";
  std::string text = contents(path);
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 4);
  overwrite(path, text);
  auto store = open();
  EXPECT_EQ(store->find(id("m")).error().code, ErrorCode::model_not_found);
  ASSERT_THAT(names("quarantine"), SizeIs(1));
  EXPECT_EQ(contents(folder_ + "/quarantine/" + names("quarantine")[0]), text);
  EXPECT_THAT(names("blobs"), SizeIs(1));
  EXPECT_TRUE(saw("artifact_quarantined"));
  store.reset();
  EXPECT_THAT((store = open())->list(), IsEmpty());
  EXPECT_THAT(names("blobs"), SizeIs(1)) << "the set-aside manifest may be the one that names it";
}

TEST_F(StoreTest, AManifestUnderAnotherNameIsDamage) {
  ASSERT_TRUE(import(*open(), "m", GgufSample::model()));
  std::filesystem::copy_file(folder_ + "/manifests/m.manifest", folder_ + "/manifests/other.manifest");
  auto store = open();
  EXPECT_THAT(store->list(), SizeIs(1));
  EXPECT_THAT(names("manifests"), ElementsAre("m.manifest"));
}

TEST_F(StoreTest, AMissingOrShortFileIsNeverServed) {
  const std::string bytes = GgufSample::model();
  for (const bool missing : {true, false}) {
    auto store = open();
    const auto model = import(*store, "m", bytes)->model;
    if (missing) {
      std::filesystem::remove(model.path);
    } else {
      overwrite(model.path, bytes.substr(1));
    }
    EXPECT_EQ(store->find(id("m")).error().code, ErrorCode::corrupt);
    EXPECT_EQ(store->find(id("m")).error().code, ErrorCode::model_not_found);
    EXPECT_THAT(names("blobs"), IsEmpty());
  }
  ASSERT_TRUE(import(*open(), "m", bytes));
  std::filesystem::remove(folder_ + "/blobs/" + names("blobs")[0]);
  EXPECT_THAT(open()->list(), IsEmpty());
}

TEST_F(StoreTest, ANewerManifestIsLeftAlone) {
  ASSERT_TRUE(import(*open(), "m", GgufSample::model()));
  const std::string title = "hearth-manifest 2";
  overwrite(folder_ + "/manifests/m.manifest", title + " sha256:" + sha256(title + "\nnew").text() + "\nnew");
  auto store = open();
  const auto found = store->find(id("m"));
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_THAT(found.error().message, HasSubstr("version 2"));
  EXPECT_TRUE(saw("artifact_refused"));
  EXPECT_THAT(names("manifests"), SizeIs(1));
  EXPECT_THAT(names("blobs"), SizeIs(1));
  EXPECT_TRUE(import(*store, "m", GgufSample::model("again")));
  EXPECT_TRUE(store->find(id("m")));
}

TEST_F(StoreTest, ANewerLayoutIsNotOpened) {
  std::ignore = open();
  overwrite(folder_ + "/store.json", "{\"format\": 2}");
  const auto store = try_open();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::unsupported);
  EXPECT_THAT(store.error().message, HasSubstr("has format 2"));
}

TEST_F(StoreTest, ADamagedLayoutFileIsWrittenAgain) {
  ASSERT_TRUE(import(*open(), "m", GgufSample::model()));
  overwrite(folder_ + "/store.json", "{\"for");
  EXPECT_THAT(open()->list(), SizeIs(1));
  EXPECT_EQ(contents(folder_ + "/store.json"), "{\"format\": 1}\n");
}

TEST_F(StoreTest, ASecondServerIsRefused) {
  const auto first = open();
  const auto second = try_open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::in_use);
  EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(::getpid())));
}

TEST_F(StoreTest, AFolderThatCannotBeWrittenIsOneSentence) {
  files_.arm([](std::string_view) { return base::error_from_errno("making the folder /x", EACCES); });
  const auto store = try_open();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::permission);
  EXPECT_THAT(store.error().message, HasSubstr("Permission denied"));
  EXPECT_THAT(store.error().message, HasSubstr("--data-dir"));
  files_.arm({});
  std::ofstream(root_ + "/artifacts") << "a file is in the way";
  EXPECT_FALSE(try_open());
}

TEST_F(StoreTest, OpeningSweepsOnlyWhatNobodyWrites) {
  std::ignore = open();
  std::ofstream(folder_ + "/incoming/dead.part") << "left";
  std::ofstream(folder_ + "/incoming/dead.manifest") << "left";
  std::ofstream(folder_ + "/blobs/sha256-" + sha256("orphan").text()) << "orphan";
  std::ofstream(folder_ + "/blobs/not-ours") << "kept";
  const base::Fd alive(::open((folder_ + "/incoming/alive.part").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(alive.get(), LOCK_EX), 0);
  std::ignore = open();
  EXPECT_THAT(names("incoming"), ElementsAre("alive.part"));
  EXPECT_THAT(names("blobs"), ElementsAre("not-ours"));
}

TEST_F(StoreTest, ImportsSideBySide) {
  auto store = open();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&store, i] {
      for (int round = 0; round < 5; ++round) {
        const std::string bytes = GgufSample::model(std::to_string((i + round) % 3));
        auto session = store->begin_import(id("m" + std::to_string(i)), bytes.size());
        ASSERT_TRUE(session);
        ASSERT_TRUE(session->write(std::as_bytes(std::span(bytes))));
        ASSERT_TRUE(std::move(*session).finish());
        ASSERT_TRUE(store->verify(id("m" + std::to_string(i)), {}));
        EXPECT_FALSE(store->list().empty());
      }
    });
  }
  threads.clear();
  EXPECT_THAT(store->list(), SizeIs(4));
  EXPECT_THAT(names("incoming"), IsEmpty());
  EXPECT_THAT(names("quarantine"), IsEmpty());
}

}  // namespace
}  // namespace hearth::artifact
