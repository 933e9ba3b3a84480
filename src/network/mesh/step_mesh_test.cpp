// The step mesh against its requirements (engine section 8): ticks by hand, against plain forward, against finite
// differences, in any number of threads and targets.

#include "network/mesh/step_mesh.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/philox.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/divided.h"
#include "support/network.h"

namespace loom::step_mesh_test {
namespace {

using test::read;
using test::seeded;

std::string cell(int l, std::string layer) {
  return layer.insert(1, fmt::format(R"("z":0,"y":0,"x":0,"l":{}{})", l, layer.size() > 2 ? "," : ""));
}
std::string grid(std::initializer_list<std::string> layers, int cells, const std::string& type = "float64") {
  std::string list;
  for (const std::string& l : layers) list += (list.empty() ? "" : ",") + l;
  return fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"activations":"{}","default_dtype":"{}","seed":7,"layers":[{}]}})",
      cells, type, type, list);
}
std::string dense(int in, int out, const std::string& more = R"(,"activation":"tanh")") {
  return fmt::format(R"({{"type":"dense","input_height":{},"output_height":{},"bias":true{}}})", in, out, more);
}
// The keys of a link in front of a layer's, or alone.
std::string link(int to, const std::string& mode, const std::string& merge, std::string layer = "{}") {
  return layer.insert(1, fmt::format(R"("is_remote_link":true,"target_l":{},"link_mode":"{}","link_merge":"{}"{})", to,
                                     mode, merge, layer.size() > 2 ? "," : ""));
}

template <class T>
std::vector<T> copied(const ConstView& v) {
  return {v.as<T>(), v.as<T>() + v.shape.elements()};
}

struct Stepped {
  Network network;
  std::unique_ptr<StepMesh> mesh;
  std::optional<StepState> state;
  Shape input;

  Stepped(const std::string& spec, const Shape& shape, const StepMeshOptions& options = {.threads = 1})
      : network(read(spec)), input(shape) {
    auto made = StepMesh::create(network, shape, options);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    mesh = std::move(*made);
    state.emplace(mesh->create_state().value());
  }
  template <class T>
  void set(const std::vector<T>& x, bool hold = true) {
    ASSERT_TRUE(state->set_input({x.data(), input, element_of<T>}, hold));
  }
  void step(int ticks = 1, const StepOptions& options = {}) {
    for (int t = 0; t < ticks; ++t) {
      const auto done = mesh->step(*state, options);
      ASSERT_TRUE(done) << done.error().text();
    }
  }
  template <class T = double>
  std::vector<T> out(std::size_t c) const {
    const auto y = state->output(c);
    EXPECT_TRUE(y) << (y ? "" : y.error().text());
    return y ? copied<T>(*y) : std::vector<T>();
  }
  template <class T = double>
  std::vector<T> out() const {
    return out<T>(network.num_cells() - 1);
  }
};

template <class T>
std::vector<T> plain(const std::string& spec, const Shape& shape, const std::vector<T>& x) {
  Network network = read(spec);
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false}).value();
  const auto y = session->forward({x.data(), shape, element_of<T>});
  EXPECT_TRUE(y) << (y ? "" : y.error().text());
  return y ? copied<T>(*y) : std::vector<T>();
}

TEST(StepMesh, two_cells_reach_plain_forward_and_stay) {  // G-79, M-02, M-04
  const std::string spec = grid({cell(0, dense(3, 16)), cell(1, dense(16, 1))}, 2);
  Stepped m(spec, Shape::of({1, 3}));
  const auto x = seeded<double>("x", 3);
  const auto expected = plain(spec, Shape::of({1, 3}), x);
  m.set(x);
  m.step();
  EXPECT_EQ(m.state->output(1).error().code, Code::NoValue);
  m.step();
  EXPECT_EQ(m.out(), expected);
  m.step();
  EXPECT_EQ(m.out(), expected);
  EXPECT_EQ(m.state->step_count(), 3u);
}

