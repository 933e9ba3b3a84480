#include <cstdio>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generation_options.h"
#include "cli/output_file.h"
#include "cli/prompt_options.h"
#include "cli/receipt_option.h"
#include "core/numerics_version.h"
#include "core/system.h"
#include "host/conversation.h"
#include "host/logprobs.h"
#include "host/prompt.h"
#include "io/identify.h"
#include "lm/kv_file.h"

namespace loom::cli {
namespace {

struct GenerateOptions {
  CommonOptions common;
  GenerationFlags generation;
  PromptFlags prompting;
  std::string model, prompt, file, kv, save_kv, receipt;
  bool overwrite = false, raw = false, chat = false, show_prompt = false, continues = false;
};

Result<Prompt> read_prompt(const GenerateOptions& o, const LanguageModel& model, const Session& session) {
  PromptRequest request;
  if (!o.raw) {
    LOOM_TRY(request, prompt_request(o.prompting, model, o.common));
  }
  // An instruct model is asked, a base model continues: --chat, --raw and what only a template reads decide otherwise.
  const bool asks = o.chat || (!o.raw && o.prompting.need_template());
  request.form = o.raw ? PromptForm::Raw : asks ? PromptForm::Chat : PromptForm::Auto;
  request.continue_final_message = o.continues, request.context_tokens = session.context_tokens();
  if (o.prompting.messages.empty()) {
    LOOM_TRY(request.text, read_input(o.prompt, o.file));
    // Editors and echo end a text with a line break that is not meant as part of it.
    if (!o.file.empty() && request.text.ends_with('\n'))
      request.text.resize(request.text.size() - (request.text.ends_with("\r\n") ? 2 : 1));
  }
  LOOM_TRY(Json messages, first_messages(o.prompting));
  if (!messages.empty() || !o.prompting.messages.empty()) {
    if (o.prompting.messages.empty()) messages.push_back(message("user", std::move(request.text)));
    request.messages = std::move(messages);
  }
  const bool has_date = request.date.has_value();
  auto prompt = make_prompt(model, std::move(request), &interrupt_flag());
  if (!prompt && prompt.error().code == Code::ContextFull) {
    prompt.error().message += ": --ctx makes it larger";
  } else if (!prompt) {
    return at(o.prompting.chat_template.empty() ? model.path : o.prompting.chat_template,
              with_flags(std::move(prompt).error(), has_date));
  }
  if (prompt) warn_dropped(prompt->dropped_bytes);
  return prompt;
}

Json date_of(const GenerateOptions& o) { return o.prompting.date.empty() ? Json() : Json(o.prompting.date); }

int show(const GenerateOptions& o, const Prompt& prompt) {
  if (o.common.json) {
    Json shown = to_json(prompt);
    shown["date"] = date_of(o);
    print_json(shown);
  } else {
    std::fwrite(prompt.text.data(), 1, prompt.text.size(), stdout);
    std::printf("\n%s\n", fmt::format("{}", fmt::join(prompt.ids, ",")).c_str());
  }
  return kOk;
}

Json to_json(const GenerateOptions& o, const LanguageModel& model, const Session& session, const Generation& g,
             std::size_t dropped_bytes) {
  const auto rate = [](std::size_t n, double seconds) { return seconds > 0 ? static_cast<double>(n) / seconds : 0.0; };
  Json j{{"text", g.text},
         {"ids", g.ids},
         {"prompt_tokens", g.prompt_tokens},
         {"dropped_bytes", dropped_bytes},
         {"generated_tokens", g.ids.size()},
         {"stop_reason", name(g.stop_reason)},
         {"hash", to_hex(g.hash)},
         {"date", date_of(o)},
         {"prefill_tps", rate(g.prompt_tokens, g.prefill_seconds)},
         {"decode_tps", rate(g.decode_steps, g.decode_seconds)},
         {"load_ms", model.load_ms},
         {"peak_rss_mb", peak_rss_mb()},
         {"isa", name(session.isa())},
         {"precision", name(session.precision())},
         {"activations", name(session.activations())},
         {"threads", session.threads()},
         {"numerics_version", kNumericsVersion},
         {"model", model.path}};
  if (!o.generation.speculate.empty()) j["speculation"] = speculation_json(g.speculation);
  if (o.generation.logprobs > 0) j["logprobs"] = logprobs_json(g);
  return j;
}

// Explains an unexpected end of the text.
void tell_end(const GenerateOptions& o, const Session& session, const Generation& g, bool length_was_asked_for) {
  if (g.stop_reason == StopReason::Context)
    remark(o.common, fmt::format("the context of {} tokens is full, which ended the answer; --ctx makes it larger",
                                 session.context_tokens()));
  if (g.stop_reason == StopReason::Length && !length_was_asked_for)
    remark(o.common, fmt::format("the answer was cut after {} tokens; -n takes more", g.ids.size()));
}

// Reads all of the prompt but its last token, which is fed in any case for its logits.
Result<void> read_and_save(const GenerateOptions& o, std::span<const std::int32_t> prompt, Session& session) {
  if (prompt.size() < 2) return fail(Code::InvalidArgument, "--save-kv: a prompt of one token has nothing to keep");
  const auto unread = prompt.first(prompt.size() - 1).subspan(session.length());
  if (!unread.empty()) LOOM_TRY_VOID(session.prefill(unread, 0, &interrupt_flag()));
  LOOM_TRY_VOID(save_kv(session, o.save_kv));
  return {};
}

Result<int> run(const GenerateOptions& o, bool length_was_asked_for) {
  LOOM_TRY(GenerationOptions generation, o.generation.to_options());
  // the model's own file may take what it has read
  LOOM_TRY_VOID(check_receipt(o.receipt, o.common));
  if (!os::is_same_file(o.save_kv, o.model) || !holds(o.model, FileKind::ModelEntity))
    LOOM_TRY_VOID(check_output(o.save_kv, OutputKind::kv, o.overwrite, {o.model}));
  LOOM_TRY(const LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY_VOID(model.need_tokenizer());
  LOOM_TRY(const auto session, open_session(model, o.common));
  LOOM_TRY(const Prompt prompt, read_prompt(o, model, *session));
  if (o.show_prompt) return show(o, prompt);
  LOOM_TRY(generation.drafter, open_drafter(o.generation.speculate, model, *session, o.common));
  std::string kv_hash;  // before --save-kv may write the file
  if (!o.kv.empty()) {
    LOOM_TRY_VOID(load_kv(*session, o.kv));
    LOOM_TRY(const Digest digest, content_hash(o.kv, HashCache::use, &interrupt_flag()));
    kv_hash = to_hex(digest);
  }
  LOOM_TRY(const std::size_t kept, keep_common(*session, prompt.ids));
  if (!o.save_kv.empty()) LOOM_TRY_VOID(read_and_save(o, prompt.ids, *session));
  const auto unread = std::span(prompt.ids).subspan(session->length());
  LOOM_TRY(const Generation g, answer(*session, model, unread, generation, o.common, !o.common.json));
  const auto receipt = [&]() -> Result<Receipt> {
    LOOM_TRY(Receipt made, receipt_of(model, *session, generation, g, prompt.described));
    if (!o.kv.empty()) made.kv.push_back({{}, o.kv, kv_hash});
    if (!o.receipt.empty()) LOOM_TRY_VOID(add_trace(made, *session, &interrupt_flag()));
    return made;
  };
  LOOM_TRY(const Json sealed, give_receipt(o.receipt, o.common, receipt));
  if (o.common.json) {
    Json json = to_json(o, model, *session, g, prompt.dropped_bytes);
    json["receipt"] = sealed;
    if (g.prompt_tokens != 0) json["prompt_tokens"] = prompt.ids.size();
    if (!o.kv.empty()) json["kv_tokens"] = kept;  // of these, that were not read again
    print_json(json);
  } else {
    std::printf("\n");
    std::fflush(stdout);
    tell_end(o, *session, g, length_was_asked_for);
    if (!o.common.quiet && stderr_is_terminal())
      std::fprintf(stderr, "[%zu tokens in %.1f tok/s, %zu out %.1f tok/s, %s, hash %.16s%s]\n", g.prompt_tokens,
                   static_cast<double>(g.prompt_tokens) / g.prefill_seconds, g.ids.size(),
                   g.decode_seconds > 0 ? static_cast<double>(g.decode_steps) / g.decode_seconds : 0.0,
                   std::string(name(g.stop_reason)).c_str(), to_hex(g.hash).c_str(),
                   hash_note(session->precision()).c_str());
  }
  return interrupted() ? kInterrupted : kOk;
}

// Refuses options that would have no effect.
Result<void> check_options(const CLI::App& app, const GenerateOptions& o) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  const int texts = given("--prompt") + given("--file") + given("--messages");
  if (texts != 1)
    return fail(Code::InvalidArgument, "generate: give the text with -p or -f, or a conversation with --messages{}",
                texts > 1 ? ", one of them" : "");
  if (o.continues && !given("--messages"))
    return fail(Code::InvalidArgument,
                "--continue continues the last message of a conversation; give it with --messages");
  if (o.raw)
    for (const char* name :
         {"--system", "--messages", "--tools", "--chat-template", "--template-var", "--date", "--plain-text"})
      if (given(name))
        return fail(Code::InvalidArgument, "{} has no effect with --raw, which uses no chat template", name);
  if (!o.common.json && given("--logprobs"))
    return fail(Code::InvalidArgument, "--logprobs are reported with --json only");
  if (o.show_prompt)
    for (const char* name :
         {"--kv", "--save-kv", "--receipt", "--logprobs", "--max-tokens", "--temp", "--stop", "--ignore-eos",
          "--repetition-penalty", "--frequency-penalty", "--presence-penalty", "--repeat-last-n", "--logit-bias",
          "--speculate", "--schema", "--grammar", "--regex", "--choice"})
      if (given(name))
        return fail(Code::InvalidArgument, "{} has no effect with --show-prompt, which writes no answer", name);
  return o.generation.check_effects(app);
}

}  // namespace

Run generate_command(CLI::App& app) {
  auto o = std::make_shared<GenerateOptions>();
  add_path(app, "-m,--model,MODEL", o->model, "GGUF file, Hugging Face folder or .entity")->required();
  auto* prompt = app.add_option("-p,--prompt", o->prompt, "The question, or the text to continue");
  add_path(app, "-f,--file", o->file,
           "Read it from a file; - for standard input. A line break at its end does not count")
      ->excludes(prompt);
  o->prompting.add(app);
  auto* raw = app.add_flag("--raw", o->raw, "Continue the text as it is, without the chat template");
  app.add_flag("--chat", o->chat, "Use the chat template; an error when the model has none")->excludes(raw);
  app.add_flag("--continue", o->continues,
               "Continue the last message of --messages, such as an answer's beginning, in place of answering it");
  app.add_flag("--show-prompt", o->show_prompt, "Print what the model would read, as text and as token ids, and stop");
  add_path(app, "--kv", o->kv, "An .entity of --save-kv: the part of the prompt that both begin with is not read again")
      ->type_name("FILE");
  add_path(app, "--save-kv", o->save_kv,
           "FILE.entity to write: what the model keeps of the prompt; MODEL itself, if it is an .entity, takes it too")
      ->type_name("FILE");
  add_overwrite(app, o->overwrite);
  add_receipt(app, o->receipt);
  app.add_flag("--json", o->common.json, "One JSON object on stdout: text, ids, hash, speeds, memory");
  o->generation.add(app);
  add_common(app, o->common, true);
  return [o, &app] {
    if (auto checked = check_options(app, *o); !checked) return report(checked.error());
    return finish(naming(
        {o->model, o->kv, o->file, o->prompting.messages, o->prompting.tools, o->prompting.chat_template, o->receipt},
        run(*o, app.get_option("--max-tokens")->count() > 0)));
  };
}

}  // namespace loom::cli
