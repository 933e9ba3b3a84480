// Layer kinds of the host's own: callbacks in, ops of a pass out.

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "layers/foreign/foreign_pass.h"
#include "network/own_kinds.h"

namespace loom::capi {
namespace {

// Its handle lasts as long as the callback. `pass` is null from then on, for a call of another thread that has found it
// before.
struct PassObject : Object {
  static constexpr Kind kKind = Kind::Layer;
  explicit PassObject(ForeignPass* given) : pass(given) {}
  ForeignPass* pass;
};

// A status that a host made up is no code.
Code code_of(loom_status status) {
  return status > LOOM_OK && status <= LOOM_BAD_HANDLE ? static_cast<Code>(status) : Code::InvalidState;
}

ForeignCallbacks::Callback callback_of(loom_layer_rule call, void* user) {
  if (call == nullptr) return {};
  return [call, user](ForeignPass& pass) -> Result<void> {
    const auto object = std::make_shared<PassObject>(&pass);
    LOOM_TRY(const std::uint64_t handle, add_object(Kind::Layer, object));
    const loom_status status = call(user, handle);
    static_cast<void>(release(handle));                                // the host may have done so
    while (object->busy.exchange(true, std::memory_order_acquire)) {}  // another thread asks; it takes no time
    object->pass = nullptr;
    object->busy.store(false, std::memory_order_release);
    if (status == LOOM_OK) return {};
    return fail(code_of(status), "the callback returned {}", loom_status_name(status));
  };
}

// A pass for one question to it.
struct TakenPass {
  Taken<PassObject> taken;
  ForeignPass& operator*() const { return *taken->pass; }
};
Result<TakenPass> take_pass(loom_layer handle) {
  LOOM_TRY(auto taken, take<PassObject>(handle, "layer"));
  if (taken->pass == nullptr) return fail(Code::InvalidState, "the call of the callback has ended");
  return TakenPass{std::move(taken)};
}

std::string_view or_none(const char* text) { return text == nullptr ? std::string_view() : text; }

// A size that overflows is above that of every tensor.
std::size_t size_of(std::uint64_t given) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(given, static_cast<std::size_t>(-1)));
}

Result<std::vector<std::size_t>> sizes_of(const std::uint64_t* given, std::size_t count, const char* what) {
  LOOM_TRY(const auto sizes, need_array(given, count, what));
  if (sizes.size() > Shape::kMaxRank)
    return fail(Code::ShapeMismatch, "{} of {} numbers, expected at most {}", what, sizes.size(), Shape::kMaxRank);
  std::vector<std::size_t> out;
  for (const std::uint64_t n : sizes) out.push_back(size_of(n));
  return out;
}

// A question to the pass. Wrong arguments are an error of the pass, too: a callback looks at the last status alone.
template <class Call, class... T>
loom_status ask(loom_layer handle, Call&& call, T*... results) {
  return guard([&]() -> Result<void> {
    Result<void> done = need_results(results...);
    const auto pass = take_pass(handle);
    if (!pass) return done ? tl::make_unexpected(pass.error()) : done;
    if (done) done = call(**pass);
    if (!done) (**pass).refuse(done.error());
    return done;
  });
}
// An op with one tensor as its result.
template <class Op>
loom_status op(loom_layer handle, std::uint64_t* result, Op&& call) {
  return ask(
      handle,
      [&](ForeignPass& pass) -> Result<void> {
        LOOM_TRY(*result, call(pass));
        return {};
      },
      result);
}

using Made = Result<ForeignPass::Ref>;

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_layer_kind_register(const void* description, size_t description_size,
                                     const loom_kind_callbacks* callbacks) {
  return guard([&]() -> Result<void> {
    if (callbacks == nullptr) return fail(Code::InvalidArgument, "callbacks is NULL");
    LOOM_TRY(const auto given, read_struct(callbacks));
    LOOM_TRY(const std::string_view text, need_bytes(description, description_size, "the description"));
    LOOM_TRY(const Json json, parse_json(text));
    LOOM_TRY(ForeignDescription kind, ForeignDescription::read(json));
    return register_kind(std::move(kind),
                         {callback_of(given.declare, given.user), callback_of(given.forward, given.user),
                          callback_of(given.backward, given.user)});
  });
}

