// Saves and reads in folders that others write to, and what is left when they fail.

#include "core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/folder.h"
#include "support/files.h"
#include "support/leftovers.h"

namespace loom {
namespace {

namespace fs = std::filesystem;

using test::bytes_of;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "loom-files-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> leftovers() const { return test::leftovers(folder_); }
  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text_of(const std::string& path) { return read_text_file(path).value_or("(missing)"); }
  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::string folder_;
};

TEST_F(Files, names_stay_inside_the_folder) {  // F-02
  for (const char* bad : {"", "/etc/passwd", "../x", "a/../../x", "a//b", "a\\b", ".", "a/."})
    EXPECT_FALSE(path_inside("m", bad)) << bad;
  for (const char* bad : {"./", "./..", "./../x", "a/./../../x", "./a/..", "a/", ".//x", "././"})
    EXPECT_FALSE(path_inside("m", bad)) << bad;
  EXPECT_EQ(path_inside("m", "a/b.safetensors").value(), "m/a/b.safetensors");
  for (const char* same : {"./a/b", "a/./b", "././a/././b"}) EXPECT_EQ(path_inside("m", same).value(), "m/a/b") << same;
}

TEST_F(Files, links_do_not_lead_out_of_the_folder) {  // F-02
  ASSERT_TRUE(create_folders(at("model/inner")));
  ASSERT_TRUE(create_folders(at("outside")));
  put(at("outside/w"), "secret"), put(at("model/inner/w"), "weights");
  fs::create_directory_symlink(at("outside"), at("model/out"));
  fs::create_symlink("../outside/w", at("model/w"));
  fs::create_symlink("inner/w", at("model/v"));
  for (const char* bad : {"out/w", "w"}) {
    const auto path = path_inside(at("model"), bad);
    ASSERT_FALSE(path) << bad;
    EXPECT_EQ(path.error().code, Code::OutOfRange);
    EXPECT_NE(path.error().text().find("link"), std::string::npos);
  }
  for (const char* good : {"inner/w", "v", "absent"})
    EXPECT_EQ(path_inside(at("model"), good).value(), at("model/") + good);
  // As Hugging Face's cache lays its files out; the folder itself may be a link.
  ASSERT_TRUE(create_folders(at("hub/blobs")));
  ASSERT_TRUE(create_folders(at("hub/snapshots/1f")));
  put(at("hub/blobs/sha"), "weights");
  fs::create_symlink("../../blobs/sha", at("hub/snapshots/1f/w"));
  fs::create_directory_symlink(at("hub/snapshots/1f"), at("short"));
  for (const char* folder : {"hub/snapshots/1f", "short"}) EXPECT_TRUE(path_inside(at(folder), "w")) << folder;
  fs::create_symlink("../../../outside/w", at("hub/snapshots/1f/x"));
  EXPECT_FALSE(path_inside(at("hub/snapshots/1f"), "x"));
  // Models in folders of a repository: their links lead into the same blobs.
  ASSERT_TRUE(create_folders(at("hub/snapshots/1f/onnx/quantized")));
  fs::create_symlink("../../../blobs/sha", at("hub/snapshots/1f/onnx/w"));
  fs::create_symlink("../../../../blobs/sha", at("hub/snapshots/1f/onnx/quantized/w"));
  for (const char* folder : {"hub/snapshots/1f/onnx", "hub/snapshots/1f/onnx/quantized", "short/onnx"})
    EXPECT_TRUE(path_inside(at(folder), "w")) << folder;
  EXPECT_TRUE(path_inside(at("hub/snapshots/1f"), "onnx/quantized/w"));
  fs::create_symlink("../../../../outside/w", at("hub/snapshots/1f/onnx/x"));
  ASSERT_TRUE(create_folders(at("other/blobs")));
  put(at("other/blobs/sha"), "another model");
  fs::create_symlink("../../../../other/blobs/sha", at("hub/snapshots/1f/onnx/y"));
  for (const char* bad : {"x", "y", "z/w"}) {
    if (bad[0] == 'z') fs::create_directory_symlink(at("outside"), at("hub/snapshots/1f/onnx/z"));
    EXPECT_FALSE(path_inside(at("hub/snapshots/1f/onnx"), bad)) << bad;
  }
  // A folder that is called blobs elsewhere, and a model in "snapshots" itself.
  fs::create_symlink("../blobs/sha", at("hub/snapshots/v"));
  EXPECT_FALSE(path_inside(at("hub/snapshots"), "v"));
}

TEST_F(Files, atomic_write_and_errors) {  // F-03
  const std::string path = at("file");
  ASSERT_TRUE(write_file_atomically(path, bytes_of("hello")));
  EXPECT_EQ(text_of(path), "hello");
  auto map = MappedFile::open(path);
  ASSERT_TRUE(map);
  EXPECT_EQ((*map)->bytes().size(), 5u);
  EXPECT_EQ(MappedFile::open(path + ".absent").error().code, Code::NotFound);
  EXPECT_FALSE(MappedFile::open(folder_));
  EXPECT_FALSE(write_file_atomically("/dev/full/x", {}));
  EXPECT_EQ(read_text_file(path, 4).error().code, Code::LimitExceeded);
}

TEST_F(Files, a_save_touches_no_file_but_its_own) {  // F-03
  put(at("victim"), "keep"), put(at("b.part"), "a download");
  fs::create_symlink("victim", at("a.part"));
  ASSERT_TRUE(write_file_atomically(at("a"), bytes_of("new")));
  ASSERT_TRUE(write_file_atomically(at("b"), bytes_of("new")));
  EXPECT_EQ(text_of(at("victim")), "keep");
  EXPECT_EQ(text_of(at("b.part")), "a download");
  EXPECT_TRUE(fs::is_symlink(at("a.part")));
  EXPECT_FALSE(fs::is_symlink(at("a")));
  EXPECT_EQ(text_of(at("a")), "new");
  EXPECT_EQ(leftovers().size(), 2u);  // the two that are not ours
  ASSERT_EQ(mkfifo(at("c.part").c_str(), 0600), 0);
  alarm(20);  // it waited for a reader once
  EXPECT_TRUE(write_file_atomically(at("c"), bytes_of("new")));
  alarm(0);
}

TEST_F(Files, permissions_of_a_replaced_file_stay) {  // F-03
  const mode_t before = umask(027);
  ASSERT_TRUE(write_file_atomically(at("new"), bytes_of("1")));
  EXPECT_EQ(mode_of(at("new")), 0640u);
  for (const mode_t mode : {0600u, 0644u, 0400u, 0666u}) {
    ASSERT_EQ(chmod(at("new").c_str(), mode), 0);
    ASSERT_TRUE(write_file_atomically(at("new"), bytes_of("2")));
    EXPECT_EQ(mode_of(at("new")), mode);
  }
  umask(before);
}

TEST_F(Files, pipes_and_devices_are_refused_at_once) {  // F-03
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  alarm(20);
  for (const std::string& path : {at("pipe"), std::string("/dev/zero")}) {
    EXPECT_EQ(MappedFile::open(path).error().code, Code::IoError) << path;
    EXPECT_EQ(read_text_file(path).error().code, Code::IoError) << path;
  }
  EXPECT_EQ(write_file_atomically(at("pipe"), {}).error().code, Code::IoError);
  alarm(0);
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Files, files_that_do_not_tell_their_size_are_read_to_their_end) {  // F-03
  EXPECT_NE(text_of("/proc/version").find("version"), std::string::npos);
  EXPECT_EQ(read_text_file("/proc/version", 10).error().code, Code::LimitExceeded);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text(40000, 'x');
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  EXPECT_EQ(read_stream(ends[0], "pipe", 100000).value(), text);
  EXPECT_EQ(read_stream(ends[1], "closed", 100000).error().code, Code::IoError);
  close(ends[0]);
}

TEST_F(Files, names_may_be_as_long_as_the_system_allows) {  // F-03
  const std::string name(255, 'n');
  ASSERT_TRUE(write_file_atomically(at(name), bytes_of("long")));
  EXPECT_EQ(text_of(at(name)), "long");
  EXPECT_FALSE(write_file_atomically(at(name + "n"), bytes_of("long")));
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Files, what_a_killed_save_left_goes_with_the_next) {  // F-03
  const pid_t child = fork();
  if (child == 0) {
    auto file = AtomicFile::create(at("a"));
    if (file && file->write(bytes_of("half"))) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(leftovers().size(), 1u);
  // A save that is under way, another file's, and a name that is nearly ours.
  auto living = AtomicFile::create(at("b"));
  ASSERT_TRUE(living && living->write(bytes_of("1")));
  put(at("a.0123456789abcdeg.part"), "not ours");
  ASSERT_TRUE(write_file_atomically(at("b"), bytes_of("2")));
  EXPECT_EQ(leftovers().size(), 3u);
  ASSERT_TRUE(write_file_atomically(at("a"), bytes_of("whole")));
  EXPECT_EQ(leftovers().size(), 2u);
  ASSERT_TRUE(living->commit());
  EXPECT_EQ(text_of(at("b")), "1");
  EXPECT_EQ(leftovers(), std::vector<std::string>{at("a.0123456789abcdeg.part")});
}

TEST_F(Files, a_handler_of_signals_can_remove_what_is_unfinished) {  // F-03
  put(at("a"), "old");
  std::vector<AtomicFile> files;
  for (int i = 0; i < 80; ++i) {  // more than there are places
    auto file = AtomicFile::create(at("a"));
    ASSERT_TRUE(file);
    files.push_back(std::move(*file));
  }
  EXPECT_EQ(leftovers().size(), 80u);
  const pid_t child = fork();
  if (child == 0) {
    remove_temporary_files();
    _exit(files[0].commit() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a save whose file was removed must not succeed";
  EXPECT_EQ(leftovers().size(), 16u);
  files.clear();
  EXPECT_EQ(leftovers(), std::vector<std::string>());
  EXPECT_EQ(text_of(at("a")), "old");
  EXPECT_TRUE(write_file_atomically(at("a"), bytes_of("new")));
}

TEST_F(Files, a_map_is_found_by_its_addresses) {  // F-03
  put(at("a"), std::string(10000, 'a'));
  const auto map = MappedFile::open(at("a"));
  ASSERT_TRUE(map);
  const std::byte* const begin = (*map)->bytes().data();
  for (const std::size_t offset : {0, 1, 9999, 12287})
    EXPECT_EQ(mapped_file_at(begin + offset), (*map)->path().c_str()) << offset;
  EXPECT_EQ(mapped_file_at(begin + 12288), nullptr);
  EXPECT_EQ(mapped_file_at(begin - 1), nullptr);
  EXPECT_EQ(mapped_file_at(nullptr), nullptr);
}

TEST_F(Files, a_source_that_is_cut_while_it_is_copied_is_told) {  // F-03
  put(at("a"), std::string(100000, 'a'));
  const auto map = MappedFile::open(at("a"));
  ASSERT_TRUE(map);
  ASSERT_EQ(truncate(at("a").c_str(), 10), 0);
  const auto written = write_file_atomically(at("b"), (*map)->bytes().subspan(8192));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::IoError);
  EXPECT_NE(written.error().text().find("became shorter"), std::string::npos);
  EXPECT_EQ(leftovers(), std::vector<std::string>());
  EXPECT_FALSE(fs::exists(at("b")));
}

}  // namespace
}  // namespace loom
