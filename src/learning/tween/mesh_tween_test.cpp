// Target propagation in the step mesh (engine M-11): against a TweenSession bit for bit, in loops, in crowds, in any
// number of threads.

#include "learning/tween/mesh_tween.h"
#include "backend/cpu/isa.h"
#include "learning/tween/tween_test.h"
#include "support/cancels_behind.h"

namespace loom {
namespace {

using namespace test;

std::string spec_of(const std::vector<std::string>& cells, const std::string& type = "float32") {
  std::string layers;
  for (std::size_t l = 0; l < cells.size(); ++l) {
    if (cells[l].empty()) continue;
    std::string cell = cells[l];
    layers += (layers.empty() ? "" : ",") + cell.insert(1, fmt::format(R"("z":0,"y":0,"x":0,"l":{},)", l));
  }
  return fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"activations":"{}","default_dtype":"{}","seed":3,"layers":[{}]}})",
      cells.size(), type, type, layers);
}
// The keys of a feed link in front of a layer's.
std::string fed(std::size_t from, const std::string& merge, std::string layer) {
  return layer.insert(
      1, fmt::format(R"("is_remote_link":true,"target_l":{},"link_mode":"feed","link_merge":"{}",)", from, merge));
}
std::string sequence(const std::string& layers) {
  return R"({"type":"sequential","sequential_layers":[)" + layers + "]}";
}

Network read(const std::string& spec) {
  auto result = network_from_json(std::string_view(spec));
  EXPECT_TRUE(result) << (result ? "" : result.error().text()) << "\n" << spec;
  Network network = std::move(result->network);
  const auto initialised = network.initialise();
  EXPECT_TRUE(initialised) << (initialised ? "" : initialised.error().text());
  return network;
}

struct Ticking {
  Network network;
  std::unique_ptr<StepMesh> mesh;
  std::unique_ptr<MeshTween> tween;
  std::optional<StepState> state;
  Shape input;

  Ticking(const std::string& spec, const Shape& shape, const TweenConfig& config,
          const StepMeshOptions& options = {.threads = 1, .keep_inputs = true}, std::size_t ticks = 0)
      : network(read(spec)), input(shape) {
    mesh = StepMesh::create(network, shape, options).value();
    auto made = MeshTween::create(network, *mesh, config, {.ticks = ticks});
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    tween = std::move(*made);
    state.emplace(mesh->create_state().value());
  }
  template <class T>
  void set(const std::vector<T>& x) {
    ASSERT_TRUE(state->set_input({x.data(), input, element_of<T>}));
  }
  void tick(int n = 1, bool capture = false) {
    for (int t = 0; t < n; ++t) LOOM_OK(mesh->step(*state, {.capture = capture}));
  }
};

template <class T>
std::vector<T> values(const std::string& name, std::size_t n) {
  const std::vector<float> v = random_values(name, n);
  return {v.begin(), v.end()};
}

// Five steps of both on one network; the mesh ticks until the new weights are through.
template <class T>
void expect_the_bits_of_a_session(const std::string& spec, const Shape& shape, const TweenConfig& config,
                                  const std::string& what) {
  SCOPED_TRACE(what);
  Network network = read(spec);
  const auto session = TweenSession::create(network, shape, config, on_threads(1)).value();
  Ticking m(spec, shape, config);
  const auto x = values<T>("x", shape.elements());
  m.set(x);
  for (std::uint32_t n = 0; n < 5; ++n) {
    const auto y = session->forward({x.data(), shape, element_of<T>});
    LOOM_OK(y);
    const auto t = values<T>("t", y->shape.elements());
    const TweenTarget target{.values = {t.data(), y->shape, element_of<T>}};
    m.tick(static_cast<int>(m.network.num_cells()));
    const auto mine = m.state->output();
    LOOM_OK(mine);
    ASSERT_EQ(std::memcmp(mine->data, y->data, y->shape.elements() * sizeof(T)), 0) << n;
    LOOM_OK(session->step(target, 0.05));
    LOOM_OK(m.tween->step(*m.state, target, 0.05));
    ASSERT_EQ(hash_of(network), hash_of(m.network)) << "step " << n;
    EXPECT_EQ(m.tween->output_gap(), session->output_gap());
    EXPECT_EQ(m.tween->loss(), session->loss());
    ASSERT_EQ(std::memcmp(m.tween->input_gap().data, session->input_gap().data, shape.elements() * sizeof(T)), 0);
    for (const MeshTweenUse& use : m.tween->uses()) {
      const auto same = std::ranges::find_if(
          session->uses(), [&](const TweenUse& other) { return *other.path == *use.path && other.gap == use.gap; });
      ASSERT_NE(same, session->uses().end()) << *use.path;
      EXPECT_EQ(std::tuple(same->budget, same->skipped, same->cell), std::tuple(use.budget, use.skipped, use.cell))
          << *use.path;
      EXPECT_NEAR(same->update_norm, use.update_norm, 1e-6 * same->update_norm);
    }
  }
}

