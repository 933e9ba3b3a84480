#pragma once
// State that goes on from call to call, visited once for three archives: written, hashed, read. Of step meshes and of
// sessions.

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "backend/device.h"
#include "core/little_endian.h"
#include "core/sha256.h"
#include "layers/metacognition/meta_state.h"
#include "network/network.h"

namespace loom {

// Bytes as every machine writes them.
class StateWriter {
 public:
  static constexpr bool kReads = false;
  void number(std::uint64_t& value, std::uint64_t /*most*/ = ~std::uint64_t{0}) {
    std::byte bytes[8];
    store_le(bytes, value);
    out.insert(out.end(), bytes, bytes + 8);
  }
  void flag(std::uint8_t& value, std::uint8_t /*most*/ = 1) { out.push_back(std::byte{value}); }
  // Numbers of `item` bytes each.
  void items(std::span<std::byte> data, std::size_t item) {
    const std::size_t at = out.size();
    out.resize(at + data.size());
    if constexpr (std::endian::native == std::endian::little) {
      std::ranges::copy(data, out.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      for (std::size_t i = 0; i < data.size(); ++i) out[at + i] = data[i / item * item + (item - 1 - i % item)];
    }
  }
  void tensor(std::byte* data, std::size_t elements, Element element) {
    items({data, elements * bytes_of(element)}, bytes_of(element));
  }
  bool ok() const { return true; }
  std::vector<std::byte> out;
};

// The same bytes hashed as they come.
class StateHasher {
 public:
  static constexpr bool kReads = false;
  void number(std::uint64_t& value, std::uint64_t = 0) {
    hash.update_u32(static_cast<std::uint32_t>(value));
    hash.update_u32(static_cast<std::uint32_t>(value >> 32));
  }
  void flag(std::uint8_t& value, std::uint8_t = 1) { hash.update(std::as_bytes(std::span(&value, 1))); }
  void items(std::span<std::byte> data, std::size_t item) {
    if constexpr (std::endian::native == std::endian::little) {
      hash.update(data);
    } else {
      StateWriter writer;
      writer.items(data, item);
      hash.update(writer.out);
    }
  }
  void tensor(std::byte* data, std::size_t elements, Element element) {
    items({data, elements * bytes_of(element)}, bytes_of(element));
  }
  bool ok() const { return true; }
  Sha256 hash;
};

// Never reads beyond the end; after the first thing that does not fit everything reads as 0.
class StateReader {
 public:
  static constexpr bool kReads = true;
  explicit StateReader(std::span<const std::byte> bytes) : left_(bytes) {}
  void number(std::uint64_t& value, std::uint64_t most = ~std::uint64_t{0}) {
    const auto bytes = take(8);
    value = bytes.empty() ? 0 : load_le<std::uint64_t>(bytes.data());
    check(value, value <= most);
  }
  void flag(std::uint8_t& value, std::uint8_t most = 1) {
    const auto bytes = take(1);
    value = bytes.empty() ? 0 : std::to_integer<std::uint8_t>(bytes[0]);
    check(value, value <= most);
  }
  void items(std::span<std::byte> data, std::size_t item) {
    const auto bytes = take(data.size());
    if (bytes.empty()) return;
    if constexpr (std::endian::native == std::endian::little) {
      std::ranges::copy(bytes, data.begin());
    } else {
      for (std::size_t i = 0; i < bytes.size(); ++i) data[i / item * item + (item - 1 - i % item)] = bytes[i];
    }
  }
  void tensor(std::byte* data, std::size_t elements, Element element) {
    items({data, elements * bytes_of(element)}, bytes_of(element));
  }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t n) {
    if (n > left_.size()) ok_ = false;
    if (!ok_) return {};
    const auto bytes = left_.first(n);
    left_ = left_.subspan(n);
    return bytes;
  }
  template <class T>
  void check(T& value, bool fits) {
    if (!fits) ok_ = false, value = 0;
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

template <class Archive>
void visit_memory(Archive& archive, Memory& memory, std::size_t offset, std::size_t elements, Element element) {
  std::vector<std::byte> values(elements * bytes_of(element));
  if constexpr (!Archive::kReads) memory.read(offset, values);
  archive.items(values, bytes_of(element));
  if constexpr (Archive::kReads) memory.write(offset, values);
}

inline void visit_real(auto& archive, double& value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  archive.number(bits);
  value = std::bit_cast<double>(bits);
}

template <class Archive>
void visit_extents(Archive& archive, Shape& shape) {
  std::uint64_t rank = shape.rank();
  archive.number(rank, Shape::kMaxRank);
  std::array<std::size_t, Shape::kMaxRank> extents{};
  std::ranges::copy(shape.extents(), extents.begin());
  for (std::size_t i = 0; i < rank; ++i) {
    std::uint64_t extent = extents[i];
    archive.number(extent, Shape::kMaxElements);
    extents[i] = static_cast<std::size_t>(extent);
  }
  if constexpr (Archive::kReads) {
    const auto read = Shape::create(std::span(extents).first(static_cast<std::size_t>(rank)));
    if (read)
      shape = *read;
    else
      archive.fail();
  }
}

template <class Archive>
void visit_meta(Archive& archive, MetaState& m) {
  if (!m.planned) return;
  archive.number(m.calls);
  for (std::size_t i = 0; i < m.remembered(); ++i) {
    TensorStats& s = m.history[i];
    for (double* figure : {&s.avg, &s.std, &s.max, &s.min, &s.active, &s.total}) visit_real(archive, *figure);
  }
  for (std::size_t r = 0; r < MetaState::kMaxRules; ++r) {
    archive.number(m.spoke[r]);
    std::uint8_t queued = m.queued[r];
    archive.flag(queued);
    m.queued[r] = queued != 0;
  }
  visit_extents(archive, m.input), visit_extents(archive, m.output);
}

}  // namespace loom
