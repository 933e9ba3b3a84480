#include "training/training_run.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "core/checked.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/nearest.h"
#include "core/numerics_version.h"
#include "io/network_file.h"
#include "io/onnx/graph_file.h"
#include "network/plan/forward_plan.h"
#include "network/spec/spec.h"
#include "training/run_page.h"
#include "training/weight_hash.h"

namespace loom {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string joined(const std::string& folder, const std::string& path) {
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

Json data_line(const Dataset& data, std::size_t samples) {
  return {{"source", data.info().source}, {"sha256", to_hex(data.info().sha256)}, {"samples", samples}};
}

// Confusion matrix with class names; matrices of many classes would outgrow the journal.
Json confusion_json(const Metrics& metrics, const DatasetInfo& data) {
  constexpr std::size_t kMost = 100;
  const std::size_t n = metrics.classes();
  if (n == 0 || n > kMost || metrics.confusion().empty()) return {};
  Json names = Json::array(), counts = Json::array();
  for (std::size_t r = 0; r < n; ++r) {
    names.push_back(r < data.class_names.size() ? data.class_names[r] : std::to_string(r));
    const auto row = metrics.confusion().begin() + static_cast<std::ptrdiff_t>(r * n);
    counts.push_back(std::vector<std::uint64_t>(row, row + static_cast<std::ptrdiff_t>(n)));
  }
  return {{"classes", std::move(names)}, {"counts", std::move(counts)}};
}

}  // namespace

Result<std::unique_ptr<TrainingRun>> TrainingRun::create(TrainConfig config, const RunOptions& options,
                                                         TrainingInput input) {
  if (const HeldInMemory held = input.held();
      held.network != config.held.network || held.samples != config.held.samples)
    return fail(Code::InvalidArgument, "the config was read for a run that gets its network and samples elsewhere");
  std::unique_ptr<TrainingRun> run(new TrainingRun(std::move(config), options));
  const std::shared_ptr<Network> given = run->network_ = std::move(input.network);
  const auto before = given != nullptr ? given->kept() : nullptr;
  if (auto opened = run->open(std::move(input.samples)); !opened) {
    auto replaced = std::move(run->replaced_);
    run.reset();  // before the layers that it refers to
    if (replaced) *given = *std::move(replaced);
    if (given != nullptr) given->put_back(*before);
    return tl::make_unexpected(std::move(opened).error());
  }
  run->replaced_.reset();
  return run;
}

Result<void> TrainingRun::open(std::optional<TrainingArrays> arrays) {
  LOOM_TRY_VOID(open_data(std::move(arrays)));
  LOOM_TRY(identity_, identity());
  // what cannot begin makes none
  if (!options_.out.empty() && is_directory(options_.out)) LOOM_TRY_VOID(take_folder());
  LOOM_TRY_VOID(resumed_ ? open_checkpoint() : open_network());
  return start_trainer();
}

Result<void> TrainingRun::open_data(std::optional<TrainingArrays> arrays) {
  const DataUse use{config_.seed, config_.trainer.loss.ignore_index};
  auto data = arrays ? training_data_of(*std::move(arrays), config_.data, config_.folder, use)
                     : open_training_data(config_.data, config_.folder, use);
  if (!data) {
    const Code code = data.error().code;
    // else a file of its own is named
    const bool of_config = code == Code::InvalidConfig || code == Code::UnknownKey || code == Code::UnknownName ||
                           code == Code::OutOfRange;
    return at(of_config ? config_.source : "", std::move(data).error());
  }
  data_ = std::move(*data);
  return {};
}

Result<void> TrainingRun::take_folder() {
  LOOM_TRY(RunFolder taken, loom::take_folder(options_.out, options_.start, kTrainingRun));
  lock_ = std::move(taken.lock), resumed_ = taken.resumes;
  return {};
}

// Everything the run is a function of. A file that holds the network counts as its bytes, a network in memory as its
// settings and weights.
Result<Json> TrainingRun::identity() const {
  Json data = Json::array();
  for (const Dataset* set : {data_.training.get(), data_.held_out.get()})
    if (set != nullptr) data.push_back(to_hex(set->info().sha256));
  Json out{{"config", config_.json}, {"data", std::move(data)}};
  if (const std::string* path = as_string(config_.network)) {
    LOOM_TRY(const auto file, MappedFile::open(joined(config_.folder, *path)));
    Sha256 hash;
    hash.update(file->bytes());
    out["network"] = to_hex(hash.finish());
  }
  if (network_ != nullptr) {
    Sha256 hash;
    const std::string settings = dump_json(network_to_json(*network_));
    hash.update(std::as_bytes(std::span(settings)));
    const Digest weights = weight_hash(*network_);
    hash.update(std::as_bytes(std::span(weights)));
    out["network"] = to_hex(hash.finish());
  }
  return out;
}

// An error of the network, with the file that it stands in, or its place in the config.
tl::unexpected<Error> TrainingRun::of_network(Error error) const {
  if (const std::string* path = as_string(config_.network)) return at(joined(config_.folder, *path), std::move(error));
  return at(config_.source, std::move(error.under({"network"})));
}

Result<void> TrainingRun::open_network() {
  if (network_ == nullptr) {
    const std::string* path = as_string(config_.network);
    auto loaded = path != nullptr ? load_network(joined(config_.folder, *path))
                                  : network_from_json(config_.network, {.read_graph = graphs_in(config_.folder)});
    if (!loaded && path != nullptr) return tl::make_unexpected(std::move(loaded).error());  // has its file
    if (!loaded) return of_network(std::move(loaded).error());
    warnings_ = std::move(loaded->warnings);
    network_ = std::make_shared<Network>(std::move(loaded->network));
  }
  if (config_.dtype) LOOM_TRY_VOID(network_->morph_all(*config_.dtype));
  std::optional<Error> error;
  network_->visit_weights([&](const std::string& place, Weight& w, Layer&) {
    if (error || w.has_master()) return;
    if (auto done = w.ensure_master(); !done) error = std::move(done.error().in_source(place));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return {};
}

Result<void> TrainingRun::open_checkpoint() {
  LOOM_TRY(checkpoint_, read_checkpoint(file("checkpoint.entity")));
  // More epochs are more of the same, unless the rates are spread over all of them.
  LOOM_TRY(const Schedule schedule, Schedule::create(config_.trainer.schedule));
  std::vector<std::string_view> changeable;
  if (!schedule.has_total() || config_.schedule_total_given) changeable.push_back("epochs");
  LOOM_TRY_VOID(check_identity(file("checkpoint.entity"), *checkpoint_, identity_, changeable));
  if (!checkpoint_->network) return fail(Code::CorruptData, "{}: no network in it", file("checkpoint.entity"));
  if (network_ == nullptr)
    network_ = std::make_shared<Network>(std::move(*checkpoint_->network));
  else
    replaced_ = std::exchange(*network_, std::move(*checkpoint_->network));
  return {};
}

// A rule that could never act, or by a number that never moves.
Result<void> TrainingRun::check_early_stop(const Shape& output) {
  const DatasetInfo& data = data_.training->info();
  if (!config_.early_stop.metric) return {};
  const Metric metric = *config_.early_stop.metric;
  if (!validation_)
    return fail_at({"early_stop"}, Code::InvalidConfig,
                   "no samples to validate; expected /data/validation or /data/validation_split");
  const bool counts_right = metric == Metric::Accuracy || metric == Metric::Top5,
             of_classes = data.targets == TargetKind::classes;
  if (metric != Metric::Loss && counts_right != of_classes)
    return fail_at({"early_stop", "metric"}, Code::InvalidConfig, "expected {} of {}, got {}",
                   of_classes ? "loss, accuracy or top_5" : "loss, mae or r2", of_classes ? "classes" : "values",
                   name(metric));
  if (counts_right && output.rows() != data.target.elements())
    return fail_at({"early_stop", "metric"}, Code::InvalidConfig, "expected loss of several heads, got {}",
                   name(metric));
  if (metric == Metric::Top5 && output.cols() <= 5)
    return fail_at({"early_stop", "metric"}, Code::InvalidConfig, "top_5 of {} classes is always 1", output.cols());
  return {};
}

// Before the first batch, not in the middle of an epoch.
Result<void> TrainingRun::check_output(const ForwardPlan& plan) {
  const DatasetInfo& data = data_.training->info();
  LOOM_TRY(const Shape output, plan.output_shape(Network::with_batch(sample_shape_, 1)));
  if (auto judges = check_early_stop(output); !judges) return at(config_.source, std::move(judges).error());
  const LossKind loss = config_.trainer.loss.kind;
  if (data.targets == TargetKind::values) {
    if (config_.trainer.loss.ignore_index)
      return at(config_.source,
                {Code::InvalidConfig, "the targets are values, not classes", Steps{"loss", "ignore_index"}});
    if (loss != LossKind::Contrastive && output.elements() != data.target.elements())
      return fail(Code::ShapeMismatch, "{}: a sample's target is {}, the network's output {}", data.source,
                  data.target.text(), output.text());
    return {};
  }
  if (const auto& id = config_.trainer.loss.ignore_index;
      id && *id >= 0 && static_cast<std::uint64_t>(*id) >= data.classes && !data.has_ignored)
    return at(config_.source, {Code::InvalidConfig,
                               fmt::format("expected a class from 0 to {}, a label that occurs or a negative number, "
                                           "got {}",
                                           data.classes - 1, *id),
                               Steps{"loss", "ignore_index"}});
  if (loss == LossKind::MultiHeadSoftmax) return {};
  if (output.rows() != data.target.elements())
    return fail(Code::ShapeMismatch, "{}: {} class per sample, the network's output {} has {} rows", data.source,
                data.target.elements(), output.text(), output.rows());
  if (!config_.trainer.loss.ignore_index && output.cols() < data.classes)
    return fail(Code::ShapeMismatch, "{}: {} classes, the network's output {} distinguishes {}", data.source,
                data.classes, output.text(), output.cols());
  return {};
}

Result<void> TrainingRun::start_trainer() {
  const DatasetInfo& about = data_.training->info();
  const BatchConfig batches{.batch_size = static_cast<std::size_t>(config_.batch_size * config_.accumulate),
                            .shuffle = config_.shuffle,
                            .drop_last = config_.drop_last,
                            .seed = config_.seed,
                            .augment = data_.augment};
  LOOM_TRY(batches_, Batches::create(*data_.training, data_.training_samples, batches, data_.normalisation));
  if (batches_->batches() == 0)
    return fail(Code::InvalidConfig, "{}: {} samples make no batch of {}", about.source, data_.training_samples.size(),
                batches.batch_size);
  if (data_.validates()) {
    BatchConfig whole;
    whole.batch_size = config_.batch_size, whole.augment = data_.augment.window();
    LOOM_TRY(validation_,
             Batches::create(data_.validation_set(), data_.validation_samples, whole, data_.normalisation));
  }
  // A network that names its input takes samples of as many elements.
  sample_shape_ = batches_->input_shape();
  if (const auto& wanted = network_->settings.input_shape; wanted && wanted->elements() == sample_shape_.elements())
    sample_shape_ = *wanted;
  const Shape batch =
      Network::with_batch(sample_shape_, std::min<std::size_t>(config_.batch_size, data_.training_samples.size()));
  const auto plan = ForwardPlan::create(*network_, batch);
  if (!plan) return of_network(plan.error());
  LOOM_TRY_VOID(check_output(**plan));

  TrainerConfig trainer = config_.trainer;
  trainer.session = options_.session;  // of which the config says these two
  if (config_.mode < ComputeMode::CpuParallel)
    trainer.session.threads = 1, trainer.session.pool = nullptr, trainer.workers = 1;
  if (options_.shards) trainer.workers = 1;  // its own sessions compute no gradients
  trainer.session.mixed = config_.trainer.session.mixed,
  trainer.session.checkpoint_every = config_.trainer.session.checkpoint_every;
  if (trainer.micro_batch == 0 && config_.accumulate > 1) trainer.micro_batch = config_.batch_size;
  if (!config_.schedule_total_given)
    trainer.schedule.fill(trainer.schedule_by_epoch ? config_.epochs : config_.epochs * batches_->batches());
  const bool wants_card = is_gpu(config_.mode);
  if (wants_card && trainer.session.device == nullptr && !config_.cpu_fallback)
    return at(config_.source,
              {Code::Unsupported,
               "a mode of a GPU without a graphics card: expected a mode of the CPU, or cpu_fallback", Steps{"mode"}});
  auto created = Trainer::create(*network_, *plan, trainer);
  const bool falls_back = !created && created.error().code == Code::Unsupported && wants_card && config_.cpu_fallback &&
                          trainer.session.device != nullptr;
  if (falls_back) why_on_host_ = created.error().text(), trainer.session.device = nullptr;
  auto made = falls_back ? Trainer::create(*network_, *plan, trainer) : std::move(created);
  if (!made) return at(config_.source, std::move(made).error());
  trainer_ = std::move(*made);
  if (options_.shards)
    if (auto divides = trainer_->check_divides(); !divides) return at(config_.source, std::move(divides).error());
  if (!resumed_)
    if (auto has = trainer_->check_effects(); !has) return at(config_.source, std::move(has).error());
  if (!resumed_)
    if (auto has = check_effect(); !has) return at(config_.source, std::move(has).error());
  LOOM_TRY_VOID(look_over_settings());
  if (checkpoint_) {
    auto position = restore_trainer(*checkpoint_, *trainer_);
    if (!position) return at(file("checkpoint.entity"), std::move(position).error());
    position_ = std::move(*position);
    saved_step_ = trainer_->state().steps;
    LOOM_TRY(journal_, Journal::resume(file("journal.jsonl"), checkpoint_->journal));
    checkpoint_.reset();
  }
  return {};
}

// Keys that this network leaves without an effect.
Result<void> TrainingRun::check_effect() {
  const TrainerConfig& trainer = config_.trainer;
  if (trainer.commit_meta && trainer_->session().metas().empty())
    return fail_at({"commit_meta"}, Code::InvalidConfig,
                   "has no effect: the network has no metacognition layer, which could ask for a change");
  if (find(config_.json, "clamp_master") == nullptr || trainer.commit_meta) return {};
  bool holds = false;
  network_->visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    const bool has_signs = w.dtype() == DType::binary || w.dtype() == DType::ternary;
    holds = holds || (has_signs && w.role() == WeightRole::Matrix);
  });
  if (holds) return {};
  return fail_at({"clamp_master"}, Code::InvalidConfig,
                 "has no effect: no matrix is binary or ternary, whose masters alone are held");
}

// Warns of settings that are no error, but may not be what was meant.
Result<void> TrainingRun::look_over_settings() {
  if (is_gpu(config_.mode) && trainer_->device() == nullptr)
    warnings_.push_back(fmt::format("a mode of a GPU is asked for, training runs on the CPU: {}", why_on_host_));
  const LossKind loss = config_.trainer.loss.kind;
  const ForwardPlan& plan = *trainer_->session().plan();
  const std::size_t last = network_->num_cells();
  for (std::size_t i = last; i-- > 0;)
    if (network_->cell(i).runs()) {
      if (loss == LossKind::SoftmaxCrossEntropy && plan.gives_distribution(i))
        warnings_.push_back(
            "softmax_crossentropy takes logits: the network ends in a softmax, which is then applied twice");
      if (loss == LossKind::CrossEntropy && plan.gives_distribution(i))
        warnings_.push_back(
            "crossentropy after a softmax is differentiated through its Jacobian: softmax_crossentropy on logits is "
            "exact and faster");
      break;
    }
  return {};
}

Result<Samples> TrainingRun::samples_of(const Batch& batch) {
  Samples samples;
  samples.inputs = {batch.inputs.data(), Network::with_batch(sample_shape_, batch.size), Element::f32};
  if (!batch.labels.empty())
    samples.classes = batch.labels;
  else
    samples.values = {batch.values.data(), Network::with_batch(data_.training->info().target, batch.size),
                      Element::f32};
  if (auto fits = trainer_->check_targets(samples); !fits)
    return at(data_.training->info().source, std::move(fits).error());
  return samples;
}

Result<Samples> TrainingRun::batch_at(std::uint64_t epoch, std::uint64_t position) {
  if (epoch > std::numeric_limits<std::uint32_t>::max()) return fail(Code::OutOfRange, "epoch {}", epoch);
  if (batches_->epoch() != epoch || batches_->position() != position)
    LOOM_TRY_VOID(batches_->seek(static_cast<std::uint32_t>(epoch), position));
  Batch batch;
  LOOM_TRY(const bool more, batches_->next(batch));
  if (!more) return fail(Code::OutOfRange, "epoch {} has no batch after sample {}", epoch, position);
  return samples_of(batch);
}

Result<StepReport> TrainingRun::step(const Samples& samples) {
  if (!options_.shards) return trainer_->step(samples, options_.cancel);
  LOOM_TRY_VOID(trainer_->fetch_weights());
  std::vector<std::byte> masters;
  for (const Trainer::Slot& slot : trainer_->masters()) {
    const auto* from = static_cast<const std::byte*>(slot.values.data);
    masters.insert(masters.end(), from, from + slot.values.bytes());
  }
  const TrainerState& state = trainer_->state();
  LOOM_TRY(const std::vector<ShardSum> sums, options_.shards({.epoch = position_.epoch,
                                                              .position = position_.samples,
                                                              .step = state.steps,
                                                              .loss_scale = state.loss_scale,
                                                              .shards = config_.trainer.shards,
                                                              .gradient_bytes = trainer_->gradient_bytes(),
                                                              .masters = masters}));
  return trainer_->step_from(samples, sums);
}

Result<Continue> TrainingRun::tell(const Callback& callback, TrainProgress progress) {
  progress.epoch = position_.epoch, progress.epochs = config_.epochs, progress.network = network_.get();
  progress.step = trainer_->state().steps, progress.skipped = trainer_->state().skipped;
  progress.batches = batches_->batches();
  progress.batch = ceil_div(position_.samples, config_.batch_size * config_.accumulate);
  std::string warning;
  if (progress.event == TrainEvent::BatchEnd && !progress.report->skipped) {
    warning = loss_watch_.observe(progress.loss, progress.learning_rate);
    if (!warning.empty()) timings_.warn(progress.step, warning);
    progress.warning = warning;
  }
  timings_.observe(progress);
  return callback ? callback(progress) : Continue::yes;
}

Result<void> TrainingRun::begin_journal() {
  if (!options_.out.empty()) {
    if (resumed_) return {};
    if (!lock_) {
      LOOM_TRY_VOID(create_folders(options_.out));
      LOOM_TRY_VOID(take_folder());
      if (resumed_) return fail(Code::InvalidState, "{}: another process has begun a run in this folder", options_.out);
    }
    LOOM_TRY_VOID(remove_older(options_.out, kTrainingRun));
    LOOM_TRY(journal_, Journal::create(file("journal.jsonl")));  // first: the other files are a run's by it
    const std::string config = dump_json(config_.json, 2) + "\n";
    LOOM_TRY_VOID(write_file_atomically(file("config.json"), std::as_bytes(std::span(config))));
  }
  Json data = Json::array();
  data.push_back(data_line(*data_.training, data_.training_samples.size()));
  if (data_.held_out) data.push_back(data_line(*data_.held_out, data_.validation_samples.size()));
  std::size_t parameters = 0;
  for (const Parameter& p : trainer_->parameters()) parameters += p.elements;
  Json start{{"event", "start"},
             {"numerics_version", kNumericsVersion},
             {"config", config_.json},
             {"folder", config_.folder},
             {"data", std::move(data)},
             {"input", std::vector<std::size_t>(sample_shape_.extents().begin(), sample_shape_.extents().end())},
             {"parameters", parameters},
             {"hash", to_hex(weight_hash(*network_))}};
  add_precision(start, precision_of(trainer_->device()));
  return journal_.write(start);
}

void TrainingRun::begin_timings() {
  if (options_.out.empty()) return;
  const std::uint64_t step = trainer_->state().steps;
  timings_.open(file("timings.jsonl"), resumed_, step, config_.epochs * batches_->batches(),
                {{"threads", trainer_->session().threads()},
                 {"samples", data_.training_samples.size()},
                 {"batch", config_.batch_size * config_.accumulate},
                 {"machine", options_.machine}});
  for (std::size_t i = 0; i < warnings_.size() && !resumed_; ++i) timings_.warn(step, warnings_[i]);
}

// The weights are saved before this call, so its errors are only warnings.
void TrainingRun::end_timings(TrainResult& result) {
  if (options_.out.empty()) return;
  timings_.end(result.steps, name(result.stop_reason));
  if (!timings_.error().empty()) result.warnings.push_back(timings_.error());
  if (auto written = write_report(options_.out); !written)
    result.warnings.push_back("no report: " + written.error().text());
}

Result<TrainResult> TrainingRun::run(const Callback& callback) {
  Result<TrainResult> result = train(callback);
  lock_.reset();
  if (!result) add_way_on(result.error(), *trainer_, saved_step_);
  return result;
}

Result<TrainResult> TrainingRun::train(const Callback& callback) {
  const auto begun = Clock::now();
  LOOM_TRY_VOID(begin_journal());
  begin_timings();
  TrainResult result;
  // a checkpoint of that epoch, before or after the end
  const bool stopped_before = position_.bad_validations > config_.early_stop.patience;
  result.stop_reason = stopped_before ? TrainingStop::EarlyStop : TrainingStop::Finished;
  LOOM_TRY(Continue going, tell(callback, {.event = TrainEvent::TrainBegin}));
  if (!resumed_ && !options_.out.empty()) LOOM_TRY_VOID(save_state());
  while (going == Continue::yes && position_.epoch < config_.epochs && !stopped_before) {
    const auto epoch_begun = Clock::now();
    const std::uint64_t before = position_.epoch;
    LOOM_TRY(going, epoch(callback, result));
    if (position_.epoch != before) result.epoch_times_ms.push_back(milliseconds_since(epoch_begun));
  }
  if (going == Continue::stop && result.stop_reason == TrainingStop::Finished)
    result.stop_reason = TrainingStop::Stopped;
  LOOM_TRY_VOID(finish(result));
  end_timings(result);
  result.total_time_ms = milliseconds_since(begun);
  LOOM_TRY_VOID(tell(callback, {.event = TrainEvent::TrainEnd, .loss = result.final_loss, .stop = result.stop_reason}));
  return result;
}

Result<Continue> TrainingRun::epoch(const Callback& callback, TrainResult& result) {
  LOOM_TRY_VOID(batches_->seek(static_cast<std::uint32_t>(position_.epoch), position_.samples));
  trainer_->set_epoch(position_.epoch);
  if (position_.samples == 0) {
    LOOM_TRY(const Continue going, tell(callback, {.event = TrainEvent::EpochBegin}));
    if (going == Continue::stop) return Continue::stop;
  }
  Batch batch;
  for (;;) {
    LOOM_TRY(const bool more, batches_->next(batch));
    if (!more) break;
    LOOM_TRY(const Continue before, tell(callback, {.event = TrainEvent::BatchBegin, .samples = batch.size}));
    if (before == Continue::stop) return Continue::stop;
    LOOM_TRY(const Samples samples, samples_of(batch));
    auto step = this->step(samples);
    if (!step && step.error().code == Code::Cancelled) return Continue::stop;
    if (!step && step.error().code == Code::NonFinite) {
      result.stop_reason = TrainingStop::Diverged, result.message = step.error().text();
      return Continue::stop;
    }
    if (!step) return tl::make_unexpected(std::move(step).error());
    position_.samples = batches_->position();
    if (!step->skipped) position_.loss_sum += step->loss, ++position_.loss_batches;
    const std::uint64_t steps = trainer_->state().steps;
    for (const MetaEvent& change : step->changes) {
      if (!change.refusal.empty()) continue;
      Json line{{"event", "change"}, {"step", steps}, {"asked_by", change.place}, {"target", change.target}};
      if (const auto layer = network_->layer_at(change.target))  // else another change has taken it away
        line["kind"] = (*layer)->kind(), line["dtype"] = name((*layer)->common.encoding.dtype);
      LOOM_TRY_VOID(journal_.write(line));
    }
    const bool ended = position_.samples == batches_->samples();
    if (steps % config_.hash_steps == 0) {
      LOOM_TRY_VOID(trainer_->fetch_weights());
      LOOM_TRY_VOID(journal_.write({{"event", "steps"},
                                    {"step", steps},
                                    {"epoch", position_.epoch + 1},
                                    {"loss", number_or_null(step->loss)},
                                    {"learning_rate", step->learning_rate},
                                    {"hash", to_hex(weight_hash(*network_))}}));
    }
    if (config_.checkpoint_steps != 0 && steps % config_.checkpoint_steps == 0 && !ended && !options_.out.empty()) {
      LOOM_TRY_VOID(save_state());
      LOOM_TRY_VOID(tell(callback, {.event = TrainEvent::Checkpoint}));
    }
    LOOM_TRY(const Continue going, tell(callback, {.event = TrainEvent::BatchEnd,
                                                   .samples = batch.size,
                                                   .loss = step->loss,
                                                   .learning_rate = step->learning_rate,
                                                   .report = &*step}));
    if (trainer_->state().skipped_in_a_row >= config_.trainer.max_skipped) {
      result.stop_reason = TrainingStop::Diverged;
      result.message = fmt::format("{} batches in a row up to step {} were not finite: {} (learning rate {})",
                                   config_.trainer.max_skipped, steps, step->why, step->learning_rate);
      return Continue::stop;
    }
    if (going == Continue::stop) return Continue::stop;
  }
  return end_epoch(callback, result);
}

Result<Continue> TrainingRun::end_epoch(const Callback& callback, TrainResult& result) {
  const double loss = position_.loss_batches == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                  : position_.loss_sum / static_cast<double>(position_.loss_batches);
  describe_cells();
  std::optional<Metrics> metrics;
  if (validation_) {
    auto measured = validate();
    if (!measured && measured.error().code == Code::Cancelled) return Continue::stop;  // the epoch has not ended
    LOOM_TRY(metrics, std::move(measured));
  }
  position_.loss_history.push_back(loss);
  Json line{{"event", "epoch"}, {"epoch", position_.epoch + 1}, {"step", trainer_->state().steps}};
  line["loss"] = number_or_null(loss);
  if (!position_.cells.empty()) {
    LOOM_TRY(Json cells, parse_json(position_.cells));
    LOOM_TRY_VOID(journal_.write({{"event", "cells"}, {"step", trainer_->state().steps}, {"cells", std::move(cells)}}));
  }
  bool early = false;
  if (metrics) {
    line["validation"] = metrics->to_json();
    LOOM_TRY(early, stops_early(*metrics));
    LOOM_TRY_VOID(tell(callback, {.event = TrainEvent::ValidationEnd, .loss = loss, .validation = &*metrics}));
  }
  trainer_->observe(metrics ? metrics->loss() : loss);
  line["skipped"] = trainer_->state().skipped;
  LOOM_TRY_VOID(trainer_->fetch_weights());
  line["hash"] = to_hex(weight_hash(*network_));
  LOOM_TRY_VOID(journal_.write(line));
  LOOM_TRY(const Continue going,
           tell(callback, {.event = TrainEvent::EpochEnd, .loss = loss, .validation = metrics ? &*metrics : nullptr}));
  ++position_.epoch, position_.samples = 0, position_.loss_sum = 0, position_.loss_batches = 0;
  // Checkpoints by steps may be inside an epoch; then every epoch also ends with one, so that a resumed run repeats at
  // most one epoch.
  const bool asked = config_.checkpoint_steps != 0,
             last = early || going == Continue::stop || position_.epoch == config_.epochs;
  if (!options_.out.empty() && (asked || last || clock_.due())) {
    LOOM_TRY_VOID(save_state());
    LOOM_TRY_VOID(tell(callback, {.event = TrainEvent::Checkpoint}));
  }
  if (early) result.stop_reason = TrainingStop::EarlyStop;
  // A short run may end before as many are skipped in a row as stop a long one.
  if (const auto& state = trainer_->state(); position_.epoch == config_.epochs && state.skipped == state.steps) {
    result.stop_reason = TrainingStop::Diverged, result.message = "none of its batches was finite";
    return Continue::stop;
  }
  return early ? Continue::stop : going;
}

// Targets of the last step of an epoch show in which cells they vanish; that step may have run before a resume.
void TrainingRun::describe_cells() {
  const auto uses = trainer_->tween_uses();
  if (uses.empty()) return;
  Json cells = Json::array();
  for (const TweenUse& use : uses)
    cells.push_back({{"path", *use.path},
                     {"budget", use.budget},
                     {"gap", use.gap},
                     {"skipped", use.skipped},
                     {"update_norm", use.update_norm}});
  position_.cells = dump_json(cells);
}

Result<Metrics> TrainingRun::validate() {
  Metrics metrics;
  if (const auto& id = config_.trainer.loss.ignore_index) metrics.ignore(*id);
  LOOM_TRY_VOID(validation_->seek(0, 0));
  LOOM_TRY_VOID(trainer_->run_and_restore([&]() -> Result<void> {
    Batch batch;
    for (;;) {
      LOOM_TRY(const bool more, validation_->next(batch));
      if (!more) return {};
      LOOM_TRY(const Samples samples, samples_of(batch));
      LOOM_TRY(const Trainer::Evaluation evaluated, trainer_->evaluate(samples, options_.cancel));
      metrics.add(evaluated.output, samples, evaluated.loss);
    }
  }));
  return metrics;
}

Result<bool> TrainingRun::stops_early(const Metrics& metrics) {
  const EarlyStop& rule = config_.early_stop;
  ++position_.validations;
  if (!rule.metric) return false;
  const double value = metrics.value(*rule.metric);
  const bool better = !position_.best || (rule.higher_is_better ? value > *position_.best + rule.min_delta
                                                                : value < *position_.best - rule.min_delta);
  if (std::isfinite(value) && better) {
    LOOM_TRY_VOID(trainer_->fetch_weights());
    position_.best = value, position_.bad_validations = 0;
    if (!options_.out.empty()) {
      LOOM_TRY_VOID(save_network(file("best.entity"), *network_, {.keep_master = true}));
      position_.best_hash = to_hex(weight_hash(*network_));
    } else if (rule.restore_best) {
      LOOM_TRY(best_, network_to_entity(*network_, {.keep_master = true}));
    }
    return false;
  }
  return ++position_.bad_validations > rule.patience;
}

Result<void> TrainingRun::save_state() {
  describe_cells();
  LOOM_TRY_VOID(clock_.time(
      [&] { return save_checkpoint(file("checkpoint.entity"), *trainer_, position_, identity_, journal_); }));
  saved_step_ = trainer_->state().steps;
  return {};
}

// Restores the weights of best.entity only if this run saved them: another program may have replaced the file.
Result<void> TrainingRun::restore_best() {
  const std::string path = options_.out.empty() ? "the best network" : file("best.entity");
  LOOM_TRY_VOID(trainer_->fetch_weights());
  LOOM_TRY(SpecResult best, options_.out.empty() ? network_from_entity(best_) : load_network(path));
  if (!options_.out.empty() && to_hex(weight_hash(best.network)) != position_.best_hash)
    return fail(Code::CorruptData, "{}: holds other weights than the best validation of this run had", path);
  if (config_.trainer.commit_meta && network_to_json(best.network) != network_to_json(*network_))
    return take_over(best.network);
  std::vector<std::pair<std::string, Weight*>> from;
  best.network.visit_weights([&](const std::string& place, Weight& w, Layer&) { from.emplace_back(place, &w); });
  std::size_t next = 0;
  Result<void> copied;
  network_->visit_weights([&](const std::string& place, Weight& w, Layer&) {
    if (!copied) return;
    if (next == from.size() || from[next].first != place)
      copied = fail(Code::CorruptData, "{}: no network of this run: {} is missing", path, place);
    else if (copied = w.copy_from(*from[next].second); !copied)
      copied = at(path, std::move(copied).error());
    ++next;
  });
  LOOM_TRY_VOID(copied);
  if (next != from.size())
    return fail(Code::CorruptData, "{}: no network of this run: {} is one too many", path, from[next].first);
  return {};
}

// Metacognition layers have changed the network since: its layers go with its weights.
Result<void> TrainingRun::take_over(Network& best) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < network_->num_cells(); ++i) {
    cells.push_back(Network::path(i));
    (void)network_->exchange(i, best.exchange(i, {}));
  }
  const Shape batch = Network::with_batch(sample_shape_, config_.batch_size);
  LOOM_TRY(auto plan, ForwardPlan::create(*network_, batch));
  LOOM_TRY_VOID(trainer_->session().use_new_plan(std::move(plan)));
  return trainer_->use_new_plan(batch, cells);
}