TEST(StepMesh, every_tick_gives_plain_forward_once_the_data_is_through) {  // M-05
  for (const std::string type : {"float32", "float64"}) {
    const std::string spec = grid({cell(0, dense(5, 9)), cell(2, R"({"type":"rmsnorm","input_height":9})"),
                                   cell(3, dense(9, 9, R"(,"is_disabled":true)")),
                                   cell(4, R"({"type":"sequential","residual":true,"sequential_layers":[)" +
                                               dense(9, 4) + "," + dense(4, 9) + "]}"),
                                   cell(5, dense(9, 2))},
                                  7, type);
    const auto check = [&]<class T>(T) {
      Stepped m(spec, Shape::of({3, 5}));
      const auto x = seeded<T>("x", 15);
      const auto expected = plain(spec, Shape::of({3, 5}), x);
      m.set(x);
      for (int t = 1; t < 7; ++t) {
        m.step();
        EXPECT_FALSE(m.state->output());
      }
      for (int t = 0; t < 3; ++t) {
        m.step();
        EXPECT_EQ(m.out<T>(), expected) << type;
      }
    };
    type == "float64" ? check(0.0) : check(0.0f);
  }
}

TEST(StepMesh, hold_pulse_and_clear) {  // M-02
  const std::string spec = grid({cell(0, dense(2, 2)), cell(1, dense(2, 2))}, 2);
  Stepped m(spec, Shape::of({1, 2}));
  const auto a = seeded<double>("a", 2), b = seeded<double>("b", 2);
  m.step();
  EXPECT_EQ(m.state->output(0).error().code, Code::NoValue);
  m.set(a, false);
  m.step();
  const auto first = m.out(0);
  m.step();  // the port is empty again: the first cell keeps its output
  EXPECT_EQ(m.out(0), first);
  EXPECT_EQ(m.out(1), plain(spec, Shape::of({1, 2}), a));
  m.set(b);
  m.step();
  const auto second = m.out(0);
  EXPECT_NE(second, first);
  m.state->clear_input();
  m.step(3);
  EXPECT_EQ(m.out(0), second);
  EXPECT_EQ(m.out(1), plain(spec, Shape::of({1, 2}), b));
  EXPECT_EQ(m.state->set_input({a.data(), Shape::of({2}), Element::f64}).error().code, Code::ShapeMismatch);
  EXPECT_EQ(m.state->set_input({a.data(), Shape::of({1, 2}), Element::f32}).error().code, Code::InvalidArgument);
}

// A counter by hand: cell 1 adds its own last output to its predecessor's.
TEST(StepMesh, feedback_adds_the_last_tick) {  // M-03, M-04
  const std::string identity = R"(,"activation":"linear","weights":{"weight":[1],"bias":[0]})";
  Stepped m(grid({cell(0, dense(1, 1, identity)), cell(1, link(1, "feed", "add"))}, 2), Shape::of({1, 1}));
  m.set<double>({1.5});
  m.step();
  for (int t = 1; t < 6; ++t) {
    m.step();
    EXPECT_EQ(m.out(), std::vector<double>{1.5 * t});
  }
}

TEST(StepMesh, auto_links_of_the_grid_feed_and_wait) {  // M-03, V-23
  // Cell 2 takes cell 0's output in place of cell 1's.
  const std::string spec =
      grid({cell(0, dense(2, 3)), cell(1, dense(3, 5)), cell(2, link(0, "auto", "replace", dense(3, 2)))}, 3);
  Stepped m(spec, Shape::of({1, 2}));
  const auto x = seeded<double>("x", 2);
  m.set(x);
  m.step();
  EXPECT_FALSE(m.state->output(2));
  m.step();
  const auto y = m.out(2);
  const std::string same = grid({cell(0, dense(2, 3)), cell(2, dense(3, 2))}, 3);
  EXPECT_EQ(y, plain(same, Shape::of({1, 2}), x));
}

TEST(StepMesh, concat_in_a_ring_takes_the_declared_width_and_zeros_at_first) {  // M-04
  const std::string spec = grid({cell(0, link(1, "feed", "concat", dense(5, 4))), cell(1, dense(4, 3))}, 2);
  Stepped m(spec, Shape::of({1, 2}));
  EXPECT_EQ(m.mesh->plan()->cells()[0].input, Shape::of({1, 5}));
  const auto x = seeded<double>("x", 2);
  m.set(x);
  m.step();
  const std::string open = grid({cell(0, dense(5, 4))}, 1);
  EXPECT_EQ(m.out(0), plain<double>(open, Shape::of({1, 5}), {x[0], x[1], 0, 0, 0}));
  m.step();
  const auto y = m.out(1);
  m.step();
  EXPECT_EQ(m.out(0), plain<double>(open, Shape::of({1, 5}), {x[0], x[1], y[0], y[1], y[2]}));
}

