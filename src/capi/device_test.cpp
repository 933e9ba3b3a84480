// Results of loom.h on a graphics card have the bits of the CPU, and a missing card is reported in one line.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capi/capi_test.h"
#include "core/sha256.h"
#include "host/device.h"
#include "support/faulty_driver.h"
#include "support/paths.h"

namespace loom::device_test {
namespace {

using loom::test::Batch;
using loom::test::sized;
using loom::test::take;
using loom::test::tensor_of;

// Everything that calls gave, a line with a hash for each.
class Results {
 public:
  void ok(loom_status status) { EXPECT_EQ(status, LOOM_OK) << loom_last_error(); }
  void see(const char* what, const float* values, std::size_t count) {
    see(what, std::as_bytes(std::span(values, values == nullptr ? 0 : count)));
  }
  void see(const char* what, const loom_tensor& tensor) {
    see(what, {static_cast<const std::byte*>(tensor.data), tensor.data_size});
  }
  void see_blob(const char* what, loom_blob blob) {
    const std::string bytes = take(blob);
    see(what, std::as_bytes(std::span(bytes)));
  }
  void see_weights(loom_network network) {
    loom_blob hash = 0;
    ok(loom_network_hash(network, &hash));
    see_blob("weights", hash);
  }
  const std::string& lines() const { return lines_; }

 private:
  void see(const char* what, std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.update(bytes);
    lines_ += fmt::format("{} of {} bytes {}\n", what, bytes.size(), to_hex(hash.finish()).substr(0, 16));
  }
  std::string lines_;
};

constexpr std::size_t kSamples = 67, kInputs = 40, kOutputs = 3;
const std::uint64_t kShape[] = {kSamples, kInputs};

std::vector<float> seeded(unsigned seed, std::size_t n) {
  std::vector<float> v(n);
  for (float& x : v) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(seed >> 8) / 16777216.0F - 0.5F;
  }
  return v;
}

loom_network network() {
  const std::string spec = R"({"seed":3,"input_shape":[40],"layers":[
    {"type":"dense","input_height":40,"output_height":130,"activation":"tanh","bias":true},
    {"type":"dropout","rate":0.2},
    {"type":"dense","input_height":130,"output_height":3,"bias":true}]})";
  loom_network n = 0;
  EXPECT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &n), LOOM_OK) << loom_last_error();
  return n;
}

// A pass of a session, and one back.
void pass(Results& r, loom_network_session s, unsigned seed, bool backward) {
  const std::vector<float> x = seeded(seed, kSamples * kInputs), dy = seeded(seed + 1, kSamples * kOutputs);
  loom_tensor y;
  auto training = sized<loom_pass>();
  training.training = 1, training.step = seed;
  r.ok(test::forward(s, x, {kShape[0], kShape[1]}, y, &training));
  r.see("output", static_cast<const float*>(y.data), y.data_size / sizeof(float));
  if (!backward) return;
  r.ok(test::backward(s, dy, y));
  r.see("input gradient", static_cast<const float*>(y.data), y.data_size / sizeof(float));
  std::vector<float> gradient(130 * 40);
  r.ok(test::gradient(s, "layers.0.weight", gradient));
  r.see("gradient", gradient.data(), gradient.size());
}

loom_network_session session(Results& r, loom_network n, const char* device) {
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.thread_count = 2, options.backward = 1, compute.device = device;
  loom_network_session s = 0;
  r.ok(loom_network_session_create(n, &options, &s));
  return s;
}

