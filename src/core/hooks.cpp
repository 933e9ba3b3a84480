#include "core/hooks.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>

#include "core/mutex.h"

namespace loom {
namespace {

// The function and its first argument change together, so a hook is one pointer to both. Nothing is taken back: a
// thread may just be calling it. Equal hooks are kept once, so a host that turns one on and off needs no more memory.
template <class Hook>
class HookSlot {
 public:
  void set(const Hook& hook) {
    if (hook == Hook{}) {
      now_.store(nullptr, std::memory_order_release);
      return;
    }
    const Mutex::Guard lock(lock_);
    auto found = std::ranges::find(*kept_, hook);
    if (found == kept_->end()) found = kept_->insert(kept_->end(), hook);
    now_.store(&*found, std::memory_order_release);
  }
  const Hook* get() const { return now_.load(std::memory_order_acquire); }

 private:
  std::atomic<const Hook*> now_{nullptr};
  Mutex lock_;
  std::deque<Hook>* kept_ = new std::deque<Hook>;  // it is never destroyed: memory may go back while the process ends
};

HookSlot<LogHook>& log_slot() {
  static auto* const slot = new HookSlot<LogHook>;
  return *slot;
}
HookSlot<MemoryHook>& memory_slot() {
  static auto* const slot = new HookSlot<MemoryHook>;
  return *slot;
}
HookSlot<FatalHook>& fatal_slot() {
  static auto* const slot = new HookSlot<FatalHook>;
  return *slot;
}

thread_local bool t_logging = false;

}  // namespace

void set_log_hook(const LogHook& hook) { log_slot().set(hook.log == nullptr ? LogHook{} : hook); }
void set_memory_hook(const MemoryHook& hook) { memory_slot().set(hook.allocate == nullptr ? MemoryHook{} : hook); }
void set_fatal_hook(const FatalHook& hook) { fatal_slot().set(hook.fatal == nullptr ? FatalHook{} : hook); }

void log_message(LogLevel level, std::string_view text) {
  const LogHook* const hook = log_slot().get();
  if (hook == nullptr || t_logging) return;
  t_logging = true;
  hook->log(hook->user, static_cast<int>(level), std::string(text).c_str());
  t_logging = false;
}
const MemoryHook* memory_hook() { return memory_slot().get(); }
const FatalHook* fatal_hook() { return fatal_slot().get(); }

}  // namespace loom
