// That target propagation learns: gaps fall, small problems are solved, in low-bit types too.

#include "core/config_writer.h"
#include "core/json.h"
#include "core/philox.h"
#include "learning/tween/tween_feedback.h"
#include "learning/tween/tween_test.h"

namespace loom {
namespace {

using namespace test;

struct Kind {
  std::string spec;
  std::vector<std::size_t> input;
  std::uint32_t ids = 0;
  bool on_average = false;  // of the cases, not in each
};

// One row each; sequences of one step where a later step would undo what an earlier one does.
std::vector<Kind> kinds() {
  return {
      {dense(5, 4), {1, 5}},
      {dense(5, 4, "tanh"), {1, 5}},
      {dense(5, 4, "leakyrelu"), {1, 5}},
      {R"({"type":"cnn1","input_channels":2,"filters":3,"kernel_size":3,"padding":1,"bias":true,"activation":"tanh"})",
       {1, 2, 5}},
      {R"({"type":"cnn2","input_channels":2,"filters":4,"groups":2,"kernel_size":2,"stride":2})", {1, 2, 4, 4}},
      {R"({"type":"cnn3","input_channels":2,"filters":2,"kernel_size":2})", {1, 2, 3, 3, 3}},
      {R"({"type":"convtransposed1","input_channels":2,"filters":3,"kernel_size":3,"stride":2,"bias":true})",
       {1, 2, 4}},
      {R"({"type":"convtransposed2","input_channels":2,"filters":2,"kernel_size":2})", {1, 2, 3, 3}},
      {R"({"type":"convtransposed3","input_channels":2,"filters":2,"kernel_size":2})", {1, 2, 2, 2, 2}},
      {R"({"type":"rnn","input_height":3,"output_height":4})", {1, 1, 3}},
      {R"({"type":"lstm","input_height":3,"output_height":4})", {1, 1, 3}},
      {R"({"type":"gru","input_height":3,"output_height":4})", {1, 1, 3}},
      {R"({"type":"s6","input_height":5,"state_size":3})", {1, 3, 5}},
      {R"({"type":"mha","d_model":8,"num_heads":2})", {1, 1, 8}},
      {R"({"type":"mha","d_model":8,"num_heads":2,"num_kv_heads":1,"causal":false,"bias":true})", {1, 3, 8}, 0, true},
      {R"({"type":"swiglu","input_height":4,"output_height":6,"bias":true})", {1, 4}},
      {R"({"type":"rmsnorm","input_height":6})", {1, 6}},
      {R"({"type":"layernorm","input_height":6})", {1, 6}},
      {R"({"type":"groupnorm","input_height":6,"num_groups":2})", {1, 6, 2}},
      {R"({"type":"instancenorm","input_height":3,"affine":true})", {1, 3, 4}},
      {R"({"type":"batchnorm","input_height":6})", {1, 6}},
      {R"({"type":"embedding","vocab_size":5,"embedding_dim":4})", {1, 1}, 5},
      {R"({"type":"position_embedding","max_seq_len":4,"embedding_dim":3})", {1, 3, 3}},
      {R"({"type":"kmeans","num_clusters":4,"input_height":5})", {1, 5}, 0, true},
      {R"({"type":"kmeans","num_clusters":4,"input_height":5,"output_mode":"features"})", {1, 5}, 0, true},
      {R"({"type":"lora","rank":2,"base_layer":{"type":"dense","input_height":5,"output_height":4}})", {1, 5}},
      {R"({"type":"sequential","sequential_layers":[)" + dense(5, 6, "tanh") + "," + dense(6, 4) + "]}",
       {1, 5},
       0,
       true},
      {R"({"type":"sequential","residual":true,"sequential_layers":[)" + dense(5, 6, "tanh") + "," + dense(6, 5) + "]}",
       {1, 5},
       0,
       true},
      {R"({"type":"parallel","parallel_branches":[)" + dense(5, 3, "tanh") + "," + dense(5, 4) + "]}", {1, 5}},
      {R"({"type":"parallel","combine_mode":"add","parallel_branches":[)" + dense(5, 4, "tanh") + "," + dense(5, 4) +
           "]}",
       {1, 5}},
      {R"({"type":"parallel","combine_mode":"avg","parallel_branches":[)" + dense(5, 4, "tanh") + "," + dense(5, 4) +
           "]}",
       {1, 5}},
      {R"({"type":"parallel","combine_mode":"filter","filter_gate":)" + dense(5, 2) + R"(,"parallel_branches":[)" +
           dense(5, 4) + "," + dense(5, 4) + "]}",
       {1, 5}},
      {R"({"type":"sequential","sequential_layers":[)" + dense(5, 4) + R"(,{"type":"softmax"}]})", {1, 5}, 0, true},
      {R"({"type":"metacognition","meta_observed_layer":)" + dense(5, 4, "tanh") + "}", {1, 5}},
  };
}

// |target - y| before and after one small update, for targets near y.
template <class T>
std::pair<double, double> one_update(const Kind& kind, std::uint64_t seed, const TweenConfig& config) {
  constexpr Element element = element_of<T>;
  TestNetwork network = network_of({kind.spec}, kind.input, seed, element, sizeof(T) == 8 ? "float64" : "float32");
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (w.role() == WeightRole::Statistic || w.role() == WeightRole::TypedVector) return;
    std::vector<float> values = random_values(path + std::to_string(seed), w.elements(), 0.7);
    ASSERT_TRUE(w.set(std::span<const float>(values)));
  });
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const Shape shape = Shape::create(kind.input).value();
  const RandomStream stream{seed, RandomDomain::Noise, 0, random_site(kind.spec)};
  std::vector<T> x(shape.elements());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(kind.ids > 0 ? static_cast<double>(stream.below(i, kind.ids)) : number(stream, i));
  auto y = session->forward({x.data(), shape, element});
  EXPECT_TRUE(y) << (y ? "" : y.error().text());
  const Shape out = y->shape;
  std::vector<T> t(y->template as<T>(), y->template as<T>() + out.elements());
  for (std::size_t i = 0; i < t.size(); ++i) t[i] += static_cast<T>(0.1 * number(stream, 1000 + i));
  const auto distance = [&](const ConstView& from) {
    double sum = 0;
    for (std::size_t i = 0; i < t.size(); ++i)
      sum += std::pow(static_cast<double>(t[i]) - static_cast<double>(from.template as<T>()[i]), 2);
    return std::sqrt(sum);
  };
  const double before = distance(*y);
  EXPECT_TRUE(session->step({.values = {t.data(), out, element}}, 0.02));
  y = session->forward({x.data(), shape, element});
  return {before, distance(*y)};
}

