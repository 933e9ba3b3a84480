#include "io/npy/npy.h"

#include <cstring>

#include "dtypes/float16.h"
#include "io/hostile_test.h"
#include "support/paths.h"

namespace loom::npy_test {
namespace {

struct Case {
  const char* name;
  DType dtype;
  std::vector<std::size_t> shape;
  bool canonical = true;  // as our writer would write it
};
const Case kCases[] = {
    {"f2", DType::float16, {3}},
    {"f4", DType::float32, {2, 3}},
    {"f8", DType::float64, {1, 1, 5}},
    {"i1", DType::int8, {0, 4}},
    {"i2", DType::int16, {7}},
    {"i4", DType::int32, {2, 3, 4}},
    {"i8", DType::int64, {}},
    {"u1", DType::uint8, {130}},
    {"u2", DType::uint16, {1, 12}},
    {"u4", DType::uint32, {3, 1}},
    {"u8", DType::uint64, {2, 2}},
    {"b1", DType::uint8, {9}},
    {"big_f4", DType::float32, {2, 3}, false},
    {"big_i8", DType::int64, {4}, false},
    {"fortran_i4", DType::int32, {2, 3, 4}, false},
    {"fortran_big_f8", DType::float64, {3, 5}, false},
    {"version2_f4", DType::float32, {2, 3}, false},
    {"version3_u1", DType::uint8, {3}, false},
};

std::string golden(const std::string& name) { return test::source_path("tests/golden/npy/") + name + ".npy"; }

double element(const NpyArray& a, std::size_t k) {
  const std::byte* at = a.bytes.data() + k * info(a.dtype).block_bytes;
  switch (a.dtype) {
    case DType::float64: return load_le<double>(at);
    case DType::float32: return load_le<float>(at);
    case DType::float16: return float16_to_float(load_le<std::uint16_t>(at));
    case DType::int64: return static_cast<double>(load_le<std::int64_t>(at));
    case DType::int32: return load_le<std::int32_t>(at);
    case DType::int16: return load_le<std::int16_t>(at);
    case DType::int8: return load_le<std::int8_t>(at);
    case DType::uint64: return static_cast<double>(load_le<std::uint64_t>(at));
    case DType::uint32: return load_le<std::uint32_t>(at);
    case DType::uint16: return load_le<std::uint16_t>(at);
    default: return load_le<std::uint8_t>(at);
  }
}

// tools/golden/npy.py
double expected(const NpyArray& a, std::size_t k) {
  const double n = static_cast<double>(k);
  if (a.is_bool) return static_cast<double>(k % 2);
  const char letter = name(a.dtype)[0];
  return letter == 'u' ? n : letter == 'f' ? (n - 2) / 2 : n - 2;
}

TEST(Npy, reads_what_numpy_writes) {  // F-01
  for (const Case& c : kCases) {
    const auto a = read_npy(golden(c.name));
    ASSERT_TRUE(a) << c.name << ": " << a.error().text();
    EXPECT_EQ(a->dtype, c.dtype) << c.name;
    EXPECT_EQ(a->shape, c.shape) << c.name;
    EXPECT_EQ(a->is_bool, std::string_view(c.name) == "b1");
    std::size_t elements = 1;
    for (const std::size_t extent : c.shape) elements *= extent;
    ASSERT_EQ(a->bytes.size(), elements * info(c.dtype).block_bytes) << c.name;
    for (std::size_t k = 0; k < elements; ++k) ASSERT_EQ(element(*a, k), expected(*a, k)) << c.name << " " << k;
  }
}

TEST(Npy, writes_the_bytes_that_numpy_writes) {  // F-03
  const std::string path = ::testing::TempDir() + "written.npy";
  for (const Case& c : kCases) {
    if (!c.canonical) continue;
    const auto a = read_npy(golden(c.name));
    ASSERT_TRUE(a);
    ASSERT_TRUE(write_npy(path, a->dtype, a->shape, a->bytes.bytes(), a->is_bool));
    EXPECT_EQ(bytes_of_file(path), bytes_of_file(golden(c.name))) << c.name;
  }
  const std::vector<std::byte> bytes(12);
  EXPECT_EQ(write_npy(path, DType::float32, std::array<std::size_t, 1>{4}, bytes).error().code, Code::ShapeMismatch);
  EXPECT_EQ(write_npy(path, DType::bfloat16, std::array<std::size_t, 1>{6}, bytes).error().code, Code::Unsupported);
  EXPECT_EQ(write_npy(path, DType::float32, std::array<std::size_t, 1>{3}, bytes, true).error().code,
            Code::Unsupported);
  EXPECT_EQ(npy_header(DType::uint8, std::array<std::size_t, 9>{}).error().code, Code::Unsupported);
}

std::vector<std::byte> file_of(std::string_view header, std::size_t data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1) text.append(2, '\0');
  text += header;
  text.append(data, '\0');
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Code code_of(const std::vector<std::byte>& file) {
  const auto a = parse_npy(file);
  return a ? Code{} : a.error().code;
}

TEST(Npy, the_header_is_parsed_strictly) {  // F-01
  EXPECT_EQ(code_of(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }    \n", 24)), Code{});
  EXPECT_EQ(code_of(file_of("{\"shape\":(3,),\"fortran_order\":True,\"descr\":\"|u1\"}", 3, 2)), Code{});
  for (const char* bad : {"",
                          "{",
                          "{}",
                          "[]",
                          "{'descr': '<f4'}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (06,)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
                          "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'shape': (6,)}",
                          "{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}",
                          "{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
                          "{'descr', 'fortran_order': False, 'shape': (6,)}",
                          "{'descr': '<f4, }",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}\n\n"})
    EXPECT_EQ(code_of(file_of(bad, 24)), Code::CorruptData) << bad;
  EXPECT_EQ(code_of(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}", 24)),
            Code::SizeOverflow);
  for (const char* other : {"'|O'", "'<c8'", "'<U3'", "'=f4'", "'f4'", "''", "'<f16'", "[('a', '<f4')]"})
    EXPECT_EQ(code_of(file_of(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (6,)}}", other), 24)),
              Code::Unsupported)
        << other;
  EXPECT_EQ(code_of(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4)),
            Code::Unsupported);
  EXPECT_EQ(code_of(file_of("{}", 0, 4)), Code::Unsupported);
  auto two = file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", 1);
  EXPECT_EQ(code_of(two), Code{});
  two.back() = std::byte{2};
  EXPECT_EQ(code_of(two), Code::CorruptData);
  auto huge = file_of("{}", 0, 2);
  store_le(huge.data() + 8, std::uint32_t{1} << 30);
  EXPECT_EQ(code_of(huge), Code::LimitExceeded);
}

TEST(Npy, survives_damage) {  // F-01
  for (const char* name : {"fortran_big_f8", "version3_u1", "b1"}) {
    const auto good = bytes_of_file(golden(name));
    expect_survives_damage(good, good.size(), 4,
                           [](std::span<const std::byte> bytes) { return parse_npy(bytes).has_value(); });
  }
}

}  // namespace
}  // namespace loom::npy_test
