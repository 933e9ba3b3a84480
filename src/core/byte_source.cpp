#include "core/byte_source.h"

#include <algorithm>
#include <utility>

namespace loom {

Result<std::shared_ptr<const ByteSource>> ByteSource::file(const std::string& path) { return part_of_file(path, 0); }

Result<std::shared_ptr<const ByteSource>> ByteSource::part_of_file(const std::string& path, std::uint64_t offset,
                                                                   std::uint64_t length) {
  LOOM_TRY(auto file, MappedFile::open(path));
  const std::span<const std::byte> all = file->bytes();
  if (offset > all.size())
    return fail(Code::OutOfRange, "{}: offset {} lies behind the {} bytes of the file", path, offset, all.size());
  if (length == kToTheEnd) length = all.size() - offset;
  if (length > all.size() - offset)
    return fail(Code::OutOfRange, "{}: {} bytes from offset {} on leave the {} bytes of the file", path, length, offset,
                all.size());
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = path;
  source->bytes_ = all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  source->file_ = std::move(file);
  return source;
}

std::shared_ptr<const ByteSource> ByteSource::memory(std::string name, std::span<const std::byte> bytes) {
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = std::move(name);
  source->bytes_ = bytes;
  return source;
}

Result<std::shared_ptr<const ByteSource>> ByteSource::read(std::string name, std::uint64_t size, const ReadAt& read) {
  if (size > SIZE_MAX) return fail(Code::OutOfMemory, "{}: {} bytes do not fit into memory", name, size);
  auto buffer = Buffer::create(static_cast<std::size_t>(size));
  if (!buffer) return at(name, std::move(buffer).error());
  for (std::size_t done = 0; done < buffer->size();) {
    const std::span<std::byte> rest = buffer->bytes().subspan(done);
    auto got = read(done, rest);
    if (!got) return at(name, std::move(got).error());
    if (*got > rest.size())
      return fail(Code::InvalidArgument, "{}: offset {}: the callback filled {} bytes, it was asked for {}", name, done,
                  *got, rest.size());
    if (*got == 0) return fail(Code::IoError, "{}: the callback ended after {} bytes, expected {}", name, done, size);
    done += *got;
  }
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = std::move(name);
  source->copy_ = std::move(*buffer);
  source->bytes_ = std::as_const(source->copy_).bytes();
  return source;
}

void ByteSource::release(std::span<const std::byte> part) const {
  if (file_) file_->release(part);
}

}  // namespace loom