Result<void> TrainingRun::finish(TrainResult& result) {
  const EarlyStop& rule = config_.early_stop;
  if (result.stop_reason != TrainingStop::Stopped && rule.metric && rule.restore_best && position_.best) {
    LOOM_TRY_VOID(restore_best());
  }
  const bool keeps_state = result.stop_reason == TrainingStop::Stopped;
  if (validation_ && !keeps_state) {
    auto measured = validate();
    if (measured)
      result.validation = std::move(*measured);
    else if (measured.error().code != Code::Cancelled)
      return tl::make_unexpected(std::move(measured).error());
    else if (result.stop_reason != TrainingStop::Diverged)
      result.stop_reason =
          TrainingStop::Stopped;  // to be resumed from the checkpoint of the last epoch, by this validation
  }
  result.loss_history = position_.loss_history;
  result.final_loss = position_.loss_history.empty() ? 0 : position_.loss_history.back();
  result.steps = trainer_->state().steps, result.skipped_batches = trainer_->state().skipped;
  LOOM_TRY_VOID(trainer_->fetch_weights());
  result.hash = weight_hash(*network_);
  if (result.stop_reason == TrainingStop::Stopped) {  // to be resumed
    if (keeps_state && !options_.out.empty()) LOOM_TRY_VOID(save_state());
    return {};
  }
  Json line{{"event", "end"},
            {"stop_reason", name(result.stop_reason)},
            {"step", result.steps},
            {"hash", to_hex(result.hash)}};
  if (result.validation) {
    line["validation"] = result.validation->to_json();
    if (Json confusion = confusion_json(*result.validation, data_.training->info()); !confusion.is_null())
      line["confusion"] = std::move(confusion);
  }
  LOOM_TRY_VOID(journal_.write(line));
  if (!options_.out.empty() && result.stop_reason != TrainingStop::Diverged)
    LOOM_TRY_VOID(save_network(file("model.entity"), *network_, {.keep_master = true}));
  return {};
}

}  // namespace loom
