// Step states and learning by targets of Loom 0.8x, where a state is made without the shape of the input: the mesh or
// the trainer is made with the first input.

#include <chrono>
#include <vector>

#include "legacy/names/own_objects.h"

namespace welvet {
namespace {

constexpr std::uint64_t kCapturedTicks = 64;

struct Mesh {
  std::mutex mutex;
  loom_network network = 0;
  loom_step_mesh mesh = 0;
  loom_step_state state = 0;
  loom_mesh_tween tween = 0;

  Mesh() = default;
  Mesh(const Mesh&) = delete;
  ~Mesh() {
    for (const loom_handle each : {tween, state, mesh, network}) loom_release(each);
  }
};
using Meshes = OwnObjects<Mesh, 0x71>;

struct Taught {
  std::mutex mutex;
  loom_network network = 0;
  loom_tween tween = 0;
  std::vector<std::uint64_t> shape;  // that the tween was made for

  Taught() = default;
  Taught(const Taught&) = delete;
  ~Taught() {
    for (const loom_handle each : {tween, network}) loom_release(each);
  }
};
using TaughtStates = OwnObjects<Taught, 0x72>;

// A state of this kind over a network that it keeps alive. The type is of no importance: states hold what layers give.
template <class Objects, class T>
int64_t make_over(int64_t n, int dtype) {
  return make([&]() -> int64_t {
    loom_kind kind = LOOM_KIND_NONE;
    if (loom_kind_of(handle(n), &kind) != LOOM_OK) return no_handle_of_call();
    if (kind != LOOM_KIND_NETWORK) {
      failed("expected the handle of a network");
      return -1;
    }
    if (dtype < 0 || dtype > 20) {
      failed("no such type");
      return -1;
    }
    if (loom_retain(handle(n)) != LOOM_OK) return no_handle_of_call();
    auto made = std::make_shared<T>();
    made->network = handle(n);
    return Objects::add(std::move(made));
  });
}

char* numbers(const loom_tensor& values) { return json_text(Json(floats_of(values))); }

// Calls body(mesh) for a state whose mesh has had an input, of this network.
template <class F>
char* with_mesh(int64_t n, int64_t state, F&& body) {
  return Meshes::with(state, "a step state", [&](Mesh& m) {
    if (m.network != handle(n)) return failed("the state is of another network");
    if (m.state == 0) return failed("the state has had no input so far");
    return body(m);
  });
}

char* set_input(Mesh& m, const float* data, int length) {
  if (length < 1 || data == nullptr) return failed("expected an input");
  const auto count = static_cast<std::size_t>(length);
  if (m.state == 0) {
    const std::vector<std::uint64_t> shape = sample_shape(m.network, count);
    auto compute = sized<loom_compute_options>();
    auto options = sized<loom_step_mesh_options>();
    options.compute = &compute;
    compute.threads = shared_threads(), options.history = kCapturedTicks;
    options.backward = 1, options.keep_inputs = 1;
    if (loom_step_mesh_create(m.network, shape.data(), shape.size(), &options, &m.mesh) != LOOM_OK)
      return failed_call();
    if (loom_step_state_create(m.mesh, &m.state) != LOOM_OK) {
      loom_release(m.mesh);
      m.mesh = 0;
      return failed_call();
    }
  }
  const loom_tensor x = float_tensor(data, count);
  return loom_step_state_set_input(m.state, &x, 1) == LOOM_OK ? done() : failed_call();
}

char* step(Mesh& m, bool capture, std::int64_t& took) {
  auto options = sized<loom_tick_options>();
  options.capture = capture ? 1 : 0;
  const auto begin = std::chrono::steady_clock::now();
  if (loom_step_mesh_step(m.mesh, &m.state, 1, &options) != LOOM_OK) return failed_call();
  took = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return done();
}

char* output(Mesh& m, int li) {
  if (li < 0) return failed("no such layer");
  auto y = sized<loom_tensor>();
  return loom_step_state_output(m.state, li, &y) == LOOM_OK ? numbers(y) : failed_call();
}

char* step_backward(Mesh& m, const float* gradient, int length) {
  if (length < 0) return failed("the length is negative");
  const loom_tensor dy = float_tensor(gradient, static_cast<std::size_t>(length));
  auto dx = sized<loom_tensor>();
  return loom_step_mesh_backward(m.mesh, m.state, &dy, 0, &dx) == LOOM_OK ? numbers(dx) : failed_call();
}

char* apply_tween(Mesh& m, const float* target, int length, float rate) {
  if (length < 0) return failed("the length is negative");
  if (m.tween == 0 && loom_mesh_tween_create(m.mesh, nullptr, 0, 0, &m.tween) != LOOM_OK) return failed_call();
  const loom_tensor targets = float_tensor(target, static_cast<std::size_t>(length));
  return loom_mesh_tween_step(m.tween, &m.state, 1, &targets, static_cast<double>(rate)) == LOOM_OK ? done()
                                                                                                    : failed_call();
}

char* tween_forward(Taught& l, const float* input, int length) {
  if (length < 1 || input == nullptr) return failed("expected an input");
  const auto count = static_cast<std::size_t>(length);
  const std::vector<std::uint64_t> shape = sample_shape(l.network, count);
  if (l.tween == 0 || shape != l.shape) {
    auto options = sized<loom_compute_options>();
    options.threads = shared_threads();
    loom_tween made = 0;
    if (loom_tween_create(l.network, nullptr, 0, shape.data(), shape.size(), &options, &made) != LOOM_OK)
      return failed_call();
    loom_release(l.tween);
    l.tween = made, l.shape = shape;
  }
  const loom_tensor x = float_tensor(input, count, shape);
  auto y = sized<loom_tensor>();
  return loom_tween_forward(l.tween, &x, &y) == LOOM_OK ? numbers(y) : failed_call();
}

// Calls body(taught) for what has run forward, of this network.
template <class F>
void with_taught(int64_t n, int64_t tp, F&& body) {
  FreeLoomString(TaughtStates::with(tp, "a tween state", [&](Taught& l) {
    if (l.network != handle(n)) return failed("the state is of another network");
    if (l.tween == 0) return failed("the state has run nothing so far");
    return body(l) == LOOM_OK ? done() : failed_call();
  }));
}

}  // namespace
}  // namespace welvet

