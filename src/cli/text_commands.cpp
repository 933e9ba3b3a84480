// logits, tokenize, detokenize, perplexity.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "cli/receipt_option.h"
#include "core/numerics_version.h"
#include "host/perplexity.h"
#include "host/prompt.h"

namespace loom::cli {
namespace {

struct LogitsOptions {
  CommonOptions common;
  std::string model, prompt, ids, receipt;
  bool chat = false, raw = false;
  std::size_t top = 10;
};

Result<int> run_logits(const LogitsOptions& o) {
  LOOM_TRY_VOID(check_receipt(o.receipt, o.common));
  LOOM_TRY(const LanguageModel model, open_model(o.model, o.common));
  Receipt::Prompt read;
  std::size_t dropped = 0;
  if (!o.ids.empty()) {
    LOOM_TRY(read.ids, parse_ids(o.ids));
  } else {
    auto tokenizer = model.need_tokenizer();
    if (!tokenizer) return fail(tokenizer.error().code, "{}; --ids takes token ids", tokenizer.error().text());
    if (o.chat) LOOM_TRY_VOID(model.need_template());
    const PromptForm form = o.chat ? PromptForm::Chat : PromptForm::Raw;
    LOOM_TRY(Prompt prompt, make_prompt(model, {.text = o.prompt, .form = form}, &interrupt_flag()));
    read = std::move(prompt.described), read.ids = std::move(prompt.ids);
    dropped = prompt.dropped_bytes;
    warn_dropped(dropped);
  }
  const std::vector<std::int32_t>& ids = read.ids;
  LOOM_TRY(const auto session, open_session(model, o.common));
  LOOM_TRY(const std::span<const float> row, session->feed(ids, 0, &interrupt_flag()));
  if (const auto bad = std::find_if(row.begin(), row.end(), [](float v) { return !std::isfinite(v); });
      bad != row.end())
    return fail(Code::NonFinite, "{}: the logit of token {} is {}", o.model, bad - row.begin(), *bad);
  Sha256 hash;
  hash.update_floats(row);
  const Digest bits = hash.finish();
  const std::string digest = to_hex(bits);
  LOOM_TRY(const Json receipt,
           give_receipt(o.receipt, o.common, [&] { return receipt_of_logits(model, *session, bits, read); }));
  const std::vector<TokenLogprob> best = logprobs(row, -1, o.top);
  const auto text = [&](std::int32_t id) {
    return model.tokenizer ? model.tokenizer->decode(std::span(&id, 1), {.skip_special_tokens = false}) : std::string();
  };
  if (o.common.json) {
    Json top = Json::array();
    for (const TokenLogprob& t : best)
      top.push_back(Json{
          {"id", t.id}, {"logit", row[static_cast<std::size_t>(t.id)]}, {"logprob", t.logprob}, {"text", text(t.id)}});
    print_json(Json{{"prompt_tokens", ids.size()},
                    {"dropped_bytes", dropped},
                    {"ids", ids},
                    {"top", std::move(top)},
                    {"hash", digest},
                    {"vocab_size", row.size()},
                    {"isa", name(session->isa())},
                    {"precision", name(session->precision())},
                    {"threads", session->threads()},
                    {"numerics_version", kNumericsVersion},
                    {"receipt", receipt}});
    return kOk;
  }
  for (const TokenLogprob& t : best)
    std::printf("%8d  %12.6f  %10.6f  %s\n", t.id, row[static_cast<std::size_t>(t.id)], t.logprob,
                dump_json(text(t.id)).c_str());
  std::printf("hash %s%s\n", digest.c_str(), hash_note(session->precision()).c_str());
  return kOk;
}

struct TokenizeOptions {
  CommonOptions common;
  std::string model, text, file, ids;
  bool no_special = false, no_parse = false, skip_special = false;
};

// Writes to stdout in pieces: the ids of a long text would take twenty times its size as one JSON value.
class Output {
 public:
  ~Output() { flush(); }
  Output& operator<<(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kPiece) flush();
    return *this;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;
  void flush() {
    std::fwrite(buffer_.data(), 1, buffer_.size(), stdout);
    buffer_.clear();
  }
  std::string buffer_;
};

// `"name": [...]` as dump_json(.., 1) writes a member of the outermost object.
template <class F>
void write_list(Output& out, std::string_view name, std::size_t count, F&& item) {
  out << fmt::format(" \"{}\": [", name);
  for (std::size_t i = 0; i < count; ++i) out << (i == 0 ? "\n  " : ",\n  ") << item(i);
  out << (count == 0 ? "],\n" : "\n ],\n");
}

Result<int> run_tokenize(const TokenizeOptions& o) {
  LOOM_TRY(const auto tokenizer, load_tokenizer(o.model));
  LOOM_TRY(const std::string text, read_input(o.text, o.file));
  std::vector<std::int32_t> ids;
  text::EncodeOptions options;
  options.add_special_tokens = !o.no_special;
  options.parse_special = !o.no_parse;
  LOOM_TRY(const text::Encoded encoded, tokenizer->encode(text, options, ids));
  warn_dropped(encoded.dropped_bytes);
  Output out;
  if (o.common.json) {
    out << "{\n";
    write_list(out, "ids", ids.size(), [&](std::size_t i) { return fmt::format("{}", ids[i]); });
    write_list(out, "tokens", ids.size(),
               [&](std::size_t i) { return dump_json(std::string(tokenizer->token_text(ids[i]))); });
    out << fmt::format(" \"count\": {},\n \"dropped_bytes\": {}\n}}\n", ids.size(), encoded.dropped_bytes);
    return kOk;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) out << (i == 0 ? "" : ",") << fmt::format("{}", ids[i]);
  out << "\n";
  return kOk;
}

Result<int> run_detokenize(const TokenizeOptions& o) {
  LOOM_TRY(const auto tokenizer, load_tokenizer(o.model));
  LOOM_TRY(const std::string input, read_input(o.ids, o.file));
  const std::string from = o.file.empty() ? "--ids" : o.file;
  const auto ids = parse_ids(input);
  if (!ids) return at(from, ids.error());
  for (const std::int32_t id : *ids)
    if (static_cast<std::size_t>(id) >= tokenizer->vocab_size())
      return fail(Code::IndexOutOfRange, "{}: token id {} is outside the vocabulary of {}", from, id,
                  tokenizer->vocab_size());
  const std::string text = tokenizer->decode(*ids, {.skip_special_tokens = o.skip_special});
  if (o.common.json)
    print_json(Json{{"text", text}});
  else
    Output() << text << "\n";  // a text may hold zero bytes
  return kOk;
}

struct PerplexityFlags {
  CommonOptions common;
  std::string model, file;
  std::size_t window = 512, max_windows = 0;
};

Result<int> run_perplexity(const PerplexityFlags& o) {
  LOOM_TRY(const LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY_VOID(model.need_tokenizer());  // before the text is read
  LOOM_TRY(const std::string file, read_text_file(o.file, std::size_t{2} << 30));
  LOOM_TRY(const ScoredText text, text_to_score(model, file));
  warn_dropped(text.dropped_bytes);
  CommonOptions common = o.common;
  if (common.context == 0) common.context = o.window;
  LOOM_TRY(const auto session, open_session(model, common));
  Progress bar("perplexity", o.common.quiet);
  const auto progress = [&](std::size_t done, std::size_t total, double perplexity) {
    bar.update(static_cast<double>(done) / static_cast<double>(total), fmt::format("{:.3f}", perplexity));
    return !interrupted();
  };
  auto result = perplexity(*session, text.ids, {o.window, o.max_windows, progress, &interrupt_flag()});
  if (!result && result.error().code == Code::InvalidArgument) return at(o.file, std::move(result).error());
  if (!result) return tl::make_unexpected(std::move(result).error());
  if (result->stopped) return kInterrupted;
  if (o.common.json) {
    Json out = to_json(*result, text.dropped_bytes);
    out["precision"] = name(session->precision());
    print_json(out);
  } else {
    std::printf("perplexity %.4f over %zu tokens in %zu windows of %zu\n", result->perplexity, result->scored,
                result->windows, result->window);
  }
  return kOk;
}

}  // namespace

Run logits_command(CLI::App& app) {
  auto o = std::make_shared<LogitsOptions>();
  add_path(app, "-m,--model,MODEL", o->model, "GGUF file, Hugging Face folder or .entity")->required();
  auto* prompt = app.add_option("-p,--prompt", o->prompt, "Text, taken as it is unless --chat is given");
  auto* const ids = app.add_option("--ids", o->ids, "Token ids instead: 1,2,3")->excludes(prompt);
  auto* const chat = app.add_flag("--chat", o->chat, "Apply the model's chat template to the text");
  chat->excludes(ids);
  app.add_flag("--raw", o->raw, "The text as it is, as generate has it (the default)")->excludes(chat)->excludes(ids);
  app.add_option("--top", o->top, "How many of the best to show")->capture_default_str()->check(whole_number());
  add_receipt(app, o->receipt);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, true);
  return [o] {
    if (o->prompt.empty() && o->ids.empty())
      return report({Code::InvalidArgument, "logits: give the text with -p or token ids with --ids"});
    return finish(naming({o->model}, run_logits(*o)));
  };
}

Run tokenize_command(CLI::App& app) {
  auto o = std::make_shared<TokenizeOptions>();
  add_path(app, "-m,--model,FILE", o->model, "GGUF file, .entity, tokenizer.json or a folder that holds one")
      ->required();
  auto* text = app.add_option("--text", o->text, "The text");
  add_path(app, "--file", o->file, "Read it from a file; - for standard input")->excludes(text);
  app.add_flag("--no-special", o->no_special, "Add no special tokens around the text");
  app.add_flag("--no-parse-special", o->no_parse, "Markers such as <|im_end|> in the text are ordinary text");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_quiet(app, o->common);
  return [o, text] {
    if (text->count() == 0 && o->file.empty())
      return report(
          {Code::InvalidArgument, "tokenize: give the text with --text, or --file FILE, - for standard input"});
    return finish(naming({o->model, o->file}, run_tokenize(*o)));
  };
}

Run detokenize_command(CLI::App& app) {
  auto o = std::make_shared<TokenizeOptions>();
  add_path(app, "-m,--model,FILE", o->model, "GGUF file, .entity, tokenizer.json or a folder that holds one")
      ->required();
  auto* ids = app.add_option("--ids", o->ids, "Token ids: 1,2,3");
  add_path(app, "--file", o->file, "Read them from a file; - for standard input")->excludes(ids);
  app.add_flag("--skip-special", o->skip_special, "Leave special tokens out");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_quiet(app, o->common);
  return [o] { return finish(naming({o->model, o->file}, run_detokenize(*o))); };
}

Run perplexity_command(CLI::App& app) {
  auto o = std::make_shared<PerplexityFlags>();
  add_path(app, "-m,--model,MODEL", o->model, "GGUF file, Hugging Face folder or .entity")->required();
  add_path(app, "FILE", o->file, "Text file")->required();
  app.add_option("--window", o->window, "Tokens per window")->capture_default_str()->check(CLI::Range(2, 1 << 20));
  app.add_option("--max-windows", o->max_windows, "Stop after so many windows (0: the whole text)")
      ->capture_default_str()
      ->check(whole_number());
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, true);
  return [o] { return finish(naming({o->model, o->file}, run_perplexity(*o))); };
}

}  // namespace loom::cli
