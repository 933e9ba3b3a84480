#include "network/network.h"

#include <atomic>
#include <optional>

#include "layers/adapter.h"
#include "layers/lora/lora.h"

namespace loom {

Result<Network> Network::create(const GridSize& s) {
  for (const std::size_t extent : {s.depth, s.rows, s.cols, s.layers_per_cell})
    if (extent < 1 || extent > 65536)
      return fail(Code::InvalidConfig, "grid {} x {} x {} x {}: every extent must be 1..65536", s.depth, s.rows, s.cols,
                  s.layers_per_cell);
  // at most 2^64 - 1: four factors of at most 2^16
  const std::size_t cells = s.depth * s.rows * s.cols * s.layers_per_cell;
  if (s.depth * s.rows > (std::size_t{1} << 24) || cells > (std::size_t{1} << 24))
    return fail(Code::InvalidConfig, "grid {} x {} x {} x {} has more than 2^24 cells", s.depth, s.rows, s.cols,
                s.layers_per_cell);
  Network n;
  n.size_ = s;
  n.cells_.resize(cells);
  return n;
}

Result<std::size_t> Network::index_of(const Address& a) const {
  if (a.z >= size_.depth || a.y >= size_.rows || a.x >= size_.cols || a.l >= size_.layers_per_cell)
    return fail(Code::OutOfRange, "cell ({},{},{},{}) is outside the grid {} x {} x {} x {}", a.z, a.y, a.x, a.l,
                size_.depth, size_.rows, size_.cols, size_.layers_per_cell);
  return ((a.z * size_.rows + a.y) * size_.cols + a.x) * size_.layers_per_cell + a.l;
}

static Address address_in(const GridSize& size, std::size_t index) {
  Address a;
  a.l = index % size.layers_per_cell, index /= size.layers_per_cell;
  a.x = index % size.cols, index /= size.cols;
  a.y = index % size.rows, a.z = index / size.rows;
  return a;
}

Address Network::address_of(std::size_t index) const { return address_in(size_, index); }

Result<void> Network::place(const Address& address, LayerPtr layer) {
  LOOM_TRY(const std::size_t index, index_of(address));
  exchange(index, std::move(layer));
  return {};
}

void Network::edit() {
  structure_ = edits_ = next_number();
  is_settled_ = false;
  for (Weight* w : ties_) w->untie();  // their tables may be what is replaced
  ties_.clear();
}

std::uint64_t Network::next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Cell Network::exchange(std::size_t index, Cell cell) {
  edit();
  std::swap(cells_[index], cell);
  return cell;
}

Result<std::size_t> Network::target_of(const Share& share) const {
  const auto& [z, y, x, l] = share.address();
  return index_of({z, y, x, l});
}

Result<Layer*> Network::layer(const Address& address) {
  LOOM_TRY(const std::size_t index, index_of(address));
  const Cell& cell = cells_[index];
  if (cell.is_empty()) return fail(Code::NotFound, "{} is empty", place_text(index));
  return cell.layer ? cell.layer.get() : cell.front();
}

std::string Network::place_text(std::size_t index) const {
  const Address a = address_of(index);
  return fmt::format("cell ({},{},{},{})", a.z, a.y, a.x, a.l);
}

Steps steps_of(const GridSize& size, std::size_t index) {
  const Address a = address_in(size, index);
  const bool is_list = size.depth * size.rows * size.cols == 1;
  return {"layers", is_list ? std::to_string(index) : fmt::format("{},{},{},{}", a.z, a.y, a.x, a.l)};
}

Steps Network::steps(std::string_view path) const {
  Steps all = path_steps(path);
  all[1] = steps(static_cast<std::size_t>(std::stoull(all[1])))[1];
  return all;
}

Shape Network::with_batch(const Shape& sample, std::size_t samples) {
  std::vector<std::size_t> extents{samples};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  auto shape = Shape::create(extents);
  return shape ? *shape : sample;
}

Result<void> Network::initialise() {
  LOOM_TRY_VOID(settle());
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].layer) {
      LOOM_TRY_VOID(initialise_weights(path(i), *cells_[i].layer, settings.seed));
    }
  return {};
}

Result<Layer*> Network::layer_at(std::size_t index) {
  if (index >= cells_.size()) return fail(Code::OutOfRange, "cell {} is outside the grid of {}", index, cells_.size());
  return layer(address_of(index));
}

Result<Layer*> Network::layer_at(std::string_view path) {
  Layer* found = nullptr;
  each_layer([&](std::size_t, const std::string& place, Layer& layer) {
    if (place == path) found = &layer;
  });
  if (found == nullptr) return fail(Code::NotFound, "there is no layer at \"{}\"", path.substr(0, 80));
  return found;
}

