#include "cli/auto_morph_command.h"

#include <cmath>
#include <cstdio>

#include "cli/terminal_text.h"
#include "host/morph.h"
#include "host/tensor_file.h"

namespace loom::cli {
namespace {

Result<std::vector<DType>> types_of(const std::string& list) {
  std::vector<DType> types;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const auto type = network_dtype_from_name(list.substr(begin, end - begin));
    if (!type) return fail(Code::InvalidArgument, "--types: {}", type.error().text());
    types.push_back(*type);
    begin = end + 1;
  }
  return types;
}

}  // namespace

void add_auto_morph(CLI::App& app, AutoMorphFlags& f) {
  app.add_flag("--auto", f.automatic, "Choose a type for every layer by what it costs on --data");
  add_path(app, "--data", f.data,
           "Examples: FILE.npz (inputs, targets), FILE.npy (inputs), FILE.json ({\"inputs\": .., \"targets\": ..} or "
           "inputs)");
  f.bytes_option =
      app.add_option("--max-bytes", f.max_bytes, "With --auto: weights in memory, the least loss within them")
          ->check(whole_number());
  f.loss_option =
      app.add_option("--max-loss", f.max_loss, "With --auto: the loss that may be reached, in the fewest bytes found");
  app.add_option("--types", f.types, "With --auto: types to choose from, as int8,int4 (default: all 21)")
      ->check(not_empty());
}

Result<AutoMorphReport> choose_types(Network& network, const AutoMorphFlags& f, const CommonOptions& common) {
  const bool bytes = f.bytes_option->count() > 0, loss = f.loss_option->count() > 0;
  if (bytes == loss) return fail(Code::InvalidArgument, "--auto needs either --max-bytes or --max-loss");
  if (loss && std::isnan(f.max_loss)) return fail(Code::InvalidArgument, "--max-loss: a number expected");
  if (f.data.empty())
    return fail(Code::InvalidArgument, "--auto needs --data FILE: what a type costs is measured on it");
  LOOM_TRY(Examples examples, read_examples(f.data));
  AutoMorphData data{std::move(examples.inputs.values), examples.inputs.shape, std::move(examples.targets.values)};
  AutoMorphOptions options;
  if (bytes) options.max_bytes = f.max_bytes;
  if (loss) options.max_loss = f.max_loss;
  LOOM_TRY(options.types, types_of(f.types));
  options.threads = common.threads, options.max_session_bytes = common.max_memory;
  if (!common.isa.empty()) {
    LOOM_TRY(options.isa, isa_from_name(common.isa));
  }
  NetworkSessionOptions place;
  LOOM_TRY_VOID(need_exact(common, "morph --auto", "chooses by"));
  LOOM_TRY_VOID(name_device(common, place));
  options.device = place.device, options.choose_device = place.choose_device;
  watch_interrupts();
  Progress bar("measuring types", common.quiet);
  options.progress = [&](std::size_t done, std::size_t total) {
    bar.update(static_cast<double>(done) / static_cast<double>(total), fmt::format("{} of {}", done, total));
    return !interrupted();
  };
  auto report = auto_morph(network, data, options);
  if (!report && (report.error().code == Code::ShapeMismatch || report.error().code == Code::NonFinite))
    return at(f.data, std::move(report).error());
  return report;
}

void print_report(const AutoMorphReport& r, const std::string& output, const Digest& root,
                  const CommonOptions& common) {
  if (common.json) return print_json(to_json(r, output, root));
  if (common.quiet) return;
  std::size_t widest = 5;
  for (const AutoMorphRow& row : r.rows) widest = std::max(widest, row.path.size());
  std::printf("%-*s  %-12s %-9s %12s  %s\n", static_cast<int>(widest), "layer", "kind", "type", "bytes",
              "loss increase alone");
  for (const AutoMorphRow& row : r.rows)
    std::printf("%-*s  %-12s %-9s %12zu  %.6g\n", static_cast<int>(widest), terminal_text(row.path).c_str(),
                row.kind.c_str(), std::string(name(row.dtype)).c_str(), row.bytes, row.loss_increase);
  std::printf("%s: %zu bytes in memory (float32 %zu), %s %.6g (float32 %.6g), %zu measurements, root hash %s\n",
              output.c_str(), r.bytes, r.bytes_before, std::string(r.loss_name).c_str(), r.loss, r.loss_before,
              r.measurements, to_hex(root).c_str());
}

}  // namespace loom::cli
