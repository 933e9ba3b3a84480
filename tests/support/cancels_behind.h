#pragma once
// A watch that cancels: its flag is set when so many passes and layers have begun or run.

#include <atomic>

#include "network/session/pass_watch.h"

namespace loom::test {

class CancelsBehind final : public PassWatch {
 public:
  explicit CancelsBehind(std::size_t events) : left_(events) {}
  void begin(PassKind /*kind*/, std::uint64_t /*step*/, const Wiring& /*wiring*/) override { count(); }
  void after_forward(const Layer& /*layer*/, const ConstView& /*x*/, const ConstView& /*y*/) override { count(); }
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override { count(); }
  std::atomic<bool> flag = false;

 private:
  void count() {
    if (left_ > 0 && --left_ == 0) flag = true;
  }
  std::size_t left_;
};

}  // namespace loom::test
