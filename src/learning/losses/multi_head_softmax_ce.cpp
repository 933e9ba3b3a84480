#include "learning/losses/row.h"
#include "ops/loss/softmax_loss.h"

namespace loom {

extern const LossRow kMultiHeadLoss;
constinit const LossRow kMultiHeadLoss = {
    .kind = LossKind::MultiHeadSoftmax,
    .reads = "heads",
    .takes_classes = true,
    .evaluate = [](const Exec& exec, const LossConfig& config, const LossCall& call, const RowScale& scale,
                   Tensor values) {
      multi_head_crossentropy(
          exec, call.output, {.heads = config.heads, .values = call.target, .classes = call.classes, .mask = call.mask},
          scale, values, call.gradient);
    }};

}  // namespace loom
