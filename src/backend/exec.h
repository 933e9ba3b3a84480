#pragma once
// What an op needs to run: the kernels of one target, the threads, and scratch memory that was planned beforehand. Ops allocate
// nothing; what only values can show (an id outside the table, a cancel) they leave in `status`.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/cpu/isa.h"
#include "core/buffer.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/thread_pool.h"

namespace loom {

struct KernelTable;  // ops/all.h

// What tensors of activations and gradients hold: f64 is for checks and for networks that ask for it.
enum class Element : std::uint8_t { f32, f64 };
template <class T>
inline constexpr Element element_of = sizeof(T) == 8 ? Element::f64 : Element::f32;
constexpr std::size_t bytes_of(Element e) { return e == Element::f64 ? 8 : 4; }

// Calls f<T>() with the type of the elements.
template <class F>
decltype(auto) with_element(Element e, F&& f) {
  return e == Element::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

// One table of kernels per element type.
template <template <class> class Kernels>
struct PerElement {
  Kernels<float> f32;
  Kernels<double> f64;
  template <class T>
  const Kernels<T>& of() const {
    if constexpr (sizeof(T) == 8)
      return f64;
    else
      return f32;
  }
};

// Row-major: rows are everything but the last axis.
struct ConstTensor {
  const void* data = nullptr;
  std::size_t rows = 0, cols = 0;
  Element element = Element::f32;

  template <class T = float>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  template <class T = float>
  const T* row(std::size_t r) const {
    return as<T>() + r * cols;
  }
};
struct Tensor {
  void* data = nullptr;
  std::size_t rows = 0, cols = 0;
  Element element = Element::f32;

  template <class T = float>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <class T = float>
  T* row(std::size_t r) const {
    return as<T>() + r * cols;
  }
  operator ConstTensor() const { return {data, rows, cols, element}; }
  std::size_t bytes() const { return rows * cols * bytes_of(element); }
};

// The same with all axes, as layers pass them; ops that work on features see rows.
struct ConstView {
  const void* data = nullptr;
  Shape shape;
  Element element = Element::f32;
  operator ConstTensor() const { return {data, shape.rows(), shape.cols(), element}; }
  template <class T = float>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};
struct View {
  void* data = nullptr;
  Shape shape;
  Element element = Element::f32;
  operator Tensor() const { return {data, shape.rows(), shape.cols(), element}; }
  operator ConstTensor() const { return {data, shape.rows(), shape.cols(), element}; }
  operator ConstView() const { return {data, shape, element}; }
  template <class T = float>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::size_t bytes() const { return shape.elements() * bytes_of(element); }
};

// Memory handed out front to back and taken back all at once. A measuring arena has none: it hands out addresses that nobody may
// read, and tells how far they went. So a pass is planned by rehearsing it (Exec::rehearsal).
class Arena {
 public:
  static Result<Arena> create(std::size_t bytes) {
    Arena a;
    LOOM_TRY(a.memory_, Buffer::create(bytes));
    a.base_ = a.memory_.data();
    a.size_ = a.memory_.size();
    return a;
  }
  static Arena measuring() {
    Arena a;
    a.base_ = reinterpret_cast<std::byte*>(std::uintptr_t{64});
    a.size_ = ~std::size_t{0} / 2 - 128;
    a.measures_ = true;
    return a;
  }

  template <class T>
  T* take(std::size_t count) {
    const std::size_t begin = (used_ + 63) / 64 * 64;
    LOOM_ASSERT(begin <= size_ && count <= (size_ - begin) / sizeof(T));
    used_ = begin + count * sizeof(T);
    peak_ = used_ > peak_ ? used_ : peak_;
    return reinterpret_cast<T*>(base_ + begin);
  }
  Tensor tensor(std::size_t rows, std::size_t cols, Element element = Element::f32) {
    return {take<std::byte>(rows * cols * bytes_of(element)), rows, cols, element};
  }
  View view(const Shape& shape, Element element) { return {take<std::byte>(shape.elements() * bytes_of(element)), shape, element}; }
  std::size_t used() const { return used_; }
  void rewind(std::size_t used) { used_ = used; }
  std::size_t size() const { return size_; }
  bool measures() const { return measures_; }
  std::size_t peak() const { return peak_; }

 private:
  Buffer memory_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0, used_ = 0, peak_ = 0;
  bool measures_ = false;
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

  // Ops take what memory they need and compute nothing.
  bool rehearsal() const { return arena.measures(); }
  // pool.run(), unless this is a rehearsal: what ops share out goes through here.
  template <class F>
  void run(std::size_t parts, F&& body) const {
    if (!rehearsal()) pool.run(parts, static_cast<F&&>(body));
  }
};

// Gives back on scope exit what was taken from the arena inside, unless it is kept for a backward pass.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena, bool keep = false) : arena_(arena), used_(arena.used()), keep_(keep) {}
  ~ArenaScope() {
    if (!keep_) arena_.rewind(used_);
  }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  std::size_t used_;
  bool keep_;
};

}  // namespace loom
