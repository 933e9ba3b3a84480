#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "cli/generation_options.h"
#include "core/file.h"
#include "lm/peft.h"

namespace loom::cli {
namespace {

struct Options {
  CommonOptions common;
  GenerationFlags generation;
  std::string model, system, prompt;
};

constexpr char kHelp[] =
    "/help            this list\n"
    "/system TEXT     set the system message and begin anew (no TEXT: remove it)\n"
    "/reset           forget the conversation\n"
    "/save FILE       keep the conversation in a file\n"
    "/load FILE       continue one\n"
    "/adapter         list the low-rank adapters\n"
    "/adapter NAME on|off         let one count, or not; the conversation goes on and is read again\n"
    "/adapter load FOLDER [NAME]  add one, in PEFT's format\n"
    "/adapter drop NAME           take one away\n"
    "/stats           tokens, speed, memory\n"
    "/quit            leave (also Ctrl-D); Ctrl-C stops an answer\n";

class Chat {
 public:
  Chat(const Options& options, const LanguageModel& model, std::unique_ptr<Session> session, GenerationOptions generation)
      : common_(options.common), model_(model), session_(std::move(session)), generation_(std::move(generation)), system_(options.system), colours_(colours()) {
    for (const std::string& folder : common_.adapters) adapter_folders_[fmt::format("{}", adapter_folders_.size())] = folder;
    reset();
  }

  const Session& session() const { return *session_; }

  // Answers one message; the answer joins the conversation even when it was stopped.
  Result<void> ask(const std::string& text) {
    messages_.push_back({"user", text});
    auto answer = respond();
    if (!answer) {
      messages_.pop_back();
      return tl::make_unexpected(std::move(answer).error());
    }
    messages_.push_back({"assistant", std::move(*answer)});
    return {};
  }

  bool was_stopped() const { return last_.stop_reason == "cancelled"; }

  // False to leave. An error: the chat cannot go on.
  Result<bool> command(const std::string& line) {
    const std::size_t blank = line.find(' ');
    const std::string word = line.substr(0, blank),
                      rest = blank == line.npos
                                 ? ""
                                 : line.substr(line.find_first_not_of(' ', blank) == line.npos ? line.size() : line.find_first_not_of(' ', blank));
    if (word == "/quit" || word == "/exit") return false;
    if (word == "/adapter") {
      LOOM_TRY_VOID(adapter(rest));
      return true;
    }
    if (word == "/help")
      std::printf("%s", kHelp);
    else if (word == "/reset")
      reset(), note("The conversation is empty.");
    else if (word == "/system")
      system_ = rest, reset(), note(system_.empty() ? "No system message." : "System message set; the conversation is empty.");
    else if (word == "/stats")
      stats();
    else if (word == "/save")
      outcome(save(rest), "Saved.");
    else if (word == "/load")
      outcome(load(rest), "Loaded.");
    else
      note("Unknown command " + word + "; /help lists them.");
    return true;
  }

 private:
  void note(const std::string& text) const { std::printf("%s%s%s\n", colours_.dim, text.c_str(), colours_.reset); }
  void outcome(const Result<void>& result, const char* done) const { note(result ? done : "Error: " + result.error().message); }

  void reset() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
    (void)session_->rewind(0);
  }

  // Renders the whole conversation and feeds only what the session does not hold yet.
  Result<std::string> respond() {
    clear_interrupt();
    auto rendered = render_chat(model_, messages_, {}, true, &interrupt_flag());
    if (!rendered) clear_interrupt();
    LOOM_TRY(const std::string text, std::move(rendered));
    std::vector<std::int32_t> ids;
    LOOM_TRY(const text::Encoded encoded,
             model_.tokenizer->encode(text, {/*add_special_tokens=*/false, /*parse_special=*/true, prompt_limit(*session_)}, ids));
    warn_dropped(encoded.dropped_bytes);
    std::size_t same = 0;
    while (same < ids.size() && same < session_->length() && ids[same] == session_->tokens()[same]) ++same;
    if (same == ids.size()) --same;   // the last token is fed again for its logits
    if (!session_->rewind(same)) {
      LOOM_TRY_VOID(session_->rewind(0));
      same = 0;
    }
    if (ids.size() >= session_->context_tokens())
      return fail(Code::ContextFull, "the conversation has {} tokens, the context holds {}: /reset begins anew, --ctx makes it larger", ids.size(),
                  session_->context_tokens());
    clear_interrupt();
    auto generated = generate(*session_, model_, std::span<const std::int32_t>(ids).subspan(same), generation_, [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
      return !interrupted();
    });
    clear_interrupt();
    if (!generated) return tl::make_unexpected(std::move(generated).error());
    last_ = std::move(*generated);
    std::printf("\n");
    if (last_.stop_reason == "cancelled") note("(stopped)");
    if (last_.stop_reason == "context") note("(the context is full)");
    return last_.text;
  }

