#pragma once
// The flags of sampling and stopping, shared by chat and generate.

#include "cli/common.h"
#include "core/file.h"
#include "grammar/grammar.h"

namespace loom::cli {

struct GenerationFlags {
  std::size_t max_tokens = DefaultLength::kText;
  SamplingOptions sampling;
  std::vector<std::string> stop, logit_bias, choices;
  std::string schema, grammar, regex;
  std::size_t logprobs = 0;
  bool ignore_eos = false;
  std::string speculate;

  // The numbers of sampling, which `loom bench` has too.
  static void add_numbers(CLI::App& app, SamplingOptions& sampling) {
    app.add_option("--temp,--temperature", sampling.temperature, "0 picks the best token; higher is more varied")
        ->capture_default_str()
        ->check(number_within(0, std::numeric_limits<float>::max()));
    app.add_option("--top-k", sampling.top_k, "Draw from the k best tokens (0: off)")->capture_default_str();
    app.add_option("--top-p", sampling.top_p, "Draw from the best tokens that hold this share of the probability")
        ->capture_default_str();
    app.add_option("--min-p", sampling.min_p, "Drop tokens below this share of the best one's probability")
        ->capture_default_str();
    app.add_option("--typical-p", sampling.typical_p, "Locally typical sampling")->capture_default_str();
    app.add_option("--repetition-penalty", sampling.repetition_penalty,
                   "Divide the scores of recent tokens (--repeat-last-n)")
        ->capture_default_str();
    app.add_option("--frequency-penalty", sampling.frequency_penalty, "Lower scores per recent occurrence")
        ->capture_default_str();
    app.add_option("--presence-penalty", sampling.presence_penalty, "Lower scores of tokens that occurred")
        ->capture_default_str();
    app.add_option("--repeat-last-n", sampling.repetition_window,
                   "Tokens that the three penalties look back on, the prompt included (0: none, -1: all)")
        ->capture_default_str()
        ->check(CLI::Range(-1, 1 << 30));
    app.add_option("--seed", sampling.seed, "Same seed, same text, on every machine")
        ->capture_default_str()
        ->check(whole_number());
  }

  // `reports`: the command has an output for --logprobs.
  void add(CLI::App& app, bool reports = true) {
    app.add_option("-n,--max-tokens", max_tokens, "Tokens to generate at most")
        ->capture_default_str()
        ->check(whole_number());
    add_numbers(app, sampling);
    app.add_option("--logit-bias", logit_bias, "ID:BIAS, added to a token's score; also ID,ID:BIAS; may be repeated");
    app.add_option("--stop", stop, "End before this text; may be repeated");
    if (reports)
      app.add_option("--logprobs", logprobs, "Report the n best tokens per step (with --json)")
          ->capture_default_str()
          ->check(whole_number());
    app.add_flag("--ignore-eos", ignore_eos, "Never draw an end-of-sequence token: write up to --max-tokens");
    add_speculate(app, speculate);
    add_path(app, "--schema", schema, "Write JSON that satisfies this JSON Schema")->type_name("FILE");
    add_path(app, "--grammar", grammar, "Write text of this grammar (GBNF)")->type_name("FILE");
    add_path(app, "--regex", regex, "Write text that this regular expression matches as a whole");
    add_path(app, "--choice", choices, "Write one of these texts; may be repeated");
  }

  // InvalidArgument for what only penalties look at, without one, and for what only draws look at, when nothing is
  // drawn.
  Result<void> check_effects(const CLI::App& app) const {
    LOOM_TRY_VOID(check_effects_of_numbers(app, sampling));
    if (!choices.empty() && !stop.empty())
      return fail(Code::InvalidArgument,
                  "--stop has no sense beside --choice: the answer is one of the choices, whole");
    return {};
  }
  static Result<void> check_effects_of_numbers(const CLI::App& app, const SamplingOptions& sampling) {
    if (sampling.repetition_penalty == 1 && sampling.frequency_penalty == 0 && sampling.presence_penalty == 0 &&
        app.get_option("--repeat-last-n")->count() > 0)
      return fail(
          Code::InvalidArgument,
          "--repeat-last-n has no effect without --repetition-penalty, --frequency-penalty or --presence-penalty");
    if (sampling.temperature != 0) return {};
    for (const char* name : {"--top-k", "--top-p", "--min-p", "--typical-p", "--seed"})
      if (app.get_option(name)->count() > 0)
        return fail(Code::InvalidArgument,
                    "{} has no effect at temperature 0, where the best token is taken; --temp 0.7 draws", name);
    return {};
  }

  Result<GenerationOptions> to_options() const {
    GenerationOptions o;
    o.max_tokens = max_tokens;
    o.sampling = sampling;
    for (const std::string& text : stop)
      if (text.empty())
        return fail(Code::InvalidArgument, "--stop: an empty text, expected the text before which the answer ends");
    o.stop = stop;
    o.logprobs = logprobs;
    o.ignore_eos = ignore_eos;
    LOOM_TRY(o.grammar, to_grammar());
    for (const std::string& entry : logit_bias) {
      const std::size_t colon = entry.find(':');
      char* end = nullptr;
      const float bias = colon == entry.npos ? 0.0f : std::strtof(entry.c_str() + colon + 1, &end);
      if (end == nullptr || *end != '\0' || end == entry.c_str() + colon + 1)
        return fail(Code::InvalidArgument, "--logit-bias {}: expected ID:BIAS", entry);
      LOOM_TRY(const auto ids, parse_ids(entry.substr(0, colon)));
      for (const std::int32_t id : ids) o.sampling.logit_bias.emplace_back(id, bias);
    }
    return o;
  }

 private:
  // Null without one of the four options.
  Result<std::shared_ptr<const Grammar>> to_grammar() const {
    constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    std::vector<std::string_view> given;
    if (!schema.empty()) given.emplace_back("--schema");
    if (!grammar.empty()) given.emplace_back("--grammar");
    if (!regex.empty()) given.emplace_back("--regex");
    if (!choices.empty()) given.emplace_back("--choice");
    if (given.size() > 1)
      return fail(Code::InvalidArgument, "{} and {} both say what the text may be: give one of them", given[0],
                  given[1]);
    if (!schema.empty()) {
      LOOM_TRY(const std::string text, read_text_file(schema, kMostBytes));
      auto made = Grammar::from_schema(text);
      if (!made) return at(schema, std::move(made).error());
      return made;
    }
    if (!grammar.empty()) {
      LOOM_TRY(const std::string text, read_text_file(grammar, kMostBytes));
      auto made = Grammar::from_gbnf(text);
      if (!made) return at(grammar, std::move(made).error());
      return made;
    }
    if (!regex.empty()) return Grammar::from_regex(regex);
    if (!choices.empty()) return Grammar::from_choices(choices);
    return std::shared_ptr<const Grammar>();
  }
};

}  // namespace loom::cli
