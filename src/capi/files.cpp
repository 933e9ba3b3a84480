// Files of models and networks in loom.h.

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "core/system.h"
#include "evolution/run/config.h"
#include "host/convert.h"
#include "host/inspect.h"
#include "host/perplexity.h"
#include "io/output_file.h"
#include "network/spec/spec.h"
#include "training/train_config.h"

namespace loom::capi {

Result<void> need_other_file(std::string_view from, std::string_view to) {
  if (os::is_same_file(std::string(from), std::string(to)))
    return fail(Code::InvalidArgument, "{}: this file is read; give the output another name", to);
  return {};
}

}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_file_inspect(const char* path, int32_t tensors, loom_blob* facts) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(facts));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const FileFacts found, inspect_file(std::string(name)));
    LOOM_TRY(*facts, make_blob(to_json(found, tensors != 0)));
    return {};
  });
}

loom_status loom_file_quantize(const char* from, const char* to, const char* dtype,
                               const loom_file_convert_options* options, loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const std::string_view source, need_text(from, "from"));
    LOOM_TRY(const std::string_view target, need_text(to, "to"));
    LOOM_TRY(const std::string_view type, need_text(dtype, "dtype"));
    LOOM_TRY(const loom_file_convert_options given, read_struct(options));
    if (given.dtype != nullptr || given.adapter != nullptr)
      return fail(Code::InvalidArgument, "dtype and adapter of the options belong to loom_file_convert");
    if (given.compute != nullptr)
      return fail(Code::InvalidArgument, "compute has no effect on this call: expected NULL");
    LOOM_TRY_VOID(need_other_file(source, target));
    LOOM_TRY_VOID(check_output(std::string(target), OutputKind::gguf, given.overwrite != 0, {}, "overwrite"));
    QuantizeFileOptions wanted;
    LOOM_TRY(wanted.dtype, dtype_from_name(type));
    wanted.progress = progress_of(given);
    LOOM_TRY(const QuantizeFileResult done, quantize_file(std::string(source), std::string(target), wanted));
    LOOM_TRY_VOID(need_answers());
    LOOM_TRY(*report, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_file_convert(const char* from, const char* to, const loom_file_convert_options* options,
                              loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const std::string_view source, need_text(from, "from"));
    LOOM_TRY(const std::string_view target, need_text(to, "to"));
    LOOM_TRY(const loom_file_convert_options given, read_struct(options));
    LOOM_TRY_VOID(need_other_file(source, target));
    LOOM_TRY_VOID(check_output(std::string(target), OutputKind::model, given.overwrite != 0, {}, "overwrite"));
    ConvertModelOptions wanted;
    LOOM_TRY_VOID(read_compute(given.compute, wanted));
    if (given.dtype != nullptr) {
      LOOM_TRY(wanted.dtype, dtype_from_name(given.dtype));
    }
    if (given.adapter != nullptr) wanted.adapter = given.adapter;
    wanted.progress = progress_of(given);
    LOOM_TRY(const ConvertModelResult done, convert_model(std::string(source), std::string(target), wanted));
    LOOM_TRY_VOID(need_answers());
    LOOM_TRY(*report, make_blob(to_json(done)));
    return {};
  });
}

loom_status loom_session_perplexity(loom_session session, const void* text, size_t text_size, uint64_t window,
                                    uint64_t max_windows, loom_cancel cancel, loom_blob* result) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(result));
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto use, take<SessionObject>(session, "session"));
    LOOM_TRY(const ScoredText scored, text_to_score(use->model->model, given));
    PerplexityOptions wanted;
    if (window != 0) wanted.window = static_cast<std::size_t>(window);
    wanted.max_windows = static_cast<std::size_t>(max_windows), wanted.cancel = stop.flag();
    LOOM_TRY(const PerplexityResult found, perplexity(*use->session, scored.ids, wanted));
    LOOM_TRY(*result, make_blob(to_json(found, scored.dropped_bytes)));
    return {};
  });
}

loom_status loom_file_schema(loom_schema_kind file, loom_blob* json) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(json));
    if (file < LOOM_SCHEMA_NETWORK || file > LOOM_SCHEMA_EVOLUTION)
      return fail(Code::InvalidArgument, "file is {}: expected 0 to 2", file);
    LOOM_TRY(*json, make_blob(file == LOOM_SCHEMA_NETWORK    ? spec_schema()
                              : file == LOOM_SCHEMA_TRAINING ? train_schema()
                                                             : evolution_schema()));
    return {};
  });
}