// Steps of a trainer, whose weights a session of the CPU and one of the device read in between.
std::string trained(const char* device, const std::string& config) {
  Results r;
  const loom_network n = network();
  auto options = sized<loom_compute_options>();
  options.thread_count = 2, options.device = device;
  loom_trainer t = 0;
  r.ok(loom_trainer_create(n, config.data(), config.size(), kShape, 2, &options, &t));
  const loom_network_session there = session(r, n, device), here = session(r, n, nullptr);
  const std::vector<float> targets = seeded(9, kSamples * kOutputs);
  std::vector<float> x;
  for (unsigned step = 0; step < 4; ++step) {
    x = seeded(20 + step, kSamples * kInputs);
    const Batch batch(x, kShape, targets);
    auto done = sized<loom_training_step>();
    r.ok(loom_trainer_step(t, batch.get(), 0, &done));
    EXPECT_EQ(done.skipped, 0) << std::string(done.why, done.why_size);
    const auto loss = static_cast<float>(done.loss);
    r.see("loss", &loss, 1);
    if (step % 2 == 0) pass(r, there, step, true);
    if (step == 1) pass(r, here, step, false), r.see_weights(n);
  }
  double loss = 0;
  auto y = sized<loom_tensor>();
  r.ok(loom_trainer_evaluate(t, Batch(x, kShape, targets).get(), &loss, &y));
  r.see("output", y);
  r.see_weights(n);
  for (const loom_handle h : {t, there, here, n}) r.ok(loom_release(h));
  return r.lines();
}

// Targets in single calls, and a mesh that learns between its ticks.
std::string by_targets(const char* device) {
  Results r;
  loom_network n = network();
  const std::vector<float> x = seeded(1, kSamples * kInputs), target = seeded(2, kSamples * kOutputs);
  const loom_tensor inputs = tensor_of(x, kShape), targets = tensor_of(target);
  auto y = sized<loom_tensor>();
  auto options = sized<loom_compute_options>();
  options.device = device;
  loom_tween t = 0;
  r.ok(loom_tween_create(n, nullptr, 0, kShape, 2, &options, &t));
  for (int i = 0; i < 3; ++i) {
    r.ok(loom_tween_forward(t, &inputs, &y));
    r.see("output", y);
    r.ok(loom_tween_step(t, &targets, 0.05));
  }
  r.see_weights(n);
  for (const loom_handle h : {t, n}) r.ok(loom_release(h));

  n = network();
  auto mesh_compute = sized<loom_compute_options>();
  auto mesh_options = sized<loom_step_mesh_options>();
  mesh_options.compute = &mesh_compute;
  mesh_options.history = 4, mesh_options.backward = 1, mesh_options.keep_inputs = 1, mesh_compute.device = device;
  loom_step_mesh mesh = 0;
  r.ok(loom_step_mesh_create(n, kShape, 2, &mesh_options, &mesh));
  loom_step_state state = 0, other = 0;
  r.ok(loom_step_state_create(mesh, &state));
  r.ok(loom_step_state_set_input(state, &inputs, 1));
  loom_mesh_tween tween = 0;
  r.ok(loom_mesh_tween_create(mesh, nullptr, 0, 0, &tween));
  auto ticks = sized<loom_tick_options>();
  ticks.ticks = 4, ticks.capture = 1;
  for (int i = 0; i < 3; ++i) {
    r.ok(loom_step_mesh_step(mesh, &state, 1, &ticks));
    r.ok(loom_step_state_output(state, -1, &y));
    r.see("output", y);
    r.ok(loom_step_mesh_backward(mesh, state, &targets, 0, &y));
    r.see("input gradient", y);
    r.ok(loom_mesh_tween_step(tween, &state, 1, &targets, 0.05));
  }
  std::vector<float> gradient(130 * 40);
  const loom_tensor weight_gradient = tensor_of(gradient);
  r.ok(loom_step_mesh_gradient(mesh, "layers.0.weight", &weight_gradient));
  r.see("gradient", gradient.data(), gradient.size());
  r.see_weights(n);
  r.ok(loom_step_state_fork(state, &other));
  loom_blob saved = 0;
  r.ok(loom_step_state_snapshot(other, &saved));
  r.see_blob("state", saved);
  for (const loom_handle h : {other, state, tween, mesh, n}) r.ok(loom_release(h));
  return r.lines();
}

std::string answered(const char* device) {
  Results r;
  loom_model model = 0;
  r.ok(loom_model_open(test::source_path("tests/golden/models/llama2_untied").c_str(), nullptr, &model));
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_session_options>();
  options.compute = &compute;
  compute.device = device, options.context_tokens = 64;
  loom_session s = 0;
  r.ok(loom_session_create(model, &options, &s));
  const float* logits = nullptr;
  std::size_t count = 0;
  for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{1, 5, 9, 2, 7}, {3}, {8}}) {
    r.ok(loom_session_feed(s, 0, ids.data(), ids.size(), 0, &logits, &count));
    r.see("logits", logits, count);
  }
  for (const loom_handle h : {s, model}) r.ok(loom_release(h));
  return r.lines();
}

