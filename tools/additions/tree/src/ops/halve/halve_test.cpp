#include "ops/halve/halve.h"

#include <gtest/gtest.h>

#include "ops/all.h"

namespace loom {
namespace {

TEST(Halve, takes_half_of_every_element) {
  std::vector<float> x(70001), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto pool = ThreadPool::create(3).value();
  Arena arena = Arena::create(1024).value();
  for (const Isa isa : usable_isas()) {
    const Exec exec{*pool, *kernels_for(isa).value(), arena};
    halve(exec, {x.data(), 1, x.size()}, {y.data(), 1, y.size()});
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] / 2);
  }
}

}  // namespace
}  // namespace loom
