#pragma once
// Tables of keys in the manuals: rows "| `key`, `alias` | `default` | meaning |", which must be those of a config's
// schema.

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "core/config_writer.h"
#include "core/file.h"
#include "support/paths.h"

namespace loom::test {

// "[text](target)" as its text.
inline std::string without_links(std::string text) {
  for (std::size_t middle = text.find("]("); middle != text.npos; middle = text.find("](", middle)) {
    const std::size_t begin = text.rfind('[', middle), end = text.find(')', middle);
    if (begin == text.npos || end == text.npos) break;
    text.erase(middle, end + 1 - middle);
    text.erase(begin, 1);
  }
  return text;
}

inline std::string row_text(const KeyRow& row) {
  std::string names = "`" + row.key + "`";
  for (const std::string& alias : row.aliases) names += ", `" + alias + "`";
  return fmt::format("| {} | {} | {} |", names, row.standard == "-" ? "-" : "`" + row.standard + "`", row.help);
}

// Every key of the schema, at any depth, has one line of help that a table can show.
inline void expect_described(const Json& schema, const std::string& place = "") {
  if (!schema.is_object()) return;
  for (const char* named : {"properties", "$defs"})
    if (const Json* all = find(schema, named))
      for (const auto& [key, value] : all->items()) {
        const std::string here = place + "/" + key;
        const Json* help = find(value, "description");
        const std::string* text = help == nullptr ? nullptr : as_string(*help);
        if (std::string_view(named) == "properties" && value.is_object()) {
          EXPECT_TRUE(text != nullptr && !text->empty()) << here << " has no line of help";
          EXPECT_TRUE(text == nullptr || text->find_first_of("|\n") == text->npos) << here << ": " << *text;
        }
        expect_described(value, here);
      }
  for (const char* any : {"anyOf", "oneOf"})
    if (const Json* all = find(schema, any))
      for (const Json& one : *all) {
        const Json* title = find(one, "title");
        expect_described(one, place + (title == nullptr ? "" : "/" + *as_string(*title)));
      }
  if (const Json* items = find(schema, "items")) expect_described(*items, place + "[]");
}

// Fails with the line that is missing or differs, ready to be copied into the page.
inline void expect_documented(const Json& schema, const std::string& page, std::size_t least) {
  const auto text = read_text_file(source_path(page));
  ASSERT_TRUE(text) << text.error().text();
  std::map<std::string, std::string> lines;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t end = line.find('`', 3);
    if (line.rfind("| `", 0) != 0 || (line.compare(end, 6, "` | - ") != 0 && line.compare(end, 5, "` | `") != 0))
      continue;
    EXPECT_TRUE(lines.emplace(line.substr(3, end - 3), without_links(line)).second)
        << page << " has two rows of " << line.substr(3, end - 3);
  }
  const std::vector<KeyRow> rows = key_rows(schema);
  EXPECT_GT(rows.size(), least);
  for (const KeyRow& row : rows) {
    EXPECT_FALSE(row.help.empty()) << row.key << " has no line of help";
    EXPECT_EQ(lines[row.key], row_text(row)) << page;
    lines.erase(row.key);
  }
  for (const auto& [key, line] : lines) ADD_FAILURE() << page << " has " << key << ", which no config reads";
}

}  // namespace loom::test
