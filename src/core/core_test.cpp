#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/json.h"
#include "core/philox.h"
#include "core/sha256.h"
#include "core/sha256_blocks.h"
#include "core/shape.h"
#include "core/shortened.h"
#include "core/thread_pool.h"
#include "core/transpose.h"

namespace loom {
namespace {

TEST(Error, DeepPlacesAreShortenedInTheMiddle) {
  Steps deep;
  for (int i = 0; i < 70; ++i) deep.insert(deep.end(), {"sequential_layers", "0"});
  const std::string last = "type";
  deep.push_back(last);
  const Error of_steps{Code::InvalidConfig, "is missing", deep};
  EXPECT_LE(of_steps.text().size(), kMostPlace + 20);
  EXPECT_TRUE(of_steps.text().starts_with("/sequential_layers/0/")) << of_steps.text();
  EXPECT_TRUE(of_steps.text().ends_with("/sequential_layers/0/type: is missing")) << of_steps.text();
  EXPECT_EQ(of_steps.place.steps(), deep);

  Error of_nodes{Code::NestingTooDeep, "too deep"};
  for (int i = 0; i < 70; ++i) of_nodes.in_source("If \"a\"");
  const std::string file = "/models/" + std::string(300, 'm') + ".onnx";
  of_nodes.in_source(file);
  EXPECT_LE(of_nodes.text().size(), file.size() + kMostPlace + 20);
  EXPECT_TRUE(of_nodes.text().starts_with(file + ": If \"a\": ")) << of_nodes.text();
  EXPECT_TRUE(of_nodes.text().ends_with("If \"a\": too deep")) << of_nodes.text();

  Error of_path{Code::NotFound, "no such weight"};
  std::string path = "layers.0";
  for (int i = 0; i < 70; ++i) path += ".base_layer";
  of_path.in_source(path);
  EXPECT_LE(of_path.text().size(), kMostPlace + 20);
  const Error of_file{Code::NotFound, "cannot open"};
  EXPECT_EQ(Error(of_file).in_source(file).text(), file + ": cannot open");
  EXPECT_EQ(shortened_place("/layers/0"), "/layers/0");
  std::string wide;  // characters of three bytes stay whole
  for (int i = 0; i < 200; ++i) wide += "\u20ac";
  for (const char c : {'a', 'b'}) {
    wide.insert(wide.begin(), c);
    const std::string cut = shortened_place(wide);
    const std::size_t at = cut.find("...");
    ASSERT_NE(at, cut.npos);
    EXPECT_TRUE(cut.substr(0, at).ends_with("\u20ac"));
    EXPECT_TRUE(cut.substr(at + 3).starts_with("\u20ac"));
  }
}

// Sizes around whole blocks, strides that leave gaps; nothing outside is touched.
template <class T>
void transpose_moves_every_element() {
  for (const std::size_t rows : {0, 1, 3, 4, 15, 16, 17, 35})
    for (const std::size_t cols : {0, 1, 4, 5, 16, 31, 33}) {
      const std::size_t from_stride = cols + 3, to_stride = rows + 2;
      std::vector<T> from(rows * from_stride), to(cols * to_stride, T{-1});
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
      transpose(from.data(), from_stride, rows, cols, to.data(), to_stride);
      for (std::size_t c = 0; c < cols; ++c)
        for (std::size_t r = 0; r < to_stride; ++r)
          ASSERT_EQ(to[c * to_stride + r], r < rows ? from[r * from_stride + c] : T{-1}) << rows << " x " << cols;
    }
}
TEST(Transpose, moves_every_element_and_nothing_else) {
  transpose_moves_every_element<float>();
  transpose_moves_every_element<double>();
}

TEST(Sha256, nothing_may_lie_nowhere) {
  Sha256 a, b;
  const std::byte one{1};
  a.update(std::span(&one, 1));
  a.update({});  // in the middle of a block, at no address: the sanitizer looks on
  b.update(std::span(&one, 1));
  EXPECT_EQ(a.finish(), b.finish());
}

TEST(Sha256, KnownAnswers) {  // FIPS 180-4 examples
  Sha256 empty;
  EXPECT_EQ(to_hex(empty.finish()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (std::size_t cut = 0; cut <= 56; ++cut) {
    Sha256 h;
    h.update(std::as_bytes(std::span(text, cut)));
    h.update(std::as_bytes(std::span(text + cut, 56 - cut)));
    EXPECT_EQ(to_hex(h.finish()), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
}

TEST(Sha256, the_instructions_of_the_cpu_and_portable_code_agree) {
  const Sha256Blocks fast = sha256_of_cpu();
  if (fast == nullptr) return;  // KnownAnswers tested the portable code
  const RandomStream stream{7, RandomDomain::Noise, 0, 1};
  std::vector<std::uint8_t> bytes(64 * 40 + 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(stream.uniform(i) * 256);
  for (std::size_t blocks = 0; blocks <= 40; ++blocks) {
    std::array<std::uint32_t, 8> a, b;
    for (std::size_t i = 0; i < 8; ++i) a[i] = b[i] = static_cast<std::uint32_t>(0x9e3779b9u * (i + blocks));
    sha256_portable(a.data(), bytes.data() + blocks % 4, blocks);  // any alignment
    fast(b.data(), bytes.data() + blocks % 4, blocks);
    EXPECT_EQ(a, b) << blocks;
  }
}

TEST(Sha256, many_inputs_have_the_digests_of_each) {
  const RandomStream stream{8, RandomDomain::Noise, 0, 1};
  std::vector<std::byte> bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(stream.uniform(i) * 256);
  constexpr std::size_t kLengths[] = {0, 1, 63, 64, 65, 127, 128, 1000, 4096, 3, 640, 4999};
  for (std::size_t count = 0; count <= std::size(kLengths); ++count)
    for (std::size_t first = 0; first + count <= std::size(kLengths); ++first) {
      std::vector<std::span<const std::byte>> inputs;
      for (std::size_t i = first; i < first + count; ++i)
        inputs.push_back(std::span(bytes).subspan(i % 2, kLengths[i]));
      std::vector<Digest> digests(count);
      sha256_each(inputs, digests);
      for (std::size_t i = 0; i < count; ++i) {
        Sha256 alone;
        alone.update(inputs[i]);
        EXPECT_EQ(digests[i], alone.finish()) << first << " " << i;
      }
    }
}

// N-08
TEST(Philox, known_answers) {  // Random123 1.14 kat_vectors
  EXPECT_EQ(philox4x32(0, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32(~0ull, {~0u, ~0u, ~0u, ~0u}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32(0x299f31d0a4093822ull, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ThreadPool, RunsEveryPartOnceForManyShortJobs) {
  for (const int threads : {1, 2, 3, 7}) {
    auto pool = ThreadPool::create(threads);
    ASSERT_TRUE(pool);
    for (int job = 0; job < 2000; ++job) {
      std::vector<int> hits(static_cast<std::size_t>(job % 17), 0);
      (*pool)->run(hits.size(), [&](std::size_t part) { hits[part] += 1; });
      for (const int h : hits) ASSERT_EQ(h, 1);
    }
  }
  EXPECT_FALSE(ThreadPool::create(0));
  EXPECT_FALSE(ThreadPool::create(1000));
}

TEST(ThreadPool, several_threads_share_one_pool) {  // N-11
  const auto pool = ThreadPool::create(3).value();
  const auto use = [&] {
    for (int job = 0; job < 2000; ++job) {
      std::vector<int> hits(9, 0);
      pool->run(hits.size(), [&](std::size_t part) { hits[part] += 1; });
      for (const int h : hits) ASSERT_EQ(h, 1);
    }
  };
  std::thread other(use);
  use();
  other.join();
}

TEST(ThreadPool, the_host_lends_its_workers) {
  const auto in_turn = [](void*, void (*work)(void*, int), void* job, int workers) {
    for (int w = workers; w-- > 0;) work(job, w);
  };
  const auto at_once = [](void*, void (*work)(void*, int), void* job, int workers) {
    std::vector<std::thread> threads;
    for (int w = 1; w < workers; ++w) threads.emplace_back(work, job, w);
    work(job, 0);
    for (std::thread& thread : threads) thread.join();
  };
  const auto none = [](void*, void (*)(void*, int), void*, int) {};
  for (const auto run : {+in_turn, +at_once, +none}) {
    const auto pool = ThreadPool::create(HostWorkers{.threads = 3, .run = run}).value();
    for (int job = 0; job < 50; ++job) {
      std::vector<int> hits(static_cast<std::size_t>(job), 0);
      pool->run(hits.size(), [&](std::size_t part, int worker) { hits[part] += worker >= 0 && worker < 3 ? 1 : 9; });
      for (const int h : hits) ASSERT_EQ(h, 1);
    }
  }
  EXPECT_FALSE(ThreadPool::create(HostWorkers{.threads = 0, .run = +in_turn}));
  EXPECT_FALSE(ThreadPool::create(HostWorkers{.threads = 257, .run = +in_turn}));
  EXPECT_FALSE(ThreadPool::create(HostWorkers{.threads = 2}));
}

TEST(Json, names_numbers_that_json_does_not_have) {
  for (const char* text : {"[NaN]", "{\"a\": NaN}", "[-Infinity]", "[1, Infinity]", "[nan]", "[-inf]"}) {
    const auto parsed = parse_json(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().text().find("JSON has no NaN and no Infinity"), std::string::npos)
        << parsed.error().text();
  }
  for (const char* text : {"[1,", "{\"a\":nul}", "[\"NaN]", "[1 NaN"})
    EXPECT_NE(parse_json(text).error().text().find("not valid JSON at byte"), std::string::npos) << text;
}

TEST(Json, refuses_what_is_not_strict) {  // J-23
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "1 2", "nan", "[1e999]", "\"\xff\"", "// c\n1", "{'a':1}"})
    EXPECT_FALSE(parse_json(bad)) << bad;
  EXPECT_FALSE(parse_json(std::string_view("{}\0{}", 5)));
  EXPECT_TRUE(parse_json(std::string_view("{}\0\0", 4)));  // padding
  EXPECT_FALSE(parse_json(std::string(300, '[') + std::string(300, ']')));
  const auto ok = parse_json(R"({"a":[1,-2,2.5,"x",null,true],"b":{"c":18446744073709551615}})");
  ASSERT_TRUE(ok);
  EXPECT_EQ(ok->dump(), R"({"a":[1,-2,2.5,"x",null,true],"b":{"c":18446744073709551615}})");
  EXPECT_FALSE(as_int(*find(*find(*ok, "b"), "c")));
  EXPECT_EQ(as_int(find(*ok, "a")->at(1)), -2);
  EXPECT_EQ(find(*ok, "zz"), nullptr);
}

TEST(Json, canonical_text) {  // F-03
  const auto text = [](std::string_view json) {
    const auto value = parse_json(json);
    const auto dumped = dump_canonical(value.value());
    return dumped ? *dumped : "error: " + dumped.error().text();
  };
  EXPECT_EQ(text(R"( { "b" : [ 1 , 2.50 , { } , [ ] ] , "aa" : null , "a" : true , "B" : -7 } )"),
            R"({"B":-7,"a":true,"aa":null,"b":[1,2.5,{},[]]})");
  EXPECT_EQ(
      text(
          R"([1.0, 100e-2, -0.0, 0.1, 1e300, 5e-324, 0.30000000000000004, 1e15, 1e16, 18446744073709551615, -9223372036854775808])"),
      "[1,1,-0.0,0.1,1e+300,5e-324,0.30000000000000004,1000000000000000,1e+16,18446744073709551615,-"
      "9223372036854775808]");
  EXPECT_EQ(text(R"("\u0041\/\"\\\n\u0001\u007f\u00fc\ud83e\uddf5")"),
            "\"A/\\\"\\\\\\n\\u0001\x7f\xc3\xbc\xf0\x9f\xa7\xb5\"");
  // Its own text comes back as itself, and every double as itself.
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const PhiloxBlock r = philox4x32(1, {i, 0, 0, 0});
    const double v = std::bit_cast<double>(std::uint64_t{r[0]} << 32 | r[1]);
    if ((r[0] & 0x7ff00000u) == 0x7ff00000u) continue;
    const auto dumped = dump_canonical(Json(v));
    ASSERT_TRUE(dumped);
    const auto back = parse_json(*dumped);
    ASSERT_TRUE(back);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(as_number(*back).value()), std::bit_cast<std::uint64_t>(v)) << *dumped;
    ASSERT_EQ(dump_canonical(*back).value(), *dumped);
  }
  EXPECT_EQ(dump_canonical(Json(std::numeric_limits<double>::infinity())).error().code, Code::NonFinite);
  EXPECT_EQ(dump_canonical(Json("\xff")).error().code, Code::InvalidArgument);
  EXPECT_EQ(dump_canonical(Json{{"\xc0\x80", 1}}).error().code, Code::InvalidArgument);
}

TEST(Json, utf8_is_checked) {  // J-23
  for (const char* good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                           "a\xc3\xbc"
                           "b"})
    EXPECT_TRUE(is_utf8(good));
  for (const char* bad :
       {"\x80", "\xc1\xbf", "\xc2",
        "\xc2"
        "a",
        "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe1\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad));
}

TEST(Buffer, IsZeroedAndAligned) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{4097}, std::size_t{5} << 20}) {
    auto b = Buffer::create(n);
    ASSERT_TRUE(b);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b->data()) % 64, 0u);
    for (std::size_t i = 0; i < n; i += 511) ASSERT_EQ(b->data()[i], std::byte{0});
    std::memset(b->data(), 1, n);
  }
  EXPECT_FALSE(Buffer::create(~std::size_t{0} - 10));
}

TEST(Shape, rank_extents_and_product_are_checked) {  // S-01
  const Shape s = Shape::of({2, 5, 8});
  EXPECT_EQ(s.rank(), 3u);
  EXPECT_EQ(s.elements(), 80u);
  EXPECT_EQ(s.rows(), 10u);
  EXPECT_EQ(s.cols(), 8u);
  EXPECT_EQ(s.text(), "[2, 5, 8]");
  EXPECT_EQ(*s.with_cols(3), Shape::of({2, 5, 3}));
  EXPECT_EQ(*s.appended(4), Shape::of({2, 5, 8, 4}));
  EXPECT_FALSE(s == Shape::of({2, 40}));
  const auto code = [](std::initializer_list<std::size_t> extents) {
    const auto made = Shape::create({extents.begin(), extents.size()});
    return made ? Code{} : made.error().code;
  };
  EXPECT_EQ(code({}), Code::ShapeMismatch);
  EXPECT_EQ(code({3, 0, 2}), Code::ShapeMismatch);
  EXPECT_EQ(code({1, 1, 1, 1, 1, 1, 1, 1, 1}), Code::ShapeMismatch);
  EXPECT_EQ(code({std::size_t{1} << 40}), Code{});
  EXPECT_EQ(code({(std::size_t{1} << 40) + 1}), Code::SizeOverflow);
  EXPECT_EQ(code({std::size_t{1} << 33, std::size_t{1} << 33}), Code::SizeOverflow);
}

}  // namespace
}  // namespace loom
