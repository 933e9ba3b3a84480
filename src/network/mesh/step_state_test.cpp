// Tests of the state that a step mesh carries from tick to tick, into snapshots and through use_new_plan().

#include "network/mesh/step_state.h"

#include <gtest/gtest.h>

#include "core/little_endian.h"
#include "network/meta.h"
#include "network/session/state_frame.h"
#include "support/network.h"

namespace loom::step_state_test {
namespace {

using test::read;
using test::seeded;

constexpr const char* kDense = R"({"type":"dense","input_height":4,"output_height":4})";

std::string grid(const std::vector<std::string>& layers) {
  std::string list;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    std::string layer = layers[l];
    list += (l == 0 ? "" : ",") + layer.insert(1, fmt::format(R"("z":0,"y":0,"x":0,"l":{},)", l));
  }
  return fmt::format(R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"seed":7,"layers":[{}]}})", layers.size(),
                     list);
}

std::string watched(const std::string& rule = R"("condition":"avg_below","threshold":-1e9,"command":"reset")") {
  return fmt::format(R"({{"type":"metacognition","meta_observed_layer":{},"meta_rules":[{{{}}}]}})", kDense, rule);
}

std::string gated() {
  return fmt::format(R"({{"type":"parallel","combine_mode":"filter","gate_aux_weight":1,"parallel_branches":[{0},{0}],)"
                     R"("filter_gate":{{"type":"dense","input_height":4,"output_height":2}}}})",
                     kDense);
}

struct Ticking {
  Network network;
  std::unique_ptr<StepMesh> mesh;
  std::optional<StepState> state;
  Shape input;

  explicit Ticking(const std::string& spec, const Shape& shape = Shape::of({2, 4}),
                   const StepMeshOptions& options = {.threads = 1, .history_capacity = 0})
      : network(read(spec)), input(shape) {
    mesh = StepMesh::create(network, shape, options).value();
    state.emplace(mesh->create_state().value());
  }
  void set(const std::string& name, bool hold = true) {
    const auto x = seeded<float>(name, input.elements());
    ASSERT_TRUE(state->set_input({x.data(), input}, hold));
  }
  void step(int ticks = 1, const StepOptions& options = {}) {
    for (int t = 0; t < ticks; ++t) ASSERT_TRUE(mesh->step(*state, options));
  }
  std::span<const std::byte> body(std::span<const std::byte> snapshot) const {
    return unframe_state(StateKind::StepMesh, mesh->digest(), snapshot).value();
  }
  // Nothing where the state takes the body.
  std::optional<Code> refusal(std::span<const std::byte> body) {
    const auto taken = state->restore(frame_state(StateKind::StepMesh, mesh->digest(), body));
    return taken ? std::nullopt : std::optional(taken.error().code);
  }
};

// The cell that never starts has the shape of the port, and no memory for a gradient of that size.
TEST(StepState, a_snapshot_in_which_a_cell_that_never_starts_held_a_value_is_refused) {  // M-10, M-12
  const auto link = [](int out, const std::string& merge) {
    return fmt::format(R"({{"type":"dense","input_height":64,"output_height":{},"is_remote_link":true,"target_l":2,)"
                       R"("link_mode":"feed","link_merge":"{}"}})",
                       out, merge);
  };
  Ticking m(grid({link(1, "add"), link(64, "replace"), R"({"type":"dense","input_height":64,"output_height":64})"}),
            Shape::of({256, 64}), {.threads = 1, .history_capacity = 2, .backward = true});
  m.set("x"), m.step(1, {.capture = true});
  const std::vector<std::byte> snapshot = m.state->snapshot();
  const auto body = m.body(snapshot);
  // The captured tick comes last: by cell and for the port whether it held a value, then the input of cell 0.
  const std::size_t held = body.size() - 256 * 64 * sizeof(float) - 4;
  ASSERT_EQ(body[held + 3], std::byte{1});
  for (const std::size_t cell : {1, 2}) {
    std::vector<std::byte> hostile(body.begin(), body.end());
    hostile[held + cell] = std::byte{1};
    EXPECT_EQ(m.refusal(hostile), Code::CorruptData) << cell;
  }
  ASSERT_EQ(m.refusal(body), std::nullopt);
  const std::vector<float> dy(256, 1.0f);
  const StepGradient gradient{0, 0, {dy.data(), Shape::of({256, 1})}};
  EXPECT_TRUE(m.mesh->backward(*m.state, std::span(&gradient, 1)));
}

TEST(StepState, a_snapshot_of_a_step_mesh_without_losses_of_gates_is_told_by_its_number) {  // M-12
  Ticking m(grid({kDense}));
  std::vector<std::byte> snapshot = m.state->snapshot();
  store_le(snapshot.data() + 12, std::uint32_t{2});
  EXPECT_EQ(m.state->restore(snapshot).error().code, Code::Unsupported);
  store_le(snapshot.data() + 12, static_cast<std::uint32_t>(StateKind::Sequence));
  EXPECT_EQ(m.state->restore(snapshot).error().code, Code::CorruptData);
}

TEST(StepState, a_pending_tick_remembers_what_metacognition_saw) {  // L-151, M-12
  Ticking m(grid({watched(), kDense}));
  m.set("x"), m.step(2);
  for (int times = 0; times < 2; ++times) ASSERT_TRUE(m.mesh->forward_tick(*m.state));  // the second one is a repeat
  EXPECT_EQ(m.state->metas()[0].calls, 2u) << "not before commit()";
  StepState restored = m.mesh->create_state().value();
  ASSERT_TRUE(restored.restore(m.state->snapshot()));
  StepState copy = m.state->fork().value();
  EXPECT_EQ(restored.hash(), m.state->hash());
  for (StepState* s : {&*m.state, &restored, &copy}) {
    ASSERT_TRUE(m.mesh->commit(*s));
    EXPECT_EQ(s->metas()[0].calls, 3u);
    EXPECT_EQ(s->hash(), m.state->hash());
  }
}

