// mesh: a network in ticks.

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "core/file.h"
#include "core/json.h"
#include "core/system.h"
#include "host/load_any.h"
#include "host/mesh_run.h"
#include "host/run_network.h"
#include "io/network_file.h"

namespace loom::cli {
namespace {

struct MeshFlags {
  CommonOptions common;
  std::string network, input, targets, tween, state, save_state, output;
  std::optional<double> constant;
  std::optional<std::uint64_t> seed;
  std::size_t batch = 1, ticks = 0, through = 0;
  double learning_rate = 0.05;
  bool by_tick = false, pulse = false, outputs = false, learn = false, backward = false, lenient = false,
       overwrite = false;
};

Result<void> check_flags(const MeshFlags& o, const CLI::App& app) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  if (!o.learn)
    for (const char* name : {"--learning-rate", "--tween", "--output"})
      if (given(name)) return fail(Code::InvalidArgument, "{} has no effect without --learn", name);
  if (o.through != 0 && !o.learn && !o.backward)
    return fail(Code::InvalidArgument, "--through has no effect without --learn or --backward");
  if (o.by_tick && o.input.empty()) return fail(Code::InvalidArgument, "--by-tick reads --input: give a file");
  if (o.constant && o.seed) return fail(Code::InvalidArgument, "--seed has no effect beside --constant");
  if (!o.output.empty())
    LOOM_TRY_VOID(check_output(o.output, OutputKind::network, o.overwrite, {o.network, o.input, o.targets, o.state}));
  // A state holds what nothing else can say: an existing file is replaced where it is asked for, or is the one read.
  if (!o.save_state.empty() && o.save_state == o.output)
    return fail(Code::InvalidArgument, "{}: --save-state and --output name one file", o.output);
  if (!o.save_state.empty() && is_file(o.save_state) && !o.overwrite && !os::is_same_file(o.save_state, o.state))
    return fail(Code::InvalidArgument, "{}: exists; not overwritten without --overwrite", o.save_state);
  return {};
}

Result<TensorValues> inputs_of(const MeshFlags& o, const Network& network) {
  if (!o.input.empty()) return read_tensor(o.input);
  auto drawn = drawn_input(network, o.batch, o.seed.value_or(0), o.common.max_memory);
  if (!drawn && drawn.error().code == Code::InvalidArgument)
    drawn.error().message += ": give --input FILE.npy or FILE.json";
  if (drawn && o.constant) std::ranges::fill(drawn->values, *o.constant);
  return drawn;
}

void print_tick(const MeshTick& t) {
  const std::string hash = to_hex(t.state_hash).substr(0, 12);
  std::string figures = "waits";
  if (t.has_output) figures = fmt::format("least {:.6g}  mean {:.6g}  largest {:.6g}", t.least, t.mean, t.largest);
  if (t.error) figures += fmt::format("  error {:.6g}", *t.error);
  std::printf("tick %-6llu %s  state %s\n", static_cast<unsigned long long>(t.tick), figures.c_str(), hash.c_str());
  std::fflush(stdout);
}

void print_end(const MeshFlags& o, const MeshRun& run) {
  for (const MeshGradient& g : run.gradients)
    std::printf("gradient of %s  norm %.6g  hash %.12s\n", g.path.c_str(), g.norm, to_hex(g.hash).c_str());
  if (!run.ticks.empty() && !run.ticks.back().values.empty()) {
    const MeshTick& last = run.ticks.back();
    std::printf("%s\n", dump_json(nested_json({last.values.data(), last.shape, Element::f64})).c_str());
  }
  if (o.common.quiet) return;
  const std::string weights = run.weights ? fmt::format("  weights {}", to_hex(*run.weights)) : std::string();
  std::fprintf(stderr, "%s, %zu cells, %zu ticks  hash %s%s\n", run.input_shape.text().c_str(), run.cells,
               run.ticks.size(), to_hex(run.ticks.back().state_hash).c_str(), weights.c_str());
}

Result<MeshRunOptions> options_of(const MeshFlags& o) {
  MeshRunOptions out;
  out.threads = o.common.threads, out.max_bytes = o.common.max_memory, out.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(out.isa, isa_from_name(o.common.isa));
  }
  out.ticks = o.ticks, out.by_tick = o.by_tick, out.pulse = o.pulse, out.outputs = o.outputs;
  out.learn = o.learn, out.backward = o.backward, out.learning_rate = o.learning_rate, out.through = o.through;
  // Without an input of its own a state reads on what it held.
  out.keeps_input = !o.state.empty() && o.input.empty() && !o.constant && !o.seed && !o.pulse;
  out.input_name = o.input, out.targets_name = o.targets, out.state_name = o.state;
  if (!o.targets.empty()) {
    LOOM_TRY(out.targets, read_tensor(o.targets));
  }
  if (!o.state.empty()) {
    LOOM_TRY(out.state, read_text_file(o.state, std::size_t{1} << 32));
    if (out.state.empty()) return fail(Code::CorruptData, "{}: the file is empty", o.state);
  }
  if (o.tween.empty()) return out;
  LOOM_TRY(const std::string text, read_text_file(o.tween));
  const auto json = parse_json(text);
  if (!json) return at(o.tween, json.error());
  auto config = tween_config_from_json(*json);
  if (!config) return at(o.tween, std::move(config).error());
  out.tween = std::move(*config);
  return out;
}

