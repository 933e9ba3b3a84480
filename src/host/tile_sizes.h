#pragma once
// How the kernels of a layer kind divide its work: facts about this program and an instruction set, which change no
// bit (numerics N-03).

#include <optional>
#include <string>
#include <string_view>

#include "backend/cpu/isa.h"
#include "core/json_fwd.h"
#include "dtypes/dtype.h"

namespace loom {

// The block that a kernel computes together: `rows` of x (positions of a convolution, queries of attention) by
// `outputs` (filters, positions of the cache).
struct TileSize {
  std::size_t rows = 1, outputs = 1;
};

struct TileSizes {
  std::string_view kind;
  DType dtype = DType::float32;
  Isa isa = Isa::scalar;
  TileSize cpu;
  // Of a workgroup on a graphics card: for a few rows (at most `few_rows`), and for many. Absent where the kind runs on
  // the CPU alone in that type.
  std::optional<TileSize> gpu_few, gpu_many;
  std::size_t few_rows = 0;
};

// `kind`: one that multiplies by weights (dense, swiglu, rnn, lstm, mha, cnn1, ...), or attention, the products of
// queries and keys. UnknownName lists them.
Result<TileSizes> tile_sizes(std::string_view kind, DType dtype, std::optional<Isa> isa = {});
Json to_json(const TileSizes& sizes);

}  // namespace loom
