#include <filesystem>

#include "data/data_test.h"
#include "data/images/image.h"
#include "data/images/image_folder.h"

namespace loom {
namespace {

TEST(Images, folders_give_what_pillow_reads) {  // F-01
  const std::vector<std::string> order = {"a/alpha.PNG", "a/grey.png",    "a/rgb.png",
                                          "b/grey.jpeg", "b/palette.png", "b/smooth.jpg"};
  for (const std::size_t channels : {std::size_t{3}, std::size_t{1}}) {
    const auto set = open_image_folder(golden_data("folder"), {.channels = channels});
    ASSERT_TRUE(set) << set.error().text();
    const DatasetInfo& about = (*set)->info();
    EXPECT_EQ(about.input, Shape::of({channels, 6, 5}));
    EXPECT_EQ(about.class_names, (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(about.samples, order.size());
    const auto read = read_all(**set);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->labels, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
    for (std::size_t s = 0; s < order.size(); ++s) {
      const auto expected =
          expected_data()["images"][order[s]][channels == 3 ? "rgb" : "grey"].get<std::vector<float>>();
      // Pillow brings its own JPEG library; two decoders may differ by a unit (IEEE 1180), and a unit more where
      // colours are converted.
      const float bound = order[s].find(".j") != std::string::npos ? 2 : 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(read->inputs[s * expected.size() + i], expected[i], bound) << order[s] << " " << i;
    }
  }
}

TEST(Images, given_classes_decide_the_ids) {  // T-42
  const auto set = open_image_folder(golden_data("folder"), {.class_names = {"b", "c", "a"}});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ((*set)->info().classes, 3u);
  EXPECT_EQ(read_all(**set)->labels, (std::vector<std::int32_t>{2, 2, 2, 0, 0, 0}));
  expect_error(open_image_folder(golden_data("folder"), {.class_names = {"a"}}), Code::UnknownName,
               {"folder/b", "no class"});
}

TEST(Images, errors_name_the_file) {  // F-01
  expect_error(open_image_folder(golden_data("missing")), Code::NotFound, {"missing"});
  expect_error(open_image_folder(golden_data("folder/a")), Code::ShapeMismatch, {"folder/a", "one per class"});
  expect_error(open_image_folder(golden_data("folder"), {.channels = 2}), Code::InvalidConfig, {"2 channels"});
  const std::filesystem::path root = ::testing::TempDir() + "images_test";
  std::filesystem::create_directories(root / "c");
  const auto put = [&](const char* name, std::span<const std::byte> bytes) {
    ASSERT_TRUE(write_file_atomically((root / "c" / name).string(), bytes));
  };
  const auto rgb = bytes_of_file(golden_data("folder/a/rgb.png"));
  put("1.png", rgb);
  put("2.png", std::span(rgb).first(rgb.size() / 2));
  put("3.png", std::as_bytes(std::span("text")));
  const auto set = open_image_folder(root.string());
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_TRUE(read_samples(**set, {0}));
  expect_error(read_samples(**set, {1}), Code::CorruptData, {"2.png", "PNG"});
  expect_error(read_samples(**set, {2}), Code::Unsupported, {"3.png", "neither PNG nor JPEG"});
  std::filesystem::remove_all(root);
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

void add_big32(std::vector<std::byte>& to, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(v >> shift));
}

std::vector<std::byte> png_chunk(std::string_view type, std::span<const std::byte> content) {
  std::vector<std::byte> named, out;
  for (const char c : type) named.push_back(static_cast<std::byte>(c));
  named.insert(named.end(), content.begin(), content.end());
  add_big32(out, static_cast<std::uint32_t>(content.size()));
  out.insert(out.end(), named.begin(), named.end());
  add_big32(out, crc_of(named));
  return out;
}

// The size of the picture was once read from bytes 16 to 24 of the file, whatever chunk they belong to, and libpng then
// filled its own.
TEST(Images, a_png_whose_first_chunk_is_no_header_is_refused) {  // F-01
  const auto good = bytes_of_file(golden_data("folder/a/rgb.png"));
  const auto with = [&](std::size_t at, const std::vector<std::byte>& chunk) {
    auto bad = good;
    bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(at), chunk.begin(), chunk.end());
    return bad;
  };
  std::vector<std::byte> small, large;
  for (auto* content : {&small, &large}) {
    add_big32(*content, content == &small ? 2 : 600);
    add_big32(*content, content == &small ? 2 : 500);
    content->insert(content->end(), {std::byte{8}, std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}});
    for (const char* type : {"tEXt", "IDAT"})
      expect_error(decode_image(with(8, png_chunk(type, *content))), Code::CorruptData, {"first chunk"});
    expect_error(decode_image(with(8, png_chunk("IHDR", *content))), Code::CorruptData, {"first chunk"});
    expect_error(decode_image(with(8 + 25, png_chunk("IHDR", *content))), Code::CorruptData, {"first chunk"});
    EXPECT_TRUE(decode_image(with(8 + 25, png_chunk("tEXt", *content)))) << "behind the header any text may stand";
  }
  // A longer header: its other bytes are right.
  std::vector<std::byte> header(good.begin() + 16, good.begin() + 16 + 13);
  header.push_back(std::byte{0});
  auto longer = good;
  longer.erase(longer.begin() + 8, longer.begin() + 8 + 25);
  const auto chunk = png_chunk("IHDR", header);
  longer.insert(longer.begin() + 8, chunk.begin(), chunk.end());
  expect_error(decode_image(longer), Code::CorruptData, {"header of 14 bytes"});
  // The header alone shows 16 bits per sample.
  header.resize(13);
  header[8] = std::byte{16};
  auto deep = good;
  const auto deep_chunk = png_chunk("IHDR", header);
  std::ranges::copy(deep_chunk, deep.begin() + 8);
  expect_error(decode_image(deep), Code::Unsupported, {"16 bits"});
}

TEST(Images, pictures_beyond_the_limit_are_refused) {  // F-01
  for (const char* name : {"folder/a/rgb.png", "folder/b/smooth.jpg"}) {
    EXPECT_TRUE(decode_image(bytes_of_file(golden_data(name)), 30));
    expect_error(decode_image(bytes_of_file(golden_data(name)), 29), Code::LimitExceeded, {"5 x 6", "29"});
  }
}

// A progressive JPEG of one block; every scan holds one code. Each coefficient comes in `refinements` + 1 scans.
std::vector<std::byte> jpeg_of_scans(int refinements) {
  std::string s("\xff\xd8\xff\xdb\0\x43\0", 7);
  s += std::string(64, '\1');
  s += std::string("\xff\xc2\0\x0b\x08\0\x08\0\x08\1\1\x11\0", 13);
  for (const char table : {'\0', '\x10'}) {  // one code of one bit, for the symbol 0
    s += std::string("\xff\xc4\0\x14", 4) + table + '\1' + std::string(15, '\0') + '\0';
  }
  const auto scan = [&](int coefficient, int high, int low) {
    s += std::string("\xff\xda\0\x08\1\1\0", 7);
    s += static_cast<char>(coefficient), s += static_cast<char>(coefficient), s += static_cast<char>(high << 4 | low),
        s += '\x7f';
  };
  scan(0, 0, 0);
  for (int pass = 0; pass <= refinements; ++pass)
    for (int k = 1; k < 64; ++k) scan(k, pass == 0 ? 0 : refinements - pass + 1, refinements - pass);
  s += "\xff\xd9";
  const auto bytes = std::as_bytes(std::span(s));
  return {bytes.begin(), bytes.end()};
}

TEST(Images, a_jpeg_of_very_many_scans_is_refused) {  // F-01
  const auto image = decode_image(jpeg_of_scans(0));
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->pixels, std::vector<std::uint8_t>(64, 128));
  expect_error(decode_image(jpeg_of_scans(1)), Code::LimitExceeded, {"101 scans"});
}

TEST(Images, damaged_images_are_errors_or_pictures) {  // F-01
  for (const char* name : {"folder/a/alpha.PNG", "folder/b/palette.png", "folder/b/smooth.jpg"}) {
    const auto good = bytes_of_file(golden_data(name));
    ASSERT_TRUE(decode_image(good));
    for (std::size_t n = 0; n < good.size() - 2; ++n)
      EXPECT_FALSE(decode_image(std::span(good).first(n))) << name << " " << n;
    for (std::size_t i = 0; i < good.size(); ++i)
      for (const std::byte change : {std::byte{1}, std::byte{0x80}}) {
        auto bad = good;
        bad[i] ^= change;
        const auto image = decode_image(bad);
        EXPECT_TRUE(!image || image->pixels.size() == image->height * image->width * image->channels);
      }
  }
}

}  // namespace
}  // namespace loom
