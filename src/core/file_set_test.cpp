#include "core/file_set.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/files.h"

namespace loom::file_set_test {
namespace {

FileSet in_memory(std::initializer_list<std::pair<const char*, std::string_view>> files) {
  std::map<std::string, std::shared_ptr<const ByteSource>> all;
  for (const auto& [name, text] : files) all[name] = ByteSource::memory(name, std::as_bytes(std::span(text)));
  return FileSet::memory("memory", std::move(all));
}

TEST(FileSet, AFolderAndMemoryGiveTheSameFiles) {
  const test::TempFolder folder;
  std::filesystem::create_directories(folder / "more");
  test::write_all(folder / "a.json", "{}");
  test::write_all(folder / "more/b.txt", "text");
  const FileSet disk = FileSet::folder(folder / "."), memory = in_memory({{"a.json", "{}"}, {"more/b.txt", "text"}});
  for (const FileSet* files : {&disk, &memory}) {
    EXPECT_TRUE(files->has("a.json"));
    EXPECT_FALSE(files->has("c.json"));
    EXPECT_EQ(files->text("a.json").value(), "{}");
    EXPECT_EQ(files->text("c.json").error().code, Code::NotFound);
    EXPECT_EQ(files->open("c.json").error().code, Code::NotFound);
    EXPECT_EQ(files->text("more/b.txt", 3).error().code, Code::LimitExceeded);
    EXPECT_EQ(files->names_below("more").value(), std::vector<std::string>{"b.txt"});
    EXPECT_TRUE(files->names_below("none").value().empty());
    EXPECT_EQ(files->open_inside("more/b.txt").value()->bytes().size(), 4u);
    EXPECT_FALSE(files->open_inside("../a.json"));
  }
}

TEST(FileSet, FilesInMemoryThatNobodyAskedForAreNamed) {
  const FileSet files = in_memory({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  EXPECT_TRUE(files.has("a"));
  EXPECT_TRUE(files.open("b"));
  EXPECT_EQ(files.unread(), std::vector<std::string>{"c"});
  EXPECT_TRUE(FileSet::folder(".").unread().empty());
}

}  // namespace
}  // namespace loom::file_set_test
