#include "io/safetensors/safetensors.h"

#include "core/json.h"
#include "core/sha256.h"
#include "io/hostile_test.h"
#include "support/paths.h"

namespace loom::safetensors_test {
namespace {

struct Kind {
  DType dtype;
  bool is_bool;
};
constexpr Kind kKinds[] = {{DType::float64, false},  {DType::float32, false}, {DType::float16, false},
                           {DType::bfloat16, false}, {DType::fp8e4m3, false}, {DType::fp8e5m2, false},
                           {DType::int64, false},    {DType::int32, false},   {DType::int16, false},
                           {DType::int8, false},     {DType::uint64, false},  {DType::uint32, false},
                           {DType::uint16, false},   {DType::uint8, false},   {DType::uint8, true}};

std::string write_sample() {
  std::vector<std::vector<std::byte>> contents(50);
  SafetensorsWriter w;
  for (std::size_t i = 50; i-- > 0;) {  // backwards: the writer sorts
    const Kind kind = kKinds[i % std::size(kKinds)];
    const std::vector<std::size_t> shape = {i % 4 + 1, i % 7 + 1};
    contents[i] = random_bytes(i, shape[0] * shape[1] * info(kind.dtype).block_bytes);
    if (kind.is_bool)
      for (std::byte& b : contents[i]) b &= std::byte{1};
    EXPECT_TRUE(w.add(fmt::format("t{:02}", i), kind.dtype, shape, contents[i], kind.is_bool));
  }
  w.set_metadata("note", "\xc3\xbc\n");
  w.set_metadata("a", "1");
  const std::string path = test::binary_path("written.safetensors");
  const auto done = w.write(path);
  EXPECT_TRUE(done) << done.error().text();
  return path;
}

TEST(Safetensors, fifty_tensors_come_back_equal) {  // G-95
  const auto file = SafetensorsFile::open(write_sample());
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->tensors().size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) {
    const SafeTensor& t = file->tensors()[i];
    const Kind kind = kKinds[i % std::size(kKinds)];
    EXPECT_EQ(t.name, fmt::format("t{:02}", i));
    EXPECT_EQ(t.dtype, kind.dtype);
    EXPECT_EQ(t.is_bool, kind.is_bool);
    EXPECT_EQ(t.shape, (std::vector<std::size_t>{i % 4 + 1, i % 7 + 1}));
    if (!kind.is_bool) {
      EXPECT_EQ(std::vector<std::byte>(t.bytes.begin(), t.bytes.end()), random_bytes(i, t.bytes.size()));
    }
  }
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"a", "1"}, {"note", "\xc3\xbc\n"}}));
  EXPECT_EQ(file->tensor("t50"), nullptr);
}

// G-95
TEST(Safetensors, written_file_is_the_one_that_the_package_read) {  // tools/golden/io_files.py check
  Sha256 hash;
  hash.update(bytes_of_file(write_sample()));
  const auto golden = parse_json(read_text_file(test::source_path("tests/golden/io.json")).value());
  EXPECT_EQ(to_hex(hash.finish()), *as_string(*find(*golden, "written.safetensors")));
}

// F-40
TEST(Safetensors, reads_what_the_package_wrote) {  // tools/golden/io_files.py make
  const auto file = SafetensorsFile::open(test::source_path("tests/golden/reference.safetensors"));
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->tensors().size(), 5u);
  const SafeTensor* a = file->tensor("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->shape, (std::vector<std::size_t>{2, 3}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(load_le<float>(a->bytes.data() + 4 * i), static_cast<float>(i) - 2.5f);
  const SafeTensor* b = file->tensor("b.\xc3\xa4\"\\");
  ASSERT_TRUE(b && b->dtype == DType::int64);
  EXPECT_EQ(load_le<std::int64_t>(b->bytes.data() + 8), -2);
  EXPECT_TRUE(file->tensor("flag")->is_bool);
  EXPECT_TRUE(file->tensor("half")->shape.empty());
  EXPECT_EQ(file->tensor("none")->bytes.size(), 0u);
  EXPECT_EQ(file->metadata().at("k"), "v");
}

