#pragma once
// One answer on the terminal, for generate and chat.

#include <functional>
#include <span>

#include "cli/common.h"

namespace loom::cli {

// A Generator (lm/generator.h) with a bar while a long prompt is read; a Ctrl-C ends it. `show`: write the text to
// stdout as it comes. ContextFull with what would help; InvalidArgument for a prompt without tokens.
Result<Generation> answer(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                          const GenerationOptions& options, const CommonOptions& common, bool show);

// Shows the steps of any generator: calls `next` until one is done; the first ones read `prompt_tokens`.
Result<void> show_steps(const std::function<Result<Generator::Step>()>& next, std::size_t prompt_tokens,
                        const CommonOptions& common, bool show);

}  // namespace loom::cli
