#include "ops/dispatch.h"

#include <gtest/gtest.h>

#include "backend/rehearsal.h"
#include "ops/all.h"
#include "support/null_device.h"

namespace loom {
namespace {

TEST(Dispatch, WithoutACardTheKernelsOfTheHostRunOnceWithTheExecOfTheCall) {
  const auto pool = ThreadPool::create(1).value();
  test::NullDevice device;
  Arena on_host, on_device(&device);
  for (Arena* const arena : {&on_host, &on_device}) {
    const Exec exec{*pool, *kernels_for(best_isa()).value(), *arena};
    int calls = 0, forms = 0;
    for (const Exec& host : dispatch(exec, [&] { ++forms; })) {
      EXPECT_EQ(&host, &exec);
      ++calls;
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(forms, 0);
  }
}

}  // namespace
}  // namespace loom