TEST(StepMesh, rings_that_never_start_are_warnings_and_bad_widths_errors) {  // M-04
  Network dead =
      read(grid({cell(0, dense(2, 3)), cell(1, link(2, "feed", "replace", dense(3, 3))), cell(2, dense(3, 3))}, 3));
  const auto mesh = StepMesh::create(dead, Shape::of({1, 2}), {.threads = 1}).value();
  const auto warnings = mesh->plan()->warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("cell (0,0,0,1)"), std::string::npos) << warnings[0];
  StepState state = mesh->create_state().value();
  const auto x = seeded<double>("x", 2);
  ASSERT_TRUE(state.set_input({x.data(), Shape::of({1, 2}), Element::f64}));
  for (int t = 0; t < 5; ++t) ASSERT_TRUE(mesh->step(state));
  EXPECT_TRUE(state.output(0));
  EXPECT_EQ(state.output(2).error().code, Code::NoValue);

  const auto code = [](const std::string& spec) {
    return StepPlan::create(read(spec), Shape::of({1, 2})).error().code;
  };
  EXPECT_EQ(code(grid({cell(0, dense(2, 3)), cell(1, link(2, "feed", "add", dense(3, 3))), cell(2, dense(3, 4))}, 3)),
            Code::ShapeMismatch);
  EXPECT_EQ(code(grid({cell(0, link(0, "feed", "concat"))}, 1)), Code::ShapeMismatch);
  EXPECT_EQ(
      code(grid({cell(0, dense(2, 3)), cell(1, link(2, "feed", "concat", dense(9, 3))), cell(2, dense(3, 4))}, 3)),
      Code::ShapeMismatch);
  EXPECT_EQ(code(grid({cell(0, dense(3, 3))}, 1)), Code::ShapeMismatch);
  EXPECT_EQ(code(grid({cell(0, link(1, "feed", "add"))}, 2)), Code::LinkToEmpty);
}

TEST(StepMesh, address_skips_read_the_last_tick_of_later_cells) {  // M-03
  const std::string residual =
      R"({"type":"sequential","sequential_layers":[)" + dense(3, 3) + R"(,{"type":"residual","skip_from":[0,0,0,2]}]})";
  Stepped m(grid({cell(0, dense(3, 3)), cell(1, residual), cell(2, dense(3, 3))}, 3), Shape::of({2, 3}));
  m.set(seeded<double>("x", 6));
  m.step(2);
  const auto before = m.out(1);  // zeros stood for cell 2
  m.step();
  const auto skip = m.out(2);
  m.step();
  std::vector<double> expected = before;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += skip[i];
  EXPECT_EQ(m.out(1), expected);
}

TEST(StepMesh, a_tick_may_be_repeated_before_it_is_committed) {  // M-06
  const std::string lstm = R"({"type":"lstm","input_height":3,"output_height":3,"stateful":true})";
  Stepped m(grid({cell(0, lstm), cell(1, link(1, "feed", "add", dense(3, 3)))}, 2), Shape::of({2, 1, 3}),
            {.threads = 1, .history_capacity = 4});
  m.set(seeded<double>("x", 6));
  m.step(3);
  EXPECT_EQ(m.mesh->commit(*m.state).error().code, Code::InvalidState);
  auto twin = m.state->fork().value();
  ASSERT_TRUE(m.mesh->step(twin));
  ASSERT_TRUE(m.mesh->forward_tick(*m.state, {.capture = true}));
  const auto visible = m.out(1);
  ASSERT_TRUE(m.mesh->forward_tick(*m.state));
  ASSERT_TRUE(m.mesh->forward_tick(*m.state));
  EXPECT_EQ(m.out(1), visible);
  EXPECT_EQ(m.state->step_count(), 3u);
  ASSERT_TRUE(m.mesh->commit(*m.state));
  EXPECT_EQ(m.state->hash(), twin.hash());
  EXPECT_NE(m.out(1), visible);
}

