#include "legacy/files/blob.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.h"
#include "core/little_endian.h"
#include "dtypes/packing.h"
#include "dtypes/scales.h"
#include "io/byte_reader.h"

namespace loom::loom08 {
namespace {

constexpr std::size_t kBlock = 32;      // weights of a Q4_0 block
constexpr float kScaleLimit = 0x1p64f;  // beyond it the largest codes would not be finite

// The E2M1 code of twice the value: 0, 0.75, 1, 1.5, 2 and 3 become 0, 1.5, 2, 3, 4 and 6. The codes for an infinity
// and for no number have none.
constexpr int kNone = -1;
constexpr std::array<int, 8> kE2M1 = {0, 3, 4, 5, 6, 7, kNone, kNone};

unsigned byte_at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

int sign_extended(unsigned code, unsigned bits) {
  return static_cast<int>(code) - (code >> (bits - 1) != 0 ? 1 << bits : 0);
}

// Number i of codes that share bytes, the first of them in the highest bits.
unsigned small_code(std::span<const std::byte> bytes, std::size_t i, unsigned bits) {
  const std::size_t per_byte = 8 / bits;
  const auto shift = static_cast<unsigned>(8 - bits * (i % per_byte + 1));
  return byte_at(bytes, i / per_byte) >> shift & ((1u << bits) - 1);
}

// The scale of today's codes.
float scale_in(DType dtype, float scale) { return dtype == DType::fp4 ? scale / 2 : scale; }

// Translates a code of 0.8x into the code that a QuantizedMatrix holds for the same value.
Result<int> converted(DType dtype, unsigned code) {
  switch (dtype) {
    case DType::fp4:
      if (const int e2m1 = kE2M1[code & 7]; e2m1 != kNone) return e2m1 + static_cast<int>(code & 8);
      return fail(Code::CorruptData, "fp4 code {} stands for no finite number", code);
    case DType::ternary:
      if (code == 2) return fail(Code::CorruptData, "ternary code -2, expected -1, 0 or 1");
      return sign_extended(code, 2);
    case DType::int4: return sign_extended(code, 4);
    case DType::int2: return sign_extended(code, 2);
    case DType::binary: return code == 0 ? -1 : 1;
    default: return static_cast<int>(code);
  }
}

// Code S.1111.111 is 480 in 0.8x and no number in OCP's table: tensors with it are re-encoded.
Result<QuantizedMatrix> with_480(QuantizedMatrix q) {
  std::vector<float> values = dequantize(q);
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned code = byte_at(q.codes, i);
    if ((code & 0x7f) != 0x7f) continue;
    any = true;
    values[i] = static_cast<float>((code == 0x7f ? 480 : -480) * q.scales[0]);
  }
  if (!any) return q;
  return quantize(DType::fp8e4m3, values, q.rows, q.cols, {Granularity::Tensor});
}

}  // namespace

bool is_scale(DType dtype, float scale) {
  return std::isnormal(scale_in(dtype, scale)) && scale > 0 && scale < kScaleLimit;
}

Result<void> check(const Blob& blob, std::size_t count) {
  if (is_block_format(blob.dtype)) return fail(Code::Unsupported, "no type of 0.8x: {}", name(blob.dtype));
  LOOM_TRY(const std::size_t bits, checked_mul(count, info(blob.dtype).bits));
  if (blob.bytes.size() != ceil_div(bits, 8))
    return fail(Code::CorruptData, "expected {} bytes for {} weights of {}, got {}", ceil_div(bits, 8), count,
                name(blob.dtype), blob.bytes.size());
  if (count == 0 || !has_scales(blob.dtype)) return {};
  if (!is_scale(blob.dtype, blob.scale))
    return fail(Code::CorruptData, "expected a normal scale above 0 and below 2^64, got {}", blob.scale);
  return {};
}

