#pragma once
// The one list of a layer's settings: its fields() visits every key with the member that holds it. The JSON reader, writer and
// schema, getters and fuzzers are visitors.

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

class Layer;
using LayerPtr = std::unique_ptr<Layer>;

// One number for every axis, or one per axis in the order D, H, W.
struct AxisSizes {
  std::vector<std::size_t> values;
  std::size_t at(std::size_t axis, std::size_t fallback) const { return values.empty() ? fallback : values.size() == 1 ? values[0] : values[axis]; }
};

// Where a residual child takes its skip from (engine V-31): "previous", "none", "external", the index of a child, or [z, y, x, l].
struct SkipFrom {
  enum class Kind : std::uint8_t { Default, Previous, None, External, Child, Cell } kind = Kind::Default;
  std::size_t child = 0;
  std::array<std::size_t, 4> cell{};
};

// Another layer of the network, by its path ("layers.0.sequential_layers.1") or its address [z, y, x, l].
struct LayerRef {
  std::string path;
  std::optional<std::array<std::size_t, 4>> address;
  bool empty() const { return path.empty() && !address; }
};

struct SizeRange {
  std::size_t min = 0, max = 0x7fffffff;
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  // `keys`: the key and its aliases, separated by '|'. The member holds the default before it is read.
  virtual void operator()(std::string_view keys, std::size_t& value, SizeRange range = {}) = 0;
  virtual void operator()(std::string_view keys, bool& value) = 0;
  virtual void operator()(std::string_view keys, double& value) = 0;
  virtual void operator()(std::string_view keys, std::string& value) = 0;
  virtual void operator()(std::string_view keys, Activation& value) = 0;
  virtual void operator()(std::string_view keys, AxisSizes& value) = 0;
  virtual void operator()(std::string_view keys, std::vector<std::size_t>& value) = 0;
  virtual void operator()(std::string_view keys, std::vector<std::int64_t>& value) = 0;
  virtual void operator()(std::string_view keys, std::vector<bool>& value) = 0;
  virtual void operator()(std::string_view keys, SkipFrom& value) = 0;
  virtual void operator()(std::string_view keys, LayerRef& value) = 0;
  // Children with settings of their own; their paths are `key`.i or `key`.
  virtual void operator()(std::string_view keys, std::vector<LayerPtr>& children) = 0;
  virtual void operator()(std::string_view keys, LayerPtr& child) = 0;
  // An object with fields of its own.
  virtual void object(std::string_view key, const std::function<void(FieldVisitor&)>& fields) = 0;

  // Objects with fields of their own, at most kMaxObjects.
  template <class T>
  void objects(std::string_view key, std::vector<T>& items) {
    T fresh;
    list(
        key, items.size(), [&](std::size_t size) { items.assign(size, T()); },
        [&](std::size_t i, FieldVisitor& visit) { (i < items.size() ? items[i] : fresh).fields(visit); });
  }
  static constexpr std::size_t kMaxObjects = 64;

  // One of a list of names; `unknown` is the error of any other.
  template <class E>
  void choice(std::string_view keys, E& value, std::initializer_list<std::string_view> names, Code unknown = Code::UnknownName) {
    auto index = static_cast<std::size_t>(value);
    choose(keys, index, {names.begin(), names.size()}, unknown);
    if (static_cast<E>(index) != value) value = static_cast<E>(index);  // several threads may write specs of one layer
  }

 protected:
  // item(i, visit) visits the fields of object i; beyond the last, those of a fresh one.
  virtual void list(std::string_view key, std::size_t size, const std::function<void(std::size_t)>& resize,
                    const std::function<void(std::size_t, FieldVisitor&)>& item) = 0;
  // Names may have aliases, separated by '|'.
  virtual void choose(std::string_view keys, std::size_t& index, std::span<const std::string_view> names, Code unknown) = 0;
};

}  // namespace loom
