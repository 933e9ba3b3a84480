// Plans of one network side by side: forward passes of several shapes, a step mesh, threads that share a plan, and what
// happens after an edit.

#include <gtest/gtest.h>

#include <thread>

#include "core/json.h"
#include "network/mesh/step_mesh.h"
#include "network/plan/forward_plan.h"
#include "network/plan/step_plan.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom::plan_test {
namespace {

// Cell 1 runs cell 0 in forward passes and reads its output in a mesh; cell 3 shares cell 2, whose states it has apart;
// cell 4 adds the output of cell 0.
constexpr const char* kSpec = R"({"seed":3,"layers":[
  {"type":"dense","input_height":4,"output_height":4,"activation":"tanh"},
  {"is_remote_link":true,"target_l":0},
  {"type":"rnn","input_height":4,"output_height":4,"stateful":true},
  {"type":"sequential","sequential_layers":[{"is_remote_link":true,"target_l":2,"link_mode":"share"}]},
  {"type":"sequential","sequential_layers":[{"type":"dense","input_height":4,"output_height":4},
                                            {"type":"residual","skip_from":[0,0,0,0]}]}]})";

Network read_network() {
  auto read = network_from_json(kSpec);
  EXPECT_TRUE(read) << read.error().text();
  return std::move(read->network);
}

std::vector<float> drawn(const Shape& shape) {
  std::vector<float> x(shape.elements());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) / 8;
  return x;
}

std::vector<float> values_of(const ConstView& y) { return {y.as<float>(), y.as<float>() + y.shape.elements()}; }

std::vector<float> forward(NetworkSession& session, const Shape& shape) {
  const std::vector<float> x = drawn(shape);
  const auto y = session.forward({x.data(), shape});
  EXPECT_TRUE(y) << y.error().text();
  return y ? values_of(*y) : std::vector<float>();
}

std::vector<float> tick(StepMesh& mesh, StepState& state, const Shape& shape) {
  const std::vector<float> x = drawn(shape);
  EXPECT_TRUE(state.set_input({x.data(), shape}));
  const auto stepped = mesh.step(state);
  EXPECT_TRUE(stepped) << stepped.error().text();
  const auto y = state.output();
  return y && y->data != nullptr ? values_of(*y) : std::vector<float>();
}

constexpr std::size_t kCalls = 6;
using Outputs = std::vector<std::vector<float>>;

Outputs forwards_alone(const Shape& shape) {
  Network network = read_network();
  const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
  Outputs outputs;
  for (std::size_t i = 0; i < kCalls; ++i) outputs.push_back(forward(*session, shape));
  return outputs;
}

Outputs ticks_alone(const Shape& shape) {
  Network network = read_network();
  const auto mesh = StepMesh::create(network, shape, {.threads = 1}).value();
  StepState state = mesh->create_state().value();
  Outputs outputs;
  for (std::size_t i = 0; i < kCalls; ++i) outputs.push_back(tick(*mesh, state, shape));
  return outputs;
}

TEST(Plans, TwoShapesAndAStepMeshRunSideBySide) {
  const Shape small = Shape::of({1, 1, 4}), large = Shape::of({3, 2, 4});
  Network network = read_network();
  const auto first = NetworkSession::create(network, small, {.threads = 1}).value();
  Outputs of_first{forward(*first, small)};
  const auto second = NetworkSession::create(network, large, {.threads = 1}).value();
  const auto mesh = StepMesh::create(network, small, {.threads = 1}).value();
  StepState state = mesh->create_state().value();
  Outputs of_second, of_mesh;
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (i != 0) of_first.push_back(forward(*first, small));
    of_mesh.push_back(tick(*mesh, state, small));
    of_second.push_back(forward(*second, large));
  }
  EXPECT_EQ(of_first, forwards_alone(small));
  EXPECT_EQ(of_second, forwards_alone(large));
  EXPECT_EQ(of_mesh, ticks_alone(small));
  EXPECT_NE(of_first[0], of_first[1]) << "states go on";
}

