#include "io/entity/entity_tensors.h"

#include <algorithm>

#include "core/json.h"
#include "io/byte_reader.h"
#include "io/hostile_test.h"
#include "support/paths.h"

namespace loom::entity_tensors_test {
namespace {

std::vector<std::byte> golden() { return bytes_of_file(test::source_path("tests/golden/small.entity")); }

// Codes as a function of row and column, in the least number of bytes.
QuantizedMatrix matrix(DType dtype, std::size_t rows, std::size_t cols, ScaleSpan span, std::vector<double> scales,
                       std::vector<std::int64_t> zeros, auto code) {
  QuantizedMatrix m{dtype, rows, cols, span, {}, std::move(scales), std::move(zeros)};
  m.codes.resize(rows * cols * m.code_bytes());
  for (std::size_t i = 0; i < rows * cols; ++i) {
    const std::int64_t c = code(static_cast<std::int64_t>(i / cols), static_cast<std::int64_t>(i % cols));
    for (std::size_t k = 0; k < m.code_bytes(); ++k)
      m.codes[i * m.code_bytes() + k] = static_cast<std::byte>(c >> (8 * k) & 255);
  }
  return m;
}

QuantizedMatrix floats(std::size_t rows, std::size_t cols, std::vector<float> values) {
  return matrix(DType::float32, rows, cols, {Granularity::Tensor}, {}, {}, [&](std::int64_t r, std::int64_t c) {
    return std::int64_t{
        std::bit_cast<std::int32_t>(values[static_cast<std::size_t>(r) * cols + static_cast<std::size_t>(c)])};
  });
}

struct Named {
  const char *path, *weight;
  EntityRole role;
  Shape shape;
  QuantizedMatrix matrix;
};

// As in tools/golden/entity.py, in another order.
std::vector<Named> golden_tensors() {
  using I = std::int64_t;
  std::vector<Named> all;
  all.push_back({"layers.2", "\xc3\xbc\"", EntityRole::Feedback, Shape::of({2}),
                 matrix(DType::int32, 1, 2, {Granularity::Tensor}, {0.1}, {},
                        [](I, I c) { return 1000003 * (c + 1) * (c % 2 ? -1 : 1); })});
  all.push_back({"layers.2", "W", EntityRole::Active, Shape::of({2, 33}),
                 matrix(DType::binary, 2, 33, {Granularity::Row}, {0.5, 0}, {},
                        [](I r, I c) { return (c * c + r) % 3 % 2 ? 1 : -1; })});
  all.push_back(
      {"layers.10", "W", EntityRole::Active, Shape::of({2, 5}),
       matrix(DType::ternary, 2, 5, {Granularity::Tensor}, {0.75}, {}, [](I r, I c) { return (r + c) % 3 - 1; })});
  all.push_back({"layers.1", "W", EntityRole::Active, Shape::of({3, 3}),
                 matrix(DType::uint8, 3, 3, {Granularity::Row}, {1, 2, 0.5}, {3, 128, 255},
                        [](I r, I c) { return 50 * r + c; })});
  all.push_back({"layers.0", "b", EntityRole::Active, Shape::of({3}), floats(1, 3, {0.5f, -0.5f, 7})});
  all.push_back({"layers.0", "W", EntityRole::Master, Shape::of({2, 2}), floats(2, 2, {1, -2, 0.1f, 3e9f})});
  all.push_back({"layers.0", "W", EntityRole::Active, Shape::of({2, 40}),
                 matrix(DType::int4, 2, 40, {Granularity::Group, 32}, {0.5, 0.25, -0.125, 1}, {},
                        [](I r, I c) { return 7 * (40 * r + c) % 15 - 7; })});
  return all;
}

EntityTensor tensor_of(const Named& n, const PackedMatrix& p) {
  return {n.path, n.weight, n.role, n.matrix.dtype, n.shape, n.matrix.span, p.codes, p.scales, p.zeros};
}

TEST(EntityTensors, writes_the_bytes_of_the_specification) {  // F-31
  const auto good = golden();
  const auto reader = EntityReader::parse(good);
  ASSERT_TRUE(reader);
  const auto named = golden_tensors();
  for (const bool lazily : {false, true}) {
    std::vector<PackedMatrix> packed;
    std::vector<EntityTensor> tensors;
    for (const Named& n : named) packed.push_back(pack(n.matrix).value());
    for (std::size_t i = 0; i < named.size(); ++i) {
      tensors.push_back(tensor_of(named[i], packed[i]));
      if (lazily) tensors.back().codes = {}, tensors.back().make_codes = [&packed, i] { return packed[i].codes; };
    }
    EntityWriter writer;
    ASSERT_TRUE(writer.add_all(*reader));
    ASSERT_TRUE(writer.remove("tensors") && writer.remove("weights"));
    const auto added = add_entity_tensors(writer, std::move(tensors));
    ASSERT_TRUE(added) << added.error().text();
    const auto made = writer.to_bytes();
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(*made, good);
  }
}

TEST(EntityTensors, reads_every_value_back) {  // F-31
  const auto good = golden();
  const auto reader = EntityReader::parse(good);
  const auto tensors = read_entity_tensors(*reader);
  ASSERT_TRUE(tensors) << tensors.error().text();
  const auto named = golden_tensors();
  ASSERT_EQ(tensors->size(), named.size());
  for (const EntityTensor& t : *tensors) {
    const auto n = std::find_if(named.begin(), named.end(), [&](const Named& k) {
      return k.path == t.path && k.weight == t.weight && k.role == t.role;
    });
    ASSERT_NE(n, named.end()) << t.path;
    EXPECT_EQ(t.shape, n->shape);
    EXPECT_EQ(t.codes.data() >= good.data() && t.codes.data() < good.data() + good.size(), true);  // no copy
    const auto m = t.quantized();
    ASSERT_TRUE(m) << m.error().text();
    EXPECT_EQ(m->dtype, n->matrix.dtype);
    EXPECT_EQ(m->codes, n->matrix.codes);
    EXPECT_EQ(m->scales, n->matrix.scales);
    EXPECT_EQ(m->zero_points, n->matrix.zero_points);
    EXPECT_EQ(m->span.granularity, n->matrix.span.granularity);
  }
}

TEST(EntityTensors, every_type_and_span_comes_back_byte_for_byte) {  // F-03
  std::vector<PackedMatrix> packed;
  std::vector<EntityTensor> tensors;
  packed.reserve(1000);
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span :
         {ScaleSpan{}, {Granularity::Tensor}, {Granularity::Row}, {Granularity::Group, 32}, {Granularity::Group, 128}})
      for (const Shape& shape : {Shape::of({1}), Shape::of({37}), Shape::of({3, 5, 7, 2}), Shape::of({4, 129})}) {
        EntityTensor e;
        e.shape = shape;
        std::vector<float> w(shape.elements());
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(splitmix(t, i) >> 40) * 0x1p-23f - 0.75f;
        const QuantizedMatrix m = quantize(kDTypes[t].dtype, w, e.rows(), e.cols(), span).value();
        packed.push_back(pack(m).value());
        e.path = fmt::format("layers.{}", packed.size());
        e.weight = "W";
        e.dtype = m.dtype, e.span = m.span;
        e.codes = packed.back().codes, e.scales = packed.back().scales, e.zeros = packed.back().zeros;
        tensors.push_back(e);
      }
  const auto blocks = random_bytes(1, 3 * 2 * 18);  // block formats keep their bytes
  EntityTensor q4;
  q4.path = "z", q4.weight = "W", q4.dtype = DType::q4_0, q4.shape = Shape::of({3, 64}), q4.codes = blocks;
  tensors.push_back(q4);
  EntityWriter writer;
  ASSERT_TRUE(add_entity_tensors(writer, tensors));
  const auto file = writer.to_bytes();
  ASSERT_TRUE(file) << file.error().text();
  const auto reader = EntityReader::parse(*file);
  ASSERT_TRUE(reader);
  const auto back = read_entity_tensors(*reader);
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->size(), tensors.size());
  EXPECT_TRUE(std::ranges::equal(back->back().codes, blocks));
  EXPECT_EQ(back->back().quantized().error().code, Code::InvalidArgument);
  EntityWriter again;
  ASSERT_TRUE(add_entity_tensors(again, *back));
  EXPECT_EQ(*again.to_bytes(), *file);
  for (const EntityTensor& t : *back)
    if (!is_block_format(t.dtype)) {
      EXPECT_EQ(pack(t.quantized().value())->codes, std::vector<std::byte>(t.codes.begin(), t.codes.end())) << t.path;
    }
  EXPECT_EQ(read_entity_tensors(*EntityReader::parse(*EntityWriter().to_bytes()))->size(), 0u);
}

