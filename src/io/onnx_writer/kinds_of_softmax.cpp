// Ten ways to make probabilities of a row.

#include <limits>
#include <numeric>

#include "io/onnx_writer/emitter.h"

namespace loom::onnx_out {
namespace {

const Attributes kLastAxis{{"axis", std::int64_t{-1}}};

Value soft(Emitter& emit, const Part& part, const Value& x) {
  return emit.op(part.path, "Softmax", x, {x.name}, kLastAxis);
}

// The last axis in `count` parts: [..., count, width].
Result<Value> in_parts(Emitter& emit, const Part& part, const Value& x, std::size_t count) {
  std::vector<std::size_t> extents(x.shape.extents().begin(), x.shape.extents().end());
  extents.back() = count;
  extents.push_back(x.shape.cols() / count);
  LOOM_TRY(const Shape shape, Shape::create(extents));
  return emit.reshape(part.path, x, shape);
}

// Elements [begin, begin + count * width) as `count` softmaxes, [..., count, width].
Result<Value> softmaxes(Emitter& emit, const Part& part, const Value& x, std::size_t begin, std::size_t count,
                        std::size_t width) {
  LOOM_TRY(const Value own, emit.slice(part.path, x, x.shape.rank() - 1, begin, begin + count * width));
  LOOM_TRY(const Value parts, in_parts(emit, part, own, count));
  return soft(emit, part, parts);
}

Result<Value> tree(Emitter& emit, const Part& part, const Value& x, const std::vector<std::size_t>& levels) {
  std::size_t at = 0, parents = 1;
  std::optional<Value> above;  // [..., parents]
  for (const std::size_t children : levels) {
    LOOM_TRY(Value q, softmaxes(emit, part, x, at, parents, children));
    if (above) {
      const std::string wide = emit.graph.node(part.path, "Unsqueeze", {above->name, emit.graph.ints({-1})});
      q = emit.op(part.path, "Mul", q, {q.name, wide});
    }
    at += parents * children, parents *= children;
    LOOM_TRY(const Shape flat, x.shape.with_cols(parents));
    above = emit.reshape(part.path, q, flat);
  }
  return *above;
}

Result<Value> adaptive(Emitter& emit, const Part& part, const Value& x, const std::vector<std::size_t>& cutoffs) {
  const std::size_t last = x.shape.rank() - 1, tails = cutoffs.size() - 1;
  std::size_t at = cutoffs[0] + tails;
  LOOM_TRY(const Value scores, emit.slice(part.path, x, last, 0, at));
  const Value head = soft(emit, part, scores);
  LOOM_TRY(const Value words, emit.slice(part.path, head, last, 0, cutoffs[0]));
  std::vector<std::string> parts{words.name};
  for (std::size_t k = 0; k < tails; ++k) {
    const std::size_t width = cutoffs[k + 1] - cutoffs[k];
    LOOM_TRY(const Value own, emit.slice(part.path, x, last, at, at + width));
    LOOM_TRY(const Value share, emit.slice(part.path, head, last, cutoffs[0] + k, cutoffs[0] + k + 1));
    const Value tail = soft(emit, part, own);
    parts.push_back(emit.op(part.path, "Mul", tail, {tail.name, share.name}).name);
    at += width;
  }
  LOOM_TRY(const Shape shape, x.shape.with_cols(cutoffs.back()));
  return emit.op(part.path, "Concat", shape, parts, kLastAxis);
}

Result<Value> mixture(Emitter& emit, const Part& part, const Value& x, std::size_t count) {
  const std::size_t width = (x.shape.cols() - count) / count;
  LOOM_TRY(const Value shares, softmaxes(emit, part, x, 0, 1, count));
  LOOM_TRY(const Value blocks, softmaxes(emit, part, x, count, count, width));
  const Value mixed = emit.op(part.path, "MatMul", with_extent(shares.shape, shares.shape.rank() - 1, width),
                              {shares.name, blocks.name});
  LOOM_TRY(const Shape shape, x.shape.with_cols(width));
  return emit.reshape(part.path, mixed, shape);
}

// max(0, z - tau) with a sum of 1, by the sorted row (Martins & Astudillo 2016, algorithm 1).
Value sparse(Emitter& emit, const Part& part, const Value& x) {
  const std::size_t n = x.shape.cols();
  const Shape one = with_extent(x.shape, x.shape.rank() - 1, 1);
  const Attributes keeps{{"keepdims", std::int64_t{1}}};
  const std::string last = emit.graph.ints({-1});
  const auto sorted =
      emit.graph.nodes(part.path, "TopK", {x.name, emit.graph.ints({static_cast<std::int64_t>(n)})}, kLastAxis, 2);
  std::vector<float> counts(n);
  std::iota(counts.begin(), counts.end(), 1.0f);
  const std::string ranks = emit.graph.floats(fmt::format("constant/1..{}", n), {{n}}, counts);
  const std::string sums = emit.graph.node(part.path, "CumSum", {sorted[0], last});
  const std::string product = emit.graph.node(part.path, "Mul", {sorted[0], ranks});
  const std::string above = emit.graph.node(part.path, "Add", {product, emit.graph.scalar(1)});
  const std::string inside = emit.graph.node(part.path, "Greater", {above, sums});
  const std::string counted = emit.graph.node(part.path, "Cast", {inside}, {{"to", std::int64_t{1}}});
  const std::string size = emit.graph.node(part.path, "ReduceSum", {counted, last}, keeps);
  const std::string kept = emit.graph.node(part.path, "Mul", {sorted[0], counted});
  const std::string total = emit.graph.node(part.path, "ReduceSum", {kept, last}, keeps);
  const std::string excess = emit.graph.node(part.path, "Sub", {total, emit.graph.scalar(1)});
  const Value tau = emit.op(part.path, "Div", one, {excess, size});
  const Value gap = emit.op(part.path, "Sub", x, {x.name, tau.name});
  return emit.op(part.path, "Relu", x, {gap.name});
}

Result<Value> masked(Emitter& emit, const Part& part, const Value& x) {
  const std::vector<bool> counts = part.settings.flags("mask");
  std::vector<float> added(x.shape.cols(), 0);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (!counts[i]) added[i] = -std::numeric_limits<float>::infinity();
  const std::string mask = emit.graph.floats(part.path + ".mask", {{added.size()}}, added);
  return soft(emit, part, emit.op(part.path, "Add", x, {x.name, mask}));
}

Result<Value> entmax(Emitter& emit, const Part& part, const Value& x) {
  const bool blend = part.settings.text("entmax_mode") == "blend";
  double alpha = part.settings.number("entmax_alpha");
  if (alpha == 0) alpha = 1.5;
  if (blend) alpha = alpha < 1 ? 1 : alpha > 2 ? 2 : alpha;
  if (alpha == 1) return soft(emit, part, x);
  if (alpha == 2) return sparse(emit, part, x);
  if (!blend) return unsupported(part.path, "softmax: ONNX has no entmax but of alpha 1 or 2, and mode blend");
  const Value a = emit.with(part.path, "Mul", soft(emit, part, x), static_cast<float>(2 - alpha));
  const Value b = emit.with(part.path, "Mul", sparse(emit, part, x), static_cast<float>(alpha - 1));
  return emit.op(part.path, "Add", x, {a.name, b.name});
}

}  // namespace

Result<Value> emit_softmax(Emitter& emit, const Part& part, const Value& input) {
  const Settings& s = part.settings;
  const std::string type = s.text("softmax_type");
  Value x = input;
  if (const double t = s.number("temperature"); t > 0 && t != 1)
    x = emit.with(part.path, "Div", x, static_cast<float>(t));
  if (type == "masked") return masked(emit, part, x);
  if (type == "sparse") return sparse(emit, part, x);
  if (type == "entmax") return entmax(emit, part, x);
  if (type == "gumbel" && (s.flag("gumbel_noise") || s.flag("gumbel_hard")))
    return unsupported(part.path, "softmax: gumbel draws noise or picks one entry");
  if (type == "mixture" && s.size("mixture_count") > 1) return mixture(emit, part, x, s.size("mixture_count"));
  if (const auto cutoffs = s.sizes("adaptive_cutoffs"); type == "adaptive" && !cutoffs.empty())
    return adaptive(emit, part, x, cutoffs);
  std::size_t width = x.shape.cols();
  if (const auto levels = s.sizes("hierarchy_levels"); type == "hierarchical" && !levels.empty()) {
    if (s.text("hierarchy_mode") == "tree") return tree(emit, part, x, levels);
    width = levels.back();
  } else if (const std::size_t rows = s.size("softmax_rows"), cols = s.size("softmax_cols");
             type == "grid" && (rows != 0 || cols != 0)) {
    width = cols != 0 ? cols : width / rows;
  }
  if (width == x.shape.cols()) return soft(emit, part, x);
  LOOM_TRY(const Value parts, softmaxes(emit, part, x, 0, x.shape.cols() / width, width));
  return emit.reshape(part.path, parts, x.shape);
}

}  // namespace loom::onnx_out
