// Layers that hold others.

#include "verify/recipes.h"

namespace loom {
namespace {

constexpr std::size_t kMostNesting = 3;

// A chain that ends in rows of `cols` with the leading axes of the input.
std::optional<RandomLayer> branch_to(Site& site, std::size_t cols) {
  const auto wanted = site.input.with_cols(cols);
  if (!wanted) return std::nullopt;
  Site inner{site.draw, site.input, 0, site.budget, site.nesting + 1, site.targets};
  if (site.nesting + 1 < kMostNesting && site.draw.percent(50)) {
    RandomLayer layer = random_layer(inner);
    if (layer.output == *wanted) return layer;
    const auto lead = layer.output.with_cols(1);
    if (lead && *lead == *site.input.with_cols(1)) {
      Json spec = layer_of("sequential");
      spec["sequential_layers"] = Json::array({std::move(layer.spec), dense_to(site, layer.output, cols)});
      return RandomLayer{std::move(spec), *wanted};
    }
  }
  return RandomLayer{dense_to(site, site.input, cols), *wanted};
}

// Rows of n logits, as a gate makes them.
Json gate_of(Site& site, std::size_t n) {
  Json dense = layer_of("dense");
  dense["input_height"] = site.input.cols(), dense["output_height"] = n;
  if (site.draw.percent(70)) return dense;
  Json softmax = layer_of("softmax");
  softmax["softmax_type"] = std::string(site.draw.name({"standard", "sparse", "entmax", "gumbel"}));
  Json gate = layer_of("sequential");
  gate["sequential_layers"] = Json::array({std::move(dense), std::move(softmax)});
  return gate;
}

Json grid_of(Draw& draw, std::size_t branches, Json& list) {
  const std::size_t depth = draw.between(1, 2), rows = draw.between(1, 2);
  const std::size_t cols = std::max<std::size_t>((branches + depth * rows - 1) / (depth * rows), draw.between(1, 2));
  for (Json& b : list)
    if (draw.percent(50)) {
      const std::size_t z = draw.below(depth), y = draw.below(rows), x = draw.below(cols);
      b["scatter_to"] = Json{z, y, x};
    }
  return Json{{"depth", depth}, {"rows", rows}, {"cols", cols}};
}

}  // namespace

std::optional<RandomLayer> make_parallel(Site& site) {
  Draw& draw = site.draw;
  if (site.nesting >= kMostNesting || site.ids != 0) return std::nullopt;
  const std::string mode(draw.name({"concat", "add", "avg", "grid_scatter", "filter"}));
  const std::size_t n = draw.percent(3) && mode != "filter" ? 0 : draw.between(1, 4);
  const std::size_t rows = site.input.elements() / site.input.cols();
  Site inner{draw, site.input, 0, site.budget / (n + 1), site.nesting, site.targets};
  const std::size_t most =
      std::max<std::size_t>(1, std::min<std::size_t>(200, inner.budget / (rows * site.input.cols())));
  std::size_t cols = draw.size(most), sum = 0, enabled = 0;
  Json list = Json::array();
  for (std::size_t i = 0; i < n; ++i) {
    if (mode == "concat") cols = draw.size(most);
    auto branch = branch_to(inner, cols);
    if (!branch) return std::nullopt;
    sum += branch->output.cols();
    if (!branch->spec.contains("is_remote_link") && draw.percent(8))
      branch->spec["is_disabled"] = true;
    else
      ++enabled;
    list.push_back(std::move(branch->spec));
  }
  if (n > 0 && enabled == 0 && mode != "concat" && mode != "grid_scatter") list[0].erase("is_disabled");
  Json spec = layer_of("parallel");
  spec["combine_mode"] = mode;
  if (n == 0) return RandomLayer{std::move(spec), site.input};
  Result<Shape> output = site.input.with_cols(mode == "concat" ? sum : cols);
  if (mode == "concat" && draw.percent(15)) {
    spec["flatten"] = true;
    const std::size_t per_col = rows / site.input[0];
    output = Shape::create(std::array{site.input[0], per_col * sum});
  }
  if (mode == "grid_scatter") {
    const Json grid = grid_of(draw, n, list);
    const std::size_t depth = grid["depth"], grid_rows = grid["rows"], grid_cols = grid["cols"];
    const std::string layout(draw.name({"flat", "grid", "channels_first"}));
    spec["scatter_grid"] = grid, spec["scatter_layout"] = layout;
    std::vector<std::size_t> extents(site.input.extents().begin(), site.input.extents().end() - 1);
    if (layout == "flat") {
      extents.push_back(depth * grid_rows * grid_cols * cols);
    } else {
      if (layout == "channels_first") extents.push_back(cols);
      extents.insert(extents.end(), {depth, grid_rows, grid_cols});
      if (layout == "grid") extents.push_back(cols);
    }
    output = Shape::create(extents);
  }
  if (mode == "filter") {
    spec["filter_gate"] = gate_of(site, n);
    if (draw.percent(40)) spec["top_k"] = draw.between(1, n);
    if (draw.percent(40)) spec["gate_temperature"] = 0.7;
    if (draw.percent(30)) spec["gate_scope"] = "sample";
    if (draw.percent(25)) spec["gate_aux_weight"] = 0.1;
  }
  spec["parallel_branches"] = std::move(list);
  if (!output || output->elements() > 200'000) return std::nullopt;
  return RandomLayer{std::move(spec), *output};
}

std::optional<RandomLayer> make_sequential(Site& site) {
  Draw& draw = site.draw;
  if (site.nesting >= kMostNesting) return std::nullopt;
  const std::size_t count = draw.between(1, 4);
  Json list = Json::array();
  std::vector<Shape> before;  // the input of every child
  Shape shape = site.input;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::size_t> skips;
    for (std::size_t k = 0; k < before.size(); ++k)
      if (before[k] == shape) skips.push_back(k);
    before.push_back(shape);
    if (!skips.empty() && draw.percent(30)) {
      Json residual = layer_of("residual");
      const std::size_t k = draw.pick_of(skips);
      if (k + 1 == i && draw.percent(50))
        residual["skip_from"] = "previous";
      else
        residual["skip_from"] = k;
      list.push_back(std::move(residual));
      continue;
    }
    Site inner{draw, shape, i == 0 ? site.ids : 0, site.budget / count, site.nesting + 1, site.targets};
    RandomLayer child = random_layer(inner);
    if (child.output == shape && inner.ids == 0 && !child.spec.contains("is_remote_link") && draw.percent(6))
      child.spec["is_disabled"] = true;
    shape = child.output;
    list.push_back(std::move(child.spec));
  }
  Json spec = layer_of("sequential");
  if (site.ids == 0 && draw.percent(35)) {
    const auto lead = shape.with_cols(1);
    if (!(shape == site.input) && lead && *lead == *site.input.with_cols(1)) {
      list.push_back(dense_to(site, shape, site.input.cols()));
      shape = site.input;
    }
    if (shape == site.input) spec["residual"] = true;
  }
  spec["sequential_layers"] = std::move(list);
  return RandomLayer{std::move(spec), shape};
}

// As a layer of its own: what it adds comes from nowhere or, in the grid, from another cell (random_network.cpp).
std::optional<RandomLayer> make_residual(Site& site) {
  if (site.ids != 0) return std::nullopt;
  Json spec = layer_of("residual");
  spec["skip_from"] = "none";
  return RandomLayer{std::move(spec), site.input};
}

std::optional<RandomLayer> make_metacognition(Site& site) {
  Draw& draw = site.draw;
  if (site.nesting >= kMostNesting || site.ids != 0) return std::nullopt;
  Site inner{draw, site.input, 0, site.budget / 2, site.nesting + 1, nullptr};
  RandomLayer observed = random_layer(inner);
  Json spec = layer_of("metacognition");
  const std::string effect(draw.name({"none", "gate", "noise", "intervention"})),
      source(draw.name({"input", "stats", "history", "activations"}));
  spec["meta_effect"] = effect, spec["meta_source"] = source;
  if (draw.percent(50)) spec["train_meta"] = true;
  if (effect != "none") {
    const std::size_t cols = source == "input"         ? site.input.cols()
                             : source == "activations" ? observed.output.cols()
                                                       : 6;
    Json dense = layer_of("dense");
    dense["input_height"] = cols, dense["output_height"] = draw.between(2, 5);
    if (draw.percent(50)) dense["activation"] = "tanh";
    spec["meta_network"] = std::move(dense);
    if ((source == "input" || source == "activations") && observed.output[0] != site.input[0]) return std::nullopt;
  }
  spec["meta_observed_layer"] = std::move(observed.spec);
  return RandomLayer{std::move(spec), observed.output};
}

std::optional<RandomLayer> make_lora(Site& site) {
  Draw& draw = site.draw;
  if (site.nesting >= kMostNesting || site.ids != 0) return std::nullopt;
  std::vector<const Recipe*> fitting;
  for (const Recipe& r : recipes()) {
    const bool has_matrix = r.kind == "dense" || r.kind == "swiglu" || r.kind == "kmeans" || r.kind == "mha" ||
                            r.kind == "lstm" || r.kind == "gru" || r.kind == "rnn" || r.kind.starts_with("c");
    if (has_matrix && (r.axes == 0 || r.axes + 1 == site.input.rank())) fitting.push_back(&r);
  }
  Site inner{draw, site.input, 0, site.budget, site.nesting + 1, nullptr};
  auto base = draw.pick_of(fitting)->make(inner);
  if (!base) return std::nullopt;
  base->spec.erase("adapters");
  Json spec = layer_of("lora");
  spec["rank"] = draw.between(1, 9);
  if (draw.percent(50)) spec["alpha"] = 3;
  if (draw.percent(40)) spec["freeze_base"] = false;
  spec["base_layer"] = std::move(base->spec);
  return RandomLayer{std::move(spec), base->output};
}

}  // namespace loom
