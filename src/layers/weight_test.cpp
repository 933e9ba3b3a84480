// Packed data put into a weight: the canonical packing, and the layout of BitNet's checkpoints
// (tools/golden/bitnet.py).

#include "layers/weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "core/base64.h"
#include "core/file.h"
#include "core/fp_environment.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "dtypes/packing.h"
#include "layers/gradients.h"
#include "layers/linear.h"
#include "ops/all.h"
#include "support/divided.h"
#include "support/paths.h"

namespace loom {
namespace {

Weight declared(std::size_t rows, std::size_t cols) {
  Weight w;
  EXPECT_TRUE(w.declare("weight", WeightRole::Matrix, std::array{rows, cols}));
  return w;
}

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random.uniform(i) - 0.5f;
  return v;
}

std::vector<float> values_of(const Weight& w) {
  std::vector<float> v(w.elements());
  w.decode(0, w.elements(), v.data());
  return v;
}

template <class T>
std::vector<T> numbers_of(const Json& text) {
  const auto bytes = base64_decode(*as_string(text));
  EXPECT_TRUE(bytes);
  std::vector<T> v(bytes->size() / sizeof(T));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = load_le<T>(bytes->data() + i * sizeof(T));
  return v;
}

// As a file's reader does: the matrix first, which checks sizes and codes.
Result<void> inject_bitnet(Weight& w, std::span<const std::byte> codes, float weight_scale) {
  LOOM_TRY(Matrix matrix, Matrix::from_bitnet(codes, w.rows(), w.cols(), weight_scale));
  return w.inject(std::make_shared<const Matrix>(std::move(matrix)));
}

Json bitnet_cases() {
  const auto text = read_text_file(test::source_path("tests/golden/bitnet.json"));
  auto parsed = text ? parse_json(*text) : Result<Json>(Json());
  const Json* cases = parsed ? find(*parsed, "cases") : nullptr;
  return cases ? *cases : Json::array();
}

TEST(Weight, inject_gives_the_values_of_the_packed_data_in_every_type) {  // D-24
  constexpr std::size_t kRows = 5, kCols = 150;
  const std::vector<float> values = random_floats(kRows * kCols, 1);
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan span : {ScaleSpan{}, ScaleSpan{Granularity::Group, 64}}) {
      const auto dtype = static_cast<DType>(t);
      if (span.granularity == Granularity::Group && info(dtype).compute != ComputeClass::Int) continue;
      const QuantizedMatrix q = quantize(dtype, values, kRows, kCols, span).value();
      const PackedMatrix p = pack(q).value();
      Weight w = declared(kRows, kCols);
      const Encoding encoding{dtype, span};
      const auto injected = w.inject(encoding, p.codes, p.scales, p.zeros);
      ASSERT_TRUE(injected) << injected.error().text();
      EXPECT_EQ(w.dtype(), dtype);
      EXPECT_EQ(w.has_master(), dtype == DType::float32 || dtype == DType::float64) << name(dtype);
      EXPECT_EQ(values_of(w), dequantize(q)) << name(dtype);
    }
}

