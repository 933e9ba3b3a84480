#include "text/unicode/text_search.h"

#include <gtest/gtest.h>

namespace loom::text {

// Every pair of texts over two letters up to a size, and long ones that make a table necessary.
TEST(TextSearch, equals_the_standard_library) {
  std::uint64_t state = 7;
  const auto word = [&](std::size_t size) {
    std::string out;
    for (std::size_t k = 0; k < size; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      out += (state >> 40) % 8 == 0 ? 'b' : 'a';
    }
    return out;
  };
  for (std::size_t round = 0; round < 20000; ++round) {
    const std::string text = word(round % 300), needle = word(round % 23);
    Finder finder(needle);
    for (const std::size_t from : {std::size_t{0}, round % 7, text.size(), text.size() + 1})
      ASSERT_EQ(finder.find(text, from), text.find(needle, from)) << text << ' ' << needle << ' ' << from;
    ASSERT_EQ(find_last(text, needle), text.rfind(needle)) << text << ' ' << needle;
    std::size_t open = needle.empty() ? 0 : std::min(needle.size() - 1, text.size());
    while (open > 0 && text.compare(text.size() - open, open, needle, 0, open) != 0) --open;
    ASSERT_EQ(finder.open_end(text), open) << text << ' ' << needle;
  }
  const std::string many(100000, 'a');
  EXPECT_EQ(Finder(std::string_view(many).substr(1)).find(many + "b"), 0u);
  const std::string needle = many.substr(0, 50000) + "b";
  EXPECT_EQ(Finder(needle).find(many + "b"), 50000u);
  EXPECT_EQ(Finder(needle).find(many), Finder::npos);
}

}  // namespace loom::text
