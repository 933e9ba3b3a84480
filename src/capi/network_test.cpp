// Networks, sessions of networks and trainers as a host sees them: loom.h alone.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "capi/capi_test.h"
#include "support/files.h"

namespace {

using loom::test::Batch;
using loom::test::sized;
using loom::test::take;
using loom::test::values_of;

// Large enough that threads divide its products.
const std::string kSpec = R"({"seed":7,"input_shape":[96],"layers":[
  {"type":"dense","input_height":96,"output_height":200,"activation":"tanh","bias":true},
  {"type":"dense","input_height":200,"output_height":10}]})";

loom_network network(const std::string& spec = kSpec) {
  loom_network n = 0;
  EXPECT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &n), LOOM_OK) << loom_last_error();
  return n;
}
loom_network_session session(loom_network n, int threads = 1, bool backward = false) {
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.thread_count = threads, options.backward = backward ? 1 : 0;
  loom_network_session s = 0;
  EXPECT_EQ(loom_network_session_create(n, &options, &s), LOOM_OK) << loom_last_error();
  return s;
}
std::vector<float> drawn(std::size_t count, unsigned seed = 1) {
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 8) / 8388608.0F - 1.0F;
  return out;
}
std::vector<float> forward(loom_network_session s, const std::vector<float>& x, std::vector<std::uint64_t> shape) {
  loom_tensor y;
  EXPECT_EQ(loom::test::forward(s, x, shape, y), LOOM_OK) << loom_last_error();
  if (y.data == nullptr) return {};
  std::size_t product = 1;
  for (std::size_t i = 0; i < y.shape_count; ++i) product *= y.shape[i];
  EXPECT_EQ(product * sizeof(float), y.data_size);
  return loom::test::values_of(y);
}
std::string hash(loom_network n) {
  loom_blob b = 0;
  EXPECT_EQ(loom_network_hash(n, &b), LOOM_OK) << loom_last_error();
  return take(b);
}

TEST(CapiNetwork, weights_go_out_and_in) {
  const loom_network n = network();
  loom_blob list = 0;
  ASSERT_EQ(loom_network_weights(n, &list), LOOM_OK);
  EXPECT_NE(take(list).find("layers.0.bias"), std::string::npos);
  std::vector<float> w(200 * 96);
  ASSERT_EQ(loom::test::get_weight(n, "layers.0.weight", w), LOOM_OK) << loom_last_error();
  const std::string before = hash(n);
  w[17] += 1;
  ASSERT_EQ(loom::test::set_weight(n, "layers.0.weight", w), LOOM_OK);
  EXPECT_NE(hash(n), before);
  w[17] -= 1;
  ASSERT_EQ(loom::test::get_weight(n, "layers.0.weight", w), LOOM_OK);
  std::vector<double> wide(w.size());
  ASSERT_EQ(loom::test::get_weight(n, "layers.0.weight", wide), LOOM_OK) << loom_last_error();
  EXPECT_EQ(std::vector<float>(wide.begin(), wide.end()), w);
  const std::uint64_t shape[] = {200, 96}, turned[] = {96, 200};
  loom_tensor to = loom::test::tensor_of(w.data(), w.size(), shape, 2);
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", &to), LOOM_OK) << loom_last_error();
  to.shape = turned;
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", &to), LOOM_SHAPE_MISMATCH);
  EXPECT_STREQ(loom_last_error(), "layers.0.weight: got the shape [96, 200], expected [200, 96]");
  to.shape_count = 0, to.data_size -= 4;
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", &to), LOOM_SHAPE_MISMATCH);
  to.data_size += 4, to.element = LOOM_ELEMENT_INT32;
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", &to), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(),
               "layers.0.weight: element is 6: expected LOOM_ELEMENT_FLOAT32 (1) or LOOM_ELEMENT_FLOAT64 (11)");
  to.element = LOOM_ELEMENT_FLOAT32, to.data = nullptr;
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", &to), LOOM_INVALID_ARGUMENT);
  to.data = reinterpret_cast<char*>(w.data()) + 1;
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", &to), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "layers.0.weight: the address of data is no multiple of 4");
  EXPECT_EQ(loom_network_get_weight(n, "layers.0.weight", nullptr), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom::test::get_weight(n, "layers.9.weight", w), LOOM_NOT_FOUND);
  w[3] = NAN;
  EXPECT_EQ(loom::test::set_weight(n, "layers.0.weight", w), LOOM_NON_FINITE);
  EXPECT_EQ(loom_release(n), LOOM_OK);
}