TEST(Weight, inject_refuses_wrong_sizes_and_codes) {  // D-24
  const auto code_of = [](const Result<void>& r) { return r ? std::optional<Code>() : std::optional(r.error().code); };
  constexpr std::size_t kRows = 3, kCols = 40;
  const PackedMatrix p = pack(quantize(DType::ternary, random_floats(kRows * kCols, 2), kRows, kCols).value()).value();
  Weight w = declared(kRows, kCols);
  const Encoding ternary{DType::ternary};
  EXPECT_EQ(code_of(w.inject(ternary, std::span(p.codes).first(p.codes.size() - 1), p.scales)), Code::ShapeMismatch);
  EXPECT_EQ(code_of(w.inject(ternary, p.codes, {})), Code::ShapeMismatch);
  EXPECT_EQ(code_of(w.inject(ternary, p.codes, p.scales, p.scales)), Code::ShapeMismatch);
  std::vector<std::byte> codes = p.codes, scales = p.scales;
  codes[4] |= std::byte{3};
  EXPECT_EQ(code_of(w.inject(ternary, codes, p.scales)), Code::CorruptData);
  store_le(scales.data(), 0x7f800000u);
  EXPECT_EQ(code_of(w.inject(ternary, p.codes, scales)), Code::NonFinite);
  EXPECT_FALSE(w.has_value());
  // A NaN among the codes themselves.
  const PackedMatrix fp8 =
      pack(quantize(DType::fp8e4m3, random_floats(kRows * kCols, 2), kRows, kCols).value()).value();
  codes = fp8.codes;
  codes[7] = std::byte{0x7f};
  EXPECT_EQ(code_of(w.inject({DType::fp8e4m3}, codes, fp8.scales)), Code::NonFinite);
  EXPECT_TRUE(w.inject({DType::fp8e4m3}, fp8.codes, fp8.scales));
  // An error names the weight and leaves it as it was.
  const std::vector<float> before = values_of(w);
  const auto failed = w.inject(ternary, {}, p.scales);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text().rfind("weight: ", 0), 0u) << failed.error().text();
  EXPECT_EQ(values_of(w), before);
}

TEST(Weight, inject_bitnet_equals_the_packing_of_transformers) {  // D-24
  const Json cases = bitnet_cases();
  ASSERT_EQ(cases.size(), 4u);
  for (const Json& c : cases) {
    const auto rows = static_cast<std::size_t>(*as_int(c["rows"])), cols = static_cast<std::size_t>(*as_int(c["cols"]));
    SCOPED_TRACE(fmt::format("{} x {}", rows, cols));
    const auto scale = static_cast<float>(*as_number(c["weight_scale"]));
    const std::vector<std::int8_t> codes = numbers_of<std::int8_t>(c["codes"]);
    const auto packed = base64_decode(*as_string(c["packed"]));
    Weight w = declared(rows, cols);
    const auto injected = inject_bitnet(w, *packed, scale);
    ASSERT_TRUE(injected) << injected.error().text();
    EXPECT_FALSE(w.has_master());
    EXPECT_EQ(w.dtype(), DType::ternary);
    const QuantizedMatrix q = w.quantized().value();
    EXPECT_EQ(q.span.granularity, Granularity::Tensor);
    ASSERT_EQ(q.scales.size(), 1u);
    EXPECT_EQ(q.scales[0], static_cast<double>(scale));
    for (std::size_t i = 0; i < codes.size(); ++i) ASSERT_EQ(q.code(i), codes[i]) << i;
    // Panels as those of the same codes that come another way.
    const Matrix other = Matrix::from_quantized(q).value();
    ASSERT_EQ(other.panel_bytes(), w.matrix()->panel_bytes());
    EXPECT_EQ(std::memcmp(other.panel(0), w.matrix()->panel(0), other.panels() * other.panel_bytes()), 0);
  }
}

// Products of BitNet's layers: the floor under the largest input counts in the third row, where every input is about
// 1e-7.
TEST(Weight, products_of_bitnet_layers) {  // D-24, D-33
  const FpEnvironment environment;
  for (const Isa isa : usable_isas())
    for (const Json& c : bitnet_cases()) {
      const auto rows = static_cast<std::size_t>(*as_int(c["rows"])),
                 cols = static_cast<std::size_t>(*as_int(c["cols"]));
      Weight w = declared(rows, cols);
      ASSERT_TRUE(
          inject_bitnet(w, *base64_decode(*as_string(c["packed"])), static_cast<float>(*as_number(c["weight_scale"]))));
      const std::vector<float> x = numbers_of<float>(c["x"]);
      const std::vector<double> expected = numbers_of<double>(c["y"]);
      std::vector<float> y(expected.size());
      const auto pool = ThreadPool::create(1).value();
      Arena arena = Arena::create(1 << 20).value();
      const Exec exec{*pool, *kernels_for(isa).value(), arena, nullptr};
      linear(loom::Run(exec), ConstTensor{x.data(), 3, cols}, w, Weight(), Tensor{y.data(), 3, rows}, kBitnetFloor);
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], expected[i], 1e-6 * std::abs(expected[i]))
            << name(isa) << " " << rows << " x " << cols << ", " << i;
    }
}

