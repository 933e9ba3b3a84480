#include "learning/losses/row.h"
#include "ops/loss/direction_loss.h"

namespace loom {

extern const LossRow kCosineLoss;
constinit const LossRow kCosineLoss = {
    .kind = LossKind::Cosine,
    .evaluate = [](const Exec& exec, const LossConfig&, const LossCall& call, const RowScale& scale, Tensor values) {
      cosine_loss(exec, call.output, call.target, scale, values, call.gradient);
    }};

}  // namespace loom
