#pragma once
// The one list of a layer's settings: its fields() visits every key with the member that holds it
// (core/config_visitor.h).

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config_visitor.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

class Layer;
using LayerPtr = std::unique_ptr<Layer>;

// One number for every axis, or one per axis in the order D, H, W.
struct AxisSizes {
  std::vector<std::size_t> values;
  std::size_t at(std::size_t axis, std::size_t fallback) const {
    return values.empty() ? fallback : values.size() == 1 ? values[0] : values[axis];
  }
};

// A residual child takes its skip from one of these sources (engine V-31): "previous", "none", "external", the index of
// a child, or the address [z, y, x, l] of a cell.
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

// The fields of a layer: besides those of every config, what refers to layers.
class FieldVisitor : public virtual ConfigVisitor {
 public:
  using ConfigVisitor::operator();
  virtual void operator()(Key key, Activation& value) = 0;
  virtual void operator()(Key key, AxisSizes& value) = 0;
  virtual void operator()(Key key, SkipFrom& value) = 0;
  virtual void operator()(Key key, LayerRef& value) = 0;
  // Children with settings of their own; their paths are `key`.i or `key`.
  virtual void operator()(Key key, std::vector<LayerPtr>& children) = 0;
  virtual void operator()(Key key, LayerPtr& child) = 0;
};

// Looks at no field: for visitors that look for few.
class QuietFieldVisitor : public FieldVisitor, public QuietVisitor {
 public:
  using FieldVisitor::operator();
  using QuietVisitor::operator();
  void operator()(Key, Activation&) override {}
  void operator()(Key, AxisSizes&) override {}
  void operator()(Key, SkipFrom&) override {}
  void operator()(Key, LayerRef&) override {}
  void operator()(Key, std::vector<LayerPtr>&) override {}
  void operator()(Key, LayerPtr&) override {}
};

}  // namespace loom
