#include "data/text/text_windows.h"

#include <algorithm>

#include "data/source.h"

namespace loom {
namespace {

// The character at `at` (RFC 3629) and its number of bytes; 0 bytes where there is none.
std::pair<char32_t, std::size_t> character_at(std::span<const std::byte> text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return std::to_integer<char32_t>(text[at + i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - at < length) return {0, 0};
  char32_t c = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = c >= kLeast[length] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
  return valid ? std::pair{c, length} : std::pair{char32_t{0}, std::size_t{0}};
}

std::string utf8(char32_t c) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}

Result<std::vector<char32_t>> characters_of(std::span<const std::byte> text) {
  std::vector<char32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = character_at(text, at);
    if (length == 0) return fail(Code::CorruptData, "offset {}: no UTF-8", at);
    out.push_back(c);
    at += length;
  }
  return out;
}

// Pairs of character and id, by character.
using Vocabulary = std::vector<std::pair<char32_t, std::uint32_t>>;

Result<Vocabulary> vocabulary_of(const std::vector<std::string>& entries) {
  Vocabulary out;
  for (const std::string& entry : entries) {
    const auto bytes = std::as_bytes(std::span(entry));
    const auto [c, length] = entry.empty() ? std::pair{char32_t{0}, std::size_t{0}} : character_at(bytes, 0);
    if (length == 0 || length != entry.size())
      return fail(Code::InvalidConfig, "entry {} of the vocabulary is no single character", out.size());
    out.emplace_back(c, static_cast<std::uint32_t>(out.size()));
  }
  std::ranges::sort(out);
  const auto twice = std::ranges::adjacent_find(out, {}, &Vocabulary::value_type::first);
  if (twice != out.end())
    return fail(Code::InvalidConfig, "U+{:04X} stands twice in the vocabulary",
                static_cast<std::uint32_t>(twice->first));
  return out;
}

// Turns characters into ids where they stand.
Result<void> to_ids(std::vector<char32_t>& text, const Vocabulary& vocabulary) {
  std::size_t line = 1, column = 1;
  for (char32_t& c : text) {
    const auto found = std::ranges::lower_bound(vocabulary, c, {}, &Vocabulary::value_type::first);
    if (found == vocabulary.end() || found->first != c)
      return fail(Code::UnknownName, "line {}, column {}: U+{:04X} is not in the vocabulary of {} characters", line,
                  column, static_cast<std::uint32_t>(c), vocabulary.size());
    ++column;
    if (c == U'\n') ++line, column = 1;
    c = found->second;
  }
  return {};
}

class TextWindows final : public Dataset {
 public:
  TextWindows(DatasetInfo info, Source source, std::vector<char32_t> ids, std::size_t stride)
      : Dataset(std::move(info)), source_(std::move(source)), ids_(std::move(ids)), stride_(stride) {}

 private:
  std::uint32_t id(std::size_t at) const {
    return ids_.empty() ? std::to_integer<std::uint32_t>(source_.bytes[at]) : static_cast<std::uint32_t>(ids_[at]);
  }
  Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const override {
    const std::size_t first = sample * stride_;
    for (std::size_t i = 0; i < to.inputs.size(); ++i) {
      to.inputs[i] = static_cast<float>(id(first + i));
      to.labels[i] = static_cast<std::int32_t>(id(first + i + 1));
    }
    return {};
  }
  Source source_;
  std::vector<char32_t> ids_;  // empty for bytes
  std::size_t stride_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_text(const std::string& path, const TextWindowOptions& options) {
  if (options.length == 0) return fail(Code::InvalidConfig, "{}: windows of 0 ids", path);
  LOOM_TRY(Source source, open_source(path));
  DatasetInfo about;
  about.source = path;
  about.sha256 = sha256_of({source.stored});
  about.classes = 256;
  std::vector<char32_t> ids;
  std::size_t tokens = source.bytes.size();
  if (options.unit == TextUnit::characters) {
    auto characters = characters_of(source.bytes);
    if (!characters) return at(path, std::move(characters).error());
    ids = std::move(*characters);
    tokens = ids.size();
    about.class_names = options.vocabulary;
    if (about.class_names.empty()) {
      std::vector<char32_t> distinct = ids;
      std::ranges::sort(distinct);
      distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
      for (const char32_t c : distinct) about.class_names.push_back(utf8(c));
    }
    const auto vocabulary = vocabulary_of(about.class_names);
    if (!vocabulary) return at(path, vocabulary.error());
    if (auto done = to_ids(ids, *vocabulary); !done) return at(path, std::move(done).error());
    about.classes = about.class_names.size();
  }
  if (tokens <= options.length)
    return fail(Code::ShapeMismatch, "{}: {} ids, a window and its targets need {} + 1", path, tokens, options.length);
  const std::size_t stride = options.stride == 0 ? options.length : options.stride;
  about.samples = (tokens - options.length - 1) / stride + 1;
  if (about.samples > kMaxSamples)
    return fail(Code::LimitExceeded, "{}: {} windows, at most {}", path, about.samples, kMaxSamples);
  about.input = about.target = Shape::of({options.length});
  return std::unique_ptr<Dataset>(new TextWindows(std::move(about), std::move(source), std::move(ids), stride));
}

}  // namespace loom