TEST(StepState, metacognition_of_a_crowd_remembers_as_alone) {  // L-151, M-01
  for (const int threads : {1, 2}) {
    Ticking m(grid({watched(), kDense}), Shape::of({2, 4}), {.threads = threads, .history_capacity = 0});
    StepState other = m.mesh->create_state().value();
    m.set("x");
    ASSERT_TRUE(other.restore(*m.state));
    m.step(3);
    StepState third = m.mesh->create_state().value();
    StepState* const crowd[] = {&other, &third};
    for (int t = 0; t < 3; ++t) ASSERT_TRUE(m.mesh->step(crowd));
    EXPECT_EQ(other.metas()[0].calls, 3u);
    EXPECT_EQ(other.hash(), m.state->hash());
    EXPECT_EQ(third.metas()[0].calls, 0u);
  }
}

// Each link that shares a layer has a memory of its own, at the same site.
TEST(StepState, a_new_plan_keeps_the_memory_of_each_use_of_a_shared_layer) {  // L-151, M-01
  const std::string morph = R"("condition":"avg_below","threshold":1e9,"command":"morph","param":3,"self_only":true,)"
                            R"("cooldown":100)";
  Ticking m(grid({watched(morph), R"({"is_remote_link":true,"target_l":0,"link_mode":"share"})"}));
  m.set("x"), m.step(3);
  const auto remembered = [&] {
    std::vector<std::pair<std::uint64_t, double>> all;
    for (const MetaState& meta : m.state->metas())
      if (meta.planned) all.emplace_back(meta.calls, meta.before(0).avg);
    return all;
  };
  const auto before = remembered();
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0].first, 3u);
  EXPECT_EQ(before[1].first, 2u) << "the second cell starts a tick later";
  StepState* const one = &*m.state;
  const auto events = commit_meta(m.network, *m.mesh, std::span(&one, 1));
  ASSERT_TRUE(events) << events.error().text();
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].refusal, "");
  EXPECT_EQ(remembered(), before);
}

TEST(StepState, a_new_plan_of_another_input_shape_is_an_error) {  // M-01
  Ticking m(grid({kDense}));
  m.set("x"), m.step();
  const auto plan = StepPlan::create(m.network, Shape::of({3, 4}));  // as many bytes, when rounded up to whole lines
  const auto x = seeded<float>("x", 12);
  EXPECT_EQ(m.state->set_input({x.data(), Shape::of({3, 4})}).error().code, Code::ShapeMismatch)
      << "the mesh still runs the other shape";
  StepState* const one = &*m.state;
  EXPECT_EQ(m.mesh->use_new_plan(*plan, std::span(&one, 1)).error().code, Code::InvalidState);
  EXPECT_TRUE(m.state->is_void());
  EXPECT_EQ(m.mesh->create_state().error().code, Code::InvalidState);
}

TEST(StepState, the_loss_of_gates_belongs_to_the_last_tick_and_to_the_state) {  // V-37, M-06, M-12
  Ticking m(grid({gated(), kDense}));
  EXPECT_EQ(m.state->gate_loss(), 0);
  m.set("x"), m.step();
  const double loss = m.state->gate_loss();
  EXPECT_GT(loss, 0);
  StepState copy = m.state->fork().value(), restored = m.mesh->create_state().value();
  ASSERT_TRUE(restored.restore(m.state->snapshot()));
  EXPECT_EQ(copy.gate_loss(), loss);
  EXPECT_EQ(restored.gate_loss(), loss);
  EXPECT_EQ(restored.hash(), m.state->hash());

  m.set("y", false);
  ASSERT_TRUE(m.mesh->forward_tick(*m.state));
  EXPECT_EQ(m.state->gate_loss(), loss) << "a pending tick is not the last one";
  ASSERT_TRUE(restored.restore(m.state->snapshot()));
  EXPECT_EQ(restored.gate_loss(), loss);
  ASSERT_TRUE(m.mesh->commit(*m.state));
  ASSERT_TRUE(m.mesh->commit(restored));
  const double next = m.state->gate_loss();
  EXPECT_NE(next, loss);
  EXPECT_EQ(restored.gate_loss(), next);
  m.step();
  EXPECT_EQ(m.state->gate_loss(), next) << "a cell that waits keeps its output and its loss";
  m.state->reset();
  EXPECT_EQ(m.state->gate_loss(), 0);
}

TEST(StepState, a_new_plan_keeps_the_loss_of_gates_and_a_void_state_has_none) {  // V-37, M-01
  const std::string morph = R"("condition":"avg_below","threshold":1e9,"command":"morph","param":3,"self_only":true)";
  for (const int ticks : {2, 3}) {  // the outputs are in either half
    Ticking m(grid({gated(), watched(morph)}));
    StepState left = m.mesh->create_state().value();
    m.set("x"), m.step(ticks);
    ASSERT_TRUE(left.restore(*m.state));
    const double loss = m.state->gate_loss();
    EXPECT_GT(loss, 0);
    StepState* const one = &*m.state;
    ASSERT_TRUE(commit_meta(m.network, *m.mesh, std::span(&one, 1)));
    EXPECT_EQ(m.state->gate_loss(), loss);
    ASSERT_TRUE(left.is_void());
    EXPECT_EQ(left.gate_loss(), 0);
  }
}

}  // namespace
}  // namespace loom::step_state_test
