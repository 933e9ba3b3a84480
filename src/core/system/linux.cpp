// Pages, stacks and cores on Linux.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include "core/checked.h"
#include "core/system.h"
#include "core/system/linux_cores.h"
#include "core/system/linux_nodes.h"

// The linker defines it in every program with a dynamic section, and so not where `-static` linked one.
extern "C" {
extern const char _DYNAMIC __attribute__((weak));
}

namespace loom::os {

bool can_open_libraries() { return &::_DYNAMIC != nullptr; }

std::byte* take_pages(std::size_t bytes, bool huge) {
  // Over-reserve so that the start can be moved to a huge-page boundary, then give the ends back.
  if (bytes > SIZE_MAX - 3 * kHugePage) return nullptr;
  const std::size_t reserve = bytes + 2 * kHugePage;
  void* const raw = ::mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(raw);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t lead = round_up(at, kHugePage) - at, tail = reserve - lead - bytes;
  if (lead != 0) ::munmap(begin, lead);
  if (tail != 0) ::munmap(begin + lead + bytes, tail);
  ::madvise(begin + lead, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return begin + lead;
}

void empty_addresses(std::byte* begin, std::size_t bytes) noexcept {
  ::madvise(begin, bytes, MADV_DONTNEED);
  ::mprotect(begin, bytes, PROT_NONE);
}

Stack stack_of_thread() {
  Stack out;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return out;
  void* low = nullptr;
  std::size_t size = 0, guard = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0) {
    out.low = reinterpret_cast<std::uintptr_t>(low) + guard;  // some systems count the guard pages in, some do not
    out.high = reinterpret_cast<std::uintptr_t>(low) + size;
  }
  pthread_attr_destroy(&attributes);
  return out;
}

namespace {

// Reads a text such as "0-3,8,10-11", which Linux lists processors and nodes by. Empty where there is no such file.
std::vector<int> numbers_listed(const std::string& path) {
  std::vector<int> out;
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return out;
  int first = 0, last = 0;
  while (std::fscanf(file, "%d", &first) == 1 && first >= 0 && first < CPU_SETSIZE) {
    if (std::fscanf(file, "-%d", &last) != 1) last = first;
    for (int cpu = first; cpu <= std::min(last, CPU_SETSIZE - 1); ++cpu) out.push_back(cpu);
    if (std::fgetc(file) != ',') break;
  }
  std::fclose(file);
  return out;
}

int first_number(const std::string& path, int otherwise) {
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return otherwise;
  int number = 0;
  const bool found = std::fscanf(file, "%d", &number) == 1;
  std::fclose(file);
  return found ? number : otherwise;
}

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) out.push_back(cpu);
  return out;
}

bool is_in(std::span<const int> list, int number) { return std::ranges::find(list, number) != list.end(); }

// Bit n stands for node n. The kernel reads one bit less than the size that it is given.
constexpr int kMostNodes = 1024, kWordBits = sizeof(unsigned long) * CHAR_BIT;
struct NodeMask {
  unsigned long words[kMostNodes / kWordBits] = {};
};
// Numbers of linux/mempolicy.h.
constexpr int kDefaultPolicy = 0, kInterleave = 3;
constexpr unsigned long kMemoryAllowed = 4;

bool has_default_policy() {
#ifdef SYS_get_mempolicy
  int policy = -1;
  return syscall(SYS_get_mempolicy, &policy, nullptr, 0ul, nullptr, 0ul) == 0 && policy == kDefaultPolicy;
#else
  return false;
#endif
}

std::vector<int> allowed_nodes() {
  std::vector<int> out;
#ifdef SYS_get_mempolicy
  NodeMask mask;
  if (syscall(SYS_get_mempolicy, nullptr, mask.words, kMostNodes + 1ul, nullptr, kMemoryAllowed) != 0) return out;
  for (int node = 0; node < kMostNodes; ++node)
    if ((mask.words[node / kWordBits] >> node % kWordBits & 1) != 0) out.push_back(node);
#endif
  return out;
}

}  // namespace

std::vector<int> nodes_of(const std::string& devices, std::span<const int> cpus, std::span<const int> allowed) {
  std::vector<int> out;
  for (const int node : numbers_listed(devices + "/system/node/has_memory")) {
    const std::vector<int> near = numbers_listed(fmt::format("{}/system/node/node{}/cpulist", devices, node));
    const bool is_near = std::ranges::any_of(near, [&](int cpu) { return is_in(cpus, cpu); });
    if (is_near && is_in(allowed, node)) out.push_back(node);
  }
  return out;
}

std::vector<int> memory_nodes() {
  // Phones and most machines have one node, and make none of these calls, which some sandboxes forbid.
  if (numbers_listed("/sys/devices/system/node/has_memory").size() < 2 || !has_default_policy()) return {};
  std::vector<int> out = nodes_of("/sys/devices", allowed_cpus(), allowed_nodes());
  if (out.size() < 2) out.clear();
  return out;
}

bool interleave_pages(std::byte* begin, std::size_t bytes, std::span<const int> nodes) {
#ifdef SYS_mbind
  NodeMask mask;
  for (const int node : nodes) {
    if (node < 0 || node >= kMostNodes) return false;
    mask.words[node / kWordBits] |= 1ul << node % kWordBits;
  }
  return syscall(SYS_mbind, begin, bytes, static_cast<long>(kInterleave), mask.words, kMostNodes + 1ul, 0ul) == 0;
#else
  return false;
#endif
}

Cores count_cores(const std::string& devices, std::span<const int> cpus) {
  // Intel's hybrids list their fast processors. Others give each a capacity, of which the greatest is 1024: phones have
  // one or two cores that are faster still than the fast ones, and slow ones of less than half their capacity.
  const std::vector<int> listed = numbers_listed(devices + "/cpu_core/cpus");
  const auto capacity = [&](int cpu) {
    if (!listed.empty()) return is_in(listed, cpu) ? 2 : 0;
    return first_number(fmt::format("{}/system/cpu/cpu{}/cpu_capacity", devices, cpu), 2);
  };
  int greatest = 0;
  for (const int cpu : cpus) greatest = std::max(greatest, capacity(cpu));
  Cores out{0, 0};
  for (const int cpu : cpus) {
    // A hyper-thread shares its core with a sibling of a lower number: only the first of each core counts.
    const int first = first_number(fmt::format("{}/system/cpu/cpu{}/topology/thread_siblings_list", devices, cpu), cpu);
    if (first != cpu && is_in(cpus, first)) continue;
    ++out.physical;
    out.performance += 2 * capacity(cpu) >= greatest;
  }
  return {std::max(out.physical, 1), std::max(out.performance, 1)};
}

int physical_cores() { return count_cores("/sys/devices", allowed_cpus()).physical; }
int performance_cores() { return count_cores("/sys/devices", allowed_cpus()).performance; }

}  // namespace loom::os
