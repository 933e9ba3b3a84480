// Trainings, targets, meshes and populations as a host sees them: loom.h alone.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "capi/capi_test.h"
#include "support/files.h"

namespace {

using loom::test::sized;
using loom::test::take;
using loom::test::tensor_of;

loom_network chain(int seed = 3, const std::string& more = "") {
  const std::string spec = "{" + more + R"("seed":)" + std::to_string(seed) + R"(,"input_shape":[40],"layers":[
    {"type":"dense","input_height":40,"output_height":70,"activation":"tanh"},
    {"type":"dense","input_height":70,"output_height":3}]})";
  loom_network n = 0;
  EXPECT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &n), LOOM_OK) << loom_last_error();
  return n;
}
std::string weights_of(loom_network n) {
  loom_blob b = 0;
  EXPECT_EQ(loom_network_hash(n, &b), LOOM_OK) << loom_last_error();
  return take(b);
}

// Ninety samples of three classes that a network can tell.
struct Data {
  std::vector<float> inputs, targets;
  std::vector<std::int32_t> classes;
  std::uint64_t shape[2] = {90, 40};
  Data() : inputs(90 * 40), targets(90 * 3) {
    unsigned seed = 5;
    for (std::size_t i = 0; i < 90; ++i) {
      classes.push_back(static_cast<std::int32_t>(i % 3));
      targets[i * 3 + i % 3] = 1;
      for (std::size_t j = 0; j < 40; ++j) {
        seed = seed * 1664525U + 1013904223U;
        inputs[i * 40 + j] = static_cast<float>(seed >> 8) / 16777216.0F - 0.5F + (j % 3 == i % 3 ? 0.5F : 0.0F);
      }
    }
  }
  loom::test::Batch with_classes() const { return {inputs, shape, classes}; }
  loom::test::Batch with_targets() const { return {inputs, shape, targets}; }
};

