#include "lm/hub.h"

#include <cstdlib>
#include <filesystem>

#include "support/files.h"

namespace loom::hub_test {
namespace {

namespace fs = std::filesystem;

// A cache as huggingface_hub lays it out, named by HF_HUB_CACHE.
class Hub : public ::testing::Test {
 protected:
  Hub() {
    cache_ = temp_.path();
    setenv("HF_HUB_CACHE", cache_.c_str(), 1);
  }
  ~Hub() override { unsetenv("HF_HUB_CACHE"); }
  void put(const std::string& file, const std::string& text = "{}") {
    fs::create_directories(fs::path(cache_ + "/" + file).parent_path());
    test::write_all(cache_ + "/" + file, text);
  }
  test::TempFolder temp_;
  std::string cache_;
};

TEST_F(Hub, AnIdLeadsToTheSnapshotOfMain) {
  put("models--org--one/refs/main", "beef\n");
  put("models--org--one/snapshots/beef/config.json");
  put("models--org--one/snapshots/cafe/config.json");
  put("models--org--one/snapshots/beef/onnx/model.onnx");
  put("models--org--two/snapshots/cafe/model.gguf");
  EXPECT_EQ(find_model("org/one").value(), cache_ + "/models--org--one/snapshots/beef");
  EXPECT_EQ(find_model("org/one/onnx/model.onnx").value(), cache_ + "/models--org--one/snapshots/beef/onnx/model.onnx");
  EXPECT_EQ(find_model("org/two").value(), cache_ + "/models--org--two/snapshots/cafe/model.gguf");
  put("models--org--two/snapshots/cafe/other.gguf");
  EXPECT_EQ(find_model("org/two").error().code, Code::InvalidArgument);
}

TEST_F(Hub, AnUnknownIdNamesTheCommandThatFetchesIt) {
  const auto found = find_model("org/three");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::NotFound);
  EXPECT_NE(found.error().text().find("hf download org/three"), std::string::npos) << found.error().text();
  EXPECT_NE(found.error().text().find(cache_), std::string::npos) << found.error().text();
}

TEST_F(Hub, PathsStayAsTheyAre) {
  for (const std::string path : {"org/one.gguf", "./org/one", "/org/one", "~/one", "a/b/c.json", "one", "../org"})
    EXPECT_EQ(find_model(path).value(), path);
  put("folder/model.gguf");
  EXPECT_EQ(find_model(cache_ + "/folder").value(), cache_ + "/folder");
  EXPECT_NE(models_below(cache_ + "/folder").find("model.gguf"), std::string::npos);
  put("above/below/config.json");
  EXPECT_NE(models_below(cache_ + "/above").find("/above/below"), std::string::npos);
}

}  // namespace
}  // namespace loom::hub_test