loom_status loom_layer_kind_unregister(const char* name) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view wanted, need_text(name, "name"));
    return remove_foreign_kind(wanted);
  });
}

loom_status loom_layer_setting(loom_layer layer, const char* key, double* value) {
  return ask(
      layer,
      [&](ForeignPass& p) -> Result<void> {
        LOOM_TRY(const std::string_view wanted, need_text(key, "key"));
        LOOM_TRY(*value, p.setting(wanted));
        return {};
      },
      value);
}

loom_status loom_layer_declare_weight(loom_layer layer, const char* name, const uint64_t* extents, size_t extents_count,
                                      const char* init, double size) {
  return ask(layer, [&](ForeignPass& p) -> Result<void> {
    LOOM_TRY(const std::string_view wanted, need_text(name, "name"));
    LOOM_TRY(const auto sizes, sizes_of(extents, extents_count, "extents"));
    return p.declare_weight(wanted, sizes, or_none(init), size);
  });
}

loom_status loom_layer_input(loom_layer layer, uint64_t* x) {
  return op(layer, x, [](ForeignPass& p) { return p.input(); });
}

loom_status loom_layer_result(loom_layer layer, uint64_t tensor) {
  return ask(layer, [&](ForeignPass& p) { return p.result(tensor); });
}

loom_status loom_layer_keep(loom_layer layer, uint64_t tensor) {
  return ask(layer, [&](ForeignPass& p) { return p.keep(tensor); });
}

loom_status loom_layer_kept(loom_layer layer, uint64_t* tensor) {
  return op(layer, tensor, [](ForeignPass& p) { return p.kept(); });
}

loom_status loom_layer_shape(loom_layer layer, uint64_t tensor, uint64_t* extents, size_t extents_count,
                             uint64_t* rank) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(rank));
    LOOM_TRY(const TakenPass taken, take_pass(layer));
    LOOM_TRY(const auto room, need_array(extents, extents_count, "extents"));
    LOOM_TRY(const Shape shape, (*taken).shape(tensor));
    if (shape.rank() > room.size())
      return fail(Code::ShapeMismatch, "{} extents, there is room for {}", shape.rank(), room.size());
    std::copy(shape.extents().begin(), shape.extents().end(), extents);
    *rank = shape.rank();
    return {};
  });
}

loom_status loom_layer_matmul(loom_layer layer, uint64_t x, const char* weight, const char* bias, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const std::string_view w, need_text(weight, "weight"));
    return p.matmul(x, w, or_none(bias));
  });
}

loom_status loom_layer_matmul_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* weight, const char* bias,
                                       uint64_t* dx) {
  return op(layer, dx, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const std::string_view w, need_text(weight, "weight"));
    return p.matmul_gradient(x, dy, w, or_none(bias));
  });
}

loom_status loom_layer_product(loom_layer layer, uint64_t left, int32_t transpose_left, uint64_t right,
                               int32_t transpose_right, uint64_t* y) {
  return op(layer, y,
            [&](ForeignPass& p) { return p.product(left, transpose_left != 0, right, transpose_right != 0); });
}

loom_status loom_layer_add(loom_layer layer, uint64_t left, uint64_t right, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.add(left, right); });
}

loom_status loom_layer_multiply(loom_layer layer, uint64_t left, uint64_t right, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.multiply(left, right); });
}

loom_status loom_layer_scale(loom_layer layer, uint64_t x, double factor, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.scale(x, factor); });
}

loom_status loom_layer_fill(loom_layer layer, uint64_t like, double value, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.fill(like, value); });
}

loom_status loom_layer_activate(loom_layer layer, uint64_t x, const char* activation, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const std::string_view fn, need_text(activation, "activation"));
    return p.activate(x, fn);
  });
}

loom_status loom_layer_activate_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* activation,
                                         uint64_t* dx) {
  return op(layer, dx, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const std::string_view fn, need_text(activation, "activation"));
    return p.activate_gradient(x, dy, fn);
  });
}

