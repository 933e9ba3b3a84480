#include "learning/losses/row.h"
#include "ops/loss/direction_loss.h"

namespace loom {

extern const LossRow kContrastiveLoss;
constinit const LossRow kContrastiveLoss = {.kind = LossKind::Contrastive,
                                            .reads = "temperature",
                                            .across_samples = true,
                                            .evaluate = [](const Exec& exec, const LossConfig& config,
                                                           const LossCall& call, const RowScale& scale, Tensor values) {
                                              contrastive_loss(exec, call.output, call.target, config.temperature,
                                                               scale, values, call.gradient, call.target_gradient);
                                            }};

}  // namespace loom
