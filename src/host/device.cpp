#include "host/device.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/native.h"
#include "backend/webgpu/prover.h"
#include "core/json.h"
#include "core/mutex.h"
#include "core/numerics_version.h"
#include "core/sha256.h"
#include "core/system.h"
#include "host/device_choice.h"

namespace loom {
namespace {

constexpr std::string_view kFast = ":fast";

// A graphics card of the process, which threads use one after another.
class SharedDevice final : public Device {
 public:
  explicit SharedDevice(std::unique_ptr<gpu::GpuDevice> device) : device_(std::move(device)) {}
  Result<std::byte*> allocate(std::size_t bytes) override {
    const DeviceTurn turn(this);
    return device_->allocate(bytes);
  }
  void free(std::byte* memory, std::size_t bytes) override {
    const DeviceTurn turn(this);
    device_->free(memory, bytes);
  }
  void read(const std::byte* from, std::span<std::byte> to) override {
    const DeviceTurn turn(this);
    device_->read(from, to);
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    const DeviceTurn turn(this);
    device_->write(to, from);
  }
  void copy(const std::byte* from, std::size_t bytes, std::byte* to) override {
    const DeviceTurn turn(this);
    device_->copy(from, bytes, to);
  }
  void clear(std::byte* memory, std::size_t bytes) override {
    const DeviceTurn turn(this);
    device_->clear(memory, bytes);
  }
  Result<const std::byte*> place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) override {
    const DeviceTurn turn(this);
    return device_->place(owner, bytes);
  }
  Result<void> check() override {
    const DeviceTurn turn(this);
    return device_->check();
  }
  Precision precision() const override { return device_->precision(); }
  bool records() const override { return true; }
  gpu::GpuDevice* gpu() override { return device_.get(); }
  Result<ReadTicket> begin_read(const std::byte* from, std::size_t bytes) override {
    const DeviceTurn turn(this);
    return device_->begin_read(from, bytes);
  }
  Result<void> finish_read(ReadTicket ticket, std::span<std::byte> to) override {
    const DeviceTurn turn(this);
    return device_->finish_read(ticket, to);
  }
  Result<void> read_in_pass(const std::byte* from, std::span<std::byte> to) override {
    const DeviceTurn turn(this);
    return device_->read_in_pass(from, to);
  }
  Result<void> write_in_pass(std::byte* to, std::span<const std::byte> from) override {
    const DeviceTurn turn(this);
    return device_->write_in_pass(to, from);
  }
  void count_host_call(std::string_view operation) override {
    const DeviceTurn turn(this);
    device_->count_host_call(operation);
  }
  bool set_submits_early(bool submits_early) override { return device_->set_submits_early(submits_early); }
  DeviceCounters counters() const override { return device_->counters(); }
  std::string_view adapter_name() const override { return device_->adapter_name(); }
  bool is_software() const override { return device_->is_software(); }
  void time_kernels() override { device_->time_kernels(); }
  bool is_lost() {
    const DeviceTurn turn(this);
    return device_->lost().has_value();
  }
  void enter() override { turn_.lock(); }
  void leave() override { turn_.unlock(); }

 private:
  const std::unique_ptr<gpu::GpuDevice> device_;
  RecursiveMutex turn_;
};

struct CardName {
  std::size_t number = 0;
  Precision precision = Precision::Strict;
  auto operator<=>(const CardName&) const = default;
  std::string text() const { return fmt::format("gpu:{}{}", number, precision == Precision::Fast ? kFast : ""); }
};

struct OpenDevices {
  Mutex mutex;
  std::map<CardName, std::unique_ptr<SharedDevice>> by_name;
  std::vector<std::unique_ptr<SharedDevice>> given_up;  // that sessions may still have
  DriverWrapper wrapper;
};
// Never destroyed: drivers have threads of their own, and sessions may last until the process ends.
OpenDevices& open_devices() {
  static OpenDevices& devices = *new OpenDevices;
  return devices;
}

std::string library() {
  const char* const path = std::getenv("LOOM_WEBGPU_LIB");
  return path == nullptr ? std::string() : path;
}

// The form of dots that LOOM_GPU_DOTS names; unset: the fastest.
Result<std::optional<gpu::Dots>> dots_of_user() {
  const char* const text = std::getenv("LOOM_GPU_DOTS");
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto dots = gpu::dots_from_name(text);
  if (!dots)
    return fail(Code::InvalidArgument, "LOOM_GPU_DOTS is \"{}\": expected {}", text, fmt::join(gpu::kDotsNames, ", "));
  return dots;
}

// Where the user's programs keep what they can make again. Empty where nothing says.
std::string cache_folder() {
  const auto value = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return std::string(text == nullptr ? "" : text);
  };
  if (const std::string cache = value("XDG_CACHE_HOME"); cache.starts_with('/')) return cache;
  if (const std::string home = value("HOME"); home.starts_with('/')) return home + "/.cache";
  return value("LOCALAPPDATA");
}

