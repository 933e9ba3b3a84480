// Sessions of networks in loom.h: tensors in, tensors and gradients out.

#include <cstring>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"

namespace loom::capi {
namespace {

Result<NetworkSessionOptions> options_of(const loom_network_session_options& given) {
  NetworkSessionOptions out;
  LOOM_TRY_VOID(read_workers(given, out));
  out.backward = given.backward != 0;
  if (given.max_bytes != 0) out.max_bytes = given.max_bytes;
  out.context = given.context;
  if (given.kv_dtype != nullptr) {
    LOOM_TRY(out.kv_dtype, dtype_from_name(given.kv_dtype));
  }
  out.checkpoint_every = given.checkpoint_every;
  return out;
}

Result<bool> is_prepared(NetworkObject& object) {
  LOOM_TRY(const Reading reading, Reading::of(object));
  return object.network.is_prepared();
}

bool is_ready(const NetworkSessionObject& s) { return s.session != nullptr && s.plan == s.network->plan; }

// Plans a session for the network as it is now. False: the network was never prepared.
Result<bool> plan_session(NetworkSessionObject& s) {
  NetworkObject& object = *s.network;
  LOOM_TRY(const Reading reading, Reading::of(object));
  if (!object.network.is_prepared()) return false;
  LOOM_TRY_VOID(need_values(object.network));
  if (s.session == nullptr) {
    LOOM_TRY(s.session, NetworkSession::create(object.network, s.options));
  } else {
    LOOM_TRY_VOID(s.session->adopt());
  }
  if (s.watching.watch() != nullptr && s.device() != nullptr) return fail(Code::Unsupported, kWatchedHere);
  LOOM_TRY_VOID(s.watching.renew(object.network));
  s.session->observe(s.watching.watch());
  s.plan = object.plan;
  return true;
}

// The same, and a network that nobody has prepared is prepared for this input; null: there is none.
Result<void> make_ready(NetworkSessionObject& s, const Shape* input) {
  NetworkObject& object = *s.network;
  if (input == nullptr && s.session == nullptr) return fail(Code::InvalidState, "the session has run nothing so far");
  if (input != nullptr) {
    LOOM_TRY(const bool prepared, is_prepared(object));
    if (!prepared) {
      LOOM_TRY(const Writing writing, Writing::of(object));
      if (!object.network.is_prepared()) {
        ++object.plan;
        LOOM_TRY_VOID(object.network.prepare(*input));
      }
    }
  }
  LOOM_TRY(const bool planned, plan_session(s));
  return planned ? Result<void>{} : fail(Code::InvalidState, "the network was changed and has run nothing since");
}

// Runs call(session) while the network stays as it is; `writes`: it changes values of the network.
template <class F>
Result<void> with_session(NetworkSessionObject& s, const Shape* input, bool writes, F&& call) {
  for (;;) {
    if (writes) {
      LOOM_TRY(const Writing writing, Writing::of(*s.network, s.device()));
      if (is_ready(s)) {
        ++s.network->values;
        return call(*s.session);
      }
    } else {
      LOOM_TRY(const Reading reading, Reading::of(*s.network, s.device()));
      if (is_ready(s)) return call(*s.session);
    }
    LOOM_TRY_VOID(make_ready(s, input));
  }
}

// A tensor beside the input, in the network's element type.
Result<ConstView> beside(const float* values, std::size_t count, const std::uint64_t* extents, std::size_t rank,
                         Element element, std::vector<std::byte>& keeps, const char* what) {
  LOOM_TRY(const Shape shape, shape_of(extents, rank, what));
  LOOM_TRY_VOID(tensor_of(values, count, shape, what));
  if (element == Element::f32) return kept_copy(values, shape, keeps);
  const std::vector<double> wide(values, values + count);
  return kept_copy(wide.data(), shape, keeps);
}

Result<PassExtras> extras_of(NetworkSessionObject& s, const loom_pass& given, const CancelOf& cancel) {
  PassExtras out;
  out.training = given.training != 0, out.step = given.step, out.cancel = cancel.flag();
  const Element element = s.network->network.settings.activations;
  NetworkSessionObject::Kept& kept = s.kept;
  LOOM_TRY(const auto lengths, need_array(given.lengths, given.lengths_count, "lengths"));
  kept.lengths.assign(lengths.begin(), lengths.end());
  out.lengths = kept.lengths;
  if (given.external != nullptr) {
    LOOM_TRY(kept.external_view, beside(given.external, given.external_count, given.external_shape,
                                        given.external_shape_count, element, kept.external, "external"));
    out.external = &kept.external_view;
  }
  if (given.mask != nullptr) {
    LOOM_TRY(kept.mask_view, beside(given.mask, given.mask_count, given.mask_shape, given.mask_shape_count, element,
                                    kept.mask, "mask"));
    out.mask = &kept.mask_view;
  }
  return out;
}

template <class T>
constexpr Element element_of() {
  return sizeof(T) == sizeof(double) ? Element::f64 : Element::f32;
}
template <class T>
Result<void> need_element(const NetworkSessionObject& s) {
  if (s.network->network.settings.activations == element_of<T>()) return {};
  return fail(Code::InvalidArgument, "the network computes in {}: call the function {}",
              element_of<T>() == Element::f32 ? "f64" : "f32",
              element_of<T>() == Element::f32 ? "whose name ends in _f64" : "without _f64");
}

template <class T>
loom_status forward(loom_network_session session, const T* input, std::size_t count, const std::uint64_t* extents,
                    std::size_t rank, const loom_pass* pass, const T** output, std::size_t* output_count,
                    const std::uint64_t** output_shape, std::size_t* output_rank) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(output, output_count, output_shape, output_rank));
    LOOM_TRY(const Shape shape, shape_of(extents, rank, "shape"));
    LOOM_TRY(ConstView x, tensor_of(input, count, shape, "input"));
    LOOM_TRY(const loom_pass given, read_struct(pass));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    LOOM_TRY_VOID(need_element<T>(*s.operator->()));
    LOOM_TRY(const PassExtras extras, extras_of(*s.operator->(), given, cancel));
    if (s->options.backward) x = kept_copy(input, shape, s->kept.input);
    return with_session(*s.operator->(), &shape, extras.training, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(const ConstView y, running.forward_here(x, extras));
      give_output(y, s->output_shape, output, output_count, output_shape, output_rank);
      return {};
    });
  });
}

