#include <string_view>

#include "data/images/image.h"

#ifdef LOOM_HAVE_PNG
#include <png.h>
#endif

namespace loom {

#ifdef LOOM_HAVE_PNG
namespace {

std::size_t big32(const std::byte* b) {
  return std::to_integer<std::size_t>(b[0]) << 24 | std::to_integer<std::size_t>(b[1]) << 16 |
         std::to_integer<std::size_t>(b[2]) << 8 | std::to_integer<std::size_t>(b[3]);
}

// The chunks that say what the pixels are, the header first and once. Without gAMA and its kin libpng leaves the values
// alone, where it would call libm's pow.
Result<std::vector<std::byte>> essential_chunks(std::span<const std::byte> file) {
  std::vector<std::byte> out(file.begin(), file.begin() + 8);
  for (std::size_t at = 8; at < file.size();) {
    if (file.size() - at < 12)
      return fail(Code::CorruptData, "PNG: offset {}: a chunk needs 12 bytes, {} are left", at, file.size() - at);
    const std::size_t length = big32(file.data() + at);
    if (length > file.size() - at - 12)
      return fail(Code::CorruptData, "PNG: offset {}: a chunk of {} bytes leaves the file", at, length);
    const std::string_view type(reinterpret_cast<const char*>(file.data() + at + 4), 4);
    if ((at == 8) != (type == "IHDR"))
      return fail(Code::CorruptData, "PNG: offset {}: the header must be the first chunk and the only one of its kind",
                  at);
    if (type == "IHDR" || type == "PLTE" || type == "tRNS" || type == "IDAT" || type == "IEND")
      out.insert(out.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                 file.begin() + static_cast<std::ptrdiff_t>(at + 12 + length));
    at += 12 + length;
    if (type == "IEND") return out;
  }
  return fail(Code::CorruptData, "PNG: offset {}: the file ends without IEND", file.size());
}

struct PngRelease {
  png_image& png;
  ~PngRelease() { png_image_free(&png); }
};

}  // namespace

Result<Image> decode_png(std::span<const std::byte> file, std::size_t max_pixels) {
  constexpr std::size_t kHeader = 8, kDepth = kHeader + 16, kBegin = kHeader + 25;
  if (file.size() < kBegin) return fail(Code::CorruptData, "PNG: {} bytes, the header needs {}", file.size(), kBegin);
  LOOM_TRY(const auto bytes, essential_chunks(file));
  if (big32(file.data() + kHeader) != 13)
    return fail(Code::CorruptData, "PNG: a header of {} bytes, expected 13", big32(file.data() + kHeader));
  if (file[kDepth] == std::byte{16}) return fail(Code::Unsupported, "PNG: 16 bits per sample, at most 8 are read");

  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0)
    return fail(Code::CorruptData, "PNG: {}", png.message);
  const PngRelease release{png};
  // The buffer must hold exactly the size that libpng reports.
  const std::size_t width = png.width, height = png.height;
  if (width == 0 || height == 0 || width > max_pixels / height)
    return fail(Code::LimitExceeded, "PNG: {} x {} pixels, expected 1 to {}", width, height, max_pixels);
  const std::size_t channels = (png.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1,
                    stored = channels + ((png.format & PNG_FORMAT_FLAG_ALPHA) != 0 ? 1 : 0);
  // Alpha is asked for where there is some: libpng would blend it otherwise.
  png.format = stored == 1   ? PNG_FORMAT_GRAY
               : stored == 2 ? PNG_FORMAT_GA
               : stored == 3 ? PNG_FORMAT_RGB
                             : PNG_FORMAT_RGBA;
  LOOM_ASSERT(PNG_IMAGE_SIZE(png) == height * width * stored);
  Image out{height, width, channels, {}};
  out.pixels.resize(height * width * stored);
  if (png_image_finish_read(&png, nullptr, out.pixels.data(), 0, nullptr) == 0)
    return fail(Code::CorruptData, "PNG: {}", png.message);
  if (stored != channels) {
    for (std::size_t i = 0; i < height * width; ++i)
      for (std::size_t c = 0; c < channels; ++c) out.pixels[i * channels + c] = out.pixels[i * stored + c];
    out.pixels.resize(height * width * channels);
  }
  return out;
}
#else
Result<Image> decode_png(std::span<const std::byte>, std::size_t) {
  return fail(Code::Unsupported, "PNG: this build has no libpng; build with libpng-dev installed");
}
#endif

}  // namespace loom
