#include "cli/run_graph.h"

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/receipt_option.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "core/files_read.h"
#include "core/json.h"
#include "host/graph_run.h"

namespace loom::cli {
namespace {

// "NAME=FILE" or "FILE", as run_graph_file() takes them.
Receipt::File input_file(const std::string& text, const GraphRunResult& result) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, std::min(equals, text.size()));
  const bool is_named = equals != text.npos && std::ranges::find(result.inputs, name, [](const auto& input) {
                                                 return input.first;
                                               }) != result.inputs.end();
  return is_named ? Receipt::File{name, text.substr(equals + 1), {}} : Receipt::File{{}, text, {}};
}

Result<Receipt> receipt_of_graph(const RunFlags& o, const GraphRunResult& result, const FilesRead& read) {
  Receipt::NetworkInput input{.seed = o.seed};
  for (const std::string& text : o.inputs) input.files.push_back(input_file(text, result));
  return receipt_of(o.network, std::move(input), result, read.paths());
}

}  // namespace

Result<int> run_graph(const RunFlags& o) {
  if (!o.output.empty())
    LOOM_TRY_VOID(check_output(o.output, o.output.ends_with(".npy") ? OutputKind::npy : OutputKind::tensors,
                               o.overwrite, {o.network}));
  if (o.cells) return fail(Code::InvalidArgument, "--cells is for networks; {} is a graph", o.network);
  GraphRunOptions options;
  options.inputs = o.inputs, options.seed = o.seed, options.max_bytes = o.common.max_memory;
  options.runner.threads = o.common.threads, options.runner.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.runner.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY_VOID(name_device(o.common, options.runner, 1));
  watch_interrupts();
  const FilesRead read;
  LOOM_TRY(const GraphRunResult result, run_graph_file(o.network, options));
  LOOM_TRY(const Json receipt, give_receipt(o.receipt, o.common, [&] { return receipt_of_graph(o, result, read); }));
  if (!result.drawn.empty() && !o.common.quiet)
    std::fprintf(stderr, "loom: no --input: values of %s drawn from seed %llu\n",
                 fmt::format("{}", fmt::join(result.drawn, ", ")).c_str(), static_cast<unsigned long long>(o.seed));
  if (o.output.ends_with(".npy")) {
    if (result.outputs.size() != 1)
      return fail(Code::InvalidArgument, "{}: {} outputs do not fit in one array: give FILE.json", o.output,
                  result.outputs.size());
    LOOM_TRY_VOID(write_value_npy(o.output, result.outputs[0].second));
  } else if (!o.output.empty()) {
    Json named = Json::object();
    for (const auto& [name, value] : result.outputs) named[name] = nested_json(value);
    const std::string text = dump_json(named) + "\n";
    LOOM_TRY_VOID(write_file_atomically(o.output, std::as_bytes(std::span(text))));
  }
  if (o.common.json) {
    Json out = to_json(result, o.output.empty());
    out["receipt"] = receipt;
    print_json(out);
    return kOk;
  }
  for (const auto& [name, value] : result.outputs) {
    if (o.output.empty()) std::printf("%s\n", dump_json(nested_json(value)).c_str());
    if (!o.common.quiet)
      std::fprintf(stderr, "%s %s %s\n", terminal_text(name).c_str(), graph::name_of(value.type).c_str(),
                   graph::text_of(value.dims).c_str());
  }
  if (!o.common.quiet)
    std::fprintf(stderr, "hash %s%s\n", to_hex(result.digest).c_str(), hash_note(result.precision).c_str());
  return kOk;
}

}  // namespace loom::cli
