// Memory that runs out at any large request: each call says so, and the objects can be used afterwards as if it had not
// been made. Frames of the engine have no destructors on this path, so what they held leaks: no test for leaks. Small
// requests succeed: the JSON library asks for memory while it frees some, and an exception from that ends the process.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/small_model.h"

namespace {

// How many more large requests of this thread succeed; below 0: all.
thread_local long t_left = -1;
constexpr std::size_t kLarge = 16384;

}  // namespace

#if !defined(LOOM_SANITIZED)  // sanitizers bring their own, with forms that this file does not have
void* operator new(std::size_t bytes) {
  if (bytes >= kLarge && t_left >= 0 && t_left-- == 0) {
    t_left = 0;  // and so do all that follow
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) std::abort();
  return memory;
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // sees delete without its new
#endif
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace loom::no_memory_test {
namespace {

int g_refused = 0;

// Makes a call with ever more memory until it succeeds.
void refusals(const char* what, const std::function<loom_status()>& call) {
  for (long n = 0;; ++n) {
    t_left = n;
    const loom_status status = call();
    t_left = -1;
    if (status == LOOM_OK) return;
    EXPECT_EQ(status, LOOM_OUT_OF_MEMORY) << what << " with " << n << " requests: " << loom_last_error();
    ++g_refused;
    ASSERT_TRUE(status == LOOM_OUT_OF_MEMORY && n < 2000);
  }
}

class CapiNoMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(LOOM_SANITIZED)
    GTEST_SKIP() << "sanitizers bring their own operator new and report the leaks that this leaves";
#endif
    g_refused = 0;
  }
};

TEST_F(CapiNoMemory, language_models_can_be_used_after_memory_ran_out) {
  const test::TempFolder folder;
  const std::string path = folder / "small.gguf";
  const auto written = test::write_small_model(path);
  ASSERT_TRUE(written) << written.error().text();
  loom_model model = 0;
  refusals("model_open", [&] { return loom_model_open(path.c_str(), nullptr, &model); });
  loom_session session = 0, untouched = 0;
  refusals("session_create", [&] { return loom_session_create(model, nullptr, &session); });
  ASSERT_EQ(loom_session_create(model, nullptr, &untouched), LOOM_OK) << loom_last_error();

  const std::vector<std::int32_t> ids = {3, 4, 5};
  const float* logits = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(loom_session_feed(untouched, 0, ids.data(), ids.size(), 0, &logits, &count), LOOM_OK);
  const std::vector<float> expected(logits, logits + count);
  refusals("session_feed", [&] { return loom_session_feed(session, 0, ids.data(), ids.size(), 0, &logits, &count); });
  EXPECT_EQ(std::vector<float>(logits, logits + count), expected);
  const std::int32_t* held = nullptr;
  ASSERT_EQ(loom_session_tokens(session, 0, &held, &count), LOOM_OK);
  EXPECT_EQ(std::vector<std::int32_t>(held, held + count), ids);

  loom_blob blob = 0;
  refusals("session_info", [&] { return loom_session_info(session, &blob); });
  EXPECT_EQ(loom_release(blob), LOOM_OK);
  refusals("session_snapshot", [&] { return loom_session_snapshot(session, 0, &blob); });
  EXPECT_EQ(loom_release(blob), LOOM_OK);
  ASSERT_EQ(loom_session_rewind(session, 0, 0), LOOM_OK);
  loom_generator generator = 0;
  refusals("generator_from_text",
           [&] { return loom_generator_from_text(session, "ab", 2, LOOM_PROMPT_RAW, nullptr, &generator); });
  EXPECT_GT(g_refused, 0);
  for (const loom_handle handle : {generator, session, untouched, model}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  EXPECT_EQ(loom_release(model), LOOM_BAD_HANDLE);
}

TEST_F(CapiNoMemory, networks_can_be_used_after_memory_ran_out) {
  const std::string spec =
      R"({"seed":7,"input_shape":[64],"layers":[{"type":"dense","input_height":64,)"
      R"("output_height":128,"activation":"relu"},{"type":"dense","input_height":128,"output_height":3}]})";
  const std::string config = R"({"loss":"softmax_crossentropy","optimizer":"adam","learning_rate":0.01})";
  const std::uint64_t shape[2] = {2, 64};
  const std::vector<float> input(128, 0.5f);
  std::int32_t classes[2] = {0, 2};
  loom_network network = 0, copy = 0;
  refusals("network_from_json", [&] { return loom_network_from_json(spec.data(), spec.size(), nullptr, &network); });
  refusals("network_clone", [&] { return loom_network_clone(network, &copy); });
  loom_network_session session = 0;
  refusals("network_session_create", [&] { return loom_network_session_create(network, nullptr, &session); });
  loom_tensor x{}, y{};
  x.struct_size = sizeof x, x.element = LOOM_ELEMENT_FLOAT32, x.shape = shape, x.shape_count = 2;
  x.data = const_cast<float*>(input.data()), x.data_size = input.size() * sizeof(float);
  y.struct_size = sizeof y;
  refusals("network_session_forward", [&] { return loom_network_session_forward(session, &x, nullptr, &y); });
  EXPECT_EQ(y.data_size, 6 * sizeof(float));
  loom_trainer trainer = 0;
  refusals("trainer_create",
           [&] { return loom_trainer_create(copy, config.data(), config.size(), shape, 2, nullptr, &trainer); });
  loom_batch batch{};
  loom_tensor targets{};
  targets.struct_size = sizeof targets, targets.element = LOOM_ELEMENT_INT32;
  targets.data = classes, targets.data_size = sizeof classes;
  batch.struct_size = sizeof batch, batch.inputs = &x, batch.targets = &targets;
  loom_training_step step{};
  step.struct_size = sizeof step;
  refusals("trainer_step", [&] { return loom_trainer_step(trainer, &batch, 0, &step); });
  EXPECT_EQ(step.skipped, 0);
  loom_blob blob = 0;
  refusals("network_to_bytes", [&] { return loom_network_to_bytes(copy, LOOM_FORMAT_JSON, 1, &blob); });
  EXPECT_EQ(loom_release(blob), LOOM_OK);
  EXPECT_GT(g_refused, 0);
  for (const loom_handle handle : {session, network, trainer, copy}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

}  // namespace
}  // namespace loom::no_memory_test
