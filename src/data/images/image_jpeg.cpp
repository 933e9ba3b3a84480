#include "data/images/image.h"

#ifdef LOOM_HAVE_JPEG
#include <csetjmp>
#include <cstdio>
#include <memory>

#include <jpeglib.h>
#endif

namespace loom {

#ifdef LOOM_HAVE_JPEG
namespace {

struct Errors {
  jpeg_error_mgr manager;  // first: libjpeg hands back a pointer to it
  std::jmp_buf out;
  char message[JMSG_LENGTH_MAX];
  bool too_many_scans;
};

void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->out, 1);
}
// A warning means lost data (a file that ends early is filled with grey); traces are nothing.
void judge(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}
void be_silent(j_common_ptr) {}

// Nothing with a destructor may live where libjpeg jumps, so each call of it is a function of its own over plain data.
struct Decoder {
  jpeg_decompress_struct info;
  Errors errors;
  jpeg_progress_mgr progress;
};

// A progressive file refines the whole picture with every scan, and a scan that changes nothing takes a few bytes:
// without a limit a small file keeps the processor busy for hours. Cameras and encoders write 10 to 20 scans.
void limit_scans(j_common_ptr any) {
  constexpr std::size_t kMaxScans = 100, kMaxPixelsOfAllScans = std::size_t{1} << 30;
  const auto* info = reinterpret_cast<j_decompress_ptr>(any);
  const auto scans = static_cast<std::size_t>(info->input_scan_number);
  const std::size_t pixels = std::size_t{info->image_width} * info->image_height;
  if (scans <= kMaxScans && scans * pixels <= kMaxPixelsOfAllScans) return;
  auto* errors = reinterpret_cast<Errors*>(any->err);
  errors->too_many_scans = true;
  std::snprintf(errors->message, sizeof errors->message, "%zu scans of %zu pixels are too many", scans, pixels);
  std::longjmp(errors->out, 1);
}

bool begin(Decoder& d, const unsigned char* data, unsigned long size) {
  d.info.err = jpeg_std_error(&d.errors.manager);
  d.errors.manager.error_exit = leave;
  d.errors.manager.emit_message = judge;
  d.errors.manager.output_message = be_silent;
  if (setjmp(d.errors.out) != 0) return false;
  jpeg_create_decompress(&d.info);
  d.progress.progress_monitor = limit_scans;
  d.info.progress = &d.progress;
  d.info.mem->max_memory_to_use = 1L << 30;
  jpeg_mem_src(&d.info, data, size);
  jpeg_read_header(&d.info, TRUE);
  return true;
}

bool finish(Decoder& d, unsigned char* pixels, std::size_t row_bytes) {
  if (setjmp(d.errors.out) != 0) return false;
  d.info.out_color_space = d.info.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  d.info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&d.info);
  if (d.info.output_height != d.info.image_height ||
      std::size_t{d.info.output_width} * d.info.output_components != row_bytes) {
    std::snprintf(d.errors.message, sizeof d.errors.message, "the decoder gives another size than the header");
    return false;
  }
  while (d.info.output_scanline < d.info.output_height) {
    unsigned char* row = pixels + d.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&d.info, &row, 1);
  }
  jpeg_finish_decompress(&d.info);
  return true;
}

struct JpegRelease {
  Decoder& d;
  ~JpegRelease() { jpeg_destroy_decompress(&d.info); }
};

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> file, std::size_t max_pixels) {
  auto decoder = std::make_unique<Decoder>();
  Decoder& d = *decoder;
  const JpegRelease release{d};
  if (!begin(d, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size())))
    return fail(Code::CorruptData, "JPEG: {}", d.errors.message);
  Image out{d.info.image_height, d.info.image_width, static_cast<std::size_t>(d.info.num_components), {}};
  if (out.height == 0 || out.width == 0 || out.width > max_pixels / out.height)
    return fail(Code::LimitExceeded, "JPEG: {} x {} pixels, expected 1 to {}", out.width, out.height, max_pixels);
  if (out.channels != 1 && out.channels != 3)
    return fail(Code::Unsupported, "JPEG: {} components, grey and RGB are read", out.channels);
  out.pixels.resize(out.height * out.width * out.channels);
  if (!finish(d, out.pixels.data(), out.width * out.channels))
    return fail(d.errors.too_many_scans ? Code::LimitExceeded : Code::CorruptData, "JPEG: {}", d.errors.message);
  return out;
}
#else
Result<Image> decode_jpeg(std::span<const std::byte>, std::size_t) {
  return fail(Code::Unsupported, "JPEG: this build has no libjpeg; build with libjpeg-dev installed");
}
#endif

}  // namespace loom