// A run over arrays teaches the caller's network; the same config in a folder leaves a journal that replays.
TEST(CapiTraining, runs_over_arrays_and_says_where_it_is) {
  const Data data;
  const loom::test::Batch batch = data.with_classes();
  const std::string config =
      R"({"epochs":6,"batch_size":30,"loss":"softmax_crossentropy","optimizer":"adam","learning_rate":0.01,)"
      R"("shuffle":true})";
  struct Told {
    int events = 0, ends = 0;
    int stop_at = 1000;
    double loss = 0;
    loom_training_stop stop = LOOM_TRAINING_STOP_NOT_YET;
  };
  std::vector<std::string> hashes;
  for (const int threads : {1, 2}) {
    const loom_network n = chain();
    Told told;
    auto compute = sized<loom_compute_options>();
    auto options = sized<loom_training_options>();
    options.compute = &compute;
    compute.thread_count = threads, options.user = &told;
    options.progress = [](void* user, const loom_training_event* e) -> std::int32_t {
      auto& t = *static_cast<Told*>(user);
      EXPECT_EQ(e->struct_size, sizeof *e);
      EXPECT_EQ(e->epochs, 6U);
      EXPECT_EQ(e->batches, 3U);
      ++t.events;
      if (e->phase == LOOM_TRAINING_EPOCH_END) ++t.ends, t.loss = e->loss;
      if (e->phase == LOOM_TRAINING_END)
        t.stop = e->stop;
      else
        EXPECT_EQ(e->stop, LOOM_TRAINING_STOP_NOT_YET);
      return t.ends < t.stop_at ? 1 : 0;
    };
    loom_blob outcome = 0;
    ASSERT_EQ(loom_training_run(config.data(), config.size(), n, batch.get(), nullptr, &options, &outcome), LOOM_OK)
        << loom_last_error();
    EXPECT_NE(take(outcome).find("\"finished\""), std::string::npos);
    EXPECT_EQ(told.ends, 6);
    EXPECT_EQ(told.stop, LOOM_TRAINING_STOP_FINISHED);
    EXPECT_LT(told.loss, 0.5);
    hashes.push_back(weights_of(n));
    Told early;
    early.stop_at = 2;
    options.user = &early;
    ASSERT_EQ(loom_training_run(config.data(), config.size(), n, batch.get(), nullptr, &options, &outcome), LOOM_OK);
    EXPECT_NE(take(outcome).find("\"stopped\""), std::string::npos);
    EXPECT_EQ(early.stop, LOOM_TRAINING_STOP_STOPPED);
    EXPECT_EQ(loom_release(n), LOOM_OK);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(CapiTraining, wrong_samples_are_answered) {
  const Data data;
  const std::string config = R"({"epochs":1,"batch_size":30})";
  const loom_network n = chain();
  loom_blob outcome = 0;
  const auto run = [&](const loom_batch* samples, const std::string& text) {
    return loom_training_run(text.data(), text.size(), n, samples, nullptr, nullptr, &outcome);
  };
  const loom::test::Batch good = data.with_targets();
  const loom_tensor& targets = *good.get()->targets;
  const auto with_targets = [&](auto&& change) {
    loom_tensor changed = targets;
    change(changed);
    loom_batch batch = *good.get();
    batch.targets = &changed;
    return run(&batch, config);
  };
  EXPECT_EQ(with_targets([](loom_tensor& t) { t.data = nullptr; }), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "targets: data is NULL");
  EXPECT_EQ(with_targets([](loom_tensor& t) { t.data_size = 0; }), LOOM_EMPTY_TENSOR);
  EXPECT_STREQ(loom_last_error(), "targets has no values");
  EXPECT_EQ(with_targets([](loom_tensor& t) { t.data_size -= 2; }), LOOM_SHAPE_MISMATCH);
  EXPECT_STREQ(loom_last_error(), "targets: data has 1078 bytes, a value has 4");
  EXPECT_EQ(with_targets([](loom_tensor& t) { t.data_size -= 4; }), LOOM_SHAPE_MISMATCH);
  EXPECT_STREQ(loom_last_error(), "targets has 269 values for 90 samples");
  EXPECT_EQ(with_targets([](loom_tensor& t) { t.data = static_cast<char*>(t.data) + 1; }), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "targets: the address of data is no multiple of 4");
  EXPECT_EQ(with_targets([](loom_tensor& t) { t.element = LOOM_ELEMENT_INT64; }), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(),
               "targets: element is 7: expected LOOM_ELEMENT_INT32 (6) of classes, LOOM_ELEMENT_FLOAT32 (1) or "
               "LOOM_ELEMENT_FLOAT64 (11)");
  EXPECT_EQ(with_targets([&](loom_tensor& t) { t.shape = data.shape, t.shape_count = 2; }), LOOM_SHAPE_MISMATCH);
  EXPECT_STREQ(loom_last_error(), "targets: data has 1080 bytes, 3600 values [90, 40] have 14400");
  loom_batch half = *good.get();
  half.targets = nullptr;
  EXPECT_EQ(run(&half, config), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "targets is NULL");
  half = *good.get(), half.inputs = nullptr;
  EXPECT_EQ(run(&half, config), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "inputs is NULL");
  EXPECT_EQ(run(nullptr, config), LOOM_INVALID_CONFIG);  // the config names no data
  EXPECT_EQ(run(good.get(), R"({"epochs":1,"network":{}})"), LOOM_INVALID_CONFIG);
  EXPECT_EQ(run(good.get(), R"({"epochs":0})"), LOOM_INVALID_CONFIG);
  EXPECT_EQ(loom_release(n), LOOM_OK);
}

std::string list_of(loom_network n) {
  loom_blob b = 0;
  EXPECT_EQ(loom_network_weights(n, &b), LOOM_OK) << loom_last_error();
  return take(b);
}

// A trainer that cannot be made leaves types, values and sessions of the network as they were.
TEST(CapiTraining, ATrainerThatFailsLeavesTheNetworkAsItWas) {
  const Data data;
  const loom::test::Batch batch = data.with_classes();
  const loom_network n = chain();
  const std::string weights = weights_of(n), list = list_of(n);
  loom_trainer good = 0, trainer = 0;
  const std::string plain = R"({"loss":"softmax_crossentropy"})";
  ASSERT_EQ(loom_trainer_create(n, plain.data(), plain.size(), data.shape, 2, nullptr, &good), LOOM_OK)
      << loom_last_error();
  struct Case {
    std::string config;
    std::uint64_t shape[2];
    loom_status status;
  };
  for (const Case& bad :
       {Case{R"({"dtype":"int8"})", {90, 41}, LOOM_SHAPE_MISMATCH},
        Case{R"({"dtype":"float16","qat_scale":"frozen"})", {90, 40}, LOOM_INVALID_CONFIG},
        Case{R"({"dtype":"int8","optimizer":"lbfgs","clip_norm":1})", {90, 40}, LOOM_INVALID_CONFIG}}) {
    EXPECT_EQ(loom_trainer_create(n, bad.config.data(), bad.config.size(), bad.shape, 2, nullptr, &trainer), bad.status)
        << bad.config << ": " << loom_last_error();
    EXPECT_EQ(list_of(n), list) << bad.config;
    EXPECT_EQ(weights_of(n), weights) << bad.config;
  }
  // A run fails after the types were changed.
  const std::string run =
      R"({"epochs":1,"batch_size":30,"loss":"softmax_crossentropy","dtype":"float16","qat_scale":"frozen"})";
  loom_blob outcome = 0;
  EXPECT_EQ(loom_training_run(run.data(), run.size(), n, batch.get(), nullptr, nullptr, &outcome), LOOM_INVALID_CONFIG);
  EXPECT_NE(std::string(loom_last_error()).find("qat_scale"), std::string::npos) << loom_last_error();
  EXPECT_EQ(list_of(n), list);
  EXPECT_EQ(weights_of(n), weights);
  // The trainer that was made before still works: nothing was edited.
  auto step = sized<loom_training_step>();
  EXPECT_EQ(loom_trainer_step(good, batch.get(), 0, &step), LOOM_OK) << loom_last_error();
  for (const loom_handle h : {good, n}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// Three calls and one give the same weights.
TEST(CapiTween, single_calls_give_the_bits_of_a_step) {
  const Data data;
  std::vector<std::string> hashes;
  for (const bool whole : {true, false}) {
    const loom_network n = chain();
    const std::string config = R"({"mode":"layerwise"})";
    loom_tween t = 0;
    ASSERT_EQ(loom_tween_create(n, config.data(), config.size(), data.shape, 2, nullptr, &t), LOOM_OK)
        << loom_last_error();
    const loom_tensor x = tensor_of(data.inputs, data.shape), targets = tensor_of(data.targets);
    EXPECT_EQ(loom_tween_step(t, &targets, 0.05), LOOM_INVALID_STATE);
    auto y = sized<loom_tensor>();
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(loom_tween_forward(t, &x, &y), LOOM_OK) << loom_last_error();
      EXPECT_EQ(y.data_size, 270 * sizeof(float));
      if (whole) {
        ASSERT_EQ(loom_tween_step(t, &targets, 0.05), LOOM_OK) << loom_last_error();
      } else {
        ASSERT_EQ(loom_tween_backward(t, &targets), LOOM_OK) << loom_last_error();
        ASSERT_EQ(loom_tween_budgets(t), LOOM_OK) << loom_last_error();
        ASSERT_EQ(loom_tween_apply(t, 0.05), LOOM_OK) << loom_last_error();
      }
    }
    hashes.push_back(weights_of(n));
    loom_blob info = 0;
    ASSERT_EQ(loom_tween_info(t, &info), LOOM_OK);
    EXPECT_NE(take(info).find("layers.1"), std::string::npos);
    loom_tensor wrong = targets;
    wrong.data_size = 7 * sizeof(float);
    EXPECT_EQ(loom_tween_step(t, &wrong, 0.05), LOOM_SHAPE_MISMATCH);
    const std::vector<double> wide(270);
    wrong = tensor_of(wide);
    EXPECT_EQ(loom_tween_step(t, &wrong, 0.05), LOOM_INVALID_ARGUMENT);
    EXPECT_STREQ(loom_last_error(), "target has float64 values, the network computes in float32");
    for (const loom_handle h : {t, n}) EXPECT_EQ(loom_release(h), LOOM_OK);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// A held input settles to the plain output after as many ticks as there are cells; snapshots, forks and gradients.
TEST(CapiMesh, settles_to_the_plain_output) {
  const Data data;
  const loom_network n = chain(), other = chain();
  loom_network_session s = 0;
  ASSERT_EQ(loom_network_session_create(other, nullptr, &s), LOOM_OK);
  loom_tensor plain;
  ASSERT_EQ(loom::test::forward(s, data.inputs, {90, 40}, plain), LOOM_OK);
  const std::vector<float> expected = loom::test::values_of(plain);

  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_step_mesh_options>();
  options.compute = &compute;
  options.history = 8, options.backward = 1, compute.thread_count = 2, options.keep_inputs = 1;
  loom_step_mesh mesh = 0;
  ASSERT_EQ(loom_step_mesh_create(n, data.shape, 2, &options, &mesh), LOOM_OK) << loom_last_error();
  loom_step_state state = 0, copy = 0;
  ASSERT_EQ(loom_step_state_create(mesh, &state), LOOM_OK);
  auto y = sized<loom_tensor>();
  EXPECT_EQ(loom_step_state_output(state, -1, &y), LOOM_NO_VALUE);
  loom_tensor x = tensor_of(data.inputs);
  x.data_size -= sizeof(float);
  EXPECT_EQ(loom_step_state_set_input(state, &x, 1), LOOM_SHAPE_MISMATCH);
  x = tensor_of(data.inputs);
  ASSERT_EQ(loom_step_state_set_input(state, &x, 1), LOOM_OK) << loom_last_error();
  auto ticks = sized<loom_tick_options>();
  ticks.ticks = 3, ticks.capture = 1;
  ASSERT_EQ(loom_step_mesh_step(mesh, &state, 1, &ticks), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_step_state_output(state, -1, &y), LOOM_OK);
  EXPECT_EQ(loom::test::values_of(y), expected);
  EXPECT_EQ(std::vector<std::uint64_t>(y.shape, y.shape + y.shape_count), (std::vector<std::uint64_t>{90, 3}));
  std::uint64_t moved = 0;
  ASSERT_EQ(loom_step_state_ticks(state, &moved), LOOM_OK);
  EXPECT_EQ(moved, 3U);

  ASSERT_EQ(loom_step_state_fork(state, &copy), LOOM_OK);
  loom_blob a = 0, b = 0, saved = 0;
  ASSERT_EQ(loom_step_state_snapshot(state, &saved), LOOM_OK);
  const std::string bytes = take(saved);
  const loom_step_state both[] = {state, copy}, twice[] = {state, state};
  ASSERT_EQ(loom_step_mesh_step(mesh, both, 2, nullptr), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_step_mesh_step(mesh, twice, 2, nullptr), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_step_state_hash(state, &a), LOOM_OK);
  ASSERT_EQ(loom_step_state_hash(copy, &b), LOOM_OK);
  EXPECT_EQ(take(a), take(b));
  ASSERT_EQ(loom_step_state_restore(state, bytes.data(), bytes.size()), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_step_state_restore(copy, bytes.data(), bytes.size() - 1), LOOM_CORRUPT_DATA);

  const std::vector<float> ones(270, 1.0F);
  const loom_tensor dy = tensor_of(ones), targets = tensor_of(data.targets);
  auto dx = sized<loom_tensor>();
  ASSERT_EQ(loom_step_mesh_backward(mesh, state, &dy, 0, &dx), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom::test::values_of(dx).size(), data.inputs.size());
  std::vector<float> gradient(3 * 70);
  const loom_tensor to_fill = tensor_of(gradient);
  ASSERT_EQ(loom_step_mesh_gradient(mesh, "layers.1.weight", &to_fill), LOOM_OK);
  EXPECT_NE(gradient, std::vector<float>(gradient.size()));

  const std::string before = weights_of(n);
  loom_mesh_tween tween = 0;
  ASSERT_EQ(loom_mesh_tween_create(mesh, nullptr, 0, 0, &tween), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_step_mesh_step(mesh, &state, 1, nullptr), LOOM_OK);
  ASSERT_EQ(loom_mesh_tween_step(tween, &state, 1, &targets, 0.05), LOOM_OK) << loom_last_error();
  EXPECT_NE(weights_of(n), before);
  ASSERT_EQ(loom_network_morph(n, nullptr, "int8"), LOOM_OK);
  EXPECT_EQ(loom_step_mesh_step(mesh, &state, 1, nullptr), LOOM_INVALID_STATE);
  for (const loom_handle h : {tween, state, copy, mesh, s, n, other}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// Networks that compute in float64 learn and tick with tensors of float64, which others refuse.
TEST(CapiMesh, NetworksInFloat64TakeAndGiveFloat64) {
  const Data data;
  const std::vector<double> inputs(data.inputs.begin(), data.inputs.end()), target(270, 0.25);
  const std::string config = R"({"loss":"mse","learning_rate":0.01})";
  const loom_network n = chain(3, R"("activations":"f64",)"), narrow = chain();
  loom_network_session s = 0;
  ASSERT_EQ(loom_network_session_create(n, nullptr, &s), LOOM_OK);
  loom_tensor plain;
  ASSERT_EQ(loom::test::forward(s, inputs, {90, 40}, plain), LOOM_OK) << loom_last_error();
  const std::vector<double> expected = loom::test::values_of<double>(plain);

  auto options = sized<loom_step_mesh_options>();
  options.history = 4, options.backward = 1;
  loom_step_mesh mesh = 0;
  ASSERT_EQ(loom_step_mesh_create(n, data.shape, 2, &options, &mesh), LOOM_OK) << loom_last_error();
  loom_step_state state = 0;
  ASSERT_EQ(loom_step_state_create(mesh, &state), LOOM_OK);
  const loom_tensor x = tensor_of(inputs), small = tensor_of(data.inputs), targets = tensor_of(target);
  EXPECT_EQ(loom_step_state_set_input(state, &small, 1), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "input has float32 values, the network computes in float64");
  ASSERT_EQ(loom_step_state_set_input(state, &x, 1), LOOM_OK) << loom_last_error();
  auto ticks = sized<loom_tick_options>();
  ticks.ticks = 3, ticks.capture = 1;
  ASSERT_EQ(loom_step_mesh_step(mesh, &state, 1, &ticks), LOOM_OK) << loom_last_error();
  auto y = sized<loom_tensor>(), dx = sized<loom_tensor>();
  ASSERT_EQ(loom_step_state_output(state, -1, &y), LOOM_OK);
  EXPECT_EQ(loom::test::values_of<double>(y), expected);
  ASSERT_EQ(loom_step_mesh_backward(mesh, state, &targets, 0, &dx), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom::test::values_of<double>(dx).size(), inputs.size());

  loom_tween tween = 0;
  ASSERT_EQ(loom_tween_create(n, nullptr, 0, data.shape, 2, nullptr, &tween), LOOM_OK) << loom_last_error();
  const loom_tensor shaped = tensor_of(inputs, data.shape);
  ASSERT_EQ(loom_tween_forward(tween, &shaped, &y), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom::test::values_of<double>(y), expected);
  ASSERT_EQ(loom_tween_step(tween, &targets, 0.05), LOOM_OK) << loom_last_error();

  loom_trainer wide = 0, other = 0;
  ASSERT_EQ(loom_trainer_create(n, config.data(), config.size(), data.shape, 2, nullptr, &wide), LOOM_OK);
  ASSERT_EQ(loom_trainer_create(narrow, config.data(), config.size(), data.shape, 2, nullptr, &other), LOOM_OK);
  const loom::test::Batch batch(inputs, data.shape, target), same(data.inputs, data.shape, target);
  double loss = 0, same_loss = 0;
  ASSERT_EQ(loom_trainer_evaluate(wide, batch.get(), &loss, &y), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom::test::values_of<double>(y).size(), 270U);
  ASSERT_EQ(loom_trainer_evaluate(wide, same.get(), &same_loss, &y), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loss, same_loss) << "float32 is widened";
  auto step = sized<loom_training_step>();
  EXPECT_EQ(loom_trainer_step(wide, batch.get(), 0, &step), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_trainer_step(other, batch.get(), 0, &step), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the batch has float64 values, the network computes in float32");
  for (const loom_handle h : {wide, other, tween, state, mesh, s, n, narrow}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

// The host gives the fitness; a snapshot goes on with the same generations, whatever the threads.
TEST(CapiPopulation, breeds_what_it_is_told) {
  const std::string config = R"({"population":12,"seed":4,"mutation":{"node_rate":0}})";
  const std::uint64_t shape[] = {1, 40};
  const auto judge = [](loom_population p) {
    const std::uint64_t* places = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(loom_population_ask(p, &places, &count), LOOM_OK) << loom_last_error();
    std::vector<double> fitness;
    for (const std::uint64_t place : std::vector<std::uint64_t>(places, places + count)) {
      loom_network n = 0;
      EXPECT_EQ(loom_population_network(p, place, &n), LOOM_OK) << loom_last_error();
      std::vector<float> w(70 * 40);
      const loom_status got = loom::test::get_weight(n, "layers.0.weight", w);
      fitness.push_back(got == LOOM_OK ? -std::fabs(static_cast<double>(w[0]) - 0.5) : NAN);
      EXPECT_EQ(loom_release(n), LOOM_OK);
    }
    loom_blob report = 0;
    EXPECT_EQ(loom_population_tell(p, fitness.data(), fitness.size(), &report), LOOM_OK) << loom_last_error();
    return take(report);
  };
  const loom_network base = chain();
  auto one = sized<loom_compute_options>();
  one.thread_count = 1;
  loom_population p = 0, q = 0;
  ASSERT_EQ(loom_population_create(base, shape, 2, config.data(), config.size(), &one, &p), LOOM_OK)
      << loom_last_error();
  loom_network best = 0;
  EXPECT_EQ(loom_population_best(p, &best), LOOM_NO_VALUE);
  judge(p), judge(p);
  loom_blob saved = 0;
  ASSERT_EQ(loom_population_snapshot(p, &saved), LOOM_OK) << loom_last_error();
  const std::string bytes = take(saved);
  ASSERT_EQ(loom_population_restore(bytes.data(), bytes.size(), shape, 2, config.data(), config.size(), nullptr, &q),
            LOOM_OK)
      << loom_last_error();
  EXPECT_EQ(judge(p), judge(q));
  // A snapshot names what differs from the population that is asked for, and does not take changed bytes.
  const auto refused = [&](const std::string& snapshot, const std::string& json, const std::uint64_t* extents,
                           const char* what) {
    loom_population other = 0;
    EXPECT_EQ(loom_population_restore(snapshot.data(), snapshot.size(), extents, 2, json.data(), json.size(), nullptr,
                                      &other),
              LOOM_CORRUPT_DATA)
        << what;
    EXPECT_NE(std::string(loom_last_error()).find(what), std::string::npos) << loom_last_error();
  };
  std::string other_seed = config, changed = bytes;
  other_seed.replace(other_seed.find("4"), 1, "5");
  refused(bytes, other_seed, shape, "seed");
  const std::uint64_t wide[] = {shape[0] + 1, shape[1]};
  refused(bytes, config, wide, "shape");
  const std::size_t at = changed.find("\"operations\":\"");
  ASSERT_NE(at, std::string::npos);
  changed.insert(at + 14, "x");
  refused(changed, config, shape, "sha256");
  ASSERT_EQ(loom_population_best(p, &best), LOOM_OK) << loom_last_error();
  const double few[] = {1};
  loom_blob report = 0;
  EXPECT_EQ(loom_population_tell(p, few, 1, &report), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "fitness: expected 9 numbers, 1 (score) of each of 9 members, got 1");
  const std::string wrong = R"({"generations":5})";
  loom_population none = 0;
  EXPECT_EQ(loom_population_create(base, shape, 2, wrong.data(), wrong.size(), &one, &none), LOOM_UNKNOWN_KEY);
  for (const loom_handle h : {p, q, best, base}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

TEST(CapiPopulation, TooFewNumbersOfSeveralObjectivesAreNamed) {
  const std::string config = R"({"population":12,"seed":4,"objectives":["accuracy","speed"]})";
  const std::uint64_t shape[] = {1, 40};
  const loom_network base = chain();
  loom_population p = 0;
  ASSERT_EQ(loom_population_create(base, shape, 2, config.data(), config.size(), nullptr, &p), LOOM_OK)
      << loom_last_error();
  std::vector<double> fitness(12, 0.5);
  loom_blob report = 0;
  EXPECT_EQ(loom_population_tell(p, fitness.data(), fitness.size(), &report), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "fitness: expected 24 numbers, 2 (accuracy, speed) of each of 12 members, got 12");
  fitness.resize(24, 0.5);
  EXPECT_EQ(loom_population_tell(p, fitness.data(), fitness.size(), &report), LOOM_OK) << loom_last_error();
  take(report);
  for (const loom_handle h : {p, base}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

TEST(CapiEvolution, ErrorsNameNoOptionOfTheProgram) {
  const loom::test::TempFolder folder;
  const std::string config =
      R"({"task":"xor","population":4,"generations":1,"network":{"layers":[
      {"type":"dense","input_height":2,"output_height":1,"activation":"sigmoid"}]}})";
  const std::string out = folder.path() + "/run";
  auto options = sized<loom_evolution_options>();
  options.out = out.c_str(), options.start = LOOM_RUN_RESUME;
  loom_blob outcome = 0;
  EXPECT_EQ(loom_evolution_run(config.data(), config.size(), &options, &outcome), LOOM_NOT_FOUND);
  EXPECT_TRUE(std::string(loom_last_error()).ends_with("holds no evolution to resume; leave out resume to begin one"))
      << loom_last_error();
  options.start = LOOM_RUN_FRESH;
  ASSERT_EQ(loom_evolution_run(config.data(), config.size(), &options, &outcome), LOOM_OK) << loom_last_error();
  take(outcome);
  EXPECT_EQ(loom_evolution_run(config.data(), config.size(), &options, &outcome), LOOM_INVALID_ARGUMENT);
  EXPECT_TRUE(
      std::string(loom_last_error())
          .ends_with("holds a run: resume goes on with it, overwrite starts a new run, another folder keeps it"))
      << loom_last_error();
}

TEST(CapiEvolution, compares_splices_and_mutates) {
  const loom_network a = chain(1), b = chain(2);
  loom_blob blob = 0;
  ASSERT_EQ(loom_dna_compare(a, a, 0, &blob), LOOM_OK) << loom_last_error();
  EXPECT_NE(take(blob).find("\"overall_overlap\":1.0"), std::string::npos);
  ASSERT_EQ(loom_dna_draw(a, b, 0, &blob), LOOM_OK);
  EXPECT_NE(take(blob).find("<svg"), std::string::npos);
  ASSERT_EQ(loom_network_compare(a, a, &blob), LOOM_OK);
  EXPECT_NE(take(blob).find("\"equal\":true"), std::string::npos);
  loom_network child = 0;
  const std::string config = R"({"mode":"uniform","seed":9})", wrong = R"({"mode":"halves"})";
  ASSERT_EQ(loom_network_splice(a, b, config.data(), config.size(), &child), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_network_splice(a, b, wrong.data(), wrong.size(), &child), LOOM_UNKNOWN_NAME) << loom_last_error();
  const std::string before = weights_of(child), rates = R"({"weight_perturb_rate":1,"seed":3})";
  const std::uint64_t shape[] = {1, 40};
  ASSERT_EQ(loom_network_mutate(child, shape, 2, rates.data(), rates.size(), &blob), LOOM_OK) << loom_last_error();
  EXPECT_NE(take(blob).find("made"), std::string::npos);
  EXPECT_NE(weights_of(child), before);
  for (const loom_handle h : {a, b, child}) EXPECT_EQ(loom_release(h), LOOM_OK);
}

TEST(CapiEvolution, runs_by_a_config) {
  const std::string config =
      R"({"task":"xor","population":16,"generations":4,"seed":1,"network":{"layers":[
      {"type":"dense","input_height":2,"output_height":4,"activation":"tanh"},
      {"type":"dense","input_height":4,"output_height":1,"activation":"sigmoid"}]}})";
  int told = 0;
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_evolution_options>();
  options.compute = &compute;
  options.user = &told, compute.thread_count = 2;
  options.progress = [](void* user, const char* report) -> std::int32_t {
    EXPECT_NE(std::string(report).find("best_score"), std::string::npos);
    return ++*static_cast<int*>(user) < 3 ? 1 : 0;
  };
  loom_blob outcome = 0;
  ASSERT_EQ(loom_evolution_run(config.data(), config.size(), &options, &outcome), LOOM_OK) << loom_last_error();
  EXPECT_NE(take(outcome).find("\"generations\":3"), std::string::npos);
  EXPECT_EQ(told, 3);
  options.progress = [](void*, const char*) -> std::int32_t { return 2; };
  outcome = 0;
  EXPECT_EQ(loom_evolution_run(config.data(), config.size(), &options, &outcome), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the callback on_generation returned 2: expected 1 to continue or 0 to stop");
  EXPECT_EQ(outcome, 0U);
}

// Each network gets a fitness of 1; `leaves_out` is the place in the row of numbers that stays unset.
struct HostJudge {
  std::uint64_t leaves_out = ~std::uint64_t{0};
  std::int32_t answer = 1;
  static std::int32_t judge(void* user, const loom_judging_event* e) {
    const auto& judge = *static_cast<HostJudge*>(user);
    EXPECT_EQ(e->struct_size, sizeof *e);
    EXPECT_EQ(e->fitness_count, e->ends_count * e->width);
    EXPECT_EQ(e->ends[e->ends_count - 1], e->networks_size);
    for (std::size_t i = 0; i < e->fitness_count; ++i)
      if (i != judge.leaves_out) e->fitness[i] = i == 0 ? NAN : 1;
    return judge.answer;
  }
};

TEST(CapiEvolution, AHostJudgesEachNumberOfEachNetwork) {
  const std::string config =
      R"({"task":"xor","population":4,"generations":1,"seed":1,"network":{"layers":[
      {"type":"dense","input_height":2,"output_height":1,"activation":"sigmoid"}]}})";
  HostJudge judge;
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_evolution_options>();
  options.compute = &compute;
  options.user = &judge, compute.thread_count = 1, options.judging = HostJudge::judge;
  loom_blob outcome = 0;
  const auto run = [&] { return loom_evolution_run(config.data(), config.size(), &options, &outcome); };
  ASSERT_EQ(run(), LOOM_OK) << loom_last_error();  // NaN ranks last
  take(outcome);
  judge.leaves_out = 2;
  EXPECT_EQ(run(), LOOM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(loom_last_error()).find("on_judging left number"), std::string::npos) << loom_last_error();
  judge.leaves_out = ~std::uint64_t{0}, judge.answer = 256;
  EXPECT_EQ(run(), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the callback on_judging returned 256: expected 1 to continue or 0 to stop");
  judge.answer = 0;
  EXPECT_EQ(run(), LOOM_CANCELLED);
}

// Events as an older header declares them, without the last fields.
struct OlderTrainingEvent {
  std::uint32_t struct_size;
  std::int32_t phase;
  std::uint64_t epoch;
};

TEST(CapiTraining, AHostOfAnOlderHeaderReadsEventsThatGrew) {
  const Data data;
  const loom::test::Batch batch = data.with_classes();
  const std::string config = R"({"epochs":2,"batch_size":30,"loss":"softmax_crossentropy"})";
  const loom_network n = chain();
  std::uint64_t ends = 0;
  const auto older = [](void* user, const loom_training_event* given) -> std::int32_t {
    OlderTrainingEvent e;
    std::memcpy(&e, given, sizeof e);
    EXPECT_GE(e.struct_size, sizeof e);  // all that it knows is set
    if (e.phase == LOOM_TRAINING_EPOCH_END) {
      EXPECT_EQ(e.epoch, (*static_cast<std::uint64_t*>(user))++);
    }
    return 1;
  };
  auto options = sized<loom_training_options>();
  options.user = &ends, options.progress = older;
  loom_blob outcome = 0;
  const auto train = [&] {
    return loom_training_run(config.data(), config.size(), n, batch.get(), nullptr, &options, &outcome);
  };
  ASSERT_EQ(train(), LOOM_OK) << loom_last_error();
  take(outcome);
  EXPECT_EQ(ends, 2U);
  options.struct_size = 0;
  EXPECT_EQ(train(), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "loom_training_options: struct_size is 0: set it to sizeof(loom_training_options)");
  options.struct_size = offsetof(loom_training_options, progress);  // a header without callbacks
  ASSERT_EQ(train(), LOOM_OK) << loom_last_error();
  take(outcome);
  EXPECT_EQ(ends, 2U);
  options = sized<loom_training_options>();
  options.progress = [](void*, const loom_training_event*) -> std::int32_t { return -5; };
  EXPECT_EQ(train(), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the callback on_training returned -5: expected 1 to continue or 0 to stop");
  EXPECT_EQ(loom_release(n), LOOM_OK);
}

}  // namespace