template <class T>
loom_status backward(loom_network_session session, const T* gradient, std::size_t count, loom_cancel cancel,
                     const T** input_gradient, std::size_t* input_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(input_gradient, input_count));
    LOOM_TRY(const auto dy, need_array(gradient, count, "output_gradient"));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    LOOM_TRY_VOID(need_element<T>(*s.operator->()));
    if (s->session == nullptr || s->plan != s->network->plan)
      return fail(Code::InvalidState, "backward needs a forward of the network as it is now");
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(const ConstView view, tensor_of(dy.data(), dy.size(), running.output_shape(), "output_gradient"));
      LOOM_TRY(const ConstView dx, running.backward_here(view, stop.flag()));
      *input_gradient = dx.as<T>(), *input_count = dx.shape.elements();
      return {};
    });
  });
}

Json info_of(NetworkSession& s) {
  return Json{{"element", s.element() == Element::f64 ? "f64" : "f32"},
              {"threads", s.threads()},
              {"scratch_bytes", s.scratch_bytes()},
              {"output_shape", s.output_shape().extents()},
              {"is_stateful", s.is_stateful()},
              {"length", s.length()},
              {"states", s.num_states()}};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_network_session_create(loom_network network, const loom_network_session_options* options,
                                        loom_network_session* session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(session));
    LOOM_TRY(const loom_network_session_options given, read_struct(options));
    LOOM_TRY(NetworkSessionOptions wanted, options_of(given));
    LOOM_TRY(const auto use, Use<NetworkObject>::of(network));
    auto made = std::make_shared<NetworkSessionObject>(use.shared(), std::move(wanted));
    // A network that is being changed meanwhile, or has no shapes yet, is looked at when the session runs.
    if (const auto planned = plan_session(*made);
        !planned && planned.error().code != Code::Busy && planned.error().code != Code::NoValue)
      return tl::make_unexpected(planned.error());
    LOOM_TRY(*session, add_object(Kind::NetworkSession, std::move(made)));
    return {};
  });
}

loom_status loom_network_session_forward(loom_network_session session, const float* input, size_t input_count,
                                         const uint64_t* shape, size_t shape_count, const loom_pass* pass,
                                         const float** output, size_t* output_count, const uint64_t** output_shape,
                                         size_t* output_shape_count) {
  return forward(session, input, input_count, shape, shape_count, pass, output, output_count, output_shape,
                 output_shape_count);
}

