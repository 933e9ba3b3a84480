#include "text/tokenizer/vocab.h"

#include <array>
#include <bit>
#include <limits>

namespace loom::text {

void Vocab::reserve(std::size_t tokens, std::size_t bytes) {
  bytes_.reserve(bytes);
  offset_.reserve(tokens);
  length_.reserve(tokens);
  if (std::bit_ceil(tokens * 2 + 16) > slots_.size()) grow(std::bit_ceil(tokens * 2 + 16));
}

void Vocab::grow(std::size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& s : old) {
    if (s.id == kNoToken) continue;
    const std::string_view t = text(s.id);
    slots_[slot_of(t, hash_bytes(t))] = s;
  }
}

// Slot of the text, or the free slot where it belongs.
std::size_t Vocab::slot_of(std::string_view t, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t i = static_cast<std::size_t>(hash) & mask;; i = (i + 1) & mask) {
    const Slot& s = slots_[i];
    if (s.id == kNoToken || (s.tag == tag && text(s.id) == t)) return i;
  }
}

Result<void> Vocab::add(std::string_view t, TokenId id, bool replace) {
  if (id < 0 || id > kMaxTokenId) return fail(Code::OutOfRange, "token id {}, expected 0..{}", id, kMaxTokenId);
  if (bytes_.size() + t.size() > std::numeric_limits<std::uint32_t>::max() - 1)
    return fail(Code::LimitExceeded, "the texts of the tokens exceed 4 GiB");
  if (slots_.size() < (used_ + 1) * 2) grow(std::bit_ceil((used_ + 1) * 4 + 16));
  const auto index = static_cast<std::size_t>(id);
  if (index >= length_.size()) {
    offset_.resize(index + 1, 0);
    length_.resize(index + 1, kAbsent);
  }
  // The slot first: the lookup must not see the new id under an old text.
  const std::uint64_t hash = hash_bytes(t);
  Slot& slot = slots_[slot_of(t, hash)];
  offset_[index] = static_cast<std::uint32_t>(bytes_.size());
  length_[index] = static_cast<std::uint32_t>(t.size());
  bytes_.append(t);
  if (t.size() > max_length_) max_length_ = t.size();
  if (slot.id == kNoToken) ++used_;
  if (slot.id == kNoToken || replace) slot = {static_cast<std::uint32_t>(hash >> 32), id};
  return {};
}

TokenId Vocab::find(std::string_view t) const {
  if (slots_.empty() || t.size() > max_length_) return kNoToken;
  return slots_[slot_of(t, hash_bytes(t))].id;
}

void PairTable::reserve(std::size_t pairs) {
  const std::size_t slots = std::bit_ceil(pairs * 2 + 16);
  if (slots <= slots_.size()) return;
  std::vector<Entry> old(slots);
  old.swap(slots_);
  mask_ = slots - 1;
  for (const Entry& e : old) {
    if (e.key == kEmpty) continue;
    std::size_t i = position(e.key);
    while (slots_[i].key != kEmpty) i = (i + 1) & mask_;
    slots_[i] = e;
  }
}

void PairTable::add(TokenId left, TokenId right, std::uint32_t rank, TokenId merged, bool replace) {
  if (slots_.size() < (used_ + 1) * 2) reserve((used_ + 1) * 2);
  const std::uint64_t key = key_of(left, right);
  std::size_t i = position(key);
  while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & mask_;
  const bool fresh = slots_[i].key == kEmpty;
  if (fresh) ++used_;
  if (fresh || replace) slots_[i] = {key, rank, merged};
}

std::string byte_token(std::uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

int byte_of_token(std::string_view t) {
  if (t.size() != 6 || t.substr(0, 3) != "<0x" || t[5] != '>') return -1;
  int value = 0;
  for (const char c : t.substr(3, 2)) {
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                         : -1;
    if (d < 0) return -1;
    value = value * 16 + d;
  }
  return value;
}

namespace {
// Printable Latin-1 stands for itself; the other 68 bytes, in order, for U+0100 onwards.
constexpr std::array<std::uint16_t, 256> make_byte_chars() {
  std::array<std::uint16_t, 256> chars{};
  std::uint16_t next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool visible = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    chars[static_cast<std::size_t>(b)] = visible ? static_cast<std::uint16_t>(b) : next++;
  }
  return chars;
}
constexpr auto kByteChars = make_byte_chars();
constexpr std::array<std::int16_t, 324> make_char_bytes() {
  std::array<std::int16_t, 324> bytes{};
  for (auto& b : bytes) b = -1;
  for (std::size_t b = 0; b < 256; ++b) bytes[kByteChars[b]] = static_cast<std::int16_t>(b);
  return bytes;
}
constexpr auto kCharBytes = make_char_bytes();
}  // namespace

std::uint32_t byte_level_char(std::uint8_t byte) { return kByteChars[byte]; }
int byte_level_byte(std::uint32_t c) { return c < kCharBytes.size() ? kCharBytes[c] : -1; }

}  // namespace loom::text