Code code_of(std::string_view json, std::size_t weights, const char* expected) {
  const std::vector<std::byte> section(weights);
  const auto t = parse_entity_tensors(json, section);
  if (t) return Code{};
  EXPECT_NE(t.error().text().find(expected), std::string::npos) << t.error().text();
  return t.error().code;
}

// {"dtype": .., ..} with members changed (JSON text) or taken away (empty).
std::string entry(std::initializer_list<std::pair<const char*, const char*>> changes, const char* base = nullptr) {
  Json e = parse_json(base ? base
                           : R"({"dtype":"uint8","granularity":"row","length":64,"offset":0,"path":"p","role":"active",
      "scales":{"dtype":"float32","length":8,"offset":64},"shape":[2,3],"weight":"W","zeros":{"dtype":"uint8","length":2,"offset":128}})")
               .value();
  for (const auto& [key, text] : changes) {
    if (*text)
      e[key] = parse_json(text).value();
    else
      e.erase(key);
  }
  return dump_json(e);
}

TEST(EntityTensors, the_table_is_checked) {  // F-01, F-31
  const auto one = [](std::initializer_list<std::pair<const char*, const char*>> changes, const char* expected) {
    return code_of("[" + entry(changes) + "]", 130, expected);
  };
  EXPECT_EQ(one({}, ""), Code{});
  for (const char* key :
       {"dtype", "granularity", "length", "offset", "path", "role", "scales", "shape", "weight", "zeros"})
    EXPECT_EQ(one({{key, ""}}, key), Code::CorruptData) << key;
  EXPECT_EQ(one({{"extra", "1"}}, "/0: key \"extra\" is unknown"), Code::UnknownKey);
  EXPECT_EQ(one({{"dtype", "\"int3\""}}, "int3"), Code::UnknownName);
  EXPECT_EQ(one({{"dtype", "\"u8\""}}, "spell"), Code::CorruptData);
  EXPECT_EQ(one({{"role", "\"boss\""}}, "/role"), Code::UnknownName);
  EXPECT_EQ(one({{"role", "\"master\""}}, "master"), Code::InvalidArgument);
  EXPECT_EQ(one({{"granularity", "\"auto\""}}, "/granularity"), Code::UnknownName);
  EXPECT_EQ(one({{"granularity", "\"group\""}}, "/group_size"), Code::CorruptData);
  EXPECT_EQ(one({{"granularity", "\"group\""}, {"group_size", "33"}}, "group size"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"granularity", "\"group\""}, {"group_size", "64"}}, ""), Code{});
  EXPECT_EQ(one({{"granularity", "\"tensor\""}}, "/scales"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"group_size", "32"}}, "/group_size"), Code::CorruptData);
  EXPECT_EQ(one({{"path", "\"\""}}, "/path"), Code::CorruptData);
  EXPECT_EQ(one({{"path", "7"}}, "/path"), Code::CorruptData);
  EXPECT_EQ(one({{"shape", "[2,33]"}}, "/length"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"shape", "[2,0]"}}, "axis"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"shape", "[]"}}, "rank"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"shape", "[1,1,1,1,1,1,1,1,1]"}}, "/shape"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"shape", "[2,-3]"}}, "/shape"), Code::CorruptData);
  EXPECT_EQ(one({{"shape", "[2,3.5]"}}, "/shape"), Code::CorruptData);
  EXPECT_EQ(one({{"shape", "[1099511627776,1099511627776]"}}, "elements"), Code::SizeOverflow);
  EXPECT_EQ(one({{"length", "63"}}, "/length"), Code::ShapeMismatch);
  EXPECT_EQ(one({{"offset", "32"}}, "/offset"), Code::CorruptData);
  EXPECT_EQ(one({{"offset", "64"}}, "/scales"), Code::CorruptData);  // overlaps
  EXPECT_EQ(one({{"offset", "18446744073709551552"}}, "/offset"), Code::CorruptData);
  EXPECT_EQ(one({{"offset", "9223372036854775744"}}, "leave"), Code::CorruptData);
  EXPECT_EQ(one({{"scales", R"({"dtype":"float64","length":8,"offset":64})"}}, "/scales/dtype"), Code::CorruptData);
  EXPECT_EQ(one({{"scales", R"({"dtype":"float32","length":8,"offset":64,"x":1})"}}, "/scales"), Code::CorruptData);
  EXPECT_EQ(one({{"zeros", R"({"dtype":"uint8","length":2,"offset":192})"}}, "leave"), Code::CorruptData);
  EXPECT_EQ(one({{"dtype", "\"int8\""}}, "/zeros"), Code::CorruptData);
  EXPECT_EQ(one({{"dtype", "\"q4_0\""}, {"shape", "[2,3]"}}, "/granularity"), Code::CorruptData);

  const char* vector =
      R"({"dtype":"float32","length":128,"offset":0,"path":"p","role":"active","shape":[3],"weight":"b"})";
  EXPECT_EQ(code_of("[" + entry({}, vector) + "]", 128, ""), Code{});
  const auto pair = [&](const char* offset, const char* weight) {
    return "[" + entry({}, vector) + "," + entry({{"offset", offset}, {"weight", weight}}, vector) + "]";
  };
  EXPECT_EQ(code_of(pair("128", "\"c\""), 256, ""), Code{});
  EXPECT_EQ(code_of(pair("192", "\"c\""), 320, ""), Code{});
  EXPECT_EQ(code_of(pair("128", "\"b\""), 256, "/1: tensor \"b\" of \"p\" (active) is out of order or appears twice"),
            Code::CorruptData);
  EXPECT_EQ(code_of(pair("128", "\"a\""), 256, "out of order"), Code::CorruptData);
  EXPECT_EQ(code_of(pair("64", "\"c\""), 256, "overlaps"), Code::CorruptData);
  EXPECT_EQ(code_of(pair("0", "\"c\""), 256, "overlaps"), Code::CorruptData);
  EXPECT_EQ(code_of("{}", 0, "array"), Code::CorruptData);
  EXPECT_EQ(code_of("[1]", 0, "no object"), Code::CorruptData);
  EXPECT_EQ(code_of("", 0, "JSON"), Code::CorruptData);
}

