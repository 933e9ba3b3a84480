// Runs one trial in one way and records its results. All random values are functions of the trial's own seed.

#include <limits>

#include "core/nearest.h"
#include "evolution/mutation/mutation.h"
#include "evolution/population/population.h"
#include "evolution/splice/splice.h"
#include "io/network_file.h"
#include "learning/tween/mesh_tween.h"
#include "network/spec/clone.h"
#include "network/spec/spec.h"
#include "training/checkpoint.h"
#include "training/train_config.h"
#include "verify/language_trial.h"
#include "verify/own_folder.h"
#include "verify/random_network.h"
#include "verify/trial_options.h"
#include "verify/trial_run.h"

namespace loom {
namespace {

// Values at which codecs, snapping and rounding change their minds.
constexpr double kThresholds[] = {0.0,     0x1p-51,  -0x1p-51, 0x1.fffffep-52, 0x1.000002p-51,
                                  0x1p-52, 0x1p-126, 0x1p-149, 0x1p-25,        -0x1p-26,
                                  0.5,     -0.5,     1.0,      -1.0,           1.5,
                                  2.5,     127.5,    -128.0,   448.0,          65504.0,
                                  1e-10,   -1e-6,    0x1p-24,  0x1p-14,        3.0,
                                  -3.0,    6.0,      20.0};

Mixed mixed_named(const std::string& name) {
  return name == "bf16" ? Mixed::bf16 : name == "f16" ? Mixed::f16 : name == "fp8" ? Mixed::fp8 : Mixed::none;
}

}  // namespace

std::vector<double> TrialRun::inputs(std::string_view purpose) const {
  std::size_t n = 1;
  for (const std::size_t extent : trial_.input) n *= extent;
  std::vector<double> x = uniform(purpose, n);
  const RandomStream stream{trial_.data, RandomDomain::Noise, 2, random_site(purpose)};
  for (std::size_t i = 0; i < n; ++i) {
    if (trial_.ids != 0) {
      x[i] = static_cast<double>(stream.below(i, static_cast<std::uint32_t>(trial_.ids)));
      continue;
    }
    if (trial_.inputs == "wide") x[i] *= stream.below(i, 4) == 0 ? 30 : 0.01;
    if (trial_.inputs == "thresholds" && stream.below(i, 3) == 0)
      x[i] = kThresholds[stream.below(n + i, std::size(kThresholds))];
    if (trial_.inputs == "non-finite" && stream.below(i, 40) == 0) {
      const std::uint32_t which = stream.below(n + i, 3);
      x[i] = which == 0   ? std::numeric_limits<double>::quiet_NaN()
             : which == 1 ? std::numeric_limits<double>::infinity()
                          : -1e30;
    }
  }
  return x;
}

void TrialRun::show_weights(const Network& network, const std::string& when, bool between_steps) {
  if (between_steps && record_.at_the_end) return;
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    const std::string name = when + path;
    std::vector<double> values;
    if (w.master64().empty() && w.master().empty()) values.resize(w.elements());
    if (!values.empty()) w.decode(0, values.size(), values.data());
    show(name, !w.master64().empty() ? std::as_bytes(w.master64())
               : !w.master().empty() ? std::as_bytes(w.master())
                                     : std::as_bytes(std::span(values)));
    record_.entries.back().between_steps = between_steps;
  });
}

// Gives random values to weights that initialisation leaves at 0 or 1, so that their effect shows.
Result<void> TrialRun::stir(Network& network) {
  Result<void> done;
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (w.role() != WeightRole::Vector && w.role() != WeightRole::TypedVector && w.role() != WeightRole::Adapter)
      return;
    std::vector<double> values(w.elements());
    w.decode(0, values.size(), values.data());
    const std::vector<double> by = uniform(path, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.25 * by[i];
    if (auto set = w.set(std::span<const double>(values)); !set) done = std::move(set);
  });
  return done;
}

Result<Network> TrialRun::network() {
  LOOM_TRY(SpecResult read, network_from_json(trial_.network));
  Network network = std::move(read.network);
  LOOM_TRY(input_, Shape::create(trial_.input));
  LOOM_TRY_VOID(network.initialise());
  LOOM_TRY_VOID(stir(network));
  element_ = network.settings.activations;
  const bool steps = is_mesh(trial_.mode);
  if (steps) {
    LOOM_TRY(plans_.steps, StepPlan::create(network, input_));
  } else {
    LOOM_TRY(plans_.forward, ForwardPlan::create(network, input_));
  }
  return network;
}

