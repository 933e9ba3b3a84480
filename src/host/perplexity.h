#pragma once
// How well a language model foretells a text. The text is cut into windows side by side; every token of a window but
// its first is scored with what precedes it in the window.

#include <atomic>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "lm/language_model.h"
#include "lm/session.h"

namespace loom {

// The tokens of a text as it is scored: no special tokens are added, and markers in it are ordinary text.
struct ScoredText {
  std::vector<std::int32_t> ids;
  std::size_t dropped_bytes = 0;  // that the vocabulary has no token for
};
Result<ScoredText> text_to_score(const LanguageModel& model, std::string_view text);

struct PerplexityOptions {
  std::size_t window = 512;     // tokens, at least 2
  std::size_t max_windows = 0;  // 0: the whole text
  // after each window, with the perplexity so far; false stops
  std::function<bool(std::size_t done, std::size_t total, double perplexity)> progress{};
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: the call ends with Cancelled
};
struct PerplexityResult {
  double perplexity = 0;
  std::size_t tokens = 0, scored = 0;   // of the text; that have a probability
  std::size_t window = 0, windows = 0;  // tokens of a window; windows that were scored
  std::vector<double> window_nll;       // by window: the mean of -ln of the probabilities
  bool stopped = false;                 // before the last window, or after it
};
// The session's first sequence is emptied before every window. InvalidArgument for less than one window, NonFinite with
// the window; errors of Session::feed_all().
Result<PerplexityResult> perplexity(Session& session, std::span<const std::int32_t> ids,
                                    const PerplexityOptions& options = {});
Json to_json(const PerplexityResult& result, std::size_t dropped_bytes);

}  // namespace loom
