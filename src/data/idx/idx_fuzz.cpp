// Any bytes as an IDX file: an array whose elements can all be read, or an Error.

#include <cstdint>

#include "data/idx/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  auto array = parse_idx({reinterpret_cast<const std::byte*>(data), size});
  if (!array) return 0;
  const RawArray labels = *array;
  const auto set = dataset_of(std::move(*array), labels, Digest{});
  if (!set) return 0;
  const DatasetInfo& about = (*set)->info();
  LOOM_ASSERT(about.samples * about.input.elements() <= size);
  std::vector<float> inputs(about.input.elements()), values(about.target.elements());
  std::vector<std::int32_t> ids(about.target.elements());
  const std::uint32_t last[] = {static_cast<std::uint32_t>(about.samples - 1)};
  const auto read = (*set)->read(last, {inputs, ids, values});
  LOOM_ASSERT(read || read.error().code == Code::NonFinite);
  for (const std::int32_t id : ids)
    LOOM_ASSERT(about.targets != TargetKind::classes || (id >= 0 && static_cast<std::size_t>(id) < about.classes));
  return 0;
}