// The file of what this adapter has proved with this driver, library and version of Loom. Empty: none can be kept.
std::string passes_file(const gpu::AdapterInfo& adapter) {
  const std::string cache = cache_folder();
  if (cache.empty() || adapter.library.empty()) return {};
  const std::string folder = cache + "/loom";
  os::make_folder(cache), os::make_folder(folder);
  Sha256 hash;
  for (const std::string_view part :
       {std::string_view(adapter.name), std::string_view(adapter.driver), std::string_view(adapter.backend),
        std::string_view(adapter.library), std::string_view(LOOM_VERSION)}) {
    hash.update(std::as_bytes(std::span(part)));
    hash.update(std::as_bytes(std::span("\0", 1)));
  }
  hash.update_u32(kNumericsVersion);
  return folder + "/gpu-" + to_hex(hash.finish()).substr(0, 16) + ".passes";
}

}  // namespace

bool is_fast_name(std::string_view name) { return name.ends_with(kFast); }

Result<std::string> with_precision(std::string_view name, std::string_view precision) {
  const bool is_fast = precision == loom::name(Precision::Fast);
  if (!is_fast && precision != loom::name(Precision::Strict))
    return fail(Code::InvalidArgument, "no precision \"{}\": strict or fast is expected", precision);
  if (!is_fast && is_fast_name(name))
    return fail(Code::InvalidArgument, "device \"{}\" is fast, and precision strict is asked for", name);
  return std::string(name) + std::string(is_fast && !is_fast_name(name) ? kFast : "");
}

namespace {

std::string_view without_fast(std::string_view name) {
  return is_fast_name(name) ? name.substr(0, name.size() - kFast.size()) : name;
}
Precision precision_of_name(std::string_view name) { return is_fast_name(name) ? Precision::Fast : Precision::Strict; }

Result<CardName> card_of(std::string_view name) {
  const std::string_view card = without_fast(name);
  CardName out{0, precision_of_name(name)};
  if (card == "gpu") return out;
  if (card == "cpu")
    return fail(Code::InvalidArgument,
                "the CPU is always exact: precision fast is for a graphics card, device gpu or gpu:N");
  const char* const end = card.data() + card.size();
  const bool numbered = card.starts_with("gpu:");
  const auto [last, error] = numbered ? std::from_chars(card.data() + 4, end, out.number) : std::from_chars_result{};
  if (!numbered || error != std::errc() || last != end)
    return fail(Code::InvalidArgument, "no device \"{}\": expected cpu, gpu, gpu:N or auto; a card may have {}", name,
                kFast);
  return out;
}

}  // namespace

Result<Device*> device_from_name(std::string_view name) {
  if (name == "cpu") return nullptr;
  LOOM_TRY(const CardName card, card_of(name));
  OpenDevices& devices = open_devices();
  const Mutex::Guard lock(devices.mutex);
  std::unique_ptr<SharedDevice>& device = devices.by_name[card];
  if (device != nullptr && device->is_lost()) devices.given_up.push_back(std::move(device));
  if (device == nullptr) {
    gpu::GpuOptions options;
    options.precision = card.precision;
    LOOM_TRY(options.dots, dots_of_user());
    LOOM_TRY(auto driver, gpu::open_native(library(), card.number));
    if (devices.wrapper) driver = devices.wrapper(std::move(driver));
    if (card.precision == Precision::Strict) options.passes = passes_file(driver->adapter());
    const bool names_dots = options.dots.has_value();
    auto made = gpu::GpuDevice::create(std::move(driver), std::move(options));
    if (!made && names_dots && made.error().code == Code::InvalidArgument) return at("LOOM_GPU_DOTS", made.error());
    if (!made) return tl::make_unexpected(std::move(made).error());
    device = std::make_unique<SharedDevice>(*std::move(made));
  }
  return device.get();
}

