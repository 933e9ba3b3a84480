#include "data/text/text_windows.h"

#include "data/data_test.h"

namespace loom {
namespace {

TEST(TextWindows, bytes_and_the_bytes_that_follow) {  // T-42
  const std::string path = write_test_file("bytes.txt", "abcdefgh");
  const auto set = open_text(path, {.length = 3});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ((*set)->info().samples, 2u);
  EXPECT_EQ((*set)->info().classes, 256u);
  const auto read = read_all(**set);
  EXPECT_EQ(read->inputs, (std::vector<float>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(read->labels, (std::vector<std::int32_t>{'b', 'c', 'd', 'e', 'f', 'g'}));
  EXPECT_EQ((*open_text(path, {.length = 7}))->info().samples, 1u);
  EXPECT_EQ((*open_text(path, {.length = 3, .stride = 1}))->info().samples, 5u);
  expect_error(open_text(path, {.length = 8}), Code::ShapeMismatch, {"8 ids", "8 + 1"});
  expect_error(open_text(path, {.length = 0}), Code::InvalidConfig, {"0 ids"});
}

TEST(TextWindows, characters_get_ids_by_code_point) {  // T-42
  const std::string path = write_test_file("characters.txt", "b\u00e9a\U0001f600b\n");
  const auto set = open_text(path, {.unit = TextUnit::characters, .length = 5});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ((*set)->info().class_names, (std::vector<std::string>{"\n", "a", "b", "\u00e9", "\U0001f600"}));
  const auto read = read_all(**set);
  EXPECT_EQ(read->inputs, (std::vector<float>{2, 3, 1, 4, 2}));
  EXPECT_EQ(read->labels, (std::vector<std::int32_t>{3, 1, 4, 2, 0}));
  const auto given = [&](std::vector<std::string> vocabulary) {
    return open_text(path, {.unit = TextUnit::characters, .length = 5, .vocabulary = vocabulary});
  };
  EXPECT_EQ(read_all(**given({"b", "a", "\n", "\U0001f600", "\u00e9"}))->inputs, (std::vector<float>{0, 4, 1, 3, 0}));
  expect_error(given({"a", "b", "\u00e9", "\U0001f600"}), Code::UnknownName, {"line 1, column 6", "U+000A"});
  expect_error(given({"a", "a"}), Code::InvalidConfig, {"U+0061", "twice"});
  expect_error(given({"ab"}), Code::InvalidConfig, {"entry 0"});
  for (const char* bad : {"ab\x80", "\xc0\x80 ", "\xed\xa0\x80", "a\xf4\x90\x80\x80", "ab\xe2\x82"})
    expect_error(open_text(write_test_file("bad.txt", bad), {.unit = TextUnit::characters, .length = 1}),
                 Code::CorruptData, {"offset", "UTF-8"});
}

TEST(TextWindows, a_book_reads_whole) {  // T-42
  const auto set = open_text(data_path("text/botchan.txt"), {.unit = TextUnit::characters, .length = 128});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_GT((*set)->info().samples, 2000u);
  EXPECT_LT((*set)->info().classes, 200u);
  EXPECT_TRUE(read_all(**set));
}

}  // namespace
}  // namespace loom
