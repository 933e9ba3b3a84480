#pragma once
// What an op needs to run: the kernels of one target, the threads, and scratch memory that was planned beforehand. Ops allocate
// nothing; what only values can show (an id outside the table, a cancel) they leave in `status`.

#include <atomic>
#include <cstddef>
#include <optional>

#include "backend/cpu/isa.h"
#include "core/buffer.h"
#include "core/error.h"
#include "core/thread_pool.h"

namespace loom {

struct KernelTable;  // ops/all.h

// Row-major f32: rows are everything but the last axis.
struct ConstTensor {
  const float* data = nullptr;
  std::size_t rows = 0, cols = 0;
  const float* row(std::size_t r) const { return data + r * cols; }
};
struct Tensor {
  float* data = nullptr;
  std::size_t rows = 0, cols = 0;
  float* row(std::size_t r) const { return data + r * cols; }
  operator ConstTensor() const { return {data, rows, cols}; }
};

// Memory handed out front to back and taken back all at once.
class Arena {
 public:
  static Result<Arena> create(std::size_t bytes) {
    Arena a;
    LOOM_TRY(a.memory_, Buffer::create(bytes));
    return a;
  }
  template <class T>
  T* take(std::size_t count) {
    const std::size_t begin = (used_ + 63) / 64 * 64;
    LOOM_ASSERT(count * sizeof(T) <= memory_.size() && begin <= memory_.size() - count * sizeof(T));
    used_ = begin + count * sizeof(T);
    return reinterpret_cast<T*>(memory_.data() + begin);
  }
  Tensor tensor(std::size_t rows, std::size_t cols) { return {take<float>(rows * cols), rows, cols}; }
  std::size_t used() const { return used_; }
  void rewind(std::size_t used) { used_ = used; }
  std::size_t size() const { return memory_.size(); }

 private:
  Buffer memory_;
  std::size_t used_ = 0;
};

// What the inputs of block-quantised weights are rounded to, per 32 of them: int16 leaves the weights' own rounding as the only one
// that shows in an answer; int8 halves the arithmetic, which long prompts feel.
enum class Activations : std::uint8_t { int8, int16 };

struct Exec {
  ThreadPool& pool;
  const KernelTable& kernels;
  Arena& arena;                                // activations and op scratch; a layer rewinds what it took
  const std::atomic<bool>* cancel = nullptr;   // read between cells
  Activations activations = Activations::int16;
  mutable std::optional<Error> status{};       // first error of this sweep
};

// Gives back on scope exit what was taken from the arena inside.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), used_(arena.used()) {}
  ~ArenaScope() { arena_.rewind(used_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  std::size_t used_;
};

}  // namespace loom
