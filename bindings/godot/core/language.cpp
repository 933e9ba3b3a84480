#include "language.h"

#include <cmath>

#include "hub.h"
#include "utf8.h"

namespace loom_godot {
namespace {

constexpr const char* kCancelled = "the answer was cancelled";

std::string hex(const std::uint8_t* bytes, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    for (const int nibble : {bytes[i] >> 4, bytes[i] & 15}) out += "0123456789abcdef"[nibble];
  }
  return out;
}

// Writes an answer of a generator or a chat to its end. Every piece goes to `piece`.
template <class Source>
loom::Result<Answer> write(Source& source, const loom::Cancel& cancel,
                           const std::function<void(std::string)>& piece = {}) {
  Utf8 text;
  const auto give = [&](std::string settled) {
    if (piece && !settled.empty()) piece(std::move(settled));
  };
  for (;;) {
    auto step = source.next(cancel);
    // A chat whose question was cancelled while it was read runs no answer.
    if (!step && step.error().code() == LOOM_INVALID_STATE) return loom::Error(LOOM_CANCELLED, kCancelled);
    if (!step) return step.error();
    give(text.take({step->text, step->text_size}));
    if (step->stop == LOOM_STOP_CANCELLED) return loom::Error(LOOM_CANCELLED, kCancelled);
    if (step->stop != LOOM_STOP_NOT_YET) break;
  }
  give(text.finish());
  auto result = source.result();
  if (!result) return result.error();
  return Answer{Utf8::clean({result->text, result->text_size}), hex(result->hash, sizeof result->hash)};
}

// Like write(), for a thread: the events of an answer.
template <class Source>
void write_events(Source& source, Mailbox& mailbox, const loom::Cancel& cancel, Answer& to) {
  auto answer =
      write(source, cancel, [&](std::string text) { mailbox.post({Event::Kind::kToken, std::move(text), {}}); });
  if (!answer) return mailbox.post(failed_with(answer.error()));
  to = *answer;
  mailbox.post({Event::Kind::kFinished, answer->text, {}});
}

// A setting with its range; a whole one has no fraction.
struct Setting {
  const char* name;
  double least, most;
  bool is_whole;
  void (*put)(loom_generation_options&, double);
};
constexpr double kExact = 9007199254740992.0;  // 2^53: the numbers of scripts are exact up to it
constexpr Setting kSettings[] = {
    {"max_tokens", 1, 1e9, true, [](auto& o, double v) { o.max_tokens = static_cast<std::uint64_t>(v); }},
    {"min_tokens", 0, 1e9, true, [](auto& o, double v) { o.min_tokens = static_cast<std::uint64_t>(v); }},
    {"seed", 0, kExact, true, [](auto& o, double v) { o.seed = static_cast<std::uint64_t>(v); }},
    {"temperature", 0, 100, false, [](auto& o, double v) { o.temperature = static_cast<float>(v); }},
    {"top_p", 0, 1, false, [](auto& o, double v) { o.top_p = static_cast<float>(v); }},
    {"min_p", 0, 1, false, [](auto& o, double v) { o.min_p = static_cast<float>(v); }},
    {"top_k", 0, 1e9, true, [](auto& o, double v) { o.top_k = static_cast<std::int32_t>(v); }},
    {"repetition_penalty", 0, 100, false, [](auto& o, double v) { o.repetition_penalty = static_cast<float>(v); }},
    {"speculate", 0, 1, true, [](auto& o, double v) { o.speculate = static_cast<std::int32_t>(v); }},
    {"plain_text", 0, 1, true, [](auto& o, double v) { o.plain_text = static_cast<std::int32_t>(v); }},
    {"threads", 0, 1024, true, nullptr},
    {"context_tokens", 0, 1e9, true, nullptr},
};

}  // namespace

std::string Settings::set(const std::string& name, double value) {
  std::string names;
  for (const Setting& each : kSettings) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
    if (name != each.name) continue;
    // NaN fails the comparisons.
    if (!(value >= each.least && value <= each.most) || (each.is_whole && value != std::floor(value))) {
      return name + ": expected a " + (each.is_whole ? "whole number" : "number") + " from " +
             std::to_string(static_cast<std::int64_t>(each.least)) + " to " +
             std::to_string(static_cast<std::int64_t>(each.most)) + ", got " + std::to_string(value);
    }
    values_[name] = value;
    return {};
  }
  return "unknown option \"" + name + "\": expected one of " + names;
}

double Settings::get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? 0 : found->second;
}

loom_generation_options Settings::generation(std::int64_t max_tokens) const {
  auto options = loom::sized<loom_generation_options>();
  for (const Setting& each : kSettings) {
    const auto found = values_.find(each.name);
    if (each.put && found != values_.end()) each.put(options, found->second);
  }
  if (max_tokens > 0) options.max_tokens = static_cast<std::uint64_t>(max_tokens);
  return options;
}

namespace {

loom::Result<loom::Model> open_model(const std::string& path, int threads, const loom::Cancel& cancel) {
  auto found = find_model(path);
  if (!found) return found.error();
  auto compute = loom::sized<loom_compute_options>();
  compute.thread_count = threads;
  auto options = loom::sized<loom_model_options>();
  options.compute = &compute;
  options.cancel = cancel.get();
  return loom::Model::open(*found, options);
}

}  // namespace

bool Model::load_model(std::string path) {
  if (!is_free()) return false;
  auto model = open_model(system_path(path), settings_.threads(), {});
  if (!model) return fail(model.error());
  *model_ = *model;
  session_ = {};
  return true;
}

