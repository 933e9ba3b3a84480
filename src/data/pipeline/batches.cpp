#include "data/pipeline/batches.h"

#include <algorithm>

#include "core/checked.h"
#include "data/pipeline/order.h"

namespace loom {

Result<Batches> Batches::create(const Dataset& data, std::vector<std::uint32_t> samples, const BatchConfig& config,
                                Normalisation normalisation) {
  const DatasetInfo& about = data.info();
  if (config.batch_size == 0) return fail(Code::InvalidConfig, "{}: batches of 0 samples", about.source);
  for (const std::uint32_t s : samples)
    if (s >= about.samples)
      return fail(Code::IndexOutOfRange, "{}: sample {}, there are {}", about.source, s, about.samples);
  Batches out(data, config);
  out.config_.batch_size = std::min(config.batch_size, std::max<std::size_t>(1, samples.size()));
  // A batch that no part of the data fills stays short, and is dropped where short ones are.
  if (config.drop_last && config.batch_size > samples.size()) samples.clear();
  LOOM_TRY(out.output_, config.augment.output_shape(about.input));
  LOOM_TRY_VOID(normalisation.check(out.output_));
  out.normalisation_ = std::move(normalisation);
  LOOM_TRY(const std::size_t inputs, checked_product({out.config_.batch_size, out.output_.elements(), sizeof(float)}));
  LOOM_TRY(const std::size_t targets,
           checked_product({out.config_.batch_size, about.target.elements(), sizeof(float)}));
  LOOM_TRY(out.inputs_, Buffer::create(inputs));
  LOOM_TRY(out.targets_, Buffer::create(targets));
  if (config.augment.moves_pixels()) {
    LOOM_TRY(out.raw_, Buffer::create(about.input.elements() * sizeof(float)));
  }
  out.given_ = std::move(samples);
  out.order_ = out.given_;
  LOOM_TRY_VOID(out.seek(0, 0));
  return out;
}

std::size_t Batches::batches() const {
  return config_.drop_last ? order_.size() / config_.batch_size : ceil_div(order_.size(), config_.batch_size);
}

Result<void> Batches::seek(std::uint32_t epoch, std::size_t position) {
  if (position > order_.size())
    return fail(Code::OutOfRange, "{}: position {} of epoch {}, which has {} samples", data_->info().source, position,
                epoch, order_.size());
  epoch_ = epoch;
  position_ = position;
  std::ranges::copy(given_, order_.begin());
  if (config_.shuffle) shuffle(order_, config_.seed, epoch);
  return {};
}

Result<bool> Batches::next(Batch& batch) {
  const DatasetInfo& about = data_->info();
  const std::size_t end = (position_ / config_.batch_size + 1) * config_.batch_size;
  if (position_ == order_.size() || (config_.drop_last && end > order_.size())) return false;
  const std::size_t count = std::min(end, order_.size()) - position_, input = output_.elements(),
                    target = about.target.elements();
  batch = {};
  batch.size = count;
  batch.samples = std::span(order_).subspan(position_, count);
  const bool classes = about.targets == TargetKind::classes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<float> sample(inputs_.as<float>() + i * input, input);
    const std::span<float> raw = raw_.size() == 0 ? sample : std::span(raw_.as<float>(), about.input.elements());
    SampleBuffers to{raw, {}, {}};
    if (classes)
      to.labels = {targets_.as<std::int32_t>() + i * target, target};
    else
      to.values = {targets_.as<float>() + i * target, target};
    LOOM_TRY_VOID(data_->read(batch.samples.subspan(i, 1), to));
    const SampleKey key{config_.seed, epoch_, batch.samples[i]};
    if (raw_.size() != 0) augment_pixels(config_.augment, key, about.input, output_, raw, sample);
    normalisation_.apply(output_, sample);
    add_noise(config_.augment, key, sample);
  }
  batch.inputs = {inputs_.as<float>(), count * input};
  if (classes)
    batch.labels = {targets_.as<std::int32_t>(), count * target};
  else
    batch.values = {targets_.as<float>(), count * target};
  position_ += count;
  return true;
}

}  // namespace loom
