// Opening files by their content, and exporting networks and models, in loom.h.

#include "capi/graph_objects.h"
#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/export.h"
#include "host/load_any.h"
#include "io/output_file.h"

namespace loom::capi {
namespace {

Result<AnyOptions> options_of(const loom_file_open_options& given, const std::atomic<bool>* cancel) {
  AnyOptions out;
  out.spec.strict = given.lenient == 0;
  LOOM_TRY_VOID(read_compute(given.compute, out.model));
  out.encoder.session.pool = out.model.pool;
  out.encoder.session.threads = out.model.threads;
  if (given.dtype != nullptr) {
    LOOM_TRY(out.model.decoder.dtype, dtype_from_name(given.dtype));
    out.encoder.dtype = out.model.decoder.dtype;
  }
  out.model.decoder.progress = progress_of(given);
  out.model.decoder.cancel = cancel;
  return out;
}

struct Opened {
  std::uint64_t handle = 0;
  const char* kind = "";
};
Result<Opened> handle_of(AnyModel loaded, std::string path, const AnyOptions& options) {
  Opened out;
  if (auto* const network = std::get_if<Network>(&loaded.model)) {
    out.kind = "network";
    LOOM_TRY(out.handle,
             make_handle<NetworkObject>(std::move(*network), std::move(loaded.warnings), std::move(loaded.plans)));
  } else if (auto* const model = std::get_if<LanguageModel>(&loaded.model)) {
    out.kind = "model";
    LOOM_TRY(out.handle, make_handle<ModelObject>(std::move(*model)));
  } else if (auto* const encoder = std::get_if<TextEncoder>(&loaded.model)) {
    out.kind = "encoder";
    LOOM_TRY(out.handle, make_handle<EncoderObject>(std::move(*encoder), std::move(path), options.encoder));
  } else {
    out.kind = "graph";
    LOOM_TRY(out.handle, make_handle<GraphObject>(std::get<std::shared_ptr<const graph::Program>>(loaded.model),
                                                  options.model.pool, options.model.threads));
  }
  return out;
}

struct GivenExport {
  ExportOptions options;
  CancelOf cancel;
  bool overwrite = false;
};
Result<void> check_target(const std::string& path, bool overwrite) {
  const OutputKind kind = path.ends_with(".onnx")          ? OutputKind::onnx
                          : path.ends_with(".safetensors") ? OutputKind::safetensors
                                                           : OutputKind::gguf;
  // another ending is that of a folder, or refused by the export
  return kind == OutputKind::gguf && !path.ends_with(".gguf") ? Result<void>()
                                                              : check_output(path, kind, overwrite, {}, "overwrite");
}
Result<GivenExport> export_of(const loom_file_export_options* options) {
  LOOM_TRY(const loom_file_export_options given, read_struct(options));
  LOOM_TRY(GivenExport out,
           CancelOf::handle(given.cancel).map([](CancelOf cancel) { return GivenExport{{}, std::move(cancel)}; }));
  if (given.input_shape_count != 0) {
    LOOM_TRY(out.options.input_shape, shape_of(given.input_shape, given.input_shape_count, "input_shape"));
  }
  out.options.dequantize = given.dequantize != 0;
  out.overwrite = given.overwrite != 0;
  if (given.hints != nullptr) out.options.hints = given.hints;
  if (given.dtype != nullptr) {
    LOOM_TRY(out.options.dtype, dtype_from_name(given.dtype));
  }
  out.options.progress = progress_of(given);
  if (const std::atomic<bool>* const flag = out.cancel.flag())
    out.options.stop = [flag] { return flag->load(std::memory_order_relaxed); };
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_file_open(const char* path, const loom_file_open_options* options, loom_handle* object,
                           loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(object, report));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_file_open_options given, read_struct(options));
    LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
    LOOM_TRY(const AnyOptions wanted, options_of(given, cancel.flag()));
    LOOM_TRY(AnyModel loaded,
             load_any(std::string(name), {given.hints != nullptr ? given.hints : std::string()}, wanted));
    LOOM_TRY_VOID(need_answers());
    Json facts = to_json(loaded.report);
    facts["warnings"] = loaded.warnings;
    LOOM_TRY(const Opened made, handle_of(std::move(loaded), std::string(name), wanted));
    facts["kind"] = made.kind;
    auto blob = make_blob(facts);
    if (!blob) static_cast<void>(release(made.handle));
    LOOM_TRY(*report, std::move(blob));
    *object = made.handle;
    return {};
  });
}

loom_status loom_file_export(const char* from, const char* to, const loom_file_export_options* options,
                             loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const std::string_view source, need_text(from, "from"));
    LOOM_TRY(const std::string_view target, need_text(to, "to"));
    LOOM_TRY_VOID(need_other_file(source, target));
    LOOM_TRY(const GivenExport given, export_of(options));
    LOOM_TRY_VOID(check_target(std::string(target), given.overwrite));
    LOOM_TRY(const ExportResult done, export_file(std::string(source), std::string(target), given.options));
    LOOM_TRY_VOID(need_answers());
    LOOM_TRY(*report, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_network_export(loom_network network, const char* path, const loom_file_export_options* options,
                                loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const std::string_view target, need_text(path, "path"));
    LOOM_TRY(const GivenExport given, export_of(options));
    if (!given.options.hints.empty())
      return fail(Code::InvalidArgument, "hints of the options belong to loom_file_export");
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY_VOID(need_values(taken.network()));
    LOOM_TRY_VOID(check_target(std::string(target), given.overwrite));
    LOOM_TRY(const ExportResult done, export_network(taken.network(), std::string(target), given.options));
    LOOM_TRY(*report, make_blob(to_json(done)));
    return {};
  });
}
