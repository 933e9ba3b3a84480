#include "training/trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "backend/pass_error.h"
#include "backend/rehearsal.h"
#include "backend/travel.h"
#include "core/checked.h"
#include "core/fp_environment.h"
#include "core/nearest.h"
#include "dtypes/packing.h"
#include "learning/clip.h"
#include "ops/all.h"
#include "ops/finite.h"
#include "ops/magnitude/magnitude.h"

namespace loom {
namespace {

constexpr double kFirstLossScale = 65536, kLargestLossScale = 0x1p24;
constexpr std::uint64_t kGoodSteps = 2000;  // before the loss scale is doubled (T-70)

// Weights below a layer, with what its settings and those of its containers say about training.
void visit_trained(const std::string& path, Layer& layer, bool trainable, double scale,
                   const std::function<void(const std::string&, Weight&, bool, double)>& visit) {
  trainable = trainable && layer.common.trainable;
  scale *= layer.common.learning_rate_scale;
  layer.visit_all_weights([&](Weight& w) { visit(path + "." + w.name(), w, trainable, scale); });
  layer.visit_children([&](const std::string& below, Layer& child) {
    visit_trained(path + "." + below, child, trainable, scale, visit);
  });
}

// Finds where numbers stop being finite, for a message: every output is read from a device, for once.
class FiniteWatch final : public LayerWatch {
 public:
  FiniteWatch(const Exec& exec, Device* device) : exec_(exec), device_(device) {}
  void after_forward(const Layer& layer, const ConstView& /*x*/, const ConstView& y) override {
    if (first != nullptr) return;
    const auto here = brought(device_, y, memory_);
    if (!here) error = here.error();
    if (here && !all_finite(exec_, *here)) first = &layer;
  }
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override {}
  const Layer* first = nullptr;
  std::optional<Error> error;

