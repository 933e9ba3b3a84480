#pragma once
// The driver of a graphics card, and whether the card still answers. A card that is lost stays lost: every call gives
// the same error (DeviceLost) from then on, and the driver is not called any more.

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "backend/device.h"
#include "backend/webgpu/driver.h"

namespace loom::gpu {

class Connection {
 public:
  Connection(std::unique_ptr<Driver> driver, Precision precision) : driver_(std::move(driver)), precision_(precision) {}

  Driver& driver() { return *driver_; }
  const AdapterInfo& adapter() const { return driver_->adapter(); }
  std::uint64_t buffer_bytes() const { return is_lost() ? 0 : driver_->buffer_bytes(); }

  bool is_lost() const { return lost_.has_value(); }
  // The error that every call gives once the card is lost.
  const std::optional<Error>& lost() const { return lost_; }
  tl::unexpected<Error> loss() const { return tl::make_unexpected(*lost_); }
  // Returns the result that a call of the driver gave; marks the card as lost if it is DeviceLost.
  template <class T>
  Result<T> check_lost(Result<T> result) {
    if (!result && result.error().code == Code::DeviceLost) return mark_lost(result.error().message);
    return result;
  }
  tl::unexpected<Error> mark_lost(std::string_view why);
  // The kernel that was submitted last: the error of a loss names it.
  void set_last_kernel(std::string_view name) { last_kernel_ = name; }

 private:
  std::unique_ptr<Driver> driver_;
  Precision precision_;
  std::optional<Error> lost_;
  std::string_view last_kernel_;
};

}  // namespace loom::gpu
