#include "data/source.h"

namespace loom {
namespace {

struct Kept {
  std::shared_ptr<const MappedFile> file;
  Buffer unpacked;
};

}  // namespace

Result<Source> open_source(const std::string& path, std::size_t max_unpacked) {
  LOOM_TRY(auto file, MappedFile::open(path));
  auto kept = std::make_shared<Kept>();
  kept->file = std::move(file);
  Source source{path, kept->file->bytes(), kept->file->bytes(), nullptr};
  if (source.stored.size() >= 2 && source.stored[0] == std::byte{0x1f} && source.stored[1] == std::byte{0x8b}) {
    auto unpacked = gunzip(source.stored, max_unpacked);
    if (!unpacked) return at(path, std::move(unpacked).error());
    kept->unpacked = std::move(*unpacked);
    source.bytes = kept->unpacked.bytes();
  }
  source.owner = std::move(kept);
  return source;
}

Digest sha256_of(std::initializer_list<std::span<const std::byte>> parts) {
  Sha256 hash;
  for (const auto part : parts) hash.update(part);
  return hash.finish();
}

}  // namespace loom
