// Session::feed takes its memory at create(): no heap call after the first feed. A binary of its own, as it replaces operator new
// and counts malloc as well (glibc's symbols are weak against these).

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "core/philox.h"
#include "lm/golden.h"
#include "lm/session.h"

namespace {
std::atomic<bool> g_counting{false};
std::atomic<std::size_t> g_calls{0};
void count() {
  if (g_counting.load(std::memory_order_relaxed)) g_calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Everything else in the C++ library, operator new included, comes through these.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return count(), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t size) { return count(), __libc_calloc(n, size); }
void* realloc(void* p, std::size_t n) { return count(), __libc_realloc(p, n); }
void* aligned_alloc(std::size_t align, std::size_t n) { return count(), __libc_memalign(align, n); }
int posix_memalign(void** p, std::size_t align, std::size_t n) {
  count();
  *p = __libc_memalign(align, n);
  return *p ? 0 : ENOMEM;
}
}
#else
void* operator new(std::size_t n) {
  count();
  return std::malloc(n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace loom {
namespace {

class Allocation : public testing::TestWithParam<std::tuple<std::string, int>> {};

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const GoldenCase& c : golden_cases()) names.push_back(c.name);
  return names;
}

TEST_P(Allocation, V_13_feed_takes_no_heap_memory_after_the_first_call) {
  std::shared_ptr<const DecoderModel> model;
  for (const GoldenCase& c : golden_cases())
    if (c.name == std::get<0>(GetParam())) model = golden_model(c).value();
  ASSERT_TRUE(model);
  auto session = Session::create(model, {.threads = std::get<1>(GetParam()), .context_tokens = 256, .sequences = 3, .chunk_rows = 32});
  ASSERT_TRUE(session) << session.error().message;
  std::vector<std::int32_t> ids(100);
  const RandomStream random{3, RandomDomain::Noise, 0, 1};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(random.below(i, 300));
  const std::span<const std::int32_t> all = ids;
  const Session::Feed batch[] = {{0, all.first(70)}, {1, all.first(1)}, {2, all.first(40)}};

  ASSERT_TRUE((*session)->feed(all.first(3)));
  g_calls = 0;
  g_counting = true;
  bool ok = static_cast<bool>((*session)->feed(all));            // several chunks
  for (std::size_t i = 0; i < 70; ++i) ok = ok && (*session)->feed(all.subspan(i, 1));
  ok = ok && (*session)->feed(batch);                             // neighbours, a first feed of theirs
  ok = ok && (*session)->rewind((*session)->length() - 1) && (*session)->feed(all.first(1));
  g_counting = false;
  EXPECT_TRUE(ok);
  EXPECT_EQ(g_calls.load(), 0u);
}

TEST(AllocationCounter, counts) {
  g_calls = 0;
  g_counting = true;
  auto* volatile p = new int[100];
  delete[] p;
  g_counting = false;
  EXPECT_GE(g_calls.load(), 1u);
}

INSTANTIATE_TEST_SUITE_P(EveryCase, Allocation, testing::Combine(testing::ValuesIn(case_names()), testing::Values(1, 2)), [](const auto& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace loom
