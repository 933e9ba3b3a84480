#include "graph/folding.h"

#include <algorithm>
#include <array>
#include <map>

namespace loom::graph {
namespace {

// An element that is read or written takes as long as so many multiply-adds of a product; a term of a plain loop, which
// finds its place by divisions, as many as this.
constexpr std::uint64_t kElement = 8;

std::uint64_t elements_in(const Op& op) {
  std::uint64_t sum = 0;
  for (const Value* in : op.ins)
    if (in != nullptr) sum = plus_work(sum, in->elements());
  return sum;
}

std::uint64_t elements_out(const Op& op) {
  std::uint64_t sum = 0;
  for (const Value& out : *op.outs)
    if (out.present()) sum = plus_work(sum, out.elements());
  return sum;
}

// Products of stacks, which are walked even where they hold nothing.
std::uint64_t work_of_stacks(const Op& op) {
  std::uint64_t products = 1;
  for (const std::size_t d : (*op.outs)[0].dims) products = times_work(products, std::max<std::size_t>(d, 1));
  const Dims& a = op.in(0).dims;
  return times_work(products, a.empty() ? 1 : std::max<std::size_t>(a.back(), 1));
}

std::uint64_t work_of_gemm(const Op& op) {
  const Dims& y = (*op.outs)[0].dims;
  return times_work(op.in(0).elements(), y.empty() ? 1 : y.back());
}

// Each output reads a filter.
std::uint64_t work_of_filters(const Op& op) {
  const Value& w = op.in(op.node.op == "QLinearConv" ? 3 : 1);
  const std::uint64_t filters = w.dims.empty() || w.dims[0] == 0 ? 1 : w.dims[0];
  const bool turns = op.node.op == "ConvTranspose";  // each input meets the filters of its channel
  return times_work(turns ? op.in(0).elements() : elements_out(op), w.elements() / filters);
}

std::uint64_t work_of_windows(const Op& op) {
  std::uint64_t work = times_work(elements_out(op), kElement);
  const Dims& in = op.in(0).dims;
  std::size_t axis = 2;  // what is padded takes no time
  for (const std::int64_t k : op.integers("kernel_shape")) {
    const std::size_t most = axis < in.size() ? std::max<std::size_t>(in[axis++], 1) : 1;
    work = times_work(work, std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(k, 1)), most));
  }
  return work;
}

std::uint64_t work_of_neighbours(const Op& op) {
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(op.integer("size", 1), 1));
  return times_work(times_work(op.in(0).elements(), size), kElement);
}

// Every step multiplies by the weights of the gates and the recurrent ones.
std::uint64_t work_of_steps(const Op& op) {
  const Dims& x = op.in(0).dims;
  const std::uint64_t rows = x.size() < 2 ? 1 : times_work(x[0], x[1]);
  return times_work(rows, plus_work(op.in(1).elements(), op.in(2).elements()));
}

std::uint64_t work_of_sorting(const Op& op) { return times_work(op.in(0).elements(), 32 * kElement); }

// Sixty-four taps at most where three axes are cubic.
std::uint64_t work_of_resizing(const Op& op) {
  return times_work(plus_work(elements_in(op), elements_out(op)), 64 * kElement);
}

// The extents of an Einsum's labels, those that an ellipsis stands for included.
class LabelExtents {
 public:
  // `part` is an input of the equation without spaces, as "b...ij".
  void add(std::string_view part, const Dims& dims) {
    const auto letters = static_cast<std::size_t>(std::ranges::count_if(part, [](char c) { return c != '.'; }));
    const bool has_dots = letters != part.size();
    const std::size_t hidden = has_dots && dims.size() > letters ? dims.size() - letters : 0;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '.') {
        if (i != 0 && part[i - 1] == '.') continue;
        for (std::size_t h = 0; h < hidden; ++h, ++axis) raise(-static_cast<int>(hidden - h), dims[axis]);
      } else if (axis < dims.size()) {
        raise(part[i], dims[axis++]);
      }
    }
  }
  std::uint64_t combinations() const {
    std::uint64_t all = 1;
    for (const auto& [label, extent] : extents_) all = times_work(all, extent);
    return all;
  }
  std::size_t size() const { return extents_.size(); }

 private:
  void raise(int label, std::size_t extent) {
    auto& held = extents_[label];
    held = std::max({held, extent, std::size_t{1}});
  }
  std::map<int, std::size_t> extents_;  // axes of an ellipsis count from the last one
};

