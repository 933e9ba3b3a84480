#include "core/weight_memory.h"

#include <atomic>
#include <vector>

#include "core/hooks.h"
#include "core/system.h"

namespace loom {
namespace {

std::atomic<std::size_t> interleaved{0}, refused{0}, local{0};

}  // namespace

Result<Buffer> create_weight_buffer(std::size_t bytes) {
  static const std::vector<int> nodes = os::memory_nodes();
  return create_weight_buffer(bytes, nodes);
}

Result<Buffer> create_weight_buffer(std::size_t bytes, std::span<const int> nodes) {
  LOOM_TRY(Buffer out, Buffer::create(bytes));
  if (bytes < os::kHugePage) return out;
  if (nodes.size() < 2 || memory_hook() != nullptr)
    ++local;
  else
    ++(os::interleave_pages(out.data(), bytes, nodes) ? interleaved : refused);
  return out;
}

WeightPieces weight_pieces() { return {interleaved, refused, local}; }

}  // namespace loom
