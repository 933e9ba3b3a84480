#include "io/gguf/gguf.h"

#include <cstring>
#include <ctime>
#include <filesystem>

#include "core/json.h"
#include "core/sha256.h"
#include "io/gguf/gguf_keys.h"
#include "io/gguf/gguf_writer.h"
#include "io/hostile_test.h"
#include "support/paths.h"

namespace loom::gguf_test {
namespace {

TEST(Gguf, reads_a_file_on_demand_up_to_its_tensors) {  // F-25
  const auto whole = ByteSource::file(data_path("llm/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(whole);
  std::size_t asked = 0;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> to) {
    asked += to.size();
    std::memcpy(to.data(), (*whole)->bytes().data() + offset, to.size());
    return Result<std::size_t>(to.size());
  };
  const auto file = GgufFile::parse(ByteSource::on_demand("demand", (*whole)->size(), read));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_LT(asked, 8u << 20) << "of " << (*whole)->size();
  const auto expected = GgufFile::parse(*whole);
  ASSERT_TRUE(expected);
  ASSERT_EQ(file->tensors().size(), expected->tensors().size());
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const GgufTensor &tensor = file->tensors()[i], &other = expected->tensors()[i];
    EXPECT_EQ(tensor.name, other.name);
    EXPECT_EQ(tensor.offset, other.offset);
    EXPECT_EQ(tensor.size, other.bytes.size());
  }
  EXPECT_TRUE(file->tensors().back().bytes.empty());
}

TEST(Gguf, reads_a_real_model) {  // F-41
  const auto file = GgufFile::open(data_path("llm/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->metadata().size(), 33u);
  ASSERT_EQ(file->tensors().size(), 272u);
  ASSERT_TRUE(file->find("general.architecture"));
  EXPECT_EQ(as_string(*file->find("general.architecture")), "llama");
  EXPECT_EQ(as_int(*file->find("llama.block_count")), 30);
  EXPECT_EQ(as_number(*file->find("llama.rope.freq_base")), 100000.0);
  EXPECT_EQ(as_bool(*file->find("tokenizer.ggml.add_bos_token")), false);
  const auto tokens = as_strings(*file->find("tokenizer.ggml.tokens"));
  ASSERT_TRUE(tokens && tokens->size() == 49152);
  EXPECT_EQ((*tokens)[2], "<|im_end|>");
  const auto types = as_ints(*file->find("tokenizer.ggml.token_type"));
  ASSERT_TRUE(types && types->size() == 49152);
  EXPECT_EQ((*types)[0], 3);
  EXPECT_FALSE(file->find("llama.nothing"));
  const GgufTensor* embedding = file->tensor("token_embd.weight");
  ASSERT_TRUE(embedding);
  EXPECT_EQ(embedding->dtype, DType::q8_0);
  ASSERT_EQ(embedding->rank, 2);
  EXPECT_EQ(embedding->dims[0], 49152u);
  EXPECT_EQ(embedding->dims[1], 576u);
  EXPECT_EQ(embedding->offset, 1785664u);
  EXPECT_EQ(embedding->bytes.size(), 49152u * 576 / 32 * 34);
  EXPECT_EQ(file->tensor("blk.0.attn_k.weight")->dtype, DType::q4_1);
  EXPECT_EQ(file->tensor("nothing"), nullptr);
}

TEST(Gguf, reads_every_vocabulary_file) {  // F-41
  for (const char* vocab : {"bert-bge", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2"}) {
    const auto file = GgufFile::open(data_path(fmt::format("vocabs/{}.gguf", vocab)));
    ASSERT_TRUE(file) << file.error().text();
    const auto tokens = as_strings(*file->find("tokenizer.ggml.tokens"));
    EXPECT_TRUE(tokens && tokens->size() > 1000) << vocab;
    if (const GgufValue* scores = file->find("tokenizer.ggml.scores")) {
      EXPECT_EQ(as_floats(*scores)->size(), tokens->size());
    }
  }
}

constexpr DType kWritten[] = {DType::float32, DType::float16, DType::bfloat16, DType::q8_0,  DType::q4_0, DType::q4_1,
                              DType::q5_0,    DType::q5_1,    DType::q2_k,     DType::q3_k,  DType::q4_k, DType::q5_k,
                              DType::q6_k,    DType::tq1_0,   DType::tq2_0,    DType::mxfp4, DType::int8, DType::int16,
                              DType::int32,   DType::int64,   DType::float64};

// Every kind of value and every tensor type; tools/golden/io_files.py knows the same contents.
GgufWriter sample_writer() {
  GgufWriter w;
  w.set("general.architecture", "llama");
  w.set("test.u8", std::uint8_t{200});
  w.set("test.i8", std::int8_t{-100});
  w.set("test.u16", std::uint16_t{60000});
  w.set("test.i16", std::int16_t{-30000});
  w.set("test.u32", std::uint32_t{4000000000u});
  w.set("test.i32", std::int32_t{-2000000000});
  w.set("test.f32", 1.5f);
  w.set("test.bool", true);
  w.set("test.string",
        "Gr\xc3\xbc\xc3\x9f"
        "e");
  w.set("test.u64", std::uint64_t{1} << 63);
  w.set("test.i64", -(std::int64_t{1} << 62));
  w.set("test.f64", 0.1);
  w.set("test.ints", std::vector<std::int32_t>{1, -2, 3});
  w.set("test.floats", std::vector<float>{0.5f, -0.25f});
  w.set("test.bools", std::vector<bool>{true, false, true});
  w.set("test.strings", std::vector<std::string_view>{"a", "", "\xf0\x9f\xa7\xb5"});
  for (const DType t : kWritten) {
    const std::size_t shape[] = {2, 3, info(t).block_elements * std::size_t{2}};
    const std::size_t size = 12u * info(t).block_bytes;
    EXPECT_TRUE(w.add_tensor(fmt::format("t.{}", name(t)), t, shape,
                             [t, size]() -> Result<std::vector<std::byte>> { return random_bytes(index(t), size); }));
  }
  return w;
}

std::string write_sample() {
  const std::string path = test::binary_path("written.gguf");
  const auto done = sample_writer().write(path);
  EXPECT_TRUE(done) << done.error().text();
  return path;
}

TEST(Gguf, round_trip_of_every_value_and_type) {  // F-41
  const auto file = GgufFile::open(write_sample());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(as_int(*file->find("test.u8")), 200);
  EXPECT_EQ(as_int(*file->find("test.i8")), -100);
  EXPECT_EQ(as_int(*file->find("test.u16")), 60000);
  EXPECT_EQ(as_int(*file->find("test.i16")), -30000);
  EXPECT_EQ(as_int(*file->find("test.u32")), 4000000000);
  EXPECT_EQ(as_int(*file->find("test.i32")), -2000000000);
  EXPECT_EQ(as_int(*file->find("test.u64")), std::nullopt);  // beyond i64
  EXPECT_EQ(as_number(*file->find("test.u64")), 0x1p63);
  EXPECT_EQ(as_int(*file->find("test.i64")), -(std::int64_t{1} << 62));
  EXPECT_EQ(as_number(*file->find("test.f32")), 1.5);
  EXPECT_EQ(as_number(*file->find("test.f64")), 0.1);
  EXPECT_EQ(as_bool(*file->find("test.bool")), true);
  EXPECT_EQ(as_bool(*file->find("test.u8")), std::nullopt);
  EXPECT_EQ(as_int(*file->find("test.f32")), std::nullopt);
  EXPECT_EQ(as_int(*file->find("test.ints")), std::nullopt);
  EXPECT_EQ(as_string(*file->find("test.string")),
            "Gr\xc3\xbc\xc3\x9f"
            "e");
  EXPECT_EQ(as_ints(*file->find("test.ints")), (std::vector<std::int32_t>{1, -2, 3}));
  EXPECT_EQ(as_ints(*file->find("test.bools")), (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(as_ints(*file->find("test.strings")), std::nullopt);
  EXPECT_EQ(as_floats(*file->find("test.floats")), (std::vector<float>{0.5f, -0.25f}));
  EXPECT_EQ(as_strings(*file->find("test.strings")), (std::vector<std::string_view>{"a", "", "\xf0\x9f\xa7\xb5"}));
  EXPECT_EQ(as_strings(*file->find("test.ints")), std::nullopt);
  ASSERT_EQ(file->tensors().size(), std::size(kWritten));
  for (const DType t : kWritten) {
    const GgufTensor* tensor = file->tensor(fmt::format("t.{}", name(t)));
    ASSERT_TRUE(tensor) << name(t);
    EXPECT_EQ(tensor->dtype, t);
    EXPECT_EQ(std::vector<std::size_t>(tensor->shape().begin(), tensor->shape().end()),
              (std::vector<std::size_t>{2, 3, info(t).block_elements * std::size_t{2}}));
    EXPECT_EQ(tensor->offset % 32, 0u);
    EXPECT_EQ(std::vector<std::byte>(tensor->bytes.begin(), tensor->bytes.end()),
              random_bytes(index(t), tensor->bytes.size()));
  }
  GgufWriter again;
  for (const GgufValue& v : file->metadata()) again.copy(v);
  for (const GgufTensor& t : file->tensors()) ASSERT_TRUE(again.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
  const std::string copy = ::testing::TempDir() + "loom_copy.gguf";
  ASSERT_TRUE(again.write(copy));
  EXPECT_EQ(bytes_of_file(copy), bytes_of_file(test::binary_path("written.gguf")));
}

// F-41
TEST(Gguf, written_file_is_the_one_that_the_gguf_package_read) {  // tools/golden/io_files.py check
  Sha256 hash;
  hash.update(bytes_of_file(write_sample()));
  const auto golden = parse_json(read_text_file(test::source_path("tests/golden/io.json")).value());
  EXPECT_EQ(to_hex(hash.finish()), *as_string(*find(*golden, "written.gguf")));
}

// F-41
TEST(Gguf, reads_what_the_gguf_package_wrote) {  // tools/golden/io_files.py make
  const auto file = GgufFile::open(test::source_path("tests/golden/reference.gguf"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->alignment(), 64u);
  EXPECT_EQ(as_int(*file->find("llama.block_count")), 2);
  EXPECT_EQ(as_strings(*file->find("tokenizer.ggml.tokens")), (std::vector<std::string_view>{"x", "yy", ""}));
  const GgufTensor* t = file->tensor("a.weight");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->rank, 2);
  EXPECT_EQ(t->dims[0], 2u);
  EXPECT_EQ(t->dims[1], 3u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(load_le<float>(t->bytes.data() + 4 * i), static_cast<float>(i) - 2.5f);
  EXPECT_EQ(file->tensor("b.weight")->dtype, DType::q8_0);
  EXPECT_EQ(file->tensor("b.weight")->offset % 64, 0u);
}

// Sixteen times the names may take a hundred times as long on a busy machine, never 256 times.
TEST(Gguf, writing_many_names_takes_no_square_of_their_number) {  // F-41
  const auto seconds_of = [](std::size_t count, bool tensors) {
    GgufWriter w;
    const std::array<std::byte, 4> one{};
    const std::size_t shape[] = {1};
    const std::clock_t start = std::clock();  // processor time: other programs do not count
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("a.name.of.ordinary.length.{}", i);
      if (tensors)
        EXPECT_TRUE(w.add_tensor(name, DType::float32, shape, one));
      else
        w.set(name, static_cast<std::uint32_t>(i));
    }
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  for (const bool tensors : {false, true})
    EXPECT_LT(seconds_of(64000, tensors), 100 * std::max(seconds_of(4000, tensors), 2e-3)) << tensors;
}

TEST(Gguf, WriterRefuses) {
  GgufWriter w;
  const std::vector<std::byte> bytes(64);
  const auto add = [&](std::string_view n, DType t, std::vector<std::size_t> shape) {
    const auto done = w.add_tensor(n, t, shape, bytes);
    return done ? Code{} : done.error().code;
  };
  EXPECT_EQ(add("x", DType::float32, {4, 4}), Code{});
  EXPECT_EQ(add("x", DType::float32, {4, 4}), Code::InvalidArgument);
  EXPECT_EQ(add("", DType::float32, {4, 4}), Code::InvalidArgument);
  EXPECT_EQ(add(std::string(64, 'n'), DType::float32, {4, 4}), Code::InvalidArgument);
  EXPECT_EQ(add("y", DType::float32, {4, 5}), Code::ShapeMismatch);
  EXPECT_EQ(add("y", DType::q8_0, {31}), Code::ShapeMismatch);
  EXPECT_EQ(add("y", DType::float32, {}), Code::ShapeMismatch);
  EXPECT_EQ(add("y", DType::float32, {1, 1, 1, 1, 16}), Code::ShapeMismatch);
  EXPECT_EQ(add("y", DType::float32, {0}), Code::ShapeMismatch);
  EXPECT_EQ(add("y", DType::float32, {std::size_t{1} << 40, std::size_t{1} << 40}), Code::SizeOverflow);
  EXPECT_EQ(add("y", DType::ternary, {16}), Code::Unsupported);
  EXPECT_EQ(add("y", DType::float32, {16}), Code{});  // what was refused is no name that was added before
  const std::size_t shape[] = {16};
  ASSERT_TRUE(w.add_tensor("z", DType::float32, shape,
                           []() -> Result<std::vector<std::byte>> { return fail(Code::Cancelled, "stop"); }));
  const std::string folder = ::testing::TempDir() + "loom_unfinished", path = folder + "/x.gguf";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(w.write(path).error().code, Code::Cancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

// A file by hand, so that it can be wrong in one place.
struct Raw {
  std::vector<std::byte> bytes;
  template <class T>
  Raw& add(T v) {
    bytes.resize(bytes.size() + sizeof(T));
    store_le(bytes.data() + bytes.size() - sizeof(T), v);
    return *this;
  }
  Raw& text(std::string_view s) { return add<std::uint64_t>(s.size()).raw(s); }
  Raw& raw(std::string_view s) {
    for (const char c : s) bytes.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Raw& head(std::uint32_t version, std::uint64_t tensors, std::uint64_t keys) {
    return raw("GGUF").add(version).add(tensors).add(keys);
  }
  Raw& tensor(std::string_view n, std::vector<std::uint64_t> extents, std::uint32_t type, std::uint64_t offset) {
    text(n).add<std::uint32_t>(static_cast<std::uint32_t>(extents.size()));
    for (const auto e : extents) add(e);
    return add(type).add(offset);
  }
  Raw& data(std::size_t n) {
    while (bytes.size() % 32 != 0) bytes.push_back({});
    bytes.resize(bytes.size() + n);
    return *this;
  }
};

Code code_of(const Raw& r, const char* part) {
  const auto parsed = GgufFile::parse(r.bytes);
  if (parsed) return Code{};
  EXPECT_NE(parsed.error().text().find(part), std::string::npos) << parsed.error().text();
  return parsed.error().code;
}

TEST(Gguf, names_what_is_wrong_and_where) {  // F-01
  constexpr std::uint32_t kU32 = 4, kBool = 7, kString = 8, kArray = 9;
  const auto ok = [] { return Raw().head(3, 2, 0).tensor("a", {8}, 0, 0).tensor("b", {8, 2}, 0, 32).data(96); };
  EXPECT_EQ(code_of(ok(), ""), Code{});
  EXPECT_EQ(code_of(Raw().head(2, 1, 0).tensor("a", {8}, 0, 0).data(32), ""), Code{});
  EXPECT_EQ(code_of(Raw().raw("GGML"), "offset 0"), Code::CorruptData);
  EXPECT_EQ(code_of(Raw().raw("FUGG"), "big-endian"), Code::Unsupported);
  EXPECT_EQ(code_of(Raw().head(0x03000000, 0, 0), "big-endian"), Code::Unsupported);
  EXPECT_EQ(code_of(Raw().head(1, 0, 0), "version 1"), Code::Unsupported);
  EXPECT_EQ(code_of(Raw().head(4, 0, 0), "version 4"), Code::Unsupported);
  EXPECT_EQ(code_of(Raw().head(3, ~0ull, 0), "offset 8"), Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, ~0ull), "offset 8"), Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("").add(kU32).add(1u).data(32), "empty"), Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("k").add(13u).add(1u).data(32), "value type 13"), Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("k").add(kBool).add<std::uint8_t>(2), "bool is 2"), Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("k").add(kString).add(~0ull).data(32), "key \"k\": offset 45"),
            Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("k").add(kArray).add(kU32).add(~0ull).data(32), "array"),
            Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("k").add(kArray).add(kString).add(~0ull).data(64), "a string"),
            Code::CorruptData);
  auto nested = Raw().head(3, 0, 1).text("k").add(kArray);
  for (int i = 0; i < 8; ++i) nested.add(kArray).add(std::uint64_t{1});
  EXPECT_EQ(code_of(nested.add(kU32).add(std::uint64_t{0}), "nested"), Code::Unsupported);
  EXPECT_EQ(code_of(Raw().head(3, 0, 2).text("k").add(kU32).add(1u).text("k").add(kU32).add(2u), "\"k\" appears twice"),
            Code::CorruptData);
  for (const std::uint32_t align : {0u, 24u, 33u})
    EXPECT_EQ(code_of(Raw().head(3, 0, 1).text("general.alignment").add(kU32).add(align), "general.alignment"),
              Code::CorruptData);

  const auto one = [](std::vector<std::uint64_t> extents, std::uint32_t type, std::uint64_t offset) {
    return Raw().head(3, 1, 0).tensor("a", extents, type, offset).data(64);
  };
  EXPECT_EQ(code_of(one({}, 0, 0), "rank 0"), Code::CorruptData);
  EXPECT_EQ(code_of(one({1, 1, 1, 1, 1}, 0, 0), "rank 5"), Code::CorruptData);
  EXPECT_EQ(code_of(one({0}, 0, 0), "extent 0"), Code::CorruptData);
  EXPECT_EQ(code_of(one({17}, 0, 0), "leave the file"), Code::CorruptData);
  EXPECT_EQ(code_of(one({1ull << 40, 1ull << 40}, 0, 0), "does not fit"), Code::SizeOverflow);
  EXPECT_EQ(code_of(one({31}, 8, 0), "multiple of the 32"), Code::ShapeMismatch);
  EXPECT_EQ(code_of(one({16}, 0, 8), "begin at 8, expected 0"), Code::CorruptData);
  EXPECT_EQ(code_of(one({16}, 0, 64), "begin at 64, expected 0"), Code::CorruptData);
  EXPECT_EQ(code_of(one({8}, 0, ~0ull - 31), "past the end"), Code::CorruptData);
  EXPECT_EQ(code_of(one({256}, 23, 0), "\"a\": type 23 IQ4_XS"), Code::Unsupported);
  EXPECT_EQ(code_of(one({256}, 42, 0), "\"a\": type 42 Q2_0"), Code::Unsupported);
  EXPECT_EQ(code_of(one({256}, 99, 0), "type 99 of no known name"), Code::Unsupported);
  EXPECT_EQ(
      code_of(Raw().head(3, 2, 0).tensor("a", {9}, 0, 0).tensor("b", {8}, 0, 32).data(64), "begin at 32, expected 64"),
      Code::CorruptData);
  EXPECT_EQ(code_of(Raw().head(3, 2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).data(64), "\"a\" appears twice"),
            Code::CorruptData);
}

// A type or an extent of another size shows in what follows, as in llama.cpp, and of the last tensor at the end of the
// file.
TEST(Gguf, every_byte_of_the_data_belongs_to_a_tensor) {  // F-41
  const auto file = [](std::uint32_t first, std::uint32_t second, std::size_t data) {
    return Raw().head(3, 2, 0).tensor("a", {32, 2}, first, 0).tensor("b", {32, 4}, second, 256).data(data);
  };
  EXPECT_EQ(code_of(file(0, 0, 768), ""), Code{});
  EXPECT_EQ(code_of(file(0, 0, 768 - 1), "leave the file"), Code::CorruptData);
  EXPECT_EQ(code_of(file(0, 0, 768 + 1), "1 bytes follow the last tensor"), Code::CorruptData);
  for (const std::uint32_t smaller : {1u, 2u, 8u, 24u, 25u, 30u}) {  // f16, q4_0, q8_0, i8, i16, bf16
    EXPECT_EQ(code_of(file(smaller, 0, 768), "\"b\": its data begin at 256"), Code::CorruptData) << smaller;
    EXPECT_EQ(code_of(file(0, smaller, 768), "follow the last tensor"), Code::CorruptData) << smaller;
  }
  EXPECT_EQ(
      code_of(Raw().head(3, 2, 0).tensor("a", {8}, 0, 32).tensor("b", {8}, 0, 0).data(64), "begin at 32, expected 0"),
      Code::CorruptData);
  // The padding after the last one may be missing.
  EXPECT_EQ(code_of(Raw().head(3, 1, 0).tensor("a", {9}, 0, 0).data(36), ""), Code{});
}

TEST(Gguf, keys_have_the_type_that_llama_cpp_asks_for) {  // F-41
  GgufWriter w;
  w.set("t.u8", std::uint8_t{1}), w.set("t.u16", std::uint16_t{1}), w.set("t.u32", std::uint32_t{1}),
      w.set("t.u64", std::uint64_t{1});
  w.set("t.i8", std::int8_t{1}), w.set("t.i16", std::int16_t{1}), w.set("t.i32", std::int32_t{1}),
      w.set("t.i64", std::int64_t{1});
  w.set("t.f32", 1.0f), w.set("t.f64", 1.0), w.set("t.bool", true), w.set("t.string", "1");
  w.set("t.array string", std::vector<std::string_view>{"1"}), w.set("t.array i32", std::vector<std::int32_t>{1});
  w.set("t.array u32", std::vector<std::uint32_t>{1}), w.set("t.array f32", std::vector<float>{1}),
      w.set("t.array bool", std::vector<bool>{true});
  const std::string path = ::testing::TempDir() + "loom_keys.gguf";
  ASSERT_TRUE(w.write(path));
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file) << file.error().text();
  const GgufKeys in(*file, "t.");
  std::vector<std::string> u16, u32, f32, boolean, text, texts, i32s, f32s, bytes;
  for (const GgufValue& v : file->metadata()) {
    const std::string key(v.key.substr(2));
    const auto add = [&](std::vector<std::string>& to, const Result<void>& read) {
      if (read)
        to.push_back(key);
      else
        EXPECT_EQ(read.error().code, Code::InvalidConfig) << key;
    };
    std::int64_t integer = 0;
    double number = 0;
    bool flag = false;
    std::string one;
    std::vector<std::string> strings;
    std::vector<std::int32_t> ints;
    std::vector<float> floats;
    add(u16, in.u16(key, integer)), add(u32, in.u32(key, integer)), add(f32, in.f32(key, number)),
        add(boolean, in.boolean(key, flag));
    add(text, in.text(key, one)), add(texts, in.texts(key, strings)), add(i32s, in.i32s(key, ints)),
        add(f32s, in.f32s(key, floats));
    add(bytes, in.bytes(key, one));
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(u16, Names{"u16"});
  EXPECT_EQ(u32, Names{"u32"});
  EXPECT_EQ(f32, Names{"f32"});
  EXPECT_EQ(boolean, Names{"bool"});
  EXPECT_EQ(text, Names{"string"});
  EXPECT_EQ(texts, Names{"array string"});
  EXPECT_EQ(i32s, (Names{"array i32", "array u32"}));
  EXPECT_EQ(f32s, Names{"array f32"});
  EXPECT_EQ(bytes, Names{});
  std::int64_t kept = 7;
  EXPECT_TRUE(in.u32("missing", kept));
  EXPECT_EQ(kept, 7);
  EXPECT_EQ(in.u32("missing", kept, true).error().code, Code::InvalidConfig);
  EXPECT_EQ(in.u32("i32", kept).error().text(), "t.i32 is of type i32, expected u32");
  std::vector<float> floats;
  EXPECT_EQ(in.f32s("array i32", floats).error().text(),
            "t.array i32 is an array of type i32, expected an array of type f32");
}

TEST(Gguf, survives_damage) {  // F-01
  auto good = bytes_of_file(write_sample());
  const std::size_t header = GgufFile::parse(good)->tensors()[0].offset;
  const GgufTensor last = GgufFile::parse(good)->tensors().back();
  good.resize(last.offset + last.bytes.size());  // without the padding, so that every shorter file lacks something
  expect_survives_damage(good, header, 4,
                         [](std::span<const std::byte> bytes) { return GgufFile::parse(bytes).has_value(); });
}

TEST(Gguf, many_small_entries_stay_within_memory) {  // F-01
  for (const bool keys : {false, true}) {            // the shortest entries there are, a million bytes of them
    Raw r;
    constexpr std::uint64_t kCount = 40000;
    r.head(3, keys ? 0 : kCount, keys ? kCount : 0);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const std::string n = fmt::format("{:x}", i);
      if (keys)
        r.text(n).add(0u).add<std::uint8_t>(1);
      else
        r.tensor(n, {8}, 0, i * 32);
    }
    r.data(keys ? 0 : kCount * 32);
    const std::size_t before = allocated_bytes();
    const auto parsed = GgufFile::parse(r.bytes);
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_LE(allocated_bytes() - before, 4 * r.bytes.size());
  }
}

}  // namespace
}  // namespace loom::gguf_test
