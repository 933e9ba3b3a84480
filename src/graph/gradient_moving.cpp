// Gradients of operations that move elements without a change. The operation itself is run over numbers that count the
// elements of its inputs, so its output says where each element came from. Gradients of one element are added in f64 in
// the order of the output, and rounded once.

#include <algorithm>
#include <cstring>

#include "graph/gradient_ops.h"

namespace loom::graph {
namespace {

// dx is dy under the shape of x.
Result<void> reshaped_gradient(Op& op) {
  const Backward b(op);
  LOOM_TRY(Value* const dx, b.dx(0));
  if (!op.measures() && dx->bytes() != 0) std::memcpy(dx->data, b.dy().data, dx->bytes());
  return {};
}

// A node that is OP.
Node forward_node(const Backward& b) {
  const Node& of = b.op.node;
  Node node;
  node.op = std::string(b.name()), node.name = of.name, node.attributes = of.attributes;
  node.inputs.assign(of.inputs.begin(), of.inputs.begin() + static_cast<std::ptrdiff_t>(b.num_ins));
  const auto outputs = of.inputs.begin() + static_cast<std::ptrdiff_t>(b.num_ins);
  node.outputs.assign(outputs, outputs + static_cast<std::ptrdiff_t>(b.num_outs));
  return node;
}

class Moves {
 public:
  Moves(Op& op, std::uint64_t moved) : b_(op), node_(forward_node(b_)), moved_(moved) {}

  Result<void> run() {
    LOOM_TRY_VOID(number_inputs());
    LOOM_TRY_VOID(number_outputs());
    for (std::size_t i = 0; i < b_.num_ins; ++i)
      if (b_.wants(i)) LOOM_TRY_VOID(collect(i));
    return {};
  }

 private:
  // Elements are numbered from 1 on, through all inputs: 0 is what comes from none.
  Result<void> number_inputs() {
    numbers_.resize(b_.num_ins), firsts_.resize(b_.num_ins);
    std::int64_t next = 1;
    for (std::size_t i = 0; i < b_.num_ins; ++i) {
      if (!b_.has_x(i) || !has_bit(moved_, i)) continue;
      numbers_[i] = b_.scratch(b_.x(i).dims, Type::i64);
      firsts_[i] = next;
      const std::size_t n = numbers_[i].elements();
      if (!b_.op.measures())
        for (std::size_t k = 0; k < n; ++k) numbers_[i].as<std::int64_t>()[k] = next + static_cast<std::int64_t>(k);
      next += static_cast<std::int64_t>(n);
    }
    return {};
  }

  Result<void> number_outputs() {
    // The number that a pad is filled with has the type of what is padded.
    const bool pads = node_.op == "Pad";
    if (pads) std::erase_if(node_.attributes, [](const auto& attribute) { return attribute.first == "value"; });
    Op forward(node_, b_.op.opset, b_.op.exec);
    for (std::size_t i = 0; i < b_.num_ins; ++i)
      forward.ins.push_back(numbers_[i].present()              ? &numbers_[i]
                            : b_.has_x(i) && !(pads && i == 2) ? &b_.x(i)
                                                               : nullptr);
    for (std::size_t i = 0; i < b_.num_outs; ++i) {
      if (b_.op.ins[b_.num_ins + i] == nullptr) return b_.op.refuse(Code::Unsupported, "output {} is left out", i);
      sources_.push_back(b_.scratch(b_.y(i).dims, Type::i64));
    }
    std::vector<Value> declared;
    forward.outs = b_.op.measures() ? &declared : &sources_;
    const OpRow* const row = find_op(node_);
    auto done = row->run(forward);
    b_.op.needs_value |= forward.needs_value;
    return done;
  }

  Result<void> collect(std::size_t i) {
    LOOM_TRY(Value* const dx, b_.dx(i));
    const std::size_t n = dx->elements();
    double* const sums = b_.op.exec.arena.take<double>(n);
    if (b_.op.measures()) return {};
    std::fill_n(sums, n, 0.0);
    const std::int64_t first = firsts_[i], last = first + static_cast<std::int64_t>(n);
    with_floats(*dx, [&]<class T>(T) {
      for (std::size_t o = 0; o < b_.num_outs; ++o) {
        if (b_.dy(o) == nullptr) continue;
        const T* const dy = b_.dy(o)->as<T>();
        const std::int64_t* const from = sources_[o].as<std::int64_t>();
        for (std::size_t k = 0; k < sources_[o].elements(); ++k)
          if (from[k] >= first && from[k] < last) sums[from[k] - first] += static_cast<double>(dy[k]);
      }
      for (std::size_t k = 0; k < n; ++k) dx->as<T>()[k] = snap(stored<T>(sums[k]));
    });
    round_to_type(*dx);
    return {};
  }

  Backward b_;
  Node node_;
  std::uint64_t moved_;
  std::vector<Value> numbers_, sources_;
  std::vector<std::int64_t> firsts_;
};

template <std::uint64_t Moved>
Result<void> moved(Op& op) {
  return Moves(op, Moved).run();
}

constexpr std::uint64_t kAll = ~0ull, kFirst = 1;

}  // namespace

std::span<const GradientRow> moving_gradients() {
  static constexpr std::array kRows{
      GradientRow{"Identity", reshaped_gradient, kFirst},
      GradientRow{"Dropout", reshaped_gradient, kFirst},
      GradientRow{"Reshape", reshaped_gradient, kFirst},
      GradientRow{"Flatten", reshaped_gradient, kFirst},
      GradientRow{"Squeeze", reshaped_gradient, kFirst},
      GradientRow{"Unsqueeze", reshaped_gradient, kFirst},
      GradientRow{"Transpose", moved<kFirst>, kFirst},
      GradientRow{"Expand", moved<kFirst>, kFirst},
      GradientRow{"Tile", moved<kFirst>, kFirst},
      GradientRow{"Concat", moved<kAll>, kAll},
      GradientRow{"Split", moved<kFirst>, kFirst, kAll},
      GradientRow{"Slice", moved<kFirst>, kFirst},
      GradientRow{"Pad", moved<kFirst>, kFirst},
      GradientRow{"Trilu", moved<kFirst>, kFirst},
      GradientRow{"DepthToSpace", moved<kFirst>, kFirst},
      GradientRow{"SpaceToDepth", moved<kFirst>, kFirst},
      GradientRow{"CenterCropPad", moved<kFirst>, kFirst},
      GradientRow{"Gather", moved<kFirst>, kFirst},
      GradientRow{"GatherElements", moved<kFirst>, kFirst},
      GradientRow{"GatherND", moved<kFirst>, kFirst},
      GradientRow{"ReverseSequence", moved<kFirst>, kFirst},
      GradientRow{"Where", moved<0b110>, 0b110},
  };
  return kRows;
}

}  // namespace loom::graph