loom_status loom_network_session_forward_f64(loom_network_session session, const double* input, size_t input_count,
                                             const uint64_t* shape, size_t shape_count, const loom_pass* pass,
                                             const double** output, size_t* output_count, const uint64_t** output_shape,
                                             size_t* output_shape_count) {
  return forward(session, input, input_count, shape, shape_count, pass, output, output_count, output_shape,
                 output_shape_count);
}

loom_status loom_network_session_bind(loom_network_session session, const float* input, size_t input_count,
                                      const uint64_t* shape, size_t shape_count, float* output, size_t output_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    if (input == nullptr) {
      s->bound = {};
      return {};
    }
    LOOM_TRY(const Shape extents, shape_of(shape, shape_count, "shape"));
    LOOM_TRY(const ConstView x, tensor_of(input, input_count, extents, "input"));
    LOOM_TRY_VOID(need_element<float>(*s.operator->()));
    if (output == nullptr) return fail(Code::InvalidArgument, "output is NULL");
    return with_session(*s.operator->(), &extents, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY_VOID(running.prepare(extents));
      if (running.output_shape().elements() != output_count)
        return fail(Code::ShapeMismatch, "the output has {} values {}, there is room for {}",
                    running.output_shape().elements(), running.output_shape().text(), output_count);
      s->bound = {x, output, output_count};
      return {};
    });
  });
}

loom_status loom_network_session_run(loom_network_session session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    const NetworkSessionObject::Bound& bound = s->bound;
    if (bound.output == nullptr) return fail(Code::InvalidState, "nothing is bound to the session");
    return with_session(*s.operator->(), &bound.input.shape, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(const ConstView y, running.forward_here(bound.input));
      if (y.shape.elements() != bound.outputs)
        return fail(Code::InvalidState, "the network's output has another size since it was bound");
      std::memcpy(bound.output, y.data, bound.outputs * sizeof(float));
      return {};
    });
  });
}

loom_status loom_network_session_backward(loom_network_session session, const float* output_gradient,
                                          size_t output_gradient_count, loom_cancel cancel,
                                          const float** input_gradient, size_t* input_gradient_count) {
  return backward(session, output_gradient, output_gradient_count, cancel, input_gradient, input_gradient_count);
}

loom_status loom_network_session_backward_f64(loom_network_session session, const double* output_gradient,
                                              size_t output_gradient_count, loom_cancel cancel,
                                              const double** input_gradient, size_t* input_gradient_count) {
  return backward(session, output_gradient, output_gradient_count, cancel, input_gradient, input_gradient_count);
}

loom_status loom_network_session_gradient(loom_network_session session, const char* weight, float* values,
                                          size_t values_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view path, need_text(weight, "weight"));
    LOOM_TRY(const auto room, need_array(values, values_count, "values"));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    if (!s->options.backward) return fail(Code::InvalidState, "the session was made without backward");
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(const Weight* found, weight_of(s->network->network, path));
      LOOM_TRY_VOID(need_room(*found, path, room.size()));
      return give_gradient(running.gradients(), *found, running.device(), values);
    });
  });
}

loom_status loom_network_session_clear_gradients(loom_network_session session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    if (s->session != nullptr && s->options.backward) s->session->gradients().clear();
    return {};
  });
}

loom_status loom_network_session_reset(loom_network_session session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    if (s->session != nullptr) s->session->reset();
    return {};
  });
}

loom_status loom_network_session_rewind(loom_network_session session, uint64_t length) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    return with_session(*s.operator->(), nullptr, false,
                        [&](NetworkSession& running) { return running.rewind(static_cast<std::size_t>(length)); });
  });
}

loom_status loom_network_session_snapshot(loom_network_session session, loom_blob* bytes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(bytes));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) -> Result<void> {
      const std::vector<std::byte> saved = running.carried();
      if (running.device() != nullptr) LOOM_TRY_VOID(running.device()->check());
      LOOM_TRY(*bytes, make_blob(std::span<const std::byte>(saved)));
      return {};
    });
  });
}

loom_status loom_network_session_restore(loom_network_session session, const void* bytes, size_t bytes_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view saved, need_bytes(bytes, bytes_size, "bytes"));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    return with_session(*s.operator->(), nullptr, false,
                        [&](NetworkSession& running) { return running.carry(std::as_bytes(std::span(saved))); });
  });
}

loom_status loom_network_session_info(loom_network_session session, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(*info, make_blob(info_of(running)));
      return {};
    });
  });
}