// 40 cells of two sizes, rings of each merge, a state that is kept.
std::string busy(const std::string& type = "float32") {
  std::vector<std::string> cells;
  for (int i = 0; i < 40; ++i) {
    std::string layer = dense(24, 24);
    if (i == 3)
      layer =
          R"({"type":"sequential","sequential_layers":[{"type":"reshape","shape":[1,24]},)"
          R"({"type":"gru","input_height":24,"output_height":24,"stateful":true},{"type":"reshape","shape":[24]}]})";
    if (i == 11) layer = dense(24, 700);
    if (i == 12) layer = dense(700, 24);
    if (i == 7) layer = link(30, "auto", "add", layer);
    if (i == 20) layer = link(25, "feed", "concat", dense(48, 24));
    if (i == 33) layer = link(2, "feed", "replace", layer);
    cells.push_back(cell(i, layer));
  }
  std::string list;
  for (const std::string& c : cells) list += (list.empty() ? "" : ",") + c;
  return fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":40,"activations":"{}","default_dtype":"{}","seed":7,"layers":[{}]}})",
      type, type, list);
}

TEST(StepMesh, the_same_bits_for_all_threads_and_targets_and_capture_never_waits) {  // M-07, G-78
  std::optional<Digest> expected;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 3, 7, 8}) {
      const test::ExpectDivided divided(threads);
      Stepped m(busy(), Shape::of({33, 24}), {.threads = threads, .isa = isa, .history_capacity = 8, .backward = true});
      m.set(seeded<float>("x", 33 * 24));
      m.step(threads == 8 && isa == best_isa() ? 1000 : 60, {.capture = true});
      if (threads == 8 && isa == best_isa()) continue;
      Sha256 hash;
      const Digest state = m.state->hash();
      hash.update(std::as_bytes(std::span(state)));
      const auto dy = seeded<float>("dy", 33 * 24);
      const auto ports = m.mesh->backward(*m.state, {dy.data(), Shape::of({33, 24}), Element::f32});
      ASSERT_TRUE(ports) << ports.error().text();
      EXPECT_EQ(ports->size(), 8u);
      for (const ConstView& port : *ports) hash.update_floats({port.as<float>(), port.shape.elements()});
      m.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
        hash.update_floats({static_cast<const float*>(m.mesh->gradients().of(w)), w.elements()});
      });
      const Digest digest = hash.finish();
      if (!expected) expected = digest;
      EXPECT_EQ(digest, *expected) << name(isa) << " with " << threads;
    }
}

TEST(StepMesh, forks_snapshots_rewinds_and_replays) {  // M-12
  Stepped m(busy(), Shape::of({2, 24}), {.threads = 2, .history_capacity = 5});
  const auto input = [&](StepState& s, std::uint64_t t) {
    const auto x = seeded<float>("x" + std::to_string(t / 3), 48);
    EXPECT_TRUE(s.set_input({x.data(), Shape::of({2, 24}), Element::f32}, t % 4 != 1));
  };
  const auto advance = [&](StepState& s) {
    if (s.step_count() % 5 != 2) input(s, s.step_count());
    EXPECT_TRUE(m.mesh->step(s, {.capture = s.step_count() % 13 != 7}));
  };
  std::vector<Digest> hashes{m.state->hash()};
  std::vector<std::vector<std::byte>> snapshots{m.state->snapshot()};
  std::vector<StepState> forks;
  for (int t = 0; t < 60; ++t) {
    advance(*m.state);
    hashes.push_back(m.state->hash());
    snapshots.push_back(m.state->snapshot());
    if (t % 20 == 9) forks.push_back(m.state->fork().value());
  }
  StepState other = m.mesh->create_state().value();
  const RandomStream random{5, RandomDomain::Sample, 0, 1};
  for (std::uint64_t n = 0; n < 40; ++n) {
    const std::size_t from = random.below(2 * n, 61),
                      to = from + random.below(2 * n + 1, static_cast<std::uint32_t>(61 - from));
    ASSERT_TRUE(other.restore(snapshots[from]));
    EXPECT_EQ(other.hash(), hashes[from]);
    EXPECT_EQ(other.snapshot(), snapshots[from]);
    while (other.step_count() < to) advance(other);
    EXPECT_EQ(other.hash(), hashes[to]) << from << " to " << to;
  }
  for (StepState& f : forks) {
    while (f.step_count() < 60) advance(f);
    EXPECT_EQ(f.hash(), hashes.back());
    ASSERT_TRUE(m.state->restore(f));
    EXPECT_EQ(m.state->hash(), hashes.back());
  }
  ASSERT_TRUE(m.mesh->forward_tick(*m.state, {.capture = true}));  // a pending tick travels too
  ASSERT_TRUE(other.restore(m.state->snapshot()));
  EXPECT_EQ(other.hash(), m.state->hash());
  ASSERT_TRUE(m.mesh->commit(*m.state));
  ASSERT_TRUE(m.mesh->commit(other));
  EXPECT_EQ(other.hash(), m.state->hash());
}

