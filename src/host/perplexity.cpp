#include "host/perplexity.h"

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/numerics_version.h"
#include "lm/sampling.h"
#include "simd/math64.h"

namespace loom {

Result<ScoredText> text_to_score(const LanguageModel& model, std::string_view text) {
  LOOM_TRY(const text::Tokenizer* const tokenizer, model.need_tokenizer());
  text::EncodeOptions options;
  options.add_special_tokens = options.parse_special = false;
  ScoredText out;
  LOOM_TRY(const text::Encoded encoded, tokenizer->encode(text, options, out.ids));
  out.dropped_bytes = encoded.dropped_bytes;
  return out;
}

Result<PerplexityResult> perplexity(Session& session, std::span<const std::int32_t> ids,
                                    const PerplexityOptions& options) {
  if (options.window < 2) return fail(Code::InvalidArgument, "a window of {} tokens scores none", options.window);
  std::size_t windows = ids.size() / options.window;
  if (options.max_windows > 0) windows = std::min(windows, options.max_windows);
  if (windows == 0)
    return fail(Code::InvalidArgument,
                "the text has {} tokens, fewer than a window of {}: give a longer text or a smaller window", ids.size(),
                options.window);
  PerplexityResult result;
  result.tokens = ids.size(), result.window = options.window;
  double sum = 0;
  for (std::size_t w = 0; w < windows && !result.stopped; ++w) {
    LOOM_TRY_VOID(session.rewind(0));
    const std::span<const std::int32_t> window = ids.subspan(w * options.window, options.window);
    double window_sum = 0;
    const auto add = [&](std::size_t i, std::span<const float> row) {
      if (i + 1 < window.size()) window_sum -= static_cast<double>(logprobs(row, window[i + 1], 0)[0].logprob);
    };
    LOOM_TRY_VOID(session.feed_all(window, add, 0, options.cancel));
    if (!std::isfinite(window_sum)) return fail(Code::NonFinite, "the logits of window {} are not finite", w);
    sum += window_sum;
    result.scored += options.window - 1, ++result.windows;
    result.window_nll.push_back(window_sum / static_cast<double>(options.window - 1));
    result.perplexity = exp64(sum / static_cast<double>(result.scored));
    if (options.progress) result.stopped = !options.progress(w + 1, windows, result.perplexity);
  }
  return result;
}

Json to_json(const PerplexityResult& r, std::size_t dropped_bytes) {
  return {{"perplexity", r.perplexity},
          {"tokens", r.tokens},
          {"dropped_bytes", dropped_bytes},
          {"scored", r.scored},
          {"window", r.window},
          {"windows", r.windows},
          {"window_nll", r.window_nll},
          {"numerics_version", kNumericsVersion}};
}

}  // namespace loom