TEST(Tween, one_small_update_closes_part_of_the_gap_of_every_kind) {  // W-24
  for (const Kind& kind : kinds())
    for (const TweenSlope slope : {TweenSlope::Secant, TweenSlope::Sign}) {
      SCOPED_TRACE(fmt::format("{} {}", kind.spec, kTweenSlopes[static_cast<std::size_t>(slope)]));
      TweenConfig config = layerwise();
      config.slope = slope, config.momentum = 0, config.budget_threshold = 0;
      double before = 0, after = 0;
      for (std::uint64_t seed = 1; seed <= (kind.on_average ? 100 : 5); ++seed) {
        const auto wide = one_update<double>(kind, seed, config);
        before += wide.first, after += wide.second;
        if (kind.on_average) continue;
        EXPECT_LT(wide.second, wide.first) << seed;
        const auto narrow = one_update<float>(kind, seed, config);
        EXPECT_LT(narrow.second, narrow.first) << seed;
      }
      EXPECT_LT(after, before);
    }
}

// Batches and sequences: G-73.
TEST(Tween, sequences_of_nine_steps_in_batches_of_four) {  // G-73, W-04
  for (const std::string kind :
       {R"({"type":"rnn","input_height":8,"output_height":8})", R"({"type":"lstm","input_height":8,"output_height":8})",
        R"({"type":"gru","input_height":8,"output_height":8})", R"({"type":"mha","d_model":8,"num_heads":2})"})
    for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
      SCOPED_TRACE(fmt::format("{} {}", kind, name(mode)));
      TestNetwork network = network_of({kind, dense(8, 8)}, {4, 9, 8});
      TweenConfig config;
      config.mode = mode;
      const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
      const std::vector<float> x = random_values("x", 288), t = random_values("t", 288, 0.3);
      double first = 0, last = 0;
      for (int i = 0; i < 300; ++i) {
        LOOM_OK(session->forward({x.data(), Shape::of({4, 9, 8})}));
        LOOM_OK(session->step({.values = {t.data(), Shape::of({4, 9, 8})}}, 0.2));
        (i == 0 ? first : last) = session->output_gap();
      }
      EXPECT_LT(last, 0.9 * first);
    }
}

