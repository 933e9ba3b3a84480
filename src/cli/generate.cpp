#include <cstdio>

#include "cli/commands.h"
#include "cli/generation_options.h"
#include "core/numerics_version.h"

namespace loom::cli {
namespace {

struct Options {
  CommonOptions common;
  GenerationFlags generation;
  std::string model, prompt, file, system;
  bool raw = false, chat = false;
};

Result<std::string> prompt_text(const Options& o, const LanguageModel& model) {
  LOOM_TRY(std::string text, read_input(o.prompt, o.file));
  // An instruct model is asked, a base model continues: --chat and --raw decide otherwise.
  if (o.raw || (!o.chat && !model.chat_template && !model.template_error)) return text;
  std::vector<ChatMessage> messages;
  if (!o.system.empty()) messages.push_back({"system", o.system});
  messages.push_back({"user", std::move(text)});
  return render_chat(model, messages, {}, true, &interrupt_flag());
}

Json to_json(const Options& o, const LanguageModel& model, const Session& session, const Generation& g, std::size_t dropped_bytes) {
  const auto rate = [](std::size_t n, double seconds) { return seconds > 0 ? static_cast<double>(n) / seconds : 0.0; };
  Json j{{"text", g.text},
         {"ids", g.ids},
         {"prompt_tokens", g.prompt_tokens},
         {"dropped_bytes", dropped_bytes},
         {"generated_tokens", g.ids.size()},
         {"stop_reason", g.stop_reason},
         {"hash", to_hex(g.hash)},
         {"prefill_tps", rate(g.prompt_tokens, g.prefill_seconds)},
         {"decode_tps", rate(g.decode_steps, g.decode_seconds)},
         {"load_ms", model.load_ms},
         {"peak_rss_mb", peak_rss_mb()},
         {"isa", name(session.isa())},
         {"activations", session.activations() == Activations::int8 ? "int8" : "int16"},
         {"threads", session.threads()},
         {"numerics_version", kNumericsVersion},
         {"model", model.path}};
  if (o.generation.logprobs > 0) {
    Json list = Json::array();
    for (std::size_t i = 0; i < g.logprobs.size(); ++i) {
      Json entry{{"id", g.logprobs[i][0].id}, {"logprob", g.logprobs[i][0].logprob}, {"top", Json::array()}};
      for (std::size_t k = 1; k < g.logprobs[i].size(); ++k)
        entry["top"].push_back(Json{{"id", g.logprobs[i][k].id}, {"logprob", g.logprobs[i][k].logprob}});
      list.push_back(std::move(entry));
    }
    j["logprobs"] = std::move(list);
  }
  return j;
}

Result<int> run(const Options& o) {
  LOOM_TRY(const GenerationOptions generation, o.generation.to_options());
  LOOM_TRY(const LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY_VOID(model.need_tokenizer());
  LOOM_TRY(const std::string text, prompt_text(o, model));
  LOOM_TRY(const auto session, open_session(model, o.common));
  std::vector<std::int32_t> prompt;
  LOOM_TRY(const text::Encoded encoded,
           model.tokenizer->encode(text, {o.raw || !model.chat_template, /*parse_special=*/true, prompt_limit(*session)}, prompt));
  warn_dropped(encoded.dropped_bytes);
  const auto on_text = [&](std::string_view piece) {
    if (!o.common.json) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    }
    return !interrupted();
  };
  LOOM_TRY(const Generation g, generate(*session, model, prompt, generation, on_text));
  if (o.common.json) {
    print_json(to_json(o, model, *session, g, encoded.dropped_bytes));
  } else {
    std::printf("\n");
    if (!o.common.quiet && stderr_is_terminal())
      std::fprintf(stderr, "[%zu tokens in %.1f tok/s, %zu out %.1f tok/s, %s, hash %.16s]\n", g.prompt_tokens,
                   static_cast<double>(g.prompt_tokens) / g.prefill_seconds, g.ids.size(),
                   g.decode_seconds > 0 ? static_cast<double>(g.decode_steps) / g.decode_seconds : 0.0, g.stop_reason.c_str(),
                   to_hex(g.hash).c_str());
  }
  return interrupted() ? kInterrupted : kOk;
}

}  // namespace

Run generate_command(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("MODEL", o->model, "GGUF file or Hugging Face folder")->required();
  auto* prompt = app.add_option("-p,--prompt", o->prompt, "The question, or the text to continue");
  app.add_option("-f,--file", o->file, "Read it from a file; - for standard input")->excludes(prompt);
  app.add_option("--system", o->system, "System message in front of it");
  auto* raw = app.add_flag("--raw", o->raw, "Continue the text as it is, without the chat template");
  app.add_flag("--chat", o->chat, "Use the chat template; an error when the model has none")->excludes(raw);
  app.add_flag("--json", o->common.json, "One JSON object on stdout: text, ids, hash, speeds, memory");
  o->generation.add(app);
  add_common(app, o->common, true);
  return [o] {
    if (o->prompt.empty() && o->file.empty()) return report({Code::InvalidArgument, "generate: give the text with -p or -f"});
    auto status = run(*o);
    return status ? *status : report(status.error());
  };
}

}  // namespace loom::cli
