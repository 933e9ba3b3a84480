#pragma once
// Cancellation of loops over a large tensor: they check it now and then, so that a load or a conversion ends soon after
// a request.

#include <algorithm>
#include <cstddef>
#include <functional>

#include "core/error.h"

namespace loom {

using Stop = std::function<bool()>;  // empty: never; called from whatever thread does the work

// Elements between two checks for a stop, at most; a row of a matrix is never divided.
inline constexpr std::size_t kStopElements = std::size_t{1} << 16;

class StopCheck {
 public:
  explicit StopCheck(const Stop& stop) : stop_(stop) {}
  // Said before `count` elements are worked on: true once it is time to give up, and from then on.
  bool before(std::size_t count) {
    if (over_ || !stop_) return over_;
    done_ += count;
    if (done_ <= kStopElements) return false;
    done_ = count;
    return over_ = stop_();
  }
  // f(first, count) for pieces of `size` elements, in order; once it is over, for none.
  template <class F>
  void run(std::size_t size, F&& f) {
    for (std::size_t first = 0; first < size; first += kStopElements) {
      const std::size_t count = std::min(kStopElements, size - first);
      if (before(count)) return;
      f(first, count);
    }
  }
  // Returns Cancelled unless all of the work was done.
  Result<void> end() const {
    if (over_) return fail(Code::Cancelled, "the conversion was cancelled");
    return {};
  }

 private:
  const Stop& stop_;
  std::size_t done_ = kStopElements;  // since the last question: the first is asked at once
  bool over_ = false;
};

}  // namespace loom
