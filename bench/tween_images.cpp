// Target propagation beside backpropagation on image classes (engine W-51). Trains one fully connected network and
// prints one line of JSON.
//   bench_tween_images IMAGES LABELS [key=value ...]
// keys: rule backprop|chain|secant|plain|average|mirror|dtp; activation relu|tanh|sign...; dtype; hidden 256,128; lr;
// epochs 4; batch 64; seed; train, test: samples (from the front, and after them); test_images, test_labels: files of
// their own; threads; gaps 1 (per cell, at the end); recompute; loss softmax_crossentropy|mse. Backprop is sgd under
// the momentum law of W-11 (momentum .9, dampening .9).
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>

#include "core/nearest.h"
#include "data/idx/idx.h"
#include "data/pipeline/batches.h"
#include "learning/tween/tween.h"
#include "network/spec/spec.h"

using namespace loom;

namespace {

using Settings = std::map<std::string, std::string>;

std::string text(const Settings& s, const std::string& key, const std::string& fallback) {
  const auto found = s.find(key);
  return found == s.end() ? fallback : found->second;
}
double number(const Settings& s, const std::string& key, double fallback) {
  const auto found = s.find(key);
  return found == s.end() ? fallback : std::strtod(found->second.c_str(), nullptr);
}

std::string spec_of(const Settings& s, std::size_t inputs, std::size_t classes) {
  std::vector<std::size_t> widths{inputs};
  std::string hidden = text(s, "hidden", "256,128");
  for (std::size_t at = 0; at < hidden.size();) {
    const std::size_t end = std::min(hidden.find(',', at), hidden.size());
    widths.push_back(static_cast<std::size_t>(std::stoul(hidden.substr(at, end - at))));
    at = end + 1;
  }
  widths.push_back(classes);
  std::string layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::string activation = i + 2 < widths.size() ? text(s, "activation", "relu") : "linear";
    layers += fmt::format(
        R"({}{{"z":0,"y":0,"x":0,"l":{},"type":"dense","bias":true,"input_height":{},"output_height":{},"activation":"{}"}})",
        i == 0 ? "" : ",", i, widths[i], widths[i + 1], activation);
  }
  return fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"default_dtype":"{}","seed":{},"layers":[{}]}})",
      widths.size() - 1, text(s, "dtype", "float32"), static_cast<int>(number(s, "seed", 1)), layers);
}

std::vector<std::uint32_t> range(std::size_t first, std::size_t count) {
  std::vector<std::uint32_t> list(count);
  std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(first));
  return list;
}

// sgd with momentum, straight through the session.
class Backprop {
 public:
  static Result<Backprop> create(Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                                 const NetworkSessionOptions& options) {
    Backprop b;
    NetworkSessionOptions inner = options;
    inner.backward = true;
    LOOM_TRY(b.session, NetworkSession::create(network, plan, inner));
    LOOM_TRY(b.optimizer, Optimizer::create({.name = "sgd", .momentum = 0.9, .dampening = 0.9}));
    std::vector<Parameter> parameters;
    network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      b.weights.push_back(&w);
      double limit = 0;  // masters of one and two bits stay near where they began (engine D-36)
      if (w.role() == WeightRole::Matrix && (w.dtype() == DType::ternary || w.dtype() == DType::binary))
        for (const float v : w.master()) limit = std::max(limit, 1.5 * std::abs(static_cast<double>(v)));
      b.limits.push_back(static_cast<float>(limit));
      b.next.emplace_back(w.elements());
      parameters.push_back({path, w.elements(), Element::f32, false, 1});
    });
    LOOM_TRY_VOID(b.optimizer->prepare(std::move(parameters)));
    LOOM_TRY(b.arena, Arena::create(std::size_t{1} << 20));
    return b;
  }
  Result<void> step(const ConstView& y, const Loss& loss, const TweenTarget& target, double rate) {
    std::vector<float> gradient(y.shape.elements());
    arena.clear();
    const Exec exec = session->exec_with(arena);
    const View dy{gradient.data(), y.shape, y.element};
    LOOM_TRY([[maybe_unused]] const LossValue value,
             loss.evaluate(exec, {.output = y, .target = target.values, .classes = target.classes, .gradient = dy}));
    session->gradients().clear();
    LOOM_TRY([[maybe_unused]] const ConstView dx, session->backward(dy));
    std::vector<Tensor> to;
    std::vector<ConstTensor> from;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::ranges::copy(weights[i]->master(), next[i].begin());
      to.push_back({next[i].data(), 1, next[i].size()}),
          from.push_back({session->gradients().of(*weights[i]), 1, next[i].size()});
    }
    LOOM_TRY_VOID(optimizer->step(exec, to, from, rate));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (limits[i] > 0)
        for (float& v : next[i]) v = std::clamp(v, -limits[i], limits[i]);
      LOOM_TRY_VOID(weights[i]->set(std::span<const float>(next[i])));
    }
    return {};
  }
  std::unique_ptr<NetworkSession> session;
  std::optional<Optimizer> optimizer;
  std::vector<Weight*> weights;
  std::vector<float> limits;
  std::vector<std::vector<float>> next;
  Arena arena;
};

