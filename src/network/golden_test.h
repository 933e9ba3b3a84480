#pragma once
// Reads golden files of layers: format in tools/golden/layers.py.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/base64.h"
#include "core/file.h"
#include "core/json.h"
#include "core/shape.h"

namespace loom {

struct GoldenTensor {
  Shape shape;
  std::vector<double> values;
};

inline GoldenTensor golden_tensor(const Json& j) {
  GoldenTensor t;
  std::vector<std::size_t> extents;
  for (const Json& e : j["shape"]) extents.push_back(static_cast<std::size_t>(as_int(e).value_or(0)));
  if (extents.empty()) extents.push_back(1);
  t.shape = Shape::create(extents).value();
  const bool wide = find(j, "f64") != nullptr;
  const std::vector<std::byte> bytes = base64_decode(*as_string(j[wide ? "f64" : "f32"])).value();
  const std::size_t size = wide ? 8 : 4;
  for (std::size_t i = 0; i < bytes.size() / size; ++i) {
    if (wide) {
      double v;
      std::memcpy(&v, bytes.data() + i * 8, 8);
      t.values.push_back(v);
    } else {
      float v;
      std::memcpy(&v, bytes.data() + i * 4, 4);
      t.values.push_back(static_cast<double>(v));
    }
  }
  EXPECT_EQ(t.values.size(), t.shape.elements());
  return t;
}

inline Json golden_file(const std::string& path) {
  const auto text = read_text_file(path);
  auto json = text ? parse_json(*text) : Result<Json>(tl::make_unexpected(text.error()));
  if (json) return std::move(*json);
  ADD_FAILURE() << path << ": " << json.error().text();
  return Json::object();
}

}  // namespace loom
