#include <string_view>

#include "data/images/image.h"

#ifdef LOOM_HAVE_PNG
#include <png.h>
#endif

namespace loom {

#ifdef LOOM_HAVE_PNG
namespace {

std::size_t big32(const std::byte* b) {
  return std::to_integer<std::size_t>(b[0]) << 24 | std::to_integer<std::size_t>(b[1]) << 16 | std::to_integer<std::size_t>(b[2]) << 8 |
         std::to_integer<std::size_t>(b[3]);
}

// The chunks that say what the pixels are. Without gAMA and its kin libpng leaves the values alone, where it would call libm's pow.
Result<std::vector<std::byte>> essential_chunks(std::span<const std::byte> file) {
  std::vector<std::byte> out(file.begin(), file.begin() + 8);
  for (std::size_t at = 8; at < file.size();) {
    if (file.size() - at < 12) return fail(Code::CorruptData, "PNG: offset {}: a chunk needs 12 bytes, {} are left", at, file.size() - at);
    const std::size_t length = big32(file.data() + at);
    if (length > file.size() - at - 12) return fail(Code::CorruptData, "PNG: offset {}: a chunk of {} bytes leaves the file", at, length);
    const std::string_view type(reinterpret_cast<const char*>(file.data() + at + 4), 4);
    if (type == "IHDR" || type == "PLTE" || type == "tRNS" || type == "IDAT" || type == "IEND")
      out.insert(out.end(), file.begin() + static_cast<std::ptrdiff_t>(at), file.begin() + static_cast<std::ptrdiff_t>(at + 12 + length));
    at += 12 + length;
    if (type == "IEND") return out;
  }
  return fail(Code::CorruptData, "PNG: offset {}: the file ends without IEND", file.size());
}

}  // namespace

Result<Image> decode_png(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8, kHeader = 8 + 25;
  if (file.size() < kHeader) return fail(Code::CorruptData, "PNG: {} bytes, the header needs {}", file.size(), kHeader);
  const std::size_t width = big32(file.data() + kSignature + 8), height = big32(file.data() + kSignature + 12);
  if (width == 0 || height == 0 || width > kMaxImagePixels / height)
    return fail(Code::LimitExceeded, "PNG: {} x {} pixels, expected 1 to {}", width, height, kMaxImagePixels);
  if (file[kSignature + 16] == std::byte{16}) return fail(Code::Unsupported, "PNG: 16 bits per sample, at most 8 are read");
  LOOM_TRY(const auto bytes, essential_chunks(file));

  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return fail(Code::CorruptData, "PNG: {}", png.message);
  const std::size_t channels = (png.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1,
                    stored = channels + ((png.format & PNG_FORMAT_FLAG_ALPHA) != 0 ? 1 : 0);
  // Alpha is asked for where there is some: libpng would blend it otherwise.
  png.format = stored == 1 ? PNG_FORMAT_GRAY : stored == 2 ? PNG_FORMAT_GA : stored == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  Image out{height, width, channels, {}};
  out.pixels.resize(height * width * stored);
  if (png_image_finish_read(&png, nullptr, out.pixels.data(), 0, nullptr) == 0) {
    png_image_free(&png);
    return fail(Code::CorruptData, "PNG: {}", png.message);
  }
  if (stored != channels) {
    for (std::size_t i = 0; i < height * width; ++i)
      for (std::size_t c = 0; c < channels; ++c) out.pixels[i * channels + c] = out.pixels[i * stored + c];
    out.pixels.resize(height * width * channels);
  }
  return out;
}
#else
Result<Image> decode_png(std::span<const std::byte>) {
  return fail(Code::Unsupported, "PNG: this build has no libpng; build with libpng-dev installed");
}
#endif

}  // namespace loom
