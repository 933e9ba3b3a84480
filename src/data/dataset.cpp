#include "data/dataset.h"

namespace loom {

Result<void> Dataset::read(std::span<const std::uint32_t> samples, const SampleBuffers& to) const {
  const std::size_t input = info_.input.elements(), target = info_.target.elements();
  const bool classes = info_.targets == TargetKind::classes;
  const std::size_t targets_given = classes ? to.labels.size() : to.values.size();
  if (to.inputs.size() / input < samples.size() || targets_given / target < samples.size())
    return fail(Code::ShapeMismatch, "{}: buffers of {} and {} numbers, {} samples of {} and {} are to be read",
                info_.source, to.inputs.size(), targets_given, samples.size(), info_.input.text(), info_.target.text());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] >= info_.samples)
      return fail(Code::IndexOutOfRange, "{}: sample {}, there are {}", info_.source, samples[i], info_.samples);
    SampleBuffers one{to.inputs.subspan(i * input, input), {}, {}};
    if (classes)
      one.labels = to.labels.subspan(i * target, target);
    else
      one.values = to.values.subspan(i * target, target);
    LOOM_TRY_VOID(read_sample(samples[i], one));
  }
  return {};
}

}  // namespace loom