TEST(EntityTensors, weights_in_many_sections_read_as_one_and_are_checked_part_by_part) {  // F-32
  constexpr std::uint64_t kPart = 4096;
  std::vector<std::byte> large = random_bytes(3, 10000);
  EntityTensor a, b;
  a.path = "a", a.weight = "w", a.shape = Shape::of({10000}), a.dtype = DType::int8, a.span = {Granularity::Tensor};
  const std::vector<float> values(10000, 0.5f);
  const PackedMatrix packed = pack(*quantize(DType::int8, values, 1, 10000, {Granularity::Tensor})).value();
  a.codes = packed.codes, a.scales = packed.scales;
  b.path = "b", b.weight = "w", b.shape = Shape::of({64}), b.span = {Granularity::Tensor};
  b.make_codes = [&] { return std::vector<std::byte>(large.begin(), large.begin() + 256); };
  EntityWriter whole, parted;
  ASSERT_TRUE(add_entity_tensors(whole, {a, b}));
  ASSERT_TRUE(add_entity_tensors(parted, {b, a}, kPart));
  const std::vector<std::byte> one = *whole.to_bytes();
  std::vector<std::byte> many = *parted.to_bytes();
  EXPECT_EQ(many, *parted.to_bytes());  // a second time from the front
  const auto first = EntityReader::parse(one), second = EntityReader::parse(many);
  ASSERT_TRUE(first && second && second->verify());
  EXPECT_EQ(first->sections().size(), 2u);
  EXPECT_EQ(second->sections().size(), 4u);
  EXPECT_TRUE(std::ranges::equal(*first->section("tensors"), *second->section("tensors")));
  const auto tensors = read_entity_tensors(*second);
  ASSERT_TRUE(tensors) << tensors.error().text();
  EXPECT_TRUE(std::ranges::equal((*tensors)[0].codes, packed.codes));
  EXPECT_TRUE(std::ranges::equal((*tensors)[0].scales, packed.scales));
  EXPECT_TRUE(std::ranges::equal((*tensors)[1].codes, std::span(large).first(256)));

  // A flipped bit in the third section: the first two are sound.
  many[static_cast<std::size_t>(second->find("weights", 2)->offset)] ^= std::byte{1};
  const auto bad = EntityReader::parse(many);
  ASSERT_TRUE(bad);
  EXPECT_EQ(read_entity_tensors(*bad).error().code, Code::CorruptData);
  const auto later = read_entity_tensors(*bad, CheckWeights::Later);
  ASSERT_TRUE(later);
  EXPECT_TRUE(bad->check((*later)[0].codes.first(2 * kPart)));
  EXPECT_EQ(bad->check((*later)[0].codes).error().code, Code::CorruptData);
  EXPECT_EQ(bad->check((*later)[0].codes.subspan(2 * kPart, 1)).error().code, Code::CorruptData);
  EXPECT_TRUE(bad->check(std::span<const std::byte>()));
}