 private:
  const Exec& exec_;
  Device* device_;
  Buffer memory_;
};

ConstView part_of(const ConstView& x, std::size_t first, std::size_t count) {
  if (x.data == nullptr) return x;
  std::vector<std::size_t> extents(x.shape.extents().begin(), x.shape.extents().end());
  const std::size_t each = x.shape.elements() / extents[0];
  extents[0] = count;
  return {x.as<std::byte>() + first * each * bytes_of(x.element), *Shape::create(extents), x.element};
}

// The error of ops that could not be recorded.
Result<void> recorded(const Exec& exec) {
  if (exec.status) return error_of_pass(exec);
  return {};
}

// Positions [first, first + count) of every sequence of x [B, T, ...], one sequence behind the other.
Result<ConstView> positions_of(const ConstView& x, std::size_t first, std::size_t count, Buffer& memory) {
  std::vector<std::size_t> extents(x.shape.extents().begin(), x.shape.extents().end());
  const std::size_t samples = extents[0], steps = extents[1],
                    each = x.shape.elements() / (samples * steps) * bytes_of(x.element);
  extents[1] = count;
  LOOM_TRY_VOID(make_room(samples * count * each, memory));
  for (std::size_t s = 0; s < samples; ++s)
    std::memcpy(memory.data() + s * count * each, x.as<std::byte>() + (s * steps + first) * each, count * each);
  return ConstView{memory.data(), *Shape::create(extents), x.element};
}

// Adds up values as the tree over shards does.
double tree_sum(std::vector<double> values) {
  for (std::size_t stride = 1; stride < values.size(); stride *= 2)
    for (std::size_t s = 0; s + stride < values.size(); s += 2 * stride) values[s] += values[s + stride];
  return values.front();
}

Samples part_of(const Samples& batch, std::size_t first, std::size_t count) {
  const std::size_t labels = batch.classes.size() / batch.size();
  return {part_of(batch.inputs, first, count),
          batch.classes.empty() ? batch.classes : batch.classes.subspan(first * labels, count * labels),
          part_of(batch.values, first, count)};
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(Network& network, const TrainerConfig& config) {
  LOOM_TRY(Loss loss, Loss::create(config.loss));
  LOOM_TRY(Optimizer optimizer, Optimizer::create(config.optimizer));
  LOOM_TRY(Schedule schedule, Schedule::create(config.schedule));
  if (config.session.mixed != Mixed::none && network.settings.activations == Element::f64)
    return fail(Code::Unsupported, "mixed precision: the network computes in f64");
  std::unique_ptr<Trainer> t(new Trainer(network, config, std::move(loss), std::move(optimizer), std::move(schedule)));
  t->settle_device();
  if (config.lbfgs_history) {
    // The search along a line compares losses with the slope of the true gradient.
    if (config.clip_norm != 0 || config.clip_value != 0)
      return fail(Code::InvalidConfig, "lbfgs: clip_norm and clip_value would bend the line it searches along");
    if (config.session.mixed == Mixed::f16)
      return fail(
          Code::InvalidConfig,
          "lbfgs: mixed f16 scales the loss by what its overflows tell, which a search along a line does not survive");
    LOOM_TRY(t->lbfgs_, Lbfgs::create(*config.lbfgs_history));
  }
  if (config.commit_meta && (config.lbfgs_history || t->config_.session.device != nullptr))
    return fail(Code::Unsupported, "commit_meta: neither with lbfgs, whose pairs are of one network, nor on a device");
  LOOM_TRY_VOID(t->collect_parameters());
  LOOM_TRY_VOID(config.tween ? t->create_tween() : t->create_workers());
  if (config.session.mixed == Mixed::f16) t->state_.loss_scale = kFirstLossScale;
  return t;
}

Result<void> Trainer::check_effects() const {
  if (config_.commit_meta) return {};  // a layer may ask for another type later
  const auto has_a_scale = [](const Weight* w) {
    return (w->role() == WeightRole::Matrix || w->role() == WeightRole::TypedVector) && has_scales(w->dtype());
  };
  if (config_.frozen_scales && std::ranges::none_of(trained_.weights, has_a_scale))
    return fail_at({"qat_scale"}, Code::InvalidConfig,
                   "\"frozen\" has no effect: no weight that is trained has a type with scales; give a dtype such as "
                   "int8, or leave qat_scale out");
  const auto has_limit = [](const std::optional<double>& limit) { return limit.has_value(); };
  if (config_.clamp_master.rule == MasterClamp::Rule::Limit && std::ranges::none_of(trained_.limits, has_limit))
    return fail_at({"clamp_master"}, Code::InvalidConfig,
                   "{} has no effect: no weight that is trained is a binary or ternary matrix; give such a dtype, or "
                   "leave clamp_master out",
                   config_.clamp_master.limit);
  return {};
}

// What no device runs stays here.
void Trainer::settle_device() {
  NetworkSessionOptions& session = config_.session;
  const bool has_feedback = config_.tween && (config_.tween->mode == "mirror" || config_.tween->mode == "dtp");
  if (config_.lbfgs_history || config_.commit_meta || has_feedback) session.choose_device = nullptr;
  NetworkSessionOptions learns = session;
  learns.backward = true;
  loom::settle_device(*network_, learns);
  session.device = learns.device, session.choose_device = nullptr;
}

Result<void> Trainer::create_tween() {
  if (config_.lbfgs_history || config_.micro_batch != 0 || config_.tbptt_steps != 0 || config_.shards != 1 ||
      config_.workers != 1 || config_.clip_norm != 0 || config_.clip_value != 0 ||
      config_.session.mixed != Mixed::none || config_.session.checkpoint_every != 0)
    return fail(Code::InvalidConfig,
                "tween: micro_batch, accumulate, tbptt_steps, shards, workers, clipping, mixed, checkpoint_every and "
                "lbfgs belong to gradients");
  TweenConfig config = *config_.tween;
  config.optimizer = config_.optimizer, config.clamp_master = config_.clamp_master;
  NetworkSessionOptions options = config_.session;
  options.input_gradient = false, options.batches = true;
  LOOM_TRY(tween_, TweenSession::create(*network_, config, options));
  OptimizerConfig given = config_.optimizer;
  given.name = folded_name(given.name);
  if (tween_->optimizer() == nullptr && given != OptimizerConfig())
    return fail(Code::InvalidConfig,
                "tween: its mode has an update rule of its own, only mirror and dtp have an optimizer");
  workers_.resize(1);
  workers_[0].figures = Figures(options.device);
  return {};
}

Result<void> Trainer::create_workers() {
  const std::size_t shards = config_.shards, workers = config_.workers;
  if (shards == 0 || shards > 4096 || workers == 0 || workers > shards)
    return fail(Code::InvalidConfig, "{} shards on {} workers: 1 to 4096, and at most as many workers, expected",
                shards, workers);
  NetworkSessionOptions options = config_.session;
  options.backward = true, options.input_gradient = false, options.batches = true;
  if (options.checkpoint_every != 0 && config_.tbptt_steps != 0)
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
    LOOM_TRY(worker.session, NetworkSession::create(*network_, options));
    worker.arena = Arena(options.device), worker.figures = Figures(options.device);
  }
  if (lbfgs_ && options.device != nullptr) return fail(Code::Unsupported, "lbfgs runs without a device");
  if (shards == 1 && config_.micro_batch == 0) return {};
  const std::string_view parts = shards == 1 ? "micro_batch and accumulate" : "shards";
  if (session().is_stateful())
    return fail(Code::Unsupported, "{}: the network has stateful layers, which would hand states from part to part",
                parts);
  if (loss_.across_samples())
    return fail(Code::Unsupported, "{}: contrastive holds each sample against all others of the batch", parts);
  if (shards == 1) return {};
  bool measures = !session().metas().empty();
  network_->visit_weights(
      [&](const std::string&, const Weight& w, const Layer&) { measures |= w.role() == WeightRole::Statistic; });
  if (measures)
    return fail(Code::Unsupported,
                "shards: the network has layers that measure their whole batch (batchnorm, metacognition)");
  const std::size_t bytes = trained_.elements() * bytes_of(session().element());
  shard_gradients_.resize(shards);
  for (Memory& memory : shard_gradients_) {
    LOOM_TRY(memory, Memory::create(options.device, bytes));
  }
  return {};
}

Result<void> Trainer::collect_parameters() {
  std::vector<Parameter> parameters;
  std::optional<Error> error;
  for (std::size_t i = 0; i < network_->num_cells(); ++i) {
    if (!network_->cell(i).layer) continue;
    visit_trained(
        Network::path(i), *network_->cell(i).layer, true, 1,
        [&](const std::string& path, Weight& w, bool trainable, double scale) {
          if (w.role() == WeightRole::Statistic && !w.is_tied()) measures_.statistics.push_back(&w);
          if (error || w.is_tied() || w.role() == WeightRole::Statistic) return;
          if (!trainable) w.freeze(true);
          if (w.is_frozen()) return;
          if (!w.has_master()) {
            error = Error{Code::InvalidArgument, path + ": its master was released; ensure_master() decodes one"};
            return;
          }
          // Gradients and state have the element of the sums, and so has the master that they move.
          if (auto done = w.convert_master(network_->settings.activations); !done) {
            error = std::move(done.error().in_source(path));
            return;
          }
          parameters.push_back({path, w.elements(), network_->settings.activations, w.shape().rank() == 1, scale});
          trained_.weights.push_back(&w);
          trained_.limits.push_back(master_limit(config_.clamp_master, w));
          w.freeze_scales(config_.frozen_scales);
        });
  }
  if (error) return tl::make_unexpected(*std::move(error));
  if (trained_.weights.empty()) return fail(Code::InvalidArgument, "the network has no weight to train");
  trained_.resize_views();
  scratch_ = Arena(config_.session.device);
  return optimizer_.prepare(std::move(parameters), config_.session.device);
}

// Inputs and values in the network's element type, the class ids of losses that take them.
Result<Samples> Trainer::in_element(const Samples& batch) {
  if (batch.inputs.data == nullptr || batch.inputs.shape.rank() == 0)
    return fail(Code::InvalidArgument, "a batch without inputs");
  if (batch.inputs.shape.rank() == 1) {  // a number for each sample, or one sample's features
    LOOM_TRY(const Shape y, network_->output_shape(batch.inputs.shape, 0, network_->num_cells()));
    if (y.rank() < 2)
      return fail(Code::ShapeMismatch, "inputs of shape {} give {}: a batch has an axis of samples before all others",
                  batch.inputs.shape.text(), y.text());
  }
  return session().element() == Element::f32 ? Result<Samples>(batch) : wide_.widened(batch);
}

Result<Samples> Trainer::WideBatch::widened(const Samples& batch) {
  Samples out = batch;
  const auto widen = [](ConstView& view, Buffer& memory) -> Result<void> {
    if (view.data == nullptr || view.element == Element::f64) return {};
    LOOM_TRY_VOID(make_room(view.shape.elements() * sizeof(double), memory));
    std::copy_n(view.as<float>(), view.shape.elements(), memory.as<double>());
    view = {memory.data(), view.shape, Element::f64};
    return {};
  };
  LOOM_TRY_VOID(widen(out.inputs, inputs));
  LOOM_TRY_VOID(widen(out.values, values));
  return out;
}

// The loss arguments of a batch. An output without data gives shapes and classes only, which is all that count() reads.
Result<LossCall> Trainer::loss_call(Worker& worker, const Samples& batch, const ConstView& output) {
  LossCall call{.output = output};
  if (batch.classes.empty()) {
    if (batch.values.data == nullptr || batch.values.shape.elements() != output.shape.elements())
      return fail(Code::ShapeMismatch, "targets {} for an output of shape {}", batch.values.shape.text(),
                  output.shape.text());
    LOOM_TRY(call.target,
             sent(config_.session.device, {batch.values.data, output.shape, batch.values.element}, worker.targets));
    return call;
  }
  const std::size_t rows = output.shape.rows(), classes = output.shape.cols();
  if (loss_.takes_classes()) {
    worker.classes.assign(batch.classes.begin(), batch.classes.end());
    call.classes = worker.classes;
    return call;
  }
  if (batch.classes.size() != rows)
    return fail(Code::ShapeMismatch, "{} class targets for an output of shape {}", batch.classes.size(),
                output.shape.text());
  if (output.data == nullptr) return call;
  Buffer& one_hot = worker.one_hot;
  LOOM_TRY_VOID(make_room(output.shape.elements() * bytes_of(output.element), one_hot));
  std::memset(one_hot.data(), 0, output.shape.elements() * bytes_of(output.element));
  for (std::size_t r = 0; r < rows; ++r) {
    const auto c = static_cast<std::size_t>(batch.classes[r]);
    if (batch.classes[r] < 0 || c >= classes)
      return fail(Code::IndexOutOfRange, "row {}: class {} of {}", r, batch.classes[r], classes);
    with_element(output.element, [&]<class T>() { one_hot.as<T>()[r * classes + c] = T{1}; });
  }
  LOOM_TRY(call.target, sent(config_.session.device, {one_hot.data(), output.shape, output.element}, worker.targets));
  return call;
}

Result<double> Trainer::joint_count(const Samples& batch) {
  LOOM_TRY(const Shape shape, network_->output_shape(batch.inputs.shape, 0, network_->num_cells()));
  LOOM_TRY(const LossCall call, loss_call(workers_[0], batch, {nullptr, shape, session().element()}));
  if (!call.classes.empty()) LOOM_TRY_VOID(loss_.check_classes(call));
  return loss_.count(call);
}

// Forward, loss and backward of samples [first, first + part.size()) of a batch; gradients are added to the session's.
Result<void> Trainer::run_part(Worker& worker, const Samples& part, std::size_t first, double joint) {
  PassExtras extras;
  extras.training = true, extras.step = static_cast<std::uint32_t>(state_.steps), extras.first_sample = first;
  extras.share = static_cast<double>(part.inputs.shape.elements()) / static_cast<double>(running_.elements),
  extras.loss_scale = state_.loss_scale, extras.cancel = running_.cancel, extras.unmeasured = worker.unmeasured;
  LOOM_TRY(const ConstView x, sent(config_.session.device, part.inputs, worker.inputs));
  if (&worker == workers_.data()) running_.part = x.shape;
  LOOM_TRY(const ConstView y, worker.session->forward(x, extras));
  LOOM_TRY(LossCall call, loss_call(worker, part, y));
  LOOM_TRY_VOID(make_room(config_.session.device, y.shape.elements() * bytes_of(y.element), worker.dy));
  const View dy{worker.dy.data(), y.shape, y.element};
  call.gradient = dy, call.joint_count = joint;
  const Exec now = worker.exec();
  PartLoss& sum = worker.parts.back();
  LOOM_TRY(sum.loss, loss_.record(now, call, worker.figures, worker.failed));
  LOOM_TRY(sum.gates, worker.figures.take(1, 1, y.element));
  if (state_.loss_scale != 1) scale(now, dy, state_.loss_scale, dy);
  const auto round = [&](const Exec& exec) { round_gradients(exec, dy, config_.session.mixed); };
  LOOM_TRY_VOID(plan_scratch(now, round));
  round(now);
  copy(now, worker.session->gate_figure(), sum.gates);
  check_finite(now, sum.gates, worker.failed);
  LOOM_TRY_VOID(recorded(now));
  LOOM_TRY_VOID(worker.session->backward(dy, nullptr, running_.cancel));
  return {};
}

// The same in chunks of tbptt_steps positions: states go on, gradients stop between them.
Result<void> Trainer::run_chunks(Worker& worker, const Samples& part, std::size_t first, double joint) {
  const Shape& shape = part.inputs.shape;
  const std::size_t steps = shape[1], rows = shape[0] * steps, labels = part.classes.size() / rows;
  if (part.classes.size() % rows != 0 ||
      (part.values.data != nullptr && (part.values.shape.rank() < 2 || part.values.shape[1] != steps)))
    return fail(Code::ShapeMismatch, "tbptt_steps: targets for each of {} positions expected", steps);
  const std::size_t shard = worker.parts.back().shard;
  for (std::size_t at = 0; at < steps; at += config_.tbptt_steps) {
    const std::size_t count = std::min(config_.tbptt_steps, steps - at);
    Samples chunk;
    LOOM_TRY(chunk.inputs, positions_of(part.inputs, at, count, worker.chunk_inputs));
    if (part.values.data != nullptr) {
      LOOM_TRY(chunk.values, positions_of(part.values, at, count, worker.chunk_values));
    }
    worker.chunk_classes.clear();
    for (std::size_t s = 0; s < shape[0] && !part.classes.empty(); ++s) {
      const auto from = part.classes.begin() + static_cast<std::ptrdiff_t>((s * steps + at) * labels);
      worker.chunk_classes.insert(worker.chunk_classes.end(), from, from + static_cast<std::ptrdiff_t>(count * labels));
    }
    chunk.classes = worker.chunk_classes;
    if (at != 0) worker.session->carry_states(), worker.parts.push_back({{}, {}, shard, false});
    LOOM_TRY_VOID(run_part(worker, chunk, first, joint));
  }
  return {};
}

// A batch, or a shard of one, in the micro-batches that the configuration asks for.
Result<void> Trainer::run_samples(Worker& worker, const Samples& samples, std::size_t first, double joint,
                                  std::size_t shard) {
  const std::size_t all = samples.size(), each = config_.micro_batch == 0 ? all : std::min(config_.micro_batch, all);
  for (std::size_t at = 0; at < all; at += each) {
    const std::size_t count = std::min(each, all - at);
    const Samples part = each == all ? samples : part_of(samples, at, count);
    const bool chunks =
        config_.tbptt_steps != 0 && part.inputs.shape.rank() >= 2 && part.inputs.shape[1] > config_.tbptt_steps;
    worker.parts.push_back({{}, {}, shard, true});
    LOOM_TRY_VOID(chunks ? run_chunks(worker, part, first + at, joint) : run_part(worker, part, first + at, joint));
  }
  return {};
}

// The shards of one worker, each with a gradient of its own.
Result<void> Trainer::run_share(std::size_t w, const Samples& batch, double joint) {
  const std::size_t shards = config_.shards;
  for (std::size_t s = w * shards / workers_.size(); s < (w + 1) * shards / workers_.size(); ++s)
    LOOM_TRY_VOID(run_shard(workers_[w], s, batch, joint));
  return {};
}

Result<void> Trainer::run_shard(Worker& worker, std::size_t s, const Samples& batch, double joint) {
  const std::size_t shards = config_.shards, samples = batch.size();
  const std::size_t begin = s * samples / shards, end = (s + 1) * samples / shards;
  Gradients& gradients = worker.session->gradients();
  gradients.clear();
  if (begin != end) LOOM_TRY_VOID(run_samples(worker, part_of(batch, begin, end - begin), begin, joint, s));
  const Exec now = worker.exec();
  std::byte* to = shard_gradients_[s].data();
  for (const Weight* weight : trained_.weights) {
    const Tensor part{to, 1, weight->elements(), gradients.element()};
    copy(now, {gradients.of(now, *weight), 1, weight->elements(), gradients.element()}, part);
    to += part.bytes();
  }
  return recorded(now);
}

Tensor Trainer::shard_gradient(std::size_t shard) {
  const Element element = session().element();
  return {shard_gradients_[shard].data(), 1, trained_.elements(), element};
}

// Leaves in shard `first` what the node of shards [first, first + count) adds up.
void Trainer::add_shards(std::size_t first, std::size_t count) {
  const Exec now = update_exec();
  for (std::size_t stride = 1; stride < count; stride *= 2)
    for (std::size_t s = first; s + stride < first + count; s += 2 * stride)
      add(now, shard_gradient(s), shard_gradient(s + stride), shard_gradient(s));
}

// Hands the sum of all shards to the session, where updates look for gradients.
void Trainer::take_gradients() {
  const Exec now = update_exec();
  const Element element = session().element();
  std::byte* from = shard_gradients_[0].data();
  for (const Weight* w : trained_.weights) {
    const Tensor sum{from, 1, w->elements(), element};
    copy(now, sum, {session().gradients().of(now, *w), 1, w->elements(), element});
    from += sum.bytes();
  }
}

// Workers compute side by side; the shards' gradients are then added as a binary tree over their numbers, and so are
// their losses (loss_of_step).
Result<void> Trainer::run_shards(const Samples& batch, double joint) {
  std::vector<Result<void>> done(workers_.size());
  const auto run = [&](std::size_t w) { done[w] = run_share(w, batch, joint); };
  if (workers_.size() == 1 || device() != nullptr)  // one thread has the device for the whole step
    for (std::size_t w = 0; w < workers_.size(); ++w) run(w);
  else
    team_->run(workers_.size(), run);
  for (Result<void>& each : done) LOOM_TRY_VOID(std::move(each));
  add_shards(0, config_.shards);
  take_gradients();
  const Exec now = update_exec();
  for (std::size_t w = 1; w < workers_.size(); ++w)
    add(now, workers_[0].failed, workers_[w].failed, workers_[0].failed);
  return recorded(now);
}

Result<void> Trainer::begin_figures() {
  const Exec now = update_exec();
  for (Worker& worker : workers_) {
    worker.figures.clear(), worker.parts.clear();
    LOOM_TRY(worker.failed, worker.figures.take(1, 1, Element::f32));
    fill_zero(now, worker.failed);
    if (!keeps_measures_there() || measures_.statistics.empty()) continue;
    LOOM_TRY(worker.unmeasured, worker.figures.take(1, 1, Element::f32));
    fill_zero(now, worker.unmeasured);
  }
  return recorded(now);
}

Result<void> Trainer::fetch() {
  for (Worker& worker : workers_) worker.figures.fetch();
  return config_.session.device == nullptr ? Result<void>() : config_.session.device->check();
}

double Trainer::loss_of(const Worker& worker, std::size_t shard) const {
  double loss = 0, part = 0;
  for (const PartLoss& sum : worker.parts) {
    if (sum.shard != shard) continue;
    if (sum.begins) loss += part, part = 0;
    part += sum.loss.value(worker.figures).value + worker.figures.at(sum.gates);
  }
  return loss + part;
}

double Trainer::loss_of_step() const {
  const std::size_t shards = config_.shards;
  std::vector<double> losses(shards);
  for (const Worker& worker : workers_) {
    std::optional<std::size_t> shard;
    for (const PartLoss& part : worker.parts)
      if (shard != part.shard) shard = part.shard, losses[*shard] = loss_of(worker, *shard);
  }
  return tree_sum(std::move(losses));
}

bool is_shard_node(std::size_t first, std::size_t count, std::size_t shards) {
  if (count == 0 || first >= shards || count > shards - first) return false;
  const std::size_t whole = std::bit_ceil(count);
  return first % whole == 0 && (count == whole || first + count == shards);
}

Result<void> Trainer::check_divides() const {
  if (tween_) return fail(Code::Unsupported, "a step by targets (tween) has no gradients to divide over processes");
  if (lbfgs_)
    return fail(Code::Unsupported, "lbfgs asks for gradients at several points of a line: its steps are not divided");
  if (config_.session.device != nullptr) return fail(Code::Unsupported, "steps on a device are not divided");
  if (config_.shards < 2)
    return fail(Code::Unsupported, "shards: expected 2 or more, which is what processes divide, got {}",
                config_.shards);
  return {};
}

Result<ShardSum> Trainer::shard_sum(const Samples& given, std::size_t first, std::size_t count,
                                    const std::atomic<bool>* cancel) {
  const FpEnvironment environment;
  LOOM_TRY_VOID(check_divides());
  if (!is_shard_node(first, count, config_.shards))
    return fail(Code::InvalidArgument, "{} shards from {} on are no node of the tree over {}", count, first,
                config_.shards);
  LOOM_TRY(const Samples batch, in_element(given));
  running_.cancel = cancel;
  const Result<double> ran = run_node(batch, first, count);
  running_.cancel = nullptr;
  if (!ran && ran.error().code != Code::NonFinite) return tl::make_unexpected(ran.error());
  return ShardSum{first,
                  count,
                  {shard_gradients_[first].data(), gradient_bytes()},
                  ran ? *ran : std::numeric_limits<double>::quiet_NaN()};
}

// The loss of one node's shards, NaN where one of their figures is not finite; their gradients lie in the first one.
Result<double> Trainer::run_node(const Samples& batch, std::size_t first, std::size_t count) {
  LOOM_TRY_VOID(begin_figures());
  Worker& worker = workers_[0];
  running_.elements = batch.inputs.shape.elements();
  LOOM_TRY(const double joint, joint_count(batch));
  for (std::size_t s = first; s < first + count; ++s) LOOM_TRY_VOID(run_shard(worker, s, batch, joint));
  add_shards(first, count);
  LOOM_TRY_VOID(fetch());
  if (worker.figures.at(worker.failed) != 0) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> losses(count);
  for (std::size_t s = 0; s < count; ++s) losses[s] = loss_of(worker, first + s);
  return tree_sum(std::move(losses));
}

// Adds up what others summed, and returns the loss.
Result<double> Trainer::take_sums(std::span<const ShardSum> sums) {
  const std::size_t shards = config_.shards;
  std::vector<std::size_t> counts(shards);
  std::vector<double> losses(shards);
  std::vector<bool> is_there(shards);
  for (const ShardSum& sum : sums) {
    if (!is_shard_node(sum.first, sum.count, shards))
      return fail(Code::InvalidArgument, "{} shards from {} on are no node of the tree over {}", sum.count, sum.first,
                  shards);
    if (sum.gradients.size() != gradient_bytes())
      return fail(Code::ShapeMismatch, "{} bytes of gradients, the network's have {}", sum.gradients.size(),
                  gradient_bytes());
    for (std::size_t s = sum.first; s < sum.first + sum.count; ++s) {
      if (is_there[s]) return fail(Code::InvalidArgument, "shard {} is there twice", s);
      is_there[s] = true;
    }
    counts[sum.first] = sum.count, losses[sum.first] = sum.loss;
  }
  for (std::size_t s = 0; s < shards; ++s)
    if (!is_there[s]) return fail(Code::InvalidArgument, "shard {} of {} is missing", s, shards);
  for (const ShardSum& sum : sums) shard_gradients_[sum.first].write(0, sum.gradients);
  const Exec now = update_exec();
  for (std::size_t stride = 1; stride < shards; stride *= 2)
    for (std::size_t s = 0; s + stride < shards; s += 2 * stride) {
      if (counts[s] == 0 || counts[s] > stride) continue;  // added by whoever summed the node
      add(now, shard_gradient(s), shard_gradient(s + stride), shard_gradient(s));
      losses[s] += losses[s + stride];
    }
  LOOM_TRY_VOID(begin_figures());
  take_gradients();
  trained_.list(now, session().gradients());
  LOOM_TRY_VOID(recorded(now));
  return losses[0];
}

// Gradients of the mean loss over the batch.
Result<void> Trainer::run_batch(const Samples& batch) {
  LOOM_TRY_VOID(begin_figures());
  session().gradients().clear();
  running_.elements = batch.inputs.shape.elements();
  LOOM_TRY(const double joint, joint_count(batch));
  LOOM_TRY_VOID(config_.shards > 1 ? run_shards(batch, joint) : run_samples(workers_[0], batch, 0, joint, 0));
  const Exec now = update_exec();
  trained_.list(now, session().gradients());
  return recorded(now);
}

// The same with the loss, for whoever must know it before he goes on.
Result<double> Trainer::gradients(const Samples& batch) {
  LOOM_TRY_VOID(run_batch(batch));
  LOOM_TRY_VOID(fetch());
  return loss_of_step();
}

void Trainer::Trained::resize_views() {
  masters.resize(weights.size()), gradients.resize(weights.size()), const_gradients.resize(weights.size());
}

void Trainer::Trained::list(const Exec& exec, Gradients& from) {
  for (std::size_t p = 0; p < weights.size(); ++p) {
    gradients[p] = {from.of(exec, *weights[p]), weights[p]->rows(), weights[p]->cols(), from.element()};
    const_gradients[p] = gradients[p];
    masters[p] = weights[p]->master_for_update(exec);
  }
}

std::size_t Trainer::Trained::elements() const {
  std::size_t elements = 0;
  for (const Weight* w : weights) elements += w->elements();
  return elements;
}

Result<void> Trainer::commit(Weight::Values values) {
  const Exec now = update_exec();
  for (std::size_t p = 0; p < trained_.weights.size(); ++p)
    if (auto done = trained_.weights[p]->commit_update(now, values); !done)
      return fail(done.error().code, "{} after the update of step {} (learning rate {})", done.error().text(),
                  state_.steps, learning_rate());
  return {};
}

Result<void> Trainer::fetch_weights() {
  for (Weight* w : trained_.weights) LOOM_TRY_VOID(w->fetch());
  for (Weight* w : measures_.statistics) LOOM_TRY_VOID(w->fetch());
  return {};
}

// To be called after an update and before commit(), which encodes the masters that are clamped here.
void Trainer::clamp_masters(const Exec& exec, ConstTensor failed) {
  for (std::size_t p = 0; p < trained_.weights.size(); ++p)
    if (trained_.limits[p].value_or(0) > 0) clamp(exec, *trained_.limits[p], trained_.masters[p], failed);
}

double Trainer::learning_rate() const { return schedule_.rate(config_.schedule_by_epoch ? epoch_ : state_.steps); }

Result<StepReport> Trainer::step(const Samples& given, const std::atomic<bool>* cancel) {
  const DeviceTurn turn(config_.session.device);
  running_.cancel = cancel;
  auto report = run_step(given);
  running_.cancel = nullptr;
  return report;
}

Result<StepReport> Trainer::step_from(const Samples& batch, std::span<const ShardSum> sums) {
  LOOM_TRY_VOID(check_divides());
  if (sums.empty()) return fail(Code::InvalidArgument, "no sums of shards");
  return run_step(batch, sums);
}

Result<StepReport> Trainer::run_step(const Samples& given, std::span<const ShardSum> sums) {
  const FpEnvironment environment;
  if (state_.skipped_in_a_row >= config_.max_skipped)
    return fail(Code::InvalidState, "training diverged: {} batches in a row were not finite", state_.skipped_in_a_row);
  LOOM_TRY(const Samples batch, in_element(given));
  StepReport report;
  report.learning_rate = learning_rate();
  LOOM_TRY_VOID(keep_measures());
  auto done = lbfgs_   ? lbfgs_step(batch, std::move(report))
              : tween_ ? tween_step(batch, std::move(report))
                       : update(batch, std::move(report), sums);
  if (!done) {
    (void)put_measures_back();  // parts of the batch may have gone through; the first error is the one to tell
    return done;
  }
  report = *std::move(done);
  const bool may_change = config_.commit_meta && !session().metas().empty();
  if (may_change && !report.skipped) LOOM_TRY_VOID(grant_changes(report));
  return report;
}

// Carries out the changes that metacognition layers asked for in the step's forward passes.
Result<void> Trainer::grant_changes(StepReport& report) {
  LOOM_TRY(report.changes, loom::commit_meta(*network_, session(), *running_.part));
  std::vector<std::string> fresh;
  bool changed = false;
  for (const MetaEvent& event : report.changes) {
    changed = changed || event.refusal.empty();
    if (event.has_new_weights()) fresh.push_back(event.target);
  }
  return changed ? adopt(*running_.part, fresh) : Result<void>();
}

Result<void> Trainer::adopt(const Shape& batch, std::span<const std::string> fresh) {
  std::map<std::string, std::vector<std::byte>> kept;
  for (const Slot& slot : slots()) {
    const auto is_below = [&](const std::string& path) { return slot.name.starts_with(path + "."); };
    if (std::ranges::any_of(fresh, is_below)) continue;
    const auto* from = static_cast<const std::byte*>(slot.values.data);
    kept[slot.name].assign(from, from + slot.values.bytes());
  }
  const std::uint64_t steps = optimizer().steps();
  trained_.weights.clear(), trained_.limits.clear(), measures_.statistics.clear();
  LOOM_TRY(optimizer_, Optimizer::create(config_.optimizer));
  LOOM_TRY_VOID(collect_parameters());
  if (tween_) LOOM_TRY_VOID(tween_->adopt());
  for (const Slot& slot : slots())
    if (const auto found = kept.find(slot.name); found != kept.end() && found->second.size() == slot.values.bytes())
      std::ranges::copy(found->second, static_cast<std::byte*>(slot.values.data));
  if (tween_) LOOM_TRY_VOID(tween_->restored());
  optimizer().set_steps(steps), optimizer().forget_sizes();
  return session().prepare(batch);  // else it would have nothing for carried() until its next pass
}

Result<StepReport> Trainer::update(const Samples& batch, StepReport report, std::span<const ShardSum> sums) {
  std::optional<double> loss;
  if (!sums.empty()) {
    LOOM_TRY(loss, take_sums(sums));
    report.loss = *loss;
    if (!std::isfinite(*loss)) return skip(batch, std::move(report), nullptr);
  } else if (auto run = run_batch(batch); !run) {
    if (run.error().code != Code::NonFinite) return tl::make_unexpected(std::move(run).error());
    report.loss = std::numeric_limits<double>::quiet_NaN();
    return skip(batch, std::move(report), &run.error());
  }
  LOOM_TRY_VOID(record_update(report.learning_rate));
  LOOM_TRY_VOID(fetch());
  const Figures& figures = workers_[0].figures;
  if (workers_[0].unmeasured.data != nullptr && figures.at(workers_[0].unmeasured) != 0) {
    const Error error{Code::NonFinite, "running statistics are not finite"};
    report.loss = std::numeric_limits<double>::quiet_NaN();
    return skip(batch, std::move(report), &error);
  }
  report.loss = loss ? *loss : loss_of_step();
  double largest = optimizer_.largest_gradient(figures);
  for (const Tensor& bound : unclipped_) largest = std::max(largest, figures.at(bound));
  if (config_.clip_norm > 0) largest = report.gradient_norm = norm_of(figures, clip_);
  if (figures.at(workers_[0].failed) != 0) {
    const bool is_update = std::isfinite(report.loss) && std::isfinite(largest);
    const Result<void> moved = is_update ? optimizer_.finish(figures) : Result<void>();
    return skip(batch, std::move(report), moved ? nullptr : &moved.error());
  }
  LOOM_TRY_VOID(optimizer_.finish(figures));
  LOOM_TRY_VOID(commit(Weight::Values::Finite));
  state_.skipped_in_a_row = 0;
  ++state_.steps;
  // Dynamic loss scale (T-70): doubled after kGoodSteps finite steps in a row, halved by skip().
  if (config_.session.mixed == Mixed::f16 && ++state_.good_steps == kGoodSteps) {
    state_.loss_scale = std::min(kLargestLossScale, state_.loss_scale * 2);
    state_.good_steps = 0;
  }
  return report;
}

// From gradients to moved weights, or to none where something is not finite.
Result<void> Trainer::record_update(double learning_rate) {
  const Exec now = update_exec();
  Worker& worker = workers_[0];
  if (worker.unmeasured.data != nullptr) add(now, worker.failed, worker.unmeasured, worker.failed);
  // The backward pass ran on loss_scale * loss.
  if (state_.loss_scale != 1)
    for (const Tensor& g : trained_.gradients) scale(now, g, 1 / state_.loss_scale, g);
  LOOM_TRY(clip_, worker.figures.take(1, kClipFigures, session().element()));
  LOOM_TRY_VOID(plan_scratch(now, [&](const Exec& rehearsal) {
    if (config_.clip_norm > 0) (void)clip_norm(rehearsal, trained_.gradients, config_.clip_norm, clip_);
    (void)optimizer_.record(rehearsal, trained_.masters, trained_.const_gradients, learning_rate, worker.figures,
                            worker.failed);
  }));
  if (config_.clip_norm > 0) {
    LOOM_TRY_VOID(clip_norm(now, trained_.gradients, config_.clip_norm, clip_));
    check_finite(now, {clip_.data, 1, 1, clip_.element}, worker.failed);
  }
  unclipped_.clear();
  // clipping would hide an infinity
  for (std::size_t p = 0; config_.clip_value > 0 && config_.clip_norm == 0 && p < trained_.gradients.size(); ++p) {
    LOOM_TRY(const Tensor bound, worker.figures.take(1, 1, trained_.gradients[p].element));
    magnitude_bound(now, trained_.gradients[p], bound);
    check_finite(now, bound, worker.failed);
    unclipped_.push_back(bound);
  }
  if (config_.clip_value > 0) LOOM_TRY_VOID(clip_value(now, trained_.gradients, config_.clip_value));
  LOOM_TRY_VOID(
      optimizer_.record(now, trained_.masters, trained_.const_gradients, learning_rate, worker.figures, worker.failed));
  clamp_masters(now, worker.failed);
  return recorded(now);
}

Result<StepReport> Trainer::tween_step(const Samples& batch, StepReport report) {
  PassExtras extras;
  extras.training = true, extras.step = static_cast<std::uint32_t>(state_.steps), extras.cancel = running_.cancel;
  LOOM_TRY(const ConstView x, sent(config_.session.device, batch.inputs, workers_[0].inputs));
  running_.part = x.shape;
  const auto y = tween_->forward(x, extras);
  if (!y && y.error().code == Code::NonFinite) return skip(batch, std::move(report), &y.error());
  if (!y) return tl::make_unexpected(y.error());
  LOOM_TRY(const LossCall call, loss_call(workers_[0], batch, *y));
  auto moved = tween_->step({.values = call.target, .classes = call.classes, .loss = &loss_}, report.learning_rate,
                            running_.cancel);
  report.loss = tween_->loss();
  if (!moved && moved.error().code == Code::NonFinite) return skip(batch, std::move(report), &moved.error());
  // Masters that moved out of the range of their type: nothing to skip, training has diverged.
  if (!moved && moved.error().code == Code::OutOfRange) moved.error().code = Code::NonFinite;
  LOOM_TRY_VOID(std::move(moved));
  state_.skipped_in_a_row = 0;
  ++state_.steps;
  return report;
}

Result<StepReport> Trainer::lbfgs_step(const Samples& batch, StepReport report) {
  const auto before = gradients(batch);
  if (!before && before.error().code != Code::NonFinite) return tl::make_unexpected(before.error());
  trained_.list(update_exec(), session().gradients());
  const auto outcome =
      lbfgs_->step(trained_.masters, trained_.const_gradients, report.learning_rate, [&]() -> Result<double> {
        // Called at trial points of the line search: the network must see the moved masters first.
        LOOM_TRY_VOID(commit(Weight::Values::Any));
        return gradients(batch);
      });
  if (outcome && outcome->moved) clamp_masters(update_exec(), {});
  LOOM_TRY_VOID(commit(Weight::Values::Any));  // after an error the masters are back where they were
  if (!outcome && outcome.error().code == Code::NonFinite) {
    report.loss = std::numeric_limits<double>::quiet_NaN();
    return skip(batch, std::move(report), &outcome.error());
  }
  if (!outcome) return tl::make_unexpected(outcome.error());
  report.loss = outcome->loss;
  state_.skipped_in_a_row = 0;
  ++state_.steps;
  return report;
}

// Counts a step that was not finite; states and running statistics of its forward passes are discarded.
Result<StepReport> Trainer::skip(const Samples& batch, StepReport report, const Error* error) {
  LOOM_TRY_VOID(put_measures_back());
  report.skipped = true;
  if (error != nullptr) {
    report.why = error->text();
  } else {
    LOOM_TRY(report.why, first_bad_layer(batch));
    LOOM_TRY_VOID(put_measures_back());
  }
  ++state_.skipped, ++state_.skipped_in_a_row, state_.good_steps = 0;
  if (config_.session.mixed == Mixed::f16) state_.loss_scale = std::max(1.0, state_.loss_scale / 2);
  ++state_.steps;
  return report;
}

// Saves states and running statistics, so that skip() can restore them.
Result<void> Trainer::keep_measures() {
  auto& [statistics, kept, kept_there, states] = measures_;
  const Exec now = update_exec();
  LOOM_TRY_VOID(keep_states(now));
  if (keeps_measures_there()) {
    kept_there.resize(statistics.size());
    for (std::size_t i = 0; i < statistics.size(); ++i) {
      LOOM_TRY_VOID(statistics[i]->ensure_master());
      const Tensor values = statistics[i]->master_for_update(now);
      LOOM_TRY_VOID(recorded(now));
      LOOM_TRY_VOID(make_room(config_.session.device, values.bytes(), kept_there[i]));
      copy(now, values, {kept_there[i].data(), values.rows, values.cols, values.element});
    }
    return recorded(now);
  }
  kept.resize(statistics.size());
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    kept[i].resize(statistics[i]->elements());
    statistics[i]->decode(0, kept[i].size(), kept[i].data());
  }
  return {};
}

Result<void> Trainer::keep_states(const Exec& exec) {
  measures_.kept_states.clear();
  if (!session().keeps_states_there()) return measures_.kept_states = carried(), Result<void>();
  if (tween_) return session().keep_states(exec);
  for (Worker& worker : workers_) LOOM_TRY_VOID(worker.session->keep_states(exec));
  return recorded(exec);
}

Result<void> Trainer::put_states_back(const Exec& exec) {
  const auto& states = measures_.kept_states;
  if (!session().keeps_states_there())
    return carry(std::vector<std::span<const std::byte>>(states.begin(), states.end()));
  if (tween_) return session().put_states_back(exec);
  for (Worker& worker : workers_) LOOM_TRY_VOID(worker.session->put_states_back(exec));
  return recorded(exec);
}

Result<void> Trainer::put_measures_back() {
  const auto& [statistics, kept, kept_there, states] = measures_;
  const Exec now = update_exec();
  LOOM_TRY_VOID(put_states_back(now));
  for (std::size_t i = 0; i < statistics.size(); ++i)
    LOOM_TRY_VOID(keeps_measures_there() ? statistics[i]->take(now, kept_there[i].data())
                                         : statistics[i]->set(std::span<const double>(kept[i])));
  return {};
}

// Names the first layer whose output is not finite in an inference of this batch, in parts no larger than training's.
Result<std::string> Trainer::first_bad_layer(const Samples& batch) {
  Arena arena;  // of no scratch: outputs are looked at on this computer
  const Exec here{session().pool(), session().kernels(), arena};
  FiniteWatch watch(here, device());
  const std::size_t all = batch.size(), shard = ceil_div(all, config_.shards);
  const std::size_t each = config_.micro_batch == 0 ? shard : std::min(config_.micro_batch, shard);
  session().watch(&watch);
  Result<ConstView> ran;
  for (std::size_t at = 0; at < all && ran && watch.first == nullptr; at += each)
    ran = session().forward_here(part_of(batch, at, std::min(each, all - at)).inputs);
  session().watch(nullptr);
  if (watch.error) return tl::make_unexpected(*std::move(watch.error));
  if (!ran) return ran.error().text();
  if (watch.first == nullptr) return std::string("the gradient or the loss is not finite; every layer's output is");
  std::string place = "a layer";
  network_->each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    if (&layer == watch.first) place = fmt::format("{} ({})", path, layer.kind());
  });
  return fmt::format("the output of {} is not finite", place);
}