  void stats() const {
    std::printf("%zu of %zu tokens in the context, %d threads, %s, %.0f MB\n", session_->length(), session_->context_tokens(), session_->threads(),
                std::string(name(session_->isa())).c_str(), peak_rss_mb());
    if (last_.prompt_tokens > 0)
      std::printf("last answer: %zu tokens read at %.1f tok/s, %zu written at %.1f tok/s, hash %.16s\n", last_.prompt_tokens,
                  static_cast<double>(last_.prompt_tokens) / last_.prefill_seconds, last_.ids.size(),
                  last_.decode_seconds > 0 ? static_cast<double>(last_.decode_steps) / last_.decode_seconds : 0.0, to_hex(last_.hash).c_str());
  }

  // "", "NAME on", "NAME off", "load FOLDER [NAME]", "drop NAME".
  Result<void> adapter(const std::string& rest) {
    std::istringstream in(rest);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    const std::vector<PeftInfo> all = list_peft(*model_.decoder);
    const auto known = [&](const std::string& name) { return std::ranges::find(all, name, &PeftInfo::name); };
    if (words.empty()) {
      list_adapters(all);
      return {};
    }
    if (words[0] == "load" && words.size() > 1) {
      std::string folder = rest.substr(rest.find(words[1])), name;
      if (!is_directory(folder) && words.size() > 2) name = words.back(), folder.resize(folder.find_last_not_of(' ', folder.rfind(name) - 1) + 1);
      for (std::size_t i = 0; name.empty(); ++i)
        if (const std::string free = fmt::format("{}", i); known(free) == all.end()) name = free;
      return change([&](DecoderModel& model) -> Result<void> {
        LOOM_TRY_VOID(load_peft(model, folder, name));
        adapter_folders_[name] = folder;
        return {};
      }, "Adapter " + name + " is on");
    }
    const bool drop = words.size() == 2 && words[0] == "drop", turn = words.size() == 2 && (words[1] == "on" || words[1] == "off");
    if (!drop && !turn) {
      note("/adapter, /adapter NAME on|off, /adapter load FOLDER [NAME] or /adapter drop NAME");
      return {};
    }
    const std::string& name = words[drop ? 1 : 0];
    const auto found = known(name);
    if (found == all.end()) {
      note("Error: no adapter " + name + "; /adapter lists them.");
      return {};
    }
    if (drop) return change([&](DecoderModel& model) { return drop_peft(model, name); }, "Adapter " + name + " is gone");
    const bool on = words[1] == "on";
    if (found->enabled == on) {
      note("Adapter " + name + " is " + words[1] + " already.");
      return {};
    }
    return change([&](DecoderModel& model) { return enable_peft(model, name, on); }, "Adapter " + name + " is " + words[1]);
  }

  void list_adapters(const std::vector<PeftInfo>& all) const {
    if (all.empty()) note("No adapters; /adapter load FOLDER adds one.");
    for (const PeftInfo& info : all) {
      const auto folder = adapter_folders_.find(info.name);
      std::printf("%s  %s  rank %zu, alpha %g, %zu matrices, %zu parameters%s%s\n", info.name.c_str(), info.enabled ? "on" : "off", info.rank, info.alpha,
                  info.matrices, info.parameters, folder == adapter_folders_.end() ? "" : "  ",
                  folder == adapter_folders_.end() ? "" : folder->second.c_str());
    }
  }

  // A session plans its memory for the adapters that count, and its cache holds what they gave: it begins anew with the next message, which
  // reads the whole conversation. A change that fails leaves all as it was.
  Result<void> change(const std::function<Result<void>(DecoderModel&)>& f, const std::string& done) {
    // The chat alone holds the model, and no call is running.
    if (auto changed = f(*std::const_pointer_cast<DecoderModel>(model_.decoder)); !changed) {
      note("Error: " + changed.error().message);
      return {};
    }
    watch_interrupts(nullptr);  // no signal may reach for the session that goes
    session_.reset();  // before the new one takes as much memory
    LOOM_TRY(session_, open_session(model_, common_));
    note(done + (messages_.empty() ? "." : "; the conversation is read again with the next message."));
    return {};
  }

