#pragma once
// Token texts back to text. Every step works on a stream, so that a decode of all ids and a decode id by id are one
// code path.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "text/tokenizer/normalizer.h"

namespace loom::text {

// The running state of one step in one decode.
struct DecodeState {
  bool first = true;  // no token has passed yet
  std::size_t stripped = 0;
  std::string held;  // text that a later token may still change
  bool holds = false;
};

// Takes token texts one after the other and gives token texts to `next`.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  // Appends to `out` the texts that settle when `token` arrives.
  virtual Result<void> push(std::string_view token, DecodeState& state, std::vector<std::string>& out) const = 0;
  // No token follows.
  virtual Result<void> finish(DecodeState&, std::vector<std::string>&) const { return {}; }
};
using DecodeStepPtr = std::unique_ptr<DecodeStep>;

// Appends the steps of a "decoder" of a tokenizer.json.
Result<void> decoders_from_json(const Json& spec, std::vector<DecodeStepPtr>& steps);

DecodeStepPtr make_byte_level_decoder();
DecodeStepPtr make_byte_fallback_decoder();
DecodeStepPtr make_replace_decoder(PatternSpec pattern, std::string content);
// Takes up to `start` times `content` from the start and up to `stop` from the end, of each token or (`whole`) of the
// whole text.
DecodeStepPtr make_strip_decoder(std::string content, std::size_t start, std::size_t stop, bool whole);
DecodeStepPtr make_join_decoder();  // a space between tokens: what happens without any decoder

}  // namespace loom::text
