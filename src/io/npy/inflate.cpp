#include "io/npy/inflate.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace loom {
namespace {

constexpr std::size_t kMaxCodeLength = 15, kLiterals = 288, kDistances = 32;

// A base value and the number of bits that are added to it.
struct Range {
  std::uint16_t base;
  std::uint8_t bits;
};
// Tables of RFC 1951 section 3.2.5.
constexpr Range kLengths[] = {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},  {9, 0},  {10, 0},
                              {11, 1},  {13, 1},  {15, 1},  {17, 1},  {19, 2}, {23, 2}, {27, 2}, {31, 2},
                              {35, 3},  {43, 3},  {51, 3},  {59, 3},  {67, 4}, {83, 4}, {99, 4}, {115, 4},
                              {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};
constexpr Range kOffsets[] = {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
                              {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
                              {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
                              {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
                              {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

// Codes of one alphabet: how many have each length, and their symbols in the order of the codes.
struct Alphabet {
  std::array<std::uint16_t, kMaxCodeLength + 1> counts{};
  std::array<std::uint16_t, kLiterals> symbols{};

  // False where the lengths ask for more codes than there are.
  bool assign(std::span<const std::uint8_t> lengths) {
    counts.fill(0);
    for (const std::uint8_t length : lengths) ++counts[length];
    counts[0] = 0;
    int left = 1;
    for (std::size_t n = 1; n <= kMaxCodeLength; ++n) {
      left = left * 2 - counts[n];
      if (left < 0) return false;
    }
    std::array<std::uint16_t, kMaxCodeLength + 2> first{};
    for (std::size_t n = 1; n <= kMaxCodeLength; ++n) first[n + 1] = static_cast<std::uint16_t>(first[n] + counts[n]);
    for (std::size_t s = 0; s < lengths.size(); ++s)
      if (lengths[s] != 0) symbols[first[lengths[s]]++] = static_cast<std::uint16_t>(s);
    return true;
  }
};

class Inflator {
 public:
  Inflator(std::span<const std::byte> in, std::span<std::byte> out) : in_(in), out_(out) {}

  Result<void> run() {
    for (bool last = false; !last;) {
      LOOM_TRY(const std::uint32_t head, bits(3));
      last = (head & 1) != 0;
      switch (head >> 1) {
        case 0: LOOM_TRY_VOID(stored()); break;
        case 1: LOOM_TRY_VOID(fixed()); break;
        case 2: LOOM_TRY_VOID(dynamic()); break;
        default: return damaged("an unknown kind of block");
      }
    }
    if (written_ != out_.size())
      return fail(Code::CorruptData, "offset {}: {} bytes when unpacked, {} were said", at_, written_, out_.size());
    return {};
  }

 private:
  tl::unexpected<Error> damaged(const char* what) const {
    return fail(Code::CorruptData, "offset {}: the compressed data hold {}", at_, what);
  }

  // The lowest bit of a byte comes first.
  Result<std::uint32_t> bits(std::size_t count) {
    while (held_count_ < count) {
      if (at_ == in_.size()) return damaged("less than they begin");
      held_ |= std::to_integer<std::uint32_t>(in_[at_++]) << held_count_;
      held_count_ += 8;
    }
    const std::uint32_t value = held_ & ((std::uint32_t{1} << count) - 1);
    held_ >>= count, held_count_ -= count;
    return value;
  }

  // A code's highest bit comes first. Codes of each length are consecutive numbers, the shorter ones before.
  Result<std::size_t> symbol(const Alphabet& alphabet) {
    std::uint32_t code = 0, first = 0, index = 0;
    for (std::size_t n = 1; n <= kMaxCodeLength; ++n) {
      LOOM_TRY(const std::uint32_t bit, bits(1));
      code |= bit;
      const std::uint32_t count = alphabet.counts[n];
      if (code < first + count) return alphabet.symbols[index + (code - first)];
      index += count, first = (first + count) << 1, code <<= 1;
    }
    return damaged("a code that no symbol has");
  }

  Result<void> stored() {
    held_ = 0, held_count_ = 0;  // the rest of a byte is no part of the block
    if (in_.size() - at_ < 4) return damaged("less than they begin");
    const auto number = [&](std::size_t i) {
      return std::to_integer<std::uint32_t>(in_[at_ + i]) | std::to_integer<std::uint32_t>(in_[at_ + i + 1]) << 8;
    };
    const std::size_t count = number(0);
    if ((number(0) ^ number(2)) != 0xffff) return damaged("a length that its complement contradicts");
    at_ += 4;
    if (count > in_.size() - at_) return damaged("less than they begin");
    if (count > out_.size() - written_) return damaged("more bytes than were said");
    std::ranges::copy(in_.subspan(at_, count), out_.begin() + static_cast<std::ptrdiff_t>(written_));
    at_ += count, written_ += count;
    return {};
  }

  Result<void> fixed() {
    std::array<std::uint8_t, kLiterals> lengths{};
    for (std::size_t s = 0; s < kLiterals; ++s)
      lengths[s] = static_cast<std::uint8_t>(s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8);
    literals_.assign(lengths);
    std::array<std::uint8_t, 30> five{};
    five.fill(5);
    distances_.assign(five);
    return block();
  }

  // The lengths of both alphabets' codes are coded themselves, in an alphabet of nineteen symbols.
  Result<void> dynamic() {
    constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    LOOM_TRY(const std::uint32_t head, bits(14));
    const std::size_t num_literals = (head & 31) + 257, num_distances = (head >> 5 & 31) + 1,
                      num_codes = (head >> 10 & 15) + 4;
    if (num_literals > 286 || num_distances > 30) return damaged("too many symbols");
    std::array<std::uint8_t, 19> code_lengths{};
    for (std::size_t i = 0; i < num_codes; ++i) {
      LOOM_TRY(const std::uint32_t length, bits(3));
      code_lengths[kOrder[i]] = static_cast<std::uint8_t>(length);
    }
    if (!literals_.assign(code_lengths)) return damaged("codes that overlap");
    std::array<std::uint8_t, kLiterals + kDistances> lengths{};
    LOOM_TRY_VOID(read_lengths(std::span(lengths).first(num_literals + num_distances)));
    if (lengths[256] == 0) return damaged("a block without an end");
    const std::span<const std::uint8_t> all = lengths;
    if (!literals_.assign(all.first(num_literals)) || !distances_.assign(all.subspan(num_literals, num_distances)))
      return damaged("codes that overlap");
    return block();
  }

  Result<void> read_lengths(std::span<std::uint8_t> lengths) {
    for (std::size_t i = 0; i < lengths.size();) {
      LOOM_TRY(const std::size_t s, symbol(literals_));
      if (s < 16) {
        lengths[i++] = static_cast<std::uint8_t>(s);
        continue;
      }
      if (s == 16 && i == 0) return damaged("a repetition of nothing");
      const std::uint8_t value = s == 16 ? lengths[i - 1] : std::uint8_t{0};
      LOOM_TRY(const std::uint32_t more, bits(s == 16 ? 2 : s == 17 ? 3 : 7));
      const std::size_t times = more + (s == 18 ? 11u : 3u);
      if (times > lengths.size() - i) return damaged("too many lengths of codes");
      for (std::size_t k = 0; k < times; ++k) lengths[i++] = value;
    }
    return {};
  }

  Result<void> block() {
    for (;;) {
      LOOM_TRY(const std::size_t s, symbol(literals_));
      if (s == 256) return {};
      if (s > 256) {
        LOOM_TRY_VOID(repeat(s - 257));
        continue;
      }
      if (written_ == out_.size()) return damaged("more bytes than were said");
      out_[written_++] = static_cast<std::byte>(s);
    }
  }

  // Bytes from before once more; they may reach into what is being written.
  Result<void> repeat(std::size_t length_symbol) {
    if (length_symbol >= std::size(kLengths)) return damaged("an unknown length");
    LOOM_TRY(const std::uint32_t more, bits(kLengths[length_symbol].bits));
    LOOM_TRY(const std::size_t s, symbol(distances_));
    if (s >= std::size(kOffsets)) return damaged("an unknown distance");
    LOOM_TRY(const std::uint32_t further, bits(kOffsets[s].bits));
    const std::size_t length = kLengths[length_symbol].base + more, distance = kOffsets[s].base + further;
    if (distance > written_) return damaged("a distance beyond their beginning");
    if (length > out_.size() - written_) return damaged("more bytes than were said");
    for (std::size_t k = 0; k < length; ++k, ++written_) out_[written_] = out_[written_ - distance];
    return {};
  }

  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::size_t at_ = 0, written_ = 0, held_count_ = 0;
  std::uint32_t held_ = 0;
  Alphabet literals_, distances_;
};

}  // namespace

Result<Buffer> inflate_exactly(std::span<const std::byte> deflated, std::size_t size) {
  LOOM_TRY(Buffer out, Buffer::create(size));
  LOOM_TRY_VOID(Inflator(deflated, out.bytes().first(size)).run());
  return out;
}

}  // namespace loom
