#include "finetune/finetune.h"

#include "core/checked.h"
#include "data/pipeline/order.h"

namespace loom {

Result<std::unique_ptr<TokenWindows>> TokenWindows::create(std::vector<std::int32_t> ids, std::size_t length, std::size_t vocab_size, std::string source) {
  if (length == 0 || ids.size() <= length) return fail(Code::ShapeMismatch, "{}: {} tokens, windows of {} and one more expected", source, ids.size(), length);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= vocab_size)
      return fail(Code::IndexOutOfRange, "{}: token {} is {}, the vocabulary has {}", source, i, ids[i], vocab_size);
  DatasetInfo info;
  info.source = std::move(source);
  Sha256 hash;
  for (const std::int32_t id : ids) hash.update_u32(static_cast<std::uint32_t>(id));
  info.sha256 = hash.finish();
  info.input = info.target = Shape::of({length});
  info.samples = (ids.size() - 1) / length;
  info.targets = TargetKind::classes, info.classes = vocab_size;
  return std::unique_ptr<TokenWindows>(new TokenWindows(std::move(info), std::move(ids)));
}

Result<void> TokenWindows::read_sample(std::size_t sample, const SampleBuffers& to) const {
  const std::size_t length = info().input[0];
  for (std::size_t i = 0; i < length; ++i) {
    to.inputs[i] = static_cast<float>(ids_[sample * length + i]);
    to.labels[i] = ids_[sample * length + i + 1];
  }
  return {};
}

namespace {

bool has_adapters(const DecoderModel& model, const std::string& name) {
  bool found = false;
  model.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    for (const Adapter& adapter : w.adapters()) found |= adapter.name == name;
  });
  return found;
}

// Everything but the adapters of that name keeps its values.
void freeze_all_but(const DecoderModel& model, const std::string& name) {
  model.network.visit_weights([](const std::string&, Weight& w, Layer&) { w.freeze(true); });
  model.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    for (Adapter& adapter : w.adapters())
      if (adapter.name == name) adapter.a.freeze(false), adapter.b.freeze(false);
  });
}

Samples samples_of(const Batch& batch, std::size_t length) {
  Samples samples;
  samples.inputs = {batch.inputs.data(), Shape::of({batch.size, length}), Element::f32};
  samples.classes = batch.labels;
  return samples;
}

// Mean loss per token, one window at a time: logits of a whole vocabulary are large.
Result<double> validation_loss(Trainer& trainer, Batches& windows, std::size_t length) {
  LOOM_TRY_VOID(windows.seek(0, 0));
  double sum = 0, count = 0;
  Batch batch;
  for (;;) {
    LOOM_TRY(const bool more, windows.next(batch));
    if (!more) return count > 0 ? sum / count : 0;
    LOOM_TRY(const Trainer::Evaluation evaluated, trainer.evaluate(samples_of(batch, length)));
    sum += evaluated.loss.value * evaluated.loss.count, count += evaluated.loss.count;
  }
}

Digest adapter_hash(const DecoderModel& model, const std::string& name) {
  Sha256 hash;
  model.network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    for (const Adapter& adapter : w.adapters())
      if (adapter.name == name)
        for (const Weight* half : {&adapter.a, &adapter.b}) {
          hash.update(std::as_bytes(std::span(path.c_str(), path.size() + 1)));
          hash.update_floats(half->master());
        }
  });
  return hash.finish();
}

}  // namespace

Result<FinetuneResult> finetune(DecoderModel& model, const Dataset& data, const FinetuneConfig& config,
                                const std::function<Continue(const FinetuneProgress&)>& progress) {
  const std::size_t length = data.info().input[0];
  if (!has_adapters(model, config.adapter.name)) LOOM_TRY_VOID(add_peft(model, config.adapter, config.seed));
  freeze_all_but(model, config.adapter.name);
  LOOM_TRY(Split parts, split_last(data.info().samples, config.validation_split));
  if (parts.validation.size() > config.validation_windows) parts.validation.resize(config.validation_windows);
  const bool validates = !parts.validation.empty();
  LOOM_TRY(Batches held_out, Batches::create(data, parts.validation, {.batch_size = 1}));
  LOOM_TRY(Batches batches, Batches::create(data, parts.training, {.batch_size = config.batch_size, .shuffle = true, .seed = config.seed}));

  const std::uint64_t all = config.epochs * batches.batches(), steps = config.steps == 0 ? all : config.steps;
  TrainerConfig trainer_config;
  trainer_config.loss.name = "softmax_crossentropy";
  trainer_config.optimizer = config.optimizer, trainer_config.schedule = config.schedule;
  trainer_config.schedule.total = steps;
  trainer_config.clip_norm = config.clip_norm, trainer_config.micro_batch = config.micro_batch;
  trainer_config.session = config.session;
  LOOM_TRY_VOID(model.network.prepare(Shape::of({std::max<std::size_t>(config.micro_batch, 1), length})));
  LOOM_TRY(const auto trainer, Trainer::create(model.network, trainer_config));

  FinetuneResult result;
  for (const Parameter& p : trainer->parameters()) result.adapter_parameters += p.elements;
  const auto tell = [&](FinetuneProgress p) {
    p.step = result.steps, p.steps = steps, p.tokens = result.tokens;
    return !progress || progress(p) == Continue::yes;
  };
  if (validates) {
    LOOM_TRY(result.validation_before, validation_loss(*trainer, held_out, length));
    result.stopped = !tell({.validation_loss = result.validation_before});
  }
  for (std::uint32_t epoch = 0; result.steps < steps && !result.stopped; ++epoch) {
    LOOM_TRY_VOID(batches.seek(epoch, 0));
    Batch batch;
    while (result.steps < steps && !result.stopped) {
      LOOM_TRY(const bool more, batches.next(batch));
      if (!more) break;
      LOOM_TRY(const StepReport report, trainer->step(samples_of(batch, length)));
      ++result.steps, result.tokens += batch.size * length;
      result.losses.push_back(report.loss);
      result.stopped = !tell({.loss = report.loss, .learning_rate = report.learning_rate});
    }
  }
  result.scratch_bytes = trainer->session().scratch_bytes();
  if (validates && !result.stopped) {
    LOOM_TRY(result.validation_after, validation_loss(*trainer, held_out, length));
    tell({.validation_loss = result.validation_after});
  }
  result.hash = adapter_hash(model, config.adapter.name);
  LOOM_TRY_VOID(model.network.prepare(Shape::of({1})));
  return result;
}

}  // namespace loom
