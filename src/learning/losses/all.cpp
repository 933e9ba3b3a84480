#include <array>

#include "learning/losses/row.h"

namespace loom {

// elements.cpp
extern const LossRow kMseLoss, kMaeLoss, kHuberLoss, kCrossEntropyLoss, kBceLoss, kBceLogitsLoss, kKlDivLoss,
    kHingeLoss;
extern const LossRow kSoftmaxCrossEntropyLoss, kMultiHeadLoss, kCosineLoss, kContrastiveLoss;

std::span<const LossRow* const> loss_rows() {
  static constexpr std::array<const LossRow*, 12> all = {
      &kMseLoss,    &kMaeLoss,        &kHuberLoss, &kCrossEntropyLoss, &kSoftmaxCrossEntropyLoss,
      &kBceLoss,    &kBceLogitsLoss,  &kKlDivLoss, &kHingeLoss,        &kMultiHeadLoss,
      &kCosineLoss, &kContrastiveLoss};
  return all;
}

}  // namespace loom