TEST(MeshTween, a_step_that_is_cancelled_leaves_weights_and_velocities_as_they_were) {  // N-12
  const std::string spec = spec_of({dense(5, 6, "relu"), dense(6, 6, "tanh"), dense(6, 3)});
  const Shape shape = Shape::of({2, 5});
  TweenConfig config;
  config.momentum = 0.9;
  for (const std::size_t ticks : {0, 2}) {
    const StepMeshOptions options{.threads = 1, .history_capacity = 4, .keep_inputs = true};
    Ticking undisturbed(spec, shape, config, options, ticks), disturbed(spec, shape, config, options, ticks);
    const auto x = values<float>("x", shape.elements());
    const auto t = values<float>("t", 6);
    const TweenTarget target{.values = {t.data(), Shape::of({2, 3}), Element::f32}};
    const auto everything = [](Ticking& m) {
      std::string out = hash_of(m.network);
      for (const TweenVelocity& v : m.tween->velocities())
        out.append(static_cast<const char*>(v.values.data), v.values.bytes());
      return out;
    };
    for (Ticking* m : {&undisturbed, &disturbed}) {
      m->set(x);
      m->tick(4, true);
      LOOM_OK(m->tween->step(*m->state, target, 0.05));
      m->tick(4, true);
    }
    const std::string before = everything(disturbed);
    std::size_t cancelled = 0;
    for (bool done = false; !done;) {
      test::CancelsBehind watch(cancelled + 1);
      disturbed.mesh->watch(&watch);
      const auto stepped = disturbed.tween->step(*disturbed.state, target, 0.05, &watch.flag);
      disturbed.mesh->watch(nullptr);
      done = stepped.has_value();
      if (done) break;
      ASSERT_EQ(stepped.error().code, Code::Cancelled) << stepped.error().text();
      ASSERT_EQ(everything(disturbed), before) << ticks << " " << cancelled;
      ASSERT_LT(++cancelled, 100u);
    }
    EXPECT_GE(cancelled, 3u) << ticks;
    LOOM_OK(undisturbed.tween->step(*undisturbed.state, target, 0.05));
    EXPECT_EQ(everything(disturbed), everything(undisturbed)) << ticks;
  }
}

std::vector<std::pair<std::string, TweenConfig>> configs() {
  std::vector<std::pair<std::string, TweenConfig>> out = {{"layerwise", layerwise()}, {"chain", {}}};
  TweenConfig plain = layerwise(), average = layerwise(), gated = layerwise();
  plain.slope = TweenSlope::Sign, plain.target_scale = TweenScale::WeightSum, plain.momentum = 0;
  average.estimate = TweenEstimate::Average, average.depth_scale_layerwise = true;
  gated.budget_threshold = 0.5;
  out.emplace_back("plain", plain), out.emplace_back("average", average), out.emplace_back("gated", gated);
  return out;
}

