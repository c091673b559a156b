#include "engine/packed_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"
#include "tier/checksum.h"
#include "tier/format.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;

constexpr auto kAlways = [] { return true; };
const base::Wall kNow{std::chrono::milliseconds(1'700'000'000'000)};

class PackedFiles : public testing::Test {
 protected:
  PackedFiles() { fs::create_directory(root_ / "key"); }

  // A sound file of one tensor that fills two chunks and a bit.
  void write_file(std::uint32_t ordinal) const {
    const std::uint64_t bytes = 2 * tier::kChunkBytes + 100;
    std::vector<unsigned char> data(bytes);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(i * 7 + i / 251);
    tier::FileHeader header{};
    tier::lay_out(header, bytes, 1);
    tier::ManifestEntry entry{};
    std::strcpy(entry.name, "blk.0.w");
    entry.bytes = bytes;
    std::vector<std::uint32_t> sums;
    for (std::uint64_t i = 0; i < header.chunk_count; ++i)
      sums.push_back(tier::checksum(data.data() + i * tier::kChunkBytes, tier::chunk_length(bytes, i)));
    header.ordinal = ordinal;
    std::strcpy(header.key, "key");
    std::strcpy(header.buffer_type, "CPU_REPACK");
    header.manifest_sum = tier::checksum(&entry, sizeof entry);
    header.sums_sum = tier::checksum(sums.data(), sums.size() * sizeof sums[0]);
    tier::seal(header);
    std::string text(header.file_bytes, '\0');
    std::memcpy(text.data(), &header, sizeof header);
    std::memcpy(text.data() + header.data_offset, data.data(), data.size());
    std::memcpy(text.data() + header.manifest_offset, &entry, sizeof entry);
    std::memcpy(text.data() + header.sums_offset, sums.data(), sums.size() * sizeof sums[0]);
    std::ofstream(file(ordinal), std::ios::binary) << text;
  }
  [[nodiscard]] fs::path file(std::uint32_t ordinal) const {
    return root_ / "key" / (std::to_string(ordinal) + ".seg");
  }
  void flip(std::uint64_t at) const {
    std::fstream stream(file(0), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
  }
  [[nodiscard]] PackedCheck verify() const { return verify_packed((root_ / "key").string(), kAlways).value(); }

  test::TempFolder own_;
  fs::path root_ = own_.path();
};

TEST_F(PackedFiles, SoundFilesAreSound) {
  write_file(0);
  write_file(3);
  std::ofstream(root_ / "key" / "0.seg.bad") << "old";
  const auto check = verify();
  EXPECT_EQ(check.files, 2U);
  EXPECT_EQ(check.bytes, 2 * fs::file_size(file(0)));
  EXPECT_TRUE(check.faults.empty());
  EXPECT_TRUE(fs::exists(file(0)));
}

TEST_F(PackedFiles, AFolderThatIsNotThereHasNoFaults) {
  EXPECT_EQ(verify_packed((root_ / "none").string(), kAlways).value().files, 0U);
}

TEST_F(PackedFiles, EveryKindOfDamageIsFoundAndSetAside) {
  const std::uint64_t places[] = {0, 20, tier::kDataOffset + 5, tier::kDataOffset + 2 * tier::kChunkBytes + 99};
  for (const std::uint64_t at : places) {
    write_file(0);
    flip(at);
    const auto check = verify();
    ASSERT_EQ(check.faults.size(), 1U) << at;
    EXPECT_NE(check.faults[0].find("set aside"), std::string::npos);
    EXPECT_FALSE(fs::exists(file(0)));
    EXPECT_TRUE(fs::exists(file(0).string() + ".bad"));
  }
  write_file(0);
  fs::resize_file(file(0), 3 << 20);
  EXPECT_EQ(verify().faults.size(), 1U);
  write_file(0);
  fs::rename(file(0), file(1));  // another ordinal than it says
  EXPECT_EQ(verify().faults.size(), 1U);
}

TEST_F(PackedFiles, UseIsNotedAndKeepsWhatPackingTook) {
  const std::string folder = (root_ / "key").string();
  ASSERT_TRUE(note_packed_use(folder, kNow, 812.5));
  ASSERT_TRUE(note_packed_use(folder, kNow + std::chrono::hours(1), std::nullopt));
  const auto found = list_packed(root_.string());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "key");
  EXPECT_EQ(found[0].last_used, kNow + std::chrono::hours(1));
  EXPECT_EQ(found[0].pack_ms, 812.5);
}

TEST_F(PackedFiles, ADamagedNoteCountsAsNone) {
  for (const char* text :
       {"", "{", "[]", "{\"version\":2,\"last_used_ms\":5}", "{\"version\":1,\"last_used_ms\":\"x\"}"}) {
    std::ofstream(root_ / "key" / "use.json") << text;
    const auto found = list_packed(root_.string());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_FALSE(found[0].pack_ms) << text;
    EXPECT_GT(found[0].last_used, kNow) << text;  // the folder's own time
  }
}

TEST_F(PackedFiles, RemovingAModelsTakesAllItsKeysAndNoOthers) {
  const std::string digest(64, 'a');
  for (const auto& key : {digest + "-b1-0123", digest + "-b2-4567", std::string(64, 'b') + "-b1-0123"}) {
    fs::create_directories(root_ / key);
    std::ofstream(root_ / key / "0.seg") << "x";
  }
  ASSERT_TRUE(remove_packed_of(root_.string(), digest));
  EXPECT_FALSE(fs::exists(root_ / (digest + "-b1-0123")));
  EXPECT_FALSE(fs::exists(root_ / (digest + "-b2-4567")));
  EXPECT_TRUE(fs::exists(root_ / (std::string(64, 'b') + "-b1-0123")));
}

TEST_F(PackedFiles, ReadingStopsWhereNobodyWantsIt) {
  write_file(0);
  const auto stopped = verify_packed((root_ / "key").string(), [] { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, base::ErrorCode::cancelled);
}

TEST_F(PackedFiles, ANoteOfAnotherKindCountsAsNone) {
  std::ofstream(root_ / "key" / "use.json") << R"({"version":"1","last_used_ms":1})";
  EXPECT_EQ(list_packed(root_.string()).size(), 1U);
}

TEST_F(PackedFiles, RemovingTakesAllFiles) {
  write_file(0);
  ASSERT_TRUE(remove_packed(root_.string(), "key"));
  EXPECT_TRUE(list_packed(root_.string()).empty());
  EXPECT_TRUE(list_packed((root_ / "none").string()).empty());
}

}  // namespace
}  // namespace hearth::engine
