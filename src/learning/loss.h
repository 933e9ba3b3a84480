#pragma once
// Losses and their gradients with respect to the outputs (engine 6.2, where the formulas stand).
//   mse mae huber bce bce_logits hinge crossentropy  per element, divided by the number of elements
//   softmax_crossentropy kl_div multi_head_softmax_ce cosine contrastive  per row, divided by the number of rows (softmax_crossentropy: of those
//   counted; with class weights and class targets, by the sum of their weights, as in PyTorch)
// o and t are f32 or f64 tensors of one shape [..., C]; everything is computed in f64 on the CPU and a gradient is rounded once and snapped.
// Order of sums: along a row lanes16, over the rows chain64, dots of two rows and sums over the rows of contrastive chain64. Differences that are
// squared and probabilities are snapped, so nothing becomes subnormal on the way.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/exec.h"

namespace loom {

struct LossConfig {
  std::string name = "mse";
  double delta = 1;                            // huber
  double label_smoothing = 0;                  // softmax_crossentropy, 0 to 1
  std::optional<std::int64_t> ignore_index{};  // softmax_crossentropy with class targets: rows of this class do not count
  std::vector<double> class_weights{};         // softmax_crossentropy: C of them, or none
  std::vector<std::size_t> heads{};            // multi_head_softmax_ce: entries of each head, one after the other on the last axis
  double temperature = 0.07;                   // contrastive
};

struct LossCall {
  ConstView output;
  // Either the targets as a tensor of the output's shape and element, or classes: one per row for softmax_crossentropy, one per row and head
  // for multi_head_softmax_ce (which takes the largest entry of each head, the first of equals, from a tensor). Contrastive: the other view.
  ConstView target{};
  std::span<const std::int64_t> classes{};
  // One per sample, the entries of the first axis of [B, ..., C] (T-10): they multiply values and gradients, not the divisor.
  std::span<const double> sample_weights{};
  // multi_head_softmax_ce: f32 [rows, heads], above 0.5 where a head counts; none: all do.
  ConstTensor mask{};
  // Above 0: the joint divisor of several batches (T-41), the sum of their counts.
  double joint_count = 0;
  // Where gradients go, shaped as the output and of its element; without data: not wanted.
  Tensor gradient{};
  Tensor target_gradient{};  // contrastive only (`both`)
};

struct LossValue {
  double value = 0;
  double count = 0;  // what the sum was divided by when joint_count is 0; 0 when nothing counted (value and gradient are then 0)
};

class Loss {
 public:
  // UnknownName with the nearest names; InvalidConfig for a setting outside its range, or one that is not the standard and this loss does not have.
  static Result<Loss> create(const LossConfig& config);

  // ShapeMismatch for sizes that do not agree, InvalidArgument for what this loss does not take and for weights that are negative or not
  // finite, IndexOutOfRange for a class outside [0, C). A loss that is not finite is the caller's to see (T-04). Scratch: f64 [rows] of
  // exec.arena; contrastive: f64 [rows, rows + 3 C + 3].
  Result<LossValue> evaluate(const Exec& exec, const LossCall& call) const;

  // ShapeMismatch for class targets or class weights of another number than the output asks for; IndexOutOfRange for a class that it has not.
  Result<void> check_classes(const LossCall& call) const;
  // The divisor of evaluate() when joint_count is 0: a function of the output's shape and the targets, not of values.
  double count(const LossCall& call) const;
  // Whether targets may be classes.
  bool takes_classes() const { return kind_ == Kind::SoftmaxCrossEntropy || kind_ == Kind::MultiHead; }

  // Canonical name.
  std::string_view name() const;
  // Divided by the number of elements; else by that of rows.
  bool by_element() const;

 private:
  enum class Kind : std::uint8_t { Mse, Mae, Huber, CrossEntropy, SoftmaxCrossEntropy, Bce, BceLogits, KlDiv, Hinge, MultiHead, Cosine, Contrastive };
  Result<void> check_read() const;
  Result<void> check_call(const LossCall& call) const;
  Result<void> check_class_weights(const Shape& output) const;
  template <class T>
  double sum(const Exec& exec, const LossCall& call, double divisor) const;
  template <class T>
  double softmax_rows(const Exec& exec, const LossCall& call, double divisor) const;
  template <class T>
  double multi_head_rows(const Exec& exec, const LossCall& call, double divisor) const;

  Kind kind_ = Kind::Mse;
  LossConfig config_;
};

}  // namespace loom
