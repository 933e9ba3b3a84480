#include "dtypes/quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "core/checked.h"
#include "core/little_endian.h"
#include "dtypes/code_rule.h"
#include "dtypes/float16.h"
#include "dtypes/small_float.h"
#include "dtypes/whole_scale.h"

namespace loom {
namespace {

bool is_float_code(DType t) { return info(t).compute == ComputeClass::F32 || info(t).compute == ComputeClass::F64; }
double size_of(double x) { return x < 0 ? -x : x; }
bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }

// Scales and quotients are f32, but f64 for 32- and 64-bit integers. A quotient of f32 values rounded to f64 and then
// to f32 is the correctly rounded f32 quotient, since 53 >= 2 * 24 + 2.
[[gnu::always_inline]] inline double narrowed(DType t, double x) {
  return info(t).compute == ComputeClass::Wide && info(t).bits >= 32 ? x : static_cast<double>(static_cast<float>(x));
}

// To the nearest integer, ties to even.
double rounded(double x) {
  if (!(size_of(x) < 0x1p52)) return x;
  const double shift = x < 0 ? -0x1p52 : 0x1p52;
  return x + shift - shift;
}

// The least power of two s with m <= largest * s; `largest` has the form 1.75 * 2^k. Both significands are compared as
// integers.
double power_of_two_scale(float m, float largest) {
  const std::uint32_t a = std::bit_cast<std::uint32_t>(m), b = std::bit_cast<std::uint32_t>(largest);
  const int power = static_cast<int>(a >> 23) - static_cast<int>(b >> 23) + ((a & 0x7fffffu) > (b & 0x7fffffu) ? 1 : 0);
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + power) << 52);
}

// Away from zero (dropped_scale_bits).
double cut_group_scale(DType t, double scale, std::size_t group_size) {
  const std::uint32_t dropped = dropped_scale_bits(t, group_size);
  if (dropped == 0) return scale;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(scale));
  return std::bit_cast<float>((bits + dropped) & ~dropped);
}

// Expects a finite number.
[[gnu::always_inline]] inline float snapped_finite(float x) {
  const float size = x < 0 ? -x : x;
  return size < kSnap ? 0.0f : x;
}

// Four at a time: weights are re-encoded after every step of a training. Compilers know these vectors on every
// machine.
using F4 = float __attribute__((vector_size(16)));
using I4 = std::int32_t __attribute__((vector_size(16)));
using D4 = double __attribute__((vector_size(32)));

F4 load4(const float* x) {
  F4 v;
  std::memcpy(&v, x, sizeof v);
  return v;
}
F4 splat4(float x) { return F4{x, x, x, x}; }
F4 bits_of(const I4& v) { return std::bit_cast<F4>(v); }
I4 bits_of(const F4& v) { return std::bit_cast<I4>(v); }
F4 select(const I4& mask, const F4& a, const F4& b) { return bits_of((bits_of(a) & mask) | (bits_of(b) & ~mask)); }
F4 size_of(const F4& x) { return bits_of(bits_of(x) & 0x7fffffff); }
F4 snapped_finite(const F4& x) { return bits_of(bits_of(x) & (size_of(x) >= splat4(kSnap))); }
F4 clamped(const F4& x, float low, float high) {
  const F4 least = splat4(low), most = splat4(high), risen = x < least ? least : x;
  return risen > most ? most : risen;
}

// Larger weights count as this when scales are estimated, so that no code times its scale leaves f32; they saturate
// (D-05).
constexpr float kLargest = 0x1p126f;

// Statistics of one span, gathered in one pass over it.
struct Extremes {
  float low = 0, high = 0;  // at least 0 lies between
  float largest = 0;        // size
  float sum = 0;            // of sizes, by lanes16
  std::size_t count = 0;
};

// The least, the largest and the sixteen sums of sizes of some elements.
struct Survey {
  F4 low{}, high{};
  std::array<F4, kLanes / 4> sizes{};

