#include "data/idx/idx.h"

#include <algorithm>

#include "core/checked.h"
#include "data/source.h"
#include "io/byte_reader.h"

namespace loom {
namespace {

struct IdxType {
  std::uint8_t code;
  DType dtype;
};
constexpr IdxType kIdxTypes[] = {{0x08, DType::uint8}, {0x09, DType::int8},    {0x0b, DType::int16},
                                 {0x0c, DType::int32}, {0x0d, DType::float32}, {0x0e, DType::float64}};

Result<RawArray> idx_array(const Source& source) {
  auto array = parse_idx(source.bytes);
  if (!array) return at(source.path, std::move(array).error());
  array->name = source.path;
  array->owner = source.owner;
  return array;
}

}  // namespace

Result<RawArray> parse_idx(std::span<const std::byte> file) {
  ByteReader in(file);
  LOOM_TRY(const auto magic, in.take(4, "the magic"));
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0})
    return fail(Code::CorruptData, "offset 0: no IDX file: it starts with two zero bytes");
  const auto code = std::to_integer<std::uint8_t>(magic[2]);
  const auto* type = std::ranges::find(kIdxTypes, code, &IdxType::code);
  if (type == std::end(kIdxTypes))
    return fail(Code::CorruptData, "offset 2: element type 0x{:02x} is none of IDX: 08, 09, 0b, 0c, 0d, 0e", code);
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  if (rank == 0) return fail(Code::CorruptData, "offset 3: no axes");
  if (rank > Shape::kMaxRank)
    return fail(Code::Unsupported, "offset 3: {} axes, at most {} are read", rank, Shape::kMaxRank);
  RawArray array{.name = {}, .dtype = type->dtype, .big_endian = true, .shape = {}, .bytes = {}, .owner = {}};
  std::size_t size = info(type->dtype).block_bytes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    LOOM_TRY(const auto extent, in.take(4, "an extent"));
    array.shape.push_back(std::to_integer<std::size_t>(extent[0]) << 24 |
                          std::to_integer<std::size_t>(extent[1]) << 16 | std::to_integer<std::size_t>(extent[2]) << 8 |
                          std::to_integer<std::size_t>(extent[3]));
    LOOM_TRY(size, checked_mul(size, array.shape.back()));
  }
  if (size != in.left())
    return fail(Code::CorruptData, "offset {}: {} bytes of data, shape and type need {}", in.offset(), in.left(), size);
  array.bytes = file.subspan(in.offset());
  return array;
}

Result<std::unique_ptr<Dataset>> open_idx(const std::string& inputs, const std::string& targets,
                                          const ArrayOptions& options) {
  LOOM_TRY(const Source x, open_source(inputs));
  LOOM_TRY(const Source t, open_source(targets));
  LOOM_TRY(RawArray input, idx_array(x));
  LOOM_TRY(RawArray target, idx_array(t));
  return dataset_of(std::move(input), std::move(target), sha256_of({x.stored, t.stored}), options);
}

}  // namespace loom
