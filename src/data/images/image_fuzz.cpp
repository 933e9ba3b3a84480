// Any bytes as a picture: pixels of the size that is reported, or an Error. Pictures are small, so that memory and time
// go to the formats.

#include <cstdint>

#include "data/images/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  constexpr std::size_t kPixels = std::size_t{1} << 16;
  const auto image = decode_image({reinterpret_cast<const std::byte*>(data), size}, kPixels);
  if (!image) return 0;
  LOOM_ASSERT(image->height > 0 && image->width > 0 && image->height * image->width <= kPixels);
  LOOM_ASSERT(image->channels == 1 || image->channels == 3);
  LOOM_ASSERT(image->pixels.size() == image->height * image->width * image->channels);
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}})
    LOOM_ASSERT(with_channels(*image, channels).pixels.size() == image->height * image->width * channels);
  return 0;
}