Result<void> Trainer::restore_pairs(std::deque<Lbfgs::Pair> pairs) {
  if (!lbfgs_) return fail(Code::ShapeMismatch, "{} pairs of L-BFGS for another optimiser", pairs.size());
  const std::size_t elements = trained_.elements();
  for (const Lbfgs::Pair& pair : pairs)
    if (pair.s.size() != elements)
      return fail(Code::ShapeMismatch, "pairs of {} elements for {} weights", pair.s.size(), elements);
  return lbfgs_->restore(std::move(pairs));
}

Result<Trainer::Evaluation> Trainer::evaluate(const Samples& given, const std::atomic<bool>* cancel) {
  const FpEnvironment environment;
  const DeviceTurn turn(config_.session.device);
  LOOM_TRY(const Samples batch, in_element(given));
  Worker& worker = workers_[0];
  LOOM_TRY(const ConstView x, sent(config_.session.device, batch.inputs, worker.inputs));
  PassExtras extras;
  extras.cancel = cancel;
  LOOM_TRY(const ConstView y, tween_ ? tween_->forward(x, extras) : session().forward(x, extras));
  LOOM_TRY(const LossCall call, loss_call(worker, batch, y));
  LOOM_TRY_VOID(begin_figures());
  LOOM_TRY(const PendingLoss loss, loss_.record(update_exec(), call, worker.figures, worker.failed));
  LOOM_TRY_VOID(fetch());
  LOOM_TRY(const ConstView here, brought(config_.session.device, y, worker.output));
  return Evaluation{here, loss.value(worker.figures)};
}

