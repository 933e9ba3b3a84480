#include "data/numpy/numpy_dataset.h"

#include "core/nearest.h"
#include "data/source.h"
#include "io/npy/npz.h"

namespace loom {
namespace {

RawArray raw_array(std::string name, NpyArray array) {
  auto kept = std::make_shared<NpyArray>(std::move(array));
  RawArray raw{std::move(name), kept->dtype, false, kept->shape, kept->bytes.bytes(), nullptr};
  raw.owner = std::move(kept);
  return raw;
}

Result<RawArray> array_of(const Source& source) {
  auto view = view_npy(source.bytes);
  if (!view) return at(source.path, std::move(view).error());
  if (!view->fortran_order)
    return RawArray{source.path, view->dtype, view->big_endian, std::move(view->shape), view->bytes, source.owner};
  auto array = parse_npy(source.bytes);
  if (!array) return at(source.path, std::move(array).error());
  return raw_array(source.path, std::move(*array));
}

Result<RawArray> take(std::map<std::string, NpyArray>& arrays, const std::string& path, const std::string& name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) {
    std::vector<std::string_view> known;
    known.reserve(arrays.size());
    for (const auto& [key, array] : arrays) known.push_back(key);
    return fail(Code::UnknownName, "{}: no array \"{}\"; the nearest: {}", path, printable(name),
                nearest_names(name, known));
  }
  return raw_array(path + ": " + name, std::move(found->second));
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_npy(const std::string& inputs, const std::string& targets,
                                          const ArrayOptions& options) {
  LOOM_TRY(const Source x, open_source(inputs));
  LOOM_TRY(const Source t, open_source(targets));
  LOOM_TRY(RawArray input, array_of(x));
  LOOM_TRY(RawArray target, array_of(t));
  return dataset_of(std::move(input), std::move(target), sha256_of({x.stored, t.stored}), options);
}

Result<std::unique_ptr<Dataset>> open_npz(const std::string& path, const std::string& inputs,
                                          const std::string& targets, const ArrayOptions& options) {
  if (inputs == targets)
    return fail(Code::InvalidConfig, "{}: inputs and targets are both \"{}\"", path, printable(inputs));
  LOOM_TRY(const Source source, open_source(path));
  auto arrays = parse_npz(source.bytes);
  if (!arrays) return at(path, std::move(arrays).error());
  LOOM_TRY(RawArray input, take(*arrays, path, inputs));
  LOOM_TRY(RawArray target, take(*arrays, path, targets));
  return dataset_of(std::move(input), std::move(target), sha256_of({source.stored}), options);
}

}  // namespace loom