  void add(const F4& given, std::size_t lane) {
    low = given < low ? given : low, high = given > high ? given : high;  // snapped and bounded in the end
    const F4 size = snapped_finite(size_of(given)), most = splat4(kLargest);
    sizes[lane] += size > most ? most : size;
  }
  // At most a block of lanes16; a zero adds nothing.
  static Survey of(std::span<const float> w) {
    Survey s;
    std::size_t i = 0;
    for (; i + kLanes <= w.size(); i += kLanes)
      for (std::size_t lane = 0; lane < kLanes / 4; ++lane) s.add(load4(w.data() + i + 4 * lane), lane);
    if (i == w.size()) return s;
    std::array<float, kLanes> rest{};
    std::copy(w.begin() + static_cast<std::ptrdiff_t>(i), w.end(), rest.begin());
    for (std::size_t lane = 0; lane < kLanes / 4; ++lane) s.add(load4(rest.data() + 4 * lane), lane);
    return s;
  }
  // The next block in order.
  void add_block(const Survey& block) {
    low = block.low < low ? block.low : low, high = block.high > high ? block.high : high;
    for (std::size_t lane = 0; lane < kLanes / 4; ++lane) sizes[lane] += block.sizes[lane];
  }
};

Extremes survey(std::span<const float> w, StopCheck& stop, ThreadPool* pool = nullptr) {
  const std::size_t blocks = ceil_div(w.size(), kLaneBlock);
  const auto of_block = [&](std::size_t b) {
    return Survey::of(w.subspan(b * kLaneBlock, std::min(kLaneBlock, w.size() - b * kLaneBlock)));
  };
  Survey all;
  if (pool != nullptr && pool->threads() > 1 && blocks >= 32) {
    std::vector<Survey> each(blocks);
    const std::size_t shares = static_cast<std::size_t>(pool->threads()) * 4;
    pool->run(shares, [&](std::size_t share) {
      for (std::size_t b = share * blocks / shares; b < (share + 1) * blocks / shares; ++b) each[b] = of_block(b);
    });
    for (const Survey& block : each) all.add_block(block);
  } else {
    static_assert(kStopElements % kLaneBlock == 0);
    stop.run(w.size(), [&](std::size_t first, std::size_t count) {
      for (std::size_t b = first / kLaneBlock; b < ceil_div(first + count, kLaneBlock); ++b) all.add_block(of_block(b));
    });
  }
  const F4 low = clamped(snapped_finite(all.low), -kLargest, kLargest),
           high = clamped(snapped_finite(all.high), -kLargest, kLargest);
  const F4 four = (all.sizes[0] + all.sizes[2]) + (all.sizes[1] + all.sizes[3]);
  Extremes e;
  for (std::size_t k = 0; k < 4; ++k) e.low = std::min(e.low, low[k]), e.high = std::max(e.high, high[k]);
  e.largest = std::max(-e.low, e.high);
  e.sum = (four[0] + four[2]) + (four[1] + four[3]), e.count = w.size();
  return e;
}

// The first element of largest size, with its sign.
float first_largest(std::span<const float> w, const Extremes& e) {
  if (e.high < e.largest) return -e.largest;
  if (-e.low < e.largest) return e.largest;
  for (const float x : w)
    if (std::min(x < 0 ? -x : x, kLargest) == e.largest) return x < 0 ? -e.largest : e.largest;
  return e.largest;
}

// Returns whether all but the zeros have one size.
bool is_common(std::span<const float> w, const Extremes& e, StopCheck& stop) {
  bool common = true;
  stop.run(w.size(), [&](std::size_t first, std::size_t count) {
    common = common && std::ranges::all_of(w.subspan(first, count), [&](float given) {
               const float x = snapped_finite(given), size = std::min(x < 0 ? -x : x, kLargest);
               return size == 0 || size == e.largest;
             });
  });
  return common;
}

// In f32. Sizes near kLargest may overflow their sum; the mean is then taken to be the largest.
double mean_size(const Extremes& e) {
  const float mean = e.sum / static_cast<float>(e.count);
  return static_cast<double>(mean < e.largest ? mean : e.largest);
}

