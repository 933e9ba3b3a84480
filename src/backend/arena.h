#pragma once
// Memory of a pass, planned beforehand: ops allocate nothing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/device.h"
#include "backend/tensor.h"
#include "core/error.h"
#include "core/shape.h"

namespace loom {

// Bump allocator: memory is handed out front to back and taken back all at once. A measuring arena has no memory: it
// hands out addresses that must not be read, and records how much was taken, so a pass is planned by rehearsing it
// (Exec::rehearsal). Tensors and scratch of kernels come from take(). Data that only the host reads and writes (lists
// of views, tables of offsets) comes from note(): take() may hand out device memory that the host cannot read.
class Arena {
 public:
  struct Mark {
    std::size_t tensors = 0, notes = 0;
    std::size_t bytes() const { return tensors + notes; }
    // Room for one of two at a time.
    Mark max(const Mark& other) const { return {std::max(tensors, other.tensors), std::max(notes, other.notes)}; }
    Mark plus(std::size_t more) const { return {tensors + more, notes}; }
  };

  Arena() = default;
  // Makes an arena without memory; plan_scratch() (backend/rehearsal.h) gives it some.
  explicit Arena(Device* device) : device_(device) {}
  // `bytes` of tensors and as many of notes: memory that nobody writes is not resident. Tensors are on the device,
  // notes always on the host.
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
  // Whether a rehearsal took more than addresses can count; its peak means nothing then.
  bool overflowed() const { return tensors_.overflowed || notes_.overflowed; }
  bool holds(const Mark& needed) const { return needed.tensors <= tensors_.size && needed.notes <= notes_.size; }
  bool measures() const { return measures_; }
  Device* device() const { return device_; }

  // Whether an address is in the memory of tensors, and whether it is in the part that is not taken.
  bool holds(const void* address) const { return tensors_.offset(address) < tensors_.size; }
  bool is_free(const void* address) const { return holds(address) && tensors_.offset(address) >= tensors_.used; }
  // The end of the piece that was taken and contains an address; on a device that records ops.
  const std::byte* end_of_piece(const void* address) const { return tensors_.end_of_piece(address); }

 private:
  struct Stack {
    Memory memory;
    std::byte* base = nullptr;
    std::size_t size = 0, used = 0, peak = 0;
    bool measures = false, overflowed = false;
    bool lists_pieces = false;
    std::vector<std::size_t> pieces;  // offsets of what was taken, on a device that records ops

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
      lists_pieces = device != nullptr && device->records();
      return {};
    }
    // Nothing is at these addresses, and nobody reads them: ops only add to them, below 2^63.
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