TEST(Weight, inject_bitnet_validates) {  // D-24
  // codes 0 1 2 3 from the first quarter of the rows on
  const std::vector<std::byte> packed(2 * 10, std::byte{0b11100100});
  Weight w = declared(8, 10);
  ASSERT_TRUE(inject_bitnet(w, packed, 2.0f));
  const std::vector<float> values = values_of(w);
  // 3 stands for 0
  for (std::size_t row = 0; row < 8; ++row)
    EXPECT_EQ(values[row * 10 + 3], row / 2 == 0 ? -2.0f : row / 2 == 2 ? 2.0f : 0.0f) << row;
  const auto code_of = [](const Result<void>& r) { return r ? std::optional<Code>() : std::optional(r.error().code); };
  EXPECT_EQ(code_of(inject_bitnet(w, std::span(packed).first(19), 2.0f)), Code::ShapeMismatch);
  EXPECT_EQ(code_of(inject_bitnet(w, packed, std::nanf(""))), Code::NonFinite);
  EXPECT_EQ(code_of(inject_bitnet(w, packed, INFINITY)), Code::NonFinite);
  Weight odd = declared(7, 10);
  EXPECT_EQ(code_of(inject_bitnet(odd, packed, 1.0f)), Code::ShapeMismatch);
  EXPECT_EQ(values_of(w), values);
}

TEST(Weight, a_version_depends_on_the_master_alone) {  // D-07, G-54
  const std::vector<float> values = random_floats(6 * 70, 3);
  Weight direct = declared(6, 70), detour = declared(6, 70);
  ASSERT_TRUE(direct.set(values) && detour.set(values));
  ASSERT_TRUE(direct.morph({DType::int4}));
  for (const DType t : {DType::int8, DType::binary, DType::float16, DType::int4}) ASSERT_TRUE(detour.morph({t}));
  EXPECT_EQ(values_of(detour), values_of(direct));
  EXPECT_EQ(detour.quantized()->scales, direct.quantized()->scales);
  // A scale of exactly 1 is kept like any other: codes that do not use their whole range cause no new estimate.
  QuantizedMatrix q = quantize(DType::int8, values, 6, 70).value();
  std::ranges::fill(q.scales, 1.0);
  for (std::size_t i = 0; i < q.codes.size(); ++i) q.codes[i] = static_cast<std::byte>(i % 5);
  const PackedMatrix p = pack(q).value();
  Weight w = declared(6, 70);
  ASSERT_TRUE(w.inject({DType::int8}, p.codes, p.scales));
  EXPECT_EQ(pack(*w.quantized())->codes, p.codes);
  EXPECT_EQ(pack(*w.quantized())->scales, p.scales);
}

TEST(Weight, versions_are_kept_by_their_encoding_and_may_be_dropped) {  // D-20, D-25, G-59
  Weight w = declared(4, 128);
  ASSERT_TRUE(w.set(random_floats(4 * 128, 4)));
  const Encoding encodings[] = {{DType::int4},
                                {DType::int4, {Granularity::Group, 64}},
                                {DType::int4, {Granularity::Row}},
                                {DType::ternary},
                                {DType::int8}};
  std::vector<MatrixPtr> versions;
  std::vector<std::vector<float>> values;
  for (const Encoding& e : encodings) {
    ASSERT_TRUE(w.morph(e));
    versions.push_back(w.matrix()), values.push_back(values_of(w));
  }
  for (std::size_t i = 0; i < versions.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(values[i], values[j]) << i << " " << j;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    ASSERT_TRUE(w.morph(encodings[i]));
    EXPECT_EQ(w.matrix(), versions[i]) << "from the cache";
  }
  w.trim_versions();
  for (std::size_t i = 0; i < versions.size(); ++i) {
    ASSERT_TRUE(w.morph(encodings[i]));
    EXPECT_EQ(values_of(w), values[i]) << "made again";
  }
  EXPECT_FALSE(dtype_from_name("77"));
  // A span that nothing multiplies is refused and changes nothing.
  EXPECT_FALSE(w.morph({DType::fp8e4m3, {Granularity::Group, 64}}));
  EXPECT_EQ(w.dtype(), DType::int8);
  EXPECT_EQ(values_of(w), values.back());
}