double scale_of(DType t, std::span<const float> w, const Extremes& e, StopCheck& stop) {
  const CodeRule& r = code_rule(t);
  const auto m = static_cast<double>(e.largest);
  switch (r.rule) {
    case ScaleRule::None: return 1;
    case ScaleRule::PowerOfTwo: return power_of_two_scale(static_cast<float>(m), static_cast<float>(r.high));
    case ScaleRule::Symmetric: return narrowed(t, m / r.high);
    case ScaleRule::Signed2: return static_cast<double>(first_largest(w, e)) / -2.0;
    case ScaleRule::Asymmetric: return narrowed(t, (static_cast<double>(e.high) - static_cast<double>(e.low)) / r.high);
    case ScaleRule::Mean: return is_common(w, e, stop) ? m : narrowed(t, mean_size(e));
  }
  return 1;
}

// D-01, D-04. A span of zeros has scale 1, but for binary, whose codes know no zero: its scale is 0.
double final_scale(DType t, const ScaleSpan& span, std::span<const float> w, const Extremes& e, StopCheck& stop) {
  const double none = t == DType::binary ? 0.0 : 1.0;
  if (e.largest == 0) return none;
  double s = scale_of(t, w, e, stop);
  if (span.granularity != Granularity::Group) return t == DType::binary && s < static_cast<double>(kSnap) ? 0.0 : s;
  s = cut_group_scale(t, s, span.group_size);
  return size_of(s) < 0x1p-24 ? none : s;
}

std::int64_t zero_point_of(DType t, double scale, const Extremes& e) {
  return static_cast<std::int64_t>(
      std::clamp(rounded(narrowed(t, -static_cast<double>(e.low) / scale)), 0.0, code_rule(t).high));
}

float decode_small(DType t, std::uint8_t code) {
  return t == DType::fp8e4m3   ? Fp8E4M3::decode(code)
         : t == DType::fp8e5m2 ? Fp8E5M2::decode(code)
                               : Fp4E2M1::decode(code);
}

[[gnu::always_inline]] inline float decode_one(DType t, std::int64_t code, double scale, std::int64_t zero_point) {
  switch (t) {
    case DType::float64: return snap(static_cast<float>(std::bit_cast<double>(code)));
    case DType::float32: return snap(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
    case DType::float16: return snap(float16_to_float(static_cast<std::uint16_t>(code)));
    case DType::bfloat16: return snap(bfloat16_to_float(static_cast<std::uint16_t>(code)));
    case DType::fp8e4m3:
    case DType::fp8e5m2:
    case DType::fp4:
      return snap(static_cast<float>(static_cast<double>(decode_small(t, static_cast<std::uint8_t>(code))) * scale));
    default: return snap(static_cast<float>(static_cast<double>(code - zero_point) * scale));
  }
}

// `x` is finite and snapped, the type not one that encode_four() takes.
[[gnu::always_inline]] inline std::int64_t encode_one(DType t, float x, double scale, std::int64_t zero_point) {
  switch (t) {
    case DType::float64: return std::bit_cast<std::int64_t>(static_cast<double>(x));
    case DType::float32: return std::bit_cast<std::uint32_t>(x);
    default: break;
  }
  const double quotient = narrowed(t, static_cast<double>(x) / scale);
  const CodeRule& r = code_rule(t);
  const auto code =
      static_cast<std::int64_t>(std::clamp(rounded(quotient) + static_cast<double>(zero_point), r.low, r.high));
  // A code whose value would be snapped away becomes that of +0 (numerics 1.2); this also clears the sign of a zero.
  return decode_one(t, code, scale, zero_point) == 0 ? zero_point : code;
}

// Calls f with the type as a constant: the loops over elements hold no question about it.
template <class F>
void with_type(DType t, F&& f) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    ((index(t) == kIndex ? f(std::integral_constant<DType, static_cast<DType>(kIndex)>{}) : void()), ...);
  }(std::make_index_sequence<kNumTypes>{});
}

template <DType t>
void store_code(QuantizedMatrix& q, std::size_t i, std::int64_t code) {
  using Stored = UnsignedOf<info(t).bits <= 8 ? 1 : info(t).bits / 8>;
  store_le(q.codes.data() + i * sizeof(Stored), static_cast<Stored>(code));
}

