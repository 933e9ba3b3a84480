#include "host/load_any.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sys/inotify.h>
#include <unistd.h>
#endif

#include "io/network_file.h"
#include "support/files.h"
#include "support/small_model.h"
#include "support/small_network.h"

namespace loom::load_any_test {
namespace {

#ifdef __linux__
// Counts how often the files of a folder are opened.
class Opens {
 public:
  explicit Opens(const std::string& folder) : fd_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(fd_, folder.c_str(), IN_OPEN), 0);
  }
  ~Opens() { close(fd_); }
  Opens(const Opens&) = delete;
  Opens& operator=(const Opens&) = delete;
  // Since the last call.
  int count() const {
    alignas(inotify_event) char events[4096];
    int opens = 0;
    for (ssize_t size = 0; (size = read(fd_, events, sizeof events)) > 0;)
      for (ssize_t at = 0; at < size;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
        opens += event->len > 0 ? 1 : 0;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    return opens;
  }

 private:
  int fd_;
};

TEST(LoadAny, AFileIsOpenedOnce) {
  const test::TempFolder folder;
  const auto network = network_from_json(std::string_view(test::kTwoLayers));
  ASSERT_TRUE(network) << network.error().text();
  ASSERT_TRUE(save_network(folder / "net.entity", network->network));
  ASSERT_TRUE(save_network(folder / "net.json", network->network));
  ASSERT_TRUE(test::write_small_model(folder / "model.gguf"));
  const Opens opens(folder.path());
  for (const char* name : {"net.entity", "net.json", "model.gguf"}) {
    const auto loaded = load_any(folder / name);
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(opens.count(), 1) << name;
  }
  ASSERT_TRUE(open_any_network(folder / "net.entity"));
  EXPECT_EQ(opens.count(), 1);
}
#endif

TEST(LoadAny, FoldersAndOtherFilesAreRefusedInOneLine) {
  const test::TempFolder folder;
  test::write_all(folder / "text", "Once upon a time");
  test::write_all(folder / "list.json", "[1, 2]");
  for (const std::string& path : {folder.path(), folder / "text", folder / "list.json"}) {
    const auto loaded = load_any(path);
    ASSERT_FALSE(loaded) << path;
    EXPECT_EQ(loaded.error().code, Code::Unsupported) << loaded.error().text();
    EXPECT_TRUE(loaded.error().text().starts_with(path)) << loaded.error().text();
    EXPECT_EQ(loaded.error().text().find('\n'), std::string::npos);
  }
  EXPECT_EQ(open_any_network(folder.path()).error().code, Code::IoError);
}

}  // namespace
}  // namespace loom::load_any_test
