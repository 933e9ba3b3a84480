#pragma once
// Helpers shared by the tests of this folder.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "learning/names.h"
#include "ops/all.h"
#include "support/divided.h"
#include "support/paths.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace loom::test {

struct Machine {
  explicit Machine(int threads = 1, std::size_t bytes = std::size_t{1} << 22)
      : pool(ThreadPool::create(threads).value()),
        arena(Arena::create(bytes).value()),
        exec{*pool, *kernels_for(best_isa()).value(), arena} {}
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  Exec exec;
};

inline Json learning_golden(const std::string& name) {
  const auto text = read_text_file(test::source_path("tests/golden/learning/") + name + ".json");
  if (!text) {
    ADD_FAILURE() << text.error().text();
    return Json::object();
  }
  return parse_json(*text).value();
}

template <class T>
std::vector<T> numbers(const Json& list) {
  std::vector<T> out;
  for (const Json& v : list) out.push_back(static_cast<T>(as_number(v).value()));
  return out;
}
inline double number_or(const Json& object, const char* key, double fallback) {
  const Json* v = find(object, key);
  return v ? as_number(*v).value() : fallback;
}
inline bool flag(const Json& object, const char* key) {
  const Json* v = find(object, key);
  return v && as_bool(*v).value();
}
inline std::string text_or(const Json& object, const char* key, const std::string& fallback) {
  const Json* v = find(object, key);
  return v ? *as_string(*v) : fallback;
}

// Runs f() under flush-to-zero and denormals-are-zero, where there is such a mode.
template <class F>
auto flushed(F&& f) {
#if defined(__SSE2__)
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  auto result = f();
  _mm_setcsr(before);
  return result;
#else
  return f();
#endif
}

template <class T>
Tensor row_of(std::vector<T>& v) {
  return {v.data(), 1, v.size(), element_of<T>};
}

// Every entry within `bound` of the largest one.
template <class T>
void expect_near(const std::vector<T>& got, const std::vector<double>& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0;
  for (const double w : want) largest = std::max(largest, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], bound * largest) << "entry " << i;
}

}  // namespace loom::test
