#include "layers/dropout/dropout.h"

#include "ops/dropout/dropout.h"

namespace loom {

Result<void> Dropout::build() {
  if (!(config_.rate >= 0 && config_.rate < 1)) return fail(Code::InvalidConfig, "dropout rate {}, expected from 0 to below 1", config_.rate);
  return {};
}

void Dropout::run(const Exec& exec, const Pass& pass, const ConstView& from, const View& to) const {
  if (pass.training && config_.rate > 0)
    dropout(exec, from, config_.rate, {pass.seed, RandomDomain::Dropout, pass.step, site}, to, first_element(pass, from.shape));
  else
    copy(exec, from, to);
}

}  // namespace loom