// The recurrent layer or the attention alone, without a layer after it that could learn in its place. Targets are the
// outputs of another layer of the kind for the same rows; with fixed routing (L-77) attention can approach it in part.
TEST(Tween, a_layer_alone_learns_sequences) {  // G-73, L-64, L-65, L-77
  const struct {
    std::string spec;
    double bound;  // of the gap, as a share of the first
  } kinds[] = {{R"({"type":"rnn","input_height":8,"output_height":8})", 0.5},
               {R"({"type":"lstm","input_height":8,"output_height":8})", 0.5},
               {R"({"type":"gru","input_height":8,"output_height":8})", 0.5},
               {R"({"type":"mha","d_model":8,"num_heads":4,"num_kv_heads":2})", 0.5}};
  for (const auto& kind : kinds)
    for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
      SCOPED_TRACE(fmt::format("{} {}", kind.spec, name(mode)));
      TestNetwork network = network_of({kind.spec}, {4, 9, 8}), teacher = network_of({kind.spec}, {4, 9, 8}, 9);
      teacher.visit_weights([](const std::string& path, Weight& w, Layer&) {
        const std::vector<float> v = random_values(path, w.elements(), 0.7);
        ASSERT_TRUE(w.set(std::span<const float>(v)));
      });
      const std::vector<float> x = random_values("x", 288);
      const Shape shape = Shape::of({4, 9, 8});
      const auto taught = NetworkSession::create(teacher, teacher.plan, on_threads(1)).value();
      const ConstView target = taught->forward({x.data(), shape}).value();
      TweenConfig config;
      config.mode = mode;
      const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
      double first = 0, last = 0;
      for (int i = 0; i < 500; ++i) {
        LOOM_OK(session->forward({x.data(), shape}));
        LOOM_OK(session->step({.values = target}, 1));
        (i == 0 ? first : last) = session->output_gap();
      }
      EXPECT_LT(last, kind.bound * first);
    }
}

TEST(Tween, children_of_a_sequential_in_a_parallel_move) {  // G-74, W-30
  const std::string chain =
      R"({"type":"sequential","sequential_layers":[)" + dense(4, 6, "tanh") + "," + dense(6, 3) + "]}";
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
    TestNetwork network =
        network_of({R"({"type":"parallel","parallel_branches":[)" + chain + "," + chain + "]}", dense(6, 2)}, {3, 4});
    TweenConfig config;
    config.mode = mode, config.budget_threshold = 0;
    const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
    std::map<std::string, std::vector<float>> before;
    network.visit_weights(
        [&](const std::string& path, Weight& w, Layer&) { before[path].assign(w.master().begin(), w.master().end()); });
    EXPECT_EQ(before.size(), 10u);
    const std::vector<float> x = random_values("x", 12), t = random_values("t", 6);
    LOOM_OK(session->forward({x.data(), Shape::of({3, 4})}));
    LOOM_OK(session->step({.values = {t.data(), Shape::of({3, 2})}}, 0.1));
    network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      EXPECT_FALSE(std::ranges::equal(before[path], w.master())) << path;
    });
    std::vector<std::string> paths;
    for (const TweenUse& use : session->uses()) paths.push_back(*use.path);
    EXPECT_EQ(paths, (std::vector<std::string>{"layers.0.parallel_branches.0.sequential_layers.0",
                                               "layers.0.parallel_branches.0.sequential_layers.1",
                                               "layers.0.parallel_branches.0",
                                               "layers.0.parallel_branches.1.sequential_layers.0",
                                               "layers.0.parallel_branches.1.sequential_layers.1",
                                               "layers.0.parallel_branches.1", "layers.0", "layers.1"}));
  }
}

// Two uses of one cell: the velocity is the sum of theirs, and moves the weight once.
TEST(Tween, a_shared_target_sums_its_uses_and_moves_once) {  // W-31
  TestNetwork network = network_of(
      {dense(3, 3, "tanh"),
       R"({"type":"dense","is_remote_link":true,"target_z":0,"target_y":0,"target_x":0,"target_l":0,"link_mode":"share"})"},
      {2, 3});
  TweenConfig config = layerwise();
  config.budget_threshold = 0;
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const std::vector<float> x = random_values("x", 6), t = random_values("t", 6);
  LOOM_OK(session->forward({x.data(), Shape::of({2, 3})}));
  LOOM_OK(session->step({.values = {t.data(), Shape::of({2, 3})}}, 0.1));
  std::size_t uses = 0, moved = 0;
  for (const TweenUse& use : session->uses())
    uses += *use.path == "layers.0", moved += *use.path == "layers.0" && use.update_norm > 0;
  EXPECT_EQ(uses, 2u);
  EXPECT_EQ(moved, 1u);
}

