#include "finetune/finetune.h"

#include "core/file.h"
#include "core/folder.h"
#include "core/numerics_version.h"
#include "data/pipeline/order.h"
#include "training/weight_hash.h"

namespace loom {

Result<std::unique_ptr<TokenWindows>> TokenWindows::create(std::vector<std::int32_t> ids, std::size_t length,
                                                           std::size_t vocab_size, std::string source) {
  if (length == 0 || ids.size() <= length)
    return fail(Code::ShapeMismatch, "{}: {} tokens, windows of {} and one more expected", source, ids.size(), length);
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

class Finetuning {
 public:
  Finetuning(DecoderModel& model, const Dataset& data, const FinetuneConfig& config, const FinetuneCallback& progress,
             const FinetuneRecord& record)
      : model_(model),
        data_(data),
        config_(config),
        progress_(progress),
        record_(record),
        lock_(record.lock != nullptr ? *record.lock : own_lock_),
        clock_(record.checkpoint_pause),
        length_(data.info().input[0]) {}

  Result<FinetuneResult> run() {
    LOOM_TRY_VOID(open());
    auto result = learn();
    if (!result) add_way_on(result.error(), *trainer_, saved_step_);
    return result;
  }

 private:
  std::string file(std::string_view name) const { return record_.folder + "/" + std::string(name); }
  std::uint64_t steps() const { return trainer_->state().steps; }
  std::uint64_t tokens() const { return (position_.epoch * batches_->samples() + position_.samples) * length_; }
  bool recorded() const { return !record_.folder.empty(); }
  bool watched() const { return recorded() || record_.on_journal; }
  Result<FinetuneResult> learn() {
    LOOM_TRY_VOID(begin());
    while (steps() < total_ && !result_.stopped) LOOM_TRY_VOID(epoch());
    return finish();
  }
  Result<Digest> hash() {
    LOOM_TRY_VOID(trainer_->fetch_weights());
    return adapter_hash(model_, config_.adapter.name);
  }

  Result<void> open() {
    if (config_.hash_steps == 0) return fail(Code::InvalidConfig, "hash_steps: 0, 1 or more expected");
    if (watched()) {
      const Digest base = weight_hash(model_.network, [](const Weight& w) { return w.role() != WeightRole::Adapter; });
      identity_ = {
          {"config", finetune_config_json(config_)}, {"text", to_hex(data_.info().sha256)}, {"base", to_hex(base)}};
    }
    if (recorded() && is_directory(record_.folder)) LOOM_TRY_VOID(take());  // what cannot begin makes none
    std::optional<Checkpoint> checkpoint;
    if (resumed_) {
      LOOM_TRY(checkpoint, read_checkpoint(file("checkpoint.entity")));
      LOOM_TRY_VOID(check_identity(file("checkpoint.entity"), *checkpoint, identity_));
    }
    if (!has_adapters(model_, config_.adapter.name)) LOOM_TRY_VOID(add_peft(model_, config_.adapter, config_.seed));
    freeze_all_but(model_, config_.adapter.name);
    LOOM_TRY(Split parts, split_last(data_.info().samples, config_.validation_split));
    if (parts.validation.size() > config_.validation_windows) parts.validation.resize(config_.validation_windows);
    LOOM_TRY(held_out_, Batches::create(data_, parts.validation, {.batch_size = 1}));
    LOOM_TRY(batches_, Batches::create(data_, parts.training,
                                       {.batch_size = config_.batch_size, .shuffle = true, .seed = config_.seed}));
    const std::uint64_t all = config_.epochs * batches_->batches();
    total_ = config_.steps == 0 ? all : config_.steps;

    TrainerConfig trainer;
    trainer.loss.kind = LossKind::SoftmaxCrossEntropy;
    trainer.optimizer = config_.optimizer, trainer.schedule = config_.schedule;
    trainer.schedule.fill(total_);
    trainer.clip_norm = config_.clip_norm, trainer.micro_batch = config_.micro_batch;
    trainer.session = config_.session;
    const Shape part = Shape::of({std::max<std::size_t>(config_.micro_batch, 1), length_});
    LOOM_TRY(trainer_, Trainer::create(model_.network, part, trainer));
    for (const Parameter& p : trainer_->parameters()) result_.adapter_parameters += p.elements;
    result_.precision = precision_of(trainer_->device());
    if (!checkpoint) return {};
    auto position = restore_trainer(*checkpoint, *trainer_);
    if (!position) return at(file("checkpoint.entity"), std::move(position).error());
    position_ = std::move(*position), saved_step_ = steps();
    LOOM_TRY(journal_, Journal::resume(file("journal.jsonl"), checkpoint->journal));
    return {};
  }

  Result<void> take() {
    if (lock_) {
      LOOM_TRY(resumed_, goes_on(record_.folder, record_.start, kFinetuningRun));
      return {};
    }
    LOOM_TRY(RunFolder taken, take_folder(record_.folder, record_.start, kFinetuningRun));
    lock_ = std::move(taken.lock), resumed_ = taken.resumes;
    return {};
  }

  Result<void> begin() {
    if (record_.on_journal) journal_.watch(record_.on_journal);
    if (recorded() && !resumed_) {
      if (!lock_) {
        LOOM_TRY_VOID(create_folders(record_.folder));
        LOOM_TRY_VOID(take());
        if (resumed_)
          return fail(Code::InvalidState, "{}: another process has begun a run in this folder", record_.folder);
      }
      LOOM_TRY_VOID(remove_older(record_.folder, kFinetuningRun));
      LOOM_TRY(journal_, Journal::create(file("journal.jsonl")));
    }
    result_.validation_before = position_.first_validation.value_or(0);
    if (resumed_) return {};
    if (watched()) {
      const FinetuneSources& from = record_.sources;
      Json data = Json::array();
      data.push_back(
          {{"source", data_.info().source}, {"sha256", to_hex(data_.info().sha256)}, {"samples", batches_->samples()}});
      Json start{{"event", "start"},
                 {"task", "finetune"},
                 {"numerics_version", kNumericsVersion},
                 {"config", identity_["config"]},
                 {"sources", {{"model", from.model}, {"text", from.text}, {"from", from.from}, {"dtype", from.dtype}}},
                 {"data", std::move(data)},
                 {"base", identity_["base"]},
                 {"parameters", result_.adapter_parameters},
                 {"hash", to_hex(adapter_hash(model_, config_.adapter.name))}};
      add_precision(start, result_.precision);
      LOOM_TRY_VOID(journal_.write(start));
    }
    if (held_out_->samples() != 0) {
      LOOM_TRY(result_.validation_before, validation_loss(*trainer_, *held_out_, length_));
      position_.first_validation = result_.validation_before;
      LOOM_TRY_VOID(
          journal_.write({{"event", "validation"}, {"step", 0}, {"loss", number_or_null(result_.validation_before)}}));
    }
    if (recorded()) LOOM_TRY_VOID(save());
    return held_out_->samples() != 0 ? tell({.validation_loss = result_.validation_before}) : Result<void>();
  }

  Result<void> epoch() {
    LOOM_TRY_VOID(batches_->seek(static_cast<std::uint32_t>(position_.epoch), position_.samples));
    trainer_->set_epoch(position_.epoch);
    Batch batch;
    while (steps() < total_ && !result_.stopped) {
      LOOM_TRY(const bool more, batches_->next(batch));
      if (!more) {
        ++position_.epoch, position_.samples = 0;
        return {};
      }
      auto step = trainer_->step(samples_of(batch, length_), record_.cancel);
      if (!step && step.error().code == Code::Cancelled) {
        result_.stopped = true;
        return {};
      }
      LOOM_TRY(const StepReport report, std::move(step));
      position_.samples = batches_->position();
      position_.loss_history.push_back(report.loss);
      ++result_.new_steps, new_tokens_ += batch.size * length_;
      if (watched() && steps() % config_.hash_steps == 0) {
        LOOM_TRY(const Digest digest, hash());
        LOOM_TRY_VOID(journal_.write({{"event", "steps"},
                                      {"step", steps()},
                                      {"epoch", position_.epoch + 1},
                                      {"losses", last_losses(config_.hash_steps)},
                                      {"learning_rate", report.learning_rate},
                                      {"hash", to_hex(digest)}}));
      }
      LOOM_TRY_VOID(tell({.loss = report.loss, .learning_rate = report.learning_rate}));
      if (recorded() && clock_.due()) LOOM_TRY_VOID(save());
    }
    return {};
  }

  // The checkpoint comes before all else: what follows can be done again from it.
  Result<FinetuneResult> finish() {
    if (recorded()) LOOM_TRY_VOID(save());
    result_.scratch_bytes = trainer_->session().scratch_bytes();
    result_.steps = steps(), result_.tokens = tokens(), result_.losses = position_.loss_history;
    LOOM_TRY(result_.hash, hash());
    if (!result_.stopped) {
      Json line{{"event", "end"},
                {"stop_reason", name(TrainingStop::Finished)},
                {"step", steps()},
                {"tokens", tokens()},
                {"losses", last_losses(steps() % config_.hash_steps)}};
      if (held_out_->samples() != 0) {
        LOOM_TRY(result_.validation_after, validation_loss(*trainer_, *held_out_, length_));
        line["validation"] = number_or_null(result_.validation_after);
        LOOM_TRY_VOID(tell({.validation_loss = result_.validation_after}));
        result_.stopped = false;  // too late
      }
      line["hash"] = to_hex(result_.hash);
      LOOM_TRY_VOID(journal_.write(line));
    }
    return std::move(result_);
  }

  Json last_losses(std::uint64_t count) const {
    Json out = Json::array();
    for (std::size_t i = position_.loss_history.size() - static_cast<std::size_t>(count);
         i < position_.loss_history.size(); ++i)
      out.push_back(number_or_null(position_.loss_history[i]));
    return out;
  }

  Result<void> tell(FinetuneProgress p) {
    p.step = steps(), p.steps = total_, p.tokens = tokens();
    p.new_steps = result_.new_steps, p.new_tokens = new_tokens_;
    if (!progress_) return {};
    LOOM_TRY(const Continue going, progress_(p));
    result_.stopped = going == Continue::stop;
    return {};
  }

  Result<void> save() {
    LOOM_TRY_VOID(clock_.time([&] {
      return save_checkpoint(file("checkpoint.entity"), *trainer_, position_, identity_, journal_, Keep::trained);
    }));
    saved_step_ = steps();
    return {};
  }

  DecoderModel& model_;
  const Dataset& data_;
  const FinetuneConfig& config_;
  const FinetuneCallback& progress_;
  const FinetuneRecord& record_;
  std::optional<FolderLock> own_lock_;
  std::optional<FolderLock>& lock_;
  CheckpointClock clock_;
  const std::size_t length_;
  Json identity_;  // that a checkpoint must share
  std::unique_ptr<Trainer> trainer_;
  std::optional<Batches> held_out_, batches_;
  std::uint64_t total_ = 0, new_tokens_ = 0;
  RunPosition position_;  // its loss_history has one for every step
  Journal journal_;
  FinetuneResult result_;
  bool resumed_ = false;
  std::optional<std::uint64_t> saved_step_;  // of the checkpoint in the folder
};

}  // namespace

Result<FinetuneResult> finetune(DecoderModel& model, const Dataset& data, const FinetuneConfig& config,
                                const FinetuneCallback& progress, const FinetuneRecord& record) {
  return Finetuning(model, data, config, progress, record).run();
}

}  // namespace loom
