#pragma once
// One PNG or JPEG file to pixels. PNG gives the same bytes everywhere; JPEG as libjpeg's integer transform decodes it,
// which the JPEG standard leaves a unit of freedom.

#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"

namespace loom {

struct Image {
  std::size_t height = 0, width = 0, channels = 0;  // 1 grey, 3 RGB
  std::vector<std::uint8_t> pixels;                 // [height, width, channels]
};

inline constexpr std::size_t kMaxImagePixels = std::size_t{1} << 26;

// CorruptData, LimitExceeded beyond `max_pixels` or for a JPEG of very many scans; Unsupported for other formats,
// 16-bit PNG, CMYK JPEG, and in a build without the library. Transparency is dropped, palettes are looked up, gamma is
// left as it is.
Result<Image> decode_image(std::span<const std::byte> file, std::size_t max_pixels = kMaxImagePixels);
Result<Image> decode_png(std::span<const std::byte> file, std::size_t max_pixels);
Result<Image> decode_jpeg(std::span<const std::byte> file, std::size_t max_pixels);

// Grey from RGB in integers as ITU-R 601-2 weighs it, (19595 R + 38470 G + 7471 B + 2^15) / 2^16 rounded down; RGB from
// grey by copies.
Image with_channels(const Image& image, std::size_t channels);

}  // namespace loom
