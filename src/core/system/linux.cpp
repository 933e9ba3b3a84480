// Pages, stacks and cores on Linux.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstdio>

#include "core/checked.h"
#include "core/system.h"

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

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  int cores = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    // A hyper-thread shares its core with a sibling of a lower number: count the first of each core only.
    char path[96];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    int first = cpu;
    if (std::FILE* f = std::fopen(path, "r")) {
      if (std::fscanf(f, "%d", &first) != 1) first = cpu;
      std::fclose(f);
    }
    cores += first == cpu || !CPU_ISSET(first, &allowed);
  }
  return cores < 1 ? 1 : cores;
}

}  // namespace loom::os