TEST(Weight, a_new_master_invalidates_every_version) {  // D-22
  const std::vector<float> before = random_floats(4 * 40, 5), after = random_floats(4 * 40, 6);
  Weight w = declared(4, 40), fresh = declared(4, 40);
  ASSERT_TRUE(w.set(before) && fresh.set(after));
  for (const DType t : {DType::int8, DType::ternary, DType::int4}) ASSERT_TRUE(w.morph({t}));
  ASSERT_TRUE(w.set(after));
  for (const DType t : {DType::int4, DType::int8, DType::ternary}) {
    ASSERT_TRUE(w.morph({t}) && fresh.morph({t}));
    EXPECT_EQ(values_of(w), values_of(fresh)) << name(t);
  }
}

// New values overwrite the old ones, in the master and in the panels, unless somebody shares them.
TEST(Weight, values_set_again_are_those_of_a_fresh_weight) {  // D-22
  for (const std::size_t parts : {1, 2}) {
    const std::array extents{std::size_t{36}, std::size_t{70}};
    const std::size_t count = 36 * 70;
    const auto make = [&] {
      Weight w;
      EXPECT_TRUE(w.declare("weight", WeightRole::Matrix, extents, {.rule = WeightInit::Rule::Zeros}, parts));
      return w;
    };
    const auto panels_of = [](const Weight& w) {
      std::vector<float> out;
      for (std::size_t p = 0; p < w.parts(); ++p) {
        std::vector<float> row(w.cols());
        for (std::size_t r = 0; r < w.matrix(p)->rows(); ++r)
          w.matrix(p)->decode_row(r, row.data()), out.insert(out.end(), row.begin(), row.end());
      }
      return out;
    };
    const std::vector<float> zeros(count), first = random_floats(count, 7), second = random_floats(count, 8);
    Weight w = make(), other = make();
    ASSERT_TRUE(w.initialise(w.initial(), 1, 1));
    EXPECT_EQ(panels_of(w), zeros);
    EXPECT_EQ(values_of(w), zeros);
    ASSERT_TRUE(w.set(first));
    EXPECT_EQ(panels_of(w), first);
    ASSERT_TRUE(other.copy_from(w));
    w.release_master();
    ASSERT_TRUE(w.set(second));
    EXPECT_EQ(panels_of(w), second);
    EXPECT_EQ(values_of(w), second);
    EXPECT_EQ(panels_of(other), first);
    EXPECT_EQ(values_of(other), first);
    std::vector<float> bad = first;
    bad[count - 1] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(w.set(bad).error().code, Code::NonFinite);
    EXPECT_EQ(panels_of(w), second);
  }
}

TEST(Weight, TiedWeightsAreTwoNamesOfOneObject) {
  const std::vector<float> first = random_floats(20 * 30, 1), second = random_floats(20 * 30, 2);
  Weight head = declared(20, 30), other = declared(20, 30);
  EXPECT_FALSE(head.is_tied());
  {
    Weight table;
    ASSERT_TRUE(table.declare("table", WeightRole::Matrix, std::array<std::size_t, 2>{20, 30}));
    ASSERT_TRUE(head.tie(table));
    EXPECT_TRUE(head.is_tied());
    EXPECT_EQ(head.identity(), table.identity());
    ASSERT_TRUE(head.set(first));
    EXPECT_EQ(values_of(table), first);
    ASSERT_TRUE(table.morph({DType::int8}));
    EXPECT_EQ(head.dtype(), DType::int8);
    EXPECT_EQ(head.matrix(), table.matrix());
    EXPECT_EQ(head.resident_bytes(), 0u);
    EXPECT_EQ(head.set(std::span(first).first(3)).error().text().rfind("table: ", 0), 0u);
    // Gradients have one place for both names.
    const Gradients gradients = Gradients::create(std::array<const Weight*, 2>{&table, &other}, Element::f32).value();
    EXPECT_EQ(gradients.of(head), gradients.of(table));
    EXPECT_NE(gradients.of(head), gradients.of(other));
    EXPECT_EQ(WeightIndex(std::array<const Weight*, 2>{&other, &table}).of(head), 1u);
    EXPECT_EQ(WeightIndex(std::array<const Weight*, 1>{&other}).of(head), WeightIndex::kNone);
    ASSERT_TRUE(table.set(second));
  }
  // The values outlive the layer that gave them, until the tie ends.
  ASSERT_TRUE(head.morph({DType::float32}));
  EXPECT_EQ(values_of(head), second);
  head.untie();
  EXPECT_FALSE(head.is_tied());
  EXPECT_FALSE(head.has_value());
  EXPECT_EQ(head.tie(declared(20, 31)).error().code, Code::ShapeMismatch);
}