TEST(MeshTween, a_settled_mesh_moves_by_the_bits_of_a_session) {  // M-11
  const std::string gate = R"({"type":"parallel","combine_mode":"filter","filter_gate":)" + dense(6, 2) +
                           R"(,"parallel_branches":[)" + dense(6, 6, "tanh") + "," + dense(6, 6) + "]}";
  const std::string residual =
      R"({"type":"sequential","residual":true,"sequential_layers":[)" + dense(6, 9, "tanh") + "," + dense(9, 6) + "]}";
  const std::string off = R"({"type":"dense","input_height":6,"output_height":6,"is_disabled":true})";
  const std::vector<std::string> cells = {
      dense(5, 6, "relu"), "", residual, off, gate, R"({"type":"layernorm","input_height":6})", dense(6, 3, "tanh")};
  for (const auto& [name, config] : configs()) {
    expect_the_bits_of_a_session<float>(spec_of(cells), Shape::of({7, 5}), config, name);
    expect_the_bits_of_a_session<double>(spec_of(cells, "float64"), Shape::of({7, 5}), config, name + " float64");
    expect_the_bits_of_a_session<float>(spec_of({R"({"type":"lstm","input_height":3,"output_height":4})", dense(4, 2)}),
                                        Shape::of({3, 4, 3}), config, name + " lstm");
    expect_the_bits_of_a_session<float>(
        spec_of(
            {R"({"type":"cnn1","input_channels":2,"filters":3,"kernel_size":3,"padding":1,"bias":true,"activation":"tanh"})",
             R"({"type":"maxpool","kernel_size":2,"stride":2})"}),
        Shape::of({3, 2, 8}), config, name + " cnn1");
  }
}

// Several consumers of one output: feed links and skips that lead forward.
TEST(MeshTween, sources_of_several_cells_take_the_mean_of_their_targets) {  // M-11, W-31
  const std::string skip = R"({"type":"sequential","sequential_layers":[)" + dense(6, 6, "tanh") +
                           R"(,{"type":"residual","skip_from":[0,0,0,0]}]})";
  for (const auto& [name, config] : configs()) {
    const std::vector<std::string> links = {dense(5, 6, "tanh"), dense(6, 6, "tanh"),
                                            fed(0, "add", dense(6, 6, "tanh")), fed(0, "concat", dense(12, 4, "tanh")),
                                            dense(4, 2)};
    expect_the_bits_of_a_session<float>(spec_of(links), Shape::of({4, 5}), config, name + " links");
    expect_the_bits_of_a_session<float>(spec_of({dense(5, 6, "tanh"), dense(6, 6, "tanh"), skip, dense(6, 2)}),
                                        Shape::of({4, 5}), config, name + " skip");
  }
}

TEST(MeshTween, low_bit_weights_move_by_the_bits_of_a_session) {  // M-11, W-50
  for (const std::string dtype : {"ternary", "binary", "int8"}) {
    std::string spec = spec_of({dense(8, 12, "tanh"), dense(12, 3)});
    spec.replace(spec.find(R"("default_dtype":"float32")"), 25, R"("default_dtype":")" + dtype + "\"");
    expect_the_bits_of_a_session<float>(spec, Shape::of({5, 8}), layerwise(), dtype);
  }
}

TEST(MeshTween, inputs_are_kept_without_capture_and_calls_out_of_order_are_errors) {  // M-11
  const std::string spec = spec_of({dense(3, 4, "tanh"), dense(4, 2)});
  const Shape shape = Shape::of({2, 3});
  const auto x = values<float>("x", 6), other = values<float>("y", 6), t = values<float>("t", 4);
  const TweenTarget target{.values = {t.data(), Shape::of({2, 2})}};
  Ticking m(spec, shape, layerwise()), same(spec, shape, layerwise());
  EXPECT_EQ(m.tween->step(*m.state, target, 0.1).error().code, Code::NoValue);
  for (Ticking* one : {&m, &same}) one->set(x), one->tick(3);
  m.set(other);  // the next tick's
  ASSERT_TRUE(m.mesh->forward_tick(*m.state)) << "a pending tick is not the last one";
  LOOM_OK(m.tween->step(*m.state, target, 0.1));
  LOOM_OK(same.tween->step(*same.state, target, 0.1));
  EXPECT_EQ(hash_of(m.network), hash_of(same.network));
  EXPECT_EQ(m.tween->step(*m.state, {.values = {t.data(), Shape::of({4, 1})}}, 0.1).error().code, Code::ShapeMismatch);
  EXPECT_EQ(m.tween->step(*m.state, target, -1).error().code, Code::InvalidConfig);
  EXPECT_EQ(m.tween->step(*same.state, target, 0.1).error().code, Code::InvalidArgument);
  EXPECT_EQ(m.tween->step(std::span<StepState* const>(), {}, 0.1).error().code, Code::InvalidArgument);
  LOOM_OK(m.tween->step(*m.state, target, 0.1));

  for (const TweenMode mode : {TweenMode::Mirror, TweenMode::Dtp}) {
    TweenConfig by_feedback;
    by_feedback.mode = mode;
    EXPECT_EQ(MeshTween::create(m.network, *m.mesh, by_feedback).error().code, Code::Unsupported);
  }
  EXPECT_EQ(MeshTween::create(same.network, *m.mesh, {}).error().code, Code::InvalidArgument);
  const auto bare = StepMesh::create(m.network, m.mesh->plan(), {.threads = 1}).value();
  EXPECT_EQ(MeshTween::create(m.network, *bare, {}).error().code, Code::InvalidState);
  Ticking through(spec, shape, layerwise(), {.threads = 1, .keep_inputs = true}, 4);
  through.set(x), through.tick(3);
  EXPECT_EQ(through.tween->step(*through.state, target, 0.1).error().code, Code::NoHistory);
  through.tick(1, true);
  LOOM_OK(through.tween->step(*through.state, target, 0.1));
}

