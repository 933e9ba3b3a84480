#pragma once
// A call of an op whose tensors may be on a graphics card; ops make it with dispatch() (ops/dispatch.h). It is a range
// of at most one Exec, with which the kernels of the host are to run:
//   without a card       the Exec of the call itself
//   on a card            none: the form has recorded the op
//   a shader on trial    one of the host (prover.h). Until the call ends, the addresses of the op's tensors hold copies
//     or refused           of their bytes; its arena is one of the host, and its gpu() is null
//   in a rehearsal       one that plans the memory of such a trial

#include <memory>
#include <type_traits>

#include "backend/exec.h"

namespace loom::gpu {

// Records an op. Valid as long as the function that it was made of.
struct Form {
  void* object;
  void (*call)(void*);
  void operator()() const { call(object); }
};

class Call {
 public:
  template <class F>
  Call(const Exec& exec, F&& form) : host_(&exec) {
    if (exec.gpu() != nullptr) start(exec, {&form, [](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }});
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Exec* begin() const { return host_; }
  const Exec* end() const { return host_ == nullptr ? nullptr : host_ + 1; }

 private:
  struct HostRun;  // the host's part of a call on a card
  struct Finish {
    void operator()(HostRun* run) const;
  };
  void start(const Exec& exec, const Form& form);
  const Exec* host_;  // null: the kernels of the host need not run
  std::unique_ptr<HostRun, Finish> run_;
};

}  // namespace loom::gpu
