#pragma once
// Tables that tools/gen_unicode.py writes into tables.cpp. Use unicode.h.

#include <cstddef>
#include <cstdint>

namespace loom::text::tables {

struct Record {
  std::uint8_t category, combining_class, grapheme_break;
  std::uint16_t flags;
};
struct Decomposition {
  std::uint32_t code_point;
  std::uint16_t offset;
  std::uint16_t length;
};
struct Composition {
  std::uint32_t first, second, composed;
};
struct CaseMapping {
  std::uint32_t from, to;
};

extern const std::uint16_t kPage[8704];    // by code point / 128
extern const std::uint8_t kRecordIndex[];  // by page * 128 + code point % 128
extern const std::size_t kNumRecords;      // at most 256
extern const Record kRecords[];
extern const std::uint32_t kExample[];  // a code point of each record, not ASCII unless all of them are
extern const std::size_t kNumCanonical, kNumCompatible, kNumPairs, kNumLower, kNumFold;
extern const Decomposition kCanonical[], kCompatible[];  // full, sorted by code point; compatible only where it differs
extern const std::uint32_t kDecomposed[];
extern const Composition kPairs[];  // sorted by (first, second)
extern const CaseMapping kLower[], kFold[];

}  // namespace loom::text::tables