using namespace welvet;

int64_t LoomCreateStepState(int64_t n, int dtype) { return make_over<Meshes, Mesh>(n, dtype); }
void LoomFreeStepState(int64_t given) {
  make([&]() -> int64_t { return Meshes::erase(given) ? 0 : (failed("invalid handle of a step state"), -1); });
}
void LoomSetInput(int64_t state, const float* data, int length) {
  FreeLoomString(Meshes::with(state, "a step state", [&](Mesh& m) { return set_input(m, data, length); }));
}
// Nanoseconds that the tick took.
int64_t LoomStep(int64_t n, int64_t state, int captureHistory) {
  std::int64_t took = -1;
  FreeLoomString(with_mesh(n, state, [&](Mesh& m) { return step(m, captureHistory != 0, took); }));
  return took;
}
char* LoomGetOutput(int64_t state, int li) {
  return Meshes::with(state, "a step state", [&](Mesh& m) {
    return m.state == 0 ? failed("the state has had no input so far") : output(m, li);
  });
}
char* LoomStepBackward(int64_t n, int64_t state, const float* gradOutputData, int gradOutputLen) {
  return with_mesh(n, state, [&](Mesh& m) { return step_backward(m, gradOutputData, gradOutputLen); });
}
void LoomApplyTween(int64_t n, int64_t state, const float* targetData, int targetLen, float learningRate) {
  FreeLoomString(with_mesh(n, state, [&](Mesh& m) { return apply_tween(m, targetData, targetLen, learningRate); }));
}

int64_t LoomCreateTweenState(int64_t n, int dtype) { return make_over<TaughtStates, Taught>(n, dtype); }
void LoomFreeTweenState(int64_t given) {
  make([&]() -> int64_t { return TaughtStates::erase(given) ? 0 : (failed("invalid handle of a tween state"), -1); });
}
char* LoomTweenForward(int64_t n, int64_t tp, const float* inputData, int inputLen) {
  return TaughtStates::with(tp, "a tween state", [&](Taught& l) {
    return l.network != handle(n) ? failed("the state is of another network") : tween_forward(l, inputData, inputLen);
  });
}
void LoomTweenBackward(int64_t n, int64_t tp, const float* targetData, int targetLen) {
  with_taught(n, tp, [&](Taught& l) {
    const loom_tensor target = float_tensor(targetData, targetLen < 0 ? 0 : static_cast<std::size_t>(targetLen));
    return loom_tween_backward(l.tween, &target);
  });
}
void LoomApplyTweenGaps(int64_t n, int64_t tp, float learningRate) {
  with_taught(n, tp, [&](Taught& l) {
    const loom_status status = loom_tween_budgets(l.tween);
    return status == LOOM_OK ? loom_tween_apply(l.tween, static_cast<double>(learningRate)) : status;
  });
}
// The numbers of 0.8x, for programs that print them; a state of this library reads none of them.
char* LoomDefaultTweenConfig(void) {
  return answer([] {
    return json_text(Json{{"BatchSize", 1},
                          {"UseChainRule", true},
                          {"GradientScale", 0.1},
                          {"DepthScaleFactor", 1.1},
                          {"Momentum", 0.9},
                          {"LearningRate", 0.01},
                          {"ActivationClamp", 10}});
  });
}