// Calls on one batch each, whole or in parts.
Result<void> TrialRun::forward_calls(const Network& network, std::string_view label, std::size_t calls) {
  LOOM_TRY(const auto session, NetworkSession::create(network, plans_.forward,
                                                      {.threads = way_.threads,
                                                       .isa = way_.isa,
                                                       .mixed = mixed_named(text_option(options_, "mixed")),
                                                       .device = way_.device}));
  const std::size_t batch = input_[0], part = std::min(batch, number_option(options_, "part", batch));
  for (std::size_t call = 0; call < calls; ++call) {
    const ConstView x = view(inputs(fmt::format("x{}", call)), input_);
    Sha256 whole;
    for (std::size_t first = 0; first < batch; first += part) {
      std::vector<std::size_t> extents(trial_.input);
      extents[0] = std::min(part, batch - first);
      LOOM_TRY(const Shape shape, Shape::create(extents));
      const std::size_t sample = input_.elements() / batch * bytes_of(element_);
      PassExtras extras;
      extras.training = flag_option(options_, "training"), extras.step = static_cast<std::uint32_t>(call),
      extras.first_sample = first;
      const auto y =
          session->forward_host({static_cast<const std::byte*>(x.data) + first * sample, shape, element_}, extras);
      if (!y) return answer(y.error());
      whole.update({static_cast<const std::byte*>(y->data), y->shape.elements() * bytes_of(element_)});
    }
    show_digest(fmt::format("{} {}", label, call), whole.finish());
    record_.in_parts = part != batch;
    if (part == batch) show(fmt::format("gate loss {}", call), session->gate_loss(), true);
  }
  return {};
}

Result<void> TrialRun::forward() {
  LOOM_TRY(const Network net, network());
  return forward_calls(net, "output", number_option(options_, "calls", 1));
}

Result<void> TrialRun::backward() {
  LOOM_TRY(const Network net, network());
  NetworkSessionOptions options{.threads = way_.threads,
                                .isa = way_.isa,
                                .backward = true,
                                .mixed = mixed_named(text_option(options_, "mixed")),
                                .device = way_.device};
  options.checkpoint_every = number_option(options_, "checkpoint_every");
  const auto session = NetworkSession::create(net, plans_.forward, options);
  if (!session) return answer(session.error());
  for (std::size_t call = 0; call < number_option(options_, "calls", 1); ++call) {
    PassExtras extras;
    extras.training = flag_option(options_, "training"), extras.step = static_cast<std::uint32_t>(call);
    const auto y = (*session)->forward_host(view(inputs(fmt::format("x{}", call)), input_), extras);
    if (!y) return answer(y.error());
    show(fmt::format("output {}", call), *y);
    const ConstView dy = view(uniform(fmt::format("dy{}", call), y->shape.elements()), y->shape);
    const auto dx = (*session)->backward_host(dy);
    if (!dx) return answer(dx.error());
    show(fmt::format("input gradient {}", call), *dx);
    Result<void> brought;
    net.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      Buffer memory;
      const auto g = (*session)->host_gradient(w, memory);
      if (g) show(fmt::format("gradient {} of {}", call, path), *g);
      if (!g) brought = tl::make_unexpected(g.error());
    });
    LOOM_TRY_VOID(std::move(brought));
  }
  return {};
}

// A new trainer of a network from a file, where the old one stood.
Result<std::unique_ptr<TrialRun::Training>> TrialRun::resumed(Training& from, const TrainerConfig& config) {
  OwnFolder folder;
  LOOM_TRY(const std::string path, folder.create());
  const std::string file = path + "/checkpoint.entity";
  const Json said = Json::object();
  Journal no_journal;
  LOOM_TRY_VOID(save_checkpoint(file, *from.trainer, {}, said, no_journal));
  auto checkpoint = read_checkpoint(file);
  if (!checkpoint) return tl::make_unexpected(checkpoint.error());
  auto next = std::make_unique<Training>(Training{std::move(*checkpoint->network), nullptr});
  LOOM_TRY(next->trainer, Trainer::create(next->network, input_, config));
  checkpoint->network.emplace(Network::create({}).value());  // restore_trainer() asks whether there was one
  LOOM_TRY_VOID(restore_trainer(*checkpoint, *next->trainer).map([](const RunPosition&) {}));
  return next;
}

