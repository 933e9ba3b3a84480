#pragma once
// A session's memory of one metacognition layer: figures of its last outputs, when its rules last fired, and the
// changes they asked for.

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "backend/device.h"
#include "core/shape.h"
#include "ops/statistics/statistics.h"

namespace loom {

class Metacognition;

struct MetaState {
  static constexpr std::size_t kHistory = 100, kMaxRules = 64;

  // of the observed layer's output; call c stands at (c - 1) mod kHistory
  std::array<TensorStats, kHistory> history{};
  std::uint64_t calls = 0;
  std::array<std::uint64_t, kMaxRules> spoke{};  // the call in which a rule last held and had cooled down; 0: never
  std::bitset<kMaxRules> queued;                 // rules whose commands wait for commit_meta()
  Shape input, output;                           // of the observed layer in the last call
  std::uint32_t site = 0;                        // of the layer
  bool planned = false;
  // Figures of the layer's input and of its observed layer's output in the call at hand, in memory of that many
  // elements, and the layer, whose rules look at them when the pass has ended (hear()); null: they have.
  double figures[2][TensorStats::kCount] = {};
  Element element = Element::f32;
  const Metacognition* layer = nullptr;
  // Where the pass leaves them, if it runs on a device. They are of one call, so that copies of a state have their own.
  struct Place {
    Memory memory;
    Place() = default;
    Place(const Place&) {}
    Place& operator=(const Place&) { return *this; }
  } place;

  // Before a pass writes them. OutOfMemory.
  Result<void> put_figures_on(Device* device) {
    if (device == nullptr || place.memory.device() == device) return {};
    LOOM_TRY(place.memory, Memory::create(device, sizeof(figures)));
    return {};
  }
  // When it has ended.
  void fetch_figures() {
    if (place.memory.device() != nullptr) place.memory.read(0, std::as_writable_bytes(std::span(figures)));
  }
  // In the pass, and for the host.
  Tensor written_figures(std::size_t i) {
    const bool here = place.memory.device() == nullptr;
    return {here ? static_cast<void*>(figures[i]) : place.memory.data() + i * sizeof(figures[0]), 1,
            TensorStats::kCount, element};
  }
  ConstTensor figures_of(std::size_t i) const { return {figures[i], 1, TensorStats::kCount, element}; }
  std::size_t remembered() const { return calls < kHistory ? static_cast<std::size_t>(calls) : kHistory; }
  // The entry `back` calls ago; 0 is the last one. back < remembered().
  const TensorStats& before(std::size_t back) const {
    return history[static_cast<std::size_t>((calls - 1 - back) % kHistory)];
  }
};

}  // namespace loom