// An auto link feeds in the step mesh alone: in a forward pass it is no consumer of its target's output.
TEST(Tween, a_network_prepared_for_the_mesh_before_learns_the_same) {  // W-31
  const auto linked = [](const char* mode) {
    return fmt::format(R"({{"is_remote_link":true,"target_l":0,"link_mode":"{}","link_merge":"add",{})", mode,
                       dense(3, 3, "tanh").substr(1));
  };
  const auto learned = [&](bool steps_first) -> std::vector<float> {
    TestNetwork network =
        network_of({dense(3, 3, "tanh"), dense(3, 3, "tanh"), linked("auto"), linked("feed"), dense(3, 2)}, {4, 3});
    if (steps_first) {
      EXPECT_TRUE(StepPlan::create(network, Shape::of({4, 3})));
    }
    const auto session = TweenSession::create(network, Shape::of({4, 3}), layerwise(), on_threads(1)).value();
    const std::vector<float> x = random_values("x", 12), t = random_values("t", 8, 2);
    EXPECT_TRUE(session->forward({x.data(), Shape::of({4, 3})}));
    EXPECT_TRUE(session->step({.values = {t.data(), Shape::of({4, 2})}}, 0.5));
    std::vector<float> all;
    network.visit_weights(
        [&](const std::string&, Weight& w, Layer&) { all.insert(all.end(), w.master().begin(), w.master().end()); });
    return all;
  };
  EXPECT_EQ(learned(true), learned(false));
}

// Disabled and empty cells hand targets on.
TEST(Tween, disabled_cells_copy_targets) {  // W-31
  std::string off = dense(4, 4);
  off.insert(1, R"("is_disabled":true,)");
  TestNetwork with = network_of({dense(3, 4, "tanh"), off, dense(4, 2)}, {2, 3}, 5);
  const auto session = TweenSession::create(with, with.plan, layerwise(), on_threads(1)).value();
  const std::vector<float> x = random_values("x", 6), t = random_values("t", 4);
  LOOM_OK(session->forward({x.data(), Shape::of({2, 3})}));
  LOOM_OK(session->step({.values = {t.data(), Shape::of({2, 2})}}, 0.1));
  EXPECT_EQ(session->uses().size(), 2u);
  for (const TweenUse& use : session->uses()) EXPECT_GT(use.update_norm, 0) << *use.path;
}

double xor_right(TweenMode mode, std::uint64_t seed) {
  TestNetwork network = network_of({dense(2, 16, "tanh"), dense(16, 1)}, {4, 2}, seed);
  TweenConfig config;
  config.mode = mode;
  const bool learns_feedback = mode >= TweenMode::Mirror;
  if (learns_feedback) config.optimizer.name = "adam";
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const std::vector<float> x = {-1, -1, -1, 1, 1, -1, 1, 1}, t = {-1, 1, 1, -1};
  double right = 0;
  for (std::uint32_t i = 0; i < 1500 && (i % 100 != 0 || right < 4); ++i) {
    const auto y = session->forward({x.data(), Shape::of({4, 2})}, at_step(i));
    EXPECT_TRUE(y);
    right = 0;
    for (std::size_t k = 0; k < 4; ++k) right += (y->as()[k] > 0) == (t[k] > 0);
    EXPECT_TRUE(session->step({.values = {t.data(), Shape::of({4, 1})}}, learns_feedback ? 0.01 : 0.3));
  }
  return right;
}

TEST(Tween, xor_is_learned_in_every_mode_and_seed) {  // G-77, W-60, W-62
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp})
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) EXPECT_EQ(xor_right(mode, seed), 4) << name(mode) << " " << seed;
}

// Ten clusters in 64 dimensions, 64-64-10.
double blobs(const std::string& dtype, TweenMode mode) {
  constexpr std::size_t kClasses = 10, kWidth = 64, kBatch = 50;
  TestNetwork network =
      network_of({dense(kWidth, 64, "tanh"), dense(64, kClasses)}, {kBatch, kWidth}, 3, Element::f32, dtype);
  TweenConfig config;
  config.mode = mode;
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const Loss loss = Loss::create({.kind = LossKind::SoftmaxCrossEntropy}).value();
  const std::vector<float> centers = random_values("centers", kClasses * kWidth);
  const auto batch = [&](std::uint32_t step, std::vector<float>& x, std::vector<std::int64_t>& labels) {
    const RandomStream stream{7, RandomDomain::Noise, step, 1};
    x.resize(kBatch * kWidth), labels.resize(kBatch);
    for (std::size_t r = 0; r < kBatch; ++r) {
      labels[r] = static_cast<std::int64_t>(r % kClasses);
      for (std::size_t i = 0; i < kWidth; ++i)
        x[r * kWidth + i] =
            centers[(r % kClasses) * kWidth + i] + static_cast<float>(0.8 * number(stream, r * kWidth + i));
    }
  };
  std::vector<float> x;
  std::vector<std::int64_t> labels;
  std::size_t right = 0;
  for (std::uint32_t step = 0; step < 260; ++step) {
    batch(step, x, labels);
    const auto y = session->forward({x.data(), Shape::of({kBatch, kWidth})}, at_step(step));
    EXPECT_TRUE(y);
    if (step >= 240)
      for (std::size_t r = 0; r < kBatch; ++r) {
        const float* row = y->as() + r * kClasses;
        right += std::max_element(row, row + kClasses) - row == labels[r];
      }
    EXPECT_TRUE(session->step({.classes = labels, .loss = &loss}, 0.1));
  }
  return static_cast<double>(right) / (20 * kBatch);
}

