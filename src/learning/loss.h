#pragma once
// Losses and their gradients with respect to the outputs (engine 6.2, where the formulas stand).
//   mse mae huber bce bce_logits hinge crossentropy  per element, divided by the number of elements
//   softmax_crossentropy kl_div multi_head_softmax_ce cosine contrastive  per row, divided by the number of rows
//     (softmax_crossentropy: of those
//   counted; with class weights and class targets, by the sum of their weights, as in PyTorch)
// o and t are f32 or f64 tensors of one shape [..., C]. Each row has one value, and it and the gradient are computed in
// the element type by the ops of src/ops/loss, whose headers state the orders of sums; the host adds the rows' values,
// times their samples' weights, in f64 by chain64.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/figures.h"

namespace loom {

enum class LossKind : std::uint8_t {
  Mse,
  Mae,
  Huber,
  CrossEntropy,
  SoftmaxCrossEntropy,
  Bce,
  BceLogits,
  KlDiv,
  Hinge,
  MultiHeadSoftmax,
  Cosine,
  Contrastive
};
// Names in the order of LossKind, the canonical one before its aliases.
inline constexpr std::array<std::string_view, 12> kLossNames = {"mse|mean_squared_error",
                                                                "mae|l1",
                                                                "huber|smooth_l1",
                                                                "crossentropy|cross_entropy_probs",
                                                                "softmax_crossentropy|cross_entropy|ce",
                                                                "bce|binary_crossentropy",
                                                                "bce_logits",
                                                                "kl_div",
                                                                "hinge",
                                                                "multi_head_softmax_ce",
                                                                "cosine",
                                                                "contrastive|info_nce"};
std::string_view name(LossKind kind);
// UnknownName with the nearest names.
Result<LossKind> loss_from_name(std::string_view name);

struct LossConfig {
  LossKind kind = LossKind::Mse;
  double delta = 1;            // huber
  double label_smoothing = 0;  // softmax_crossentropy, 0 to 1
  // softmax_crossentropy with class targets: rows of this class do not count
  std::optional<std::int64_t> ignore_index{};
  std::vector<double> class_weights{};  // softmax_crossentropy: C of them, or none
  // multi_head_softmax_ce: entries of each head, one after the other on the last axis
  std::vector<std::size_t> heads{};
  double temperature = 0.07;  // contrastive
};

struct LossCall {
  ConstView output;
  // Either the targets as a tensor of the output's shape and element, or classes: one per row for softmax_crossentropy,
  // one per row and head for multi_head_softmax_ce (which takes the largest entry of each head, the first of equals,
  // from a tensor). Contrastive: the other view.
  ConstView target{};
  std::span<const std::int64_t> classes{};
  // One per sample, the entries of the first axis of [B, ..., C] (T-10): they multiply values and gradients, not the
  // divisor.
  std::span<const double> sample_weights{};
  // multi_head_softmax_ce: f32 [rows, heads], above 0.5 where a head counts; none: all do.
  ConstTensor mask{};
  // Above 0: the joint divisor of several batches (T-41), the sum of their counts.
  double joint_count = 0;
  // Receives the gradients, in the shape and element type of the output; without data they are not computed.
  Tensor gradient{};
  Tensor target_gradient{};  // contrastive only (`both`)
};

struct LossValue {
  double value = 0;
  // what the sum was divided by when joint_count is 0; 0 when nothing counted (value and gradient are then 0)
  double count = 0;
};

// A loss that a pass has computed, but for the sum over its rows.
struct PendingLoss {
  ConstTensor rows;  // [rows, 1]
  std::span<const double> sample_weights{};
  double divisor = 1, count = 0;
  LossValue value(const Figures& figures) const;
};

struct LossRow;  // losses/row.h

class Loss {
 public:
  // InvalidConfig for a setting outside its range, or one that is not the standard and this loss does not have.
  static Result<Loss> create(const LossConfig& config);

  // ShapeMismatch for sizes that do not agree, InvalidArgument for what this loss does not take and for weights that
  // are negative or not finite, IndexOutOfRange for a class outside [0, C). A loss that is not finite is the caller's
  // to see (T-04). Scratch from exec.arena: as much as a rehearsal takes.
  Result<LossValue> evaluate(const Exec& exec, const LossCall& call) const;
  // Like evaluate() as part of a pass, in which nothing is read: writes the gradient, and the rows' values into
  // `figures`, from which value() adds them up after the pass. Sets `failed` [1] of f32 where a row's value is not
  // finite. The arena serves nothing else: record() clears it, and allocates it again where a rehearsal takes more than
  // it has. Sample weights must live as long as the pass.
  Result<PendingLoss> record(const Exec& exec, const LossCall& call, Figures& figures, Tensor failed) const;

  // ShapeMismatch for class targets or class weights of another number than the output asks for; IndexOutOfRange for a
  // class that it has not.
  Result<void> check_classes(const LossCall& call) const;
  // For values that a user gives, in host memory: OutOfRange for one outside 0 to 1 of bce and bce_logits, whose loss
  // has no least value then. Values that are not finite are left to the step.
  Result<void> check_values(const ConstView& values) const;
  // The divisor of evaluate() when joint_count is 0: a function of the output's shape and the targets, not of values.
  double count(const LossCall& call) const;
  // Returns whether targets may be classes.
  bool takes_classes() const;
  // Returns whether a row's loss depends on the other rows of its batch.
  bool across_samples() const;

  LossKind kind() const { return config_.kind; }
  std::string_view name() const { return loom::name(config_.kind); }
  // Divided by the number of elements; else by that of rows.
  bool by_element() const;

 private:
  bool reads(std::string_view key) const;
  Result<void> check_read() const;
  Result<void> check_call(const LossCall& call) const;
  PendingLoss run(const Exec& exec, const LossCall& call, Tensor rows) const;
  Result<void> check_class_weights(const Shape& output) const;

  const LossRow* row_ = nullptr;
  LossConfig config_;
};

}  // namespace loom
