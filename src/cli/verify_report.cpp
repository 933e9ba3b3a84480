#include "cli/verify_report.h"

#include <cstdio>

#include "cli/answer.h"
#include "core/build_info.h"
#include "core/json.h"
#include "core/numerics_version.h"
#include "host/content_hash.h"
#include "host/machine.h"
#include "host/prompt.h"
#include "verify/golden_training_steps.h"

namespace loom::cli {
namespace {

// Answers the README's question as `loom generate` does, and returns the hash of the answer.
Result<std::string> readme_answer(const CommonOptions& options, const std::string& path) {
  LOOM_TRY(const LanguageModel model, open_model(path, options));
  LOOM_TRY_VOID(model.need_tokenizer());
  LOOM_TRY(const auto session, open_session(model, options));
  PromptRequest request;
  request.text = "What is the capital of France?";
  request.context_tokens = session->context_tokens();
  LOOM_TRY(const Prompt prompt, make_prompt(model, std::move(request), &interrupt_flag()));
  GenerationOptions generation;
  generation.max_tokens = DefaultLength::kText;
  LOOM_TRY(const Generation written, answer(*session, model, prompt.ids, generation, options, false));
  return to_hex(written.hash);
}

}  // namespace

Result<int> print_verify_report(const CommonOptions& options, const std::string& model, const GoldenOptions& run) {
  std::string answered, model_hash;
  if (!model.empty()) {  // first, so that a wrong path is reported at once
    LOOM_TRY(const Digest hash, content_hash(model, HashCache::use, &interrupt_flag()));
    model_hash = to_hex(hash);
    LOOM_TRY(answered, readme_answer(options, model));
  }
  LOOM_TRY(const std::string table, golden_table(run));
  LOOM_TRY(const std::string steps, training_steps_digest(run.isa, run.threads));
  const std::string digest = digest_of_text(table);
  const std::string isa(name(run.isa.value_or(best_isa())));
  const bool pass = digest == kGoldenDigest && steps == kTrainingStepsDigest;
  if (options.json) {
    const auto text_or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    print_json(Json{{"version", LOOM_VERSION},
                    {"numerics_version", kNumericsVersion},
                    {"target", target_name()},
                    {"compiler", compiler_name()},
                    {"cpu", cpu_name()},
                    {"isa", isa},
                    {"threads", run.threads},
                    {"digest", digest},
                    {"answer", text_or_null(answered)},
                    {"model_sha256", text_or_null(model_hash)},
                    {"training_steps", steps},
                    {"pass", pass}});
  } else {
    std::printf("| %s | %u | %s | %s | %s | %s | %d | %s | %s | %s |\n", LOOM_VERSION, kNumericsVersion,
                target_name().c_str(), compiler_name().c_str(), cpu_name().c_str(), isa.c_str(), run.threads,
                digest.c_str(), answered.empty() ? "not run" : answered.c_str(), steps.c_str());
  }
  if (!pass)
    std::fprintf(stderr,
                 "loom: this machine does not compute the reference bits: expected digest %s, training steps %s\n",
                 kGoldenDigest, kTrainingStepsDigest);
  return pass ? kOk : kFailed;
}

}  // namespace loom::cli
