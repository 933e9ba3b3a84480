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
  EXPECT_NE(found.error().text().find("loom pull org/three"), std::string::npos) << found.error().text();
  EXPECT_NE(found.error().text().find(cache_), std::string::npos) << found.error().text();
}

TEST_F(Hub, AChoiceLeadsToAFile) {
  put("models--org--many/refs/main", "beef");
  put("models--org--many/snapshots/beef/Model-1B-Q4_K_M.gguf");
  put("models--org--many/snapshots/beef/Model-1B-Q8_0.gguf");
  put("models--org--many/snapshots/beef/F16/Model-1B-F16.gguf");
  const std::string at = cache_ + "/models--org--many/snapshots/beef/";
  EXPECT_EQ(find_model("org/many:q8_0").value(), at + "Model-1B-Q8_0.gguf");
  EXPECT_EQ(find_model("org/many:F16").value(), at + "F16/Model-1B-F16.gguf");
  EXPECT_EQ(find_model("org/many:F16/Model-1B-F16.gguf").value(), at + "F16/Model-1B-F16.gguf");
  const auto none = find_model("org/many:Q4_K");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("loom pull org/many:Q4_K"), std::string::npos) << none.error().text();
  put("models--org--many/snapshots/beef/Other-Q8_0.gguf");
  EXPECT_EQ(find_model("org/many:Q8_0").error().code, Code::InvalidArgument);
}

TEST_F(Hub, TheQuantisationIsTheEndOfAName) {
  EXPECT_EQ(quantisation_of("a/SmolLM2-135M-Instruct.Q4_1.gguf"), "Q4_1");
  EXPECT_EQ(quantisation_of("qwen2.5-0.5b-instruct-q4_k_m.gguf"), "Q4_K_M");
  EXPECT_EQ(quantisation_of("model_iq4_xs.gguf"), "IQ4_XS");
  EXPECT_EQ(quantisation_of("Q8_0.gguf"), "Q8_0");
  EXPECT_EQ(quantisation_of("model-BF16.gguf"), "BF16");
  for (const char* name : {"model.gguf", "model-Q4_1.bin", "model-q4_1-v2.gguf", "seq4_1.gguf", ".gguf", "Q9_0.gguf",
                           "model-Q4_LONG.gguf", "model-Q4_.gguf", ""})
    EXPECT_EQ(quantisation_of(name), "") << name;
}

TEST_F(Hub, TheCacheIsThatOfTheEnvironment) {
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "/home/me", 1);
  setenv("HF_HOME", "~/hf", 1);
  setenv("HF_HUB_CACHE", "~/cache", 1);
  EXPECT_EQ(hub_cache(), "/home/me/cache");
  unsetenv("HF_HUB_CACHE");
  EXPECT_EQ(hub_cache(), "/home/me/hf/hub");
  setenv("HUGGINGFACE_HUB_CACHE", "/old", 1);
  EXPECT_EQ(hub_cache(), "/old");
  unsetenv("HUGGINGFACE_HUB_CACHE");
  unsetenv("HF_HOME");
  setenv("HOME", before.c_str(), 1);
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