TEST(EntityTensors, sections_of_weights_follow_one_another) {  // F-31
  const std::vector<std::byte> table(2), part(4096);
  EntityWriter writer;
  ASSERT_TRUE(writer.add("tensors", 0, 0, std::as_bytes(std::span("[]", 2))));
  ASSERT_TRUE(writer.add("weights", 0, 0, part));
  ASSERT_TRUE(writer.add("weights", 2, 0, part));
  const std::vector<std::byte> missing = *writer.to_bytes();
  EXPECT_EQ(read_entity_tensors(*EntityReader::parse(missing)).error().code, Code::NotFound);
  ASSERT_TRUE(writer.remove("weights", 0));
  ASSERT_TRUE(writer.add("weights", 0, 0, std::span(part).first(4000)));
  ASSERT_TRUE(writer.add("weights", 1, 0, part));
  const std::vector<std::byte> gap = *writer.to_bytes();
  EXPECT_EQ(read_entity_tensors(*EntityReader::parse(gap)).error().code, Code::CorruptData);
}

TEST(EntityTensors, survives_damage) {  // F-01
  const auto good = golden();
  const auto reader = EntityReader::parse(good);
  const auto json = *reader->section("tensors"), weights = *reader->section("weights");
  expect_survives_damage({json.begin(), json.end()}, json.size(), 40, [&](std::span<const std::byte> bytes) {
    return parse_entity_tensors(as_text(bytes), weights).has_value();
  });
  for (const char* unit : {"{},", "[],", "0,", "{\"path\":\"p\"},"}) {
    std::string text = "[";
    while (text.size() < 1 << 20) text += unit;
    text.back() = ']';
    const std::size_t before = allocated_bytes();
    EXPECT_FALSE(parse_entity_tensors(text, weights));
    EXPECT_LE(allocated_bytes() - before, 40 * text.size()) << unit;
  }
}

