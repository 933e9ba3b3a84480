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
  LOOM_TRY_VOID(read_compute(given.compute, out));
  out.backward = given.backward != 0;
  out.context = given.context;
  if (given.kv_dtype != nullptr) {
    LOOM_TRY(out.kv_dtype, dtype_from_name(given.kv_dtype));
  }
  out.checkpoint_every = given.checkpoint_every;
  return out;
}

bool is_ready(const NetworkSessionObject& s) { return s.session != nullptr && s.session->is_current(); }

// Creates the session for the network's plan, or goes on with a new one after an edit. False: the network has no plan.
Result<bool> plan_session(NetworkSessionObject& s) {
  NetworkObject& object = *s.network;
  LOOM_TRY(const Reading reading, Reading::of(object));
  const std::shared_ptr<const ForwardPlan> plan = object.current_plans().forward;
  if (plan == nullptr) return false;
  LOOM_TRY_VOID(need_values(object.network));
  if (s.session == nullptr) {
    LOOM_TRY(s.session, NetworkSession::create(object.network, plan, s.options));
  } else {
    LOOM_TRY_VOID(s.session->use_new_plan(plan));
  }
  if (s.watching.watch() != nullptr && s.device() != nullptr) return fail(Code::Unsupported, kWatchedHere);
  LOOM_TRY_VOID(s.watching.renew(object.network));
  s.session->observe(s.watching.watch());
  return true;
}

// Like plan_session(), where a network without a plan is planned for this input; null: there is none.
Result<void> make_ready(NetworkSessionObject& s, const Shape* input) {
  if (input == nullptr && s.session == nullptr) return fail(Code::InvalidState, "the session has run nothing so far");
  LOOM_TRY(bool planned, plan_session(s));
  if (!planned && input != nullptr) {
    {
      LOOM_TRY(const Writing writing, Writing::of(*s.network));
      if (s.network->current_plans().forward == nullptr) LOOM_TRY_VOID(plan_forward(*s.network, *input));
    }
    LOOM_TRY(planned, plan_session(s));
  }
  return planned ? Result<void>{}
                 : fail(Code::InvalidState, "the network was edited: run a forward pass before this call");
}

// Runs call(session) while the network stays as it is; `writes`: it changes values of the network.
template <class F>
Result<void> with_session(NetworkSessionObject& s, const Shape* input, bool writes, F&& call) {
  bool has_run = false;
  const auto run = [&]() -> Result<void> {
    if (!is_ready(s)) return {};
    has_run = true;
    if (writes) ++s.network->values;
    return call(*s.session);
  };
  const auto run_alone = [&]() -> Result<void> {
    if (writes) {
      LOOM_TRY(const Writing writing, Writing::of(*s.network, s.device()));
      return run();
    }
    LOOM_TRY(const Reading reading, Reading::of(*s.network, s.device()));
    return run();
  };
  LOOM_TRY_VOID(run_alone());
  if (has_run) return {};
  LOOM_TRY_VOID(make_ready(s, input));
  LOOM_TRY_VOID(run_alone());
  return has_run ? Result<void>{} : fail(Code::Busy, "the network was changed by another call meanwhile");
}

// A tensor beside the input, kept in the network's element type.
Result<ConstView> kept_tensor(const loom_tensor* tensor, Element element, std::vector<std::byte>& keeps,
                              const char* what) {
  LOOM_TRY(const ConstView given, view_of(tensor, what));
  if (given.element == element) return kept_copy(given, keeps);
  if (element == Element::f32)
    return fail(Code::InvalidArgument, "{} has float64 values, the network computes in float32", what);
  const std::vector<double> wide(given.as<float>(), given.as<float>() + given.shape.elements());
  return kept_copy({wide.data(), given.shape, Element::f64}, keeps);
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
    LOOM_TRY(kept.external_view, kept_tensor(given.external, element, kept.external, "external"));
    out.external = &kept.external_view;
  }
  if (given.mask != nullptr) {
    LOOM_TRY(kept.mask_view, kept_tensor(given.mask, element, kept.mask, "mask"));
    out.mask = &kept.mask_view;
  }
  return out;
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

loom_status loom_network_session_forward(loom_network_session session, const loom_tensor* input, const loom_pass* pass,
                                         loom_tensor* output) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(output));
    LOOM_TRY(ConstView x, view_of(input, "input"));
    LOOM_TRY(const loom_pass given, read_struct(pass));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    LOOM_TRY_VOID(need_element(s->network->network.settings.activations, x.element, "input"));
    LOOM_TRY(const PassExtras extras, extras_of(*s.operator->(), given, cancel));
    if (s->options.backward) x = kept_copy(x, s->kept.input);
    return with_session(*s.operator->(), &x.shape, extras.training, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(const ConstView y, running.forward_host(x, extras));
      LOOM_TRY_VOID(need_answers());
      write_struct(tensor_of_view(y, s->output_shape), output, room);
      return {};
    });
  });
}

loom_status loom_network_session_bind(loom_network_session session, const loom_tensor* input,
                                      const loom_tensor* output) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    if (input == nullptr) {
      s->bound = {};
      return {};
    }
    LOOM_TRY(const ConstView x, view_of(input, "input"));
    LOOM_TRY_VOID(need_element(s->network->network.settings.activations, x.element, "input"));
    return with_session(*s.operator->(), &x.shape, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY_VOID(running.prepare(x.shape));
      LOOM_TRY(const Room y, room_of(output, running.output_shape(), "output"));
      LOOM_TRY_VOID(need_element(s->network->network.settings.activations, y.element, "output"));
      s->bound = {x, y.data, running.output_shape().elements() * bytes_of(y.element)};
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
      LOOM_TRY(const ConstView y, running.forward_host(bound.input));
      if (y.shape.elements() * bytes_of(y.element) != bound.bytes)
        return fail(Code::InvalidState, "the network's output has another size since it was bound");
      std::memcpy(bound.output, y.data, bound.bytes);
      return {};
    });
  });
}

loom_status loom_network_session_backward(loom_network_session session, const loom_tensor* output_gradient,
                                          loom_cancel cancel, loom_tensor* input_gradient) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(input_gradient));
    LOOM_TRY(const ConstView given, view_of(output_gradient, "output_gradient"));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    LOOM_TRY_VOID(need_element(s->network->network.settings.activations, given.element, "output_gradient"));
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) -> Result<void> {
      const Shape& shape = running.output_shape();
      if (given.shape.elements() != shape.elements())
        return fail(Code::ShapeMismatch, "output_gradient has {} values, the output {} {}", given.shape.elements(),
                    shape.text(), shape.elements());
      LOOM_TRY(const ConstView dx, running.backward_host({given.data, shape, given.element}, stop.flag()));
      LOOM_TRY_VOID(need_answers());
      write_struct(tensor_of_view(dx, s->output_shape), input_gradient, room);
      return {};
    });
  });
}

loom_status loom_network_session_gradient(loom_network_session session, const char* weight, const loom_tensor* values) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view path, need_text(weight, "weight"));
    LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
    if (!s->options.backward) return fail(Code::InvalidState, "the session was made without backward");
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) -> Result<void> {
      LOOM_TRY(const Weight* found, weight_of(s->network->network, path));
      LOOM_TRY(const Room room, room_of(values, found->shape(), path));
      return give_gradient(running.gradients(), *found, running.device(), room);
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
      const std::vector<std::byte> saved = running.save_state();
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
    return with_session(*s.operator->(), nullptr, false, [&](NetworkSession& running) {
      return running.restore_state(std::as_bytes(std::span(saved)));
    });
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
