#include "training/weight_hash.h"

#include <array>
#include <bit>

#include "core/little_endian.h"

namespace loom {

Digest weight_hash(const Network& network) {
  return weight_hash(network, [](const Weight&) { return true; });
}

Digest weight_hash(const Network& network, const std::function<bool(const Weight&)>& counts) {
  Sha256 hash;
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (!counts(w)) return;
    hash.update(std::as_bytes(std::span(path.c_str(), path.size() + 1)));
    const auto wide = [&](std::span<const double> values) {
      std::array<std::byte, 8> bytes;
      for (const double v : values) {
        store_le(bytes.data(), std::bit_cast<std::uint64_t>(v));
        hash.update(bytes);
      }
    };
    if (!w.master64().empty()) return wide(w.master64());
    if (!w.master().empty()) return hash.update_floats(w.master());
    if (!w.has_value()) return;
    std::vector<float> row(w.role() == WeightRole::Matrix ? w.cols() : w.elements());
    for (std::size_t first = 0; first < w.elements(); first += row.size()) {
      w.decode(first, row.size(), row.data());
      hash.update_floats(row);
    }
  });
  return hash.finish();
}

}  // namespace loom
