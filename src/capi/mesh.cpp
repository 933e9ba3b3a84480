// Step meshes of loom.h. A mesh holds its network while it is in use; its states belong to it.

#include <array>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "learning/tween/mesh_tween.h"

namespace loom::capi {

struct StepStateObject : Object {
  static constexpr Kind kKind = Kind::StepState;
  StepStateObject(std::shared_ptr<StepMeshObject> of, StepState given) : mesh(std::move(of)), state(std::move(given)) {}
  const std::shared_ptr<StepMeshObject> mesh;
  StepState state;
  Buffer output;  // of a device
  Extents output_shape;
};

struct MeshTweenObject : Object {
  static constexpr Kind kKind = Kind::MeshTween;
  MeshTweenObject(std::shared_ptr<StepMeshObject> of, std::unique_ptr<MeshTween> given)
      : mesh(std::move(of)), tween(std::move(given)) {}
  const std::shared_ptr<StepMeshObject> mesh;
  const std::unique_ptr<MeshTween> tween;
};

namespace {

// A mesh for one call, with its network in the way that the call needs it.
template <class Access>
struct TakenMesh {
  std::shared_ptr<StepMeshObject> object;
  Turn turn;
  Access access;
  DeviceTurn device_turn{object->mesh->device()};
  StepMesh& mesh() const { return *object->mesh; }
};
template <class Access>
Result<TakenMesh<Access>> take_mesh(std::shared_ptr<StepMeshObject> object) {
  LOOM_TRY(Turn turn, Turn::of(*object, "step mesh"));
  LOOM_TRY(Access access, Access::of(*object->network, object->mesh->device()));
  LOOM_TRY_VOID(object->mesh->check_current());
  return TakenMesh<Access>{std::move(object), std::move(turn), std::move(access)};
}
template <class Access>
Result<TakenMesh<Access>> take_mesh(loom_step_mesh handle) {
  LOOM_TRY(const auto use, Use<StepMeshObject>::of(handle));
  return take_mesh<Access>(use.shared());
}

// A state and its mesh.
struct TakenState {
  Use<StepStateObject> use;
  TakenMesh<Reading> mesh;
  StepStateObject* operator->() const { return use.operator->(); }
};
Result<TakenState> take_state(loom_step_state handle) {
  LOOM_TRY(auto use, Use<StepStateObject>::of(handle));
  LOOM_TRY(auto mesh, take_mesh<Reading>(use->mesh));
  return TakenState{std::move(use), std::move(mesh)};
}

// States of one mesh, each once.
struct States {
  std::vector<Use<StepStateObject>> uses;
  std::vector<StepState*> states;
};
Result<States> states_of(const StepMeshObject* mesh, const loom_step_state* handles, std::size_t count) {
  LOOM_TRY(const auto given, need_array(handles, count, "states"));
  if (given.empty()) return fail(Code::InvalidArgument, "states is empty");
  States out;
  for (std::size_t i = 0; i < given.size(); ++i) {
    LOOM_TRY(auto use, Use<StepStateObject>::of(given[i]));
    if (use->mesh.get() != mesh) return fail(Code::InvalidArgument, "state {} belongs to another mesh", i);
    if (std::ranges::find(out.states, &use->state) != out.states.end())
      return fail(Code::InvalidArgument, "state {} is given twice", i);
    out.states.push_back(&use->state);
    out.uses.push_back(std::move(use));
  }
  return out;
}

Json info_of(const StepMesh& mesh) {
  return Json{{"cells", mesh.num_cells()},
              {"threads", mesh.threads()},
              {"input_shape", mesh.plan()->input().extents()},
              {"state_bytes", mesh.state_bytes()},
              {"history_bytes", mesh.history_bytes()},
              {"warnings", std::vector<std::string>(mesh.plan()->warnings().begin(), mesh.plan()->warnings().end())}};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_step_mesh_create(loom_network network, const uint64_t* shape, size_t shape_count,
                                  const loom_step_mesh_options* options, loom_step_mesh* mesh) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(mesh));
    LOOM_TRY(const Shape input, shape_of(shape, shape_count, "shape"));
    LOOM_TRY(const loom_step_mesh_options given, read_struct(options));
    NetworkSessionOptions running;
    LOOM_TRY_VOID(read_compute(given.compute, running));
    if (running.max_bytes != NetworkSessionOptions{}.max_bytes) return no_such_compute("max_bytes");
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    LOOM_TRY_VOID(need_values(taken.network()));
    std::shared_ptr<const StepPlan>& plan = taken.use->plans.steps;
    plan.reset();
    LOOM_TRY(plan, StepPlan::create(taken.network(), input));
    LOOM_TRY(auto made, StepMesh::create(taken.network(), plan,
                                         {.threads = running.threads,
                                          .isa = running.isa,
                                          .history_capacity = static_cast<std::size_t>(given.history),
                                          .backward = given.backward != 0,
                                          .keep_inputs = given.keep_inputs != 0,
                                          .device = running.device,
                                          .pool = running.pool}));
    LOOM_TRY(*mesh, make_handle<StepMeshObject>(taken.use.shared(), std::move(made)));
    return {};
  });
}