// dx comes from the decoded weights in f32, however the forward pass rounds its inputs.
// A block format whose inputs stay as they are is multiplied by its decoded values; its blocks are no codes to be
// written.
TEST(Weight, block_formats_without_quantised_inputs_are_floats) {  // D-26, D-34
  for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q8_0}) {
    Weight packed = declared(20, 64), plain = declared(20, 64);
    ASSERT_TRUE(packed.set(std::span<const float>(random_floats(20 * 64, 5))));
    ASSERT_TRUE(plain.set(std::span<const float>(packed.master())));
    ASSERT_TRUE(packed.morph({dtype, {}, ActivationQuant::Auto}));
    ASSERT_TRUE(plain.morph({dtype, {}, ActivationQuant::None}));
    EXPECT_EQ(values_of(plain), values_of(packed));
    EXPECT_EQ(plain.matrix()->dtype(), DType::float32);
    EXPECT_FALSE(plain.matrix()->layout().quantises_input());
    EXPECT_EQ(plain.quantized().error().code, Code::Unsupported);
    EXPECT_EQ(packed.quantized().error().code, Code::Unsupported);
  }
}

// Frozen scales (engine D-37) are those of the active version, in every span; set() and morph() estimate them again.
TEST(Weight, frozen_scales_outlive_updates) {  // D-37
  const auto pool = ThreadPool::create(1).value();
  for (const Encoding encoding : {Encoding{DType::int8},
                                  {DType::int8, {Granularity::Tensor}},
                                  {DType::uint4},
                                  {DType::int4, {Granularity::Group, 64}},
                                  {DType::binary},
                                  {DType::ternary},
                                  {DType::fp4},
                                  {DType::uint64},
                                  {DType::int4, {}, ActivationQuant::None}}) {
    SCOPED_TRACE(fmt::format("{} {}", name(encoding.dtype), static_cast<int>(encoding.span.granularity)));
    Weight w = declared(6, 100);
    ASSERT_TRUE(w.set(std::span<const float>(random_floats(600, 5))));
    ASSERT_TRUE(w.morph(encoding));
    const QuantizedMatrix before = w.quantized().value();
    w.freeze_scales(true);
    const Tensor master = w.master_for_update();
    for (std::size_t i = 0; i < 600; ++i) master.as<float>()[i] *= i % 3 == 0 ? 1.75f : -0.5f;
    ASSERT_TRUE(w.commit_update(*pool));
    const QuantizedMatrix after = w.quantized().value();
    EXPECT_EQ(after.scales, before.scales);
    EXPECT_EQ(after.zero_points, before.zero_points);
    EXPECT_NE(after.codes, before.codes);
    EXPECT_EQ(after.codes, quantize_like(before, w.master()).value().codes);
    w.freeze_scales(false);
    ASSERT_TRUE(w.commit_update(*pool));
    EXPECT_EQ(w.quantized().value().scales, quantize(encoding.dtype, w.master(), 6, 100, encoding.span).value().scales);
    EXPECT_NE(w.quantized().value().scales, before.scales);
  }
}

