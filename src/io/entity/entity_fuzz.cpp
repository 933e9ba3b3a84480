// Any bytes as an .entity file, as they are and with their hashes made right: sections and tensors inside the file,
// which come back from a rewrite, or an Error.

#include <cstdint>

#include "io/entity/entity.h"
#include "io/entity/entity_reseal.h"
#include "io/entity/entity_tensors.h"

namespace {

void check_tensors(const loom::EntityReader& file) {
  using namespace loom;
  const auto tensors = read_entity_tensors(file);
  if (!tensors) return;
  for (const EntityTensor& t : *tensors) (void)t.quantized();
  EntityWriter first, second;
  LOOM_ASSERT(add_entity_tensors(first, *tensors).has_value());
  const auto bytes = first.to_bytes();
  LOOM_ASSERT(bytes.has_value());
  const auto reader = EntityReader::parse(*bytes);
  LOOM_ASSERT(reader && reader->verify());
  const auto again = read_entity_tensors(*reader);
  LOOM_ASSERT(again && again->size() == tensors->size());
  LOOM_ASSERT(add_entity_tensors(second, *again).has_value());
  LOOM_ASSERT(*second.to_bytes() == *bytes);
}

void check(std::span<const std::byte> bytes) {
  using namespace loom;
  const auto file = EntityReader::parse(bytes);
  if (!file) return;
  for (const EntitySection& s : file->sections()) {
    const auto part = file->section(s.kind, s.index);
    LOOM_ASSERT(!part || part->empty() ||
                (part->data() >= bytes.data() && part->data() + part->size() <= bytes.data() + bytes.size()));
  }
  check_tensors(*file);
  if (!file->verify()) return;
  EntityWriter writer;
  LOOM_ASSERT(writer.add_all(*file).has_value());
  const auto copy = writer.to_bytes();
  LOOM_ASSERT(copy.has_value());
  const auto reader = EntityReader::parse(*copy);
  LOOM_ASSERT(reader && reader->verify() && reader->sections().size() == file->sections().size());
  EntityWriter again;
  LOOM_ASSERT(again.add_all(*reader).has_value());
  LOOM_ASSERT(*again.to_bytes() == *copy);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  check({bytes, size});
  std::vector<std::byte> sealed(bytes, bytes + size);
  loom::reseal(sealed);
  check(sealed);
  return 0;
}
