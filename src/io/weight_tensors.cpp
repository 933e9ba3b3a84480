#include "io/weight_tensors.h"

#include <map>

namespace loom {
namespace {

QuantizedMatrix master_of(const Weight& w) {
  QuantizedMatrix q;
  q.dtype = w.master64().empty() ? DType::float32 : DType::float64;
  q.rows = w.rows(), q.cols = w.cols(), q.span = {Granularity::Tensor};
  const auto bytes = w.master64().empty() ? std::as_bytes(w.master()) : std::as_bytes(w.master64());
  q.codes.assign(bytes.begin(), bytes.end());
  return q;
}

struct Found {
  const EntityTensor *active = nullptr, *master = nullptr;
};

Result<void> restore(Weight& w, const Layer& layer, const Found& found) {
  LOOM_TRY(const QuantizedMatrix active, found.active->quantized());
  if (!(found.active->shape == w.shape()))
    return fail(Code::ShapeMismatch, "shape {} in the file, {} in the network", found.active->shape.text(),
                w.shape().text());
  if (w.role() == WeightRole::Matrix && active.dtype != layer.common.encoding.dtype)
    return fail(Code::CorruptData, "{} in the file, the network says {}", name(active.dtype),
                name(layer.common.encoding.dtype));
  LOOM_TRY_VOID(w.restore(active, layer.common.encoding));
  if (found.master == nullptr) return {};
  LOOM_TRY(const QuantizedMatrix master, found.master->quantized());
  return w.restore_master(master);
}

}  // namespace

Result<void> WeightTensors::add(const std::string& path, const Weight& w, const QuantizedMatrix& q, EntityRole role) {
  Packed out;
  auto packed = pack(q);
  if (!packed) return at(path, std::move(packed).error());
  out.parts = std::move(*packed);
  const std::size_t dot = path.size() - w.name().size();
  out.tensor.path = path.substr(0, dot - 1), out.tensor.weight = w.name(), out.tensor.role = role;
  out.tensor.dtype = q.dtype, out.tensor.shape = w.shape(), out.tensor.span = q.span;
  tensors_.push_back(std::move(out));
  return {};
}

Result<WeightTensors> WeightTensors::of(const Network& network, const Options& options) {
  WeightTensors out;
  Result<void> added;
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    if (!added || (options.paths != nullptr && !options.paths->contains(path))) return;
    const auto q = w.quantized();
    if (!q) {
      added = at(path, q.error());
      return;
    }
    const bool adapter = w.role() == WeightRole::Adapter;
    added = out.add(path, w, *q, adapter ? EntityRole::Adapter : EntityRole::Active);
    // Values of the master's own type are the master; a float64 version may have a float32 one.
    const bool is_master = q->dtype == (w.master64().empty() ? DType::float32 : DType::float64);
    if (added && options.keep_master && w.has_master() && !is_master)
      added = out.add(path, w, master_of(w), EntityRole::Master);
  });
  LOOM_TRY_VOID(std::move(added));
  return out;
}

Result<void> WeightTensors::add_to(EntityWriter& writer) const {
  if (tensors_.empty()) return {};
  std::vector<EntityTensor> tensors;
  for (const Packed& p : tensors_) {
    tensors.push_back(p.tensor);
    tensors.back().codes = p.parts.codes, tensors.back().scales = p.parts.scales, tensors.back().zeros = p.parts.zeros;
  }
  return add_entity_tensors(writer, std::move(tensors));
}

Result<void> restore_weights(Network& network, std::span<const EntityTensor> tensors, bool all) {
  std::map<std::string, Found> by_path;
  for (const EntityTensor& t : tensors) {
    Found& found = by_path[t.path + "." + t.weight];
    if (t.role == EntityRole::Active || t.role == EntityRole::Adapter) found.active = &t;
    if (t.role == EntityRole::Master) found.master = &t;
  }
  std::size_t used = 0;
  Result<void> done;
  network.visit_weights([&](const std::string& path, Weight& w, Layer& layer) {
    if (!done) return;
    const auto found = by_path.find(path);
    if (found != by_path.end() && found->second.active != nullptr) {
      ++used;
      if (auto restored = restore(w, layer, found->second); !restored) done = at(path, std::move(restored).error());
    } else if (all) {
      done = at(path, Error{Code::NotFound, "the file holds no such weight"});
    }
  });
  LOOM_TRY_VOID(std::move(done));
  if (used != by_path.size())
    return fail(Code::CorruptData, "{} tensors belong to no weight of the network", by_path.size() - used);
  return {};
}

}  // namespace loom
