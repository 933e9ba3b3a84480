#pragma once
// Hooks of a host: where messages go, where the memory of tensors comes from, what happens before the process ends over
// a broken invariant. Each may be set at any time from any thread; calls that run meanwhile use the old or the new one.

#include <cstddef>
#include <string_view>

namespace loom {

enum class LogLevel : int { Error = 1, Info = 3 };

struct LogHook {
  void* user = nullptr;
  void (*log)(void* user, int level, const char* text) = nullptr;
  bool operator==(const LogHook&) const = default;
};
struct MemoryHook {
  void* user = nullptr;
  void* (*allocate)(void* user, std::size_t bytes, std::size_t alignment) = nullptr;
  void (*free)(void* user, void* memory, std::size_t bytes) = nullptr;
  bool operator==(const MemoryHook&) const = default;
};
struct FatalHook {
  void* user = nullptr;
  void (*fatal)(void* user, const char* text) = nullptr;
  bool operator==(const FatalHook&) const = default;
};

// A hook without functions removes the one that was set.
void set_log_hook(const LogHook& hook);
void set_memory_hook(const MemoryHook& hook);
void set_fatal_hook(const FatalHook& hook);

// One line for the host, on the thread of the caller; nothing without a hook. A message that the hook itself causes
// is dropped.
void log_message(LogLevel level, std::string_view text);
// Null: memory comes from the system. The hook stays valid for ever: memory is freed by the hook that allocated it.
const MemoryHook* memory_hook();
const FatalHook* fatal_hook();

}  // namespace loom