Result<QuantizedMatrix> matrix_of(const Blob& blob, std::size_t first, std::size_t rows, std::size_t cols) {
  QuantizedMatrix q;
  q.dtype = blob.dtype, q.rows = rows, q.cols = cols, q.span = {Granularity::Tensor};
  const std::size_t count = rows * cols, bytes = q.code_bytes();
  const unsigned bits = info(blob.dtype).bits;
  if (bits >= 8) {
    const auto part = blob.bytes.subspan(first * bytes, count * bytes);
    q.codes.assign(part.begin(), part.end());
  } else {
    q.codes.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto code = converted(blob.dtype, small_code(blob.bytes, first + i, bits));
      if (!code) return fail(code.error().code, "weight {}: {}", first + i, code.error().message);
      q.codes.push_back(static_cast<std::byte>(*code));
    }
  }
  if (!has_scales(blob.dtype)) return q;
  q.scales = {static_cast<double>(scale_in(blob.dtype, blob.scale))};
  if (has_zero_points(blob.dtype)) q.zero_points = {0};
  if (blob.dtype == DType::uint64)
    for (std::size_t i = 0; i < count; ++i)
      if (q.code(i) < 0) return fail(Code::Unsupported, "weight {}: a uint64 code from 2^63 on", first + i);
  return blob.dtype == DType::fp8e4m3 ? with_480(std::move(q)) : q;
}

void repeat_scale_by_group(QuantizedMatrix& q) {
  q.span = {Granularity::Group, 32};
  q.scales.assign(q.rows * q.spans_per_row(), q.scales[0]);
}

Result<QuantizedMatrix> matrix_of_q4_0(std::span<const std::byte> bytes, std::size_t rows, std::size_t cols) {
  LOOM_TRY(const std::size_t count, checked_mul(rows, cols));
  const std::size_t blocks = ceil_div(count, kBlock);
  ByteReader reader(bytes);
  LOOM_TRY(const auto num_scales, reader.number<std::uint32_t>("the number of scales"));
  LOOM_TRY(const auto num_words, reader.number<std::uint32_t>("the number of words"));
  if (num_scales != blocks || num_words / 4 < blocks)
    return fail(Code::CorruptData, "expected {} scales and at least {} words for {} weights, got {} and {}", blocks,
                blocks * 4, count, num_scales, num_words);
  LOOM_TRY(const auto scales, reader.take(std::uint64_t{num_scales} * 4, "the scales"));
  LOOM_TRY(const auto codes, reader.take(std::uint64_t{num_words} * 4, "the codes"));
  if (reader.left() != 0) return fail(Code::CorruptData, "{} bytes after the codes", reader.left());
  QuantizedMatrix q;
  q.dtype = DType::int4, q.rows = rows, q.cols = cols, q.span = {Granularity::Group, kBlock};
  q.codes.resize(count);
  std::vector<float> values(cols % kBlock == 0 ? 0 : count);
  for (std::size_t b = 0; b < blocks; ++b) {
    auto scale = load_le<float>(scales.data() + b * 4);
    if (!(scale >= 0 && scale < kScaleLimit))
      return fail(Code::CorruptData, "scale {}: expected 0 or more and less than 2^64, got {}", b, scale);
    // Products with a subnormal scale are 0 everywhere in Loom; groups of columns take no scale below 2^-24, and
    // quantize() makes zeros of them too.
    const bool is_zero = !std::isnormal(scale) || (values.empty() && !may_scale_sums(static_cast<double>(scale)));
    if (is_zero) scale = 1;
    q.scales.push_back(static_cast<double>(scale));
    for (std::size_t i = b * kBlock; i < std::min(count, (b + 1) * kBlock); ++i) {
      const unsigned pair = byte_at(codes, i / 2), half = i % 2 == 0 ? pair & 15 : pair >> 4;
      const int code = is_zero ? 0 : sign_extended(half, 4);
      q.codes[i] = static_cast<std::byte>(code);
      if (!values.empty()) values[i] = static_cast<float>(code) * scale;
    }
  }
  if (values.empty()) return q;
  QuantizedMatrix master;
  master.rows = rows, master.cols = cols, master.span = {Granularity::Tensor};
  const auto raw = std::as_bytes(std::span(values));
  master.codes.assign(raw.begin(), raw.end());
  return master;
}

}  // namespace loom::loom08
