#include "backend/webgpu/gpu_device.h"

#include <algorithm>

#include "backend/webgpu/probe.h"
#include "backend/webgpu/prover.h"

namespace loom::gpu {
namespace {

constexpr double kMinute = 60'000;

}  // namespace

GpuDevice::GpuDevice(std::unique_ptr<Driver> driver, const GpuOptions& options, double most_wait_ms)
    : connection_(std::move(driver), options.precision),
      shaders_(connection_.driver(), options),
      memory_(connection_, shaders_, options.addresses),
      submitter_(connection_, memory_, shaders_, most_wait_ms),
      recorder_(connection_, memory_, submitter_, shaders_) {}

Result<std::unique_ptr<GpuDevice>> GpuDevice::create(std::unique_ptr<Driver> driver, GpuOptions options) {
  const bool checks_arithmetic = options.checks_arithmetic && options.precision == Precision::Strict;
  if (options.precision == Precision::Fast) options.passes.clear();
  double most_wait_ms = options.most_wait_ms;
  if (most_wait_ms == 0) most_wait_ms = (driver->adapter().kind == "software" ? 60 : 10) * kMinute;
  std::unique_ptr<GpuDevice> device(new GpuDevice(std::move(driver), options, most_wait_ms));
  LOOM_TRY_VOID(device->memory_.reserve());
  LOOM_TRY_VOID(device->submitter_.create_buffers());
  LOOM_TRY_VOID(device->recorder_.create_buffers());
  if (options.checks_arithmetic) LOOM_TRY_VOID(device->choose_dots(options.dots));
  if (device->adapter().has_matrix_units) {
    LOOM_TRY(device->has_units_, are_units_right(*device));
  }
  if (checks_arithmetic && !prove_arithmetic(*device)) {
    device->shaders_.set_sums(Sums::Kept);
    LOOM_TRY_VOID(prove_arithmetic(*device));
  }
  device->shaders_.read_passes();
  return device;
}

Result<void> GpuDevice::choose_dots(std::optional<Dots> named) {
  if (const auto known = named ? std::nullopt : shaders_.read_dots()) {
    shaders_.set_dots(*known);
    return {};
  }
  shaders_.set_dots(Dots::Integers);  // which every compiler knows
  if (named) {
    LOOM_TRY_VOID(check_dots(*this, *named));
    shaders_.set_dots(*named);
    return {};
  }
  LOOM_TRY(const Dots fastest, find_fastest_dots(*this));
  shaders_.set_dots(fastest);
  if (has_times(adapter())) shaders_.keep_dots();
  return {};
}

void GpuDevice::free(std::byte* memory, std::size_t /*bytes*/) { recorder_.free(memory); }

void GpuDevice::read(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  recorder_.flush();
  if (auto done = submitter_.read(from, to); !done) {
    submitter_.keep_error(std::move(done), true);
    std::ranges::fill(to, std::byte{0xff});
  }
}

void GpuDevice::write(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  recorder_.flush();  // kernels that were recorded before read the old bytes
  submitter_.write(to, from);
}

void GpuDevice::copy(const std::byte* from, std::size_t bytes, std::byte* to) {
  if (bytes == 0) return;
  recorder_.end_rows_keeping_error();
  if (connection_.is_lost()) return;
  if (submitter_.is_word_copy(from, bytes, to)) return submitter_.copy(from, bytes, to);
  std::vector<std::byte> on_host(bytes);
  read(from, on_host);
  write(to, on_host);
}

void GpuDevice::clear(std::byte* memory, std::size_t bytes) {
  recorder_.end_rows_keeping_error();
  submitter_.clear(memory, bytes);
}

const std::byte* GpuDevice::find_copy(const std::shared_ptr<const void>& owner,
                                      std::span<const std::byte> bytes) const {
  return connection_.is_lost() ? nullptr : memory_.find_copy(owner, bytes);
}

Result<const std::byte*> GpuDevice::place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
  if (connection_.is_lost()) return connection_.loss();
  if (const std::byte* const known = find_copy(owner, bytes)) return known;
  for (std::byte* const old : memory_.forget_old_copies(bytes.data())) recorder_.free(old);
  LOOM_TRY(const std::byte* const at, memory_.add_copy(owner, bytes));
  submitter_.count_written(bytes.size());
  return at;
}

Result<void> GpuDevice::read_in_pass(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return {};
  LOOM_TRY_VOID(recorder_.submit_all());
  return submitter_.read(from, to);
}

Result<void> GpuDevice::write_in_pass(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return {};
  LOOM_TRY_VOID(recorder_.submit_all());
  if (connection_.is_lost()) return connection_.loss();
  submitter_.write(to, from);
  return {};
}

void GpuDevice::count_host_call(std::string_view operation) {
  ++host_calls_.calls;
  if (std::ranges::find(host_calls_.names, operation) == host_calls_.names.end())
    host_calls_.names.emplace_back(operation);
}

Result<ReadTicket> GpuDevice::begin_read(const std::byte* from, std::size_t bytes) {
  recorder_.flush();
  return submitter_.begin_read(from, bytes);
}

DeviceCounters GpuDevice::counters() const {
  DeviceCounters all = submitter_.counters();
  all.pipelines = shaders_.compiled();
  all.rehearsed = recorder_.rehearsed();
  return all;
}

}  // namespace loom::gpu
