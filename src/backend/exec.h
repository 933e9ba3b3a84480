#pragma once
// The context an op runs in: the kernels of one target, the threads, and scratch memory that was planned beforehand.
// Ops allocate nothing; errors that depend on values (an id outside the table, a cancel) are left in `status`.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/device.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/thread_pool.h"

namespace loom {

struct KernelTable;  // ops/all.h

// Element type of activation and gradient tensors: f64 is for checks and for networks that ask for it.
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

// Element i of a tensor of figures, for the host: at the end of a pass, never inside one.
inline double read_element(const ConstTensor& tensor, std::size_t i = 0) {
  return with_element(tensor.element, [&]<class T>() { return static_cast<double>(tensor.as<T>()[i]); });
}

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

// Bump allocator: memory is handed out front to back and taken back all at once. A measuring arena has no memory: it
// hands out addresses that must not be read, and records how far they went, so a pass is planned by rehearsing it
// (Exec::rehearsal). Tensors and scratch of kernels come from take(); data that only the host reads and writes (lists
// of views, tables of offsets) from note(), so that take() may hand out device memory that the host cannot touch.
class Arena {
 public:
  struct Mark {
    std::size_t tensors = 0, notes = 0;
    std::size_t bytes() const { return tensors + notes; }
    // Room for either of two, not for both at once.
    Mark max(const Mark& other) const { return {std::max(tensors, other.tensors), std::max(notes, other.notes)}; }
    Mark plus(std::size_t more) const { return {tensors + more, notes}; }
  };

  Arena() = default;
  // Makes an arena without memory; plan_scratch() (backend/rehearsal.h) gives it some.
  explicit Arena(Device* device) : device_(device) {}
  // As much of either as `bytes` says: memory that nobody writes is not resident. Tensors lie on the device, notes
  // always on this computer.
  static Result<Arena> create(std::size_t bytes, Device* device = nullptr) {
    return create(Mark{bytes, bytes}, device);
  }
  static Result<Arena> create(const Mark& bytes, Device* device = nullptr) {
    Arena a(device);
    LOOM_TRY_VOID(a.tensors_.reserve(device, bytes.tensors));
    LOOM_TRY_VOID(a.notes_.reserve(nullptr, bytes.notes));
    return a;
  }
  static Arena measuring(Device* device = nullptr) {
    Arena a(device);
    a.tensors_.measure(), a.notes_.measure();
    a.measures_ = true;
    return a;
  }

  template <class T>
  T* take(std::size_t count) {
    return tensors_.take<T>(count);
  }
  template <class T>
  T* note(std::size_t count) {
    return notes_.take<T>(count);
  }
  Tensor tensor(std::size_t rows, std::size_t cols, Element element = Element::f32) {
    return {take<std::byte>(rows * cols * bytes_of(element)), rows, cols, element};
  }
  View view(const Shape& shape, Element element) {
    return {take<std::byte>(shape.elements() * bytes_of(element)), shape, element};
  }
  Mark mark() const { return {tensors_.used, notes_.used}; }
  void rewind(const Mark& mark) { tensors_.rewind(mark.tensors), notes_.rewind(mark.notes); }
  void clear() { rewind({}); }
  Mark peak() const { return {tensors_.peak, notes_.peak}; }
  std::size_t size() const { return tensors_.size + notes_.size; }
  // What a rehearsal took is more than addresses can count; its peak means nothing.
  bool overflowed() const { return tensors_.overflowed || notes_.overflowed; }
  bool holds(const Mark& needed) const { return needed.tensors <= tensors_.size && needed.notes <= notes_.size; }
  bool measures() const { return measures_; }
  Device* device() const { return device_; }

  // Whether an address is one of tensors' memory, and there whether it lies behind what is taken.
  bool holds(const void* address) const { return tensors_.offset(address) < tensors_.size; }
  bool is_free(const void* address) const { return holds(address) && tensors_.offset(address) >= tensors_.used; }
  // Where the piece ends that holds an address of a graphics card, as it was taken.
  const std::byte* end_of_piece(const void* address) const { return tensors_.end_of_piece(address); }

 private:
  struct Stack {
    Memory memory;
    std::byte* base = nullptr;
    std::size_t size = 0, used = 0, peak = 0;
    bool measures = false, overflowed = false;
    bool lists_pieces = false;
    std::vector<std::size_t> pieces;  // where those begin that were taken, on a graphics card

    std::size_t offset(const void* address) const {
      return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base);  // huge for one before the first
    }
    const std::byte* end_of_piece(const void* address) const {
      const auto next = std::ranges::upper_bound(pieces, offset(address));
      return base + (next == pieces.end() ? used : *next);
    }
    void rewind(std::size_t to) {
      used = to;
      while (!pieces.empty() && pieces.back() >= to) pieces.pop_back();
    }
    Result<void> reserve(Device* device, std::size_t bytes) {
      LOOM_TRY(memory, Memory::create(device, bytes));
      base = memory.data(), size = memory.size();
      lists_pieces = device != nullptr && device->gpu() != nullptr;
      return {};
    }
    void measure() {
      base = reinterpret_cast<std::byte*>(std::uintptr_t{64});
      size = ~std::size_t{0} / 2 - 128;
      measures = true;
    }
    template <class T>
    T* take(std::size_t count) {
      const std::size_t begin = (used + 63) / 64 * 64;
      const bool fits = begin <= size && count <= (size - begin) / sizeof(T);
      LOOM_ASSERT(fits || measures);
      if (!fits) {
        overflowed = true;
        return reinterpret_cast<T*>(base);
      }
      if (lists_pieces) pieces.push_back(begin);
      used = begin + count * sizeof(T);
      peak = used > peak ? used : peak;
      return reinterpret_cast<T*>(base + begin);
    }
  };
  Stack tensors_, notes_;
  Device* device_ = nullptr;
  bool measures_ = false;
};

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

  // A pass that plans memory: ops take what they need and compute nothing, and layers may leave out what takes no
  // memory of its own.
  bool rehearsal() const { return arena.measures(); }
  // Returns whether ops touch the values of tensors here: neither in a rehearsal nor where tensors lie on a device.
  bool computes() const {
    if (arena.measures()) return false;
    if (arena.device() == nullptr) return true;
    if (gpu() != nullptr && !status)
      status = Error{Code::Unsupported, "an operation has no form for graphics cards yet"};
    return false;
  }
  // Where ops record their work in place of computing, in a rehearsal too; null: here.
  gpu::GpuDevice* gpu() const { return arena.device() == nullptr ? nullptr : arena.device()->gpu(); }
  // pool.run() where ops compute: what they share out goes through here.
  template <class F>
  void run(std::size_t parts, F&& body) const {
    if (computes()) pool.run(parts, static_cast<F&&>(body));
  }
};

// Gives back on scope exit what was taken from the arena inside, unless it is kept for a backward pass.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena, bool keep = false) : arena_(arena), mark_(arena.mark()), keep_(keep) {}
  ~ArenaScope() {
    if (!keep_) arena_.rewind(mark_);
  }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
  bool keep_;
};

}  // namespace loom
