#pragma once
// A driver that passes all calls to another one and fails on command, as graphics cards and their drivers do.

#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/gpu.h"

namespace loom::test {

// The calls that shall fail, and those that were made; shared with the test.
struct Faults {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  // Counted from 0.
  std::uint64_t lost_at_submit = kNever, lost_at_read = kNever, lost_at_buffer = kNever;
  std::uint64_t no_memory_at_buffer = kNever, memory_is_full_from = kNever;
  std::string broken_pipeline;        // the name of one that does not compile
  bool answers = true;                // reads come
  std::optional<gpu::Limits> limits;  // in place of the device's own; what goes beyond them is refused
  // Of a shader, in place of its text, for dispatches while `errs`: a compiler that is right until it is not.
  std::function<std::string(std::string_view text)> alter;
  bool errs = false;

  std::uint64_t submits = 0, reads = 0, buffers = 0;
  bool is_lost = false, has_told = false, is_abandoned = false;
  std::uint64_t calls_after_told = 0;  // beside destruction

  void lose() { is_lost = true; }
};

// WebGPU's limits where a device offers no more.
inline constexpr gpu::Limits kDefaultLimits{.binding_bytes = 128 << 20,
                                            .buffer_bytes = 256 << 20,
                                            .storage_buffers = 8,
                                            .workgroup_bytes = 16384,
                                            .threads = 256,
                                            .workgroups = 65535};

// A number after `key` in a shader's text.
inline std::uint64_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::uint64_t number = 0;
  if (at != text.npos) std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

class FaultyDriver final : public gpu::Driver {
 public:
  FaultyDriver(std::unique_ptr<gpu::Driver> driver, std::shared_ptr<Faults> faults)
      : driver_(std::move(driver)), faults_(std::move(faults)), adapter_(driver_->adapter()) {
    if (faults_->limits) adapter_.limits = *faults_->limits;
  }

  const gpu::AdapterInfo& adapter() const override { return adapter_; }

  Result<gpu::Id> create_buffer(std::uint64_t bytes, gpu::BufferUse use) override {
    const std::uint64_t count = faults_->buffers++;
    if (count >= faults_->lost_at_buffer) faults_->lose();
    LOOM_TRY_VOID(alive());
    if (count == faults_->no_memory_at_buffer || count >= faults_->memory_is_full_from ||
        bytes > adapter_.limits.buffer_bytes)
      return fail(Code::OutOfMemory, "{}: the device has no {} bytes: a fault of the test", adapter_.name, bytes);
    return driver_->create_buffer(bytes, use);
  }
  void destroy_buffer(gpu::Id buffer) override {
    if (may_call()) driver_->destroy_buffer(buffer);
  }
  void write(gpu::Id buffer, std::uint64_t offset, std::span<const std::byte> from) override {
    if (may_call()) driver_->write(buffer, offset, from);
  }

  Result<gpu::Id> create_pipeline(std::string_view name, std::string_view wgsl, std::uint32_t buffers,
                                  std::uint32_t read_only) override {
    LOOM_TRY_VOID(alive());
    const gpu::Limits& limits = adapter_.limits;
    if (name == faults_->broken_pipeline || buffers > limits.storage_buffers ||
        number_after(wgsl, "@workgroup_size(") > limits.threads)
      return fail(Code::Unsupported, "{}: the shader {} does not compile: a fault of the test", adapter_.name, name);
    LOOM_TRY(const gpu::Id pipeline, driver_->create_pipeline(name, wgsl, buffers, read_only));
    if (faults_->alter) {
      LOOM_TRY(altered_[pipeline], driver_->create_pipeline(name, faults_->alter(wgsl), buffers, read_only));
    }
    return pipeline;
  }
  gpu::Id create_group(gpu::Id pipeline, gpu::Id parameters, std::span<const gpu::Id> buffers) override {
    return may_call() ? driver_->create_group(pipeline, parameters, buffers) : 0;
  }
  void destroy_group(gpu::Id group) override {
    if (may_call()) driver_->destroy_group(group);
  }

  void submit(std::span<const std::uint32_t> commands) override {
    if (faults_->submits++ >= faults_->lost_at_submit) faults_->lose();
    if (!may_call()) return;
    driver_->submit(faults_->errs ? with_altered(commands) : std::vector(commands.begin(), commands.end()));
  }
  Result<gpu::Ticket> begin_read(gpu::Id buffer, std::uint64_t offset, std::uint64_t bytes) override {
    if (faults_->reads++ >= faults_->lost_at_read) faults_->lose();
    LOOM_TRY_VOID(alive());
    return driver_->begin_read(buffer, offset, bytes);
  }
  Result<bool> poll(gpu::Ticket ticket, std::span<std::byte> to, bool wait) override {
    LOOM_TRY_VOID(alive());
    return faults_->answers ? driver_->poll(ticket, to, wait) : false;
  }
  Result<void> check() override {
    LOOM_TRY_VOID(alive());
    return driver_->check();
  }
  void abandon() override { faults_->is_abandoned = true; }
  std::uint64_t buffer_bytes() const override { return driver_->buffer_bytes(); }

 private:
  bool may_call() {
    if (faults_->has_told || faults_->is_abandoned) ++faults_->calls_after_told;
    return !faults_->is_lost;
  }
  Result<void> alive() {
    if (may_call()) return {};
    faults_->has_told = true;
    return fail(Code::DeviceLost, "a fault of the test");
  }
  std::vector<std::uint32_t> with_altered(std::span<const std::uint32_t> commands) const {
    std::vector<std::uint32_t> words(commands.begin(), commands.end());
    for (std::size_t i = 0; i < words.size();) {
      const auto command = static_cast<gpu::Command>(words[i]);
      if (command == gpu::Command::Dispatch) words[i + 1] = altered_.at(words[i + 1]);
      i += command == gpu::Command::Clear ? 4 : 6;
    }
    return words;
  }

  std::unique_ptr<gpu::Driver> driver_;
  std::shared_ptr<Faults> faults_;
  gpu::AdapterInfo adapter_;
  std::map<gpu::Id, gpu::Id> altered_;
};

// A card that fails as its faults say, which may change while it is used.
struct FaultyCard {
  std::shared_ptr<Faults> faults = std::make_shared<Faults>();
  std::unique_ptr<gpu::GpuDevice> device;  // null where there is no card
};
// Such a card of its own, whose arithmetic is not tried first. Its creation may fail by the faults too.
inline Result<FaultyCard> open_faulty_card(const Faults& faults = {}, double most_wait_ms = 0) {
  FaultyCard card;
  auto driver = open_gpu_driver();
  if (driver == nullptr) return card;
  *card.faults = faults;
  gpu::GpuOptions options;
  options.checks_arithmetic = false, options.most_wait_ms = most_wait_ms;
  LOOM_TRY(card.device,
           gpu::GpuDevice::create(std::make_unique<FaultyDriver>(std::move(driver), card.faults), std::move(options)));
  return card;
}

}  // namespace loom::test
