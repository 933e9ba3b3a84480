// The library in WebAssembly (bindings of js/src/wasm): callbacks of loom.h that end in JavaScript, threads that
// JavaScript starts, and memory that runs out where no status can say so.
// A callback's pointer comes from loom_js_callback(); its `user` is the number by which JavaScript knows the function.

#include <loom/loom.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "capi/objects.h"
#include "core/lent_threads.h"

#define LOOM_JS(name) __attribute__((import_module("loom_js"), import_name(#name)))
#define LOOM_JS_EXPORT(name) __attribute__((export_name(#name)))

extern "C" {
LOOM_JS(event) std::int32_t loom_js_event(void* user, const void* event);
LOOM_JS(progress) std::int32_t loom_js_progress(void* user, double fraction);
LOOM_JS(read_at) std::int64_t loom_js_read_at(void* user, std::uint64_t offset, void* to, std::size_t size);
LOOM_JS(log) void loom_js_log(void* user, std::int32_t level, const char* text);
LOOM_JS(fatal) void loom_js_fatal(void* user, const char* text);
[[noreturn]] LOOM_JS(out_of_memory) void loom_js_out_of_memory(std::size_t bytes);
}

namespace {

// The callbacks whose second argument is an event, a report or a layer.
template <class Event>
std::int32_t on_event(void* user, const Event* event) {
  return loom_js_event(user, event);
}
loom_status on_layer_rule(void* user, loom_layer layer) { return loom_js_event(user, &layer); }
std::int32_t on_progress(void* user, double fraction) { return loom_js_progress(user, fraction); }
std::int64_t on_read_at(void* user, std::uint64_t offset, void* to, std::size_t size) {
  return loom_js_read_at(user, offset, to, size);
}
void on_log(void* user, loom_log_level level, const char* text) { loom_js_log(user, level, text); }
void on_fatal(void* user, const char* text) { loom_js_fatal(user, text); }

// In the order of CALLBACKS in js/src/wasm/callbacks.js.
constexpr struct {
  loom_on_progress progress = on_progress;
  loom_on_training training = on_event;
  loom_on_shards shards = on_event;
  loom_on_generation generation = on_event;
  loom_on_layer layer = on_event;
  loom_on_window window = on_event;
  loom_on_judging judging = on_event;
  loom_read_at read_at = on_read_at;
  loom_on_log log = on_log;
  loom_layer_rule layer_rule = on_layer_rule;
  loom_on_fatal fatal = on_fatal;
} kCallbacks;

}  // namespace

extern "C" {

// The address of the callbacks, one word each.
LOOM_JS_EXPORT(loom_js_callbacks) const void* loom_js_callbacks() { return &kCallbacks; }

// Memory of the caller's; null when there is none.
LOOM_JS_EXPORT(loom_js_alloc) void* loom_js_alloc(std::size_t bytes) { return std::malloc(bytes); }
LOOM_JS_EXPORT(loom_js_free) void loom_js_free(void* memory) { std::free(memory); }

// The byte of a cancel, which a thread outside of the module can set; null for a handle that is none.
LOOM_JS_EXPORT(loom_js_cancel_flag) const void* loom_js_cancel_flag(loom_cancel cancel) {
  const auto use = loom::capi::CancelOf::handle(cancel);
  return use ? use->flag() : nullptr;
}

// Before the first call of loom.h: how many threads will call loom_js_work().
LOOM_JS_EXPORT(loom_js_expect) void loom_js_expect(std::int32_t workers) { loom::expect_lent_threads(workers); }
// Works for the library until loom_js_end(). `worker` counts from 1.
LOOM_JS_EXPORT(loom_js_work) void loom_js_work(std::int32_t worker) { loom::lend_thread(worker); }
LOOM_JS_EXPORT(loom_js_fail) void loom_js_fail() { loom::fail_lent_thread(); }
LOOM_JS_EXPORT(loom_js_end) void loom_js_end() { loom::end_lent_threads(); }

}  // extern "C"

// Without exceptions, what asks for small memory cannot say that there is none: JavaScript ends the call.
void* operator new(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  loom_js_out_of_memory(bytes);
}
