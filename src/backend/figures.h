#pragma once
// Small tensors that a pass leaves for the host: losses, norms, whether a step is fine. Ops write them in the pass,
// later ops of it may read them, and the host reads them after it.

#include "backend/exec.h"
#include "core/checked.h"

namespace loom {

class Figures {
 public:
  explicit Figures(Device* device = nullptr) : device_(device) {}

  // A tensor that lasts until clear(); its elements are to be written before they are read. OutOfMemory.
  Result<Tensor> take(std::size_t rows, std::size_t cols, Element element) {
    const std::size_t bytes = round_up(rows * cols * bytes_of(element), kAlignment);
    while (at_ < blocks_.size() && blocks_[at_].used + bytes > blocks_[at_].memory.size()) ++at_;
    if (at_ == blocks_.size()) {
      LOOM_TRY(Memory memory, Memory::create(device_, std::max(bytes, kBlock)));
      blocks_.push_back({std::move(memory), {}, 0});
    }
    Block& block = blocks_[at_];
    const Tensor tensor{block.memory.data() + block.used, rows, cols, element};
    block.used += bytes;
    return tensor;
  }
  void clear() {
    for (Block& block : blocks_) block.used = 0;
    at_ = 0;
  }

  // Brings the figures from the device. It is called after the pass and before at().
  void fetch() {
    if (device_ == nullptr) return;
    for (Block& block : blocks_) {
      block.here.resize(block.used);
      block.memory.read(0, block.here);
    }
  }
  // Element i of one of the tensors.
  double at(const ConstTensor& tensor, std::size_t i = 0) const {
    if (device_ == nullptr) return read_element(tensor, i);
    const auto* const data = static_cast<const std::byte*>(tensor.data);
    for (const Block& block : blocks_)
      if (data >= block.memory.data() && data < block.memory.data() + block.here.size())
        return read_element(
            {block.here.data() + (data - block.memory.data()), tensor.rows, tensor.cols, tensor.element}, i);
    LOOM_ASSERT(false);
    return 0;
  }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const Block& block : blocks_) bytes += block.memory.size();
    return bytes;
  }

 private:
  static constexpr std::size_t kBlock = 1 << 16, kAlignment = sizeof(double);
  struct Block {
    Memory memory;
    std::vector<std::byte> here;  // on a device: what fetch() read
    std::size_t used = 0;
  };
  Device* device_;
  std::vector<Block> blocks_;
  std::size_t at_ = 0;
};

}  // namespace loom
