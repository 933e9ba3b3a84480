#include "data/pairs/pairs.h"

#include <algorithm>

#include "data/array_dataset.h"
#include "data/csv/csv.h"
#include "data/source.h"

namespace loom {
namespace {

RawArray column_of(const std::string& name, std::vector<float> values) {
  const auto owned = std::make_shared<const std::vector<float>>(std::move(values));
  RawArray array;
  array.name = name;
  array.shape = {owned->size(), 1};
  array.bytes = std::as_bytes(std::span(*owned));
  array.owner = owned;
  return array;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_pairs(const std::string& path) {
  LOOM_TRY(const Source source, open_source(path));
  std::string_view rest(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  std::vector<float> inputs, targets;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    const auto x = parse_number(line.substr(0, space));
    const auto y = space == line.npos ? std::nullopt : parse_number(line.substr(space + 1));
    if (!x || !y)
      return fail(Code::CorruptData, "{}: line {}: expected two numbers and a space", path, inputs.size() + 1);
    inputs.push_back(static_cast<float>(*x));
    targets.push_back(static_cast<float>(*y));
  }
  return dataset_of(column_of(path, std::move(inputs)), column_of(path, std::move(targets)), sha256_of({source.stored}),
                    {.targets = TargetKind::values});
}

}  // namespace loom