loom_status loom_step_mesh_step(loom_step_mesh mesh, const loom_step_state* states, size_t states_count,
                                const loom_tick_options* options) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const loom_tick_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const auto taken, take_mesh<Reading>(mesh));
    LOOM_TRY(const States moved, states_of(taken.object.get(), states, states_count));
    const StepOptions tick{.capture = given.capture != 0, .training = given.training != 0, .cancel = cancel.flag()};
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(given.ticks, 1); ++i)
      LOOM_TRY_VOID(taken.mesh().step(std::span<StepState* const>(moved.states), tick));
    return taken.mesh().device() == nullptr ? Result<void>() : taken.mesh().device()->check();
  });
}

loom_status loom_step_mesh_backward(loom_step_mesh mesh, loom_step_state state, const loom_tensor* output_gradient,
                                    uint64_t ticks, loom_tensor* input_gradient) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(input_gradient));
    LOOM_TRY(const auto taken, take_mesh<Reading>(mesh));
    LOOM_TRY(const States of, states_of(taken.object.get(), &state, 1));
    LOOM_TRY(const ConstView output, of.states[0]->output());
    LOOM_TRY(const ConstView dy, values_of(output_gradient, output.shape, "output_gradient"));
    LOOM_TRY_VOID(need_element(output.element, dy.element, "output_gradient"));
    Device* const device = taken.mesh().device();
    Memory memory;
    LOOM_TRY(const ConstView there, sent(device, dy, memory));
    LOOM_TRY(const auto ports, taken.mesh().backward(*of.states[0], there,
                                                     ticks == 0 ? ~std::size_t{0} : static_cast<std::size_t>(ticks)));
    ConstView newest;
    newest.element = output.element;
    if (!ports.empty()) newest = ports[0];
    LOOM_TRY(const ConstView dx, brought(device, newest, taken.object->input_gradient));
    write_struct(tensor_of_view(dx, taken.object->gradient_shape), input_gradient, room);
    return {};
  });
}

loom_status loom_step_mesh_gradient(loom_step_mesh mesh, const char* weight, const loom_tensor* values) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view path, need_text(weight, "weight"));
    LOOM_TRY(const auto taken, take_mesh<Reading>(mesh));
    LOOM_TRY(const Weight* found, weight_of(taken.object->network->network, path));
    LOOM_TRY(const Room room, room_of(values, found->shape(), path));
    return give_gradient(taken.mesh().gradients(), *found, taken.mesh().device(), room);
  });
}

loom_status loom_step_mesh_clear_gradients(loom_step_mesh mesh) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take_mesh<Reading>(mesh));
    taken.mesh().gradients().clear();
    return {};
  });
}

loom_status loom_step_mesh_info(loom_step_mesh mesh, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto taken, take_mesh<Reading>(mesh));
    LOOM_TRY(*info, make_blob(info_of(taken.mesh())));
    return {};
  });
}

loom_status loom_step_state_create(loom_step_mesh mesh, loom_step_state* state) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(state));
    LOOM_TRY(const auto taken, take_mesh<Reading>(mesh));
    LOOM_TRY(StepState made, taken.mesh().create_state());
    LOOM_TRY(*state, make_handle<StepStateObject>(taken.object, std::move(made)));
    return {};
  });
}

loom_status loom_step_state_set_input(loom_step_state state, const loom_tensor* input, int32_t hold) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenState s, take_state(state));
    LOOM_TRY(const ConstView x, values_of(input, s.mesh.mesh().plan()->input(), "input"));
    LOOM_TRY_VOID(need_element(s.mesh.object->network->network.settings.activations, x.element, "input"));
    return s->state.set_input(x, hold != 0);
  });
}

loom_status loom_step_state_clear_input(loom_step_state state) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenState s, take_state(state));
    s->state.clear_input();
    return {};
  });
}