namespace {

struct LayerAt {
  std::string path;
  Layer* layer;
};

// All masters first: what fails, fails before anything changes.
Result<void> morph_layers(std::span<const LayerAt> layers, DType dtype) {
  if (static_cast<std::size_t>(dtype) >= kNumTypes)
    return fail(Code::InvalidArgument, "type {} is none of the {} that networks can be morphed to",
                static_cast<int>(dtype), kNumTypes);
  std::optional<Error> error;
  const auto each = [&](auto&& change) {
    for (const LayerAt& at : layers)
      visit_weights(at.path, *at.layer, [&](const std::string& path, Weight& w, Layer& layer) {
        if (error || w.is_tied()) return;
        if (auto done = change(w, layer); !done) error = std::move(done.error().in_source(path));
      });
  };
  each([](Weight& w, Layer&) { return w.ensure_master(); });
  each([&](Weight& w, Layer& layer) {
    Encoding encoding = layer.common.encoding;
    encoding.dtype = dtype;
    return w.morph(encoding);
  });
  if (error) return tl::make_unexpected(*std::move(error));
  for (const LayerAt& at : layers)
    visit_layers(at.path, *at.layer, [&](const std::string&, Layer& layer) { layer.common.encoding.dtype = dtype; });
  return {};
}

}  // namespace

Result<void> morph_layer(const std::string& path, Layer& layer, DType dtype) {
  const LayerAt at{path, &layer};
  return morph_layers(std::span(&at, 1), dtype);
}

Result<void> Network::morph_all(DType dtype) {
  std::vector<LayerAt> layers;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].link) layers.push_back({path(i), cells_[i].front()});
    if (cells_[i].layer) layers.push_back({path(i), cells_[i].layer.get()});
  }
  count_edit();
  return morph_layers(layers, dtype);
}

Result<void> Network::morph(std::string_view path, DType dtype) {
  LOOM_TRY(Layer* const layer, layer_at(path));
  count_edit();
  return morph_layer(std::string(path), *layer, dtype);
}

struct Network::Kept {
  struct OfWeight {
    Weight* weight;
    WeightValues::Kept values;
  };
  struct OfLayer {
    Layer* layer;
    DType dtype;
  };
  std::uint64_t edits;
  bool is_settled;
  std::vector<OfWeight> weights;
  std::vector<OfLayer> layers;
};

std::shared_ptr<const Network::Kept> Network::kept() const {
  auto out = std::make_shared<Kept>(Kept{edits_, is_settled_, {}, {}});
  each_layer([&](std::size_t, const std::string&, Layer& layer) {
    out->layers.push_back({&layer, layer.common.encoding.dtype});
    layer.visit_all_weights([&](Weight& w) {
      if (w.declared()) out->weights.push_back({&w, w.kept()});
    });
  });
  return out;
}

void Network::put_back(const Kept& kept) {
  for (const Kept::OfLayer& of : kept.layers) of.layer->common.encoding.dtype = of.dtype;
  for (const Kept::OfWeight& of : kept.weights) of.weight->put_back(of.values);
  edits_ = kept.edits, is_settled_ = kept.is_settled;
}

void Network::release_masters() {
  visit_weights([](const std::string&, Weight& w, Layer&) {
    w.trim_versions();
    w.release_master();
  });
}

Result<void> Network::merge_adapters() {
  edit();
  LOOM_TRY_VOID(resolve_ties());
  std::optional<Error> error;
  each_layer([&](std::size_t, const std::string& place, Layer& layer) {
    if (error) return;
    if (Lora* lora = layer_as<Lora>(layer)) lora->drop_adapters();
    if (auto merged = loom::merge_adapters(layer); !merged) error = std::move(merged.error().in_source(place));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return settle();
}

// For hooks, a link that stands beside a layer has that layer's settings, since they see it under the cell's name.
Result<void> Network::settle() {
  is_settled_ = false;
  LOOM_TRY_VOID(resolve_ties());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].layer) continue;
    if (cells_[i].link) cells_[i].link->share.common = cells_[i].layer->common;
    visit_layers(path(i), *cells_[i].layer,
                 [](const std::string& place, Layer& layer) { layer.site = random_site(place); });
  }
  is_settled_ = true;
  return {};
}

void Network::each_layer(const std::function<void(std::size_t, const std::string&, Layer&)>& visit) const {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto visit_place = [&](const std::string& place, Layer& layer) { visit(i, place, layer); };
    if (cells_[i].link) visit_place(path(i), cells_[i].link->share);
    if (cells_[i].layer) visit_layers(path(i), *cells_[i].layer, visit_place);
  }
}

void Network::visit_weights(const std::function<void(const std::string&, Weight&, Layer&)>& visit) const {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].layer)
      loom::visit_weights(path(i), *cells_[i].layer, [&](const std::string& name, Weight& w, Layer& layer) {
        if (!w.is_tied()) visit(name, w, layer);
      });
}

std::vector<const Weight*> Network::weights() const {
  std::vector<const Weight*> weights;
  visit_weights([&](const std::string&, const Weight& w, const Layer&) { weights.push_back(&w); });
  return weights;
}

std::size_t Network::resident_bytes() const {
  std::size_t bytes = 0;
  visit_weights([&](const std::string&, Weight& w, Layer&) { bytes += w.resident_bytes(); });
  return bytes;
}

}  // namespace loom