TEST(Tween, blobs_are_learned_in_low_bit_types) {  // W-50, G-72
  for (const std::string dtype : {"float32", "int8", "ternary", "binary"})
    for (const TweenMode mode : {TweenMode::Layerwise, TweenMode::Chain, TweenMode::Mirror, TweenMode::Dtp})
      EXPECT_GE(blobs(dtype, mode), 0.95) << dtype << " " << name(mode);
}

// The output of a ternary network changes as soon as its masters have moved far enough.
TEST(Tween, a_low_bit_network_sees_its_update) {  // G-72, D-22
  for (std::size_t type = 0; type < kNumTypes; ++type) {
    const std::string dtype(name(static_cast<DType>(type)));
    SCOPED_TRACE(dtype);
    TestNetwork network = network_of({dense(16, 8)}, {4, 16}, 3, Element::f32, dtype);
    const auto session = TweenSession::create(network, network.plan, layerwise(), on_threads(1)).value();
    const std::vector<float> x = random_values("x", 64), t = random_values("t", 32, 2);
    auto y = session->forward({x.data(), Shape::of({4, 16})});
    LOOM_OK(y);
    const std::vector<float> before(y->as(), y->as() + 32);
    double first = 0;
    for (int i = 0; i < 30; ++i) {
      LOOM_OK(session->step({.values = {t.data(), Shape::of({4, 8})}}, 0.5));
      if (i == 0) first = session->output_gap();
      y = session->forward({x.data(), Shape::of({4, 16})});
    }
    EXPECT_FALSE(std::equal(before.begin(), before.end(), y->as()));
    LOOM_OK(session->step({.values = {t.data(), Shape::of({4, 8})}}, 0.5));
    EXPECT_LT(session->output_gap(), first);
  }
}

// Segments that run again give the bits of a step that kept everything, in less memory.
TEST(Tween, recomputed_segments_give_the_same_bits_in_less_memory) {  // T-80, W-03
  std::vector<std::string> cells = {dense(32, 32, "tanh")};
  for (int i = 0; i < 19; ++i) cells.push_back(i % 4 == 3 ? R"({"type":"dropout","rate":0.1})" : dense(32, 32, "tanh"));
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
    std::string bits;
    std::size_t most = 0;
    for (const std::size_t every : {0, 1, 3, 50}) {
      TestNetwork network = network_of(cells, {64, 32});
      TweenConfig config;
      config.mode = mode, config.recompute_every = every;
      const auto session = TweenSession::create(network, network.plan, config, on_threads(2, false)).value();
      const std::vector<float> x = random_values("x", 2048), t = random_values("t", 2048);
      std::string now;
      for (std::uint32_t step = 0; step < 3; ++step) {
        LOOM_OK(session->forward({x.data(), Shape::of({64, 32})}, at_step(step, true)));
        LOOM_OK(session->step({.values = {t.data(), Shape::of({64, 32})}}, 0.1));
        for (const TweenUse& use : session->uses())
          now += fmt::format("{} {} {} {}\n", *use.path, use.gap, use.budget, use.update_norm);
      }
      now += hash_of(network);
      if (every == 0) bits = now, most = session->bytes();
      EXPECT_EQ(now, bits) << every;
      if (every == 3) {
        EXPECT_LT(session->bytes(), 0.8 * static_cast<double>(most));
      }
    }
  }
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

TEST(Tween, feedback_weights_learn_and_stay_out_of_the_network) {  // W-60, W-61, W-63
  for (const TweenMode mode : {TweenMode::Mirror, TweenMode::Dtp}) {
    SCOPED_TRACE(name(mode));
    TestNetwork network = network_of(
        {R"({"type":"cnn1","input_channels":2,"filters":3,"kernel_size":3,"stride":2,"padding":1,"activation":"tanh","bias":true})",
         R"({"type":"reshape","shape":[-1]})", dense(9, 6, "tanh"), dense(6, 2)},
        {8, 2, 6});
    std::size_t weights = 0;
    network.visit_weights([&](const std::string&, Weight&, Layer&) { ++weights; });
    TweenConfig config;
    config.mode = mode, config.feedback_learning_rate = 0.05, config.feedback_steps = 2;
    const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
    const std::vector<float> x = random_values("x", 96), t = random_values("t", 16);
    double first = 0, last = 0;
    for (std::uint32_t step = 0; step < 200; ++step) {
      LOOM_OK(session->forward({x.data(), Shape::of({8, 2, 6})}, at_step(step)));
      LOOM_OK(session->step({.values = {t.data(), Shape::of({8, 2})}}, 0.01));
      (step == 0 ? first : last) = session->loss();
    }
    EXPECT_LT(last, 0.7 * first);
    std::vector<std::string> paths;
    session->feedback()->visit_weights([&](const std::string& path, Weight&) { paths.push_back(path); });
    EXPECT_EQ(paths, (std::vector<std::string>{"layers.0.feedback.weight", "layers.0.feedback.bias",
                                               "layers.2.feedback.weight", "layers.2.feedback.bias",
                                               "layers.3.feedback.weight", "layers.3.feedback.bias"}));
    std::size_t after = 0;
    network.visit_weights([&](const std::string&, Weight&, Layer&) { ++after; });
    EXPECT_EQ(after, weights);
  }
}

