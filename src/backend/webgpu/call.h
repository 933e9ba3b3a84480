#pragma once
// A call of an op whose tensors may lie on a graphics card. Its front says so before the kernels of this computer come:
//   const gpu::Call call(exec, [&] { gpu::softmax(exec, x, p); });
//   if (call.is_done()) return;
// On a card the form is recorded, and mostly that is all. While a shader of it is on trial (prover.h), and for one that
// was refused, the rest of the front runs too, on copies of the tensors at their own addresses: until the call ends,
// exec.arena is one of this computer, and exec.gpu() is null.

#include <memory>
#include <type_traits>

#include "backend/exec.h"

namespace loom::gpu {

// Records an op. Valid as long as what it was made of.
struct Form {
  void* object;
  void (*call)(void*);
  void operator()() const { call(object); }
};

class Call {
 public:
  template <class F>
  Call(const Exec& exec, F&& form) {
    if (exec.gpu() != nullptr) begin(exec, {&form, [](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }});
  }
  ~Call() {
    if (prover_ != nullptr) end();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Whether the kernels of this computer need not run.
  bool is_done() const { return done_; }

 private:
  void begin(const Exec& exec, const Form& form);
  void end();
  bool done_ = false;
  class Prover* prover_ = nullptr;  // that waits for the results of this computer
  const Exec* exec_ = nullptr;
  std::unique_ptr<Arena> plan_;  // in a rehearsal: of what the op takes here
};

}  // namespace loom::gpu