// Every combination of the labels reads all inputs, whose places are found label by label.
std::uint64_t work_of_einsum(const Op& op) {
  std::string text = op.text("equation", "");
  std::erase(text, ' ');
  text = text.substr(0, text.find("->"));
  LabelExtents labels;
  std::size_t begin = 0;
  for (std::size_t input = 0; op.has(input) && begin <= text.size(); ++input) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    labels.add(std::string_view(text).substr(begin, end - begin), op.in(input).dims);
    begin = end + 1;
  }
  const std::uint64_t terms = times_work(labels.combinations(), times_work(op.num_ins(), kElement));
  return times_work(terms, std::max<std::size_t>(labels.size(), 1));
}

// Every output may read every input.
std::uint64_t work_of_pairs(const Op& op) { return times_work(elements_in(op), elements_out(op)); }

// Every score's box is compared with the others.
std::uint64_t work_of_boxes(const Op& op) { return times_work(op.in(0).elements(), op.in(1).elements()); }

struct KnownWork {
  std::string_view op;
  std::uint64_t (*work)(const Op&);  // beside the elements that are read and written
};
constexpr std::array kWork{KnownWork{"MatMul", work_of_stacks},
                           KnownWork{"MatMulInteger", work_of_stacks},
                           KnownWork{"QLinearMatMul", work_of_stacks},
                           KnownWork{"Gemm", work_of_gemm},
                           KnownWork{"Einsum", work_of_einsum},
                           KnownWork{"Conv", work_of_filters},
                           KnownWork{"ConvInteger", work_of_filters},
                           KnownWork{"QLinearConv", work_of_filters},
                           KnownWork{"ConvTranspose", work_of_filters},
                           KnownWork{"MaxPool", work_of_windows},
                           KnownWork{"AveragePool", work_of_windows},
                           KnownWork{"LpPool", work_of_windows},
                           KnownWork{"LRN", work_of_neighbours},
                           KnownWork{"LSTM", work_of_steps},
                           KnownWork{"GRU", work_of_steps},
                           KnownWork{"RNN", work_of_steps},
                           KnownWork{"com.microsoft.DynamicQuantizeLSTM", work_of_steps},
                           KnownWork{"Attention", work_of_pairs},
                           KnownWork{"DFT", work_of_pairs},
                           KnownWork{"STFT", work_of_pairs},
                           KnownWork{"NonMaxSuppression", work_of_boxes},
                           KnownWork{"GridSample", work_of_resizing},
                           KnownWork{"TopK", work_of_sorting},
                           KnownWork{"Resize", work_of_resizing},
                           KnownWork{"Upsample", work_of_resizing}};