Result<void> TrialRun::train() {
  Json json = options_["config"];
  if (!json.is_object()) return fail(Code::InvalidConfig, "trial: \"config\" is missing or no object");
  json["network"] = Json::object(), json["data"] = Json::object();
  LOOM_TRY(TrainConfig config, read_train_config(json, ""));
  config.trainer.session.threads = way_.threads, config.trainer.session.isa = way_.isa;
  config.trainer.session.device = way_.device;
  const std::size_t steps = number_option(options_, "steps", 1);
  record_.at_the_end = way_.device != nullptr && trial_.data % 2 == 0;
  LOOM_TRY(Network net, network());
  if (input_.rank() < 2)
    return fail(Code::ShapeMismatch, "trial: an input of {} is no batch of samples", input_.text());
  LOOM_TRY(const Shape output, plans_.forward->output_shape(input_));
  if (config.dtype) {
    if (const auto done = net.morph_all(*config.dtype); !done) {  // some types refuse some scales
      show_text("refused: " + done.error().text(), {});
      return {};
    }
  }
  auto training = std::make_unique<Training>(Training{std::move(net), nullptr});
  auto trainer = Trainer::create(training->network, plans_.forward, config.trainer);
  if (!trainer && trainer.error().code == Code::InvalidArgument) {  // nothing to train
    show_text("refused: " + trainer.error().text(), {});
    return {};
  }
  if (!trainer) return answer(trainer.error());
  training->trainer = std::move(*trainer);
  const LossKind loss = config.trainer.loss.kind;
  const auto& heads = config.trainer.loss.heads;
  const bool by_class = loss == LossKind::SoftmaxCrossEntropy || loss == LossKind::MultiHeadSoftmax;
  for (std::size_t step = 0; step < steps; ++step) {
    if (step > 0 && step == number_option(options_, "save_after")) {
      LOOM_TRY(training, resumed(*training, config.trainer));
    }
    Samples batch;
    batch.inputs = view(inputs(fmt::format("x{}", step)), input_);
    std::vector<std::int32_t> labels;
    if (by_class) {
      const std::size_t least = heads.empty() ? output.cols() : *std::ranges::min_element(heads);
      labels = classes(fmt::format("t{}", step), output.rows() * std::max<std::size_t>(1, heads.size()), least);
      batch.classes = labels;
    } else {
      std::vector<double> target = uniform(fmt::format("t{}", step), output.elements());
      for (double& t : target) {
        if (loss == LossKind::Bce || loss == LossKind::BceLogits || loss == LossKind::CrossEntropy ||
            loss == LossKind::KlDiv)
          t = 0.5 * (t + 1);
        if (loss == LossKind::Hinge) t = t < 0 ? -1 : 1;
      }
      batch.values = view(target, output);
    }
    const auto report = training->trainer->step(batch);
    // a schedule may give it a rate of 0
    if (!report && report.error().code == Code::InvalidConfig && config.trainer.lbfgs_history) {
      show_text("refused: " + report.error().text(), {});
      break;
    }
    if (!report) {
      LOOM_TRY_VOID(answer(report.error()));
      break;
    }
    record_.in_parts = config.trainer.micro_batch != 0;
    show(fmt::format("loss {}", step), report->loss, true);
    show(fmt::format("rate {}", step), report->learning_rate);
    show(fmt::format("norm {}", step), report->gradient_norm);
    if (report->skipped) show_text(fmt::format("skipped {}", step), report->why);
    for (const TweenUse& use : training->trainer->tween_uses())
      show(fmt::format("budget {} of {}", step, *use.path), use.budget),
          show(fmt::format("gap {} of {}", step, *use.path), use.gap);
    const bool is_last = step + 1 == steps;
    if (is_last || !record_.at_the_end) LOOM_TRY_VOID(training->trainer->fetch_weights());
    show_weights(training->network, fmt::format("step {} ", step), !is_last);
  }
  return {};
}

