#include "text/tokenizer/plain_text.h"

#include <algorithm>
#include <functional>

#include "text/unicode/utf8.h"

namespace loom::text {
namespace {

constexpr std::string_view kOpen = "\xF3\xB0\x80\x80", kClose = "\xF3\xB0\x80\x81";  // U+F0000, U+F0001

// Position of the next mark, npos without one.
std::size_t next_mark(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kOpen.substr(0, 3), from); at != text.npos;
       at = text.find(kOpen.substr(0, 3), at + 1))
    if (text.substr(at, 4) == kOpen || text.substr(at, 4) == kClose) return at;
  return text.npos;
}

// A stretch of a rendered prompt: a control token to be read as text, or any other text.
struct Piece {
  std::string_view text;
  bool is_plain = false;
};
std::vector<Piece> pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Piece> out;
  std::size_t done = 0;
  for (std::size_t at = next_mark(text, 0); at != text.npos; at = next_mark(text, done)) {
    out.push_back({text.substr(done, at - done)});
    done = at + kOpen.size();
    if (text.substr(at, 4) != kOpen) continue;
    const std::size_t end = next_mark(text, done);
    if (end == text.npos || text.substr(end, 4) != kClose) continue;
    const std::string_view token = text.substr(done, end - done);
    if (!tokenizer.is_added(token)) continue;
    out.push_back({token, true});
    done = end + kClose.size();
  }
  out.push_back({text.substr(done)});
  return out;
}

Result<Encoded> encode_piece(const Tokenizer& tokenizer, const Piece& piece, bool is_first, std::size_t max_tokens,
                             std::vector<std::int32_t>& ids) {
  const EncodeOptions options{.add_special_tokens = false, .parse_added = !piece.is_plain, .max_tokens = max_tokens};
  if (is_first) return tokenizer.encode(piece.text, options, ids);
  // After a line break no space is put before the text. Its ids go again.
  std::vector<std::int32_t> line;
  LOOM_TRY_VOID(tokenizer.encode("\n", {.add_special_tokens = false}, line));
  EncodeOptions longer = options;
  longer.max_tokens += std::min(line.size(), static_cast<std::size_t>(-1) - max_tokens);
  LOOM_TRY(const Encoded encoded, tokenizer.encode("\n" + std::string(piece.text), longer, ids));
  if (ids.size() < line.size() || !std::equal(line.begin(), line.end(), ids.begin()))
    return tokenizer.encode(piece.text, options, ids);
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(line.size()));
  return encoded;
}

}  // namespace

PlainTextMarker::PlainTextMarker(const Tokenizer& tokenizer, std::string_view template_text)
    : tokens_(tokenizer.control_tokens(template_text)) {
  std::ranges::stable_sort(tokens_, std::greater<>(), &std::string::size);
  for (const std::string& token : tokens_) begins_[static_cast<std::uint8_t>(token[0])] = true;
}

std::string PlainTextMarker::mark(std::string_view text) const {
  const std::string plain = without_marks(text);
  std::string out;
  for (std::size_t at = 0; at < plain.size();) {
    if (!begins_[static_cast<std::uint8_t>(plain[at])]) {
      out += plain[at++];
      continue;
    }
    const std::string_view rest = std::string_view(plain).substr(at);
    const auto token = std::ranges::find_if(tokens_, [&](const std::string& t) { return rest.starts_with(t); });
    if (token == tokens_.end()) {
      out += plain[at++];
    } else {
      out.append(kOpen).append(*token).append(kClose);
      at += token->size();
    }
  }
  return out;
}

std::string without_marks(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = next_mark(text, 0); at != text.npos; at = next_mark(text, done)) {
    out.append(text.substr(done, at - done));
    done = at + kOpen.size();
  }
  return out.append(text.substr(done));
}

bool has_marks(std::string_view text) { return next_mark(text, 0) != text.npos; }

Result<Encoded> encode_marked(const Tokenizer& tokenizer, std::string_view text, std::size_t max_tokens,
                              std::vector<std::int32_t>& ids) {
  ids.clear();
  Encoded out;
  bool is_first = true;
  std::vector<std::int32_t> some;
  for (const Piece& piece : pieces_of(tokenizer, text)) {
    if (!is_first && piece.text.empty()) continue;
    LOOM_TRY(const Encoded encoded, encode_piece(tokenizer, piece, is_first, max_tokens - ids.size(), some));
    is_first = false;
    if (piece.is_plain && std::ranges::find(some, tokenizer.id_of(piece.text)) != some.end())
      return fail(Code::Unsupported, "the vocabulary makes the control token {} of plain text", piece.text);
    out.dropped_bytes += encoded.dropped_bytes;
    ids.insert(ids.end(), some.begin(), some.end());
    if (ids.size() > max_tokens) return fail(Code::ContextFull, "the text has more than {} tokens", max_tokens);
  }
  return out;
}

}  // namespace loom::text
