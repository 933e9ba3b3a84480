// Losses that are a formula of one output and one target.

#include "learning/losses/row.h"
#include "ops/loss/element_loss.h"

namespace loom {
namespace {

template <ElementLoss kLoss>
void elements(const Exec& exec, const LossConfig& config, const LossCall& call, const RowScale& scale, Tensor values) {
  element_loss(exec, kLoss, config.delta, call.output, call.target, scale, values, call.gradient);
}

}  // namespace

extern const LossRow kMseLoss, kMaeLoss, kHuberLoss, kCrossEntropyLoss, kBceLoss, kBceLogitsLoss, kKlDivLoss,
    kHingeLoss;
constinit const LossRow kMseLoss = {
    .names = "mse|mean_squared_error", .by_element = true, .evaluate = elements<ElementLoss::Mse>};
constinit const LossRow kMaeLoss = {.names = "mae|l1", .by_element = true, .evaluate = elements<ElementLoss::Mae>};
constinit const LossRow kHuberLoss = {
    .names = "huber|smooth_l1", .by_element = true, .reads = "delta", .evaluate = elements<ElementLoss::Huber>};
constinit const LossRow kCrossEntropyLoss = {
    .names = "crossentropy|cross_entropy_probs", .by_element = true, .evaluate = elements<ElementLoss::CrossEntropy>};
constinit const LossRow kBceLoss = {
    .names = "bce|binary_crossentropy", .by_element = true, .evaluate = elements<ElementLoss::Bce>};
constinit const LossRow kBceLogitsLoss = {
    .names = "bce_logits", .by_element = true, .evaluate = elements<ElementLoss::BceLogits>};
constinit const LossRow kKlDivLoss = {.names = "kl_div", .evaluate = elements<ElementLoss::KlDiv>};
constinit const LossRow kHingeLoss = {.names = "hinge", .by_element = true, .evaluate = elements<ElementLoss::Hinge>};

}  // namespace loom
