#include "cli/answer.h"

#include <unistd.h>

#include <cstdio>

#include "cli/terminal.h"

namespace loom::cli {
namespace {

// tokens between two looks at the bar; a prompt gives the same bits however it is cut
constexpr std::size_t kPiece = 128;
constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

Result<Generation> answer(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                          const GenerationOptions& options, const CommonOptions& common, bool show) {
  if (prompt.empty()) return fail(Code::InvalidArgument, "the prompt has no tokens");
  const std::size_t total = session.length() + prompt.size();
  if (total > session.context_tokens())
    return fail(Code::ContextFull, "the prompt has {} tokens, the context holds {}: --ctx makes it larger", total,
                session.context_tokens());
  LOOM_TRY_VOID(check(options.sampling, static_cast<std::size_t>(model.decoder->config.vocab_size)));
  const auto begin = std::chrono::steady_clock::now();
  std::size_t read = 0;
  {
    Progress bar("reading", common.quiet, kPatience);
    for (; prompt.size() - read > kPiece; read += kPiece) {
      LOOM_TRY_VOID(session.feed(prompt.subspan(read, kPiece)));
      bar.update(static_cast<double>(read + kPiece) / static_cast<double>(prompt.size()),
                 fmt::format("{} tokens", prompt.size()));
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  LOOM_TRY(Generation out, generate(session, model, prompt.subspan(read), options, [&](std::string_view piece) {
             const std::string text = terminal ? screen_text(piece) : std::string(piece);
             if (show) std::fwrite(text.data(), 1, text.size(), stdout), std::fflush(stdout);
             return !interrupted();
           }));
  out.prompt_tokens += read;
  out.prefill_seconds += seconds;
  return out;
}

}  // namespace loom::cli
