// A byte of options and any text as a CSV file: samples that can all be read, or an Error.

#include <cstdint>

#include "data/csv/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  if (size == 0) return 0;
  CsvOptions options;
  options.header = (data[0] & 1) == 0;
  options.targets = (data[0] & 2) == 0 ? TargetKind::classes : TargetKind::values;
  options.class_ids = (data[0] & 4) != 0;
  options.delimiter = (data[0] & 8) == 0 ? ',' : ';';
  const auto set = parse_csv({reinterpret_cast<const char*>(data + 1), size - 1}, "fuzz", Digest{}, options);
  if (!set) return 0;
  const DatasetInfo& about = (*set)->info();
  LOOM_ASSERT(about.samples * about.input.elements() <= size);
  std::vector<float> inputs(about.input.elements()), values(1);
  std::vector<std::int32_t> ids(1);
  for (std::uint32_t s = 0; s < about.samples; ++s) {
    LOOM_ASSERT((*set)->read(std::span(&s, 1), {inputs, ids, values}).has_value());
    LOOM_ASSERT(about.targets != TargetKind::classes ||
                (ids[0] >= 0 && static_cast<std::size_t>(ids[0]) < about.classes));
  }
  return 0;
}
