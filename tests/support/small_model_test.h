#pragma once
// A small language model in a folder of its own, and the hash of the logits of a model file of any format.

#include <gtest/gtest.h>

#include "files.h"
#include "lm/language_model.h"
#include "lm/session.h"
#include "small_model.h"

namespace loom::test {

// The hash of the logits after three tokens.
inline Digest model_digest(const std::string& path, const ModelOptions& options = {}) {
  const auto model = load_language_model(path, options);
  if (!model) {
    ADD_FAILURE() << model.error().text();
    return {};
  }
  const auto session = Session::create(model->decoder, {.threads = 1, .context_tokens = 16});
  Sha256 hash;
  if (session) {
    const std::int32_t ids[] = {1, 2, 3};
    const auto row = (*session)->feed(ids);
    EXPECT_TRUE(row) << row.error().text();
    if (row) hash.update_floats(*row);
  }
  return hash.finish();
}

class SmallModelTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto written = write_small_model(gguf());
    ASSERT_TRUE(written) << written.error().text();
  }
  std::string gguf() const { return folder_ / "model.gguf"; }

  TempFolder folder_;
};

}  // namespace loom::test