// Their time is that of the elements they read and write.
constexpr std::string_view kLinear[] = {"Abs",
                                        "Acos",
                                        "Acosh",
                                        "Add",
                                        "AffineGrid",
                                        "And",
                                        "ArgMax",
                                        "ArgMin",
                                        "Asin",
                                        "Asinh",
                                        "Atan",
                                        "Atanh",
                                        "BatchNormalization",
                                        "BitShift",
                                        "BitwiseAnd",
                                        "BitwiseNot",
                                        "BitwiseOr",
                                        "BitwiseXor",
                                        "BlackmanWindow",
                                        "Cast",
                                        "CastLike",
                                        "Ceil",
                                        "Celu",
                                        "CenterCropPad",
                                        "Clip",
                                        "Compress",
                                        "Concat",
                                        "Constant",
                                        "ConstantOfShape",
                                        "Cos",
                                        "Cosh",
                                        "CumProd",
                                        "CumSum",
                                        "DepthToSpace",
                                        "DequantizeLinear",
                                        "Div",
                                        "Dropout",
                                        "DynamicQuantizeLinear",
                                        "Elu",
                                        "Equal",
                                        "Erf",
                                        "Exp",
                                        "Expand",
                                        "EyeLike",
                                        "Flatten",
                                        "Floor",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Gelu",
                                        "GlobalAveragePool",
                                        "GlobalLpPool",
                                        "GlobalMaxPool",
                                        "Greater",
                                        "GreaterOrEqual",
                                        "GroupNormalization",
                                        "HammingWindow",
                                        "HannWindow",
                                        "HardSigmoid",
                                        "HardSwish",
                                        "Hardmax",
                                        "Identity",
                                        "InstanceNormalization",
                                        "IsInf",
                                        "IsNaN",
                                        "LayerNormalization",
                                        "LeakyRelu",
                                        "Less",
                                        "LessOrEqual",
                                        "Log",
                                        "LogSoftmax",
                                        "LpNormalization",
                                        "Max",
                                        "Mean",
                                        "MeanVarianceNormalization",
                                        "Min",
                                        "Mish",
                                        "Mod",
                                        "Mul",
                                        "Neg",
                                        "NegativeLogLikelihoodLoss",
                                        "NonZero",
                                        "Not",
                                        "OneHot",
                                        "Or",
                                        "PRelu",
                                        "Pad",
                                        "Pow",
                                        "QuantizeLinear",
                                        "RMSNormalization",
                                        "Range",
                                        "Reciprocal",
                                        "ReduceL1",
                                        "ReduceL2",
                                        "ReduceLogSum",
                                        "ReduceLogSumExp",
                                        "ReduceMax",
                                        "ReduceMean",
                                        "ReduceMin",
                                        "ReduceProd",
                                        "ReduceSum",
                                        "ReduceSumSquare",
                                        "Relu",
                                        "Reshape",
                                        "ReverseSequence",
                                        "Round",
                                        "Scatter",
                                        "ScatterElements",
                                        "ScatterND",
                                        "Selu",
                                        "Shape",
                                        "Shrink",
                                        "Sigmoid",
                                        "Sign",
                                        "Sin",
                                        "Sinh",
                                        "Size",
                                        "RotaryEmbedding",
                                        "Slice",
                                        "Softmax",
                                        "SoftmaxCrossEntropyLoss",
                                        "Softplus",
                                        "Softsign",
                                        "SpaceToDepth",
                                        "Split",
                                        "Sqrt",
                                        "Squeeze",
                                        "Sub",
                                        "Sum",
                                        "SwiGLU",
                                        "Swish",
                                        "Tan",
                                        "Tanh",
                                        "TensorScatter",
                                        "ThresholdedRelu",
                                        "Tile",
                                        "Transpose",
                                        "Trilu",
                                        "Unsqueeze",
                                        "Where",
                                        "Xor"};

}  // namespace

bool has_known_work(std::string_view op) {
  return std::ranges::find(kWork, op, &KnownWork::op) != kWork.end() ||
         std::ranges::find(kLinear, op) != std::end(kLinear);
}

std::uint64_t work_of_op(const Op& op) {
  const std::uint64_t read = elements_in(op), written = elements_out(op);
  const std::uint64_t linear = plus_work(1, times_work(plus_work(read, written), kElement));
  if (const auto found = std::ranges::find(kWork, std::string_view(op.node.op), &KnownWork::op); found != kWork.end())
    return plus_work(linear, found->work(op));
  return has_known_work(op.node.op) ? linear : plus_work(linear, times_work(read, written));
}

}  // namespace loom::graph
