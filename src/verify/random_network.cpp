#include "verify/random_network.h"

namespace loom {
namespace {

struct Grid {
  std::array<std::size_t, 4> size{1, 1, 1, 1};
  std::array<std::size_t, 4> address(std::size_t index) const {
    std::array<std::size_t, 4> a{};
    for (std::size_t i = 4; i-- > 0;) a[i] = index % size[i], index /= size[i];
    return a;
  }
  std::size_t cells() const { return size[0] * size[1] * size[2] * size[3]; }
};

Grid random_grid(Draw& draw, std::size_t layers) {
  Grid grid;
  for (std::size_t& extent : grid.size) extent = draw.percent(70) ? 1 : draw.between(1, 3);
  while (grid.cells() < layers) ++grid.size[draw.below(4)];
  return grid;
}

// Positions of so many cells, ascending.
std::vector<std::size_t> places(Draw& draw, const Grid& grid, std::size_t layers) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < grid.cells() && at.size() < layers; ++i) {
    const std::size_t left = grid.cells() - i;
    if (left == layers - at.size() || draw.below(left) < layers - at.size()) at.push_back(i);
  }
  return at;
}

Shape input_of(Draw& draw, const NetworkWish& wish, std::size_t& ids) {
  const std::size_t form = wish.wide ? 0 : draw.below(10);
  const std::size_t batch = draw.percent(30)   ? draw.between(1, 3)
                            : draw.percent(60) ? draw.between(4, 24)
                                               : draw.between(25, 40);
  const std::size_t most = std::max<std::size_t>(4, wish.budget / batch / 16);
  if (form < 4)
    return Shape::of({batch, wish.wide ? draw.between(182, 700) : draw.size(std::min<std::size_t>(700, most))});
  const std::size_t steps = draw.between(1, 12);
  if (form < 6) return Shape::of({batch, steps, draw.size(std::min<std::size_t>(96, most / steps + 1))});
  if (form == 9) {
    ids = draw.between(2, 300);
    return Shape::of({batch, steps});
  }
  const std::size_t channels = draw.size(std::min<std::size_t>(20, most / 8 + 1));
  if (form == 6) return Shape::of({batch, channels, draw.between(1, 40)});
  const std::size_t h = draw.between(2, 10), w = draw.between(2, 10);
  if (form == 7) return Shape::of({batch, channels, h, w});
  return Shape::of(
      {std::min<std::size_t>(batch, 20), std::min<std::size_t>(channels, 5), draw.between(1, 5), h / 2 + 1, w / 2 + 1});
}

class Builder {
 public:
  Builder(Draw& draw, const NetworkWish& wish) : draw_(draw), wish_(wish) {}

  RandomNetwork build() {
    RandomNetwork out;
    out.input = shape_ = input_of(draw_, wish_, out.ids);
    ids_ = out.ids;
    const std::size_t layers = draw_.between(1, 5) + (wish_.last.empty() ? 0 : 1);
    const Grid grid = random_grid(draw_, layers);
    const std::vector<std::size_t> at = places(draw_, grid, layers);
    settings(out.spec, grid);
    Json list = Json::array();
    for (std::size_t i = 0; i < layers; ++i) {
      address_ = grid.address(at[i]);
      const Shape before = shape_;
      budget_ = wish_.budget / layers;
      Json cell = i + 1 == layers && !wish_.last.empty() ? last() : next(i);
      const bool is_link = cell.contains("is_remote_link"), is_skip = cell.contains("skip_from");
      for (std::size_t k = 0; k < 4; ++k) cell[std::string(1, "zyxl"[k])] = address_[k];
      if (!is_link && !is_skip && before.elements() > 0 && ids_ == 0) {
        targets_.push_back({address_, before, shape_});
        // A cell that is switched off stores what links run; its input passes through.
        if (wish_.last.empty() && draw_.percent(8)) cell["is_disabled"] = true, shape_ = before;
      }
      outputs_.push_back({address_, before, shape_});
      ids_ = 0;
      list.push_back(std::move(cell));
    }
    if (out.ids != 0) tie(list);
    if (wish_.mesh) rings(list);
    out.spec["layers"] = std::move(list);
    out.output = shape_;
    return out;
  }

 private:
  void settings(Json& spec, const Grid& grid) {
    spec = Json{
        {"depth", grid.size[0]}, {"rows", grid.size[1]}, {"cols", grid.size[2]}, {"layers_per_cell", grid.size[3]}};
    spec["seed"] = draw_.below(1'000'000);
    if (draw_.percent(15))
      spec["activations"] = "float64", spec["default_dtype"] = "float64";
    else if (draw_.percent(35))
      spec["default_dtype"] = std::string(name(static_cast<DType>(draw_.below(kNumTypes))));
    if (draw_.percent(15)) spec["init"] = std::string(draw_.name({"uniform", "he", "xavier", "normal"}));
  }

  Json next(std::size_t i) {
    if (i == 0 && wish_.wide) return wide();
    if (!outputs_.empty() && draw_.percent(8))
      if (auto skip = residual()) return *std::move(skip);
    if (!outputs_.empty() && draw_.percent(wish_.mesh ? 25 : 8))
      if (auto feed = feed_link()) return *std::move(feed);
    Site site{draw_, shape_, ids_, budget_, 0, &targets_};
    RandomLayer layer = random_layer(site);
    shape_ = layer.output;
    return std::move(layer.spec);
  }