TEST(Safetensors, reads_a_real_file) {  // F-40
  const auto file = SafetensorsFile::open(test::source_path("tests/golden/models/llama2_untied/model.safetensors"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_GT(file->tensors().size(), 10u);
}

std::vector<std::byte> file_of(std::string_view header, std::size_t data) {
  std::vector<std::byte> bytes(8);
  store_le(bytes.data(), static_cast<std::uint64_t>(header.size()));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize(bytes.size() + data);
  return bytes;
}

TEST(Safetensors, names_what_is_wrong) {  // F-01
  const auto code_of = [](const std::vector<std::byte>& bytes, const char* part) {
    const auto parsed = SafetensorsFile::parse(bytes);
    if (parsed) return Code{};
    EXPECT_NE(parsed.error().text().find(part), std::string::npos) << parsed.error().text();
    return parsed.error().code;
  };
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_EQ(code_of(file_of("{}", 0), ""), Code{});
  EXPECT_EQ(code_of(file_of(entry("F32", "[2]", "[0,8]") + "   ", 8), ""), Code{});
  EXPECT_EQ(code_of(file_of(entry("F32", "[2]", "[0,8]"), 9), "no tensor names"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[2]", "[0,8]"), 7), "\"x\""), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[3]", "[0,8]"), 8), "need 12"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[2]", "[8,0]"), 8), "leave"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[2]", "[1,9]"), 9), "gap"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[2]", "[0,8,8]"), 8), "expected 2"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[-2]", "[0,8]"), 8), "no count"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[2.0]", "[0,8]"), 8), "no count"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F32", "[281474976710656,281474976710656]", "[0,8]"), 8), "fit"), Code::SizeOverflow);
  EXPECT_EQ(code_of(file_of(entry("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8), "axes"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(entry("F7", "[2]", "[0,8]"), 8), "F7"), Code::Unsupported);
  EXPECT_EQ(
      code_of(file_of(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", 1), "expected an object"),
      Code::CorruptData);
  EXPECT_EQ(
      code_of(
          file_of(
              R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
              3),
          "overlap"),
      Code::CorruptData);
  EXPECT_EQ(
      code_of(
          file_of(
              R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
              1),
          "twice"),
      Code::CorruptData);
  EXPECT_EQ(code_of(file_of(R"({"__metadata__":{"a":1}})", 0), "no string"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of(" {}", 0), "no JSON object"), Code::CorruptData);
  EXPECT_EQ(code_of(file_of("[]", 0), "no JSON object"), Code::CorruptData);
  auto huge = file_of("{}", 0);
  store_le(huge.data(), std::uint64_t{1} << 40);
  EXPECT_EQ(code_of(huge, "at most"), Code::LimitExceeded);
  store_le(huge.data(), std::uint64_t{3});
  EXPECT_EQ(code_of(huge, "are left"), Code::CorruptData);
}

TEST(Safetensors, survives_damage) {  // F-01
  const auto good = bytes_of_file(test::source_path("tests/golden/reference.safetensors"));
  const std::size_t header = static_cast<std::size_t>(load_le<std::uint64_t>(good.data())) + 8;
  expect_survives_damage(good, header, 40,
                         [](std::span<const std::byte> bytes) { return SafetensorsFile::parse(bytes).has_value(); });
}

TEST(Safetensors, sharded_models_stay_in_their_folder) {  // F-40
  const std::string folder = ::testing::TempDir();
  const auto one = random_bytes(1, 8), two = random_bytes(2, 8);
  SafetensorsWriter a, b;
  ASSERT_TRUE(a.add("a", DType::float32, {2}, one));
  ASSERT_TRUE(b.add("b", DType::float32, {2}, two));
  ASSERT_TRUE(a.write(folder + "/shard-1.safetensors"));
  ASSERT_TRUE(b.write(folder + "/shard-2.safetensors"));
  const auto open = [](std::string_view map) {
    return SafetensorsModel::open(write_test_file("model.safetensors.index.json", map));
  };
  const auto model =
      open(R"({"metadata":{"total_size":16},"weight_map":{"a":"shard-1.safetensors","b":"shard-2.safetensors"}})");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->tensors().size(), 2u);
  EXPECT_EQ(model->files().size(), 2u);
  EXPECT_EQ(std::vector<std::byte>(model->tensor("b")->bytes.begin(), model->tensor("b")->bytes.end()), two);
  EXPECT_EQ(model->tensor("c"), nullptr);
  EXPECT_EQ(open(R"({"weight_map":{"a":"../shard-1.safetensors"}})").error().code, Code::OutOfRange);
  EXPECT_EQ(open(R"({"weight_map":{"a":"/etc/passwd"}})").error().code, Code::OutOfRange);
  EXPECT_EQ(open(R"({"weight_map":{"a":"shard-2.safetensors"}})").error().code, Code::CorruptData);
  EXPECT_EQ(open(R"({"weight_map":{"a":"absent.safetensors"}})").error().code, Code::NotFound);
  EXPECT_EQ(open(R"({"weight_map":{"a":7}})").error().code, Code::CorruptData);
  EXPECT_EQ(open(R"({"weight_map":{}})").error().code, Code::CorruptData);
}

TEST(Safetensors, WriterRefuses) {
  SafetensorsWriter w;
  const std::vector<std::byte> bytes(8);
  EXPECT_TRUE(w.add("x", DType::float32, {2}, bytes));
  EXPECT_EQ(w.add("x", DType::float32, {2}, bytes).error().code, Code::InvalidArgument);
  EXPECT_EQ(w.add("", DType::float32, {2}, bytes).error().code, Code::InvalidArgument);
  EXPECT_EQ(w.add("__metadata__", DType::float32, {2}, bytes).error().code, Code::InvalidArgument);
  EXPECT_EQ(w.add("\xff", DType::float32, {2}, bytes).error().code, Code::InvalidArgument);
  EXPECT_EQ(w.add("y", DType::float32, {3}, bytes).error().code, Code::ShapeMismatch);
  EXPECT_EQ(w.add("y", DType::q8_0, {32}, bytes).error().code, Code::Unsupported);
  EXPECT_EQ(w.add("y", DType::float32, {2}, bytes, true).error().code, Code::Unsupported);
}

}  // namespace
}  // namespace loom::safetensors_test