// W-61: feedback drawn apart from the forward weights becomes their model, of low-bit ones too.
TEST(Tween, feedback_weights_become_a_model_of_the_forward_ones) {  // W-61
  for (const std::string dtype : {"float32", "int8", "ternary", "binary"}) {
    TestNetwork network = network_of(
        {R"({"type":"cnn1","input_channels":4,"filters":6,"kernel_size":3,"stride":2,"padding":1,"activation":"relu","bias":true})",
         R"({"type":"reshape","shape":[-1]})", dense(24, 20, "sign"), dense(20, 2)},
        {16, 4, 8}, 1, Element::f32, dtype);
    TweenConfig config;
    config.mode = TweenMode::Mirror;
    const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
    const std::vector<float> x = random_values("x", 512), t = random_values("t", 32);
    std::map<std::string, double> first, last;
    for (std::uint32_t step = 0; step < 200; ++step) {
      LOOM_OK(session->forward({x.data(), Shape::of({16, 4, 8})}, at_step(step)));
      LOOM_OK(session->step({.values = {t.data(), Shape::of({16, 2})}}, step < 150 ? 0.01 : 0));
      if (step != 0 && step != 199) continue;
      session->feedback()->visit_weights([&](const std::string& path, Weight& model) {
        const std::size_t at = path.find(".feedback.");
        Weight* weight = nullptr;
        network.visit_weights([&](const std::string& own, Weight& w, Layer&) {
          if (own == path.substr(0, at) + path.substr(at + 9)) weight = &w;
        });
        ASSERT_NE(weight, nullptr) << path;
        if (model.role() != WeightRole::Matrix) return;
        std::vector<float> a(weight->elements()), b(a.size());
        weight->decode(0, a.size(), a.data()), model.decode(0, b.size(), b.data());
        (step == 0 ? first : last)[path] = cosine(a, b);
      });
    }
    EXPECT_EQ(last.size(), 3u);
    for (const auto& [path, c] : last) {
      EXPECT_GT(c, 0.95) << dtype << " " << path;
      EXPECT_LT(first[path], 0.9) << dtype << " " << path;
    }
  }
}

// L-07: a step that fails at its last cell leaves no bit changed, in every mode.
TEST(Tween, a_step_that_is_not_finite_is_rolled_back) {  // L-07
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp})
    for (const bool undo : {false, true}) {
      SCOPED_TRACE(std::string(name(mode)) + (undo ? " undo" : ""));
      TestNetwork network = network_of({dense(6, 8), dense(8, 8, "tanh"), dense(8, 4)}, {5, 6});
      TweenConfig config;
      config.mode = mode, config.undo_velocities = undo, config.budget_threshold = 0, config.optimizer.name = "adam";
      const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
      std::vector<float> x = random_values("x", 30), t = random_values("t", 20, 1000);
      const auto step = [&](std::uint32_t i) {
        EXPECT_TRUE(session->forward({x.data(), Shape::of({5, 6})}, at_step(i)));
        return session->step({.values = {t.data(), Shape::of({5, 4})}}, 0.01);
      };
      LOOM_OK(step(0));
      // Sums of order 1, products of the first cell beyond the largest float.
      network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
        std::vector<float> v = random_values(path, w.elements());
        if (path == "layers.0.weight")
          for (float& value : v) value *= 3e-38f;
        ASSERT_TRUE(w.set(std::span<const float>(v)));
      });
      for (float& value : x) value *= 1e38f;
      const auto state = [&] {
        Sha256 hash;
        for (const TweenVelocity& part : session->state())
          hash.update({static_cast<const std::byte*>(part.values.data), part.values.bytes()});
        return to_hex(hash.finish()) +
               (session->optimizer() != nullptr ? std::to_string(session->optimizer()->steps()) : "");
      };
      const std::string weights = hash_of(network), before = state();
      const auto failed = step(1);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, Code::NonFinite);
      EXPECT_NE(failed.error().text().find("layers.0"), std::string::npos) << failed.error().text();
      EXPECT_EQ(hash_of(network), weights);
      if (undo || mode >= TweenMode::Mirror) {
        EXPECT_EQ(state(), before);
      } else {  // cells 1 and 2 had taken theirs
        for (const TweenVelocity& v : session->velocities())
          for (std::size_t i = 0; i < v.values.cols && !v.path.starts_with("layers.0"); ++i)
            ASSERT_EQ(v.values.as<float>()[i], 0) << v.path;
      }
      x = random_values("x", 30);
      LOOM_OK(step(2));
      EXPECT_NE(hash_of(network), weights);
    }
}

