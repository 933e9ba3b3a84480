#pragma once
// Panels that may leave the memory of the host while a device has a copy of them, and that are made again, byte for
// byte, before the host reads them. Their address stays, and a read without a PanelHold ends the process.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/mutex.h"
#include "dtypes/matrix.h"

namespace loom {

class PanelPages {
 public:
  // Writes all bytes of the panels again.
  using Remake = std::function<Result<void>(std::span<std::byte> panels)>;

  // `panels` are whole pages of take_pages(), but for the end of the last one. `name` stands in errors.
  PanelPages(std::string name, std::span<std::byte> panels, Remake remake)
      : name_(std::move(name)), panels_(panels), remake_(std::move(remake)) {}

  // The panels stay until as many calls of drop(). Makes them again where they have left: errors of Remake, CorruptData
  // where it writes other bytes, OutOfMemory; nothing is held then. Thread-safe.
  Result<void> hold();
  void drop() { readers_.fetch_sub(1); }

  // Returns whether leave() would succeed if no reader came: nobody has held the panels since the last call that asked.
  bool may_leave();
  // Gives the memory of the panels back, unless they are held, have left, or were made again kMostTimes: then somebody
  // on the host needs them every now and then, as where a shader was refused.
  void leave();
  static constexpr int kMostTimes = 8;
  bool is_on_host() const { return is_on_host_.load(); }

  // The first `bytes` of the panels, kKept at most, which stay.
  static constexpr std::size_t kKept = 4096;
  std::vector<std::byte> beginning(std::size_t bytes);

 private:
  Result<void> make_again();

  const std::string name_;
  const std::span<std::byte> panels_;
  const Remake remake_;
  Mutex mutex_;  // of what follows, and of changes of is_on_host_
  std::vector<std::byte> kept_;
  std::uint64_t sum_ = 0;  // of the panels, once they have left
  int times_made_ = 0;     // again
  std::atomic<bool> is_on_host_{true};
  std::atomic<bool> was_held_{false};  // since may_leave()
  std::atomic<std::size_t> readers_{0};
};

// While it lives, panels are in the memory of the host. The matrix outlives it.
class PanelHold {
 public:
  PanelHold() = default;
  // Errors of PanelPages::hold().
  static Result<PanelHold> take(const Matrix& matrix) {
    PanelHold out;
    if (PanelPages* const pages = matrix.pages(); pages != nullptr) {
      LOOM_TRY_VOID(pages->hold());
      out.pages_ = pages;
    }
    return out;
  }
  PanelHold(PanelHold&& other) noexcept : pages_(std::exchange(other.pages_, nullptr)) {}
  PanelHold& operator=(PanelHold&& other) noexcept {
    std::swap(pages_, other.pages_);
    return *this;
  }
  ~PanelHold() {
    if (pages_ != nullptr) pages_->drop();
  }
  // The panels never leave again: somebody writes them.
  void keep() { pages_ = nullptr; }

 private:
  PanelPages* pages_ = nullptr;
};

}  // namespace loom
