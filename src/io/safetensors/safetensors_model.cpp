#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/safetensors/safetensors.h"

namespace loom {
namespace {

// weight_map of an index: tensor name -> file name.
Result<std::map<std::string, std::string>> read_index(const FileSet& files, std::string_view file) {
  const std::string path = files.place_of(file);
  LOOM_TRY(const std::string text, files.text(file, std::size_t{64} << 20));
  auto index = parse_json(text, {.max_depth = 8});
  if (!index) return at(path, index.error());
  const Json* map = find(*index, "weight_map");
  const auto* entries = map ? map->get_ptr<const Json::object_t*>() : nullptr;
  if (!entries || entries->empty())
    return fail(Code::CorruptData, "{}: no object weight_map with at least one tensor", path);
  std::map<std::string, std::string> shard_of;
  for (const auto& [name, file] : *entries) {
    if (!as_string(file)) return fail(Code::CorruptData, "{}: /weight_map/{} is no file name", path, printable(name));
    shard_of[name] = *as_string(file);
  }
  return shard_of;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

Result<SafetensorsModel> SafetensorsModel::open(const std::string& path) {
  if (is_directory(path)) return open(FileSet::folder(path));
  if (ends_with(path, ".json")) {
    const std::size_t slash = path.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
    return by_index(FileSet::folder(folder), slash == std::string::npos ? path : path.substr(slash + 1));
  }
  LOOM_TRY(auto source, ByteSource::file(path));
  return open(std::move(source));
}

Result<SafetensorsModel> SafetensorsModel::open(std::shared_ptr<const ByteSource> source) {
  LOOM_TRY(auto file, SafetensorsFile::parse(std::move(source)));
  return of_file(std::move(file));
}

Result<SafetensorsModel> SafetensorsModel::open(const FileSet& files) {
  constexpr std::string_view kSingle = "model.safetensors", kIndex = "model.safetensors.index.json";
  if (files.has(kSingle)) {
    LOOM_TRY(auto source, files.open(kSingle));
    LOOM_TRY(auto file, SafetensorsFile::parse(std::move(source)));
    return of_file(std::move(file));
  }
  if (files.has(kIndex)) return by_index(files, kIndex);
  return fail(Code::NotFound, "{}: expected {} or {}, found neither", files.name(), kSingle, kIndex);
}

SafetensorsModel SafetensorsModel::of_file(SafetensorsFile file) {
  SafetensorsModel model;
  model.files_.push_back(std::move(file));
  for (const SafeTensor& t : model.files_[0].tensors()) model.by_name_[t.name] = &t;
  return model;
}

Result<SafetensorsModel> SafetensorsModel::by_index(const FileSet& files, std::string_view name_of_index) {
  const std::string path = files.place_of(name_of_index);
  SafetensorsModel model;
  LOOM_TRY(const auto shard_of, read_index(files, name_of_index));
  std::map<std::string, std::size_t> position;
  for (const auto& [name, shard] : shard_of) position.emplace(shard, 0);
  model.files_.reserve(position.size());  // by_name_ points into the files
  for (auto& [shard, index] : position) {
    auto source = files.open_inside(shard);
    if (!source) return at(path, std::move(source).error());
    LOOM_TRY(auto file, SafetensorsFile::parse(*std::move(source)));
    index = model.files_.size();
    model.files_.push_back(std::move(file));
  }
  for (const auto& [name, shard] : shard_of) {
    const SafeTensor* t = model.files_[position[shard]].tensor(name);
    if (!t) return fail(Code::CorruptData, "{}: tensor \"{}\" is not in {}", path, printable(name), printable(shard));
    model.by_name_[name] = t;
  }
  return model;
}

std::vector<const SafeTensor*> SafetensorsModel::tensors() const {
  std::vector<const SafeTensor*> all;
  all.reserve(by_name_.size());
  for (const auto& [name, t] : by_name_) all.push_back(t);
  return all;
}

const SafeTensor* SafetensorsModel::tensor(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

}  // namespace loom
