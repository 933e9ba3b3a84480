#include "backend/webgpu/js.h"
#include "backend/webgpu/native.h"

#include <algorithm>
#include <array>
#include <map>

// Functions of the module's host. Pointers are into the module's memory; sizes and offsets are doubles, since they may
// exceed 32 bits. Functions that can fail return whether they succeeded, and message() copies the error.
extern "C" {
#define LOOM_HOST(name) __attribute__((import_module("loom_gpu"), import_name(#name)))
LOOM_HOST(message_size) std::uint32_t loom_gpu_message_size();
LOOM_HOST(message) void loom_gpu_message(char* to);
LOOM_HOST(open) std::uint32_t loom_gpu_open();  // message() then describes the adapter
LOOM_HOST(close) void loom_gpu_close();
LOOM_HOST(limit) double loom_gpu_limit(std::uint32_t which);
LOOM_HOST(create_buffer) std::uint32_t loom_gpu_create_buffer(std::uint32_t id, double bytes, std::uint32_t storage);
LOOM_HOST(destroy_buffer) void loom_gpu_destroy_buffer(std::uint32_t id);
LOOM_HOST(write) void loom_gpu_write(std::uint32_t id, double offset, const void* from, std::size_t bytes);
LOOM_HOST(create_pipeline)
std::uint32_t loom_gpu_create_pipeline(std::uint32_t id, const char* name, std::size_t name_size, const char* wgsl,
                                       std::size_t wgsl_size, std::uint32_t buffers, std::uint32_t read_only);
LOOM_HOST(create_group)
void loom_gpu_create_group(std::uint32_t id, std::uint32_t pipeline, std::uint32_t parameters,
                           const std::uint32_t* buffers, std::size_t count);
LOOM_HOST(destroy_group) void loom_gpu_destroy_group(std::uint32_t id);
LOOM_HOST(submit) void loom_gpu_submit(const std::uint32_t* words, std::size_t count);
LOOM_HOST(begin_read)
void loom_gpu_begin_read(std::uint32_t ticket, std::uint32_t buffer, double offset, std::size_t bytes);
LOOM_HOST(poll)  // 0 while it is under way, 1 when the bytes are in `to`, 2 after an error
std::uint32_t loom_gpu_poll(std::uint32_t ticket, void* to, std::size_t bytes, std::uint32_t wait);
LOOM_HOST(check) std::uint32_t loom_gpu_check();
LOOM_HOST(is_lost) std::uint32_t loom_gpu_is_lost();
#undef LOOM_HOST
}

namespace loom::gpu {
namespace {

// The last message of the host.
std::string message() {
  std::string text(loom_gpu_message_size(), '\0');
  loom_gpu_message(text.data());
  return text;
}

// The code of what went wrong, unless the device is lost.
Code code_of(Code code) { return loom_gpu_is_lost() != 0 ? Code::DeviceLost : code; }

// Name, driver, backend, kind and library, a line each.
AdapterInfo adapter_from(std::string_view text) {
  std::array<std::string, 5> lines;
  for (std::string& line : lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto small = [](std::uint32_t which) { return static_cast<std::uint32_t>(loom_gpu_limit(which)); };
  const auto large = [](std::uint32_t which) { return static_cast<std::uint64_t>(loom_gpu_limit(which)); };
  return {lines[0], lines[1], lines[2], lines[3], {large(0), large(1), small(2), small(3), small(4), small(5)},
          lines[4]};
}

class JsDriver final : public Driver {
 public:
  explicit JsDriver(AdapterInfo info) : info_(std::move(info)) {}
  ~JsDriver() override { loom_gpu_close(); }

  const AdapterInfo& adapter() const override { return info_; }

  Result<Id> create_buffer(std::uint64_t bytes, BufferUse use) override {
    const Id id = next_++;
    if (loom_gpu_create_buffer(id, static_cast<double>(bytes), use == BufferUse::Storage) == 0)
      return fail(code_of(Code::OutOfMemory), "{}: the device has no {} bytes: {}", info_.name, bytes, message());
    sizes_[id] = bytes;
    bytes_ += bytes;
    return id;
  }
  void destroy_buffer(Id id) override {
    const auto known = sizes_.find(id);
    bytes_ -= known->second;
    sizes_.erase(known);
    loom_gpu_destroy_buffer(id);
  }
  void write(Id id, std::uint64_t offset, std::span<const std::byte> from) override {
    loom_gpu_write(id, static_cast<double>(offset), from.data(), from.size());
  }

  Result<Id> create_pipeline(std::string_view name, std::string_view wgsl, std::uint32_t buffers,
                             std::uint32_t read_only) override {
    const Id id = next_++;
    if (loom_gpu_create_pipeline(id, name.data(), name.size(), wgsl.data(), wgsl.size(), buffers, read_only) == 0)
      return fail(code_of(Code::Unsupported), "{}: the shader {} does not compile: {}", info_.name, name, message());
    return id;
  }
  Id create_group(Id pipeline, Id parameters, std::span<const Id> buffers) override {
    const Id id = next_++;
    loom_gpu_create_group(id, pipeline, parameters, buffers.data(), buffers.size());
    return id;
  }
  void destroy_group(Id group) override { loom_gpu_destroy_group(group); }

  void submit(std::span<const std::uint32_t> commands) override { loom_gpu_submit(commands.data(), commands.size()); }

  Result<Ticket> begin_read(Id buffer, std::uint64_t offset, std::uint64_t bytes) override {
    const Ticket ticket = next_++;
    loom_gpu_begin_read(ticket, buffer, static_cast<double>(offset), static_cast<std::size_t>(bytes));
    return ticket;
  }
  Result<bool> poll(Ticket ticket, std::span<std::byte> to, bool wait) override {
    const std::uint32_t state = loom_gpu_poll(ticket, to.data(), to.size(), wait);
    if (state < 2) return state == 1;
    return fail(code_of(Code::IoError), "{}: reading from the device failed: {}", info_.name, message());
  }
  Result<void> check() override {
    if (loom_gpu_check() == 0) return fail(code_of(Code::IoError), "{}: {}", info_.name, message());
    return {};
  }
  std::uint64_t buffer_bytes() const override { return bytes_; }

 private:
  AdapterInfo info_;
  Id next_ = 1;  // of everything: numbers are not used again
  std::map<Id, std::uint64_t> sizes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Driver>> open_js() {
  if (loom_gpu_open() == 0) return fail(Code::IoError, "{}", message());
  return std::make_unique<JsDriver>(adapter_from(message()));
}

// The device of the module's host is the only one, whatever the library.
Result<std::vector<AdapterInfo>> native_adapters(const std::string&) {
  if (loom_gpu_open() == 0) return fail(Code::IoError, "{}", message());
  return std::vector{adapter_from(message())};
}

Result<std::unique_ptr<Driver>> open_native(const std::string&, std::size_t adapter, const Limits&) {
  if (adapter != 0) return fail(Code::IoError, "no adapter {}: WebAssembly has adapter 0 alone", adapter);
  return open_js();
}

}  // namespace loom::gpu
