#pragma once
// Helpers shared by the tests of this folder.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom::evolution_test {

// Cells of one row, given as JSON objects without placement; "" leaves a cell empty.
inline std::string row_of(const std::vector<std::string>& layers, const std::string& more = "") {
  std::string list;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (!layers[i].empty())
      list +=
          (list.empty() ? "" : ",") + std::string(layers[i]).insert(1, fmt::format(R"("z":0,"y":0,"x":{},"l":0,)", i));
  return fmt::format(R"({{"depth":1,"rows":1,"cols":{},"layers_per_cell":1,{}"layers":[{}]}})", layers.size(), more,
                     list);
}
inline std::string dense(std::size_t in, std::size_t out, const std::string& more = "") {
  return fmt::format(R"({{"type":"dense","input_height":{},"output_height":{}{}}})", in, out,
                     more.empty() ? "" : "," + more);
}
inline Network read(const std::string& spec) {
  auto result = network_from_json(spec);
  EXPECT_TRUE(result) << (result ? "" : result.error().text()) << "\n" << spec;
  return result ? std::move(result->network) : Network::create({}).value();
}
inline void fill(Network& network, std::size_t cell, std::vector<double> values) {
  network.cell(cell).layer->visit_weights([&](Weight& w) {
    const std::size_t n = w.elements();
    ASSERT_TRUE(w.set(std::span<const double>(values).first(n)));
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
  });
}
inline std::vector<float> outputs(Network& network, const Shape& shape, const std::vector<float>& x) {
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false});
  EXPECT_TRUE(session);
  const auto y = (*session)->forward({x.data(), shape});
  EXPECT_TRUE(y) << (y ? "" : y.error().text());
  return y ? std::vector<float>(y->as<float>(), y->as<float>() + y->shape.elements()) : std::vector<float>();
}

}  // namespace loom::evolution_test