TEST(StepMesh, damaged_snapshots_are_refused) {  // M-12
  Stepped m(grid({cell(0, dense(2, 3)), cell(1, dense(3, 2))}, 2), Shape::of({1, 2}),
            {.threads = 1, .history_capacity = 3});
  m.set(seeded<double>("x", 2));
  m.step(3, {.capture = true});
  const auto good = m.state->snapshot();
  StepState other = m.mesh->create_state().value();
  ASSERT_TRUE(other.restore(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    EXPECT_FALSE(other.restore(bad)) << i;
    EXPECT_FALSE(other.restore(std::span(good).first(i)));
    EXPECT_EQ(other.step_count(), 0u);
  }
  Stepped wider(grid({cell(0, dense(2, 4)), cell(1, dense(4, 2))}, 2), Shape::of({1, 2}));
  EXPECT_EQ(wider.state->restore(good).error().code, Code::ShapeMismatch);
  EXPECT_EQ(wider.state->restore(other).error().code, Code::InvalidArgument);
  EXPECT_EQ(wider.mesh->step(other).error().code, Code::InvalidArgument);
}

// Loss: sum over ticks and cells of gradient . output.
class Unrolled {
 public:
  Unrolled(std::string spec, Shape shape, int ticks, bool pulse = false)
      : m_(spec, shape, {.threads = 1, .history_capacity = 32, .backward = true}) {
    ticks_ = ticks, pulse_ = pulse;
    for (int t = 0; t < ticks; ++t) x_.push_back(seeded<double>("x" + std::to_string(t), shape.elements()));
  }
  // dy for outputs of a cell after the tick `back` ticks ago.
  void want(std::size_t back, std::size_t c) {
    const std::size_t n = m_.mesh->plan()->cells()[c].output.elements();
    wants_.push_back({back, c, seeded<double>(fmt::format("dy{}/{}", back, c), n)});
  }
  void check() {
    run();
    std::vector<StepGradient> gradients;
    for (const Want& w : wants_)
      gradients.push_back({w.back, w.cell, {w.dy.data(), m_.mesh->plan()->cells()[w.cell].output, Element::f64}});
    m_.mesh->gradients().clear();
    const auto ports = m_.mesh->backward(*m_.state, gradients);
    ASSERT_TRUE(ports) << ports.error().text();
    ASSERT_EQ(ports->size(), static_cast<std::size_t>(ticks_));
    std::vector<std::vector<double>> dx;
    for (const ConstView& p : *ports)
      dx.push_back(p.data == nullptr ? std::vector<double>(p.shape.elements()) : copied<double>(p));
    std::vector<std::vector<double>> dw;
    m_.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      const auto* g = static_cast<const double*>(m_.mesh->gradients().of(w));
      dw.emplace_back(g, g + w.elements());
    });
    double largest = 0;
    for (int t = 0; t < ticks_; ++t)
      for (std::size_t i = 0; i < x_[0].size(); ++i) {
        const double d = difference([&](double by) { x_[static_cast<std::size_t>(t)][i] += by; });
        const double g = dx[static_cast<std::size_t>(ticks_ - 1 - t)][i];
        EXPECT_NEAR(g, d, 1e-6 * std::max(1.0, std::abs(d))) << "port, tick " << t << " element " << i;
        largest = std::max(largest, std::abs(g));
      }
    std::size_t k = 0;
    m_.network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
      std::vector<double> values(w.elements());
      w.decode(0, w.elements(), values.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double d = difference([&](double by) {
          values[i] += by;
          ASSERT_TRUE(w.set(std::span<const double>(values)));
        });
        EXPECT_NEAR(dw[k][i], d, 1e-6 * std::max(1.0, std::abs(d))) << name << " " << i;
        largest = std::max(largest, std::abs(d));
      }
      ++k;
    });
    EXPECT_GT(largest, 1e-3);
  }
  Stepped& mesh() { return m_; }

 private:
  struct Want {
    std::size_t back, cell;
    std::vector<double> dy;
  };
  double run() {
    m_.state->reset();
    double loss = 0;
    for (int t = 0; t < ticks_; ++t) {
      if (!pulse_ || t % 3 != 1) m_.set(x_[static_cast<std::size_t>(t)], !pulse_);
      m_.step(1, {.capture = true});
      for (const Want& w : wants_) {
        if (w.back != static_cast<std::size_t>(ticks_ - 1 - t)) continue;
        const auto y = m_.out(w.cell);
        for (std::size_t i = 0; i < y.size(); ++i) loss += y[i] * w.dy[i];
      }
    }
    return loss;
  }
  template <class Shift>
  double difference(Shift&& shift) {
    constexpr double h = 0x1p-13;
    double at[4] = {};
    const double steps[4] = {-2 * h, -h, h, 2 * h};
    for (int s = 0; s < 4; ++s) {
      shift(steps[s]);
      at[s] = run();
      shift(-steps[s]);
    }
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
  }
  Stepped m_;
  int ticks_;
  bool pulse_;
  std::vector<std::vector<double>> x_;
  std::vector<Want> wants_;
};

