#include <algorithm>

#include "core/checked.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/safetensors/safetensors.h"
#include "io/safetensors/safetensors_limits.h"

namespace loom {

Result<void> SafetensorsWriter::add(std::string name, DType dtype, std::vector<std::size_t> shape,
                                    std::span<const std::byte> bytes, bool is_bool) {
  const std::string shown = printable(name);
  if (name.empty() || name == "__metadata__" || !is_utf8(name))
    return fail(Code::InvalidArgument, "\"{}\" is no name for a tensor", shown);
  if (tensors_.contains(name)) return fail(Code::InvalidArgument, "tensor \"{}\" was added before", shown);
  if (info(dtype).safetensors.empty() || (is_bool && dtype != DType::uint8))
    return fail(Code::Unsupported, "tensor \"{}\": safetensors has no type for {}", shown, loom::name(dtype));
  if (shape.size() > kMaxSafetensorsRank)
    return fail(Code::ShapeMismatch, "tensor \"{}\": {} axes, at most {}", shown, shape.size(), kMaxSafetensorsRank);
  std::size_t size = info(dtype).block_bytes;
  for (const std::size_t extent : shape) {
    LOOM_TRY(size, checked_mul(size, extent));
  }
  if (size != bytes.size())
    return fail(Code::ShapeMismatch, "tensor \"{}\": {} bytes, its shape needs {}", shown, bytes.size(), size);
  SafeTensor t{name, dtype, is_bool, std::move(shape), 0, bytes};
  tensors_.emplace(std::move(name), std::move(t));
  return {};
}

Result<void> SafetensorsWriter::give(const Sink& out) const {
  std::string header = "{";
  if (!metadata_.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata_) header += dump_json(Json(key)) + ":" + dump_json(Json(value)) + ",";
    header.back() = '}';
    header += ',';
  }
  std::size_t offset = 0;
  for (const auto& [name, t] : tensors_) {
    const std::size_t end = offset + t.bytes.size();
    std::string shape;
    for (const std::size_t extent : t.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", extent);
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}},", dump_json(Json(name)),
                          t.is_bool ? "BOOL" : info(t.dtype).safetensors, shape, offset, end);
    offset = end;
  }
  if (header.back() == ',') header.pop_back();
  header += '}';
  header.resize(round_up(header.size(), 8), ' ');  // the data starts at a multiple of 8
  if (header.size() > kMaxSafetensorsHeader)
    return fail(Code::LimitExceeded, "a header of {} bytes, at most {}", header.size(), kMaxSafetensorsHeader);
  std::byte length[8];
  store_le(length, static_cast<std::uint64_t>(header.size()));
  LOOM_TRY_VOID(out(length));
  LOOM_TRY_VOID(out(std::as_bytes(std::span(header))));
  for (const auto& [name, t] : tensors_) LOOM_TRY_VOID(out(t.bytes));
  return {};
}

Result<void> SafetensorsWriter::write(const std::string& path) const {
  LOOM_TRY(auto file, AtomicFile::create(path));
  if (auto given = give([&](std::span<const std::byte> bytes) { return file.write(bytes); }); !given)
    return given.error().code == Code::LimitExceeded ? at(path, std::move(given).error()) : std::move(given);
  return file.commit();
}

Result<std::vector<std::byte>> SafetensorsWriter::to_bytes() const {
  std::vector<std::byte> bytes;
  LOOM_TRY_VOID(give([&](std::span<const std::byte> part) -> Result<void> {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return {};
  }));
  return bytes;
}

}  // namespace loom
