#pragma once
// Search for a text in time linear in both texts, whatever they hold: files and templates choose them, and std::string_view::find takes
// their product on 'aaaa...' and 'aaa...b'.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loom::text {

// Looks for one text many times. The text must outlive it.
class Finder {
 public:
  static constexpr std::size_t npos = std::string_view::npos;
  explicit Finder(std::string_view needle) : needle_(needle) {}
  // Returns where the first match at `from` or later begins, or npos, as std::string_view::find does.
  std::size_t find(std::string_view text, std::size_t from = 0);
  // Bytes of the longest proper prefix of what is sought that ends `text`: what more text could complete.
  std::size_t open_end(std::string_view text);

 private:
  void prepare();
  std::size_t find_by_table(std::string_view text, std::size_t from);
  std::string_view needle_;
  std::vector<std::uint32_t>
      border_;  // by prefix length - 1: its longest proper prefix that is also its suffix. Made when needed
};

// Finds the last match, as std::string_view::rfind does.
std::size_t find_last(std::string_view text, std::string_view needle);

}  // namespace loom::text