void wrap_drivers(DriverWrapper wrapper) {
  OpenDevices& devices = open_devices();
  const Mutex::Guard lock(devices.mutex);
  devices.wrapper = std::move(wrapper);
  for (auto& [name, device] : devices.by_name)
    if (device != nullptr) devices.given_up.push_back(std::move(device));
}

namespace {

// The first card that is none of software, opened. NotFound.
Result<Device*> first_card(Precision precision) {
  LOOM_TRY(const auto adapters, gpu::native_adapters(library()));
  for (std::size_t i = 0; i < adapters.size(); ++i)
    if (adapters[i].kind != "software") return device_from_name(CardName{i, precision}.text());
  return fail(Code::NotFound, "{} is software, which computes on the CPU too", adapters[0].name);
}

// The card, where it takes less time for the work; work(card) counts it.
template <class Work>
Device* faster(int threads, Precision precision, double passes, const DeviceTold& told, Work&& work) {
  const auto choose = [&](Device*& card) -> Result<DeviceChoice> {
    LOOM_TRY(card, first_card(precision));
    LOOM_TRY(PassWork counted, work(*card));
    counted.passes = passes;
    LOOM_TRY(const DeviceRates here, measured_rates(nullptr, threads));
    LOOM_TRY(const DeviceRates there, measured_rates(card, threads));
    return choose_device(counted, here, there, card->gpu()->adapter().name);
  };
  Device* card = nullptr;
  const auto choice = choose(card);
  const bool is_card = choice && choice->is_card;
  Device* const chosen = is_card ? card : nullptr;
  if (told)
    told(chosen,
         fmt::format("device auto: {}: {}{}", is_card ? "gpu" : "cpu", choice ? choice->reason : choice.error().text(),
                     precision == Precision::Fast && !is_card ? "; the CPU is always exact" : ""));
  return chosen;
}

bool is_auto(std::string_view name) { return without_fast(name) == "auto"; }

// Sets to.device or to.choose_device; choose(options) is a chooser for options.
template <class Options, class Choose>
Result<void> set_device(std::string_view name, Options& to, Choose choose) {
  if (is_auto(name)) {
    to.choose_device = std::move(choose);
    return {};
  }
  LOOM_TRY(to.device, device_from_name(name));
  return {};
}

}  // namespace

Result<void> name_device(std::string_view name, NetworkSessionOptions& to, double passes, const DeviceTold& told) {
  const Precision precision = precision_of_name(name);
  return set_device(name, to,
                    [=](const Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                        const NetworkSessionOptions& options) {
                      return faster(options.threads, precision, passes, told,
                                    [&](Device& card) { return work_of(network, plan, options, card); });
                    });
}

Result<void> name_device(std::string_view name, SessionOptions& to, double passes, const DeviceTold& told) {
  const Precision precision = precision_of_name(name);
  return set_device(name, to, [=](const DecoderModel& model, const SessionOptions& options) {
    return faster(options.threads, precision, passes, told,
                  [&](Device&) -> Result<PassWork> { return work_of(model); });
  });
}

Result<void> name_device(std::string_view name, graph::RunnerOptions& to, double passes, const DeviceTold& told) {
  const Precision precision = precision_of_name(name);
  return set_device(name, to, [=](int threads, const graph::RunnerOptions::WorkOn& work) {
    return faster(threads, precision, passes, told, [&](Device& card) -> Result<PassWork> {
      LOOM_TRY(const graph::PlanWork w, work(card));
      PassWork pass;
      pass.multiply_adds = w.multiply_adds, pass.weight_bytes = w.weight_bytes;
      pass.activation_bytes = w.activation_bytes;
      pass.layers = w.steps, pass.kernels = w.kernels, pass.trips = w.trips;
      return pass;
    });
  });
}

