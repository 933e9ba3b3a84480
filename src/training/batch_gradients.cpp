#include "training/batch_gradients.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/pass_error.h"
#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "ops/all.h"
#include "ops/finite.h"

namespace loom {

Result<void> StepMemory::begin(const Exec& exec, bool watches_statistics) {
  figures.clear();
  LOOM_TRY(failed, figures.take(1, 1, Element::f32));
  fill_zero(exec, failed);
  if (!watches_statistics) return {};
  LOOM_TRY(unmeasured, figures.take(1, 1, Element::f32));
  fill_zero(exec, unmeasured);
  return {};
}

Result<LossCall> StepMemory::loss_call(const Loss& loss, Device* device, const Samples& batch, const ConstView& y) {
  LossCall call{.output = y};
  if (batch.classes.empty()) {
    if (batch.values.data == nullptr || batch.values.shape.elements() != y.shape.elements())
      return fail(Code::ShapeMismatch, "targets {} for an output of shape {}", batch.values.shape.text(),
                  y.shape.text());
    if (y.data == nullptr) return call;
    LOOM_TRY(call.target, sent(device, {batch.values.data, y.shape, batch.values.element}, targets));
    return call;
  }
  const std::size_t rows = y.shape.rows(), columns = y.shape.cols();
  if (loss.takes_classes()) {
    classes.assign(batch.classes.begin(), batch.classes.end());
    call.classes = classes;
    return call;
  }
  if (batch.classes.size() != rows)
    return fail(Code::ShapeMismatch, "{} class targets for an output of shape {}", batch.classes.size(),
                y.shape.text());
  if (y.data == nullptr) return call;
  LOOM_TRY_VOID(make_room(y.shape.elements() * bytes_of(y.element), one_hot));
  std::memset(one_hot.data(), 0, y.shape.elements() * bytes_of(y.element));
  for (std::size_t r = 0; r < rows; ++r) {
    const auto c = static_cast<std::size_t>(batch.classes[r]);
    if (batch.classes[r] < 0 || c >= columns)
      return fail(Code::IndexOutOfRange, "row {}: class {} of {}", r, batch.classes[r], columns);
    with_element(y.element, [&]<class T>() { one_hot.as<T>()[r * columns + c] = T{1}; });
  }
  LOOM_TRY(call.target, sent(device, {one_hot.data(), y.shape, y.element}, targets));
  return call;
}

Result<std::unique_ptr<BatchGradients>> BatchGradients::create(Network& network,
                                                               const std::shared_ptr<const ForwardPlan>& plan,
                                                               const TrainerConfig& config, const Loss& loss,
                                                               TrainedWeights& trained, const RestorePoint& measures,
                                                               Arena& scratch) {
  std::unique_ptr<BatchGradients> made(new BatchGradients(network, config, loss, trained, measures, scratch));
  LOOM_TRY_VOID(made->create_workers(plan));
  LOOM_TRY_VOID(made->check_parts());
  if (config.shards > 1) LOOM_TRY_VOID(made->shards_.allocate(config.shards, config.session.device));
  return made;
}

Result<void> BatchGradients::create_workers(const std::shared_ptr<const ForwardPlan>& plan) {
  const std::size_t shards = config_->shards, workers = config_->workers;
  if (shards == 0 || shards > 4096)
    return fail_at({"shards"}, Code::InvalidConfig, "expected an integer from 1 to 4096, got {}", shards);
  if (workers == 0 || workers > shards)
    return fail_at({"workers"}, Code::InvalidConfig,
                   "expected an integer from 1 to {}, since each worker computes one or more of the {} shards, got {}",
                   shards, shards, workers);
  NetworkSessionOptions options = config_->session;
  options.backward = true;
  options.input_gradient = false;
  options.batches = true;
  if (options.checkpoint_every != 0 && config_->tbptt_steps != 0)
    return fail(Code::Unsupported,
                "checkpoint_every beside tbptt_steps: a second forward would start from other states");
  if (workers > 1) {
    const int threads = options.threads > 0 ? options.threads : ThreadPool::default_threads();
    options.threads = std::max(1, threads / static_cast<int>(workers));
    // On a pool that is shared each worker's own jobs find it busy and run alone.
    const auto most = static_cast<int>(std::min<std::size_t>(workers, ThreadPool::kMaxThreads));
    LOOM_TRY(team_, ThreadPool::given_or_new(options.pool, most));
  }
  for (std::size_t w = 0; w < workers; ++w) {
    Worker& worker = workers_.emplace_back();
    LOOM_TRY(worker.session, NetworkSession::create(*network_, plan, options));
    worker.arena = Arena(options.device);
    worker.memory.figures = Figures(options.device);
  }
  return {};
}

// Refuses parts of a batch that would not give the whole batch's gradient.
Result<void> BatchGradients::check_parts() {
  if (config_->lbfgs_history && device() != nullptr) return fail(Code::Unsupported, "lbfgs runs without a device");
  const std::size_t shards = config_->shards;
  if (shards == 1 && config_->micro_batch == 0) return {};
  const std::string_view parts = shards == 1 ? "micro_batch and accumulate" : "shards";
  if (session().is_stateful())
    return fail(Code::Unsupported, "{}: the network has stateful layers, which would hand states from part to part",
                parts);
  if (loss_->across_samples())
    return fail(Code::Unsupported, "{}: contrastive holds each sample against all others of the batch", parts);
  if (shards == 1) return {};
  bool measures = !session().metas().empty();
  network_->visit_weights(
      [&](const std::string&, const Weight& w, const Layer&) { measures |= w.role() == WeightRole::Statistic; });
  if (measures)
    return fail(Code::Unsupported,
                "shards: the network has layers that measure their whole batch (batchnorm, metacognition)");
  return {};
}

std::vector<NetworkSession*> BatchGradients::sessions() {
  std::vector<NetworkSession*> out;
  out.reserve(workers_.size());
  for (Worker& worker : workers_) out.push_back(worker.session.get());
  return out;
}

Result<void> BatchGradients::begin(const Samples& batch, const StepCall& call) {
  running_ = {call, batch.inputs.shape.elements(), 0};
  const Exec now = exec();
  for (Worker& worker : workers_) {
    worker.parts.clear();
    LOOM_TRY_VOID(worker.memory.begin(now, measures_->is_on_card() && !measures_->statistics().empty()));
  }
  return status_of_pass(now);
}

bool BatchGradients::keeps_track_of_passes() const {
  NetworkSession& session = *workers_[0].session;
  return session.is_stateful() || !session.metas().empty() || !measures_->statistics().empty();
}

Result<void> BatchGradients::check(const Samples& batch) {
  LOOM_TRY_VOID(joint_count(batch));
  return {};
}

Result<double> BatchGradients::joint_count(const Samples& batch) {
  LOOM_TRY(const Shape shape, session().output_shape(batch.inputs.shape));
  LOOM_TRY(const LossCall call, memory().loss_call(*loss_, device(), batch, {nullptr, shape, session().element()}));
  if (!call.classes.empty()) LOOM_TRY_VOID(loss_->check_classes(call));
  return loss_->count(call);
}

// Forward, loss and backward of samples [first, first + part.size()) of a batch; gradients are added to the session's.
Result<void> BatchGradients::run_part(Worker& worker, const Samples& part, std::size_t first) {
  const StepCall& call = running_.call;
  StepMemory& memory = worker.memory;
  PassExtras extras;
  extras.training = true;
  extras.step = static_cast<std::uint32_t>(call.step);
  extras.first_sample = first;
  extras.share = static_cast<double>(part.inputs.shape.elements()) / static_cast<double>(running_.elements);
  extras.loss_scale = call.loss_scale;
  extras.cancel = call.cancel;
  extras.unmeasured = memory.unmeasured;
  LOOM_TRY(const ConstView x, sent(device(), part.inputs, memory.inputs));
  if (&worker == workers_.data()) last_part_ = x.shape;
  LOOM_TRY(const ConstView y, worker.session->forward(x, extras));
  LOOM_TRY(LossCall loss, memory.loss_call(*loss_, device(), part, y));
  LOOM_TRY_VOID(make_room(device(), y.shape.elements() * bytes_of(y.element), worker.dy));
  const View dy{worker.dy.data(), y.shape, y.element};
  loss.gradient = dy;
  loss.joint_count = running_.joint_count;
  const Exec now = worker.exec();
  PartLoss& sum = worker.parts.back();
  LOOM_TRY(sum.loss, loss_->record(now, loss, memory.figures, memory.failed));
  LOOM_TRY(sum.gates, memory.figures.take(1, 1, y.element));
  if (call.loss_scale != 1) scale(now, dy, call.loss_scale, dy);
  const auto round = [&](const Exec& on) { round_gradients(on, dy, config_->session.mixed); };
  LOOM_TRY_VOID(plan_scratch(now, round));
  round(now);
  copy(now, worker.session->gate_figure(), sum.gates);
  check_finite(now, sum.gates, memory.failed);
  LOOM_TRY_VOID(status_of_pass(now));
  LOOM_TRY_VOID(worker.session->backward(dy, nullptr, call.cancel));
  return {};
}

// Like run_part(), in chunks of tbptt_steps positions: states go on, gradients stop between chunks.
Result<void> BatchGradients::run_chunks(Worker& worker, const Samples& part, std::size_t first) {
  const std::size_t steps = part.inputs.shape[1], shard = worker.parts.back().shard;
  for (std::size_t at = 0; at < steps; at += config_->tbptt_steps) {
    LOOM_TRY(const Samples chunk, worker.chunk.cut(part, at, std::min(config_->tbptt_steps, steps - at)));
    if (at != 0) {
      worker.session->continue_states();
      worker.parts.push_back({{}, {}, shard, false});
    }
    LOOM_TRY_VOID(run_part(worker, chunk, first));
  }
  return {};
}

// Runs a batch, or a shard of one, in the micro-batches that the configuration asks for.
Result<void> BatchGradients::run_samples(Worker& worker, const Samples& samples, std::size_t first, std::size_t shard) {
  const std::size_t all = samples.size(), each = config_->micro_batch == 0 ? all : std::min(config_->micro_batch, all);
  for (std::size_t at = 0; at < all; at += each) {
    const std::size_t count = std::min(each, all - at);
    const Samples part = each == all ? samples : part_of(samples, at, count);
    const bool chunks =
        config_->tbptt_steps != 0 && part.inputs.shape.rank() >= 2 && part.inputs.shape[1] > config_->tbptt_steps;
    worker.parts.push_back({{}, {}, shard, true});
    LOOM_TRY_VOID(chunks ? run_chunks(worker, part, first + at) : run_part(worker, part, first + at));
  }
  return {};
}

Result<void> BatchGradients::run_shard(Worker& worker, std::size_t s, const Samples& batch) {
  const std::size_t shards = config_->shards, samples = batch.size();
  const std::size_t begin = s * samples / shards, end = (s + 1) * samples / shards;
  worker.session->gradients().clear();
  if (begin != end) LOOM_TRY_VOID(run_samples(worker, part_of(batch, begin, end - begin), begin, s));
  const Exec now = worker.exec();
  shards_.take(now, worker.session->gradients(), s);
  return status_of_pass(now);
}

// Runs the shards of one worker, each with a gradient of its own.
Result<void> BatchGradients::run_share(std::size_t w, const Samples& batch) {
  const std::size_t shards = config_->shards;
  for (std::size_t s = w * shards / workers_.size(); s < (w + 1) * shards / workers_.size(); ++s)
    LOOM_TRY_VOID(run_shard(workers_[w], s, batch));
  return {};
}

// Workers compute side by side; the shards' gradients are then added as a binary tree over their numbers, and so are
// their losses (loss()).
Result<void> BatchGradients::run_shards(const Samples& batch) {
  std::vector<Result<void>> done(workers_.size());
  const auto run = [&](std::size_t w) { done[w] = run_share(w, batch); };
  if (workers_.size() == 1 || device() != nullptr)  // one thread has the device for the whole step
    for (std::size_t w = 0; w < workers_.size(); ++w) run(w);
  else
    team_->run(workers_.size(), run);
  for (Result<void>& each : done) LOOM_TRY_VOID(std::move(each));
  const Exec now = exec();
  shards_.add(now, 0, config_->shards);
  shards_.give(now, session().gradients());
  const Tensor failed = memory().failed;
  for (std::size_t w = 1; w < workers_.size(); ++w) add(now, failed, workers_[w].memory.failed, failed);
  return status_of_pass(now);
}

Result<void> BatchGradients::run(const Samples& batch, const StepCall& call) {
  LOOM_TRY_VOID(begin(batch, call));
  session().gradients().clear();
  LOOM_TRY(running_.joint_count, joint_count(batch));
  LOOM_TRY_VOID(config_->shards > 1 ? run_shards(batch) : run_samples(workers_[0], batch, 0, 0));
  const Exec now = exec();
  trained_->list(now, session().gradients());
  return status_of_pass(now);
}

Result<void> BatchGradients::fetch() {
  for (Worker& worker : workers_) worker.memory.figures.fetch();
  return device() == nullptr ? Result<void>() : device()->check();
}

double BatchGradients::loss_of(const Worker& worker, std::size_t shard) const {
  double loss = 0, part = 0;
  for (const PartLoss& sum : worker.parts) {
    if (sum.shard != shard) continue;
    if (sum.begins) {
      loss += part;
      part = 0;
    }
    part += sum.loss.value(worker.memory.figures).value + worker.memory.figures.at(sum.gates);
  }
  return loss + part;
}

double BatchGradients::loss() const {
  std::vector<double> losses(config_->shards);
  for (const Worker& worker : workers_) {
    std::optional<std::size_t> shard;
    for (const PartLoss& part : worker.parts) {
      if (shard == part.shard) continue;
      shard = part.shard;
      losses[*shard] = loss_of(worker, *shard);
    }
  }
  return tree_sum(std::move(losses));
}

Result<double> BatchGradients::run_and_fetch(const Samples& batch, const StepCall& call) {
  LOOM_TRY_VOID(run(batch, call));
  LOOM_TRY_VOID(fetch());
  return loss();
}

Result<ShardSum> BatchGradients::run_node(const Samples& batch, const StepCall& call, std::size_t first,
                                          std::size_t count) {
  const auto sum_of = [&](double loss) { return ShardSum{first, count, shards_.gradients_of(first), loss}; };
  LOOM_TRY_VOID(begin(batch, call));
  Worker& worker = workers_[0];
  LOOM_TRY(running_.joint_count, joint_count(batch));
  for (std::size_t s = first; s < first + count; ++s) LOOM_TRY_VOID(run_shard(worker, s, batch));
  shards_.add(exec(), first, count);
  LOOM_TRY_VOID(fetch());
  if (worker.memory.figures.at(worker.memory.failed) != 0) return sum_of(std::numeric_limits<double>::quiet_NaN());
  std::vector<double> losses(count);
  for (std::size_t s = 0; s < count; ++s) losses[s] = loss_of(worker, first + s);
  return sum_of(tree_sum(std::move(losses)));
}

Result<double> BatchGradients::take_sums(std::span<const ShardSum> sums) {
  const Exec now = exec();
  LOOM_TRY(const double total, shards_.add_sums(now, sums));
  for (Worker& worker : workers_) {
    worker.parts.clear();
    LOOM_TRY_VOID(worker.memory.begin(now, false));
  }
  shards_.give(now, session().gradients());
  trained_->list(now, session().gradients());
  LOOM_TRY_VOID(status_of_pass(now));
  return total;
}

std::size_t BatchGradients::resident_bytes() const {
  std::size_t bytes = shards_.resident_bytes();
  for (const Worker& w : workers_) bytes += w.session->scratch_bytes() + w.dy.size() + w.arena.size();
  return bytes + workers_.size() * trained_->elements() * bytes_of(network_->settings.activations);
}

}  // namespace loom