// Codes of at most 16 bits that are numbers: every number on the way is exact in f32.
template <DType t>
constexpr bool kIsSmallNumber = info(t).bits <= 16 && t != DType::binary && t != DType::fp4 &&
                                code_rule(t).rule != ScaleRule::None && code_rule(t).rule != ScaleRule::PowerOfTwo;

// Codes that are numbers, four at a time.
template <DType t>
I4 encode_numbers(const F4& x, float scale, float zero_point) {
  constexpr CodeRule kRule = code_rule(t);
  const F4 shift = splat4(0x1.8p23f), zero = splat4(zero_point);
  const bool is_small = scale < 2 * kSnap && scale > -2 * kSnap;  // else what snaps is less than half a step
  const F4 quotient = clamped((is_small ? snapped_finite(x) : x) / splat4(scale), -0x1p21f, 0x1p21f);
  // ties to even
  const F4 code =
      clamped(quotient + shift - shift + zero, static_cast<float>(kRule.low), static_cast<float>(kRule.high));
  if (!is_small) return __builtin_convertvector(code, I4);
  const F4 value = size_of((code - zero) * splat4(scale));
  return __builtin_convertvector(select(value < splat4(kSnap), zero, code), I4);
}

// The part of a codec that encode_floats() needs: of IEEE halfs, the largest of which stands for what is greater.
struct Float16Form {
  static constexpr std::int32_t kSign = 0x8000, kMax = 0x7bff;
};

// Floats of sixteen, eight and four bits, four at a time.
template <class Float, int kExponentBits, int kMantissaBits>
I4 encode_floats(const F4& x, float scale) {
  constexpr int kShift = 23 - kMantissaBits, kLowest = 2 - (1 << (kExponentBits - 1));  // of normal exponents
  constexpr float kUnit = std::bit_cast<float>((127 + kLowest - kMantissaBits) << 23);  // of those below
  constexpr int kOffset = (127 + kLowest - 1) << kMantissaBits, kNormal = 1 << kMantissaBits;
  const F4 quotient = snapped_finite(x) / splat4(scale), size = size_of(quotient);
  // The sum ends at that unit; what is greater is rounded in its bits. Both to even.
  const I4 small = bits_of(size + splat4(kUnit * 0x1p23f)) - bits_of(splat4(kUnit * 0x1p23f));
  const I4 bits = bits_of(size);
  const I4 large = ((bits + ((1 << (kShift - 1)) - 1) + (bits >> kShift & 1)) >> kShift) - kOffset;
  I4 code = size < splat4(kUnit * kNormal) ? small : large;
  code = code > Float::kMax ? I4{} + Float::kMax : code;
  const F4 value = code < kNormal ? __builtin_convertvector(code, F4) * kUnit : bits_of((code + kOffset) << kShift);
  const I4 kept = value * splat4(scale) >= splat4(kSnap);
  return (code | (bits_of(quotient) >> 31 & Float::kSign)) & kept;
}

// The high halfs, rounded to even; the largest number stands for what is greater.
inline I4 encode_bfloat16(const F4& x) {
  const I4 bits = bits_of(snapped_finite(x)), size = bits & 0x7fffffff;
  const I4 code = (size + 0x7fff + (size >> 16 & 1)) >> 16;
  return (code > 0x7f7f ? I4{} + 0x7f7f : code) | (bits >> 16 & 0x8000);
}

// Types of whose elements encode_four() takes four at a time.
template <DType t>
constexpr bool kGoesByFour = kIsSmallNumber<t> || t == DType::bfloat16 || t == DType::float16 || t == DType::fp8e4m3 ||
                             t == DType::fp8e5m2 || t == DType::fp4 || t == DType::binary;