TEST(CapiNetwork, saved_and_cloned_networks_have_the_same_weights_and_answers) {
  const loom_network n = network();
  const std::string expected = hash(n);
  const auto x = drawn(5 * 96);
  const loom_network_session s = session(n);
  const auto y = forward(s, x, {5, 96});
  const loom::test::TempFolder folder;
  std::vector<loom_network> others(4);
  ASSERT_EQ(loom_network_clone(n, &others[0]), LOOM_OK);
  for (const char* const name : {"n.entity", "n.json"}) {
    const std::string path = folder / name;
    ASSERT_EQ(loom_network_save(n, path.c_str(), 0), LOOM_OK) << loom_last_error();
    ASSERT_EQ(loom_network_open(path.c_str(), nullptr, &others[path.ends_with("json") ? 1 : 2]), LOOM_OK)
        << loom_last_error();
  }
  loom_blob blob = 0;
  ASSERT_EQ(loom_network_to_bytes(n, LOOM_FORMAT_ENTITY, 0, &blob), LOOM_OK);
  const std::string bytes = take(blob);
  ASSERT_EQ(loom_network_from_memory(bytes.data(), bytes.size(), nullptr, &others[3]), LOOM_OK) << loom_last_error();
  loom_network none = 0;
  EXPECT_EQ(loom_network_from_memory("GGUF\3\0\0\0", 8, nullptr, &none), LOOM_UNSUPPORTED);
  EXPECT_EQ(std::string(loom_last_error()).find("data: a language model in GGUF, no network"), 0U) << loom_last_error();
  for (const loom_network other : others) {
    EXPECT_EQ(hash(other), expected);
    const loom_network_session t = session(other, 2);
    EXPECT_EQ(forward(t, x, {5, 96}), y);
    EXPECT_EQ(loom_release(t), LOOM_OK);
    EXPECT_EQ(loom_release(other), LOOM_OK);
  }
  EXPECT_EQ(loom_release(s), LOOM_OK);
  EXPECT_EQ(loom_release(n), LOOM_OK);
}