bool has_card() {
  loom_blob report = 0;
  if (loom_gpu_report(&report) != LOOM_OK) {
    EXPECT_EQ(std::getenv("LOOM_NEEDS_GPU"), nullptr) << loom_last_error();
    return false;
  }
  EXPECT_NE(take(report).find(R"("device":"gpu:0")"), std::string::npos);
  return true;
}

TEST(GpuCapi, trainings_and_sessions_of_one_network_have_the_bits_of_the_cpu) {
  if (!has_card()) GTEST_SKIP() << "no graphics card";
  for (const char* const config : {R"({"loss":"mse","optimizer":"adam","learning_rate":0.01})",
                                   R"({"loss":"mse","learning_rate":0.01,"dtype":"int8"})",
                                   R"({"loss":"mse","learning_rate":0.05,"tween":{"mode":"layerwise"}})"})
    EXPECT_EQ(trained("gpu", config), trained("cpu", config)) << config;
}

TEST(GpuCapi, targets_and_meshes_have_the_bits_of_the_cpu) {
  if (!has_card()) GTEST_SKIP() << "no graphics card";
  EXPECT_EQ(by_targets("gpu:0"), by_targets(nullptr));
}

TEST(GpuCapi, threads_of_a_host_take_turns_on_a_card) {
  if (!has_card()) GTEST_SKIP() << "no graphics card";
  const std::string config = R"({"loss":"mse","learning_rate":0.01})", wanted = trained(nullptr, config),
                    answer = answered(nullptr);
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < got.size(); ++i)
    threads.emplace_back([&, i] { got[i] = i % 2 == 0 ? trained("gpu", config) : answered("gpu"); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i % 2 == 0 ? wanted : answer) << i;
}

TEST(GpuCapi, a_session_outlives_its_card_and_a_training_says_that_it_is_gone) {
  if (!has_card()) GTEST_SKIP() << "no graphics card";
  const auto faults = std::make_shared<test::Faults>();
  const auto wrap = [&](std::unique_ptr<gpu::Driver> driver) -> std::unique_ptr<gpu::Driver> {
    return std::make_unique<test::FaultyDriver>(std::move(driver), faults);
  };
  wrap_drivers(wrap);
  const std::string expected = answered(nullptr);
  std::string told;
  loom_set_log([](void* user, loom_log_level, const char* text) { *static_cast<std::string*>(user) += text; }, &told);
  EXPECT_EQ(answered("gpu"), expected);  // what is proved is known from now on
  wrap_drivers(wrap);
  *faults = {};
  EXPECT_EQ(answered("gpu"), expected);
  const std::uint64_t submits = faults->submits;
  for (const std::uint64_t n : {1, 2, 3}) {  // from the end: the arithmetic is tried first, which no loss may meet
    wrap_drivers(wrap);
    *faults = {};
    faults->lost_at_submit = submits - n;
    EXPECT_EQ(answered("gpu"), expected) << n;
    EXPECT_TRUE(faults->is_lost);
    EXPECT_NE(told.find("continues on the CPU"), std::string::npos) << told;
    told.clear();
  }
  *faults = {};
  EXPECT_EQ(answered("gpu"), expected);
  EXPECT_EQ(told, "");
  loom_set_log(nullptr, nullptr);

  Results r;
  const loom_network n = network();
  auto options = sized<loom_compute_options>();
  options.thread_count = 1, options.device = "gpu";
  loom_trainer t = 0;
  const std::string config = R"({"loss":"mse","learning_rate":0.01})";
  r.ok(loom_trainer_create(n, config.data(), config.size(), kShape, 2, &options, &t));
  const std::vector<float> x = seeded(1, kSamples * kInputs), targets = seeded(9, kSamples * kOutputs);
  const Batch batch(x, kShape, targets);
  auto done = sized<loom_training_step>();
  r.ok(loom_trainer_step(t, batch.get(), 0, &done));
  faults->lost_at_submit = 0;
  loom_blob hash = 0;
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(loom_trainer_step(t, batch.get(), 0, &done), LOOM_DEVICE_LOST) << loom_last_error();
    EXPECT_EQ(loom_network_hash(n, &hash), LOOM_DEVICE_LOST) << loom_last_error();
  }
  for (const loom_handle h : {t, n}) r.ok(loom_release(h));
  wrap_drivers({});
}

