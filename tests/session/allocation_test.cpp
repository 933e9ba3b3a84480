// Session::feed takes its memory at create(), but for a block of keys and values per attention layer when a sequence
// first reaches it: no other heap call after the first feed. Sessions of networks and the step mesh take none at all.
// A binary of its own, as it replaces operator new and counts malloc as well (glibc's symbols are weak against these).

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "core/philox.h"
#include "learning/tween/mesh_tween.h"
#include "verify/golden_models.h"
#include "lm/session.h"
#include "verify/golden_layers.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"

namespace {
std::atomic<bool> g_counting{false};
std::atomic<std::size_t> g_calls{0};
void count() {
  if (g_counting.load(std::memory_order_relaxed)) g_calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Everything else in the C++ library, operator new included, comes through these.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return count(), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t size) { return count(), __libc_calloc(n, size); }
void* realloc(void* p, std::size_t n) { return count(), __libc_realloc(p, n); }
void* aligned_alloc(std::size_t align, std::size_t n) { return count(), __libc_memalign(align, n); }
int posix_memalign(void** p, std::size_t align, std::size_t n) {
  count();
  *p = __libc_memalign(align, n);
  return *p ? 0 : ENOMEM;
}
}
#else
void* operator new(std::size_t n) {
  count();
  return std::malloc(n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace loom {
namespace {

class Allocation : public testing::TestWithParam<std::tuple<std::string, int>> {};

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const GoldenCase& c : golden_cases()) names.push_back(c.name);
  return names;
}

TEST_P(Allocation, feed_takes_no_heap_memory_but_new_blocks_of_keys_and_values) {  // V-13, L-74
  std::shared_ptr<const DecoderModel> model;
  for (const GoldenCase& c : golden_cases())
    if (c.name == std::get<0>(GetParam())) model = golden_model(c).value();
  ASSERT_TRUE(model);
  auto session = Session::create(
      model, {.threads = std::get<1>(GetParam()), .context_tokens = 256, .sequences = 3, .chunk_rows = 32});
  ASSERT_TRUE(session) << session.error().text();
  std::vector<std::int32_t> ids(100);
  const RandomStream random{3, RandomDomain::Noise, 0, 1};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(random.below(i, 300));
  const std::span<const std::int32_t> all = ids;
  const Session::Feed batch[] = {{0, all.first(70)}, {1, all.first(1)}, {2, all.first(40)}};

  const auto calls_of = [&] {
    EXPECT_TRUE((*session)->feed(all.first(3)));
    g_calls = 0;
    g_counting = true;
    bool ok = static_cast<bool>((*session)->feed(all));  // several chunks
    for (std::size_t i = 0; i < 70; ++i) ok = ok && (*session)->feed(all.subspan(i, 1));
    ok = ok && (*session)->feed(batch);  // neighbours, a first feed of theirs
    ok = ok && (*session)->rewind((*session)->length() - 1) && (*session)->feed(all.first(1));
    g_counting = false;
    EXPECT_TRUE(ok);
    return g_calls.load();
  };
  // 243, 1 and 40 tokens: 3, 1 and 1 new blocks in each layer, fewer where it has a sliding window.
  const auto layers = static_cast<std::size_t>(model->config.num_hidden_layers);
  EXPECT_LE(calls_of(), 5 * layers);
  for (std::size_t sequence = 0; sequence < 3; ++sequence) ASSERT_TRUE((*session)->truncate(0, sequence));
  EXPECT_EQ(calls_of(), 0u);
}

// A ring of each merge, a state that is kept, a container; captured ticks, crowds and backward passes too.
TEST(AllocationMesh, no_heap_memory_in_a_hundred_thousand_ticks) {  // V-13, M-09, G-80
  const auto spec =
      network_from_json(std::string_view(R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":4,"seed":5,"layers":[
    {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":10,"output_height":6,"is_remote_link":true,"target_l":3,"link_mode":"feed","link_merge":"concat"},
    {"z":0,"y":0,"x":0,"l":1,"type":"sequential","sequential_layers":[{"type":"reshape","shape":[1,6]},
      {"type":"lstm","input_height":6,"output_height":4,"stateful":true},{"type":"reshape","shape":[4]}]},
    {"z":0,"y":0,"x":0,"l":2,"type":"dense","input_height":4,"output_height":4,"is_remote_link":true,"target_l":2,"link_mode":"auto","link_merge":"add"},
    {"z":0,"y":0,"x":0,"l":3,"type":"swiglu","input_height":4,"output_height":5}]})"));
  ASSERT_TRUE(spec) << spec.error().text();
  Network network = std::move(const_cast<SpecResult&>(*spec).network);
  for (const int threads : {1, 2}) {
    const auto mesh =
        StepMesh::create(network, Shape::of({2, 6}), {.threads = threads, .history_capacity = 8, .backward = true})
            .value();
    StepState a = mesh->create_state().value(), b = mesh->create_state().value();
    StepState* const both[] = {&a, &b};
    const std::vector<float> x(12, 0.5f), dy(8, 0.25f);
    ASSERT_TRUE(a.set_input({x.data(), Shape::of({2, 6})}));
    ASSERT_TRUE(mesh->step(a, {.capture = true}));
    ASSERT_TRUE(b.restore(a));
    for (int t = 0; t < 8; ++t) ASSERT_TRUE(mesh->step(both, {.capture = true}));
    ASSERT_TRUE(mesh->backward(a, {dy.data(), Shape::of({2, 4})}));  // tapes grow once
    g_calls = 0;
    g_counting = true;
    bool ok = true;
    for (int t = 0; t < (threads == 1 ? 100000 : 10000) && ok; ++t) {
      ok = ok && mesh->step(a, {.capture = t % 3 != 0}) && a.set_input({x.data(), Shape::of({2, 6})}, t % 2 == 0);
      if (t % 100 == 0)
        ok = ok && b.restore(a) && mesh->step(both, {.capture = true}) &&
             mesh->backward(a, {dy.data(), Shape::of({2, 4})});
    }
    g_counting = false;
    EXPECT_TRUE(ok);
    EXPECT_EQ(g_calls.load(), 0u);
  }
}

// A mesh that learns at every tick, a crowd now and then: nothing after the first step, as long as the weights are
// float32.
TEST(MeshAllocation, learning_ticks_take_no_heap_memory) {  // V-13, M-11
  const auto spec =
      network_from_json(std::string_view(R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":3,"seed":4,"layers":[
      {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":14,"output_height":8,"activation":"tanh","is_remote_link":true,"target_l":1,"link_mode":"feed",
       "link_merge":"concat"},
      {"z":0,"y":0,"x":0,"l":1,"type":"sequential","residual":true,"sequential_layers":[
        {"type":"dense","input_height":8,"output_height":12,"bias":true,"activation":"tanh"},{"type":"dense","input_height":12,"output_height":8}]},
      {"z":0,"y":0,"x":0,"l":2,"type":"lstm","input_height":8,"output_height":4}]})"));
  ASSERT_TRUE(spec) << spec.error().text();
  for (const TweenMode mode : {TweenMode::Layerwise, TweenMode::Chain})
    for (const std::size_t through : {0, 3})
      for (const int threads : {1, 2}) {
        Network network = std::move(network_from_json(network_to_json(spec->network))->network);
        ASSERT_TRUE(network.initialise());
        const Shape shape = Shape::of({2, 3, 6}), out = Shape::of({2, 3, 4});
        const auto mesh =
            StepMesh::create(network, shape, {.threads = threads, .history_capacity = through, .keep_inputs = true})
                .value();
        TweenConfig config;
        config.mode = mode;
        const auto tween = MeshTween::create(network, *mesh, config, {.ticks = through}).value();
        StepState a = mesh->create_state().value(), b = mesh->create_state().value();
        StepState* const both[] = {&a, &b};
        const std::vector<float> x(36, 0.5f), t(24, 0.25f);
        const TweenTarget targets[] = {{.values = {t.data(), out}}, {.values = {t.data(), out}}};
        for (StepState* s : both) ASSERT_TRUE(s->set_input({x.data(), shape}));
        bool ok = true;
        const auto tick = [&](int n) {
          ok = ok && mesh->step(both, {.capture = through != 0});
          if (n > 3) ok = ok && tween->step(a, targets[0], 0.01) && (n % 10 != 4 || tween->step(both, targets, 0.01));
        };
        for (int n = 0; n < 8; ++n) tick(n);
        ASSERT_TRUE(ok);
        g_calls = 0;
        g_counting = true;
        for (int n = 8; n < 2000; ++n) tick(n);
        g_counting = false;
        EXPECT_TRUE(ok);
        EXPECT_EQ(g_calls.load(), 0u) << name(mode) << " through " << through << " with " << threads;
      }
}

// Every kind in a float, an integer type of rows and one of groups: forward alone, and forward and backward.
TEST(SessionAllocation, forward_and_backward_take_no_heap_memory_after_the_first_call) {  // V-13
  for (const GoldenLayer& c : golden_layers())
    for (const DType dtype : {DType::float32, DType::int8, DType::int4}) {
      if (!c.typed && dtype != DType::float32) continue;
      const auto network = golden_network(c, dtype);
      ASSERT_TRUE(network) << c.name;
      const Shape shape = Shape::create(c.input).value();
      const auto plan = ForwardPlan::create(*network, shape).value();
      const std::vector<float> x = golden_input(c), dy(plan->shape_after(0).elements(), 0.5f);
      for (const bool backward : {false, true})
        for (const int threads : {1, 2}) {
          const auto session = NetworkSession::create(*network, plan, {threads, std::nullopt, backward}).value();
          bool ok = true;
          const auto call = [&] {
            const auto y = session->forward({x.data(), shape}, {.training = c.training});
            ok = ok && y;
            if (ok && backward) ok = ok && session->backward({dy.data(), y->shape});
          };
          call();
          ASSERT_TRUE(ok) << c.name;
          g_calls = 0;
          g_counting = true;
          for (int i = 0; i < 3; ++i) call();
          g_counting = false;
          EXPECT_TRUE(ok) << c.name;
          EXPECT_EQ(g_calls.load(), 0u) << c.name << " " << name(dtype) << (backward ? " backward" : "") << " with "
                                        << threads;
        }
    }
}

// Weights of 8 and 4 bits stay packed: a quarter and an eighth of the bytes go by, and nothing is decoded on the way.
TEST(SessionAllocation, one_row_through_packed_weights_is_faster_than_through_floats) {  // G-57, V-13
  struct Timed {
    std::unique_ptr<Network> network;
    std::unique_ptr<NetworkSession> session;
    double least = 1e9;
  };
  const Shape shape = Shape::of({1, 4096});
  const std::vector<float> x(4096, 0.5f);
  std::vector<Timed> all;
  for (const char* dtype : {"float32", "int8", "int4"}) {
    auto spec = network_from_json(fmt::format(
        R"({{"default_dtype":"{}","layers":[{{"type":"dense","input_height":4096,"output_height":2048}}]}})", dtype));
    ASSERT_TRUE(spec) << dtype;
    Timed timed{std::make_unique<Network>(std::move(spec->network)), nullptr};
    timed.session = NetworkSession::create(*timed.network, shape, {.threads = 1}).value();
    all.push_back(std::move(timed));
  }
  // Interleaved, so that other processes slow all of them.
  for (int i = 0; i < 200; ++i)
    for (Timed& each : all) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(each.session->forward({x.data(), shape}));
      each.least =
          std::min(each.least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  EXPECT_LT(all[1].least, all[0].least);
  EXPECT_LT(all[2].least, all[0].least);
}

TEST(AllocationCounter, counts) {
  g_calls = 0;
  g_counting = true;
  auto* volatile p = new int[100];
  delete[] p;
  g_counting = false;
  EXPECT_GE(g_calls.load(), 1u);
}

INSTANTIATE_TEST_SUITE_P(EveryCase, Allocation,
                         testing::Combine(testing::ValuesIn(case_names()), testing::Values(1, 2)),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace loom
