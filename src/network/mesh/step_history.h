#pragma once
// The last ticks of a StepState, as a ring of slots. A slot holds the state at the beginning of its tick: which cells
// held a value, the inputs of those that ran, recurrent states and the memories of metacognition layers. The ring has
// one slot more than it keeps ticks, so that the pending tick drops none.

#include <algorithm>
#include <vector>

#include "backend/device.h"
#include "core/checked.h"
#include "layers/layer.h"

namespace loom {

class StepHistory {
 public:
  struct Tick {
    std::uint64_t step = 0;
    bool training = false;
  };

  // A ring that keeps so many ticks of a grid of `cells`; 0 makes one without slots. `metas` are those of a state at
  // its start, empty where no layer has any. SizeOverflow, OutOfMemory.
  static Result<StepHistory> create(Device* device, std::size_t kept, std::size_t slot_bytes, std::size_t cells,
                                    const std::vector<MetaState>& metas) {
    StepHistory h;
    const std::size_t slots = kept == 0 ? 0 : kept + 1;
    LOOM_TRY(const std::size_t bytes, checked_mul(slots, slot_bytes));
    LOOM_TRY(h.memory_, Memory::create(device, bytes, true));
    h.base_ = h.memory_.data(), h.slot_bytes_ = slot_bytes, h.cells_ = cells;
    LOOM_TRY(h.held_, Buffer::create_sparse(slots * (cells + 1)));
    if (!metas.empty()) h.metas_.assign(slots, metas);
    h.ticks_.resize(slots);
    h.clear();
    return h;
  }

  // Number of captured ticks that are available, without a gap up to the last one.
  std::size_t count() const { return count_; }
  // The newest slot holds the last tick, captured or not.
  bool is_kept() const { return kept_; }
  // Slots that hold something of the ticks so far; the slot of the pending tick comes on top.
  std::size_t used() const { return count_ != 0 ? count_ : kept_ ? 1 : 0; }
  // Index of the slot of the tick `back` ticks ago (0 is the last one), and of the tick to come.
  std::size_t index(std::size_t back) const { return (newest_ + ticks_.size() - back) % ticks_.size(); }
  std::size_t next() const { return (newest_ + 1) % ticks_.size(); }

  Tick& tick(std::size_t index) { return ticks_[index]; }
  const Tick& tick(std::size_t index) const { return ticks_[index]; }
  std::byte* slot(std::size_t index) const { return base_ + index * slot_bytes_; }
  // By cell, and last for the port: whether it held a value when the tick began.
  std::uint8_t* held(std::size_t index) const {
    return reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(held_.data())) + index * (cells_ + 1);
  }
  bool has_metas() const { return !metas_.empty(); }
  std::vector<MetaState>& metas(std::size_t index) { return metas_[index]; }
  const std::vector<MetaState>& metas(std::size_t index) const { return metas_[index]; }

  void clear() {
    count_ = 0, kept_ = false;
    newest_ = ticks_.empty() ? 0 : ticks_.size() - 1;
  }
  // Makes the pending tick the last one. A tick that was not captured ends the run of captured ones, of which at most
  // `most` count; `kept`: its slot was written.
  void advance(bool captured, bool kept, std::size_t most) {
    kept_ = kept;
    if (kept_) newest_ = next();
    count_ = captured ? std::min(count_ + 1, most) : 0;
  }
  // Sets the counts that a snapshot holds; its slots are read from the first one on.
  void set_counts(std::size_t count, bool kept) {
    count_ = count, kept_ = kept || count != 0;
    newest_ = used() == 0 ? newest_ : used() - 1;
  }
  // Becomes a copy of another ring of the same mesh, the slot of its pending tick included if that was written.
  void copy(const StepHistory& from, bool pending_slot) {
    const std::size_t slots = from.used() + (pending_slot ? 1 : 0), last = from.newest_ + (pending_slot ? 1 : 0);
    for (std::size_t b = 0; b < slots; ++b) {
      const std::size_t index = (last + ticks_.size() - b) % ticks_.size();
      memory_.copy(index * slot_bytes_, from.memory_, index * slot_bytes_, slot_bytes_);
      std::copy_n(from.held(index), cells_ + 1, held(index));
      if (has_metas()) metas_[index] = from.metas_[index];
    }
    ticks_ = from.ticks_, newest_ = from.newest_, count_ = from.count_, kept_ = from.kept_;
  }

  // The memory of all slots. look_at() sets the address at which slot() finds them: that memory, or a copy of it on the
  // host.
  Memory& memory() { return memory_; }
  void look_at(std::byte* base) { base_ = base; }

 private:
  Memory memory_;
  std::byte* base_ = nullptr;
  Buffer held_;
  std::size_t slot_bytes_ = 0, cells_ = 0;
  std::vector<Tick> ticks_;
  std::vector<std::vector<MetaState>> metas_;  // by slot
  std::size_t newest_ = 0, count_ = 0;
  bool kept_ = false;
};

}  // namespace loom