TEST(MeshTween, a_network_or_a_mesh_that_is_not_ready_is_an_error) {  // M-11
  Ticking m(spec_of({dense(4, 4), dense(4, 4)}), Shape::of({2, 4}), {});
  Gradients& gradients = m.mesh->gradients();
  LOOM_OK(ForwardPlan::create(m.network, Shape::of({2, 4})));
  EXPECT_TRUE(MeshTween::create(m.network, *m.mesh, {})) << "a plan of forward passes leaves the mesh as it is";
  m.network.edit();
  EXPECT_EQ(MeshTween::create(m.network, *m.mesh, {}).error().code, Code::InvalidState);
  EXPECT_EQ(m.mesh->prepare_gaps(nullptr, gradients).error().code, Code::InvalidState);
  const auto wider = StepPlan::create(m.network, Shape::of({64, 4}));
  LOOM_OK(wider);
  ASSERT_FALSE(m.mesh->use_new_plan(*wider, {}));
  EXPECT_EQ(MeshTween::create(m.network, *m.mesh, {}).error().code, Code::InvalidState);
  EXPECT_EQ(m.mesh->prepare_gaps(nullptr, gradients).error().code, Code::InvalidState);
}

TEST(MeshTween, what_is_not_finite_moves_no_weight) {  // M-11
  Ticking m(spec_of({dense(3, 4, "tanh"), dense(4, 2)}), Shape::of({1, 3}), layerwise());
  m.set(std::vector<float>{1, std::numeric_limits<float>::infinity(), 0}), m.tick(2);
  const std::string before = hash_of(m.network);
  const std::vector<float> t = {1e38f, 1};
  const auto done = m.tween->step(*m.state, {.values = {t.data(), Shape::of({1, 2})}}, 0.1);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::NonFinite) << done.error().text();
  EXPECT_EQ(hash_of(m.network), before);
}

// Bits +-1, new ones every tick.
float bit(std::uint64_t t) { return RandomStream{11, RandomDomain::Sample, 0, 5}.uniform(t) < 0.5 ? -1.0f : 1.0f; }

// One cell that reads its own last output: its first output learns to hold the bit, the second to tell whether it
// changed.
double parity_errors(const TweenConfig& config, int ticks, std::string* hash = nullptr) {
  const std::string spec = spec_of({fed(0, "concat", sequence(dense(3, 24, "tanh") + "," + dense(24, 2)))});
  Ticking m(spec, Shape::of({1, 1}), config);
  int wrong = 0, asked = 0;
  for (int t = 0; t < ticks; ++t) {
    const auto now = static_cast<std::uint64_t>(t);
    m.set(std::vector<float>{bit(now)}), m.tick();
    const std::vector<float> target = {bit(now), t == 0 ? 1 : bit(now) * bit(now - 1)};
    if (t >= ticks - 200) ++asked, wrong += (m.state->output()->as()[1] > 0) != (target[1] > 0);
    EXPECT_TRUE(m.tween->step(*m.state, {.values = {target.data(), Shape::of({1, 2})}}, 0.1));
  }
  if (hash != nullptr) *hash = hash_of(m.network);
  return static_cast<double>(wrong) / asked;
}

TEST(MeshTween, a_loop_learns_the_parity_of_two_bits_tick_by_tick) {  // M-11
  TweenConfig config = layerwise();
  EXPECT_EQ(parity_errors(config, 3000), 0);
  EXPECT_EQ(parity_errors({}, 3000), 0) << "chain";
}

