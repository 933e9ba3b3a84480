#include "core/byte_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace loom::byte_source_test {
namespace {

constexpr std::string_view kText = "before the bytes behind";

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> text_bytes() { return std::as_bytes(std::span(kText)); }

TEST(ByteSource, a_file_a_part_of_it_and_memory) {  // F-25
  const std::string path = ::testing::TempDir() + "byte_source_test.bin";
  ASSERT_TRUE(write_file_atomically(path, text_bytes()));
  EXPECT_EQ(text_of((*ByteSource::file(path))->bytes()), kText);
  EXPECT_EQ((*ByteSource::file(path))->name(), path);
  EXPECT_EQ(text_of((*ByteSource::part_of_file(path, 11, 5))->bytes()), "bytes");
  EXPECT_EQ(text_of((*ByteSource::part_of_file(path, 11))->bytes()), "bytes behind");
  EXPECT_EQ((*ByteSource::part_of_file(path, kText.size()))->bytes().size(), 0u);
  for (const auto& [offset, length] : {std::pair<std::uint64_t, std::uint64_t>{kText.size() + 1, 0},
                                       {11, kText.size()},
                                       {~std::uint64_t{0} - 1, 5},
                                       {5, ~std::uint64_t{0} - 1}}) {
    const auto part = ByteSource::part_of_file(path, offset, length);
    ASSERT_FALSE(part) << offset;
    EXPECT_EQ(part.error().code, Code::OutOfRange);
    EXPECT_NE(part.error().text().find(path), std::string::npos) << part.error().text();
  }
  EXPECT_EQ(ByteSource::file(path + ".none").error().code, Code::NotFound);
  const auto memory = ByteSource::memory("a name", text_bytes());
  EXPECT_EQ(memory->bytes().data(), text_bytes().data());  // no copy
  EXPECT_EQ(memory->name(), "a name");
  memory->release(memory->bytes());
  EXPECT_EQ(text_of(memory->bytes()), kText);
}

TEST(ByteSource, a_callback_gives_as_much_as_it_likes_at_a_time) {  // F-25
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    std::uint64_t expected = 0;
    const auto source = ByteSource::read("host", kText.size(), [&](std::uint64_t offset, std::span<std::byte> to) {
      EXPECT_EQ(offset, expected);
      const std::size_t n = std::min({most, to.size(), kText.size() - static_cast<std::size_t>(offset)});
      std::memcpy(to.data(), kText.data() + offset, n);
      expected += n;
      return Result<std::size_t>(n);
    });
    ASSERT_TRUE(source) << source.error().text();
    EXPECT_EQ(text_of((*source)->bytes()), kText);
  }
  const auto none = ByteSource::read("host", 0, [](auto, auto) -> Result<std::size_t> {
    ADD_FAILURE();
    return 0u;
  });
  ASSERT_TRUE(none);
  EXPECT_TRUE((*none)->bytes().empty());
}

TEST(ByteSource, a_callback_that_ends_fails_or_lies_is_an_error) {  // F-01
  const auto code = [](std::uint64_t size, const ReadAt& read) {
    const auto source = ByteSource::read("host", size, read);
    if (source) return Code{};
    EXPECT_TRUE(source.error().text().starts_with("host: ")) << source.error().text();
    return source.error().code;
  };
  EXPECT_EQ(code(9, [](std::uint64_t offset, auto) { return Result<std::size_t>(offset < 3 ? 3 : 0); }), Code::IoError);
  EXPECT_EQ(code(9, [](auto, std::span<std::byte> to) { return Result<std::size_t>(to.size() + 1); }),
            Code::InvalidArgument);
  EXPECT_EQ(code(9, [](auto, auto) -> Result<std::size_t> { return fail(Code::Cancelled, "the host gave up"); }),
            Code::Cancelled);
  EXPECT_EQ(code(~std::uint64_t{0} - 5, [](auto, auto) { return Result<std::size_t>(1u); }), Code::SizeOverflow);
  EXPECT_EQ(code(std::uint64_t{1} << 62, [](auto, auto) { return Result<std::size_t>(1u); }), Code::OutOfMemory);
}

TEST(ByteSource, a_source_on_demand_reads_what_is_asked_for) {  // F-25
  std::size_t asked = 0;
  const auto source = ByteSource::on_demand("host", kText.size(), [&](std::uint64_t offset, std::span<std::byte> to) {
    asked += to.size();
    std::memcpy(to.data(), kText.data() + offset, to.size());
    return Result<std::size_t>(to.size());
  });
  EXPECT_EQ(source->size(), kText.size());
  EXPECT_TRUE(source->bytes().empty());
  std::byte two[2];
  ASSERT_TRUE(source->copy(kText.size() - 2, two));
  EXPECT_EQ(text_of(two), kText.substr(kText.size() - 2));
  ASSERT_TRUE(source->fill(3));
  ASSERT_TRUE(source->copy(1, two));  // out of the front
  EXPECT_EQ(text_of(two), kText.substr(1, 2));
  EXPECT_EQ(asked, 5u);
  EXPECT_FALSE(source->is_whole());
  ASSERT_TRUE(source->fill(kText.size() + 100));
  EXPECT_TRUE(source->is_whole());
  EXPECT_EQ(text_of(source->bytes()), kText);
  EXPECT_EQ(asked, 2 + kText.size());  // what is in the front is not read again
  EXPECT_EQ(source->copy(kText.size() - 1, two).error().code, Code::OutOfRange);
}

}  // namespace
}  // namespace loom::byte_source_test
