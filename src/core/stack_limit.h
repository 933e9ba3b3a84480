#pragma once
// Depth limit for recursion over untrusted data: it must stay within the stack of the thread that it runs in. Stack
// sizes differ between hosts; musl gives 128 KiB.

#include <cstddef>
#include <cstdint>

namespace loom {

class StackLimit {
 public:
  // Stack left for the calls between two checks, and for calls that do not check.
  static constexpr std::size_t kReserve = std::size_t{24} << 10;

  // Asks the system about the calling thread, once per thread. Where the system does not know, assumes 768 KiB below
  // the current frame.
  explicit StackLimit(std::size_t reserve = kReserve);

  // Returns whether the recursion must end at this depth.
  [[gnu::always_inline]] bool reached() const { return here() < lowest_; }
  // Bytes between the current frame and the limit.
  [[gnu::always_inline]] std::size_t left() const { return here() < lowest_ ? 0 : here() - lowest_; }

 private:
  [[gnu::always_inline]] static std::uintptr_t here() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  }
  std::uintptr_t lowest_ = 0;  // stacks grow downwards on every machine we know
};

}  // namespace loom