bool Model::load_model_async(std::string path) {
  if (!is_free()) return false;
  loading_ = std::make_shared<loom::Model>();
  return start([to = loading_, path = system_path(path), threads = settings_.threads()](Mailbox& mailbox,
                                                                                        const loom::Cancel& cancel) {
    auto model = open_model(path, threads, cancel);
    if (!model) return mailbox.post(failed_with(model.error()));
    *to = *model;
    mailbox.post({Event::Kind::kLoaded, {}, {}});
  });
}

void Model::on_end(const Event& event) {
  if (event.kind == Event::Kind::kLoaded) {
    model_ = loading_;
    session_ = {};
  }
  if (event.kind == Event::Kind::kFinished) answer_ = writing_;
  loading_ = nullptr;
  writing_ = nullptr;
}

bool Model::is_ready(std::int64_t max_tokens) {
  if (!is_free()) return false;
  if (!*model_) return fail("InvalidState", "no model is loaded: call load_model() first");
  return max_tokens > 0 ||
         fail("InvalidArgument", "max_tokens: expected at least 1, got " + std::to_string(max_tokens));
}

loom::Result<loom::Session> Model::make_session() const {
  auto compute = loom::sized<loom_compute_options>();
  compute.thread_count = settings_.threads();
  auto options = loom::sized<loom_session_options>();
  options.compute = &compute;
  options.context_tokens = settings_.context_tokens();
  return loom::Session::create(*model_, options);
}

loom::Result<loom::Generator> Model::begin(const std::string& prompt, std::int64_t max_tokens) {
  if (!session_) {
    auto session = make_session();
    if (!session) return session.error();
    session_ = *session;
  } else if (auto cleared = session_.rewind(0, 0); !cleared) {
    return cleared.error();
  }
  return loom::Generator::from_text(session_, prompt, LOOM_PROMPT_AUTO, settings_.generation(max_tokens));
}

std::string Model::generate(std::string prompt, std::int64_t max_tokens) {
  if (!is_ready(max_tokens)) return {};
  auto generator = begin(prompt, max_tokens);
  if (!generator) return fail(generator.error()), std::string();
  auto answer = write(*generator, {});
  if (!answer) return fail(answer.error()), std::string();
  *answer_ = *answer;
  return answer->text;
}

bool Model::stream(std::string prompt, std::int64_t max_tokens) {
  if (!is_ready(max_tokens)) return false;
  auto generator = begin(prompt, max_tokens);
  if (!generator) return fail(generator.error());
  writing_ = std::make_shared<Answer>();
  return start([generator = *generator, to = writing_](Mailbox& mailbox, const loom::Cancel& cancel) {
    write_events(generator, mailbox, cancel, *to);
  });
}

bool Model::set_option(std::string name, double value) {
  if (!is_free()) return false;
  if (const std::string why = settings_.set(name, value); !why.empty()) return fail("InvalidArgument", why);
  session_ = {};
  return true;
}

std::string Model::info() {
  if (!*model_) return fail("InvalidState", "no model is loaded: call load_model() first"), std::string();
  auto info = model_->info();
  if (!info) return fail(info.error()), std::string();
  return info->text();
}

bool Chat::begin(Object* model, std::string system) {
  if (!is_free()) return false;
  const Model* of = dynamic_cast<Model*>(model);
  if (!of) return fail("InvalidArgument", "begin: expected a LoomModel");
  if (!of->is_loaded()) return fail("InvalidState", "the model is not loaded: call its load_model() first");
  auto session = of->make_session();
  if (!session) return fail(session.error());
  auto chat = loom::Chat::create(*session, system.empty() ? nullptr : system.c_str(), of->settings().generation());
  if (!chat) return fail(chat.error());
  chat_ = *chat;
  return true;
}

bool Chat::is_ready() {
  return is_free() && (chat_ || fail("InvalidState", "there is no conversation: call begin() with a model first"));
}

void Chat::on_end(const Event& event) {
  if (event.kind == Event::Kind::kFinished) answer_ = writing_;
  writing_ = nullptr;
}

std::string Chat::ask(std::string text) {
  if (!is_ready()) return {};
  if (auto begun = chat_.say(text); !begun) return fail(begun.error()), std::string();
  auto answer = write(chat_, {});
  if (!answer) return fail(answer.error()), std::string();
  *answer_ = *answer;
  return answer->text;
}

bool Chat::say(std::string text) {
  if (!is_ready()) return false;
  writing_ = std::make_shared<Answer>();
  return start([chat = chat_, text = std::move(text), to = writing_](Mailbox& mailbox, const loom::Cancel& cancel) {
    if (auto begun = chat.say(text, cancel); !begun) return mailbox.post(failed_with(begun.error()));
    write_events(chat, mailbox, cancel, *to);
  });
}

bool Chat::done(loom::Result<void> result) { return result ? true : fail(result.error()); }

std::string Chat::messages() {
  if (!is_ready()) return {};
  auto messages = chat_.messages();
  if (!messages) return fail(messages.error()), std::string();
  return Utf8::clean(messages->bytes());
}

bool Chat::set_messages(std::string json) { return is_ready() && done(chat_.set_messages(json)); }

bool Chat::rewind(std::int64_t count) {
  if (count < 0) return fail("InvalidArgument", "rewind: expected at least 0, got " + std::to_string(count));
  return is_ready() && done(chat_.rewind(static_cast<std::uint64_t>(count)));
}

bool Chat::save_chat(std::string path) { return is_ready() && done(chat_.save(system_path(path))); }

bool Chat::load_chat(std::string path) { return is_ready() && done(chat_.load(system_path(path))); }

}  // namespace loom_godot