template <DType t>
I4 encode_four(const F4& x, float scale, float zero_point) {
  if constexpr (t == DType::bfloat16)
    return encode_bfloat16(x);
  else if constexpr (t == DType::float16)
    return encode_floats<Float16Form, 5, 10>(x, scale);
  else if constexpr (t == DType::fp8e4m3)
    return encode_floats<Fp8E4M3, 4, 3>(x, scale);
  else if constexpr (t == DType::fp8e5m2)
    return encode_floats<Fp8E5M2, 5, 2>(x, scale);
  else if constexpr (t == DType::fp4)
    return encode_floats<Fp4E2M1, 2, 1>(x, scale);
  else if constexpr (t == DType::binary)
    return scale == 0 ? I4{} + 1 : (snapped_finite(x) < 0) | 1;
  else
    return encode_numbers<t>(x, scale, zero_point);
}

template <DType t>
void encode_span(QuantizedMatrix& q, std::size_t first, std::span<const float> w, double scale,
                 std::int64_t zero_point) {
  if constexpr (kGoesByFour<t>) {
    const auto encoded = [&](const F4& x) {
      return encode_four<t>(x, static_cast<float>(scale), static_cast<float>(zero_point));
    };
    std::size_t i = 0;
    for (; i + 4 <= w.size(); i += 4) {
      const I4 codes = encoded(load4(w.data() + i));
      for (std::size_t k = 0; k < 4; ++k) store_code<t>(q, first + i + k, codes[k]);
    }
    if (i == w.size()) return;
    F4 rest{};
    std::memcpy(&rest, w.data() + i, (w.size() - i) * sizeof(float));
    const I4 codes = encoded(rest);
    for (std::size_t k = 0; i + k < w.size(); ++k) store_code<t>(q, first + i + k, codes[k]);
  } else {
    for (std::size_t i = 0; i < w.size(); ++i)
      store_code<t>(q, first + i, encode_one(t, snap(w[i]), scale, zero_point));
  }
}

// Calls visit(span index, first element, elements) for every span in order.
template <class Visit>
void each_span(const QuantizedMatrix& q, Visit visit) {
  if (q.span.granularity == Granularity::Tensor) return visit(std::size_t{0}, std::size_t{0}, q.rows * q.cols);
  const std::size_t length = q.span.granularity == Granularity::Row ? q.cols : q.span.group_size;
  std::size_t span = 0;
  for (std::size_t row = 0; row < q.rows; ++row)
    for (std::size_t col = 0; col < q.cols; col += length, ++span)
      visit(span, row * q.cols + col, std::min(length, q.cols - col));
}

void estimate_all(QuantizedMatrix& q, std::span<const float> w, StopCheck& stop, ThreadPool* pool = nullptr) {
  q.scales.clear(), q.zero_points.clear();
  const ScaleRule rule = code_rule(q.dtype).rule;
  if (rule == ScaleRule::None) return;
  each_span(q, [&](std::size_t, std::size_t first, std::size_t count) {
    const Extremes e = survey(w.subspan(first, count), stop, pool);
    q.scales.push_back(final_scale(q.dtype, q.span, w.subspan(first, count), e, stop));
    if (rule == ScaleRule::Asymmetric) q.zero_points.push_back(zero_point_of(q.dtype, q.scales.back(), e));
  });
}

void encode_all(QuantizedMatrix& q, std::span<const float> w, StopCheck& stop) {
  q.codes.resize(w.size() * q.code_bytes());
  with_type(q.dtype, [&](auto type) {
    each_span(q, [&](std::size_t span, std::size_t first, std::size_t count) {
      const double scale = q.scales.empty() ? 1.0 : q.scales[span];
      const std::int64_t zero_point = q.zero_points.empty() ? 0 : q.zero_points[span];
      stop.run(count, [&](std::size_t at, std::size_t size) {
        encode_span<type()>(q, first + at, w.subspan(first + at, size), scale, zero_point);
      });
    });
  });
}

Result<void> check_finite(std::span<const float> w, StopCheck& stop) {
  bool any = false;
  stop.run(w.size(), [&](std::size_t first, std::size_t count) {
    std::uint32_t found = 0;  // integers: compilers look at many at once
    for (const float x : w.subspan(first, count)) found |= static_cast<std::uint32_t>(!is_finite(x));
    any |= found != 0;
  });
  for (std::size_t i = 0; any && i < w.size(); ++i)
    if (!is_finite(w[i])) return fail(Code::NonFinite, "weight {} is not finite", i);
  return {};
}

}  // namespace