// Two cells: what is asked for stood at the port three ticks ago, so that the ring must learn to hold it.
double echo_errors(std::size_t through, const TweenConfig& config, int ticks, double rate) {
  const std::string spec = spec_of({fed(0, "concat", dense(13, 12, "tanh")), dense(12, 1)});
  Ticking m(spec, Shape::of({1, 1}), config, {.threads = 1, .history_capacity = 8, .keep_inputs = true}, through);
  int wrong = 0, asked = 0;
  for (int t = 0; t < ticks; ++t) {
    const auto now = static_cast<std::uint64_t>(t);
    m.set(std::vector<float>{bit(now)}), m.tick(1, true);
    if (t < 4) continue;
    const float target = bit(now - 3);
    if (t >= ticks - 200) ++asked, wrong += (m.state->output()->as()[0] > 0) != (target > 0);
    EXPECT_TRUE(m.tween->step(*m.state, {.values = {&target, Shape::of({1, 1})}}, rate));
  }
  return static_cast<double>(wrong) / asked;
}

TEST(MeshTween, feedback_learns_through_captured_ticks) {  // M-11
  EXPECT_GT(echo_errors(0, layerwise(), 2000, 0.05), 0.3)
      << "the last tick alone pairs an output with inputs it did not come from";
  EXPECT_EQ(echo_errors(4, layerwise(), 4000, 0.05), 0);
  EXPECT_EQ(echo_errors(4, {}, 4000, 0.05), 0) << "chain";
}

TEST(MeshTween, crowds_move_by_the_mean) {  // M-11
  const std::string spec = spec_of({fed(1, "concat", dense(7, 6, "tanh")), dense(6, 4, "tanh")});
  Ticking one(spec, Shape::of({1, 3}), layerwise()), twins(spec, Shape::of({1, 3}), layerwise());
  StepState twin = twins.mesh->create_state().value();
  StepState* const both[] = {&*twins.state, &twin};
  for (int t = 0; t < 20; ++t) {
    const auto x = values<float>(fmt::format("x{}", t), 3), y = values<float>(fmt::format("t{}", t), 4);
    const TweenTarget target{.values = {y.data(), Shape::of({1, 4})}}, targets[] = {target, target};
    one.set(x), twins.set(x);
    LOOM_OK(twin.set_input({x.data(), Shape::of({1, 3})}));
    one.tick();
    LOOM_OK(twins.mesh->step(both));
    if (t == 0) continue;
    LOOM_OK(one.tween->step(*one.state, target, 0.1));
    LOOM_OK(twins.tween->step(both, targets, 0.1));
    ASSERT_EQ(hash_of(one.network), hash_of(twins.network)) << t;
    ASSERT_EQ(twins.tween->uses().size(), 2 * one.tween->uses().size());
    EXPECT_EQ(twins.tween->uses().back().state, 1u);
    EXPECT_EQ(twins.tween->output_gap(), one.tween->output_gap());
  }
}

// A grid with rings of every kind, forty ticks that learn through four, in a crowd of three.
std::string crowd_hash(const TweenConfig& config, int threads, Isa isa, std::size_t through) {
  const std::vector<std::string> cells = {fed(3, "concat", dense(24 + 32, 48, "tanh")), dense(48, 64, "relu"),
                                          fed(2, "add", dense(64, 64, "tanh")),
                                          R"({"type":"sequential","sequential_layers":[)" + dense(64, 32, "tanh") +
                                              R"(,{"type":"residual","skip_from":[0,0,0,3]}]})",
                                          dense(32, 10)};
  Ticking m(spec_of(cells), Shape::of({33, 24}), config,
            {.threads = threads, .isa = isa, .history_capacity = 6, .keep_inputs = true}, through);
  std::vector<StepState> states;
  for (int n = 0; n < 3; ++n) states.push_back(m.mesh->create_state().value());
  StepState* const crowd[] = {&states[0], &states[1], &states[2]};
  for (int t = 0; t < 24; ++t) {
    std::vector<std::vector<float>> ys;
    std::vector<TweenTarget> targets;
    for (int n = 0; n < 3; ++n) {
      const auto x = values<float>(fmt::format("x{}.{}", t, n), 33 * 24);
      EXPECT_TRUE(states[static_cast<std::size_t>(n)].set_input({x.data(), Shape::of({33, 24})}));
      ys.push_back(values<float>(fmt::format("t{}.{}", t, n), 330));
    }
    for (const auto& y : ys) targets.push_back({.values = {y.data(), Shape::of({33, 10})}});
    EXPECT_TRUE(m.mesh->step(crowd, {.capture = through != 0}));
    if (t < 6) continue;
    const auto done = m.tween->step(crowd, targets, 0.05);
    EXPECT_TRUE(done) << done.error().text();
  }
  std::string all = hash_of(m.network);
  for (const StepState& s : states) all += to_hex(s.hash());
  return all;
}