Result<int> run_mesh_command(const MeshFlags& o) {
  LOOM_TRY(const MeshRunOptions options, options_of(o));
  LOOM_TRY(OpenedNetwork opened,
           open_any_network(o.network, {}, {.strict = !o.lenient, .max_bytes = o.common.max_memory}));
  if (!o.common.quiet)
    for (const std::string& warning : opened.loaded.warnings) warn(warning);
  Network& network = opened.loaded.network;
  LOOM_TRY(const TensorValues inputs, inputs_of(o, network));
  if (o.input.empty() && !o.constant && !options.keeps_input && !o.common.quiet)
    std::fprintf(stderr, "loom: no --input: values drawn from seed %llu\n",
                 static_cast<unsigned long long>(o.seed.value_or(0)));
  watch_interrupts();
  const auto on_tick = [&](const MeshTick& tick) {
    if (!o.common.json) print_tick(tick);
  };
  LOOM_TRY(const MeshRun run, run_mesh(network, inputs, options, on_tick));
  if (!o.common.quiet)
    for (const std::string& warning : run.warnings) warn(warning);
  if (!o.save_state.empty()) LOOM_TRY_VOID(write_file_atomically(o.save_state, std::as_bytes(std::span(run.snapshot))));
  if (!o.output.empty()) LOOM_TRY_VOID(save_network(o.output, network).map([](const Digest&) {}));
  o.common.json ? print_json(to_json(run)) : print_end(o, run);
  if (run.stopped) return kInterrupted;
  for (const MeshTick& tick : run.ticks)
    if (!tick.is_finite) return fail(Code::NonFinite, "{}: the output of tick {} is not finite", o.network, tick.tick);
  return kOk;
}

}  // namespace

Run mesh_command(CLI::App& app) {
  auto o = std::make_shared<MeshFlags>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint, .entity, .safetensors, .npz or .onnx")->required();
  auto* const input = add_path(app, "-i,--input", o->input,
                               "Input of the first cell: FILE.npy or FILE.json, samples first; without it, "
                               "values drawn from --seed");
  app.add_option("--constant", o->constant, "This number everywhere in place of drawn values")->excludes(input);
  app.add_option("--batch", o->batch, "Samples of a drawn or constant input")
      ->check(CLI::Range(1, 65536))
      ->excludes(input);
  app.add_option("--seed", o->seed, "Seed of a drawn input")->check(whole_number())->excludes(input);
  auto* const by_tick = app.add_flag("--by-tick", o->by_tick, "The first axis of --input counts ticks");
  app.add_flag("--pulse", o->pulse, "The first tick alone reads the input; else it is held")->excludes(by_tick);
  app.add_option("--ticks", o->ticks, "How many; without it, one, or those of --by-tick")->check(whole_number(1));
  auto* const targets = add_path(app, "--targets", o->targets,
                                 "Target of the last cell's output, or one for each tick: FILE.npy or FILE.json");
  auto* const learn =
      app.add_flag("--learn", o->learn, "Each tick moves the weights towards --targets")->needs(targets);
  app.add_option("--learning-rate", o->learning_rate, "Of --learn")->capture_default_str();
  add_path(app, "--tween", o->tween, "JSON of target propagation for --learn (docs/guide/tween.md)");
  app.add_flag("--backward", o->backward, "Gradients of the last tick's squared error, through the ticks")
      ->needs(targets)
      ->excludes(learn);
  app.add_option("--through", o->through, "Ticks that --learn (default: the last) or --backward (all) goes back")
      ->check(whole_number(1));
  add_path(app, "--state", o->state,
           "Begin with the state of this file, which --save-state wrote, and with its input unless one is given");
  add_path(app, "--save-state", o->save_state, "Write the state after the last tick");
  add_path(app, "-o,--output", o->output, "Write the network that --learn has moved: FILE.entity or FILE.json");
  add_overwrite(app, o->overwrite);
  app.add_flag("--outputs", o->outputs, "With --json, the output of every tick and not of the last one alone");
  add_network_flags(app, o->common, o->lenient);
  return [o, &app] {
    if (!o->targets.empty() && !o->learn && !o->backward)
      return report(Error{Code::InvalidArgument, "--targets has no effect without --learn or --backward"});
    if (o->outputs && !o->common.json)
      return report(Error{Code::InvalidArgument, "--outputs has no effect without --json"});
    if (auto checked = check_flags(*o, app); !checked) return report(checked.error());
    return finish(
        naming({o->network, o->input, o->targets, o->tween, o->state, o->save_state, o->output}, run_mesh_command(*o)));
  };
}

}  // namespace loom::cli
