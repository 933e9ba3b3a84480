#pragma once
// The tensors of an .entity file: section "tensors", canonical JSON [{path, weight, role, dtype, shape, granularity,
// group_size, offset, length, scales {dtype, offset, length}, zeros {..}}], and section "weights", their blobs at
// multiples of 64 (engine F-31). Tensors are in order of path, weight and role; blobs in the order of tensors: codes,
// scales, zero points; offsets count from the start of the section. granularity, scales and zeros are given where the
// type has them, group_size where scales are by group. Large weights are cut into sections "weights" 0, 1, 2.. of equal
// lengths, except the last one. They follow one another without gaps: offsets count from the start of the first as if
// they were one. Each has its hash, so that threads share the work of checking them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/shape.h"
#include "dtypes/packing.h"
#include "io/entity/entity.h"

namespace loom {

// Role of a tensor in its cell: the weight in the active type, the exact master beside it (float32 or float64), a part
// of an adapter, a feedback matrix of target propagation.
enum class EntityRole : std::uint8_t { Active, Adapter, Feedback, Master };  // in order of their names in files

struct EntityTensor {
  std::string path;    // of the cell
  std::string weight;  // of that cell
  EntityRole role = EntityRole::Active;
  DType dtype = DType::float32;
  Shape shape;
  ScaleSpan span;  // resolved; without meaning for types without scales
  // Canonical packing (dtypes/packing.h). A reader's point into the file.
  std::span<const std::byte> codes, scales, zeros;
  // For writing, in place of `codes`: makes them when their turn has come, so that no second copy of a model has to fit
  // in memory.
  std::function<Result<std::vector<std::byte>>()> make_codes = nullptr;

  // As a matrix: one row per index of the first axis; a vector is one row.
  std::size_t rows() const { return shape.rank() == 1 ? 1 : shape[0]; }
  std::size_t cols() const { return shape.elements() / rows(); }
  // Codes, scales and zero points of one of the 21 types; errors of unpack() with the tensor's name.
  Result<QuantizedMatrix> quantized() const;
};

// Parses the two sections. CorruptData, UnknownName, UnknownKey, ShapeMismatch, SizeOverflow with the JSON pointer:
// unknown names and keys, sizes that are not those of shape and type, blobs that overlap, leave the section or are not
// in order, tensors that are not in order or appear twice. Codes are checked by quantized() alone.
Result<std::vector<EntityTensor>> parse_entity_tensors(std::string_view json, std::span<const std::byte> weights);
// The tensors of a file; the spans live as long as the reader's bytes. A file without tensors has neither section.
// With Later the caller checks their bytes before the first use (EntityReader::check).
enum class CheckWeights : std::uint8_t { Now, Later };
Result<std::vector<EntityTensor>> read_entity_tensors(const EntityReader& file, CheckWeights check = CheckWeights::Now);

// Sorts the tensors and adds the sections, those of weights of at most `section_bytes`, a multiple of 4096. The caller
// keeps the spans alive until the last write. InvalidArgument for a name that is empty or no UTF-8, two tensors of one
// path, weight and role, a span that is not resolved; ShapeMismatch for sizes.
Result<void> add_entity_tensors(EntityWriter& file, std::vector<EntityTensor> tensors,
                                std::uint64_t section_bytes = std::uint64_t{1} << 60);

}  // namespace loom