// The gradients are finite, their product with the rate is not.
TEST(Tween, an_update_beyond_the_largest_float_is_rolled_back) {  // L-07, W-62
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp}) {
    SCOPED_TRACE(name(mode));
    TestNetwork network = network_of({dense(6, 8, "tanh"), dense(8, 4)}, {5, 6});
    TweenConfig config;
    config.mode = mode, config.budget_threshold = 0;
    const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
    const std::vector<float> x = random_values("x", 30), t = random_values("t", 20, 1e30);
    const std::string weights = hash_of(network);
    LOOM_OK(session->forward({x.data(), Shape::of({5, 6})}, at_step(0)));
    const auto failed = session->step({.values = {t.data(), Shape::of({5, 4})}}, 1e12);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::NonFinite) << failed.error().text();
    EXPECT_EQ(hash_of(network), weights);
  }
}

TEST(Tween, masters_of_few_values_stay_within_one_and_a_half_of_their_largest_start) {  // D-36
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp})
    for (const std::string dtype : {"binary", "ternary"}) {
      SCOPED_TRACE(fmt::format("{} {}", name(mode), dtype));
      TestNetwork network = network_of({dense(6, 8), dense(8, 4)}, {5, 6}, 1, Element::f32, dtype);
      TweenConfig config;
      config.mode = mode, config.budget_threshold = 0;
      const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
      const auto largest = [&] {
        std::map<std::string, double> out;
        network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
          if (w.role() != WeightRole::Matrix) return;
          for (const float v : w.master()) out[path] = std::max(out[path], std::fabs(static_cast<double>(v)));
        });
        return out;
      };
      const auto start = largest();
      ASSERT_EQ(start.size(), 2u);
      const std::vector<float> x = random_values("x", 30), t = random_values("t", 20, 100);
      for (std::uint32_t i = 0; i < 4; ++i) {
        LOOM_OK(session->forward({x.data(), Shape::of({5, 6})}, at_step(i)));
        LOOM_OK(session->step({.values = {t.data(), Shape::of({5, 4})}}, 1));
      }
      for (const auto& [path, value] : largest())
        EXPECT_EQ(value, static_cast<double>(static_cast<float>(1.5 * start.at(path)))) << path;
    }
}

