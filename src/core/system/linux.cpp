// Pages, stacks and cores on Linux.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

#include "core/checked.h"
#include "core/system.h"
#include "core/system/linux_cores.h"

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

// Reads a text such as "0-3,8,10-11", which Linux lists processors by. Empty where there is no such file.
std::vector<int> cpus_listed(const std::string& path) {
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

}  // namespace

Cores count_cores(const std::string& devices, std::span<const int> cpus) {
  const auto is_in = [](std::span<const int> list, int cpu) { return std::ranges::find(list, cpu) != list.end(); };
  // Intel's hybrids list their fast processors. Others give each a capacity, of which the greatest is 1024: phones have
  // one or two cores that are faster still than the fast ones, and slow ones of less than half their capacity.
  const std::vector<int> listed = cpus_listed(devices + "/cpu_core/cpus");
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
