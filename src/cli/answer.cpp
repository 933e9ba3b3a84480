#include "cli/answer.h"

#include <unistd.h>

#include <cstdio>

#include "cli/terminal.h"

namespace loom::cli {
namespace {

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
  LOOM_TRY(Generator generator, Generator::create(session, model, prompt, options));
  {
    Progress bar("reading", common.quiet, kPatience);
    while (generator.result().prompt_tokens < prompt.size()) {
      LOOM_TRY_VOID(generator.next(&interrupt_flag()));
      if (generator.done()) return fail(Code::Cancelled, "cancelled by the caller");
      const std::size_t read = generator.result().prompt_tokens;
      if (read < prompt.size())
        bar.update(static_cast<double>(read) / static_cast<double>(prompt.size()),
                   fmt::format("{} tokens", prompt.size()));
    }
  }
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  while (!generator.done()) {
    LOOM_TRY(const Generator::Step step, generator.next(&interrupt_flag()));
    const std::string text = terminal ? screen_text(step.text) : step.text;
    if (show && !text.empty()) std::fwrite(text.data(), 1, text.size(), stdout), std::fflush(stdout);
  }
  return generator.result();
}

}  // namespace loom::cli
