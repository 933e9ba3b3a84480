#include "cli/page_native.h"

#include <filesystem>

#include "core/config_reader.h"
#include "core/file.h"
#include "core/numerics_version.h"
#include "core/path.h"
#include "core/sha256.h"
#include "host/conversation.h"
#include "host/prompt.h"
#include "lm/kv_file.h"

namespace loom::cli {
namespace {

constexpr std::size_t kMostTokens = 4096;  // of an answer; a page asks for fewer

struct Question {
  Json messages;
  GenerationOptions generation;

  void fields(ConfigVisitor& visit) {
    visit.json("messages", messages);
    visit("max_tokens", generation.max_tokens, {1, kMostTokens});
    visit("temperature", generation.sampling.temperature, kNotNegative);
    std::size_t top_k = 0;
    visit("top_k", top_k, {0, 1 << 20});
    generation.sampling.top_k = static_cast<int>(top_k);
    visit("top_p", generation.sampling.top_p, {0, 1});
    visit("seed", generation.sampling.seed, kAnySize);
  }
};

Result<Question> read_question(const std::string& body) {
  LOOM_TRY(const Json json, parse_json(body));
  if (!json.is_object()) return fail(Code::CorruptData, "expected an object with \"messages\"");
  Question question;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) { question.fields(visit); }));
  LOOM_TRY(question.messages, conversation_from_json(question.messages));
  return question;
}

int status_of(Code code) {
  switch (code) {
    case Code::Cancelled: return 503;
    case Code::OutOfMemory: return 507;
    case Code::ContextFull: return 413;
    default: return 400;
  }
}

}  // namespace

Result<std::unique_ptr<NativeAnswers>> NativeAnswers::open(const std::string& path, const CommonOptions& options) {
  if (is_directory(path))
    return fail(Code::InvalidArgument,
                "{}: a page opens one file, this is a folder; loom convert {} MODEL.entity makes one of it", path,
                path);
  LOOM_TRY(LanguageModel model, open_model(path, options));
  LOOM_TRY_VOID(model.need_tokenizer());
  LOOM_TRY(const auto file, MappedFile::open(path));
  Sha256 hash;
  hash.update(file->bytes());
  const std::size_t bytes = file->bytes().size();
  LOOM_TRY(auto session, open_session(model, options));
  std::unique_ptr<NativeAnswers> answers(new NativeAnswers(std::move(model), std::move(session)));
  answers->description_ = Json{{"name", text_of(loom::path_of(path).filename())},
                               {"bytes", bytes},
                               {"sha256", to_hex(hash.finish())},
                               {"isa", name(answers->session_->isa())},
                               {"threads", answers->session_->threads()},
                               {"numerics_version", kNumericsVersion}};
  return answers;
}

HttpResponse NativeAnswers::answer(const std::string& body) {
  const std::unique_lock lock(one_at_a_time_, std::try_to_lock);
  if (!lock) return http_error(503, "another answer is being computed; ask again");
  auto computed = compute(body);
  if (!computed) return http_error(status_of(computed.error().code), computed.error().text());
  return {200, "application/json", dump_json(*computed) + "\n"};
}

Result<Json> NativeAnswers::compute(const std::string& body) {
  LOOM_TRY(Question question, read_question(body));
  LOOM_TRY_VOID(check(question.generation.sampling, static_cast<std::size_t>(model_.decoder->config.vocab_size)));
  PromptRequest request;
  request.messages = std::move(question.messages), request.context_tokens = session_->context_tokens();
  LOOM_TRY(const Prompt prompt, make_prompt(model_, std::move(request), &interrupt_flag()));
  if (prompt.ids.empty()) return fail(Code::InvalidArgument, "the prompt has no tokens");
  if (prompt.ids.size() > session_->context_tokens())
    return fail(Code::ContextFull, "the prompt has {} tokens, the context holds {}", prompt.ids.size(),
                session_->context_tokens());
  LOOM_TRY_VOID(keep_common(*session_, prompt.ids));
  const auto unread = std::span(prompt.ids).subspan(session_->length());
  LOOM_TRY(Generator generator, Generator::create(*session_, model_, unread, question.generation));
  while (!generator.done()) LOOM_TRY_VOID(generator.next(&interrupt_flag()));
  const Generation& g = generator.result();
  if (g.stop_reason == StopReason::Cancelled) return fail(Code::Cancelled, "the server ends");
  const double seconds = g.decode_seconds;
  return Json{{"hash", to_hex(g.hash)},
              {"text", g.text},
              {"ids", g.ids},
              {"prompt_tokens", prompt.ids.size()},
              {"stop_reason", name(g.stop_reason)},
              {"tokens_per_second", seconds > 0 ? static_cast<double>(g.decode_steps) / seconds : 0.0}};
}

}  // namespace loom::cli