// Bound runs and calls that bring their input give the same bits, whatever the threads.
TEST(CapiNetwork, bound_memory_gives_the_bits_of_a_call) {
  const loom_network n = network();
  const auto x = drawn(32 * 96);
  const loom_network_session one = session(n), two = session(n, 2);
  const auto y = forward(one, x, {32, 96});
  std::vector<float> out(y.size());
  const std::uint64_t shape[] = {32, 96};
  EXPECT_EQ(loom_network_session_run(two), LOOM_INVALID_STATE);
  const loom_tensor in = loom::test::tensor_of(x.data(), x.size(), shape, 2);
  loom_tensor to = loom::test::tensor_of(out.data(), out.size() - 1);
  EXPECT_EQ(loom_network_session_bind(two, &in, &to), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_network_session_bind(two, &in, nullptr), LOOM_INVALID_ARGUMENT);
  to.data_size += sizeof(float);
  ASSERT_EQ(loom_network_session_bind(two, &in, &to), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_network_session_run(two), LOOM_OK) << loom_last_error();
  EXPECT_EQ(out, y);
  ASSERT_EQ(loom_network_session_bind(two, nullptr, nullptr), LOOM_OK);
  EXPECT_EQ(loom_network_session_run(two), LOOM_INVALID_STATE);
  for (const loom_handle h : {one, two, n}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// d(sum of outputs) by one weight, against a difference.
TEST(CapiNetwork, gradients_follow_the_function) {
  const loom_network n = network();
  const auto x = drawn(3 * 96);
  const loom_network_session s = session(n, 1, true);
  const auto sum = [&] {
    double total = 0;
    for (const float v : forward(s, x, {3, 96})) total += v;
    return total;
  };
  sum();
  const std::vector<float> ones(30, 1.0F);
  loom_tensor dx;
  ASSERT_EQ(loom::test::backward(s, ones, dx), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom::test::values_of(dx).size(), x.size());
  ASSERT_EQ(dx.shape_count, 2U);
  EXPECT_EQ(dx.shape[1], 96U);
  std::vector<float> gradient(200 * 96), w(200 * 96);
  ASSERT_EQ(loom::test::gradient(s, "layers.0.weight", gradient), LOOM_OK);
  ASSERT_EQ(loom::test::get_weight(n, "layers.0.weight", w), LOOM_OK);
  const float kept = w[5];
  w[5] = kept + 0.01F;
  ASSERT_EQ(loom::test::set_weight(n, "layers.0.weight", w), LOOM_OK);
  const double up = sum();
  w[5] = kept - 0.01F;
  ASSERT_EQ(loom::test::set_weight(n, "layers.0.weight", w), LOOM_OK);
  const double down = sum();
  EXPECT_NEAR(gradient[5], (up - down) / 0.02, 1e-3);
  ASSERT_EQ(loom_network_session_clear_gradients(s), LOOM_OK);
  ASSERT_EQ(loom::test::gradient(s, "layers.0.weight", gradient), LOOM_OK);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size()));
  for (const loom_handle h : {s, n}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// A session continues after a change of types and of layers.
TEST(CapiNetwork, sessions_follow_their_network) {
  const loom_network n = network(), fresh = network();
  const auto x = drawn(2 * 96);
  const loom_network_session s = session(n);
  const auto y = forward(s, x, {2, 96});
  ASSERT_EQ(loom_network_morph(n, nullptr, "int8"), LOOM_OK) << loom_last_error();
  const auto coarse = forward(s, x, {2, 96});
  EXPECT_NE(coarse, y);
  ASSERT_EQ(loom_network_morph(fresh, nullptr, "int8"), LOOM_OK);
  const loom_network_session t = session(fresh, 2);
  EXPECT_EQ(forward(t, x, {2, 96}), coarse);
  const std::uint64_t first[] = {0, 0, 0, 0}, outside[] = {0, 0, 0, 9};
  const std::string layer = R"({"type":"dense","input_height":96,"output_height":200})";
  ASSERT_EQ(loom_network_place(n, first, 4, layer.data(), layer.size()), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_network_place(n, outside, 4, layer.data(), layer.size()), LOOM_OUT_OF_RANGE);
  EXPECT_EQ(forward(s, x, {2, 96}).size(), 20U);
  for (const loom_handle h : {s, t, n, fresh}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// Each has a plan of its own: another shape or a mesh ends neither the states of a session nor a trainer.
TEST(CapiNetwork, sessions_and_trainers_go_on_while_others_plan) {
  const std::string spec = R"({"seed":7,"layers":[{"type":"gru","input_height":6,"output_height":8,"stateful":true},)"
                           R"({"type":"dense","input_height":8,"output_height":10}]})";
  const loom_network n = network(spec), alone = network(spec);
  const loom_network_session s = session(n), t = session(alone);
  const auto x = drawn(2 * 3 * 6);
  const auto first = forward(s, x, {2, 3, 6});
  EXPECT_EQ(forward(t, x, {2, 3, 6}), first);
  const std::uint64_t other[] = {5, 1, 6}, rows[] = {4, 1, 6}, *extents = nullptr;
  std::size_t count = 0;
  loom_trainer trainer = 0;
  const std::string config = R"({"loss":"softmax_crossentropy","learning_rate":0})";
  ASSERT_EQ(loom_trainer_create(n, config.data(), config.size(), rows, 3, nullptr, &trainer), LOOM_OK)
      << loom_last_error();
  ASSERT_EQ(loom_network_prepare(n, other, 3, &extents, &count), LOOM_OK) << loom_last_error();
  loom_step_mesh mesh = 0;
  ASSERT_EQ(loom_step_mesh_create(n, other, 3, nullptr, &mesh), LOOM_OK) << loom_last_error();
  const auto second = forward(s, x, {2, 3, 6});
  EXPECT_NE(second, first);
  EXPECT_EQ(forward(t, x, {2, 3, 6}), second) << "states go on as in a network that nobody else plans";

  const auto inputs = drawn(4 * 6);
  const std::vector<std::int32_t> classes = {1, 2, 3, 4};
  const Batch batch(inputs, rows, classes);
  auto step = sized<loom_training_step>();
  EXPECT_EQ(loom_trainer_step(trainer, batch.get(), 0, &step), LOOM_OK) << loom_last_error();
  for (const loom_handle h : {trainer, mesh, s, t, n, alone}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// 40 steps of Adam on one batch; whatever the threads, the same weights.
TEST(CapiNetwork, trains_to_the_same_weights_with_every_number_of_threads) {
  const auto x = drawn(64 * 96);
  std::vector<std::int32_t> classes(64);
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int32_t>(i % 10);
  const std::string config = R"({"loss":"softmax_crossentropy","optimizer":"adam","learning_rate":0.003})";
  const std::uint64_t shape[] = {64, 96};
  const Batch batch(x, shape, classes);
  std::vector<std::string> hashes;
  for (const int threads : {1, 2, 3}) {
    const loom_network n = network();
    auto options = sized<loom_compute_options>();
    options.thread_count = threads;
    loom_trainer t = 0;
    ASSERT_EQ(loom_trainer_create(n, config.data(), config.size(), shape, 2, &options, &t), LOOM_OK)
        << loom_last_error();
    auto step = sized<loom_training_step>();
    double first = 0;
    for (int i = 0; i < 40; ++i) {
      ASSERT_EQ(loom_trainer_step(t, batch.get(), 0, &step), LOOM_OK) << loom_last_error();
      if (i == 0) first = step.loss;
      EXPECT_EQ(step.skipped, 0);
    }
    EXPECT_LT(step.loss, first / 2);
    hashes.push_back(hash(n));
    double loss = 0;
    auto y = sized<loom_tensor>();
    ASSERT_EQ(loom_trainer_evaluate(t, batch.get(), &loss, &y), LOOM_OK) << loom_last_error();
    EXPECT_LE(loss, step.loss);
    EXPECT_EQ(std::vector<std::uint64_t>(y.shape, y.shape + y.shape_count), (std::vector<std::uint64_t>{64, 10}));
    EXPECT_EQ(values_of(y).size(), 640U);
    const std::uint64_t cell[] = {0, 0, 0, 1};
    const std::string layer = R"({"type":"dense","input_height":200,"output_height":10})";
    ASSERT_EQ(loom_network_place(n, cell, 4, layer.data(), layer.size()), LOOM_OK);
    EXPECT_EQ(loom_trainer_step(t, batch.get(), 0, &step), LOOM_INVALID_STATE);
    for (const loom_handle h : {t, n}) EXPECT_EQ(loom_release(h), LOOM_OK);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

TEST(CapiNetwork, a_trainer_takes_the_keys_of_steps_alone) {
  const loom_network n = network();
  const std::uint64_t shape[] = {4, 96};
  const std::vector<std::pair<std::string, loom_status>> configs = {
      {R"({"epochs":3})", LOOM_UNKNOWN_KEY},
      {R"({"optimiser":"adam"})", LOOM_UNKNOWN_KEY},
      {R"({"schedule":"cosine"})", LOOM_INVALID_CONFIG},
      {R"({"schedule":{"name":"cosine","total":9}})", LOOM_OK},
      {"", LOOM_OK},
      {"[", LOOM_CORRUPT_DATA}};
  for (const auto& [config, expected] : configs) {
    loom_trainer t = 0;
    EXPECT_EQ(loom_trainer_create(n, config.data(), config.size(), shape, 2, nullptr, &t), expected)
        << config << ": " << loom_last_error();
    EXPECT_EQ(loom_release(t), LOOM_OK);
  }
  EXPECT_EQ(loom_release(n), LOOM_OK);
}

// Two sessions run while weights change between their passes: each call works or says Busy.
TEST(CapiNetwork, threads_share_a_network_and_are_told_when_it_changes) {
  const loom_network n = network();
  const auto x = drawn(96);
  std::vector<float> bias(200, 0.5F);
  std::atomic<bool> stop{false};
  std::atomic<int> passes{0};
  std::vector<std::thread> runners;
  for (int i = 0; i < 2; ++i)
    runners.emplace_back([&] {
      const loom_network_session s = session(n);
      loom_tensor y;
      while (!stop) {
        const loom_status status = loom::test::forward(s, x, {1, 96}, y);
        EXPECT_TRUE(status == LOOM_OK || status == LOOM_BUSY) << loom_last_error();
        if (status == LOOM_OK) ++passes;
      }
      EXPECT_EQ(loom_release(s), LOOM_OK);
    });
  int changes = 0;
  while (passes < 200 || changes < 20) {
    const loom_status status = loom::test::set_weight(n, "layers.0.bias", bias);
    EXPECT_TRUE(status == LOOM_OK || status == LOOM_BUSY) << loom_last_error();
    changes += status == LOOM_OK ? 1 : 0;
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : runners) t.join();
  EXPECT_EQ(loom_release(n), LOOM_OK);
}

TEST(CapiNetwork, wrong_arguments_are_answered) {
  const loom_network n = network();
  const loom_network_session s = session(n);
  const auto x = drawn(96);
  auto y = sized<loom_tensor>();
  const std::uint64_t shape[] = {1, 96}, huge[] = {1ULL << 62, 1ULL << 62}, none[] = {0, 96}, other[] = {1, 95},
                      many[9] = {};
  const auto run = [&](const float* data, std::size_t size, const std::uint64_t* e, std::size_t r) {
    const loom_tensor input = loom::test::tensor_of(data, size, e, r);
    return loom_network_session_forward(s, &input, nullptr, &y);
  };
  EXPECT_EQ(run(x.data(), 96, shape, 2), LOOM_OK);
  EXPECT_EQ(run(x.data(), 95, shape, 2), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(run(x.data(), 95, other, 2), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(run(nullptr, 96, shape, 2), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(run(x.data(), 96, huge, 2), LOOM_SIZE_OVERFLOW);
  EXPECT_EQ(run(x.data(), 96, none, 2), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(run(x.data(), 96, nullptr, 2), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(run(x.data(), 96, shape, 0), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(run(x.data(), 96, many, 9), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom::test::backward(s, drawn(10), y), LOOM_INVALID_STATE);
  EXPECT_EQ(loom::test::forward(s, std::vector<double>(96), {1, 96}, y), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "input has float64 values, the network computes in float32");
  loom_tensor older = loom::test::tensor_of(x.data(), 96, shape, 2), none_set{};
  EXPECT_EQ(loom_network_session_forward(s, &none_set, nullptr, &y), LOOM_INVALID_ARGUMENT);  // a size of 0
  EXPECT_STREQ(loom_last_error(), "loom_tensor: struct_size is 0: set it to sizeof(loom_tensor)");
  EXPECT_EQ(loom_network_session_forward(s, &older, nullptr, &none_set), LOOM_INVALID_ARGUMENT);
  older.struct_size = offsetof(loom_tensor, shape);  // as if an older header had no shape
  EXPECT_EQ(loom_network_session_forward(s, &older, nullptr, &y), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom::test::forward(n, x, {1, 96}, y), LOOM_BAD_HANDLE);
  for (const loom_handle h : {s, n}) EXPECT_EQ(loom_release(h), LOOM_OK);
  EXPECT_EQ(run(x.data(), 96, shape, 2), LOOM_BAD_HANDLE);
}

}  // namespace