Result<void> TrialRun::files() {
  LOOM_TRY(Network net, network());
  const std::string through = text_option(options_, "through");
  if (through.starts_with("entity")) {
    LOOM_TRY(const std::vector<std::byte> bytes, network_to_entity(net, {.keep_master = through != "entity"}));
    LOOM_TRY(SpecResult read, network_from_entity(bytes));
    net = std::move(read.network);
  } else if (through == "json") {
    LOOM_TRY(const std::string text, network_to_checkpoint(net));
    LOOM_TRY(SpecResult read, network_from_json(text));
    net = std::move(read.network);
  } else if (through == "clone") {
    LOOM_TRY(net, clone_network(net));
  }
  if (!through.empty()) {
    LOOM_TRY(plans_.forward, ForwardPlan::create(net, input_));
  }
  LOOM_TRY(const std::vector<std::byte> entity, network_to_entity(net));
  show("entity", entity);
  return forward_calls(net, "output", 1);
}

Result<void> TrialRun::morph() {
  LOOM_TRY(Network net, network());
  const Json types = options_["types"];
  const bool direct = flag_option(options_, "direct");
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (direct && i + 1 < types.size()) continue;
    LOOM_TRY(const DType type, dtype_from_name(*as_string(types[i])));
    const auto done = net.morph_all(type);  // some types refuse some scales; nothing has changed then
    if (!done && i + 1 == types.size()) return answer(done.error());
  }
  if (flag_option(options_, "trim"))
    net.visit_weights([](const std::string&, Weight& w, Layer&) { w.trim_versions(); });
  LOOM_TRY_VOID(forward_calls(net, "output", 1));
  net.release_masters();
  return forward_calls(net, "without masters", 1);
}

Result<void> TrialRun::mesh() {
  LOOM_TRY(const Network net, network());
  const std::size_t ticks = number_option(options_, "ticks", 1), back = number_option(options_, "backward"),
                    change = number_option(options_, "change_input_at", 99);
  StepMeshOptions mesh_options{.threads = way_.threads,
                               .isa = way_.isa,
                               .history_capacity = std::max<std::size_t>(1, back),
                               .backward = back > 0,
                               .device = way_.device};
  const auto made = StepMesh::create(net, plans_.steps, mesh_options);
  if (!made) return answer(made.error());
  StepMesh& mesh = **made;
  LOOM_TRY(StepState state, mesh.create_state());
  std::vector<StepState> others;
  for (std::size_t i = 0; i < number_option(options_, "beside"); ++i) {
    LOOM_TRY(StepState other, mesh.create_state());
    others.push_back(std::move(other));
    LOOM_TRY_VOID(others.back().set_input(view(inputs(fmt::format("other{}", i)), input_)));
  }
  const StepOptions step{.capture = back > 0, .training = flag_option(options_, "training")};
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    if (tick == 0 || tick == change)
      LOOM_TRY_VOID(state.set_input(view(inputs(fmt::format("x{}", tick)), input_), tick != 2));
    if (flag_option(options_, "through_snapshot") && tick == ticks / 2) {
      const std::vector<std::byte> snapshot = state.snapshot();
      LOOM_TRY(StepState fresh, mesh.create_state());
      LOOM_TRY_VOID(fresh.restore(snapshot));
      state = std::move(fresh);
    }
    std::vector<StepState*> all{&state};
    for (StepState& other : others) all.push_back(&other);
    const auto took = others.empty() ? mesh.step(state, step) : mesh.step(all, step);
    if (!took) return answer(took.error());
    if (const auto fine = checked(); !fine) return answer(fine.error());
    for (std::size_t cell = 0; cell < net.num_cells(); ++cell)
      if (const auto y = state.output(cell)) show_from_device(fmt::format("tick {} cell {}", tick, cell), *y);
    show(fmt::format("gate loss {}", tick), state.gate_loss());
    show_digest(fmt::format("state {}", tick), state.hash());
  }
  return back == 0 ? Result<void>() : mesh_backward(net, mesh, state, back);
}

// The gradients of so many captured ticks.
Result<void> TrialRun::mesh_backward(const Network& net, StepMesh& mesh, StepState& state, std::size_t back) {
  const auto y = state.output();
  if (!y) return {};
  Memory there;
  LOOM_TRY(const ConstView dy, sent(uniform("dy", y->shape.elements()), y->shape, there));
  const auto ports = mesh.backward(state, dy, back);
  if (!ports) return answer(ports.error());
  for (std::size_t i = 0; i < ports->size(); ++i) show_from_device(fmt::format("port gradient {}", i), (*ports)[i]);
  net.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    show_from_device("gradient of " + path, {mesh.gradients().of(w), Shape::of({1, w.elements()}), element_});
  });
  return checked();
}