// G-75: no setting is without effect, read from JSON as a run's config is; recompute_every changes what a step takes,
// not what it gives.
TEST(Tween, every_setting_changes_the_result) {  // G-75
  struct Outcome {
    std::string weights;
    std::size_t bytes = 0;
  };
  const auto run = [](const Json& settings, const std::string& optimizer = "sgd") {
    TestNetwork network = network_of({dense(6, 8, "tanh"), dense(8, 8, "silu"), dense(8, 4)}, {5, 6});
    network.visit_weights([](const std::string& path, Weight& w, Layer&) {
      if (path != "layers.1.weight") return;
      std::vector<float> v(w.master().begin(), w.master().end());
      for (std::size_t i = 0; i < v.size(); i += 8) v[i] = 0.002f;  // a weak path
      ASSERT_TRUE(w.set(std::span<const float>(v)));
    });
    TweenConfig config = tween_config_from_json(settings).value();
    config.optimizer.name = optimizer;
    const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
    const std::vector<float> x = random_values("x", 30), t = random_values("t", 20, 3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(session->forward({x.data(), Shape::of({5, 6})}, at_step(i)));
      EXPECT_TRUE(session->step({.values = {t.data(), Shape::of({5, 4})}}, 0.5));
    }
    return Outcome{hash_of(network), session->bytes()};
  };
  // By key: values other than the default, each beside the mode that reads it.
  const std::map<std::string, std::vector<std::pair<std::string, Json>>, std::less<>> changes = {
      {"mode", {{"", "layerwise"}, {"", "mirror"}, {"", "dtp"}}},
      {"use_chain_rule", {{"", false}}},
      {"gradient_scale", {{"chain", 1}}},
      {"depth_scale_factor", {{"chain", 1.5}}},
      {"momentum", {{"chain", 0.5}, {"layerwise", 0.5}}},
      {"activation_clamp", {{"chain", 0.05}, {"layerwise", 0.1}, {"mirror", 0.1}, {"dtp", 0.1}}},
      {"budget_threshold", {{"chain", 1}, {"layerwise", 1}, {"mirror", 1}, {"dtp", 1}}},
      {"weight_threshold", {{"layerwise", 0.5}}},
      {"estimate", {{"layerwise", "average"}}},
      {"slope", {{"layerwise", "sign"}, {"mirror", "sign"}}},
      {"slope_step", {{"layerwise", 0.25}, {"mirror", 0.25}}},
      {"target_scale", {{"layerwise", "weight_sum"}}},
      {"depth_scale_layerwise", {{"layerwise", true}}},
      {"recompute_every", {{"chain", 2}, {"layerwise", 1}}},
      {"feedback_steps", {{"mirror", 2}, {"dtp", 2}}},
      {"feedback_noise", {{"mirror", 0.5}, {"dtp", 0.5}}},
      {"feedback_learning_rate", {{"mirror", 0.1}, {"dtp", 0.2}}},
      {"output_step", {{"mirror", 1}, {"dtp", 1}}},
  };
  std::size_t known = 0;
  const Json all = written_config([](ConfigVisitor& visit) {
    TweenConfig any;
    any.feedback_noise = any.feedback_learning_rate = 1;
    TweenConfig::fields(any, visit);
  });
  for (const auto& [key, standard] : all.items()) {
    ++known;
    const auto change = changes.find(key);
    ASSERT_NE(change, changes.end()) << "the setting " << key << " is not tested";
    for (const auto& [mode, value] : change->second) {
      Json settings = Json::object();
      if (!mode.empty()) settings["mode"] = mode;
      const Outcome plain = run(settings);
      settings[key] = value;
      const Outcome other = run(settings);
      if (key == "recompute_every") {
        EXPECT_EQ(other.weights, plain.weights) << mode;
        EXPECT_NE(other.bytes, plain.bytes) << mode;
      } else {
        EXPECT_NE(other.weights, plain.weights) << mode << " " << key;
      }
    }
  }
  EXPECT_EQ(known, changes.size());
  for (const TweenMode mode : {TweenMode::Mirror, TweenMode::Dtp}) {
    const Json settings = {{"mode", name(mode)}};
    EXPECT_NE(run(settings, "adam").weights, run(settings).weights) << name(mode);
  }
}

// Rate and `trainable` of a container hold for all layers inside it, as in backprop.
TEST(Tween, rates_and_trainable_of_containers_reach_their_children) {  // T-06
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp}) {
    const auto moves = [&](const std::string& outer, const std::string& inner) {
      TestNetwork network =
          network_of({R"({"type":"sequential")" + outer + R"(,"sequential_layers":[{"type":"sequential")" + inner +
                          R"(,"sequential_layers":[)" + dense(5, 4, "tanh") + "]}]}",
                      dense(4, 3)},
                     {6, 5});
      std::map<std::string, std::vector<float>> before;
      network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
        before[path].assign(w.master().begin(), w.master().end());
      });
      TweenConfig config;
      config.mode = mode, config.budget_threshold = 0;
      const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
      const std::vector<float> x = random_values("x", 30), t = random_values("t", 18, 2);
      EXPECT_TRUE(session->forward({x.data(), Shape::of({6, 5})}));
      EXPECT_TRUE(session->step({.values = {t.data(), Shape::of({6, 3})}}, 0.5));
      std::map<std::string, double> out;  // how far each cell's weights went
      network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
        for (std::size_t i = 0; i < w.elements(); ++i)
          out[path.substr(0, 8)] += std::fabs(static_cast<double>(w.master()[i] - before[path][i]));
      });
      return out;
    };
    SCOPED_TRACE(name(mode));
    auto plain = moves("", "");
    ASSERT_GT(plain["layers.0"], 0);
    auto slow = moves(R"(,"learning_rate_scale":0.5)", R"(,"learning_rate_scale":0.25)");
    EXPECT_NEAR(slow["layers.0"] / plain["layers.0"], 0.125, 1e-4);
    EXPECT_EQ(slow["layers.1"], plain["layers.1"]);
    for (const char* still : {R"(,"learning_rate_scale":0)", R"(,"trainable":false)"}) {
      EXPECT_EQ(moves(still, "")["layers.0"], 0) << still;
      EXPECT_EQ(moves("", still)["layers.0"], 0) << still;
      EXPECT_EQ(moves(still, "")["layers.1"], plain["layers.1"]) << still;
    }
  }
}

}  // namespace
}  // namespace loom
