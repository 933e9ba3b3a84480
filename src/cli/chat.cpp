#include <cstdio>
#include <functional>
#include <sstream>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generation_options.h"
#include "cli/line_editor.h"
#include "cli/prompt_options.h"
#include "cli/terminal.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "core/nearest.h"
#include "host/chat.h"
#include "lm/kv_file.h"
#include "lm/peft.h"

namespace loom::cli {
namespace {

struct ChatFlags {
  CommonOptions common;
  GenerationFlags generation;
  PromptFlags prompting;
  std::string model, prompt, kv;
};

constexpr char kHelp[] =
    "/help            this list\n"
    "/system TEXT     set the system message and\n"
    "                 start over (no TEXT: none)\n"
    "/reset           forget the conversation\n"
    "/save FILE       keep it in a file, with a\n"
    "                 receipt of each answer\n"
    "/load FILE       continue one\n"
    "/adapter         list low-rank adapters\n"
    "/adapter NAME on|off\n"
    "                 let one count, or not; the\n"
    "                 conversation is read again\n"
    "/adapter load FOLDER [NAME]\n"
    "                 add one, in PEFT's format\n"
    "/adapter drop NAME\n"
    "                 take one away\n"
    "/stats           tokens, speed, memory\n"
    "/quit            leave (also Ctrl-D)\n"
    "Several lines: \"\"\" before and after them,\n"
    "a \\ at the end of a line, Alt-Enter, or\n"
    "paste them. Ctrl-C stops an answer or\n"
    "drops a line; twice, it leaves.\n";

class TerminalChat {
 public:
  // `tells_length`: report that -n has cut an answer.
  TerminalChat(const ChatFlags& flags, LanguageModel& model, std::unique_ptr<Session> session, Chat chat, bool has_date,
               bool tells_length)
      : common_(flags.common),
        model_(model),
        session_(std::move(session)),
        chat_(std::move(chat)),
        colours_(colours()),
        has_date_(has_date),
        tells_length_(tells_length) {}

  const Session& session() const { return *session_; }
  // Returns whether anything that was asked for could not be done.
  bool failed() const { return failed_; }

  // Answers one message; the answer joins the conversation even when it was stopped.
  Result<void> ask(const std::string& text) {
    clear_interrupt();
    auto done = read_and_write(text);
    clear_interrupt();
    if (!done) return tl::make_unexpected(with_help(std::move(done).error()));
    const Generation& last = chat_.answer();
    std::printf("\n");
    if (last.stop_reason == StopReason::Cancelled) note("(stopped)");
    if (last.stop_reason == StopReason::Context) note("(the context is full)");
    if (last.stop_reason == StopReason::Length && tells_length_)
      note(fmt::format("(cut after {} tokens; -n takes more)", last.ids.size()));
    return {};
  }

  bool was_stopped() const { return chat_.answer().stop_reason == StopReason::Cancelled; }
  void note(const std::string& text) const { std::printf("%s%s%s\n", colours_.dim, text.c_str(), colours_.reset); }
  void complain(const Error& error) {
    failed_ = true;
    note("Error: " + terminal_text(error.text()));
  }

  // False to leave.
  bool command(const std::string& line) {
    const std::size_t blank = std::min(line.find_first_of(" \t\n"), line.size());
    const std::string word = line.substr(0, blank),
                      rest = line.substr(std::min(line.find_first_not_of(" \t\n", blank), line.size()));
    if (word == "/quit" || word == "/exit") return false;
    if (word == "/adapter")
      adapter(rest);
    else if (word == "/help")
      std::printf("%s", kHelp);
    else if (word == "/reset")
      outcome(chat_.reset(), "The conversation is empty.");
    else if (word == "/system")
      outcome(chat_.set_system(rest),
              rest.empty() ? "No system message." : "System message set; the conversation is empty.");
    else if (word == "/stats")
      stats();
    else if (word == "/save")
      outcome(save(expand_home(rest)), "Saved.");
    else if (word == "/load")
      outcome(load(expand_home(rest)), "Loaded.");
    else
      unknown(word);
    return true;
  }

 private:
  using FolderOfName = std::pair<std::string, std::string>;
  void outcome(const Result<void>& result, const char* done) {
    if (result)
      note(done);
    else
      complain(result.error());
  }

  void unknown(const std::string& word) {
    static constexpr std::string_view kNames[] = {"help", "system",  "reset", "save",
                                                  "load", "adapter", "stats", "quit"};
    complain({Code::UnknownName,
              fmt::format("unknown command {}; nearest: {}; /help lists them", word, nearest_names(word, kNames))});
  }

  Result<void> read_and_write(const std::string& text) {
    auto said = chat_.say(text, &interrupt_flag());
    warn_dropped(chat_.dropped_bytes());
    LOOM_TRY_VOID(std::move(said));
    if (!chat_.is_answering()) return {};  // stopped before its first word
    return show_steps([&] { return chat_.next(&interrupt_flag()); }, chat_.prompt_tokens(), common_, true);
  }

