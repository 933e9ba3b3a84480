// ensemble: several networks on the same inputs.

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "core/json.h"
#include "core/nearest.h"
#include "host/ensemble_run.h"
#include "host/load_any.h"
#include "io/npy/npy.h"

namespace loom::cli {
namespace {

struct EnsembleFlags {
  CommonOptions common;
  std::vector<std::string> networks;
  std::string input, targets, output, mode = "mean";
  std::vector<double> weights;
  double min_coverage = 0;
  bool lenient = false, overwrite = false;
};

Result<Examples> data_of(const EnsembleFlags& o) {
  LOOM_TRY(Examples data, read_examples(o.input));
  if (o.targets.empty()) return data;
  if (data.has_targets) return fail(Code::InvalidArgument, "{} holds targets: leave out --targets", o.input);
  LOOM_TRY(data.targets, read_tensor(o.targets));
  data.has_targets = true;
  return data;
}

// The mean, or of a vote the classes, a row each.
Result<void> write_result(const std::string& path, const EnsembleResult& r) {
  std::vector<double> classes(r.classes.begin(), r.classes.end());
  const bool is_mean = r.mode == EnsembleMode::Mean;
  LOOM_TRY(const Shape rows, Shape::create(std::array{classes.size()}));
  const ConstView view{is_mean ? r.mean.data() : classes.data(), is_mean ? r.output_shape : rows, Element::f64};
  if (path.ends_with(".npy")) {
    const std::span<const double> values(view.as<double>(), view.shape.elements());
    return write_npy(path, DType::float64, view.shape.extents(), std::as_bytes(values));
  }
  const std::string text = dump_json(nested_json(view)) + "\n";
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

void print_ensemble(const EnsembleFlags& o, const EnsembleResult& r) {
  for (std::size_t m = 0; m < r.members.size(); ++m) {
    const EnsembleMember& member = r.members[m];
    const std::string right = member.accuracy ? fmt::format("  right {:.4f}", *member.accuracy) : std::string();
    std::printf("%zu  %s%s  hash %.12s\n", m, terminal_text(member.name).c_str(), right.c_str(),
                to_hex(member.hash).c_str());
  }
  for (const EnsembleMatch& m : r.matches)
    std::printf("%zu and %zu  coverage %.4f  overlap %.4f  cosine %.4f  right together %.4f\n", m.a, m.b, m.coverage,
                m.overlap, m.cosine, m.combined);
  if (r.accuracy) std::printf("%s of all  right %.4f\n", std::string(name(r.mode)).c_str(), *r.accuracy);
  if (!r.accuracy && o.output.empty()) {
    Json shown = to_json(r, true);
    std::printf("%s\n", dump_json(shown[r.mode == EnsembleMode::Mean ? "output" : "classes"]).c_str());
  }
  if (!o.common.quiet)
    std::fprintf(stderr, "%s -> %s  hash %s\n", r.input_shape.text().c_str(), r.output_shape.text().c_str(),
                 to_hex(r.hash).c_str());
}

Result<int> run_ensemble_command(const EnsembleFlags& o) {
  LOOM_TRY(const Examples data, data_of(o));
  if (!data.has_targets && o.min_coverage > 0)
    return fail(Code::InvalidArgument, "--min-coverage has no effect without targets");
  EnsembleOptions options;
  LOOM_TRY(const std::size_t mode, find_name("--mode", o.mode, kEnsembleModes));
  options.mode = static_cast<EnsembleMode>(mode);
  options.weights = o.weights, options.min_coverage = o.min_coverage;
  options.targets_name = o.targets.empty() ? o.input : o.targets;
  options.run.threads = o.common.threads, options.run.max_bytes = o.common.max_memory;
  options.run.input_name = o.input, options.run.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.run.isa, isa_from_name(o.common.isa));
  }
  std::vector<std::unique_ptr<Network>> networks;
  std::vector<EnsembleInput> members;
  for (const std::string& path : o.networks) {
    LOOM_TRY(OpenedNetwork opened,
             open_any_network(path, {}, {.strict = !o.lenient, .max_bytes = o.common.max_memory}));
    if (!o.common.quiet)
      for (const std::string& warning : opened.loaded.warnings) warn(warning);
    networks.push_back(std::make_unique<Network>(std::move(opened.loaded.network)));
    members.push_back({path, networks.back().get()});
  }
  watch_interrupts();
  LOOM_TRY(const EnsembleResult result, run_ensemble(members, data, options));
  if (!o.output.empty()) LOOM_TRY_VOID(write_result(o.output, result));
  o.common.json ? print_json(to_json(result, o.output.empty())) : print_ensemble(o, result);
  return kOk;
}

}  // namespace

Run ensemble_command(CLI::App& app) {
  auto o = std::make_shared<EnsembleFlags>();
  add_path(app, "NETWORK", o->networks, "Two networks or more: JSON, .entity, .safetensors, .npz or .onnx")
      ->required()
      ->expected(2, 4096);
  add_path(app, "-i,--input", o->input, "Inputs, or inputs and targets: FILE.npy, FILE.npz or FILE.json, samples first")
      ->required();
  add_path(app, "--targets", o->targets, "Class ids, or rows like the output's: FILE.npy or FILE.json");
  app.add_option("--mode", o->mode, "mean of the outputs, or vote of the classes")
      ->check(CLI::IsMember({"mean", "vote"}))
      ->capture_default_str();
  app.add_option("--weights", o->weights, "A weight per network, 1,2,1; without it, all count the same")
      ->delimiter(',');
  app.add_option("--min-coverage", o->min_coverage,
                 "Report pairs of which one or both get this share of the rows right")
      ->check(number_within(0, 1))
      ->capture_default_str();
  add_path(app, "-o,--output", o->output, "Write the mean, or the voted classes: FILE.npy or FILE.json");
  add_overwrite(app, o->overwrite);
  add_network_flags(app, o->common, o->lenient);
  return [o] {
    if (!o->output.empty()) {
      const auto kind = o->output.ends_with(".npy") ? OutputKind::npy : OutputKind::tensor;
      if (auto checked = check_output(o->output, kind, o->overwrite, {o->input, o->targets}); !checked)
        return report(checked.error());
    }
    return finish(run_ensemble_command(*o));
  };
}

}  // namespace loom::cli
