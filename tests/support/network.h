#pragma once
// Networks from specs, and values that a name decides.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/philox.h"
#include "network/spec/spec.h"

namespace loom::test {

// An empty network with a test failure when the spec is refused.
inline Network read(const std::string& spec) {
  auto result = network_from_json(std::string_view(spec));
  EXPECT_TRUE(result) << (result ? "" : result.error().text()) << "\n" << spec;
  return result ? std::move(result->network) : Network::create({}).value();
}

// Values in [-1, 1), a function of the name alone.
template <class T>
std::vector<T> seeded(std::string_view name, std::size_t n) {
  const RandomStream stream{99, RandomDomain::Init, 0, random_site(std::string(name))};
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(2.0 * static_cast<double>(stream.uniform(i)) - 1.0);
  return v;
}

}  // namespace loom::test
