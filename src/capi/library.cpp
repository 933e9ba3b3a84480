// Versions, errors, handles: the first two groups of loom.h.

#include <span>
#include <string_view>
#include <utility>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "core/numerics_version.h"
#include "lm/generator.h"
#include "training/training_run.h"
#include "verify/golden_models.h"
#include "telemetry/audit.h"

namespace loom::capi {

Result<std::uint64_t> make_blob(std::string bytes) { return make_handle<BlobObject>(std::move(bytes)); }
Result<std::uint64_t> make_blob(std::span<const std::byte> bytes) {
  return make_blob(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}
Result<std::uint64_t> make_blob(const Json& json) { return make_blob(dump_json(json)); }

Result<RunStart> run_start_of(loom_run_start given) {
  if (given < LOOM_RUN_FRESH || given > LOOM_RUN_OVERWRITE)
    return fail(Code::InvalidArgument, "start is {}: expected 0 to 2", given);
  return static_cast<RunStart>(given);
}

Result<Json> config_json(const void* config, std::size_t size) {
  LOOM_TRY(const std::string_view text, need_bytes(config, size, "config"));
  return text.empty() ? Result<Json>(Json::object()) : parse_json(text);
}

namespace {

// The name at an index of a table of literals, each of which ends with a NUL; "" outside of the table.
const char* name_in(std::span<const std::string_view> names, std::int32_t index) {
  return index >= 0 && static_cast<std::size_t>(index) < names.size() ? names[static_cast<std::size_t>(index)].data()
                                                                      : "";
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

const char* loom_version(void) { return LOOM_VERSION; }

loom_abi loom_library_abi_version(void) { return LOOM_ABI_VERSION; }

const char* loom_last_error(void) { return last_error(); }

const char* loom_stop_name(int32_t stop) { return name_in(kStopReasons, stop); }

const char* loom_training_stop_name(int32_t stop) { return name_in(kTrainingStops, stop); }

const char* loom_status_name(int32_t status) { return status == LOOM_OK ? "Ok" : code_name(static_cast<Code>(status)); }

loom_status loom_numerics_version(uint32_t* version) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(version));
    *version = kNumericsVersion;
    return {};
  });
}

loom_status loom_system_info(loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    Json out = system_audit();
    out["version"] = LOOM_VERSION, out["numerics_version"] = kNumericsVersion;
    LOOM_TRY(*info, make_blob(out));
    return {};
  });
}

loom_status loom_verify(const loom_compute_options* compute, loom_blob* digest) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(digest));
    GoldenOptions run;
    run.threads = ThreadPool::default_threads();
    LOOM_TRY_VOID(read_compute(compute, run));
    LOOM_TRY(const std::string table, golden_table(run));
    LOOM_TRY(*digest, make_blob(digest_of_text(table)));
    return {};
  });
}

loom_status loom_gpu_report(loom_blob* report) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(report));
    LOOM_TRY(const Json found, gpu_report());
    LOOM_TRY(*report, make_blob(found));
    return {};
  });
}

loom_status loom_retain(loom_handle handle) {
  return guard([&] { return retain(handle); });
}

loom_status loom_release(loom_handle handle) {
  return guard([&]() -> Result<void> { return handle == 0 ? Result<void>() : release(handle); });
}

loom_status loom_kind_of(loom_handle handle, loom_kind* kind) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(kind));
    LOOM_TRY(const Kind found, kind_of(handle));
    *kind = static_cast<loom_kind>(found);
    return {};
  });
}

loom_status loom_blob_view(loom_blob blob, const void** data, size_t* data_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(data, data_size));
    LOOM_TRY(const auto use, Use<BlobObject>::of(blob));
    *data = use->bytes.c_str(), *data_size = use->bytes.size();
    return {};
  });
}

loom_status loom_cancel_create(loom_cancel* cancel) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(cancel));
    LOOM_TRY(*cancel, make_handle<CancelObject>());
    return {};
  });
}

loom_status loom_cancel_set(loom_cancel cancel, int32_t set) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto use, Use<CancelObject>::of(cancel));
    use->flag.store(set != 0, std::memory_order_relaxed);
    return {};
  });
}

loom_status loom_threads_create(int32_t count, loom_threads* threads) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(threads));
    LOOM_TRY(auto pool, ThreadPool::create(count != 0 ? count : ThreadPool::default_threads()));
    LOOM_TRY(*threads, make_handle<ThreadsObject>(std::move(pool)));
    return {};
  });
}

loom_status loom_threads_from_host(int32_t count, loom_run_work run, void* user, loom_threads* threads) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(threads));
    LOOM_TRY(auto pool, ThreadPool::create(HostWorkers{count, user, run}));
    LOOM_TRY(*threads, make_handle<ThreadsObject>(std::move(pool)));
    return {};
  });
}
