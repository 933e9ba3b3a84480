// Conversions of large tensors ask every kStopElements elements, or row, whether to give up. Counted, not timed.

#include <gtest/gtest.h>

#include <bit>

#include "dtypes/block_formats.h"
#include "dtypes/matrix.h"
#include "dtypes/packing.h"
#include "dtypes/quantize.h"

namespace loom {
namespace {

constexpr std::size_t kStopRows = 384, kStopCols = 1024, kStopSize = kStopRows * kStopCols;  // six pieces

std::vector<float> stop_values() {
  std::vector<float> v(kStopSize);
  std::uint32_t state = 1;
  for (float& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  return v;
}

// Runs `work` undisturbed, then stopped at each of its questions. Each full pass over the elements asks six times.
template <class Work>
void expect_stops(Work&& work, std::size_t passes, std::string_view what) {
  std::size_t asked = 0;
  ASSERT_TRUE(work([&] {
                ++asked;
                return false;
              }).has_value())
      << what;
  EXPECT_GE(asked, passes * kStopSize / kStopElements) << what;
  for (std::size_t last = 1; last <= asked; ++last) {
    std::size_t count = 0;
    const auto r = work([&] { return ++count == last; });
    ASSERT_FALSE(r.has_value()) << what << ", stopped at question " << last;
    EXPECT_EQ(r.error().code, Code::Cancelled) << what;
    EXPECT_EQ(count, last) << what << ": asked again after the answer was yes";
  }
}

TEST(Stop, between_two_questions_lie_at_most_so_many_elements) {  // N-12
  std::size_t since = 0;
  const Stop stop = [&] {
    since = 0;
    return false;
  };
  StopCheck check(stop);
  std::uint32_t state = 7;
  for (int i = 0; i < 10000; ++i) {
    state = state * 1664525u + 1013904223u;
    const std::size_t count = state >> 12 & 0x7fff;
    ASSERT_FALSE(check.before(count));
    since += count;
    ASSERT_LE(since, kStopElements);
  }
  StopCheck rows(stop);
  for (int i = 0; i < 3; ++i) {
    since = 1;
    ASSERT_FALSE(rows.before(3 * kStopElements));
    EXPECT_EQ(since, 0u) << "a row longer than a piece asks for itself";
  }
  EXPECT_TRUE(rows.end().has_value());
}

TEST(Stop, every_type_can_be_stopped_while_it_is_quantised_and_packed) {  // N-12
  const std::vector<float> values = stop_values();
  for (std::size_t k = 0; k < kNumTypes; ++k) {
    const auto t = static_cast<DType>(k);
    const auto q = quantize(t, values, kStopRows, kStopCols);
    ASSERT_TRUE(q.has_value()) << name(t);
    const auto same = quantize(t, values, kStopRows, kStopCols, {}, [] { return false; });
    ASSERT_TRUE(same.has_value() && same->codes == q->codes && same->scales == q->scales &&
                same->zero_points == q->zero_points)
        << name(t);
    // Looking for weights that are not finite, sizes where there is a scale, codes.
    expect_stops([&](const Stop& stop) { return quantize(t, values, kStopRows, kStopCols, {}, stop); },
                 has_scales(t) ? 3 : 2, name(t));
    expect_stops([&](const Stop& stop) { return pack(*q, stop); }, 1, name(t));
    const auto packed = pack(*q);
    ASSERT_TRUE(packed.has_value());
    expect_stops(
        [&](const Stop& stop) {
          return unpack(t, kStopRows, kStopCols, q->span, packed->codes, packed->scales, packed->zeros, stop);
        },
        1, name(t));
    expect_stops([&](const Stop& stop) { return Matrix::from_quantized(*q, nullptr, stop); }, 1, name(t));
    const auto matrix = Matrix::from_quantized(*q);
    ASSERT_TRUE(matrix.has_value());
    expect_stops([&](const Stop& stop) { return matrix->to_quantized(stop); }, 1, name(t));
  }
}

TEST(Stop, one_scale_for_a_whole_matrix_has_the_bits_of_a_loop_without_pieces) {  // N-12
  // More than one piece, and a rest that is no whole vector.
  std::vector<float> values = stop_values();
  values.resize(2 * kStopElements + 7);
  const auto q = quantize(DType::ternary, values, 1, values.size());
  ASSERT_TRUE(q.has_value());
  double lanes[16] = {};
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % 16] += std::abs(static_cast<double>(values[i]));
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  EXPECT_EQ(q->scales[0], static_cast<double>(static_cast<float>(lanes[0] / static_cast<double>(values.size()))));
  for (const std::size_t i : {std::size_t{0}, kStopElements - 1, kStopElements, 2 * kStopElements, values.size() - 1}) {
    const float quotient = values[i] / static_cast<float>(q->scales[0]);
    EXPECT_EQ(q->code(i), quotient > 0.5f ? 1 : quotient < -0.5f ? -1 : 0) << i;
  }
}

TEST(Stop, every_type_of_files_can_be_stopped_while_it_is_read) {  // N-12
  const std::vector<float> values = stop_values();
  for (const DType t :
       {DType::float32, DType::float16, DType::bfloat16, DType::q4_0, DType::q4_1, DType::q8_0, DType::tq2_0}) {
    const auto stride = row_bytes(t, kStopCols);
    ASSERT_TRUE(stride.has_value());
    std::vector<std::byte> bytes(*stride * kStopRows);
    for (std::size_t r = 0; r < kStopRows; ++r)
      ASSERT_TRUE(
          encode_row(t, std::span(values).subspan(r * kStopCols, kStopCols), bytes.data() + r * *stride).has_value());
    expect_stops(
        [&](const Stop& stop) { return Matrix::from_source(t, bytes, kStopRows, kStopCols, {}, nullptr, stop); }, 1,
        name(t));
  }
  for (const DType t : {DType::q5_0, DType::q5_1, DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k,
                        DType::tq1_0, DType::mxfp4, DType::float64}) {
    const auto stride = row_bytes(t, kStopCols);
    ASSERT_TRUE(stride.has_value());
    const std::vector<std::byte> bytes(*stride * kStopRows);
    expect_stops(
        [&](const Stop& stop) { return Matrix::from_source(t, bytes, kStopRows, kStopCols, {}, nullptr, stop); }, 1,
        name(t));
  }
  const std::vector<std::byte> codes(kStopSize / 4);
  expect_stops([&](const Stop& stop) { return Matrix::from_bitnet(codes, kStopRows, kStopCols, 1.0f, nullptr, stop); },
               1, "b1.58");
}

}  // namespace
}  // namespace loom
