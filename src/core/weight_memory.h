#pragma once
// Memory for weights. Every thread reads all over them, so on a machine with several memory nodes their pages are
// distributed over the nodes: each memory controller then serves its share.

#include <cstddef>
#include <span>

#include "core/buffer.h"
#include "core/error.h"

namespace loom {

// Like Buffer::create(), distributed over the process's memory nodes where it has several. Memory of the host and
// pieces below 2 MiB stay where the system puts them.
Result<Buffer> create_weight_buffer(std::size_t bytes);
Result<Buffer> create_weight_buffer(std::size_t bytes, std::span<const int> nodes);

// Pieces of weights of this process from 2 MiB on: those that were distributed, those for which the system refused
// that, and those that need no distribution.
struct WeightPieces {
  std::size_t interleaved = 0, refused = 0, local = 0;
};
WeightPieces weight_pieces();

}  // namespace loom
