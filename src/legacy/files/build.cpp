#include <algorithm>
#include <set>

#include "core/checked.h"
#include "core/json.h"
#include "layers/share/share.h"
#include "legacy/files/loom08.h"
#include "legacy/files/stores.h"

namespace loom::loom08 {
namespace {

// A vector beside matrices is no typed weight: its values as floats.
QuantizedMatrix as_floats(const QuantizedMatrix& q) {
  if (q.dtype == DType::float32 || q.dtype == DType::float64) return q;
  QuantizedMatrix out;
  out.rows = q.rows, out.cols = q.cols, out.span = {Granularity::Tensor};
  const std::vector<float> values = dequantize(q);
  const auto raw = std::as_bytes(std::span(values));
  out.codes.assign(raw.begin(), raw.end());
  return out;
}

// A store may hold several concatenated weights; `at` is where the next one begins.
struct Cursor {
  const Store* store = nullptr;
  std::size_t at = 0;
};

class LayerFiller {
 public:
  LayerFiller(Layer& layer, const LayerStores& stores) : layer_(layer), stores_(stores) {
    layer.visit_weights([&](Weight& w) { weights_.push_back(&w); });
    if (stores.flat) flat_.store = &*stores.flat;
    if (stores.biases) biases_.store = &*stores.biases;
  }

  Result<void> fill() {
    LOOM_TRY_VOID(check_names());
    LOOM_TRY_VOID(check_size(flat_));
    LOOM_TRY_VOID(check_size(biases_));
    choose_type();
    for (Weight* w : weights_) LOOM_TRY_VOID(restore(*w));
    return {};
  }

 private:
  Cursor* shared_store(const Weight& w) {
    if (stores_.named.contains(w.name())) return nullptr;
    if (biases_.store != nullptr && w.name().ends_with("bias")) return &biases_;
    return flat_.store != nullptr ? &flat_ : nullptr;
  }

  Result<void> check_names() {
    for (const auto& [name, store] : stores_.named)
      if (std::ranges::none_of(weights_, [&](const Weight* w) { return w->name() == name; }))
        return fail_at(store.place, Code::CorruptData, "{} has no weight \"{}\"", layer_.kind(), name);
    return {};
  }

  Result<void> check_size(const Cursor& cursor) {
    if (cursor.store == nullptr) return {};
    std::size_t count = 0;
    for (const Weight* w : weights_)
      if (shared_store(*w) == &cursor) {
        LOOM_TRY(count, checked_add(count, w->elements()));
      }
    if (auto good = check(cursor.store->blob, count); !good) return under(cursor.store->place, std::move(good).error());
    return {};
  }

  // The layer takes the type that its weights have. Q4_0 is int4 where its blocks are groups of columns.
  void choose_type() {
    DType& dtype = layer_.common.encoding.dtype;
    if (stores_.flat && stores_.flat->blob.is_native) dtype = stores_.flat->blob.dtype;
    bool any = false, all = true;
    for (const Weight* w : weights_)
      if (const auto found = stores_.named.find(w->name()); found != stores_.named.end() && found->second.is_q4_0)
        any = true, all = all && w->cols() % 32 == 0;
    if (any) dtype = all ? DType::int4 : DType::float32;
  }

  Result<QuantizedMatrix> values_of(const Weight& w, const Store& store, std::size_t first) const {
    if (!store.is_q4_0) return matrix_of(store.blob, first, w.rows(), w.cols());
    LOOM_TRY(QuantizedMatrix q, matrix_of_q4_0(store.blob.bytes, w.rows(), w.cols()));
    return layer_.common.encoding.dtype == DType::float32 ? as_floats(q) : q;
  }

  Result<void> restore(Weight& w) {
    const auto named = stores_.named.find(w.name());
    Cursor* const cursor = shared_store(w);
    if (named == stores_.named.end() && cursor == nullptr) {
      if (w.has_value()) return {};
      return fail(Code::NotFound, "the file holds no values for {}", w.name());
    }
    const Store& store = cursor != nullptr ? *cursor->store : named->second;
    const std::size_t first = cursor != nullptr ? cursor->at : 0;
    if (cursor != nullptr) cursor->at += w.elements();
    const auto done = [&]() -> Result<void> {
      if (cursor == nullptr && !store.is_q4_0) {
        LOOM_TRY_VOID(check(store.blob, w.elements()));
      }
      LOOM_TRY(QuantizedMatrix q, values_of(w, store, first));
      if (w.role() == WeightRole::Vector)
        q = as_floats(q);
      else if (w.role() == WeightRole::Matrix && q.dtype == DType::fp4)
        repeat_scale_by_group(q);
      return w.restore(q, layer_.common.encoding);
    }();
    if (!done) return under(store.place, done.error());
    return {};
  }

  Layer& layer_;
  const LayerStores& stores_;
  std::vector<Weight*> weights_;
  Cursor flat_, biases_;
};

Result<void> fill(Network& network, const Stores& stores) {
  std::optional<Error> error;
  std::set<std::string> filled;
  const LayerStores none;
  network.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    if (error || layer_as<Share>(layer) != nullptr) return;  // a link at the path of its cell
    const auto found = stores.find(path);
    if (found != stores.end()) filled.insert(path);
    auto done = LayerFiller(layer, found == stores.end() ? none : found->second).fill();
    if (done) return;
    error = std::move(done).error();
    if (!error->place.has_steps()) error->under(network.steps(path));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  for (const auto& [path, layer] : stores)
    if (!filled.contains(path)) {
      const Store& store = layer.flat ? *layer.flat : layer.biases ? *layer.biases : layer.named.begin()->second;
      return fail_at(store.place, Code::NotFound, "the network has no layer {}", path);
    }
  return {};
}

}  // namespace

Result<SpecResult> build(const Converted& converted, SpecOptions options) {
  options.strict = options.initialise = false;
  auto read = network_from_json(converted.document, options);
  if (!read) return under(converted.place, std::move(read).error());
  SpecResult result = std::move(*read);
  for (const std::size_t cell : converted.empty_cells) result.network.exchange(cell, Cell());
  LOOM_TRY_VOID(fill(result.network, converted.stores));
  return result;
}

Result<SpecResult> network_from_checkpoint(Json document, const SpecOptions& options) {
  LOOM_TRY(const Converted converted, convert(std::move(document)));
  return build(converted, options);
}

}  // namespace loom::loom08
