#include <algorithm>

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

// Into `out`, or counted alone where it is empty: the number of bytes that the members hold.
Result<std::size_t> unpack(std::span<const std::byte> file, std::span<std::byte> out, std::size_t max_bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in 32 bits
  Inflater z;
  if (inflateInit2(&z.stream, 15 + 16) != Z_OK) return fail(Code::OutOfMemory, "zlib has no memory");
  std::byte scratch[32768];
  std::size_t read = 0, written = 0;
  for (bool ended = false; !ended || read < file.size();) {
    if (ended) inflateReset(&z.stream);
    const std::span<std::byte> room = out.empty() ? std::span<std::byte>(scratch) : out.subspan(written);
    z.stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(file.data() + read));
    z.stream.avail_in = static_cast<uInt>(std::min(kStep, file.size() - read));
    z.stream.next_out = reinterpret_cast<Bytef*>(room.data());
    z.stream.avail_out = static_cast<uInt>(std::min(kStep, room.size()));
    const uInt in_before = z.stream.avail_in, out_before = z.stream.avail_out;
    const int status = inflate(&z.stream, Z_NO_FLUSH);
    read += in_before - z.stream.avail_in;
    written += out_before - z.stream.avail_out;
    if (written > max_bytes) return fail(Code::LimitExceeded, "gzip: more than {} bytes when unpacked", max_bytes);
    ended = status == Z_STREAM_END;
    const bool stuck = in_before == z.stream.avail_in && out_before == z.stream.avail_out;
    if (!ended && (status != Z_OK || stuck))
      return fail(Code::CorruptData, "gzip: offset {}: {}", read,
                  read == file.size() ? "the file ends early" : "the stream is damaged");
  }
  return written;
}

}  // namespace

// Decompresses twice: the first pass finds the size, so that no more memory is taken than the bytes need. A growing
// buffer would hold the old and the new bytes at once.
Result<Buffer> gunzip(std::span<const std::byte> file, std::size_t max_bytes) {
  LOOM_TRY(const std::size_t size, unpack(file, {}, max_bytes));
  LOOM_TRY(Buffer out, Buffer::create(size));
  if (size == 0) return out;
  LOOM_TRY(const std::size_t written, unpack(file, out.bytes(), max_bytes));
  if (written != size) return fail(Code::CorruptData, "gzip: the file changed while it was read");
  return out;
}
#else
Result<Buffer> gunzip(std::span<const std::byte>, std::size_t) {
  return fail(Code::Unsupported,
              "the file is gzip'd and this build has no zlib: unpack it first, or build with zlib1g-dev installed");
}
#endif

}  // namespace loom