const TrainerState& Trainer::state() {
  state_.plateau = schedule_.plateau();
  state_.optimizer_steps = optimizer().steps();
  return state_;
}

Result<void> Trainer::restore(const TrainerState& state) {
  LOOM_TRY_VOID(schedule_.restore(state.plateau));
  if (!(state.loss_scale >= 1 && state.loss_scale <= kLargestLossScale))
    return fail(Code::CorruptData, "a loss scale of {}", state.loss_scale);
  if (tween_) LOOM_TRY_VOID(tween_->restored());
  for (const std::optional<double>& limit : trained_.limits) LOOM_TRY_VOID(check_master_limit(limit));
  state_ = state;
  optimizer().set_steps(state.optimizer_steps);
  return {};
}

std::vector<Trainer::Slot> Trainer::slots() const {
  std::vector<Slot> out;
  if (tween_)
    for (const TweenVelocity& part : tween_->state()) out.push_back({part.path, part.values, part.device});
  for (std::size_t p = 0; p < trained_.weights.size() && !tween_; ++p) {
    if (trained_.limits[p])
      out.push_back({optimizer_.parameters()[p].path + ".limit", {&*trained_.limits[p], 1, 1, Element::f64}});
    for (const OptimizerSlot& slot : optimizer_.slots(p))
      out.push_back(
          {fmt::format("{}.{}", optimizer_.parameters()[p].path, slot.name), slot.values, config_.session.device});
  }
  return out;
}