Result<void> TrialRun::mesh_tween() {
  LOOM_TRY(Network net, network());
  const std::size_t history = number_option(options_, "history"), back = number_option(options_, "backward");
  const StepOptions ticks{.capture = history > 0 || back > 0};
  const auto made = StepMesh::create(net, plans_.steps,
                                     {.threads = way_.threads,
                                      .isa = way_.isa,
                                      .history_capacity = std::max<std::size_t>(1, std::max(history, back)),
                                      .backward = back > 0,
                                      .keep_inputs = true,
                                      .device = way_.device});
  if (!made) return answer(made.error());
  StepMesh& mesh = **made;
  LOOM_TRY(const TweenConfig config, tween_config_from_json(options_["tween"]));
  const auto tween = MeshTween::create(net, mesh, config, {.ticks = history});
  if (!tween) return answer(tween.error());
  LOOM_TRY(StepState state, mesh.create_state());
  LOOM_TRY_VOID(state.set_input(view(inputs("x"), input_)));
  for (std::size_t tick = 0; tick < number_option(options_, "ticks", 1); ++tick) {
    const auto took = mesh.step(state, ticks);
    if (!took) return answer(took.error());
    if (const auto fine = checked(); !fine) return answer(fine.error());
  }
  for (std::size_t step = 0; step < number_option(options_, "steps", 1); ++step) {
    const std::vector<std::byte> before =
        flag_option(options_, "rewinds") ? state.snapshot() : std::vector<std::byte>();
    const auto took = mesh.step(state, ticks);
    if (!took) return answer(took.error());
    if (const auto fine = checked(); !fine) return answer(fine.error());
    const auto y = state.output();
    if (!y) continue;  // no data has come through yet
    show_from_device(fmt::format("output {}", step), *y);
    Memory there;
    LOOM_TRY(const ConstView t, sent(uniform(fmt::format("t{}", step), y->shape.elements()), y->shape, there));
    if (const auto moved = (*tween)->step(state, {.values = t}, 0.05); !moved) return answer(moved.error());
    show(fmt::format("gap {}", step), (*tween)->output_gap());
    for (const MeshTweenUse& use : (*tween)->uses()) show(fmt::format("budget {} of {}", step, *use.path), use.budget);
    LOOM_TRY_VOID(fetched(net));
    show_weights(net, fmt::format("step {} ", step));
    if (flag_option(options_, "backward_each_step")) LOOM_TRY_VOID(mesh_backward(net, mesh, state, back));
    if (flag_option(options_, "through_snapshot")) LOOM_TRY_VOID(state.restore(state.snapshot()));
    if (before.empty()) continue;
    LOOM_TRY_VOID(state.restore(before));  // and the same tick again, by the weights that the step left
    if (const auto again = mesh.step(state, ticks); !again) return answer(again.error());
    show_digest(fmt::format("again {}", step), state.hash());
  }
  return back == 0 ? Result<void>() : mesh_backward(net, mesh, state, back);
}

Result<void> TrialRun::evolve() {
  LOOM_TRY(Network a, network());
  LOOM_TRY(Network b, network());
  MutationConfig config;
  config.seed = trial_.data;
  const Json* rate = find(options_, "rates");
  const double r = rate == nullptr ? 0.5 : as_number(*rate).value_or(0.5);
  MutationConfig::rates(config, [&](Key, double& value) { value = r; });
  for (std::size_t i = 0; i < number_option(options_, "mutations", 1); ++i) {
    LOOM_TRY_VOID(mutate(a, input_, config, {.generation = static_cast<std::uint32_t>(i)}));
    show_digest(fmt::format("mutation {}", i), network_digest(a, spec_digest(a)));
  }
  LOOM_TRY(const SpliceConfig::Mode mode, splice_mode_from_name(text_option(options_, "splice", "blend")));
  LOOM_TRY(Network child, splice(a, b, {.mode = mode, .seed = trial_.data}));
  LOOM_TRY(plans_.forward, ForwardPlan::create(child, input_));
  show_digest("child", network_digest(child, spec_digest(child)));
  return forward_calls(child, "output", 1);
}

