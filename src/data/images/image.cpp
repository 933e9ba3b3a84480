#include "data/images/image.h"

namespace loom {

Result<Image> decode_image(std::span<const std::byte> file, std::size_t max_pixels) {
  const auto starts_with = [&](std::string_view magic) {
    return std::string_view(reinterpret_cast<const char*>(file.data()), file.size()).starts_with(magic);
  };
  if (starts_with("\x89PNG\r\n\x1a\n")) return decode_png(file, max_pixels);
  if (starts_with("\xff\xd8\xff")) return decode_jpeg(file, max_pixels);
  return fail(Code::Unsupported, "neither PNG nor JPEG");
}

Image with_channels(const Image& image, std::size_t channels) {
  if (image.channels == channels) return image;
  Image out{image.height, image.width, channels, {}};
  const std::size_t pixels = image.height * image.width;
  out.pixels.resize(pixels * channels);
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* from = image.pixels.data() + i * image.channels;
    if (channels == 1)
      out.pixels[i] =
          static_cast<std::uint8_t>((19595u * from[0] + 38470u * from[1] + 7471u * from[2] + 0x8000u) >> 16);
    else
      for (std::size_t c = 0; c < channels; ++c) out.pixels[i * channels + c] = from[0];
  }
  return out;
}

}  // namespace loom