Json gpu_use(Device& of) {
  const gpu::GpuDevice& device = *of.gpu();
  const DeviceCounters c = device.counters();
  const gpu::Prover::Report& report = device.prover().report();
  Json refused = Json::array();
  for (const std::string& kernel : report.refused) refused.push_back(kernel);
  return {{"adapter", device.adapter().name},
          {"driver", device.adapter().driver},
          {"precision", name(device.precision())},
          {"dispatches", c.dispatches},
          {"submits", c.submits},
          {"pipelines", c.pipelines},
          {"bytes_read", c.bytes_read},
          {"bytes_written", c.bytes_written},
          {"submit_ms", c.submit_ms},
          {"wait_ms", c.wait_ms},
          {"computed_on_host", {{"operations", device.host_calls().names}, {"calls", device.host_calls().calls}}},
          {"buffer_mb", static_cast<double>(device.buffer_bytes()) / 1e6},
          {"proofs",
           {{"trials", report.trials},
            {"ms", report.ms},
            {"known", device.known_passes()},
            {"calls_on_host", report.calls_on_host},
            {"refused", std::move(refused)}}}};
}

std::string kernel_times(Device& device) {
  std::string table = fmt::format("{:>10} {:>7} {:>9} {:>10}  {}\n", "ms", "uses", "us each", "workgroups", "kernel");
  for (const gpu::GpuDevice::KernelTime& time : device.gpu()->take_kernel_times())
    table += fmt::format("{:10.3f} {:7} {:9.2f} {:10}  {}\n", time.ms, time.uses,
                         1e3 * time.ms / static_cast<double>(time.uses), time.workgroups, time.name);
  return table;
}

std::string refused_on_cards() {
  OpenDevices& devices = open_devices();
  const Mutex::Guard lock(devices.mutex);
  std::string lines;
  for (const auto& [name, device] : devices.by_name) {
    if (device == nullptr) continue;
    const DeviceTurn turn(device.get());
    const gpu::Prover::Report& report = device->gpu()->prover().report();
    if (const auto& here = device->gpu()->host_calls(); here.calls != 0) {
      if (!lines.empty()) lines += '\n';
      lines += fmt::format("{} ({}) has no form of {}: {} were computed on the CPU", name.text(),
                           device->gpu()->adapter().name, fmt::join(here.names, ", "), here.calls);
    }
    if (report.refused.empty()) continue;
    if (!lines.empty()) lines += '\n';
    lines += fmt::format("{} ({}) gives wrong results in {}: {} calls were computed on the CPU", name.text(),
                         device->gpu()->adapter().name, fmt::join(report.refused, ", "), report.calls_on_host);
    if (!report.problems.empty()) lines += fmt::format(" ({})", fmt::join(report.problems, "; "));
  }
  return lines;
}

Result<Json> gpu_report() {
  LOOM_TRY(const auto adapters, gpu::native_adapters(library()));
  Json list = Json::array();
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const gpu::AdapterInfo& a = adapters[i];
    Json entry{{"device", fmt::format("gpu:{}", i)},
               {"name", a.name},
               {"driver", a.driver},
               {"backend", a.backend},
               {"kind", a.kind},
               {"limits",
                {{"binding_bytes", a.limits.binding_bytes},
                 {"buffer_bytes", a.limits.buffer_bytes},
                 {"storage_buffers", a.limits.storage_buffers},
                 {"workgroup_bytes", a.limits.workgroup_bytes},
                 {"threads", a.limits.threads},
                 {"workgroups", a.limits.workgroups}}}};
    if (const auto device = device_from_name(CardName{i}.text())) {
      const DeviceTurn turn(*device);
      const gpu::GpuDevice& gpu = *(*device)->gpu();
      entry["tier"] = "strict-float", entry["sums"] = gpu.sums() == gpu::Sums::Kept ? "kept" : "left";
      entry["dots"] = gpu::name(gpu.dots());
      entry["matrix_units"] = gpu.matrix_units() == gpu::GpuDevice::MatrixUnits::Real;
      entry["use"] = gpu_use(**device);
    } else {
      entry["problem"] = device.error().text();
      const bool is_inexact = device.error().code == Code::Unsupported;
      if (is_inexact && device_from_name(CardName{i, Precision::Fast}.text())) entry["tier"] = "fast";
    }
    list.push_back(std::move(entry));
  }
  return Json{{"adapters", std::move(list)}};
}

std::string device_title(const Device* device) {
  if (device == nullptr) return "cpu";
  return device->records() ? fmt::format("gpu: {}", device->adapter_name()) : "other";
}

}  // namespace loom