TEST(MeshTween, the_same_bits_for_all_threads_and_targets) {  // M-07, M-11
  for (const auto& [name, config] : {std::pair("layerwise", layerwise()), std::pair("chain", TweenConfig{})})
    for (const std::size_t through : {0, 4}) {
      const std::string expected = crowd_hash(config, 1, best_isa(), through);
      for (const Isa isa : usable_isas())
        for (const int threads : {1, 2, 3, 7}) {
          if (isa != best_isa() && threads != 2) continue;
          const ExpectDivided divided(threads);
          EXPECT_EQ(crowd_hash(config, threads, isa, through), expected)
              << name << " through " << through << ": " << loom::name(isa) << " with " << threads;
        }
    }
}

// Weights of 32 768 elements and more, whose updates threads divide.
TEST(MeshTween, large_weights_move_alike_for_every_number_of_threads) {  // M-07, M-11
  for (const auto& config : {layerwise(), TweenConfig{}}) {
    std::string first;
    for (const int threads : {1, 2, 3, 7}) {
      const ExpectDivided divided(threads);
      Ticking m(spec_of({dense(300, 200, "tanh"), dense(200, 180, "tanh"), dense(180, 10)}), Shape::of({4, 300}),
                config, {.threads = threads, .keep_inputs = true});
      std::string bits;
      for (int t = 0; t < 7; ++t) {
        m.set(values<float>(fmt::format("x{}", t), 1200)), m.tick();
        if (t < 3) continue;
        const auto y = values<float>(fmt::format("t{}", t), 40);
        LOOM_OK(m.tween->step(*m.state, {.values = {y.data(), Shape::of({4, 10})}}, 0.05));
        for (const MeshTweenUse& use : m.tween->uses())
          bits += fmt::format("{} {} {} {}\n", *use.path, use.gap, use.budget, use.update_norm);
      }
      bits += hash_of(m.network);
      if (first.empty()) first = bits;
      EXPECT_EQ(bits, first) << threads;
    }
  }
}

TEST(MeshTween, observers_see_targets_and_weights_move_by_the_same_bits) {  // E-40
  const std::string spec = spec_of({fed(1, "concat", dense(7, 6, "tanh")), dense(6, 4, "tanh")});
  Ticking alone(spec, Shape::of({1, 3}), layerwise()), watched(spec, Shape::of({1, 3}), layerwise());
  Onlooker observer;
  watched.mesh->watch(&observer);
  for (int t = 0; t < 5; ++t) {
    const auto x = values<float>(fmt::format("x{}", t), 3), y = values<float>(fmt::format("t{}", t), 4);
    for (Ticking* m : {&alone, &watched}) {
      m->set(x), m->tick();
      if (t > 1) LOOM_OK(m->tween->step(*m->state, {.values = {y.data(), Shape::of({1, 4})}}, 0.1));
    }
  }
  EXPECT_EQ(hash_of(alone.network), hash_of(watched.network));
  EXPECT_EQ(std::ranges::count(observer.passes, PassKind::Tick), 5);
  EXPECT_EQ(std::ranges::count(observer.passes, PassKind::Tween), 3);
  EXPECT_EQ(observer.backwards, 3 * 2u);
  EXPECT_EQ(observer.forwards, 5 * 2u - 1);  // the second cell waits for the first; what a step runs again is not shown
}

