#pragma once
// The context an op runs in: the kernels of one target, the threads, and scratch memory that was planned beforehand.
// Ops allocate nothing; errors that depend on values (an id outside the table, a cancel) are left in `status`.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/arena.h"
#include "backend/cpu/isa.h"
#include "backend/device.h"
#include "backend/element.h"
#include "backend/tensor.h"
#include "core/error.h"
#include "core/thread_pool.h"

namespace loom {

struct KernelTable;  // ops/all.h

// Type that the inputs of block-quantised weights are rounded to, in blocks of 32: with int16 only the rounding of the
// weights shows in an answer; int8 halves the arithmetic, which long prompts feel.
enum class Activations : std::uint8_t { int8, int16 };

struct Exec {
  ThreadPool& pool;
  const KernelTable& kernels;
  Arena& arena;                               // activations and op scratch; a layer rewinds what it took
  const std::atomic<bool>* cancel = nullptr;  // read between cells
  Activations activations = Activations::int16;
  mutable std::optional<Error> status{};  // first error of this pass

  // Returns whether the pass plans memory: ops take the memory that they need and compute nothing, and layers may leave
  // out ops that take none.
  bool rehearsal() const { return arena.measures(); }
  // Returns whether kernels of the host may read and write tensors: neither in a rehearsal nor on a device.
  bool computes() const {
    if (arena.measures()) return false;
    if (arena.device() == nullptr) return true;
    if (records() && !status) status = Error{Code::Unsupported, "an operation has no form for graphics cards yet"};
    return false;
  }
  // Returns whether ops record their work on a device in place of computing it, in a rehearsal too.
  bool records() const { return arena.device() != nullptr && arena.device()->records(); }
  // The recorder of forms of ops; null where records() is false.
  gpu::GpuDevice* gpu() const { return arena.device() == nullptr ? nullptr : arena.device()->gpu(); }
  // Like pool.run(), for work that is left out where computes() is false.
  template <class F>
  void run(std::size_t parts, F&& body) const {
    if (computes()) pool.run(parts, static_cast<F&&>(body));
  }
};

}  // namespace loom
