#include <algorithm>
#include <cstring>

#include "data/source.h"

#ifdef LOOM_HAVE_ZLIB
#include <zlib.h>
#endif

namespace loom {

#ifdef LOOM_HAVE_ZLIB
namespace {

struct Inflater {
  z_stream stream{};
  ~Inflater() { inflateEnd(&stream); }
};

Result<void> resize(Buffer& buffer, std::size_t used, std::size_t size) {
  LOOM_TRY(Buffer other, Buffer::create(size));
  if (used != 0) std::memcpy(other.data(), buffer.data(), used);
  buffer = std::move(other);
  return {};
}

}  // namespace

Result<Buffer> gunzip(std::span<const std::byte> file, std::size_t max_bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in 32 bits
  Inflater z;
  if (inflateInit2(&z.stream, 15 + 16) != Z_OK) return fail(Code::OutOfMemory, "zlib has no memory");
  Buffer out;
  std::size_t read = 0, written = 0;
  for (bool ended = false; !ended || read < file.size();) {
    if (ended) inflateReset(&z.stream);
    if (written == out.size()) {
      if (written >= max_bytes) return fail(Code::LimitExceeded, "gzip: more than {} bytes when unpacked", max_bytes);
      LOOM_TRY_VOID(resize(out, written, std::min(max_bytes, std::max({std::size_t{4096}, 4 * file.size(), 2 * written}))));
    }
    z.stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(file.data() + read));
    z.stream.avail_in = static_cast<uInt>(std::min(kStep, file.size() - read));
    z.stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    z.stream.avail_out = static_cast<uInt>(std::min(kStep, out.size() - written));
    const uInt in_before = z.stream.avail_in, out_before = z.stream.avail_out;
    const int status = inflate(&z.stream, Z_NO_FLUSH);
    read += in_before - z.stream.avail_in;
    written += out_before - z.stream.avail_out;
    ended = status == Z_STREAM_END;
    const bool stuck = in_before == z.stream.avail_in && out_before == z.stream.avail_out;
    if (!ended && (status != Z_OK || stuck))
      return fail(Code::CorruptData, "gzip: offset {}: {}", read, read == file.size() ? "the file ends early" : "the stream is damaged");
  }
  if (written != out.size()) LOOM_TRY_VOID(resize(out, written, written));
  return out;
}
#else
Result<Buffer> gunzip(std::span<const std::byte>, std::size_t) {
  return fail(Code::Unsupported, "the file is gzip'd and this build has no zlib: unpack it first, or build with zlib1g-dev installed");
}
#endif

}  // namespace loom