TweenMode mode_of_rule(const std::string& rule) {
  if (rule == "chain") return TweenMode::Chain;
  if (rule == "mirror") return TweenMode::Mirror;
  return rule == "dtp" ? TweenMode::Dtp : TweenMode::Layerwise;
}

// The value with that name, where the setting is given.
template <class Choice>
Result<void> choose(const Settings& s, const std::string& key, std::span<const std::string_view> names,
                    Choice& choice) {
  if (!s.contains(key)) return {};
  LOOM_TRY(const std::size_t index, find_name(key, s.at(key), names));
  choice = static_cast<Choice>(index);
  return {};
}

Result<TweenConfig> config_of(const Settings& s, const std::string& rule) {
  TweenConfig c;
  c.mode = mode_of_rule(rule);
  if (rule == "plain") c.slope = TweenSlope::Sign, c.target_scale = TweenScale::WeightSum;
  if (rule == "average") c.slope = TweenSlope::Sign, c.estimate = TweenEstimate::Average;
  LOOM_TRY_VOID(choose(s, "slope", kTweenSlopes, c.slope));
  LOOM_TRY_VOID(choose(s, "target_scale", kTweenScales, c.target_scale));
  c.slope_step = number(s, "slope_step", c.slope_step), c.momentum = number(s, "momentum", c.momentum);
  c.activation_clamp = number(s, "clamp", c.activation_clamp),
  c.budget_threshold = number(s, "budget_threshold", c.budget_threshold);
  c.depth_scale_factor = number(s, "depth_scale", c.depth_scale_factor),
  c.gradient_scale = number(s, "gradient_scale", c.gradient_scale);
  c.recompute_every = static_cast<std::size_t>(number(s, "recompute", 0));
  c.optimizer.name = text(s, "optimizer", "adam");
  return c;
}

