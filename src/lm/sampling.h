#pragma once
// From a row of logits to the next token (engine ). With everything at its default the choice is argmax,
// the lowest id on ties. Random draws are a function of (seed, position), never of what ran before.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace loom {

struct SamplingOptions {
  float temperature = 0;  // 0: argmax
  int top_k = 0;          // 0: off
  float top_p = 1, min_p = 0, typical_p = 1;
  float repetition_penalty = 1;  // divides positive logits, multiplies negative ones
  int repetition_window = 64;    // tokens, prompt included, that the penalties look back on; 0: none, -1: all
  float frequency_penalty = 0, presence_penalty = 0;
  std::vector<std::pair<std::int32_t, float>> logit_bias{};
  std::vector<std::int32_t> banned{};
  std::uint64_t seed = 0;

  bool operator==(const SamplingOptions&) const = default;
};

// A number of SamplingOptions: its name and what it may be.
struct SamplingField {
  std::string_view name;
  double least = 0, greatest = 0;
  std::string_view expected{};  // for messages
  bool is_open = false;         // `least` itself is refused

  bool takes(double value) const { return (is_open ? value > least : value >= least) && value <= greatest; }
};
// The table of these numbers, visit(field, member); the members hold their defaults. Flags, JSON and the C ABI give
// what passes check(), or less.
void visit_sampling(auto& options, auto&& visit) {
  constexpr double kMost = std::numeric_limits<float>::max(), kMostTokens = std::numeric_limits<int>::max();
  visit(SamplingField{"temperature", 0, kMost, "a finite number >= 0"}, options.temperature);
  visit(SamplingField{"top_k", 0, kMostTokens, "0 (off) or more"}, options.top_k);
  visit(SamplingField{"top_p", 0, 1, "a number in (0, 1]", true}, options.top_p);
  visit(SamplingField{"min_p", 0, 1, "a number in [0, 1]"}, options.min_p);
  visit(SamplingField{"typical_p", 0, 1, "a number in (0, 1]", true}, options.typical_p);
  visit(SamplingField{"repetition_penalty", 0, kMost, "a finite number > 0", true}, options.repetition_penalty);
  visit(SamplingField{"repetition_window", -1, kMostTokens, "-1 (all tokens), 0 (none) or more"},
        options.repetition_window);
  visit(SamplingField{"frequency_penalty", -kMost, kMost, "a finite number"}, options.frequency_penalty);
  visit(SamplingField{"presence_penalty", -kMost, kMost, "a finite number"}, options.presence_penalty);
}

// InvalidArgument names the option that is out of range.
Result<void> check(const SamplingOptions& options, std::size_t vocab_size);

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;  // natural log of the softmax before temperature and cuts
};

class Sampler {
 public:
  // Options that passed check().
  Sampler(SamplingOptions options, std::size_t vocab_size);

  // `history` is every token so far, the prompt included; its length is the position that is drawn for. Tokens that
  // `allowed` leaves out (a bit for each, GrammarState::mask()) are banned; an empty one allows all. kNoToken where
  // every token of an `allowed` that is given is banned or has the logit -inf by its bias, InvalidArgument where every
  // token of the vocabulary has; NonFinite when a logit is.
  Result<std::int32_t> choose(std::span<const float> logits, std::span<const std::int32_t> history,
                              std::uint32_t session = 0, std::span<const std::uint64_t> allowed = {});
  static constexpr std::int32_t kNoToken = -1;
  const SamplingOptions& options() const { return options_; }

 private:
  // Returns whether choose() takes the greatest logit of ids that are not banned, whatever the history is.
  bool is_greedy() const;
  struct Candidate {
    float logit;
    std::int32_t id;
  };
  void penalise(std::span<const std::int32_t> history);
  // Returns whether a token remains.
  bool keep_allowed(std::span<const std::uint64_t> allowed);
  static bool is_better(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
  void sort_candidates();
  // Weights of the candidates relative to the best one, in their order; returns the sum.
  double weigh();
  void keep_typical(double total);
  std::int32_t draw(std::uint64_t position, std::uint32_t session);

  SamplingOptions options_;
  std::vector<float> logits_;
  std::vector<std::uint32_t> counts_;
  std::vector<Candidate> candidates_, sorted_;
  std::vector<double> weights_;
};

// argmax, the lowest id on ties; -1 when a logit is NaN.
std::int32_t argmax(std::span<const float> logits);
// The n best ids with their log-probabilities, and the one of `chosen` first when it is >= 0.
std::vector<TokenLogprob> logprobs(std::span<const float> logits, std::int32_t chosen, std::size_t n);

}  // namespace loom