  Result<void> save(const std::string& path) const {
    if (path.empty()) return fail(Code::InvalidArgument, "/save FILE: give a file name");
    Json list = Json::array();
    for (const ChatMessage& m : messages_) list.push_back(Json{{"role", m.role}, {"content", m.content}});
    const std::string text = dump_json(Json{{"loom_chat", 1}, {"messages", std::move(list)}}, 1) + "\n";
    return write_file_atomically(path, std::as_bytes(std::span(text)));
  }

  Result<void> load(const std::string& path) {
    if (path.empty()) return fail(Code::InvalidArgument, "/load FILE: give a file name");
    LOOM_TRY(const std::string text, read_text_file(path, std::size_t{64} << 20));
    auto json = parse_json(text);
    if (!json) return at(path, std::move(json).error());
    const Json* list = find(*json, "messages");
    if (!list || !list->is_array()) return fail(Code::CorruptData, "{}: /messages is no array of messages", path);
    std::vector<ChatMessage> messages;
    for (const Json& entry : *list) {
      const Json *role = find(entry, "role"), *content = find(entry, "content");
      if (!role || !content || !as_string(*role) || !as_string(*content))
        return fail(Code::CorruptData, "{}: /messages/{} needs the texts role and content", path, messages.size());
      messages.push_back({*as_string(*role), *as_string(*content)});
    }
    messages_ = std::move(messages);
    system_ = !messages_.empty() && messages_[0].role == "system" ? messages_[0].content : "";
    return {};
  }

  const CommonOptions& common_;
  const LanguageModel& model_;
  std::unique_ptr<Session> session_;
  std::map<std::string, std::string> adapter_folders_;  // by name
  GenerationOptions generation_;
  std::string system_;
  Colours colours_;
  std::vector<ChatMessage> messages_;
  Generation last_;
};

// A line of input; false at its end. Ctrl-C on an empty line is as good as Ctrl-D.
bool read_line(const char* prompt, std::string& line) {
  std::printf("%s", prompt);
  std::fflush(stdout);
  line.clear();
  for (;;) {
    if (interrupted()) return false;  // SIGTERM or SIGHUP during an answer
    char c;
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && interrupted()) return false;
    if (n <= 0) return !line.empty();
    if (c == '\n') return true;
    if (c != '\r') line += c;
  }
}

Result<int> run(const Options& o) {
  LOOM_TRY(GenerationOptions generation, o.generation.to_options());
  LOOM_TRY(const LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY_VOID(model.need_tokenizer());
  LOOM_TRY_VOID(model.need_template());
  LOOM_TRY(auto session, open_session(model, o.common));
  Chat chat(o, model, std::move(session), std::move(generation));
  const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  const Colours c = colours();
  if (!o.prompt.empty()) {
    LOOM_TRY_VOID(chat.ask(o.prompt));
    return chat.was_stopped() ? kInterrupted : kOk;
  }
  if (terminal)
    std::printf("%s%s%s, %s weights, %d threads. /help lists the commands; Ctrl-D ends.\n", c.bold,
                o.model.substr(o.model.find_last_of('/') + 1).c_str(), c.reset, model.format.c_str(), chat.session().threads());
  const std::string prompt = terminal ? fmt::format("{}> {}", c.green, c.reset) : "";
  for (std::string line; read_line(prompt.c_str(), line);) {
    if (line.empty()) continue;
    if (line[0] == '/') {
      LOOM_TRY(const bool on, chat.command(line));
      if (!on) break;
      continue;
    }
    if (auto answered = chat.ask(line); !answered) std::printf("%sError: %s%s\n", c.dim, answered.error().message.c_str(), c.reset);
  }
  if (terminal) std::printf("\n");
  return kOk;
}

}  // namespace

Run chat_command(CLI::App& app) {
  auto o = std::make_shared<Options>();
  o->generation.max_tokens = 1024;
  app.add_option("MODEL", o->model, "GGUF file or Hugging Face folder")->required();
  app.add_option("-p,--prompt", o->prompt, "Answer this one message and leave");
  app.add_option("--system", o->system, "System message");
  o->generation.add(app);
  add_common(app, o->common, true);
  return [o] {
    auto status = run(*o);
    return status ? *status : report(status.error());
  };
}

}  // namespace loom::cli