Result<void> run(const std::string& images, const std::string& labels, const Settings& s) {
  LOOM_TRY(const auto data, open_idx(images, labels));
  std::unique_ptr<Dataset> other;
  if (s.contains("test_images")) {
    LOOM_TRY(other, open_idx(text(s, "test_images", ""), text(s, "test_labels", "")));
  }
  const std::size_t all = data->info().samples;
  const auto train =
      std::min(all, static_cast<std::size_t>(number(s, "train", other ? double(all) : 0.8 * double(all))));
  const Dataset& test_data = other ? *other : *data;
  const std::size_t first = other ? 0 : train,
                    test = std::min(test_data.info().samples - first, static_cast<std::size_t>(number(s, "test", 1e9)));
  const auto batch_size = static_cast<std::size_t>(number(s, "batch", 64));
  LOOM_TRY(const Normalisation by, fit_mean_std(*data, range(0, train), NormaliseBy::whole));
  LOOM_TRY(Batches batches,
           Batches::create(*data, range(0, train),
                           {.batch_size = batch_size, .shuffle = true, .drop_last = true, .seed = 5}, by));
  LOOM_TRY(Batches checks, Batches::create(test_data, range(first, test), {.batch_size = 250}, by));
  const std::size_t inputs = data->info().input.elements(), classes = data->info().classes;
  LOOM_TRY(SpecResult read, network_from_json(spec_of(s, inputs, classes)));
  Network& network = read.network;
  LOOM_TRY_VOID(network.initialise());
  const std::string rule = text(s, "rule", "secant");
  NetworkSessionOptions options;
  options.threads = static_cast<int>(number(s, "threads", 1)), options.input_gradient = false;
  LOOM_TRY(const auto plan, ForwardPlan::create(network, Shape::of({batch_size, inputs})));
  std::optional<Backprop> backprop;
  std::unique_ptr<TweenSession> tween;
  if (rule == "backprop") {
    LOOM_TRY(backprop, Backprop::create(network, plan, options));
  } else {
    LOOM_TRY(const TweenConfig config, config_of(s, rule));
    LOOM_TRY(tween, TweenSession::create(network, plan, config, options));
  }
  LOOM_TRY(const LossKind kind, loss_from_name(text(s, "loss", "softmax_crossentropy")));
  LOOM_TRY(const Loss loss, Loss::create({.kind = kind}));
  LOOM_TRY(const auto inference, NetworkSession::create(network, plan, {options.threads, std::nullopt}));
  const double rate = number(s, "lr", 0.1);
  std::vector<std::int64_t> wanted;
  std::vector<float> one_hot;
  std::string history;
  double seconds = 0;
  std::size_t steps = 0, skipped = 0, right = 0;
  const auto epochs = static_cast<std::uint32_t>(number(s, "epochs", 4));
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    LOOM_TRY_VOID(batches.seek(epoch, 0));
    Batch batch;
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      LOOM_TRY(const bool more, batches.next(batch));
      if (!more) break;
      const ConstView x{batch.inputs.data(), Shape::of({batch.size, inputs})};
      wanted.assign(batch.labels.begin(), batch.labels.end());
      TweenTarget target{.classes = wanted, .loss = &loss};
      if (kind != LossKind::SoftmaxCrossEntropy) {
        one_hot.assign(batch.size * classes, 0);
        for (std::size_t r = 0; r < batch.size; ++r) one_hot[r * classes + static_cast<std::size_t>(wanted[r])] = 1;
        target.classes = {}, target.values = {one_hot.data(), Shape::of({batch.size, classes})};
      }
      PassExtras extras;
      extras.training = true, extras.step = static_cast<std::uint32_t>(steps);
      LOOM_TRY(const ConstView y, (tween ? tween->forward(x, extras) : backprop->session->forward(x, extras)));
      if (tween) {
        LOOM_TRY_VOID(tween->step(target, rate));
        for (const TweenUse& use : tween->uses()) skipped += use.skipped;
      } else {
        LOOM_TRY_VOID(backprop->step(y, loss, target, rate));
      }
      ++steps;
    }
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    right = 0;
    LOOM_TRY_VOID(checks.seek(0, 0));
    for (;;) {
      LOOM_TRY(const bool more, checks.next(batch));
      if (!more) break;
      LOOM_TRY(const ConstView y, inference->forward({batch.inputs.data(), Shape::of({batch.size, inputs})}));
      for (std::size_t r = 0; r < batch.size; ++r) {
        const float* row = y.as() + r * classes;
        right += std::max_element(row, row + classes) - row == batch.labels[r];
      }
    }
    history += fmt::format("{}{:.2f}", epoch == 0 ? "" : ",", 100.0 * double(right) / double(test));
  }
  std::string gaps;
  if (tween && number(s, "gaps", 0) > 0)
    for (const TweenUse& use : tween->uses())
      gaps += fmt::format(R"({}{{"path":"{}","gap":{:.4g},"budget":{:.4f},"norm":{:.4g}}})", gaps.empty() ? "" : ",",
                          *use.path, use.gap, use.budget, use.update_norm);
  fmt::print(
      R"({{"rule":"{}","activation":"{}","dtype":"{}","hidden":"{}","lr":{},"seed":{},"train":{},"test":{},"epochs":[{}],"percent":{:.2f},"steps":{},"skipped":{},"ms_per_step":{:.3f}{}}})"
      "\n",
      rule, text(s, "activation", "relu"), text(s, "dtype", "float32"), text(s, "hidden", "256,128"), rate,
      number(s, "seed", 1), train, test, history, 100.0 * double(right) / double(test), steps, skipped,
      1000 * seconds / double(steps), gaps.empty() ? "" : ",\"cells\":[" + gaps + "]");
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return fmt::print(stderr, "bench_tween_images IMAGES LABELS [key=value ...]\n"), 2;
  Settings settings;
  for (int i = 3; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t at = argument.find('=');
    if (at != std::string::npos) settings[argument.substr(0, at)] = argument.substr(at + 1);
  }
  if (auto done = run(arguments[1], arguments[2], settings); !done)
    return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
