// This program measures the most that this machine can do: the ceilings beside which the engine's speed is read. It
// prints JSON.
//   bench_bandwidth [MEGABYTES [THREADS [REPEATS]]]       (98 MB, the default model's size; 1 and 2 threads; 7)
// read_gbps: reading a buffer on 2 MiB pages once more and more; f32_mul_add_gflops: products and sums rounded on their
// own, in registers of AVX2; f32_mul_add_512_gflops: of AVX-512, where the CPU has it; maddubs_gops: u8 x i8 products,
// summed in pairs and then in i16. x86-64 with AVX2 only. Needs nothing of Loom.
// Built by itself: c++ -std=c++20 -O3 -ffp-contract=off -pthread bench/bandwidth.cpp -o bandwidth
#if !defined(__x86_64__)
#include <cstdio>
int main() { return std::fputs("bench_bandwidth: x86-64 only\n", stderr), 1; }
#else
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define AVX2 __attribute__((target("avx2")))

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kChains = 12;                  // independent accumulators: enough to hide the latency of an add
constexpr std::int64_t kSteps = 20'000'000;  // about a tenth of a second

template <class V>
AVX2 inline void keep(V& value) {
  asm volatile("" : "+x"(value));
}

// Eight 32-byte loads in flight; `bytes` is a multiple of 256.
AVX2 double read_once(const std::byte* data, std::size_t bytes) {
  __m256i sum[8] = {};
  for (std::size_t i = 0; i < bytes; i += 256)
    for (int k = 0; k < 8; ++k)
      sum[k] = _mm256_or_si256(sum[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + 32 * k)));
  for (__m256i& s : sum) keep(s);
  return static_cast<double>(bytes);
}

// The products are written in assembly so that no compiler hoists them out of the loop or fuses them.
AVX2 double mul_add() {
  __m256 sum[kChains] = {};
  const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
  for (std::int64_t step = 0; step < kSteps; ++step)
    for (__m256& s : sum) {
      __m256 product;
      asm volatile("vmulps %1, %2, %0" : "=x"(product) : "x"(x), "x"(y));
      s = _mm256_add_ps(s, product);
    }
  for (__m256& s : sum) keep(s);
  return static_cast<double>(kSteps) * kChains * 8 * 2;
}

__attribute__((target("avx512f"))) double mul_add_512() {
  __m512 sum[kChains] = {};
  const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  for (std::int64_t step = 0; step < kSteps; ++step)
    for (__m512& s : sum) {
      __m512 product;
      asm volatile("vmulps %1, %2, %0" : "=v"(product) : "v"(x), "v"(y));
      s = _mm512_add_ps(s, product);
    }
  for (__m512& s : sum) asm volatile("" : "+v"(s));
  return static_cast<double>(kSteps) * kChains * 16 * 2;
}

AVX2 double maddubs() {
  __m256i sum[kChains] = {};
  const __m256i x = _mm256_set1_epi8(3), y = _mm256_set1_epi8(2);
  for (std::int64_t step = 0; step < kSteps; ++step)
    for (__m256i& s : sum) {
      __m256i pairs;
      asm volatile("vpmaddubsw %1, %2, %0" : "=x"(pairs) : "x"(x), "x"(y));
      s = _mm256_add_epi16(s, pairs);
    }
  for (__m256i& s : sum) keep(s);
  return static_cast<double>(kSteps) * kChains * 32 * 2;
}

// Work done by all threads a second, from the first start to the last end, in units of 1e9.
double rate(int threads, const std::function<double(int)>& work) {
  std::atomic<int> waiting{threads};
  std::vector<double> done(threads);
  std::vector<Clock::time_point> begin(threads), end(threads);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      begin[t] = Clock::now();
      done[t] = work(t);
      end[t] = Clock::now();
    });
  for (std::thread& t : pool) t.join();
  double total = 0;
  for (double d : done) total += d;
  const std::chrono::duration<double> wall = *std::ranges::max_element(end) - *std::ranges::min_element(begin);
  return total / wall.count() / 1e9;
}

void report(const char* name, int threads, int repeats, const std::function<double(int)>& work, const char* after) {
  std::vector<double> rates;
  rate(threads, work);
  for (int i = 0; i < repeats; ++i) rates.push_back(rate(threads, work));
  std::ranges::sort(rates);
  std::printf("    \"%s\": {\"min\": %.1f, \"median\": %.1f, \"max\": %.1f}%s\n", name, rates.front(),
              rates[rates.size() / 2], rates.back(), after);
}

int positive(const char* text) { return std::max(1, std::atoi(text)); }

}  // namespace

int main(int argc, char** argv) {
  const int megabytes = argc > 1 ? positive(argv[1]) : 98;
  const int max_threads = argc > 2 ? positive(argv[2]) : 2;
  const int repeats = argc > 3 ? positive(argv[3]) : 7;
  if (!__builtin_cpu_supports("avx2")) return std::fputs("bench_bandwidth: this CPU has no AVX2\n", stderr), 1;
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t bytes = (std::size_t(megabytes) * 1'000'000 + kPage - 1) / kPage * kPage;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kPage, bytes));
  if (data == nullptr) return std::fputs("bench_bandwidth: out of memory\n", stderr), 1;
  const bool huge = madvise(data, bytes, MADV_HUGEPAGE) == 0;
  std::memset(data, 1, bytes);
  // about 1 GiB a sample
  const int rounds = static_cast<int>(std::max<std::size_t>(1, (std::size_t{1} << 30) / bytes));

  std::printf("{\"bytes\": %zu, \"huge_pages_asked\": %s, \"repeats\": %d, \"threads\": {\n", bytes,
              huge ? "true" : "false", repeats);
  for (int threads = 1; threads <= max_threads; threads *= 2) {
    const std::size_t share = bytes / threads / 256 * 256;
    std::printf("  \"%d\": {\n", threads);
    report(
        "read_gbps", threads, repeats,
        [=](int t) {
          double total = 0;
          for (int r = 0; r < rounds; ++r) total += read_once(data + share * t, share);
          return total;
        },
        ",");
    report("f32_mul_add_gflops", threads, repeats, [](int) { return mul_add(); }, ",");
    if (__builtin_cpu_supports("avx512f"))
      report("f32_mul_add_512_gflops", threads, repeats, [](int) { return mul_add_512(); }, ",");
    report("maddubs_gops", threads, repeats, [](int) { return maddubs(); }, "");
    std::printf("  }%s\n", threads * 2 <= max_threads ? "," : "");
    std::fflush(stdout);
  }
  std::printf("}}\n");
  std::free(data);
  return 0;
}
#endif