TEST(GpuCapi, what_a_card_cannot_do_is_told_by_name) {
  if (!has_card()) GTEST_SKIP() << "no graphics card";
  Results r;
  const loom_network n = network();
  const loom_network_session s = session(r, n, "gpu");
  const auto look = [](void*, const loom_layer_event*) -> std::int32_t { return 1; };
  EXPECT_EQ(loom_network_session_watch(s, look, nullptr), LOOM_UNSUPPORTED);
  EXPECT_EQ(loom_last_error(), std::string("layers are watched on the CPU alone"));
  r.ok(loom_network_morph(n, nullptr, "float64"));
  loom_network_session other = 0;
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.device = "gpu";
  const std::vector<float> x(kSamples * kInputs);
  loom_tensor y;
  r.ok(loom_network_session_create(n, &options, &other));
  EXPECT_EQ(test::forward(other, x, {kShape[0], kShape[1]}, y), LOOM_UNSUPPORTED);
  EXPECT_NE(std::string(loom_last_error()).find("float64"), std::string::npos) << loom_last_error();
  for (const loom_handle h : {other, s, n}) r.ok(loom_release(h));
}

TEST(GpuCapi, a_card_that_need_not_be_exact_has_a_name_of_its_own) {  // N-10
  if (!has_card()) GTEST_SKIP() << "no graphics card";
  Results r;
  const loom_network n = network();
  const loom_network_session exact = session(r, n, "gpu"), near = session(r, n, "gpu:0:fast");
  const std::vector<float> x = seeded(1, kSamples * kInputs);
  const auto forward = [&](loom_network_session s) {
    loom_tensor y;
    r.ok(test::forward(s, x, {kShape[0], kShape[1]}, y));
    return test::values_of(y);
  };
  const std::vector<float> wanted = forward(exact), got = forward(near);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-4) << i;
  EXPECT_EQ(forward(exact), wanted);
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.device = "cpu:fast";
  loom_network_session refused = 0;
  EXPECT_EQ(loom_network_session_create(n, &options, &refused), LOOM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(loom_last_error()).find("the CPU is always exact"), std::string::npos) << loom_last_error();
  for (const loom_handle h : {near, exact, n}) r.ok(loom_release(h));
}

TEST(CapiDevice, a_card_that_is_not_there_is_told_in_one_line) {
  const char* const library = std::getenv("LOOM_WEBGPU_LIB");
  const std::string before = library == nullptr ? "" : library;
  setenv("LOOM_WEBGPU_LIB", "/nowhere/lib.so", 1);
  const loom_network n = network();
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  loom_network_session s = 0;
  compute.device = "auto";  // is this computer then
  EXPECT_EQ(loom_network_session_create(n, &options, &s), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_release(s), LOOM_OK);
  for (const char* const device : {"gpu:7", "tpu", "gpu:x", ""}) {
    compute.device = device;
    const bool is_name = std::string(device) == "gpu:7";
    EXPECT_EQ(loom_network_session_create(n, &options, &s), is_name ? LOOM_IO_ERROR : LOOM_INVALID_ARGUMENT) << device;
    const std::string error = loom_last_error();
    EXPECT_NE(error.find(is_name ? "/nowhere/lib.so" : "gpu:N"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  loom_blob report = 0;
  EXPECT_EQ(loom_gpu_report(&report), LOOM_IO_ERROR);
  EXPECT_EQ(loom_release(n), LOOM_OK);
  before.empty() ? unsetenv("LOOM_WEBGPU_LIB") : setenv("LOOM_WEBGPU_LIB", before.c_str(), 1);
}

}  // namespace
}  // namespace loom::device_test