ScaleSpan resolved(DType dtype, ScaleSpan span) {
  if (span.granularity == Granularity::Auto && index(dtype) < kNumTypes) span.granularity = code_rule(dtype).span;
  return span;
}

std::int64_t QuantizedMatrix::code(std::size_t i) const {
  const std::byte* at = codes.data() + i * code_bytes();
  const bool is_signed = code_rule(dtype).low < 0 && !is_float_code(dtype);
  switch (code_bytes()) {
    case 1: return is_signed ? std::int64_t{load_le<std::int8_t>(at)} : load_le<std::uint8_t>(at);
    case 2: return is_signed ? std::int64_t{load_le<std::int16_t>(at)} : load_le<std::uint16_t>(at);
    case 4: return is_signed ? std::int64_t{load_le<std::int32_t>(at)} : load_le<std::uint32_t>(at);
    default: return load_le<std::int64_t>(at);
  }
}

std::size_t QuantizedMatrix::spans_per_row() const {
  if (span.granularity == Granularity::Tensor) return 0;
  return span.granularity == Granularity::Row ? 1 : ceil_div(cols, span.group_size);
}

std::size_t QuantizedMatrix::span_of(std::size_t row, std::size_t col) const {
  return row * spans_per_row() + (span.granularity == Granularity::Group ? col / span.group_size : 0);
}

Result<QuantizedMatrix> quantize(DType dtype, std::span<const float> w, std::size_t rows, std::size_t cols,
                                 ScaleSpan span, const Stop& stop) {
  if (index(dtype) >= kNumTypes)
    return fail(Code::InvalidArgument, "{} is a block format, expected a type that quantises element by element",
                name(dtype));
  LOOM_TRY(const std::size_t elements, checked_mul(rows, cols));
  if (elements == 0 || elements != w.size())
    return fail(Code::InvalidArgument, "{} weights for a matrix of {} x {}", w.size(), rows, cols);
  span = resolved(dtype, span);
  if (span.granularity == Granularity::Group && span.group_size != 32 && span.group_size != 64 &&
      span.group_size != 128)
    return fail(Code::InvalidArgument, "group size {}, expected 32, 64 or 128", span.group_size);
  StopCheck check(stop);
  LOOM_TRY_VOID(check_finite(w, check));
  QuantizedMatrix q;
  q.dtype = dtype, q.rows = rows, q.cols = cols, q.span = span;
  estimate_all(q, w, check);
  encode_all(q, w, check);
  LOOM_TRY_VOID(check.end());
  return q;
}

void estimate_scales(QuantizedMatrix& to, std::span<const float> w) {
  const Stop never;
  StopCheck check(never);
  estimate_all(to, w, check);
}

void estimate_scales(QuantizedMatrix& to, std::span<const float> w, ThreadPool& pool) {
  const Stop never;
  StopCheck check(never);
  estimate_all(to, w, check, &pool);
}

void encode(QuantizedMatrix& to, std::span<const float> w) {
  const Stop never;
  StopCheck check(never);
  encode_all(to, w, check);
}

Result<QuantizedMatrix> quantize_like(const QuantizedMatrix& like, std::span<const float> w) {
  const Stop never;
  StopCheck check(never);
  if (w.size() != like.rows * like.cols)
    return fail(Code::InvalidArgument, "{} weights for a matrix of {} x {}", w.size(), like.rows, like.cols);
  LOOM_TRY_VOID(check_finite(w, check));
  QuantizedMatrix q = like;
  encode_all(q, w, check);
  return q;
}

std::vector<float> dequantize(const QuantizedMatrix& q) {
  std::vector<float> out(q.rows * q.cols);
  each_span(q, [&](std::size_t span, std::size_t first, std::size_t count) {
    const double scale = q.scales.empty() ? 1.0 : q.scales[span];
    const std::int64_t zero_point = q.zero_points.empty() ? 0 : q.zero_points[span];
    for (std::size_t i = first; i < first + count; ++i) out[i] = decode_one(q.dtype, q.code(i), scale, zero_point);
  });
  return out;
}

}  // namespace loom