  Json wide() {
    Json spec = layer_of("dense");
    const std::size_t cols = shape_.cols(), least = (32768 + cols - 1) / cols;
    const std::size_t out = draw_.between(least, std::min<std::size_t>(700, least + 80));
    spec["input_height"] = cols, spec["output_height"] = out;
    if (draw_.percent(50)) spec["bias"] = true;
    Site site{draw_, shape_, 0, budget_, 0, nullptr};
    add_activation(site, spec);
    add_common(site, spec);
    shape_ = shape_.with_cols(out).value_or(shape_);
    return spec;
  }

  Json last() {
    Json spec = layer_of(wish_.last == "softmax" ? "softmax" : "activation");
    if (wish_.last != "softmax") spec["activation"] = wish_.last;
    return spec;
  }

  std::optional<Json> residual() {
    std::vector<const LinkTarget*> fitting;
    for (const LinkTarget& o : outputs_)
      if (o.output == shape_) fitting.push_back(&o);
    if (fitting.empty()) return std::nullopt;
    Json spec = layer_of("residual");
    spec["skip_from"] = draw_.pick_of(fitting)->address;
    return spec;
  }

  // Takes the output of an earlier cell; in a mesh a later one may take this cell's too (rings()).
  std::optional<Json> feed_link() {
    const LinkTarget& from = draw_.pick_of(outputs_);
    const std::string merge(draw_.name({"replace", "add", "concat"}));
    Shape fed = from.output;
    if (merge == "add" && !(from.output == shape_)) return std::nullopt;
    if (merge == "concat") {
      const auto a = shape_.with_cols(1), b = from.output.with_cols(1);
      if (!a || !b || !(*a == *b)) return std::nullopt;
      fed = shape_.with_cols(shape_.cols() + from.output.cols()).value_or(shape_);
    }
    Json spec{{"is_remote_link", true},
              {"target_z", from.address[0]},
              {"target_y", from.address[1]},
              {"target_x", from.address[2]},
              {"target_l", from.address[3]}};
    spec["link_mode"] = "feed", spec["link_merge"] = merge;
    if (draw_.percent(60)) {
      const std::size_t cols =
          draw_.size(std::max<std::size_t>(1, std::min<std::size_t>(200, budget_ / fed.elements())));
      Site site{draw_, fed, 0, budget_, 0, nullptr};
      spec.update(dense_to(site, fed, cols));
      fed = fed.with_cols(cols).value_or(fed);
    }
    shape_ = fed;
    return spec;
  }

  // Cells that add what they themselves or later ones gave in the tick before.
  void rings(Json& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      Json& cell = list[i];
      if (cell.contains("is_remote_link") || cell.contains("skip_from") || !draw_.percent(40)) continue;
      std::vector<const LinkTarget*> fitting;
      for (std::size_t j = i; j < outputs_.size(); ++j)
        if (outputs_[j].output == outputs_[i].input) fitting.push_back(&outputs_[j]);
      if (fitting.empty()) continue;
      const LinkTarget& from = *draw_.pick_of(fitting);
      cell["is_remote_link"] = true, cell["link_mode"] = std::string(draw_.name({"feed", "auto"})),
      cell["link_merge"] = "add";
      for (std::size_t k = 0; k < 4; ++k) cell[std::string("target_") + "zyxl"[k]] = from.address[k];
    }
  }

  // A language model's head: the table of the embedding as the last matrix.
  void tie(Json& list) {
    const Json* dim = find(list[0], "embedding_dim");
    if (list.size() < 2 || dim == nullptr || wish_.last != "" || !draw_.percent(40)) return;
    Json& head = list.back();
    const LinkTarget& place = outputs_.back();
    if (place.input.cols() != dim->get<std::size_t>()) return;
    Json tied = layer_of("dense");
    tied["input_height"] = *dim, tied["output_height"] = list[0]["vocab_size"];
    tied["tied_to"] = outputs_[0].address;
    for (const char* key : {"z", "y", "x", "l"}) tied[key] = head[key];
    shape_ = place.input.with_cols(list[0]["vocab_size"].get<std::size_t>()).value_or(shape_);
    head = std::move(tied);
  }

  Draw& draw_;
  const NetworkWish& wish_;
  Shape shape_;
  std::size_t ids_ = 0, budget_ = 0;
  std::array<std::size_t, 4> address_{};
  std::vector<LinkTarget> targets_, outputs_;
};

}  // namespace

RandomNetwork random_network(Draw& draw, const NetworkWish& wish) { return Builder(draw, wish).build(); }

bool any_layer(const Json& spec, const std::function<bool(const Json&)>& is) {
  if (spec.is_object() && is(spec)) return true;
  if (spec.is_structured())
    for (const Json& inner : spec)
      if (any_layer(inner, is)) return true;
  return false;
}

bool measures_its_batch(const Json& spec, bool training) {
  return any_layer(spec, [&](const Json& layer) {
    const Json* type = find(layer, "type");
    const std::string kind = type != nullptr && as_string(*type) != nullptr ? *as_string(*type) : std::string();
    const Json* source = find(layer, "meta_source");
    const bool by_sample = source != nullptr && (*source == "input" || *source == "activations");
    return (kind == "metacognition" && !by_sample) || (training && kind == "batchnorm") ||
           layer.contains("gate_aux_weight") || layer.contains("stateful");
  });
}

}  // namespace loom