// Whole generations. How good a network is: how far its outputs stand from zero, and how far the first one.
Result<void> TrialRun::population() {
  LOOM_TRY(const Network base, network());
  LOOM_TRY(Workers workers, Workers::create(way_.threads, way_.isa, nullptr, way_.device));
  PopulationConfig config;
  config.size = number_option(options_, "size", 4), config.elites = number_option(options_, "elites"),
  config.stagnation = 1;
  LOOM_TRY(config.splice_mode, splice_mode_from_name(text_option(options_, "splice", "blend")));
  const auto percent = [&](const char* key) { return static_cast<double>(number_option(options_, key)) / 100; };
  config.species_distance = percent("species_distance"), config.novelty_weight = percent("novelty"),
  config.splice_rate = percent("splice_rate");
  MutationConfig::rates(config.mutation, [&](Key, double& value) { value = percent("rate"); });
  const ConstView x = view(inputs("x"), input_);
  const bool several = flag_option(options_, "several_objectives");
  config.objectives = several ? 2 : 1;
  const FitnessFunction fitness = [&](Runner& runner, const Candidate& candidate) -> Result<Fitness> {
    runner.use(candidate);
    const auto y = runner.forward(x);
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    if (!y) return Fitness{several ? std::vector<double>{kNaN, 0} : std::vector<double>{kNaN}, {0, 0}};
    double sum = 0, first = 0;
    for (std::size_t i = 0; i < y->shape.elements(); ++i) {
      const double v = y->element == Element::f64 ? y->as<double>()[i] : static_cast<double>(y->as<float>()[i]);
      sum += v < 0 ? -v : v;
      if (i == 0) first = v;
    }
    return Fitness{several ? std::vector<double>{-sum, first} : std::vector<double>{-sum}, {sum, first}};
  };
  auto made = Population::create(trial_.data, config, base, input_, workers);
  if (!made) return answer(made.error());
  Population all = std::move(*made);
  for (std::size_t g = 0; g < number_option(options_, "generations", 1); ++g) {
    if (g == 1 && flag_option(options_, "through_state")) {
      LOOM_TRY(const Json state, all.state());
      LOOM_TRY(all, Population::restore(state, trial_.data, config, input_, 0));
    }
    const auto report = all.evolve(fitness, workers);
    if (!report) return answer(report.error());
    for (std::size_t i = 0; i < report->scores.size(); ++i)
      show(fmt::format("generation {} score {}", g, i), report->scores[i]);
    show(fmt::format("generation {} species", g), static_cast<double>(report->species));
    for (std::size_t i = 0; i < all.members().size(); ++i)
      show_digest(fmt::format("generation {} member {}", g, i),
                  network_digest(all.members()[i].network, all.members()[i].structure));
    show_digest(fmt::format("generation {}", g), report->hash);
  }
  return {};
}

Result<TrialRecord> TrialRun::run() {
  Result<void> done;
  switch (trial_.mode) {
    case TrialMode::Forward: done = forward(); break;
    case TrialMode::Backward: done = backward(); break;
    case TrialMode::Train:
    case TrialMode::Tween: done = train(); break;
    case TrialMode::Files: done = files(); break;
    case TrialMode::Morph: done = morph(); break;
    case TrialMode::Mesh: done = mesh(); break;
    case TrialMode::MeshTween: done = mesh_tween(); break;
    case TrialMode::Fused: done = fused(); break;
    case TrialMode::Call: done = call(); break;
    case TrialMode::Evolve: done = evolve(); break;
    case TrialMode::Population: done = population(); break;
    case TrialMode::Decoder: done = answer(run_decoder(trial_, options_, way_, record_)); break;
    case TrialMode::Finetune: done = answer(run_finetune(trial_, options_, way_, record_)); break;
  }
  // Links of a mesh and mutations may lead to an embedding what no id is.
  const bool leads_elsewhere =
      is_mesh(trial_.mode) || trial_.mode == TrialMode::Evolve || trial_.mode == TrialMode::Population;
  if (!done && done.error().code == Code::IndexOutOfRange && leads_elsewhere)
    done = answer({Code::Unsupported, done.error().text()});
  if (!done) return tl::make_unexpected(std::move(done).error());
  return std::move(record_);
}

Result<Network> trial_network(const Trial& trial) { return TrialRun(trial, {}).network(); }
std::vector<double> trial_input(const Trial& trial, std::string_view call) { return TrialRun(trial, {}).inputs(call); }

Result<TrialRecord> run_trial(const Trial& trial, const TrialWay& way) {
  if (way.variant > trial.variants.size())
    return fail(Code::InvalidArgument, "trial: variant {} of {}", way.variant, trial.variants.size());
  return TrialRun(trial, way).run();
}

}  // namespace loom
