// adapt: a network over a stream whose task changes.

#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "core/json.h"
#include "host/adapt.h"
#include "host/load_any.h"
#include "io/network_file.h"
#include "training/train_config.h"

namespace loom::cli {
namespace {

struct AdaptFlags {
  CommonOptions common;
  std::string network, config, chart, output;
  std::vector<std::string> tasks;
  std::optional<double> learning_rate, window_ms;
  std::size_t window = 50, outputs_per_task = 0;
  bool freeze = false, lenient = false, overwrite = false;
};

// NAME=FILE
Result<std::vector<AdaptTask>> tasks_of(const AdaptFlags& o) {
  std::vector<AdaptTask> tasks;
  for (const std::string& text : o.tasks) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
      return fail(Code::InvalidArgument, "--task {}: expected NAME=FILE", text);
    AdaptTask task{text.substr(0, equals), {}};
    auto read = read_examples(text.substr(equals + 1));
    if (!read) return at("task " + task.name, std::move(read).error());
    task.data = *std::move(read);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<TrainConfig> config_of(const AdaptFlags& o) {
  Json json = Json::object();
  if (!o.config.empty()) {
    LOOM_TRY(const std::string text, read_text_file(o.config));
    auto read = parse_json(text);
    if (!read) return at(o.config, std::move(read).error());
    json = std::move(*read);
  }
  if (o.learning_rate && json.is_object()) json["learning_rate"] = *o.learning_rate;
  auto config = read_step_config(json);
  if (!config) return at(o.config, std::move(config).error());
  LOOM_TRY(const NetworkSessionOptions session, session_options(o.common));
  config->trainer.session.threads = session.threads, config->trainer.session.isa = session.isa;
  config->trainer.session.max_bytes = o.common.max_memory;
  return config;
}

void print_adaptation(const AdaptFlags& o, const AdaptResult& r) {
  const char* const unit = r.counts_outputs ? "outputs" : "ms";
  for (const TaskChange& c : r.changes) {
    const std::string recovery =
        c.recovery_ms < 0 ? std::string("not recovered") : fmt::format("recovered in {:g} {}", c.recovery_ms, unit);
    std::printf("at %g %s: %s, %.1f %% before, %s\n", c.at_ms, unit, terminal_text(c.task).c_str(), c.accuracy_before,
                recovery.c_str());
  }
  std::printf("%llu outputs, accuracy %.2f %%, availability %.2f %%", static_cast<unsigned long long>(r.outputs),
              r.accuracy, r.availability);
  if (!r.counts_outputs) std::printf(", %.1f outputs per second, score %.2f", r.throughput, r.score);
  std::printf("\n");
  if (r.skipped_steps != 0 && !o.common.quiet)
    warn(fmt::format("{} steps were not finite and left the weights as they were", r.skipped_steps));
  if (!o.common.quiet) std::fprintf(stderr, "weights %s\n", to_hex(r.weights).c_str());
}

Result<int> run_adapt(const AdaptFlags& o) {
  LOOM_TRY(const std::vector<AdaptTask> tasks, tasks_of(o));
  LOOM_TRY(TrainConfig config, config_of(o));
  LOOM_TRY(OpenedNetwork opened,
           open_any_network(o.network, {}, {.strict = !o.lenient, .max_bytes = o.common.max_memory}));
  if (!o.common.quiet)
    for (const std::string& warning : opened.loaded.warnings) warn(warning);
  Network& network = opened.loaded.network;
  if (config.dtype) LOOM_TRY_VOID(network.morph_all(*config.dtype));
  AdaptOptions options;
  options.trainer = config.trainer, options.learns = !o.freeze, options.outputs_per_task = o.outputs_per_task;
  options.window = o.window, options.window_ms = o.window_ms, options.cancel = &interrupt_flag();
  watch_interrupts();
  Progress bar("adapting", o.common.quiet || o.common.json);
  options.progress = [&](std::size_t done, std::size_t total) {
    bar.update(static_cast<double>(done) / static_cast<double>(total));
  };
  LOOM_TRY(const AdaptResult result, run_adaptation(network, tasks, options));
  if (!o.chart.empty()) {
    const std::string svg = adaptation_svg(result);
    LOOM_TRY_VOID(write_file_atomically(o.chart, std::as_bytes(std::span(svg))));
  }
  if (!o.output.empty()) LOOM_TRY_VOID(save_network(o.output, network).map([](const Digest&) {}));
  o.common.json ? print_json(to_json(result)) : print_adaptation(o, result);
  return result.stopped ? kInterrupted : kOk;
}

Result<void> check_adapt_flags(const AdaptFlags& o) {
  if (o.freeze && (!o.config.empty() || o.learning_rate || !o.output.empty()))
    return fail(Code::InvalidArgument, "--config, --learning-rate and --output have no effect with --freeze");
  if (!o.chart.empty()) LOOM_TRY_VOID(check_output(o.chart, OutputKind::svg, o.overwrite, {o.network, o.config}));
  if (!o.output.empty()) LOOM_TRY_VOID(check_output(o.output, OutputKind::network, o.overwrite, {o.network, o.config}));
  return {};
}

}  // namespace

Run adapt_command(CLI::App& app) {
  auto o = std::make_shared<AdaptFlags>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint, .entity, .safetensors, .npz or .onnx")->required();
  app.add_option("--task", o->tasks,
                 "NAME=FILE, inputs and targets (.npz or .json); repeated, in the order of the stream")
      ->required()
      ->check(not_empty())
      ->allow_extra_args(false);
  app.add_option("--outputs-per-task", o->outputs_per_task,
                 "Outputs of each task, beginning again with its first sample; without it, one of each sample")
      ->check(whole_number(1));
  auto* const window = app.add_option("--window", o->window, "Outputs of a window, on a clock that counts outputs")
                           ->check(whole_number(1))
                           ->capture_default_str();
  app.add_option("--window-ms", o->window_ms, "Windows of so many milliseconds of this machine's time instead")
      ->check(number_within(0.001, 1e9))
      ->excludes(window);
  add_path(app, "--config", o->config,
           "JSON of a training's steps: loss, optimizer, tween... (docs/guide/training.md)");
  app.add_option("--learning-rate", o->learning_rate, "In place of the config's");
  app.add_flag("--freeze", o->freeze, "Measure alone: the network does not learn");
  add_path(app, "--chart", o->chart, "Write accuracy by window as FILE.svg");
  add_path(app, "-o,--output", o->output, "Write the network after the stream: FILE.entity or FILE.json");
  add_overwrite(app, o->overwrite);
  add_network_flags(app, o->common, o->lenient);
  return [o] {
    if (auto checked = check_adapt_flags(*o); !checked) return report(checked.error());
    const Result<int> status = run_adapt(*o);
    if (!status && status.error().text().starts_with("task ")) return finish(status);
    return finish(naming({o->network, o->config, o->chart, o->output}, status));
  };
}

}  // namespace loom::cli