  // Adds what to do about an error.
  Error with_help(Error error) const {
    if (error.code == Code::ContextFull)
      error.message += error.message.starts_with("the conversation")
                           ? ": /reset empties it, --ctx makes the context larger"
                           : ": --ctx makes it larger";
    return with_flags(std::move(error), has_date_);
  }

  void stats() const {
    std::printf("%zu of %zu tokens in the context, %d threads, %s, %.0f MB\n", session_->length(),
                session_->context_tokens(), session_->threads(), std::string(name(session_->isa())).c_str(),
                peak_rss_mb());
    const Generation& last = chat_.answer();
    if (last.prompt_tokens > 0)
      std::printf("last answer: %zu tokens read at %.1f tok/s, %zu written at %.1f tok/s, hash %.16s%s\n",
                  last.prompt_tokens, static_cast<double>(last.prompt_tokens) / last.prefill_seconds, last.ids.size(),
                  last.decode_seconds > 0 ? static_cast<double>(last.decode_steps) / last.decode_seconds : 0.0,
                  to_hex(last.hash).c_str(), hash_note(session_->precision()).c_str());
    if (const SpeculationCounts& s = last.speculation; s.passes > 0)
      std::printf("of %zu drafted tokens %zu came true: %zu passes\n", s.drafted, s.accepted, s.passes);
  }

  // "", "NAME on", "NAME off", "load FOLDER [NAME]", "drop NAME".
  void adapter(const std::string& rest) {
    std::istringstream in(rest);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    const std::vector<PeftInfo> all = list_peft(*model_.decoder);
    const auto known = [&](const std::string& name) { return std::ranges::find(all, name, &PeftInfo::name); };
    if (words.empty()) return list_adapters(all);
    if (words[0] == "load" && words.size() > 1) {
      // A folder's name may hold blanks; the last word is a name of ours when the whole is no folder.
      std::string folder = expand_home(rest.substr(rest.find(words[1], words[0].size()))), name;
      folder.resize(folder.find_last_not_of(" \t") + 1);
      if (!is_directory(folder) && words.size() > 2)
        name = words.back(), folder.resize(folder.find_last_not_of(" \t", folder.rfind(name) - 1) + 1);
      for (std::size_t i = 0; name.empty(); ++i)
        if (const std::string free = fmt::format("{}", i); known(free) == all.end()) name = free;
      return changed(load_adapter(folder, name), "Adapter " + name + " is on");
    }
    const bool drop = words.size() == 2 && words[0] == "drop",
               turn = words.size() == 2 && (words[1] == "on" || words[1] == "off");
    if (!drop && !turn)
      return complain(
          {Code::InvalidArgument, "/adapter, /adapter NAME on|off, /adapter load FOLDER [NAME] or /adapter drop NAME"});
    const std::string& name = words[drop ? 1 : 0];
    if (known(name) == all.end()) return complain({Code::NotFound, "no adapter " + name + "; /adapter lists them"});
    if (drop) return changed(drop_adapter(name), "Adapter " + name + " is gone");
    const bool on = words[1] == "on";
    std::vector<std::string> names = counting();
    if ((std::ranges::find(names, name) != names.end()) == on)
      return note("Adapter " + name + " is " + words[1] + " already.");
    if (on)
      names.push_back(name);
    else
      std::erase(names, name);
    changed(session_->choose_adapters(std::move(names)), "Adapter " + name + " is " + words[1]);
  }

  // Folders and names come from files and may hold anything.
  void list_adapters(const std::vector<PeftInfo>& all) const {
    if (all.empty()) note("No adapters; /adapter load FOLDER adds one.");
    const std::vector<std::string> names = counting();
    for (const PeftInfo& info : all) {
      const auto folder = std::ranges::find(model_.adapter_folders, info.name, &FolderOfName::first);
      const bool has_folder = folder != model_.adapter_folders.end();
      std::printf("%s  %s  rank %zu, alpha %g, %zu matrices, %zu parameters%s%s\n", terminal_text(info.name).c_str(),
                  std::ranges::find(names, info.name) != names.end() ? "on" : "off", info.rank, info.alpha,
                  info.matrices, info.parameters, has_folder ? "  " : "",
                  has_folder ? terminal_text(folder->second).c_str() : "");
    }
  }

  // Names of the adapters that count in this chat. Which ones do is the session's business: its model may serve others.
  std::vector<std::string> counting() const {
    if (session_->adapters()) return *session_->adapters();
    std::vector<std::string> names;
    for (const PeftInfo& info : list_peft(*model_.decoder))
      if (info.enabled) names.push_back(info.name);
    return names;
  }

  // The chat alone holds the model, and no call is running: it may gain and lose adapters.
  DecoderModel& model() { return *std::const_pointer_cast<DecoderModel>(model_.decoder); }

  Result<void> load_adapter(const std::string& folder, const std::string& name) {
    std::vector<std::string> names = counting();
    LOOM_TRY_VOID(load_peft(model(), folder, name));
    names.push_back(name);
    if (auto chosen = session_->choose_adapters(std::move(names)); !chosen) {
      (void)drop_peft(model(), name);
      return chosen;
    }
    model_.adapter_folders.emplace_back(name, folder);
    return {};
  }