// Updates as training makes them after every step, by several threads and in place, give the same weight as a fresh
// encoding.
TEST(Weight, updates_are_encoded_where_the_old_values_lie) {  // D-22
  constexpr std::size_t kRows = 252, kCols = 300;
  const auto pool = ThreadPool::create(3).value();
  std::vector<Encoding> encodings = {{DType::int8, {Granularity::Tensor}},    {DType::uint8, {Granularity::Group, 32}},
                                     {DType::int4, {Granularity::Group, 64}}, {DType::uint4, {Granularity::Row}},
                                     {DType::ternary, {Granularity::Row}},    {DType::uint16, {Granularity::Tensor}}};
  for (std::size_t t = 0; t < kNumTypes; ++t)
    if (t != index(DType::float64)) encodings.push_back({static_cast<DType>(t)});
  std::vector<float> values = random_floats(kRows * kCols, 5);
  for (std::size_t i = 0; i < kCols; ++i) values[i] = 0, values[kCols + i] *= 1e-14f, values[2 * kCols + i] *= 1e30f;
  for (float& v : values) v = std::abs(v) < 0x1p-51f ? 0.0f : v;  // snapped as masters are
  for (const Encoding& encoding : encodings)
    for (const std::size_t parts : {1, 2}) {
      SCOPED_TRACE(
          fmt::format("{} {} of {}", name(encoding.dtype), static_cast<int>(encoding.span.granularity), parts));
      const auto made = [&](std::uint64_t seed) {
        Weight w;
        EXPECT_TRUE(w.declare("weight", WeightRole::Matrix, std::array{kRows, kCols}, {}, parts));
        EXPECT_TRUE(w.set(std::span<const float>(random_floats(kRows * kCols, seed))));
        EXPECT_TRUE(w.morph(encoding));
        w.trim_versions();
        return w;
      };
      Weight moved = made(6), fresh = made(7);
      const std::byte* const before = moved.matrix()->panel(0);
      std::ranges::copy(values, moved.master_for_update().as<float>());
      {
        const test::ExpectDivided divided(3);
        ASSERT_TRUE(moved.commit_update(*pool));
      }
      EXPECT_EQ(moved.matrix()->panel(0), before);
      // Somebody who holds the version makes it another one.
      const auto held = fresh.version();
      std::ranges::copy(values, fresh.master_for_update().as<float>());
      ASSERT_TRUE(fresh.commit_update(*pool));
      EXPECT_NE(fresh.version(), held);
      const QuantizedMatrix a = moved.quantized().value(), b = fresh.quantized().value();
      EXPECT_EQ(a.codes, b.codes);
      EXPECT_EQ(a.scales, b.scales);
      EXPECT_EQ(a.zero_points, b.zero_points);
      EXPECT_EQ(values_of(moved), values_of(fresh));
    }
}

TEST(Weight, the_input_gradient_uses_decoded_weights) {  // D-36
  const FpEnvironment environment;
  constexpr std::size_t kOut = 9, kIn = 37, kRows = 2;
  const std::vector<float> x = random_floats(kRows * kIn, 7), dy = random_floats(kRows * kOut, 8);
  const auto pool = ThreadPool::create(1).value();
  Arena arena = Arena::create(1 << 20).value();
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena, nullptr};
  const auto gradient = [&](const Weight& w) {
    std::vector<float> dx(kRows * kIn);
    linear_backward(loom::Run(exec), ConstTensor{x.data(), kRows, kIn}, w, Weight(),
                    ConstTensor{dy.data(), kRows, kOut}, Tensor{dx.data(), kRows, kIn}, 16);
    return dx;
  };
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const auto dtype = static_cast<DType>(t);
    Weight w = declared(kOut, kIn), decoded = declared(kOut, kIn);
    ASSERT_TRUE(w.set(random_floats(kOut * kIn, 9)) && w.morph({dtype}));
    ASSERT_TRUE(decoded.set(values_of(w)));
    EXPECT_EQ(gradient(w), gradient(decoded)) << name(dtype);
  }
}

}  // namespace
}  // namespace loom
