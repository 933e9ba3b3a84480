// Texts, errors and the functions about the library itself.

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "legacy/names/welvet_compat.h"

namespace welvet {
namespace {

thread_local std::string t_error;

}  // namespace

char* text(std::string_view from) {
  auto* const out = static_cast<char*>(std::malloc(from.size() + 1));
  if (out == nullptr) return nullptr;
  if (!from.empty()) std::memcpy(out, from.data(), from.size());
  out[from.size()] = '\0';
  return out;
}
// Text of a model may end inside of a character: JSON gets its replacement.
char* json_text(const Json& from) { return text(from.dump(-1, ' ', false, Json::error_handler_t::replace)); }

void failed_text(std::string_view why) { t_error = why; }
char* failed(std::string_view why) {
  failed_text(why);
  return json_text(Json{{"error", t_error}});
}
char* failed_call() { return failed(loom_last_error()); }
std::string_view last_error() { return t_error; }
int64_t no_handle_of_call() {
  t_error = loom_last_error();
  return -1;
}
char* done() { return json_text(Json{{"status", "ok"}}); }

char* unsupported(const char* name) {
  t_error = std::string(name) + " is not supported";
  return json_text(Json{{"error", "unsupported"}, {"function", name}});
}
int64_t no_handle(const char* name) {
  t_error = std::string(name) + " is not supported";
  return -1;
}
int no_number(const char* name) {
  t_error = std::string(name) + " is not supported";
  return -1;
}
LoomLayerSpec no_spec(const char* name) {
  no_number(name);
  LoomLayerSpec out{};
  out.Type = -1;
  return out;
}
LoomLayerStats no_stats(const char* name) {
  no_number(name);
  return {};
}

std::string take(loom_blob blob) {
  const Held held(blob);
  const void* data = nullptr;
  std::size_t size = 0;
  if (loom_blob_view(blob, &data, &size) != LOOM_OK) return {};
  return std::string(static_cast<const char*>(data), size);
}

loom_threads shared_threads() {
  static std::mutex mutex;
  static loom_threads threads = 0;
  const std::scoped_lock lock(mutex);
  if (threads == 0 && loom_threads_create(0, &threads) != LOOM_OK) threads = 0;
  return threads;
}

}  // namespace welvet

using namespace welvet;

void FreeLoomString(const char* ptr) { std::free(const_cast<char*>(ptr)); }
char* LoomLastError(void) { return text(t_error); }

char* LoomSystemAuditToJSON(int64_t) {
  return answer([] {
    loom_blob info = 0;
    return loom_system_info(&info) == LOOM_OK ? text(take(info)) : failed_call();
  });
}

int LoomAsmEnabled(void) { return 1; }
int LoomSimdEnabled(void) { return 1; }
int LoomTanhiDefaultPort(void) { return 17481; }
int LoomIsGPU(int64_t) { return 0; }
void LoomDestroyWGPU(int64_t) {}
void LoomSyncToCPU(int64_t) {}

#include "legacy/names/other_names.inc"

char* LoomGetMethodsJSON(void) {
  return answer([] {
    Json out = Json::array();
    for (const char* const name : kServed) out.push_back(name);
    return json_text(out);
  });
}