TEST(StepMesh, backward_equals_differences_over_unrolled_ticks) {  // M-10, G-80
  const std::string nested = R"({"type":"sequential","residual":true,"sequential_layers":[)" + dense(3, 4) +
                             R"(,{"type":"parallel","combine_mode":"add","parallel_branches":[)" + dense(4, 3) + "," +
                             dense(4, 3) + "]}]}";
  {
    SCOPED_TRACE("add to an earlier cell, nested weights");
    Unrolled u(grid({cell(0, dense(2, 3)), cell(1, link(2, "feed", "add", dense(3, 3))), cell(2, nested)}, 3),
               Shape::of({2, 2}), 5);
    u.want(0, 2);
    u.check();
  }
  {
    SCOPED_TRACE("concat in a ring, gradients of several ticks and cells");
    Unrolled u(grid({cell(0, link(2, "auto", "concat", dense(5, 4))), cell(1, dense(4, 3)),
                     cell(2, R"({"type":"rmsnorm","input_height":3})")},
                    3),
               Shape::of({2, 2}), 7);
    u.want(0, 2), u.want(2, 2), u.want(3, 0);
    u.check();
  }
  {
    SCOPED_TRACE("replace, empty and disabled cells, a pulsed port");
    Unrolled u(grid({cell(0, dense(2, 3)), cell(2, dense(3, 3, R"(,"is_disabled":true)")),
                     cell(3, link(0, "feed", "replace", dense(3, 3))), cell(4, link(4, "feed", "add", dense(3, 3)))},
                    5),
               Shape::of({1, 2}), 8, true);
    u.want(0, 4), u.want(1, 2);
    u.check();
  }
  {
    SCOPED_TRACE("a skip from a later cell");
    const std::string residual = R"({"type":"sequential","sequential_layers":[)" + dense(3, 3) +
                                 R"(,{"type":"residual","skip_from":[0,0,0,2]}]})";
    Unrolled u(grid({cell(0, dense(2, 3)), cell(1, residual), cell(2, dense(3, 3))}, 3), Shape::of({2, 2}), 6);
    u.want(0, 2);
    u.check();
  }
  {
    SCOPED_TRACE("a shared operation");
    Unrolled u(grid({cell(0, dense(3, 3)), cell(1, R"({"is_remote_link":true,"target_l":0,"link_mode":"share"})"),
                     cell(2, dense(3, 3))},
                    3),
               Shape::of({2, 3}), 6);
    u.want(0, 2), u.want(1, 1);
    u.check();
  }
  {
    SCOPED_TRACE("a share of a disabled cell that adds another's output");
    const std::string residual =
        R"({"is_disabled":true,"type":"sequential","sequential_layers":[{"type":"residual","skip_from":[0,0,0,0]},)" +
        dense(3, 3) + "]}";
    Unrolled u(grid({cell(0, dense(2, 3)), cell(1, residual),
                     cell(2, R"({"is_remote_link":true,"target_l":1,"link_mode":"share"})")},
                    3),
               Shape::of({2, 2}), 6);
    u.want(0, 2);
    u.check();
  }
}

