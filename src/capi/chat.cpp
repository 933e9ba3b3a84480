// Conversations of loom.h.

#include "host/chat.h"

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"

namespace loom::capi {

struct ChatObject : Object {
  static constexpr Kind kKind = Kind::Chat;
  ChatObject(std::shared_ptr<SessionObject> of, Chat given) : session(std::move(of)), chat(std::move(given)) {}
  const std::shared_ptr<SessionObject> session;  // it goes after the chat
  Chat chat;
  std::string piece;  // that the last step gave
};

namespace {

// A chat and its session for one call.
struct TakenChat {
  Use<ChatObject> use;
  Turn turn, session_turn;
  ChatObject* operator->() const { return use.operator->(); }
};
Result<TakenChat> take_chat(loom_chat handle) {
  LOOM_TRY(auto use, Use<ChatObject>::of(handle));
  LOOM_TRY(Turn turn, Turn::of(*use.operator->(), "chat"));
  LOOM_TRY(Turn session_turn, Turn::of(*use->session, "session"));
  return TakenChat{std::move(use), std::move(turn), std::move(session_turn)};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_chat_create(loom_session session, const char* system, const loom_generation_options* options,
                             loom_chat* chat) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(chat));
    LOOM_TRY(const loom_generation_options given, read_struct(options));
    ChatOptions wanted;
    if (system != nullptr) wanted.system = system;
    LOOM_TRY(const auto use, Use<SessionObject>::of(session));
    LOOM_TRY(const Turn turn, Turn::of(*use.operator->(), "session"));
    LOOM_TRY(wanted.generation, generation_options_of(given, *use.operator->()));
    LOOM_TRY(wanted.prompt, prompt_request_of(given, use->model->model));
    LOOM_TRY(Chat made, Chat::create(use->model->model, *use->session, std::move(wanted)));
    LOOM_TRY(*chat, make_handle<ChatObject>(use.shared(), std::move(made)));
    return {};
  });
}

loom_status loom_chat_say(loom_chat chat, const void* text, size_t text_size, loom_cancel cancel) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.say(std::string(given), stop.flag());
  });
}

loom_status loom_chat_answer(loom_chat chat, loom_cancel cancel) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.begin_answer(stop.flag());
  });
}

loom_status loom_chat_next(loom_chat chat, loom_cancel cancel, loom_step* step) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(step));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    LOOM_TRY(Generator::Step done, c->chat.next(stop.flag()));
    c->piece = std::move(done.text);
    give_step(c->piece, c->chat.answer(), step, room);
    return {};
  });
}

loom_status loom_chat_stop(loom_chat chat) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.stop();
  });
}

loom_status loom_chat_result(loom_chat chat, loom_generation* result) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(result));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    give_generation(c->chat.answer(), c->chat.dropped_bytes(), result, room);
    return {};
  });
}

loom_status loom_chat_logprobs(loom_chat chat, loom_blob* logprobs) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(logprobs));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    LOOM_TRY(*logprobs, logprobs_blob(c->chat.answer(), c->chat.generation()));
    return {};
  });
}

loom_status loom_chat_messages(loom_chat chat, loom_blob* messages) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(messages));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    LOOM_TRY(*messages, make_blob(c->chat.messages()));
    return {};
  });
}

loom_status loom_chat_set_messages(loom_chat chat, const void* messages, size_t messages_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view text, need_bytes(messages, messages_size, "messages"));
    LOOM_TRY(const Json list, parse_json(text));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.set_messages(list);
  });
}

loom_status loom_chat_rewind(loom_chat chat, uint64_t count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.rewind(static_cast<std::size_t>(count));
  });
}

loom_status loom_chat_edit(loom_chat chat, uint64_t index, const void* text, size_t text_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.edit(static_cast<std::size_t>(index), std::string(given));
  });
}

loom_status loom_chat_save(loom_chat chat, const char* path) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.save(std::string(name));
  });
}

loom_status loom_chat_load(loom_chat chat, const char* path) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    return c->chat.load(std::string(name));
  });
}

loom_status loom_chat_receipt(loom_chat chat, loom_blob* receipt) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(receipt));
    LOOM_TRY(const TakenChat c, take_chat(chat));
    LOOM_TRY(const Json sealed, c->chat.receipt());
    LOOM_TRY(*receipt, make_blob(sealed));
    return {};
  });
}
