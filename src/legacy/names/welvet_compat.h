#pragma once
// Helpers that the functions of libwelvet.so share: texts and errors as Loom 0.8x has them, objects of its own.

#include <loom/loom.h>
#include <loom/welvet_compat.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace welvet {

using Json = nlohmann::json;

// A text for the caller, who frees it by FreeLoomString().
char* text(std::string_view from);
char* json_text(const Json& from);
// {"error": ...}, which LoomLastError() says too.
char* failed(std::string_view why);
// Like failed(), for the last call of loom.h on this thread.
char* failed_call();
int64_t no_handle_of_call();
// Keeps an error for LoomLastError().
void failed_text(std::string_view why);
// Returns the text of LoomLastError().
std::string_view last_error();
char* done();  // {"status": "ok"}

// Answers of functions that are not served.
char* unsupported(const char* name);
int64_t no_handle(const char* name);
int no_number(const char* name);
LoomLayerSpec no_spec(const char* name);
LoomLayerStats no_stats(const char* name);

// Nothing that a library throws reaches the caller.
template <class F>
char* answer(F&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    return failed(e.what());
  } catch (...) {
    return failed("an unknown exception");
  }
}
template <class F>
int64_t make(F&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    failed(e.what());
  } catch (...) {
    failed("an unknown exception");
  }
  return -1;
}

// The bytes of a blob, which is released.
std::string take(loom_blob blob);
inline loom_handle handle(int64_t given) { return static_cast<loom_handle>(given); }
// A text that may be NULL.
inline std::string_view words(const char* given) { return given == nullptr ? std::string_view() : given; }

template <class S>
S sized() {
  S out{};
  out.struct_size = sizeof out;
  return out;
}

// Values of float32 as a tensor of loom.h, to read or to fill. `shape` must live as long as the tensor; without one the
// call takes its own.
inline loom_tensor float_tensor(const float* values, std::size_t count, const std::vector<std::uint64_t>& shape = {}) {
  auto out = sized<loom_tensor>();
  out.element = LOOM_ELEMENT_FLOAT32, out.data = const_cast<float*>(values), out.data_size = count * sizeof(float);
  out.shape = shape.data(), out.shape_count = shape.size();
  return out;
}
inline std::vector<float> floats_of(const loom_tensor& tensor) {
  const auto* const values = static_cast<const float*>(tensor.data);
  return {values, values + tensor.data_size / sizeof(float)};
}

// Gives back what is left of a handle at the end.
class Held {
 public:
  explicit Held(loom_handle given = 0) : handle_(given) {}
  Held(const Held&) = delete;
  ~Held() { loom_release(handle_); }
  loom_handle get() const { return handle_; }
  loom_handle* out() { return &handle_; }
  loom_handle keep() {
    const loom_handle kept = handle_;
    handle_ = 0;
    return kept;
  }

 private:
  loom_handle handle_;
};

// A numeric type by its number in 0.8x; NULL: there is none.
const char* type_of_08(int number);

// Workers that all sessions of this library share.
loom_threads shared_threads();

}  // namespace welvet
