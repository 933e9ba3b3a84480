#pragma once
// Tensors that are sent to a device before a pass and read from it after the pass. Without a device nothing is copied.

#include "backend/exec.h"

namespace loom {

// Makes room for `bytes`; where the memory has to grow its contents are lost.
inline Result<void> make_room(std::size_t bytes, Buffer& memory) {
  if (memory.size() >= bytes) return {};
  LOOM_TRY(memory, Buffer::create(bytes));
  return {};
}
inline Result<void> make_room(Device* device, std::size_t bytes, Memory& memory) {
  if (memory.size() >= bytes) return {};
  LOOM_TRY(memory, Memory::create(device, bytes));
  return {};
}

inline std::size_t bytes_of(const ConstView& values) { return values.shape.elements() * bytes_of(values.element); }

// `values` for ops: sent to `memory` if there is a device.
inline Result<ConstView> sent(Device* device, const ConstView& values, Memory& memory) {
  if (device == nullptr || values.data == nullptr) return values;
  LOOM_TRY_VOID(make_room(device, bytes_of(values), memory));
  memory.write(0, {values.as<std::byte>(), bytes_of(values)});
  return ConstView{memory.data(), values.shape, values.element};
}

// `values` for the host: read into `memory` if there is a device. Returns an error of the pass.
inline Result<ConstView> brought(Device* device, const ConstView& values, Buffer& memory) {
  if (device == nullptr || values.data == nullptr) return values;
  LOOM_TRY_VOID(make_room(bytes_of(values), memory));
  device->read(values.as<std::byte>(), memory.bytes().first(bytes_of(values)));
  LOOM_TRY_VOID(device->check());
  return ConstView{memory.data(), values.shape, values.element};
}

}  // namespace loom
