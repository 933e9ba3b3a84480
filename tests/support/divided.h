#pragma once
// For tests that vary the threads: tensors below a bound (ops/for_rows.h) are not divided, and then such a test shows
// nothing.

#include <gtest/gtest.h>

#include "core/divided_jobs.h"

namespace loom::test {

// Fails unless a pool of several threads divided a job while this lives. Nothing is asked of one thread.
class ExpectDivided {
 public:
  explicit ExpectDivided(int threads = 2) : threads_(threads) {}
  ~ExpectDivided() {
    if (threads_ == 1) return;
    EXPECT_GT(divided_jobs(), before_) << "every job was too small to be divided among " << threads_ << " threads";
  }
  ExpectDivided(const ExpectDivided&) = delete;
  ExpectDivided& operator=(const ExpectDivided&) = delete;

 private:
  int threads_;
  std::uint64_t before_ = divided_jobs();
};

}  // namespace loom::test