loom_status loom_layer_gated(loom_layer layer, uint64_t gate, uint64_t up, const char* activation, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const std::string_view fn, need_text(activation, "activation"));
    return p.gated(gate, up, fn);
  });
}

loom_status loom_layer_gated_gradient(loom_layer layer, uint64_t gate, uint64_t up, uint64_t dy, const char* activation,
                                      uint64_t* dgate, uint64_t* dup) {
  return ask(
      layer,
      [&](ForeignPass& p) -> Result<void> {
        LOOM_TRY(const std::string_view fn, need_text(activation, "activation"));
        LOOM_TRY(const auto both, p.gated_gradient(gate, up, dy, fn));
        *dgate = both.first, *dup = both.second;
        return {};
      },
      dgate, dup);
}

loom_status loom_layer_softmax(loom_layer layer, uint64_t x, double temperature, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.softmax(x, temperature); });
}

loom_status loom_layer_softmax_gradient(loom_layer layer, uint64_t probabilities, uint64_t dy, double temperature,
                                        uint64_t* dx) {
  return op(layer, dx, [&](ForeignPass& p) { return p.softmax_gradient(probabilities, dy, temperature); });
}

loom_status loom_layer_rms_norm(loom_layer layer, uint64_t x, const char* gamma, double eps, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.rms_norm(x, or_none(gamma), eps); });
}

loom_status loom_layer_rms_norm_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* gamma, double eps,
                                         uint64_t* dx) {
  return op(layer, dx, [&](ForeignPass& p) { return p.rms_norm_gradient(x, dy, or_none(gamma), eps); });
}

loom_status loom_layer_layer_norm(loom_layer layer, uint64_t x, const char* gamma, const char* beta, double eps,
                                  uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.layer_norm(x, or_none(gamma), or_none(beta), eps); });
}

loom_status loom_layer_layer_norm_gradient(loom_layer layer, uint64_t x, uint64_t dy, const char* gamma,
                                           const char* beta, double eps, uint64_t* dx) {
  return op(layer, dx,
            [&](ForeignPass& p) { return p.layer_norm_gradient(x, dy, or_none(gamma), or_none(beta), eps); });
}

loom_status loom_layer_permute(loom_layer layer, uint64_t x, const uint64_t* axes, size_t axes_count, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const auto order, sizes_of(axes, axes_count, "axes"));
    return p.permute(x, order);
  });
}

loom_status loom_layer_reshape(loom_layer layer, uint64_t x, const uint64_t* extents, size_t extents_count,
                               uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const auto sizes, sizes_of(extents, extents_count, "extents"));
    return p.reshape(x, sizes);
  });
}

loom_status loom_layer_slice(loom_layer layer, uint64_t x, uint64_t axis, uint64_t first, uint64_t count, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.slice(x, size_of(axis), size_of(first), size_of(count)); });
}

loom_status loom_layer_pad(loom_layer layer, uint64_t x, uint64_t axis, uint64_t first, uint64_t extent, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.pad(x, size_of(axis), size_of(first), size_of(extent)); });
}

loom_status loom_layer_repeat(loom_layer layer, uint64_t x, uint64_t axis, uint64_t times, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.repeat(x, size_of(axis), size_of(times)); });
}

loom_status loom_layer_mean(loom_layer layer, uint64_t x, uint64_t axis, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.mean(x, size_of(axis)); });
}

loom_status loom_layer_dropout(loom_layer layer, uint64_t x, double rate, uint32_t which, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) { return p.dropout(x, rate, which); });
}

loom_status loom_layer_weight(loom_layer layer, const char* name, uint64_t like, uint64_t* y) {
  return op(layer, y, [&](ForeignPass& p) -> Made {
    LOOM_TRY(const std::string_view w, need_text(name, "name"));
    return p.weight(w, like);
  });
}

loom_status loom_layer_add_gradient(loom_layer layer, const char* name, uint64_t tensor) {
  return ask(layer, [&](ForeignPass& p) -> Result<void> {
    LOOM_TRY(const std::string_view w, need_text(name, "name"));
    return p.add_gradient(w, tensor);
  });
}
