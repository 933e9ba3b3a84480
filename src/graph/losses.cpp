// Losses of class numbers, as graphs of training have them: sums over samples in f64, in one chain.

#include <array>

#include "graph/operation.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

enum class Reduce : std::uint8_t { none, sum, mean };

// x [N, C, d...] of logarithms, classes [N, d...]; weights by class.
Result<void> nll(Op& op, const Value& x, const double* logs, std::size_t out) {
  const Value& classes = op.in(1);
  Dims dims = x.dims;
  dims.erase(dims.begin() + 1);
  if (classes.dims != dims || store_of(classes.type) != Store::i64)
    return op.refuse(Code::ShapeMismatch, "classes of {}", text_of(classes.dims));
  const std::size_t num_classes = x.dims[1], inner = count(std::span(x.dims).subspan(2));
  if (op.has(2) && op.in(2).elements() != num_classes)
    return op.refuse(Code::ShapeMismatch, "weights of {}", text_of(op.in(2).dims));
  const std::string text = op.text("reduction", "mean");
  const Reduce how = text == "none" ? Reduce::none : text == "sum" ? Reduce::sum : Reduce::mean;
  const bool ignores = op.has_attribute("ignore_index");
  const std::int64_t ignored = op.integer("ignore_index", 0);
  LOOM_TRY(Value* const y, op.out(out, x.type, how == Reduce::none ? dims : Dims{}));
  if (op.measures()) return {};
  double sum = 0, weights = 0;
  const auto put = [&](std::size_t i, double v) {
    with_store(store_of(x.type), [&]<class T>(T) { y->as<T>()[i] = snap(stored<T>(v)); });
  };
  for (std::size_t i = 0; i < classes.elements(); ++i) {
    const std::int64_t label = classes.as<std::int64_t>()[i];
    double loss = 0;
    if (!ignores || label != ignored) {
      if (label < 0 || label >= static_cast<std::int64_t>(num_classes))
        return op.refuse(Code::IndexOutOfRange, "class {} of {}", label, num_classes);
      const auto c = static_cast<std::size_t>(label);
      const double w = op.has(2) ? op.in(2).number(c) : 1;
      const std::size_t at = (i / inner * num_classes + c) * inner + i % inner;
      loss = -w * (logs != nullptr ? logs[at] : x.number(at));
      weights += w;
    }
    sum += loss;
    if (how == Reduce::none) put(i, loss);
  }
  if (how != Reduce::none) put(0, how == Reduce::sum ? sum : sum / weights);
  round_to_type(*y);
  return {};
}

Result<void> check_scores(const Op& op) {
  if (op.in(0).rank() >= 2 && is_float(op.in(0).type)) return {};
  return op.refuse(Code::ShapeMismatch, "of {}", text_of(op.in(0).dims));
}

Result<void> negative_log_likelihood(Op& op) {
  LOOM_TRY_VOID(check_scores(op));
  return nll(op, op.in(0), nullptr, 0);
}

Result<void> softmax_cross_entropy(Op& op) {
  LOOM_TRY_VOID(check_scores(op));
  const Value& x = op.in(0);
  if (op.wants(1)) LOOM_TRY_VOID(op.out(1, x.type, x.dims));
  double* const logs = op.exec.arena.take<double>(x.elements());
  const std::size_t n = x.dims[1], inner = count(std::span(x.dims).subspan(2));
  for (std::size_t line = 0; n != 0 && line < x.elements() / n && !op.measures(); ++line) {
    const std::size_t first = line / inner * n * inner + line % inner;
    double most = x.number(first), sum = 0;
    for (std::size_t c = 1; c < n; ++c) most = x.number(first + c * inner) > most ? x.number(first + c * inner) : most;
    for (std::size_t c = 0; c < n; ++c) sum += exp64(x.number(first + c * inner) - most);
    for (std::size_t c = 0; c < n; ++c) logs[first + c * inner] = x.number(first + c * inner) - most - log64(sum);
  }
  if (op.wants(1) && !op.measures())
    with_store(store_of(x.type), [&]<class T>(T) {
      for (std::size_t i = 0; i < x.elements(); ++i) (*op.outs)[1].as<T>()[i] = snap(stored<T>(logs[i]));
    });
  return nll(op, x, logs, 0);
}

}  // namespace

std::span<const OpRow> loss_rows() {
  static constexpr std::array kRows{
      OpRow{"NegativeLogLikelihoodLoss", negative_log_likelihood, false, 2},
      OpRow{"SoftmaxCrossEntropyLoss", softmax_cross_entropy, false, 2},
  };
  return kRows;
}

}  // namespace loom::graph
