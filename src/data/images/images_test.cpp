#include <filesystem>

#include "data/data_test.h"
#include "data/images/image.h"
#include "data/images/image_folder.h"

namespace loom {
namespace {

TEST(Images, F_01_folders_give_what_pillow_reads) {
  const std::vector<std::string> order = {"a/alpha.PNG", "a/grey.png", "a/rgb.png", "b/grey.jpeg", "b/palette.png", "b/smooth.jpg"};
  for (const std::size_t channels : {std::size_t{3}, std::size_t{1}}) {
    const auto set = open_image_folder(golden_data("folder"), {.channels = channels});
    ASSERT_TRUE(set) << set.error().message;
    const DatasetInfo& about = (*set)->info();
    EXPECT_EQ(about.input, Shape::of({channels, 6, 5}));
    EXPECT_EQ(about.class_names, (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(about.samples, order.size());
    const auto read = read_all(**set);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->labels, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
    for (std::size_t s = 0; s < order.size(); ++s) {
      const auto expected = expected_data()["images"][order[s]][channels == 3 ? "rgb" : "grey"].get<std::vector<float>>();
      // Pillow brings its own JPEG library; two decoders may differ by a unit (IEEE 1180), and a unit more where colours are converted.
      const float bound = order[s].find(".j") != std::string::npos ? 2 : 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(read->inputs[s * expected.size() + i], expected[i], bound) << order[s] << " " << i;
    }
  }
}

TEST(Images, F_01_errors_name_the_file) {
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
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(read_samples(**set, {0}));
  expect_error(read_samples(**set, {1}), Code::CorruptData, {"2.png", "PNG"});
  expect_error(read_samples(**set, {2}), Code::Unsupported, {"3.png", "neither PNG nor JPEG"});
  std::filesystem::remove_all(root);
}

TEST(Images, F_01_damaged_images_are_errors_or_pictures) {
  for (const char* name : {"folder/a/alpha.PNG", "folder/b/palette.png", "folder/b/smooth.jpg"}) {
    const auto good = bytes_of_file(golden_data(name));
    ASSERT_TRUE(decode_image(good));
    for (std::size_t n = 0; n < good.size() - 2; ++n) EXPECT_FALSE(decode_image(std::span(good).first(n))) << name << " " << n;
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
