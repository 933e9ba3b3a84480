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
    return fail(Code::OutOfRange, "{}: offset {} is past the end of the file ({} bytes)", path, offset, all.size());
  if (length == kToTheEnd) length = all.size() - offset;
  if (length > all.size() - offset)
    return fail(Code::OutOfRange, "{}: {} bytes from offset {} on leave the {} bytes of the file", path, length, offset,
                all.size());
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = path;
  source->bytes_ = all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  source->size_ = source->bytes_.size();
  source->file_ = std::move(file);
  return source;
}

std::shared_ptr<const ByteSource> ByteSource::memory(std::string name, std::span<const std::byte> bytes) {
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = std::move(name);
  source->bytes_ = bytes;
  source->size_ = bytes.size();
  return source;
}

Result<void> ByteSource::ask(std::uint64_t offset, std::span<std::byte> to, const ReadAt& read) const {
  for (std::size_t done = 0; done < to.size();) {
    const std::span<std::byte> rest = to.subspan(done);
    const std::uint64_t place = offset + done;
    auto got = read(place, rest);
    if (!got) return at(name_, std::move(got).error());
    if (*got > rest.size())
      return fail(Code::InvalidArgument, "{}: offset {}: the callback filled {} bytes, it was asked for {}", name_,
                  place, *got, rest.size());
    if (*got == 0)
      return fail(Code::IoError, "{}: the callback ended after {} bytes, expected {}", name_, place, size_);
    done += *got;
  }
  return {};
}

Result<std::shared_ptr<const ByteSource>> ByteSource::read(std::string name, std::uint64_t size, const ReadAt& read) {
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = std::move(name);
  source->size_ = size;
  source->read_ = read;
  LOOM_TRY_VOID(source->fill(size));
  source->read_ = nullptr;
  return source;
}

std::shared_ptr<const ByteSource> ByteSource::on_demand(std::string name, std::uint64_t size, ReadAt read) {
  std::shared_ptr<ByteSource> source(new ByteSource);
  source->name_ = std::move(name);
  source->size_ = size;
  source->read_ = std::move(read);
  return source;
}

Result<void> ByteSource::fill(std::uint64_t bytes) const {
  bytes = std::min(bytes, size_);
  if (bytes <= bytes_.size()) return {};
  if (bytes > SIZE_MAX) return fail(Code::OutOfMemory, "{}: {} bytes do not fit into memory", name_, bytes);
  auto buffer = Buffer::create(static_cast<std::size_t>(bytes));
  if (!buffer) return at(name_, std::move(buffer).error());
  std::ranges::copy(bytes_, buffer->data());
  LOOM_TRY_VOID(ask(bytes_.size(), buffer->bytes().subspan(bytes_.size()), read_));
  copy_ = std::move(*buffer);
  bytes_ = std::as_const(copy_).bytes();
  return {};
}

Result<void> ByteSource::copy(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset > size_ || to.size() > size_ - offset)
    return fail(Code::OutOfRange, "{}: {} bytes from offset {} on leave its {} bytes", name_, to.size(), offset, size_);
  if (offset + to.size() > bytes_.size()) return ask(offset, to, read_);
  std::ranges::copy(bytes_.subspan(static_cast<std::size_t>(offset), to.size()), to.begin());
  return {};
}

void ByteSource::release(std::span<const std::byte> part) const {
  if (file_) file_->release(part);
}

}  // namespace loom
