// Data sets in IDX, NPY and NPZ files.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include "data/data_test.h"
#include "data/idx/idx.h"
#include "data/numpy/numpy_dataset.h"
#include "data/source.h"

namespace loom {
namespace {

TEST(Idx, reads_every_element_type_as_numpy_does) {  // T-42
  for (const auto& [kind, values] : expected_data()["idx"].items()) {
    const auto set = open_idx(golden_data(kind + ".idx"), golden_data("labels.idx"));
    ASSERT_TRUE(set) << set.error().text();
    const DatasetInfo& about = (*set)->info();
    EXPECT_EQ(about.samples, 5u);
    EXPECT_EQ(about.input, Shape::of({2, 3}));
    EXPECT_EQ(about.target, Shape::of({1}));
    EXPECT_EQ(about.classes, 3u);
    const auto read = read_all(**set);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->inputs, values.get<std::vector<float>>()) << kind;
    EXPECT_EQ(read->labels, (std::vector<std::int32_t>{2, 0, 1, 2, 2}));
    const auto some = read_samples(**set, {4, 1});
    ASSERT_TRUE(some);
    EXPECT_TRUE(std::equal(some->inputs.begin(), some->inputs.begin() + 6, read->inputs.begin() + 24));
    EXPECT_EQ(some->labels, (std::vector<std::int32_t>{2, 0}));
  }
}

TEST(Idx, a_data_set_knows_its_source_and_the_hash_of_its_bytes) {  // T-42
  const auto set = open_idx(golden_data("u1.idx"), golden_data("labels.idx"));
  ASSERT_TRUE(set);
  auto bytes = bytes_of_file(golden_data("u1.idx"));
  const auto labels = bytes_of_file(golden_data("labels.idx"));
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  Sha256 hash;
  hash.update(bytes);
  EXPECT_EQ((*set)->info().sha256, hash.finish());
  EXPECT_EQ((*set)->info().source, golden_data("u1.idx"));
}

TEST(Idx, gzipped_files_read_like_plain_ones) {  // F-01
  for (const char* name : {"labels.idx.gz", "two_members.gz"}) {
    const auto set = open_idx(golden_data("u1.idx"), golden_data(name));
    ASSERT_TRUE(set) << set.error().text();
    EXPECT_EQ(read_all(**set)->labels, (std::vector<std::int32_t>{2, 0, 1, 2, 2}));
  }
}

TEST(Idx, damaged_and_truncated_files_are_refused_within_bounds) {  // F-01
  expect_survives_damage(bytes_of_file(golden_data("u1.idx")), 16, 8,
                         [](std::span<const std::byte> b) { return parse_idx(b).has_value(); });
  expect_survives_damage(bytes_of_file(golden_data("labels.idx.gz")), 2, 8,
                         [](std::span<const std::byte> b) { return gunzip(b, 1 << 20).has_value(); });
  expect_error(gunzip(bytes_of_file(golden_data("labels.idx.gz")), 8), Code::LimitExceeded, {"8 bytes"});
  const std::byte huge[] = {std::byte{0},    std::byte{0},    std::byte{8},    std::byte{1},
                            std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  expect_error(parse_idx(huge), Code::CorruptData, {"offset 8", "4294967295"});
}

// 64 MiB of zeros in 64 KiB; memory was once taken for old and new buffers at once.
TEST(Idx, unpacking_takes_the_memory_of_the_bytes_and_no_more) {  // F-01
  const std::vector<std::byte> zeros(std::size_t{64} << 20);
  std::vector<std::byte> packed(1 << 20);
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(zeros.data())),
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data()), stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  const pid_t child = fork();
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const auto out = gunzip(packed, zeros.size());
    getrusage(RUSAGE_SELF, &after);
    const bool same = out && out->size() == zeros.size() && std::ranges::equal(out->bytes(), zeros);
    _exit(!same ? 1 : after.ru_maxrss - before.ru_maxrss > (72 << 10) ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_error(gunzip(packed, zeros.size() - 1), Code::LimitExceeded, {"when unpacked"});
}

TEST(Arrays, errors_name_file_sample_and_what_was_expected) {  // T-42
  expect_error(open_idx(golden_data("u1.idx"), golden_data("labels.idx"), {.classes = 2}), Code::OutOfRange,
               {"labels.idx", "sample 0", "label 2", "0 to 1"});
  expect_error(open_idx(golden_data("u1.idx"), golden_data("i1.idx"), {.targets = TargetKind::classes}),
               Code::OutOfRange, {"i1.idx", "label -"});
  expect_error(open_idx(golden_data("u1.idx"), golden_data("f4.idx"), {.targets = TargetKind::classes}),
               Code::InvalidConfig, {"f4.idx", "float32"});
  expect_error(open_idx(golden_data("missing.idx"), golden_data("labels.idx")), Code::NotFound, {"missing.idx"});
  expect_error(open_idx(golden_data("u1.idx"), golden_data("quoted.csv")), Code::CorruptData,
               {"quoted.csv", "offset 0"});
  expect_error(open_idx(golden_data("u1.idx"), golden_data("labels.idx"), {.input = Shape::of({7})}),
               Code::ShapeMismatch, {"[2, 3]", "[7]"});
  expect_error(open_idx(golden_data("u1.idx"), golden_data("labels.idx"), {.class_names = {"a", "b"}}),
               Code::InvalidConfig, {"2 class names for 3"});
  const float bad[] = {1, 2, std::numeric_limits<float>::quiet_NaN(), 4};
  const RawArray x{
      "x", DType::float32, std::endian::native == std::endian::big, {2, 2}, std::as_bytes(std::span(bad)), nullptr};
  RawArray three{"t", DType::uint8, false, {3}, std::as_bytes(std::span(bad)).first(3), nullptr};
  expect_error(dataset_of(x, three, Digest{}), Code::ShapeMismatch, {"2 samples", "3 targets"});
  const auto set = dataset_of(x, x, Digest{});
  ASSERT_TRUE(set);
  EXPECT_EQ((*set)->info().targets, TargetKind::values);
  EXPECT_TRUE(read_samples(**set, {0}));
  expect_error(read_samples(**set, {1}), Code::NonFinite, {"x: sample 1, element 0"});
  expect_error(read_samples(**set, {2}), Code::IndexOutOfRange, {"sample 2", "there are 2"});
  const double wide[] = {1, 1e300, std::numeric_limits<double>::infinity(), 4};
  RawArray w{"w",    DType::float64, std::endian::native == std::endian::big, {2, 2}, std::as_bytes(std::span(wide)),
             nullptr};
  const auto wider = dataset_of(w, w, Digest{});
  ASSERT_TRUE(wider);
  expect_error(read_samples(**wider, {0}), Code::NonFinite, {"w: sample 0, element 1: 1e+300 is beyond float32"});
  expect_error(read_samples(**wider, {1}), Code::NonFinite, {"element 0: inf, expected a finite number"});
}

TEST(Numpy, npy_and_npz_give_what_numpy_wrote) {  // F-01
  std::vector<float> quarters(30);
  for (std::size_t i = 0; i < 30; ++i) quarters[i] = static_cast<float>(i) / 4;
  const auto check = [&](const Result<std::unique_ptr<Dataset>>& set) {
    ASSERT_TRUE(set) << set.error().text();
    EXPECT_EQ((*set)->info().input, Shape::of({6}));
    EXPECT_EQ((*set)->info().classes, 3u);
    EXPECT_EQ(read_all(**set)->inputs, quarters);
    EXPECT_EQ(read_all(**set)->labels, (std::vector<std::int32_t>{2, 0, 1, 2, 2}));
  };
  check(open_npy(golden_data("big.npy"), golden_data("labels.npy")));
  check(open_npy(golden_data("fortran.npy"), golden_data("labels.npy")));
  check(open_npz(golden_data("pair.npz"), "x", "t"));
  expect_error(open_npz(golden_data("pair.npz"), "y", "t"), Code::UnknownName, {"pair.npz", "\"y\""});
  expect_error(open_npz(golden_data("pair.npz"), "x", "x"), Code::InvalidConfig, {"pair.npz"});
  const auto values = open_npy(golden_data("big.npy"), golden_data("labels.npy"), {.targets = TargetKind::values});
  ASSERT_TRUE(values);
  EXPECT_EQ(read_all(**values)->values, (std::vector<float>{2, 0, 1, 2, 2}));
}

TEST(Idx, fashion_mnist_reads_whole) {  // T-42
  const std::string folder = data_path("data/fashion-mnist/");
  const auto set = open_idx(folder + "t10k-images-idx3-ubyte.gz", folder + "t10k-labels-idx1-ubyte.gz");
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ((*set)->info().samples, 10000u);
  EXPECT_EQ((*set)->info().input, Shape::of({28, 28}));
  EXPECT_EQ((*set)->info().classes, 10u);
  const auto read = read_all(**set);
  ASSERT_TRUE(read);
  std::vector<std::size_t> of_class(10);
  for (const std::int32_t label : read->labels) ++of_class[static_cast<std::size_t>(label)];
  EXPECT_EQ(of_class, std::vector<std::size_t>(10, 1000));  // as its authors state
  EXPECT_EQ(*std::ranges::max_element(read->inputs), 255.0f);
}

}  // namespace
}  // namespace loom
