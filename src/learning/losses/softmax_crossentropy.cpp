#include "learning/losses/row.h"
#include "ops/loss/softmax_loss.h"

namespace loom {

extern const LossRow kSoftmaxCrossEntropyLoss;
constinit const LossRow kSoftmaxCrossEntropyLoss = {
    .kind = LossKind::SoftmaxCrossEntropy,
    .reads = "label_smoothing|ignore_index|class_weights",
    .takes_classes = true,
    .evaluate = [](const Exec& exec, const LossConfig& config, const LossCall& call, const RowScale& scale,
                   Tensor values) {
      softmax_crossentropy(exec, call.output,
                           {.values = call.target,
                            .classes = call.classes,
                            .ignore_index = config.ignore_index,
                            .class_weights = config.class_weights,
                            .label_smoothing = config.label_smoothing},
                           scale, values, call.gradient);
    }};

}  // namespace loom