// Zeros stand for its output, of which a captured tick keeps nothing.
TEST(StepMesh, a_skip_from_a_cell_that_never_starts) {  // M-04, M-12
  const std::string residual = R"({"type":"sequential","sequential_layers":[)" + dense(64, 64) +
                               R"(,{"type":"residual","skip_from":[0,0,0,2]}]})";
  Stepped m(grid({cell(0, dense(64, 64)), cell(1, residual), cell(2, link(2, "feed", "replace", dense(64, 64)))}, 3),
            Shape::of({2, 64}), {.threads = 1, .history_capacity = 3, .backward = true});
  m.set(seeded<double>("x", 128));
  for (int tick = 0; tick < 5; ++tick) {
    m.step(1, {.capture = true});
    const StepState fork = m.state->fork().value();
    EXPECT_EQ(fork.hash(), m.state->hash()) << tick;
  }
}

// Backward starts each tick from the states that it started from, which it takes as given.
TEST(StepMesh, backward_of_a_stateful_layer_starts_from_the_states_of_its_tick) {  // M-08, M-10
  for (const char* kind : {"rnn", "gru", "lstm"}) {
    SCOPED_TRACE(kind);
    const std::string layer =
        fmt::format(R"({{"type":"{}","input_height":3,"output_height":3,"stateful":true}})", kind);
    Stepped m(grid({cell(0, layer)}, 1), Shape::of({2, 2, 3}), {.threads = 1, .history_capacity = 4, .backward = true});
    std::vector<double> last = seeded<double>("x3", 12);
    const std::vector<double> dy = seeded<double>("dy", 12);
    const auto run = [&] {
      m.state->reset();
      for (int t = 0; t < 3; ++t) m.set(seeded<double>("x" + std::to_string(t), 12)), m.step(1, {.capture = true});
      m.set(last), m.step(1, {.capture = true});
      const auto y = m.out(0);
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
      return sum;
    };
    run();
    const auto ports = m.mesh->backward(*m.state, {dy.data(), Shape::of({2, 2, 3}), Element::f64}, 1);
    ASSERT_TRUE(ports) << ports.error().text();
    const std::vector<double> dx = copied<double>((*ports)[0]);
    for (std::size_t i = 0; i < last.size(); ++i) {
      constexpr double h = 0x1p-13;
      const double was = last[i];
      last[i] = was + h;
      const double up = run();
      last[i] = was - h;
      const double down = run();
      last[i] = was;
      EXPECT_NEAR(dx[i], (up - down) / (2 * h), 1e-6) << i;
    }
  }
}

