// Sessions of loom.h: tokens in, logits out.

#include <algorithm>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/hooks.h"
#include "core/json.h"
#include "lm/peft.h"

namespace loom::capi {
namespace {

Result<SessionOptions> options_of(const loom_session_options& given) {
  SessionOptions out;
  LOOM_TRY_VOID(read_compute(given.compute, out));
  out.context_tokens = given.context_tokens;
  if (given.sequences != 0) out.sequences = given.sequences;
  if (given.kv_dtype != nullptr) {
    LOOM_TRY(out.kv_dtype, dtype_from_name(given.kv_dtype));
  }
  if (given.int8_activations != 0) out.activations = Activations::int8;
  out.on_loss = [](const std::string& line) { log_message(LogLevel::Info, line); };
  return out;
}

Result<void> need_sequence(const Session& session, std::uint64_t sequence) {
  if (sequence < session.sequences()) return {};
  return fail(Code::OutOfRange, "sequence {}: the session holds {}", sequence, session.sequences());
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_session_create(loom_model model, const loom_session_options* options, loom_session* session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(session));
    LOOM_TRY(const loom_session_options given, read_struct(options));
    LOOM_TRY(const SessionOptions wanted, options_of(given));
    LOOM_TRY(const auto use, Use<ModelObject>::of(model));
    LOOM_TRY(auto made, Session::create(use->model.decoder, wanted));
    LOOM_TRY(*session, make_handle<SessionObject>(use.shared(), std::move(made)));
    return {};
  });
}

loom_status loom_session_feed(loom_session session, uint64_t sequence, const int32_t* ids, size_t ids_count,
                              loom_cancel cancel, const float** logits, size_t* logits_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(logits, logits_count));
    LOOM_TRY(const auto given, need_array(ids, ids_count, "ids"));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    LOOM_TRY(const std::span<const float> row, taken->session->feed(given, sequence, stop.flag()));
    *logits = row.data(), *logits_count = row.size();
    return {};
  });
}

loom_status loom_session_tokens(loom_session session, uint64_t sequence, const int32_t** ids, size_t* ids_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(ids, ids_count));
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    LOOM_TRY_VOID(need_sequence(*taken->session, sequence));
    const std::span<const std::int32_t> tokens = taken->session->tokens(sequence);
    *ids = tokens.data(), *ids_count = tokens.size();
    return {};
  });
}

loom_status loom_session_rewind(loom_session session, uint64_t sequence, uint64_t length) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    return taken->session->rewind(length, sequence);
  });
}

loom_status loom_session_fork(loom_session session, uint64_t from, uint64_t to) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    return taken->session->fork(from, to);
  });
}

loom_status loom_session_snapshot(loom_session session, uint64_t sequence, loom_blob* bytes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(bytes));
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    LOOM_TRY_VOID(need_sequence(*taken->session, sequence));
    LOOM_TRY(const std::vector<std::byte> saved, taken->session->snapshot(sequence));
    LOOM_TRY(*bytes, make_blob(std::span<const std::byte>(saved)));
    return {};
  });
}

loom_status loom_session_restore(loom_session session, uint64_t sequence, const void* bytes, size_t bytes_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view saved, need_bytes(bytes, bytes_size, "bytes"));
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    LOOM_TRY_VOID(need_sequence(*taken->session, sequence));
    return taken->session->restore(std::as_bytes(std::span(saved)), sequence);
  });
}

loom_status loom_model_adapters(loom_model model, loom_blob* list) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(list));
    LOOM_TRY(const auto use, Use<ModelObject>::of(model));
    Json out = Json::array();
    for (const PeftInfo& each : list_peft(*use->model.decoder))
      out.push_back({{"name", each.name},
                     {"rank", each.rank},
                     {"alpha", each.alpha},
                     {"matrices", each.matrices},
                     {"parameters", each.parameters}});
    LOOM_TRY(*list, make_blob(out));
    return {};
  });
}

loom_status loom_session_choose_adapters(loom_session session, const char* const* names, size_t names_count,
                                         int32_t all) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto given, need_array(names, names_count, "names"));
    std::optional<std::vector<std::string>> chosen(std::in_place);
    for (const char* const each : given) {
      LOOM_TRY(const std::string_view text, need_text(each, "a name"));
      chosen->emplace_back(text);
    }
    if (all != 0) chosen.reset();
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    return taken->session->choose_adapters(std::move(chosen));
  });
}

loom_status loom_session_info(loom_session session, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    const Session& s = *taken->session;
    Json adapters = Json::array();
    for (const PeftInfo& each : list_peft(s.model()))
      if (s.adapters() ? std::ranges::find(*s.adapters(), each.name) != s.adapters()->end() : each.enabled)
        adapters.push_back(each.name);
    LOOM_TRY(*info, make_blob(Json{{"adapters", std::move(adapters)},
                                   {"isa", name(s.isa())},
                                   {"threads", s.threads()},
                                   {"activations", s.activations() == Activations::int8 ? "int8" : "int16"},
                                   {"context_tokens", s.context_tokens()},
                                   {"sequences", s.sequences()},
                                   {"scratch_bytes", s.scratch_bytes()},
                                   {"token_bytes", s.token_bytes()}}));
    return {};
  });
}