// Each thread runs the plans that all share, one of its own for another shape, and a mesh of its own.
TEST(Plans, FourThreadsShareOnePlanAndMakeTheirOwn) {
  const Shape shape = Shape::of({2, 3, 4});
  Network network = read_network();
  const auto plan = ForwardPlan::create(network, shape).value();
  const auto steps = StepPlan::create(network, shape).value();
  const Network& shared = network;
  const Outputs forwards = forwards_alone(shape), ticks = ticks_alone(shape);
  std::vector<Outputs> own_forwards, own_ticks;
  for (std::size_t t = 0; t < 4; ++t) {
    own_forwards.push_back(forwards_alone(Shape::of({t + 1, 3, 4})));
    own_ticks.push_back(ticks_alone(Shape::of({t + 1, 3, 4})));
  }
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Shape other = Shape::of({t + 1, 3, 4});
      const auto own = ForwardPlan::create(shared, other);
      ASSERT_TRUE(own) << own.error().text();
      EXPECT_EQ((*own)->shape_after(4), other);
      const auto session = NetworkSession::create(shared, plan, {.threads = 1}).value(),
                 own_session = NetworkSession::create(shared, *own, {.threads = 1}).value();
      const auto mesh = StepMesh::create(shared, steps, {.threads = 1}).value(),
                 own_mesh = StepMesh::create(shared, other, {.threads = 1}).value();
      EXPECT_EQ(session->plan(), plan);
      EXPECT_EQ(mesh->plan(), steps);
      StepState state = mesh->create_state().value(), own_state = own_mesh->create_state().value();
      for (std::size_t i = 0; i < kCalls; ++i) {
        EXPECT_EQ(forward(*session, shape), forwards[i]) << t;
        EXPECT_EQ(forward(*own_session, other), own_forwards[t][i]) << t;
        EXPECT_EQ(tick(*mesh, state, shape), ticks[i]) << t;
        EXPECT_EQ(tick(*own_mesh, own_state, other), own_ticks[t][i]) << t;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Plans, EndAtAnEditAndSessionsSaySo) {
  const Shape shape = Shape::of({1, 2, 4});
  Network network = read_network();
  const auto old = ForwardPlan::create(network, shape).value();
  const auto old_steps = StepPlan::create(network, shape).value();
  const auto session = NetworkSession::create(network, old, {.threads = 1}).value();
  const auto mesh = StepMesh::create(network, old_steps, {.threads = 1}).value();
  StepState state = mesh->create_state().value();
  const std::vector<float> x = drawn(shape);
  forward(*session, shape), tick(*mesh, state, shape);

  const auto expect_refused = [&](const char* what) {
    const auto y = session->forward({x.data(), shape});
    ASSERT_FALSE(y) << what;
    EXPECT_EQ(y.error().code, Code::InvalidState) << what;
    EXPECT_NE(y.error().text().find("the network was edited"), std::string::npos) << y.error().text();
    const auto stepped = mesh->step(state);
    ASSERT_FALSE(stepped) << what;
    EXPECT_EQ(stepped.error().code, Code::InvalidState) << what;
    EXPECT_NE(stepped.error().text().find("the network was edited"), std::string::npos) << stepped.error().text();
  };
  ASSERT_TRUE(network.morph_all(DType::int8));
  expect_refused("another type");
  EXPECT_TRUE(old->is_of(network) && old_steps->is_of(network)) << "plans hold for every type";
  ASSERT_TRUE(session->use_new_plan(old));
  EXPECT_EQ(forward(*session, shape).size(), shape.elements());

  auto layer = layer_from_json(*parse_json(R"({"type":"dense","input_height":4,"output_height":4})"));
  ASSERT_TRUE(network.place({0, 0, 0, 0}, std::move(*layer)));
  ASSERT_TRUE(network.initialise());
  expect_refused("another layer");
  EXPECT_FALSE(old->is_of(network) || old_steps->is_of(network));
  EXPECT_EQ(session->output_shape(shape).error().code, Code::InvalidState);
  const auto made = NetworkSession::create(network, old, {.threads = 1});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::InvalidState);
  EXPECT_EQ(made.error().text(), "the network was edited after its forward passes were planned: plan it again");
  const auto stepping = StepMesh::create(network, old_steps, {.threads = 1});
  ASSERT_FALSE(stepping);
  EXPECT_EQ(stepping.error().code, Code::InvalidState);
  EXPECT_EQ(stepping.error().text(), "the network was edited after its step mesh was planned: plan it again");
  EXPECT_EQ(session->use_new_plan(old).error().code, Code::InvalidState);
  ASSERT_TRUE(session->use_new_plan(ForwardPlan::create(network, shape).value()));
  EXPECT_EQ(forward(*session, shape).size(), shape.elements());
  EXPECT_EQ(session->output_shape(shape), shape);
}

TEST(Plans, OfAnotherNetworkAreRefused) {
  const Shape shape = Shape::of({1, 2, 4});
  Network network = read_network();
  const Network other = read_network();
  EXPECT_EQ(NetworkSession::create(network, ForwardPlan::create(other, shape).value()).error().code,
            Code::InvalidState);
  EXPECT_EQ(StepMesh::create(network, StepPlan::create(other, shape).value()).error().code, Code::InvalidState);
}

TEST(Plans, NeedASettledNetwork) {
  const Shape shape = Shape::of({1, 2, 4});
  Network network = read_network();
  const Network& shared = network;
  EXPECT_TRUE(ForwardPlan::create(shared, shape)) << "a network that was read is settled";
  EXPECT_TRUE(StepPlan::create(shared, shape));
  network.exchange(1, {});
  EXPECT_EQ(ForwardPlan::create(shared, shape).error().code, Code::InvalidState);
  EXPECT_EQ(StepPlan::create(shared, shape).error().code, Code::InvalidState);
  EXPECT_TRUE(ForwardPlan::create(network, shape)) << "one that may be changed is settled first";
  EXPECT_TRUE(ForwardPlan::create(shared, shape));
  network.edit();
  EXPECT_TRUE(StepPlan::create(network, shape));
  EXPECT_TRUE(StepPlan::create(shared, shape));
}

// Plans find cells where they are, not through the network object.
TEST(Plans, OutlastAMoveOfTheNetwork) {
  const Shape shape = Shape::of({2, 2, 4});
  Network network = read_network();
  const auto plan = ForwardPlan::create(network, shape).value();
  const Network moved = std::move(network);
  const auto session = NetworkSession::create(moved, plan, {.threads = 1}).value();
  EXPECT_EQ(forward(*session, shape), forwards_alone(shape)[0]);
}

}  // namespace
}  // namespace loom::plan_test
