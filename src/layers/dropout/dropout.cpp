#include "layers/dropout/dropout.h"

#include "ops/dropout/dropout.h"

namespace loom {

constinit const LayerKind Dropout::kKind{
    .id = 23,
    .name = "dropout",
    .help = "y = x m / (1 - rate) in training, m drawn as 0 or 1 for each element; else y = x",
    .shapes = "any shape -> the same shape",
    .make = make_layer<Dropout>};

Result<void> Dropout::build() {
  if (!(config_.rate >= 0 && config_.rate < 1))
    return fail(Code::InvalidConfig, "dropout rate {}, expected from 0 to below 1", config_.rate);
  return {};
}

void Dropout::apply(const Run& run, const ConstView& from, const View& to) const {
  if (run.training && config_.rate > 0)
    dropout(run, from, config_.rate, {run.seed, RandomDomain::Dropout, run.step, site}, to,
            run.first_element(from.shape));
  else
    copy(run, from, to);
}

}  // namespace loom