loom_status loom_step_state_output(loom_step_state state, int64_t cell, loom_tensor* output) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(output));
    LOOM_TRY(const TakenState s, take_state(state));
    const std::size_t cells = s.mesh.mesh().num_cells();
    if (cell < -1 || (cell >= 0 && static_cast<std::uint64_t>(cell) >= cells))
      return fail(Code::OutOfRange, "cell {}: the mesh has {}", cell, cells);
    LOOM_TRY(const ConstView there, s->state.output(cell < 0 ? cells - 1 : static_cast<std::size_t>(cell)));
    LOOM_TRY(const ConstView y, brought(s.mesh.mesh().device(), there, s->output));
    write_struct(tensor_of_view(y, s->output_shape), output, room);
    return {};
  });
}

loom_status loom_step_state_reset(loom_step_state state) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenState s, take_state(state));
    s->state.reset();
    return {};
  });
}

loom_status loom_step_state_fork(loom_step_state state, loom_step_state* copy) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(copy));
    LOOM_TRY(const TakenState s, take_state(state));
    LOOM_TRY(StepState made, s->state.fork());
    LOOM_TRY(*copy, make_handle<StepStateObject>(s->mesh, std::move(made)));
    return {};
  });
}

loom_status loom_step_state_snapshot(loom_step_state state, loom_blob* bytes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(bytes));
    LOOM_TRY(const TakenState s, take_state(state));
    const std::vector<std::byte> saved = s->state.snapshot();
    if (Device* const device = s.mesh.mesh().device()) LOOM_TRY_VOID(device->check());
    LOOM_TRY(*bytes, make_blob(std::span<const std::byte>(saved)));
    return {};
  });
}

loom_status loom_step_state_restore(loom_step_state state, const void* bytes, size_t bytes_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view saved, need_bytes(bytes, bytes_size, "bytes"));
    LOOM_TRY(const TakenState s, take_state(state));
    return s->state.restore(std::as_bytes(std::span(saved)));
  });
}

loom_status loom_step_state_hash(loom_step_state state, loom_blob* hash) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(hash));
    LOOM_TRY(const TakenState s, take_state(state));
    LOOM_TRY(*hash, make_blob(to_hex(s->state.hash())));
    return {};
  });
}

loom_status loom_step_state_ticks(loom_step_state state, uint64_t* ticks) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(ticks));
    LOOM_TRY(const TakenState s, take_state(state));
    *ticks = s->state.step_count();
    return {};
  });
}

loom_status loom_mesh_tween_create(loom_step_mesh mesh, const void* config, size_t config_size, uint64_t ticks,
                                   loom_mesh_tween* tween) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tween));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const TweenConfig wanted, tween_config_from_json(json));
    LOOM_TRY(const auto taken, take_mesh<Writing>(mesh));
    LOOM_TRY(auto made, MeshTween::create(taken.object->network->network, taken.mesh(), wanted,
                                          {.ticks = static_cast<std::size_t>(ticks)}));
    LOOM_TRY(*tween, make_handle<MeshTweenObject>(taken.object, std::move(made)));
    return {};
  });
}

loom_status loom_mesh_tween_step(loom_mesh_tween tween, const loom_step_state* states, size_t states_count,
                                 const loom_tensor* targets, double learning_rate) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto use, take<MeshTweenObject>(tween, "mesh tween"));
    LOOM_TRY(const auto taken, take_mesh<Writing>(use->mesh));
    LOOM_TRY(const States of, states_of(taken.object.get(), states, states_count));
    LOOM_TRY(const ConstView output, of.states[0]->output());
    LOOM_TRY(const Shape all, Shape::create(std::array{of.states.size(), output.shape.elements()}));
    LOOM_TRY(const ConstView values, values_of(targets, all, "targets"));
    LOOM_TRY_VOID(need_element(output.element, values.element, "targets"));
    const std::size_t each = bytes_of(output);
    Device* const device = taken.mesh().device();
    std::vector<TweenTarget> wanted(of.states.size());
    std::vector<Memory> memories(of.states.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const ConstView target{values.as<std::byte>() + i * each, output.shape, output.element};
      LOOM_TRY(wanted[i].values, sent(device, target, memories[i]));
    }
    ++taken.object->network->values;
    if (device != nullptr) taken.object->network->ahead = device;
    return use->tween->step(std::span<StepState* const>(of.states), wanted, learning_rate);
  });
}