TEST(EntityTensors, the_writer_refuses) {  // F-31
  const std::vector<std::byte> bytes(128);
  EntityTensor good;
  good.path = "p", good.weight = "b", good.shape = Shape::of({3}), good.codes = bytes,
  good.span = {Granularity::Tensor};
  const auto code = [](std::vector<EntityTensor> tensors) {
    EntityWriter writer;
    const auto added = add_entity_tensors(writer, std::move(tensors));
    if (!added) return added.error().code;
    const auto file = writer.to_bytes();
    return file ? Code{} : file.error().code;
  };
  EXPECT_EQ(code({good}), Code{});
  EXPECT_EQ(code({good, good}), Code::InvalidArgument);
  EntityTensor bad = good;
  bad.path.clear();
  EXPECT_EQ(code({bad}), Code::InvalidArgument);
  bad = good, bad.weight = "\xff";
  EXPECT_EQ(code({bad}), Code::InvalidArgument);
  bad = good, bad.shape = Shape::of({33});
  EXPECT_EQ(code({bad}), Code::ShapeMismatch);
  bad = good, bad.scales = bad.codes;
  EXPECT_EQ(code({bad}), Code::ShapeMismatch);
  bad = good, bad.dtype = DType::int8, bad.span = {};
  EXPECT_EQ(code({bad}), Code::InvalidArgument);
  bad = good, bad.make_codes = [] { return std::vector<std::byte>(127); };
  EXPECT_EQ(code({bad}), Code::ShapeMismatch);
}

}  // namespace
}  // namespace loom::entity_tensors_test