TEST(MeshTween, a_snapshot_in_the_middle_of_learning_goes_on_alike) {  // M-12
  const std::string spec = spec_of({fed(1, "concat", dense(5, 6, "tanh")), dense(6, 2, "tanh")});
  for (const std::size_t through : {0, 3}) {
    const StepMeshOptions options{.threads = 1, .history_capacity = through + 1, .keep_inputs = true};
    const auto run = [&](Ticking& m, int from, int to) {
      for (int t = from; t < to; ++t) {
        if (t > 4) {  // first: what a snapshot brought is what the last tick read
          const auto y = values<float>(fmt::format("t{}", t), 2);
          LOOM_OK(m.tween->step(*m.state, {.values = {y.data(), Shape::of({1, 2})}}, 0.1));
        }
        m.set(values<float>(fmt::format("x{}", t), 3)), m.tick(1, through != 0);
      }
    };
    Ticking m(spec, Shape::of({1, 3}), layerwise(), options, through),
        copy(spec, Shape::of({1, 3}), layerwise(), options, through);
    run(m, 0, 20);
    LOOM_OK(copy.state->restore(m.state->snapshot()));
    EXPECT_EQ(copy.state->hash(), m.state->hash());
    std::vector<const Weight*> from;
    m.network.visit_weights([&](const std::string&, Weight& w, Layer&) { from.push_back(&w); });
    std::size_t next = 0;
    copy.network.visit_weights([&](const std::string&, Weight& w, Layer&) { EXPECT_TRUE(w.copy_from(*from[next++])); });
    for (std::size_t v = 0; v < m.tween->velocities().size(); ++v)
      std::memcpy(copy.tween->velocities()[v].values.data, m.tween->velocities()[v].values.data,
                  m.tween->velocities()[v].values.bytes());
    StepState fork = m.state->fork().value();
    EXPECT_EQ(fork.hash(), m.state->hash());
    run(m, 20, 40), run(copy, 20, 40);
    EXPECT_EQ(hash_of(m.network), hash_of(copy.network));
    EXPECT_EQ(m.state->hash(), copy.state->hash());
    LOOM_OK(m.state->restore(fork));
    EXPECT_EQ(m.state->hash(), fork.hash());
  }
}

// The memory of a tick, of a backward pass and of carried targets is one arena, whatever was planned last.
TEST(MeshTween, BackwardAfterCreateGivesTheGradientOfAMeshWithoutIt) {
  const std::string gate = R"({"type":"metacognition","meta_effect":"gate","meta_observed_layer":)" + dense(4, 4) +
                           R"(,"meta_network":)" + dense(4, 1) + "}";
  const std::string branches = dense(4, 4) + "," + dense(4, 4, "tanh");
  const std::string filter = R"({"type":"parallel","combine_mode":"filter","filter_gate":)" + dense(4, 2) +
                             R"(,"parallel_branches":[)" + branches + "]}";
  for (const std::string& cell :
       {filter, gate, sequence(filter + "," + filter), sequence(gate + "," + filter), dense(4, 4)})
    for (const TweenMode mode : {TweenMode::ByChainRule, TweenMode::Chain, TweenMode::Layerwise})
      for (const std::size_t samples : {1, 3}) {
        SCOPED_TRACE(fmt::format("{} {}", cell, name(mode)));
        Network network = read(spec_of({cell, dense(4, 4)}));
        const Shape shape = Shape::of({samples, 4});
        const StepMeshOptions options{.threads = 1, .history_capacity = 3, .backward = true, .keep_inputs = true};
        const auto gradients = [&](bool tweens) {
          const auto mesh = StepMesh::create(network, shape, options).value();
          StepState state = mesh->create_state().value();
          TweenConfig config;
          config.mode = mode;
          const auto tween = tweens ? MeshTween::create(network, *mesh, config).value() : nullptr;
          const auto x = random_values("x", 4 * samples), dy = random_values("dy", 4 * samples);
          EXPECT_TRUE(state.set_input({x.data(), shape}));
          for (int tick = 0; tick < 3; ++tick) EXPECT_TRUE(mesh->step(state, {.capture = true}));
          EXPECT_TRUE(mesh->backward(state, ConstView{dy.data(), shape}, 3));
          Sha256 hash;
          network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
            hash.update(
                std::span(static_cast<const std::byte*>(mesh->gradients().of(w)), w.elements() * sizeof(float)));
          });
          return hash.finish();
        };
        EXPECT_EQ(gradients(false), gradients(mode != TweenMode::ByChainRule));
      }
}

}  // namespace
}  // namespace loom
