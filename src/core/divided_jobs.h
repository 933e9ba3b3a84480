#pragma once

#include <cstdint>

namespace loom {

// Counts the jobs that the thread pools of this process have divided so far: jobs of several parts, in pools of several
// threads. Small tensors are not divided (ops/for_rows.h), so a test that varies the threads calls this to learn
// whether any job was divided (tests/support/divided.h).
std::uint64_t divided_jobs();

}  // namespace loom
