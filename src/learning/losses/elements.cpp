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
constinit const LossRow kMseLoss = {.kind = LossKind::Mse, .by_element = true, .evaluate = elements<ElementLoss::Mse>};
constinit const LossRow kMaeLoss = {.kind = LossKind::Mae, .by_element = true, .evaluate = elements<ElementLoss::Mae>};
constinit const LossRow kHuberLoss = {
    .kind = LossKind::Huber, .by_element = true, .reads = "delta", .evaluate = elements<ElementLoss::Huber>};
constinit const LossRow kCrossEntropyLoss = {
    .kind = LossKind::CrossEntropy, .by_element = true, .evaluate = elements<ElementLoss::CrossEntropy>};
constinit const LossRow kBceLoss = {.kind = LossKind::Bce, .by_element = true, .evaluate = elements<ElementLoss::Bce>};
constinit const LossRow kBceLogitsLoss = {
    .kind = LossKind::BceLogits, .by_element = true, .evaluate = elements<ElementLoss::BceLogits>};
constinit const LossRow kKlDivLoss = {.kind = LossKind::KlDiv, .evaluate = elements<ElementLoss::KlDiv>};
constinit const LossRow kHingeLoss = {
    .kind = LossKind::Hinge, .by_element = true, .evaluate = elements<ElementLoss::Hinge>};

}  // namespace loom