TEST(StepMesh, truncation_and_missing_history) {  // M-10
  Unrolled u(grid({cell(0, dense(2, 3)), cell(1, link(1, "feed", "add", dense(3, 3)))}, 2), Shape::of({1, 2}), 6);
  Stepped& m = u.mesh();
  const auto dy = seeded<double>("dy", 3);
  const ConstView view{dy.data(), Shape::of({1, 3}), Element::f64};
  EXPECT_EQ(m.mesh->backward(*m.state, view).error().code, Code::NoHistory);
  m.set(seeded<double>("x", 2));
  m.step(6, {.capture = true});
  EXPECT_EQ(m.mesh->backward(*m.state, view, 2)->size(), 2u);
  EXPECT_EQ(m.mesh->backward(*m.state, view)->size(), 6u);
  const StepGradient early{6, 1, view};
  EXPECT_EQ(m.mesh->backward(*m.state, std::span(&early, 1)).error().code, Code::NoHistory);
  const StepGradient outside{0, 2, view};
  EXPECT_EQ(m.mesh->backward(*m.state, std::span(&outside, 1)).error().code, Code::OutOfRange);
  const StepGradient wide{0, 0, {dy.data(), Shape::of({3}), Element::f64}};
  EXPECT_EQ(m.mesh->backward(*m.state, std::span(&wide, 1)).error().code, Code::ShapeMismatch);
  m.step();  // not captured
  EXPECT_EQ(m.mesh->backward(*m.state, view).error().code, Code::NoHistory);
  Stepped none(grid({cell(0, dense(2, 3))}, 1), Shape::of({1, 2}), {.threads = 1, .history_capacity = 0});
  EXPECT_EQ(none.mesh->step(*none.state, {.capture = true}).error().code, Code::InvalidState);
}

TEST(StepMesh, stateful_kinds_go_on_and_others_start_anew) {  // M-08
  for (const bool stateful : {false, true}) {
    const std::string lstm =
        fmt::format(R"({{"type":"lstm","input_height":3,"output_height":3,"stateful":{}}})", stateful);
    Stepped m(grid({cell(0, lstm)}, 1), Shape::of({1, 2, 3}));
    Network network = read(grid({cell(0, lstm)}, 1));
    const auto session = NetworkSession::create(network, Shape::of({1, 2, 3}), {1, std::nullopt, false}).value();
    const auto x = seeded<double>("x", 6);
    m.set(x);
    std::vector<double> before;
    for (int t = 0; t < 4; ++t) {
      m.step();
      EXPECT_EQ(m.out(), copied<double>(session->forward({x.data(), Shape::of({1, 2, 3}), Element::f64}).value()));
      if (t > 0) {
        EXPECT_EQ(m.out() == before, !stateful);
      }
      before = m.out();
    }
  }
}

TEST(StepMesh, a_crowd_steps_as_each_alone) {  // M-01
  Stepped m(busy(), Shape::of({1, 24}), {.threads = 3});
  std::vector<StepState> crowd, alone;
  std::vector<StepState*> members;
  for (int n = 0; n < 23; ++n) {
    const auto x = seeded<float>("x" + std::to_string(n), 24);
    for (auto* list : {&crowd, &alone}) {
      list->push_back(m.mesh->create_state().value());
      ASSERT_TRUE(list->back().set_input({x.data(), Shape::of({1, 24}), Element::f32}));
    }
  }
  for (StepState& s : crowd) members.push_back(&s);
  for (int t = 0; t < 50; ++t) {
    ASSERT_TRUE(m.mesh->step(members));
    for (StepState& s : alone) ASSERT_TRUE(m.mesh->step(s));
  }
  for (std::size_t n = 0; n < crowd.size(); ++n) EXPECT_EQ(crowd[n].hash(), alone[n].hash()) << n;
  members.push_back(members.front());
  EXPECT_EQ(m.mesh->step(members).error().code, Code::InvalidArgument);
  // The batch axis: each row as in a mesh of one.
  Stepped batch(busy(), Shape::of({23, 24}), {.threads = 2});
  std::vector<float> all;
  for (int n = 0; n < 23; ++n) {
    const auto x = seeded<float>("x" + std::to_string(n), 24);
    all.insert(all.end(), x.begin(), x.end());
  }
  batch.set(all);
  batch.step(50);
  for (std::size_t c = 0; c < 40; ++c) {
    const auto rows = batch.out<float>(c);
    const std::size_t width = rows.size() / 23;
    for (std::size_t n = 0; n < 23; ++n)
      EXPECT_EQ(std::vector<float>(rows.begin() + static_cast<std::ptrdiff_t>(n * width),
                                   rows.begin() + static_cast<std::ptrdiff_t>((n + 1) * width)),
                copied<float>(alone[n].output(c).value()));
  }
}

}  // namespace
}  // namespace loom::step_mesh_test
