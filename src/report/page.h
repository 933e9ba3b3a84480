#pragma once
// HTML pages: the page, its sections, tables, and numbers in short forms. A page loads nothing and runs no script.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/markup.h"

namespace loom {

// Returns a whole page with the style of everything in this folder: light, dark and on paper.
std::string html_page(std::string_view title, std::string_view body);
// Returns a titled box of a page; nothing for an empty body.
std::string html_section(std::string_view name, const std::string& body, bool is_long = false);

// A table with a head. Cells are HTML.
class Table {
 public:
  struct Column {
    std::string name;
    bool is_number = false;  // aligned to the right
  };
  explicit Table(std::vector<Column> columns);
  void row(std::span<const std::string> cells);
  void row(std::initializer_list<std::string> cells) { row(std::span(cells.begin(), cells.size())); }
  std::string finish() const;

 private:
  std::vector<Column> columns_;
  std::string out_;
};

std::string html_code(std::string_view text);

// Short forms for people: 0.01234, 1.2e-07; 12,345; 1.5 MB; 3m05s.
std::string number_text(double value);
std::string count_text(std::uint64_t n);
std::string bytes_text(std::uint64_t bytes);
std::string seconds_text(double seconds);

}  // namespace loom
