// Any bytes as a tokenizer.json; what loads must encode, decode and stream without harm.

#include <cstdint>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom::text;
  const auto tokenizer = Tokenizer::from_json({reinterpret_cast<const char*>(data), size});
  if (!tokenizer) return 0;
  for (const std::string_view text :
       {std::string_view("Hello  w\xC3\xB6rld 123\n\xFF <s>\xE4\xBD\xA0"),
        std::string_view(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 256))}) {
    std::vector<std::int32_t> ids;
    if (!tokenizer->encode(text, {}, ids)) continue;
    const std::string whole = tokenizer->decode(ids, {false});
    IncrementalDecoder decoder(*tokenizer, {false});
    std::string pieces;
    for (const std::int32_t id : ids) {
      LOOM_ASSERT(id >= 0 && static_cast<std::size_t>(id) < tokenizer->vocab_size());
      pieces += decoder.push(id);
    }
    pieces += decoder.finish();
    LOOM_ASSERT(pieces == whole);
  }
  return 0;
}