  Result<void> drop_adapter(const std::string& name) {
    std::vector<std::string> names = counting();
    std::erase(names, name);
    LOOM_TRY_VOID(session_->choose_adapters(std::move(names)));
    LOOM_TRY_VOID(drop_peft(model(), name));
    std::erase_if(model_.adapter_folders, [&](const FolderOfName& known) { return known.first == name; });
    return {};
  }

  void changed(const Result<void>& result, const std::string& done) {
    if (!result) return complain(result.error());
    note(done + (chat_.messages().empty() ? "." : "; the conversation is read again with the next message."));
  }

  Result<void> save(const std::string& path) {
    if (path.empty()) return fail(Code::InvalidArgument, "/save FILE: give a file name");
    return chat_.save(path);
  }

  Result<void> load(const std::string& path) {
    if (path.empty()) return fail(Code::InvalidArgument, "/load FILE: give a file name");
    return chat_.load(path);
  }

  const CommonOptions& common_;
  LanguageModel& model_;
  std::unique_ptr<Session> session_;
  Chat chat_;
  Colours colours_;
  bool has_date_, tells_length_, failed_ = false;
};

// Reads and answers until the end of the input.
int converse(TerminalChat& chat, bool terminal) {
  const Colours c = colours();
  LineEditor editor(terminal ? default_history_file() : std::string());
  bool leaves = false;  // one Ctrl-C at the prompt drops a line, the next one leaves
  for (std::string text;;) {
    const LineEditor::Outcome outcome = editor.read_message("> ", c.green, text);
    if (outcome == LineEditor::Outcome::End) break;
    if (outcome == LineEditor::Outcome::Interrupted) {
      if (!terminal || leaves || interrupted()) return kInterrupted;
      leaves = true;
      chat.note("(Ctrl-C again or Ctrl-D leaves)");
      continue;
    }
    leaves = false;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos) continue;
    if (text[first] == '/') {
      const std::size_t last = text.find_last_not_of(" \t\r\n");
      if (!chat.command(text.substr(first, last + 1 - first))) return kOk;
      continue;
    }
    if (auto answered = chat.ask(text); !answered) chat.complain(answered.error());
  }
  if (terminal) std::printf("\n");
  return kOk;
}

Result<int> run(const ChatFlags& o, bool one_message, bool length_was_asked_for) {
  LOOM_TRY(GenerationOptions generation, o.generation.to_options());
  LOOM_TRY(LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY_VOID(model.need_tokenizer());
  LOOM_TRY(PromptRequest request, prompt_request(o.prompting, model, o.common));
  if (!request.chat_template)
    return fail(Code::NoTemplate,
                "{}: the model brings no chat template; --chat-template names one, loom generate --raw continues text",
                o.model);
  LOOM_TRY(const Json messages, first_messages(o.prompting));
  LOOM_TRY(auto session, open_session(model, o.common));
  LOOM_TRY(generation.drafter, open_drafter(o.generation.speculate, model, *session, o.common));
  if (!o.kv.empty()) LOOM_TRY_VOID(load_kv(*session, o.kv));
  const bool has_date = request.date.has_value();
  LOOM_TRY(Chat conversation, Chat::create(model, *session, {.prompt = std::move(request), .generation = generation}));
  LOOM_TRY_VOID(conversation.set_messages(messages));
  const bool terminal = is_terminal(kInput) && is_terminal(kOutput);
  TerminalChat chat(o, model, std::move(session), std::move(conversation), has_date, terminal || !length_was_asked_for);
  if (one_message) {
    LOOM_TRY_VOID(chat.ask(o.prompt));
    return chat.was_stopped() ? kInterrupted : kOk;
  }
  const Colours c = colours();
  if (terminal)
    std::printf("%s%s%s, %s weights, %d threads. /help lists the commands; Ctrl-D ends.\n", c.bold,
                terminal_text(o.model.substr(o.model.find_last_of('/') + 1)).c_str(), c.reset,
                std::string(name(model.format)).c_str(), chat.session().threads());
  const int status = converse(chat, terminal);
  // A script must hear of what a person has seen.
  return status == kOk && !terminal && chat.failed() ? kFailed : status;
}

}  // namespace

Run chat_command(CLI::App& app) {
  auto o = std::make_shared<ChatFlags>();
  o->generation.max_tokens = DefaultLength::kMessage;
  add_path(app, "-m,--model,MODEL", o->model, "GGUF file, Hugging Face folder or .entity")->required();
  auto* prompt = app.add_option("-p,--prompt", o->prompt, "Answer this one message and leave");
  o->prompting.add(app);
  add_path(app, "--kv", o->kv,
           "An .entity of loom generate --save-kv: as far as the conversation begins like it, it is not read again")
      ->type_name("FILE");
  o->generation.add(app, false);
  add_common(app, o->common, true);
  return [o, prompt, &app] {
    if (auto checked = o->generation.check_effects(app); !checked) return report(checked.error());
    return finish(run(*o, prompt->count() > 0, app.get_option("--max-tokens")->count() > 0));
  };
}

}  // namespace loom::cli