std::vector<Trainer::Slot> Trainer::masters() {
  optimizer_.forget_sizes();
  std::vector<Slot> out;
  out.reserve(trained_.weights.size());
  for (std::size_t p = 0; p < trained_.weights.size(); ++p)
    out.push_back({optimizer_.parameters()[p].path, trained_.weights[p]->master_for_update()});
  return out;
}

std::vector<std::vector<std::byte>> Trainer::carried() {
  if (tween_) return {tween_->session().carried()};
  std::vector<std::vector<std::byte>> out;
  out.reserve(workers_.size());
  for (Worker& worker : workers_) out.push_back(worker.session->carried());
  return out;
}

Result<void> Trainer::carry(std::span<const std::span<const std::byte>> carried) {
  if (carried.size() != workers_.size())
    return fail(Code::ShapeMismatch, "states of {} sessions, this training has {}", carried.size(), workers_.size());
  if (tween_) return tween_->session().carry(carried[0]);
  for (std::size_t w = 0; w < carried.size(); ++w) LOOM_TRY_VOID(workers_[w].session->carry(carried[w]));
  return {};
}

std::size_t Trainer::resident_bytes() const {
  if (tween_) return tween_->bytes();
  std::size_t bytes = 0;
  for (const Worker& w : workers_) bytes += w.session->scratch_bytes() + w.dy.size() + w.arena.size();
  for (const Memory& shard : shard_gradients_) bytes += shard.size();
  for (const Slot& slot : slots()) bytes += slot.values.bytes();
  return bytes + workers_.size() * trained_.elements() * bytes_of(network_->settings.activations);
}

}  // namespace loom
