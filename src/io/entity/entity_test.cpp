#include "io/entity/entity.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "io/entity/entity_reseal.h"
#include "io/hostile_test.h"
#include "support/leftovers.h"
#include "support/files.h"
#include "support/paths.h"

namespace loom::entity_test {
namespace {

using test::bytes_of;
std::vector<std::byte> golden() { return bytes_of_file(test::source_path("tests/golden/small.entity")); }

// Root, section hashes and gaps: what a careful reader asks for.
Result<void> opened_and_verified(std::span<const std::byte> bytes) {
  LOOM_TRY(const auto file, EntityReader::parse(bytes));
  return file.verify();
}

Code code_of(const std::vector<std::byte>& bytes, const char* expected) {
  const auto done = opened_and_verified(bytes);
  if (done) return Code{};
  EXPECT_NE(done.error().text().find(expected), std::string::npos) << done.error().text();
  return done.error().code;
}

TEST(Entity, byte_layout_by_hand) {  // F-30
  EntityWriter writer;
  ASSERT_TRUE(writer.add("weights", 0, 0, bytes_of("WW")));
  ASSERT_TRUE(writer.add_text("network", 3, 1, "{}"));
  const auto file = writer.to_bytes();
  ASSERT_TRUE(file);
  std::vector<std::byte> expected(4098);
  const auto put = [&](std::size_t at, std::string_view text) {
    std::copy_n(bytes_of(text).begin(), text.size(), expected.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto put_hash = [&](std::size_t at, std::span<const std::byte> of) {
    Sha256 hash;
    hash.update(of);
    const Digest d = hash.finish();
    std::memcpy(expected.data() + at, d.data(), 32);
  };
  put(0, {"ENTITY\0\0\2\0\0\0\2\0\0\0\x02\x10\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 32});  // length 4098, two sections
  put(64, {"network\0\3\0\0\0\1\0\0\0\xc0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 32});    // at 192
  put_hash(96, bytes_of("{}"));
  put(128, {"weights\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 32});  // at 4096
  put_hash(160, bytes_of("WW"));
  put(192, "{}");
  put(4096, "WW");
  std::vector<std::byte> hashed(expected.begin(), expected.begin() + 32);
  hashed.insert(hashed.end(), expected.begin() + 64, expected.begin() + 192);
  put_hash(32, hashed);
  EXPECT_EQ(*file, expected);
  EXPECT_EQ(EntityWriter().to_bytes()->size(), 64u);
}

// F-30
TEST(Entity, reads_what_another_program_wrote) {  // tools/golden/entity.py
  const auto file = EntityReader::open(test::source_path("tests/golden/small.entity"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->verify());
  EXPECT_EQ(file->flags(), kEntitySigned);
  EXPECT_EQ(file->numerics_version(), 1u);  // older files are read
  ASSERT_EQ(file->sections().size(), 7u);
  EXPECT_EQ(file->find("x-other", 7)->flags, 4u);
  EXPECT_EQ(file->find("weights")->offset, 4096u);
  const auto network = file->section("network");
  ASSERT_TRUE(network);
  EXPECT_TRUE(std::ranges::equal(*network, bytes_of(R"({"cols":1,"depth":1})")));
  EXPECT_EQ(file->section("network", 1).error().code, Code::NotFound);
  EXPECT_EQ(file->section("x-other", 2)->size(), 0u);
}

TEST(Entity, a_rewrite_keeps_every_byte_and_unknown_sections) {  // F-03, F-33
  const auto good = golden();
  const auto file = EntityReader::parse(good);
  ASSERT_TRUE(file);
  EntityWriter writer;
  ASSERT_TRUE(writer.add_all(*file));
  EXPECT_EQ(*writer.to_bytes(), good);
  const std::string path = ::testing::TempDir() + "rewritten.entity";
  const auto root = writer.write(path);
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_EQ(*root, file->root_hash());
  EXPECT_EQ(bytes_of_file(path), good);

  // Onto itself, with one section replaced.
  const auto opened = EntityReader::open(path);
  EntityWriter second;
  ASSERT_TRUE(second.add_all(*opened));
  EXPECT_TRUE(second.remove("metadata"));
  EXPECT_FALSE(second.remove("metadata"));
  ASSERT_TRUE(second.add("metadata", 0, 0, bytes_of("{}")));
  ASSERT_TRUE(second.write(path));
  EXPECT_TRUE(opened->verify());  // the map is the old file's
  const auto changed = EntityReader::open(path);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->verify());
  EXPECT_TRUE(std::ranges::equal(*changed->section("x-other", 7), bytes_of("kept")));
  EXPECT_TRUE(std::ranges::equal(*changed->section("metadata"), bytes_of("{}")));
  EXPECT_NE(changed->root_hash(), file->root_hash());
}

TEST(Entity, sections_stand_in_one_order) {  // F-03
  EntityWriter a, b;
  const std::pair<const char*, std::uint32_t> order[] = {
      {"weights", 0}, {"b", 2}, {"b", 10}, {"a", 0}, {"tokenize", 0}};
  for (const auto& [kind, index] : order) ASSERT_TRUE(a.add(kind, index, 0, bytes_of("12345")));
  for (std::size_t i = 5; i-- > 0;) ASSERT_TRUE(b.add(order[i].first, order[i].second, 0, bytes_of("12345")));
  EXPECT_EQ(*a.to_bytes(), *b.to_bytes());
}

TEST(Entity, a_flipped_bit_is_found_and_named) {  // F-32, G-94
  const auto good = golden();
  ASSERT_TRUE(opened_and_verified(good));
  const auto file = EntityReader::parse(good);
  const auto expect_found = [&](std::size_t bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto done = opened_and_verified(bad);
    ASSERT_FALSE(done) << bit;
    ASSERT_EQ(done.error().code, Code::CorruptData) << done.error().text();
    std::string place = "header";  // of header and directory
    if (bit / 8 >= 64 + 7 * 64) place = "gap";
    for (const EntitySection& s : file->sections())
      if (bit / 8 >= s.offset && bit / 8 < s.offset + s.length)
        place = "section \"" + s.kind + "\" " + std::to_string(s.index) + ": its";
    // The root hash leaves out this field, so the section shows it.
    if (bit / 8 >= 64 + 2 * 64 + 32 && bit / 8 < 64 + 3 * 64) place = "section \"signatur\" 0: its";
    ASSERT_NE(done.error().text().find(place), std::string::npos) << bit << ": " << done.error().text();
  };
  for (std::size_t bit = 0; bit < (64 + 7 * 64) * 8; ++bit) expect_found(bit);
  for (std::size_t i = 0; i < 10000; ++i) expect_found(static_cast<std::size_t>(splitmix(94, i) % (good.size() * 8)));
}

TEST(Entity, a_section_is_checked_on_first_use) {  // F-32
  auto bad = golden();
  bad[4096] ^= std::byte{1};
  const auto file = EntityReader::parse(bad);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->section("tensors"));
  for (int again = 0; again < 2; ++again) {
    const auto weights = file->section("weights");
    ASSERT_FALSE(weights);
    EXPECT_EQ(weights.error().code, Code::CorruptData);
    EXPECT_NE(weights.error().text().find("offset 4096: section \"weights\" 0"), std::string::npos);
  }
  EXPECT_FALSE(file->verify());
  EntityWriter writer;  // a rewrite does not make damage good
  ASSERT_TRUE(writer.add_all(*file));
  EXPECT_EQ(writer.to_bytes().error().code, Code::CorruptData);
}

TEST(Entity, survives_damage) {  // F-01
  const auto good = golden();
  expect_survives_damage(good, 64 + 7 * 64, 4,
                         [](std::span<const std::byte> bytes) { return EntityReader::parse(bytes).has_value(); });
  // Damage under right hashes: only the structure is left to refuse a file.
  for (std::size_t i = 0; i < 64 + 7 * 64; ++i)
    for (const std::byte change : {std::byte{0x01}, std::byte{0x10}, std::byte{0x80}, std::byte{0xff}}) {
      auto bad = good;
      bad[i] ^= change;
      reseal(bad);
      const std::size_t before = allocated_bytes();
      const auto file = EntityReader::parse(bad);
      if (file) (void)file->verify();
      EXPECT_LE(allocated_bytes() - before, 4 * bad.size() + (std::size_t{1} << 20));
    }
}

TEST(Entity, hostile_headers) {  // F-30, F-33
  const auto good = golden();
  const auto with = [&](std::size_t at, auto value) {
    auto bad = good;
    store_le(bad.data() + at, value);
    reseal(bad);
    return bad;
  };
  EXPECT_EQ(code_of(with(12, std::uint32_t{0}), "numerics version 0"), Code::CorruptData);
  EXPECT_EQ(code_of(with(12, kNumericsVersion + 1), "offset 12: header: numerics version 3 is newer than 2"),
            Code::Unsupported);
  EXPECT_EQ(code_of(with(28, std::uint32_t{1}), "offset 28"), Code::CorruptData);
  EXPECT_EQ(code_of(with(10, std::uint16_t{0}), "offset 10"), Code::CorruptData);
  EXPECT_EQ(code_of(with(10, std::uint16_t{3}), "offset 10"), Code::CorruptData);
  EXPECT_EQ(code_of(with(10, std::uint16_t{9}), "offset 10"), Code::Unsupported);
  EXPECT_EQ(code_of(with(24, std::uint32_t{6}), "offset"), Code::CorruptData);
  EXPECT_EQ(code_of(with(24, ~std::uint32_t{0}), "offset 24"), Code::CorruptData);
  auto newer = good;
  store_le(newer.data() + 8, std::uint16_t{3});
  EXPECT_EQ(code_of(newer, "damaged"), Code::CorruptData);
  newer[40] ^= std::byte{1};
  EXPECT_EQ(code_of(newer, "offset 8: header: .entity format version 3, this build reads 2; a newer Loom can read it"),
            Code::Unsupported);
  EXPECT_EQ(code_of({}, "offset 0"), Code::CorruptData);
  auto longer = good;
  longer.push_back({});
  EXPECT_EQ(code_of(longer, "offset 16"), Code::CorruptData);
  reseal(longer);
  EXPECT_EQ(code_of(longer, "after the last section"), Code::CorruptData);

  const std::size_t second = 128, weights = 64 + 4 * 64;  // entries "network", "weights"
  EXPECT_EQ(code_of(with(second, std::uint64_t{0}), "no kind"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second, std::uint64_t{0x41004100}), "no kind"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second, std::uint64_t{0x0a41}), "no kind"), Code::CorruptData);
  // "yyy", mandatory
  EXPECT_EQ(code_of(with(second, std::uint64_t{0x797979}), "must be understood"), Code::Unsupported);
  EXPECT_EQ(code_of(with(second + 16, std::uint64_t{512 + 32}), "no multiple of 64"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second + 16, std::uint64_t{512}), "overlaps"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second + 16, std::uint64_t{0}), "overlaps"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second + 24, std::uint64_t{100}), "overlaps"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second + 24, ~std::uint64_t{0}), "leaves the file"), Code::CorruptData);
  EXPECT_EQ(code_of(with(second + 16, std::uint64_t{1} << 63), "leaves the file"), Code::CorruptData);
  EXPECT_EQ(code_of(with(weights + 16, std::uint64_t{4096 + 64}), "no multiple of 4096"), Code::CorruptData);
  EXPECT_EQ(code_of(with(64 + 6 * 64 + 8, std::uint32_t{2}), "appears twice"), Code::CorruptData);
}

TEST(Entity, gaps_may_be_larger_but_not_filled) {  // F-30
  EntityWriter writer;
  ASSERT_TRUE(writer.add("a", 0, 0, bytes_of("1")));
  ASSERT_TRUE(writer.add("b", 0, 0, bytes_of("2")));
  auto file = *writer.to_bytes();
  file.resize(file.size() + 64);
  std::swap(file[256], file[256 + 64]);
  store_le(file.data() + 64 + 64 + 16, std::uint64_t{256 + 64});
  reseal(file);
  ASSERT_TRUE(opened_and_verified(file));
  file[256] = std::byte{1};
  EXPECT_TRUE(EntityReader::parse(file));
  EXPECT_EQ(code_of(file, "offset 256: the gap before section \"b\" 0 is not zero"), Code::CorruptData);
}

TEST(Entity, the_writer_refuses) {  // F-30
  EntityWriter writer;
  for (const char* kind : {"", "ninechars", "a b", "\xc3\xbc", "a\n"})
    EXPECT_EQ(writer.add(kind, 0, 0, bytes_of("")).error().code, Code::InvalidArgument) << kind;
  EXPECT_TRUE(writer.add("a", 0, 0, bytes_of("")));
  EXPECT_EQ(writer.add("a", 0, 0, bytes_of("")).error().code, Code::InvalidArgument);
  EXPECT_TRUE(writer.add("b", 0, 0, 5, [](const EntityWriter::Sink& out) { return out(bytes_of("1234")); }));
  EXPECT_EQ(writer.to_bytes().error().code, Code::InvalidArgument);
  EXPECT_TRUE(writer.remove("b"));
  EXPECT_TRUE(writer.add("b", 0, 0, std::uint64_t{1} << 62, [](const EntityWriter::Sink&) { return Result<void>(); }));
  EXPECT_EQ(writer.to_bytes().error().code, Code::SizeOverflow);
}

class SavedEntity : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    EntityWriter writer;
    ASSERT_TRUE(writer.add("metadata", 0, 0, bytes_of("old")));
    ASSERT_TRUE(writer.write(path_));
    old_ = bytes_of_file(path_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  bool old_file_exists() const { return !old_.empty() && bytes_of_file(path_) == old_; }
  bool temporary_exists() const { return !test::leftovers(folder_).empty(); }

  const std::string folder_ = ::testing::TempDir() + "saved_entity", path_ = folder_ + "/saved.entity";
  std::vector<std::byte> old_;
};

TEST_F(SavedEntity, a_full_disk_leaves_the_old_file_and_no_other) {  // F-03
  const std::vector<std::byte> much(1 << 20, std::byte{7});
  EntityWriter writer;
  ASSERT_TRUE(writer.add("weights", 0, 0, much));
  // A limit on the size of files stands in for the end of the disk: writes stop after so many bytes.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {rlim_t{0}, rlim_t{1}, rlim_t{100}, rlim_t{4096}, rlim_t{5000}, rlim_t{(1 << 20) + 4095}}) {
    rlimit small{limit, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto done = writer.write(path_);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(done) << limit;
    EXPECT_EQ(done.error().code, Code::IoError);
    EXPECT_TRUE(old_file_exists());
    EXPECT_FALSE(temporary_exists());
  }
  std::signal(SIGXFSZ, ignored);
  ASSERT_TRUE(writer.write(path_));
  EXPECT_FALSE(temporary_exists());
  EXPECT_TRUE(EntityReader::open(path_)->verify());
}

TEST_F(SavedEntity, a_failing_section_leaves_the_old_file_and_no_other) {  // F-03
  EntityWriter writer;
  ASSERT_TRUE(writer.add("weights", 0, 0, 8, [](const EntityWriter::Sink& out) -> Result<void> {
    LOOM_TRY_VOID(out(bytes_of("1234")));
    return fail(Code::Cancelled, "stop");
  }));
  EXPECT_EQ(writer.write(path_).error().code, Code::Cancelled);
  EXPECT_TRUE(old_file_exists());
  EXPECT_FALSE(temporary_exists());
  EXPECT_EQ(writer.write("/nowhere/at/all.entity").error().code, Code::NotFound);
}

TEST_F(SavedEntity, a_killed_save_leaves_the_old_file) {  // F-03
  const std::vector<std::byte> much(1 << 20, std::byte{7});
  const pid_t child = ::fork();
  if (child == 0) {
    EntityWriter writer;
    (void)writer.add("weights", 0, 0, 2 * much.size(), [&](const EntityWriter::Sink& out) -> Result<void> {
      LOOM_TRY_VOID(out(much));
      ::raise(SIGKILL);
      return {};
    });
    (void)writer.write(path_);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(old_file_exists());
  EntityWriter writer;  // what the dead process left is taken over
  ASSERT_TRUE(writer.add("metadata", 0, 0, bytes_of("new")));
  ASSERT_TRUE(writer.write(path_));
  EXPECT_FALSE(temporary_exists());
  EXPECT_TRUE(EntityReader::open(path_)->verify());
}

}  // namespace
}  // namespace loom::entity_test
