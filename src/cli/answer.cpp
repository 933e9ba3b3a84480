#include "cli/answer.h"

#include <cstdio>

#include "cli/console.h"

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
  LOOM_TRY_VOID(show_steps([&] { return generator.next(&interrupt_flag()); }, prompt.size(), common, show));
  const Generation& result = generator.result();
  if (result.stop_reason == StopReason::Cancelled && result.prompt_tokens == 0)
    return fail(Code::Cancelled, "cancelled by the caller");
  return result;
}

Result<void> show_steps(const std::function<Result<Generator::Step>()>& next, std::size_t prompt_tokens,
                        const CommonOptions& common, bool show) {
  Generator::Step step;
  {
    Progress bar("reading", common.quiet, kPatience);
    for (std::size_t read = 0; read < prompt_tokens && !step.done; read += step.prompt_tokens_read) {
      if (read > 0)
        bar.update(static_cast<double>(read) / static_cast<double>(prompt_tokens),
                   fmt::format("{} tokens", prompt_tokens));
      LOOM_TRY(step, next());
    }
  }
  const bool terminal = is_terminal(kOutput);
  while (!step.done) {
    LOOM_TRY(step, next());
    const std::string text = terminal ? screen_text(step.text) : step.text;
    if (show && !text.empty()) std::fwrite(text.data(), 1, text.size(), stdout), std::fflush(stdout);
  }
  return {};
}

}  // namespace loom::cli
