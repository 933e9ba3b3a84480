#include "verify/recipes.h"

#include <array>

#include "layers/all.h"
#include "network/spec/spec.h"
#include "network/spec/spec_fields.h"

namespace loom {

Json layer_of(std::string_view kind) { return Json{{"type", std::string(kind)}}; }

std::optional<Shape> shape_behind(const Json& spec, const Shape& input) {
  const auto layer = layer_from_json(spec);
  if (!layer) return std::nullopt;
  const auto shape = (*layer)->output_shape(input);
  return shape ? std::optional(*shape) : std::nullopt;
}

std::optional<RandomLayer> finished(Site& site, Json spec) {
  add_common(site, spec);
  // An init is refused where there is no matrix to draw.
  if (spec.contains("init")) {
    Json plain = spec;
    for (const char* key : {"init", "init_scale"}) plain.erase(key);
    const auto layer = layer_from_json(plain);
    if (!layer || !draws_matrices(**layer)) spec = std::move(plain);
  }
  const auto shape = shape_behind(spec, site.input);
  if (!shape || shape->elements() > 200'000) return std::nullopt;
  return RandomLayer{std::move(spec), *shape};
}

void add_activation(Site& site, Json& spec, std::size_t percent) {
  Draw& draw = site.draw;
  if (!draw.percent(percent)) return;
  const auto fn = static_cast<Activation>(draw.below(kNumActivations));
  spec["activation"] = std::string(name(fn));
  if (fn == Activation::LeakyRelu && draw.percent(30)) spec["leaky_slope"] = 0.2;
  if (fn == Activation::Elu && draw.percent(30)) spec["elu_alpha"] = 0.75;
  if ((fn == Activation::Sign || fn == Activation::Step) && draw.percent(30)) spec["ste"] = false;
}

void add_common(Site& site, Json& spec) {
  Draw& draw = site.draw;
  if (draw.percent(35)) spec["dtype"] = std::string(name(static_cast<DType>(draw.below(kNumTypes))));
  if (draw.percent(10)) spec["scale_granularity"] = std::string(draw.name({"tensor", "row", "group"}));
  const Json* span = find(spec, "scale_granularity");
  if (draw.percent(10) && (span == nullptr || *span == "group")) spec["group_size"] = draw.pick({32, 64, 128});
  if (draw.percent(15)) spec["activation_quant"] = std::string(draw.name({"none", "row", "group"}));
  if (draw.percent(4)) spec["trainable"] = false;
  if (draw.percent(6)) spec["learning_rate_scale"] = draw.pick({0.0, 0.5, 2.0});
  if (draw.percent(8)) spec["init"] = std::string(draw.name({"he", "xavier", "normal", "uniform", "identity"}));
  const Json* init = find(spec, "init");
  if (draw.percent(6) && init != nullptr && (*init == "normal" || *init == "uniform"))
    spec["init_scale"] = draw.pick({0.02, 0.5, 1.0});
}

namespace {

std::size_t cols_of(const Site& site) { return site.input.cols(); }
// The widest output of a matrix on every row that the budget allows.
std::size_t widest(const Site& site, std::size_t rows, std::size_t per_output) {
  return std::max<std::size_t>(1,
                               std::min<std::size_t>(700, site.budget / std::max<std::size_t>(1, rows * per_output)));
}
std::size_t rows_of(const Shape& shape) { return shape.elements() / shape.cols(); }

void add_adapters(Site& site, Json& spec, std::initializer_list<std::string_view> weights) {
  Draw& draw = site.draw;
  if (!draw.percent(8)) return;
  Json list = Json::array();
  const std::size_t count = draw.between(1, 2);
  for (std::size_t i = 0; i < count; ++i) {
    Json adapter{{"rank", draw.between(1, 19)}, {"weight", std::string(draw.name(weights))}};
    if (draw.percent(50)) adapter["alpha"] = draw.pick({1.0, 4.0, 0.5});
    if (draw.percent(15)) adapter["enabled"] = false;
    list.push_back(std::move(adapter));
  }
  spec["adapters"] = std::move(list);
  if (draw.percent(50)) spec["freeze_base"] = false;
}

std::optional<RandomLayer> make_dense(Site& site) {
  Json spec = layer_of("dense");
  spec["input_height"] = cols_of(site);
  spec["output_height"] = site.draw.size(widest(site, rows_of(site.input), cols_of(site)));
  if (site.draw.percent(60)) spec["bias"] = true;
  add_activation(site, spec);
  add_adapters(site, spec, {"weight"});
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_swiglu(Site& site) {
  Draw& draw = site.draw;
  Json spec = layer_of("swiglu");
  spec["input_height"] = cols_of(site);
  spec["output_height"] = draw.size(widest(site, rows_of(site.input), 3 * cols_of(site)));
  if (draw.percent(40)) spec["bias"] = true;
  if (draw.percent(30)) spec["inner_norm"] = true;
  if (draw.percent(20)) spec["rms_norm_eps"] = 1e-5;
  add_activation(site, spec, 40);
  return finished(site, std::move(spec));
}

void add_rope(Site& site, Json& spec, std::size_t head_dim) {
  Draw& draw = site.draw;
  if (head_dim % 2 != 0 || draw.percent(25)) {
    spec["rope"] = false;
    return;
  }
  if (draw.percent(40)) spec["rope_style"] = "interleaved";
  if (draw.percent(20)) spec["rope_theta"] = draw.pick({100.0, 500000.0});
  if (head_dim % 4 == 0 && draw.percent(25)) spec["partial_rotary_factor"] = 0.5;
  if (!draw.percent(30)) return;
  Json scaling{{"type", std::string(draw.name({"linear", "llama3", "yarn"}))}, {"factor", 4}};
  if (scaling["type"] != "linear") scaling["original_max_position_embeddings"] = 16;
  if (scaling["type"] == "llama3") scaling["low_freq_factor"] = 1, scaling["high_freq_factor"] = 4;
  spec["rope_scaling"] = std::move(scaling);
}

std::optional<RandomLayer> make_mha(Site& site) {
  Draw& draw = site.draw;
  const std::size_t d = cols_of(site), rows = rows_of(site.input), steps = site.input[site.input.rank() - 2];
  Json spec = layer_of("mha");
  spec["d_model"] = d;
  const std::size_t kv = draw.between(1, 3), heads = kv * draw.between(1, 3);
  const std::size_t most = widest(site, rows, 4 * d + 2 * steps) / heads;
  if (most < 1) return std::nullopt;
  const std::size_t head_dim =
      draw.percent(60)
          ? std::max<std::size_t>(1, 2 * draw.between(1, std::max<std::size_t>(1, std::min<std::size_t>(most, 48) / 2)))
          : draw.between(1, std::min<std::size_t>(most, 70));
  spec["num_heads"] = heads, spec["num_kv_heads"] = kv, spec["head_dim"] = head_dim;
  if (draw.percent(30)) spec["output_dim"] = draw.size(widest(site, rows, heads * head_dim));
  if (draw.percent(30)) spec["qkv_bias"] = true;
  if (draw.percent(30)) spec["out_bias"] = true;
  if (draw.percent(40)) spec["causal"] = false;
  add_rope(site, spec, head_dim);
  if (draw.percent(30)) spec["qk_norm"] = std::string(draw.name({"head", "full"}));
  if (draw.percent(20)) spec["inner_norm"] = true;
  if (draw.percent(25)) spec["sliding_window"] = draw.between(1, steps + 2);
  if (draw.percent(20)) spec["attn_scale"] = 0.25;
  if (draw.percent(20)) spec["logit_softcap"] = 2;
  if (draw.percent(20)) spec["max_seq_len"] = steps + draw.below(3);
  add_adapters(site, spec, {"q.weight", "v.weight", "o.weight"});
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_row_norm(Site& site, std::string_view kind) {
  Json spec = layer_of(kind);
  spec["input_height"] = cols_of(site);
  if (kind == "layernorm" && site.draw.percent(30)) spec["bias"] = false;
  if (kind == "layernorm" && site.draw.percent(20)) spec["eps"] = 1e-3;
  if (kind == "rmsnorm" && site.draw.percent(20)) spec["weight_offset"] = 1;
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_rmsnorm(Site& site) { return make_row_norm(site, "rmsnorm"); }
std::optional<RandomLayer> make_layernorm(Site& site) { return make_row_norm(site, "layernorm"); }

std::optional<RandomLayer> make_channel_norm(Site& site, std::string_view kind) {
  const std::size_t channels = site.input[1];
  Json spec = layer_of(kind);
  spec["input_height"] = channels;
  if (kind == "groupnorm") spec["num_groups"] = site.draw.divisor(channels, 8);
  if (site.draw.percent(20)) spec["eps"] = 1e-3;
  if (kind == "batchnorm" && site.draw.percent(30)) spec["momentum"] = 0.25;
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_batchnorm(Site& site) { return make_channel_norm(site, "batchnorm"); }
std::optional<RandomLayer> make_groupnorm(Site& site) { return make_channel_norm(site, "groupnorm"); }

std::optional<RandomLayer> make_instancenorm(Site& site) {
  if (site.input.rank() < 3) return std::nullopt;
  Json spec = layer_of("instancenorm");
  spec["input_height"] = site.input[1];
  if (site.draw.percent(60)) spec["affine"] = true;
  if (site.draw.percent(20)) spec["eps"] = 1e-3;
  return finished(site, std::move(spec));
}

// One number for all axes, or one for each.
Json per_axis(Draw& draw, std::size_t axes, std::size_t low, std::size_t high) {
  if (draw.percent(60)) return draw.between(low, high);
  Json list = Json::array();
  for (std::size_t a = 0; a < axes; ++a) list.push_back(draw.between(low, high));
  return list;
}

std::optional<RandomLayer> make_conv(Site& site, std::string_view kind, std::size_t axes, bool transposed) {
  Draw& draw = site.draw;
  const std::size_t channels = site.input[1], positions = site.input.elements() / channels;
  Json spec = layer_of(kind);
  const std::size_t groups = draw.percent(65) ? 1 : draw.divisor(channels, channels);
  const std::size_t taps = transposed ? 9 : 4;  // about
  const std::size_t most = widest(site, positions, channels / groups * taps);
  if (most < groups) return std::nullopt;
  spec["input_channels"] = channels;
  spec["filters"] = groups * draw.size(std::min<std::size_t>(96, most / groups));
  if (groups != 1) spec["groups"] = groups;
  spec["kernel_size"] = per_axis(draw, axes, 1, axes == 3 ? 3 : 4);
  if (draw.percent(40)) spec["stride"] = per_axis(draw, axes, 1, 3);
  if (draw.percent(60)) spec["padding"] = per_axis(draw, axes, 0, 2);
  if (draw.percent(25)) spec["dilation"] = per_axis(draw, axes, 1, 2);
  if (transposed && draw.percent(20)) spec["output_padding"] = 1;
  if (draw.percent(60)) spec["bias"] = true;
  add_activation(site, spec, 50);
  add_adapters(site, spec, {"weight"});
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_cnn1(Site& site) { return make_conv(site, "cnn1", 1, false); }
std::optional<RandomLayer> make_cnn2(Site& site) { return make_conv(site, "cnn2", 2, false); }
std::optional<RandomLayer> make_cnn3(Site& site) { return make_conv(site, "cnn3", 3, false); }
std::optional<RandomLayer> make_transposed1(Site& site) { return make_conv(site, "convtransposed1", 1, true); }
std::optional<RandomLayer> make_transposed2(Site& site) { return make_conv(site, "convtransposed2", 2, true); }
std::optional<RandomLayer> make_transposed3(Site& site) { return make_conv(site, "convtransposed3", 3, true); }

std::optional<RandomLayer> make_pool(Site& site, std::string_view kind) {
  Draw& draw = site.draw;
  if (site.input.rank() < 3 || site.input.rank() > 5) return std::nullopt;
  const std::size_t axes = site.input.rank() - 2;
  Json spec = layer_of(kind);
  if (draw.percent(15)) {
    spec["global"] = true;
    return finished(site, std::move(spec));
  }
  spec["kernel_size"] = per_axis(draw, axes, 1, 4);
  if (draw.percent(60)) spec["stride"] = per_axis(draw, axes, 1, 3);
  if (draw.percent(40)) spec["padding"] = 1;
  if (kind == "maxpool" && draw.percent(25)) spec["dilation"] = per_axis(draw, axes, 1, 2);
  if (kind == "avgpool" && draw.percent(30)) spec["count_include_pad"] = false;
  if (draw.percent(30)) spec["ceil_mode"] = true;
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_maxpool(Site& site) { return make_pool(site, "maxpool"); }
std::optional<RandomLayer> make_avgpool(Site& site) { return make_pool(site, "avgpool"); }

std::optional<RandomLayer> make_recurrent(Site& site, std::string_view kind, std::size_t gates) {
  Draw& draw = site.draw;
  const std::size_t width = cols_of(site);
  Json spec = layer_of(kind);
  const bool both = draw.percent(35);
  std::size_t units =
      draw.size(std::min<std::size_t>(300, widest(site, rows_of(site.input), gates * (both ? 2 : 1) * width)));
  while (units > 1 && rows_of(site.input) * gates * units * (units + width) > 2 * site.budget) units = (units + 1) / 2;
  spec["input_height"] = width, spec["output_height"] = units;
  if (both) spec["bidirectional"] = true;
  if (draw.percent(15)) spec["stateful"] = true;
  if (draw.percent(25)) spec["return_sequence"] = false;
  if (draw.percent(20)) spec["bias"] = false;
  if (kind == "rnn" && draw.percent(30)) spec["activation"] = "relu";
  add_adapters(site, spec, {kind == "rnn" ? "weight_ih" : kind == "lstm" ? "f.weight_hh" : "n.weight_ih"});
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_rnn(Site& site) { return make_recurrent(site, "rnn", 1); }
std::optional<RandomLayer> make_lstm(Site& site) { return make_recurrent(site, "lstm", 4); }
std::optional<RandomLayer> make_gru(Site& site) { return make_recurrent(site, "gru", 3); }

std::optional<RandomLayer> make_s6(Site& site) {
  Draw& draw = site.draw;
  const std::size_t width = cols_of(site), rows = rows_of(site.input);
  const std::size_t states = draw.size(std::min<std::size_t>(20, widest(site, rows, 8 * width)));
  if (rows * states * width > site.budget) return std::nullopt;
  Json spec = layer_of("s6");
  spec["input_height"] = width, spec["state_size"] = states;
  if (draw.percent(40)) spec["dt_rank"] = draw.size(std::min<std::size_t>(20, widest(site, rows, 2 * width)));
  if (draw.percent(20)) spec["bias"] = false;
  if (draw.percent(15)) spec["stateful"] = true;
  add_adapters(site, spec, {"dt_in.weight", "dt.weight", "c.weight"});
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_embedding(Site& site) {
  if (site.ids == 0) return std::nullopt;
  Json spec = layer_of("embedding");
  spec["vocab_size"] = site.ids;
  spec["embedding_dim"] = site.draw.size(160);
  if (site.draw.percent(30)) spec["embed_scale"] = 1.5;
  add_activation(site, spec, 20);
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_position_embedding(Site& site) {
  Json spec = layer_of("position_embedding");
  spec["max_seq_len"] = site.input[site.input.rank() - 2] + site.draw.below(3);
  spec["embedding_dim"] = cols_of(site);
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_kmeans(Site& site) {
  Draw& draw = site.draw;
  Json spec = layer_of("kmeans");
  spec["num_clusters"] = draw.size(std::min<std::size_t>(100, widest(site, rows_of(site.input), 2 * cols_of(site))));
  spec["input_height"] = cols_of(site);
  if (draw.percent(50)) spec["output_mode"] = "features";
  if (draw.percent(70)) spec["kmeans_temperature"] = draw.pick({2.0, 5.0});
  add_activation(site, spec, 20);
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_softmax(Site& site) {
  Draw& draw = site.draw;
  const std::size_t n = cols_of(site), form = draw.below(10);
  Json spec = layer_of("softmax");
  static constexpr std::array<const char*, 10> kTypes = {"standard", "grid",   "hierarchical", "temperature", "gumbel",
                                                         "masked",   "sparse", "adaptive",     "mixture",     "entmax"};
  spec["softmax_type"] = kTypes[form];
  if (draw.percent(40)) spec["temperature"] = draw.pick({0.5, 0.7, 3.0});
  switch (form) {
    case 1: {
      const std::size_t rows = draw.divisor(n, n);
      spec["softmax_rows"] = rows, spec["softmax_cols"] = n / rows;
      break;
    }
    case 2: {
      const std::size_t a = draw.divisor(n, n);
      const bool tree = draw.percent(50);
      if (tree) spec["hierarchy_mode"] = "tree";
      spec["hierarchy_levels"] = tree ? (n / a > 1 ? Json{a, n / a - 1} : Json{n}) : Json{a, n / a};
      break;
    }
    case 4:
      if (draw.percent(20)) spec["gumbel_noise"] = false;
      if (draw.percent(30)) spec["gumbel_hard"] = true;
      break;
    case 5: {
      Json mask = Json::array();
      const std::size_t length = draw.between(0, std::min<std::size_t>(n, 40));
      for (std::size_t i = 0; i < length; ++i) mask.push_back(draw.percent(70));
      spec["mask"] = std::move(mask);
      break;
    }
    case 7:
      if (n >= 4) {
        const std::size_t head = draw.between(1, n - 3);
        const std::size_t middle = draw.between(head + 1, n - 2);
        if (middle < n - 2 && draw.percent(60))
          spec["adaptive_cutoffs"] = Json{head, middle, n - 2};
        else
          spec["adaptive_cutoffs"] = Json{head, n - 1};
      }
      break;
    case 8: {
      const std::size_t m = draw.divisor(n, std::min<std::size_t>(8, n));
      if (n / m >= 2) spec["mixture_count"] = m;
      break;
    }
    case 9:
      if (draw.percent(70)) spec["entmax_alpha"] = draw.pick({1.0, 1.2, 1.8, 2.0, 3.0});
      if (draw.percent(25)) spec["entmax_mode"] = "blend";
      break;
    default: break;
  }
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_dropout(Site& site) {
  Json spec = layer_of("dropout");
  spec["rate"] = site.draw.pick({0.0, 0.1, 0.5, 0.9});
  return finished(site, std::move(spec));
}

// Factors of n: `axes` extents, the first one takes what is left.
Json factors(Draw& draw, std::size_t n, std::size_t axes) {
  std::vector<std::size_t> extents(axes, 1);
  for (std::size_t a = axes; a-- > 1;) {
    extents[a] = draw.divisor(n, a == axes - 1 && axes == 2 ? n : 12);
    n /= extents[a];
  }
  extents[0] = n;
  return extents;
}

std::optional<RandomLayer> reshape_to(Site& site, std::size_t axes) {
  Json spec = layer_of("reshape");
  spec["shape"] = factors(site.draw, site.input.elements() / site.input[0], axes);
  const auto shape = shape_behind(spec, site.input);
  if (!shape) return std::nullopt;
  return RandomLayer{std::move(spec), *shape};
}

std::optional<RandomLayer> make_reshape(Site& site) {
  const std::size_t axes = site.draw.between(1, 4);
  return reshape_to(site, axes);
}

std::optional<RandomLayer> make_activation(Site& site) {
  Json spec = layer_of("activation");
  add_activation(site, spec, 100);
  return finished(site, std::move(spec));
}

std::optional<RandomLayer> make_permute(Site& site) {
  const std::size_t rank = site.input.rank();
  std::vector<std::size_t> axes(rank);
  for (std::size_t a = 0; a < rank; ++a) axes[a] = a;
  for (std::size_t a = rank; a-- > 2;) std::swap(axes[a], axes[1 + site.draw.below(a)]);  // samples stay in front
  Json spec = layer_of("permute");
  spec["axes"] = axes;
  return finished(site, std::move(spec));
}

constexpr std::array kRecipes = {
    Recipe{"dense", 0, make_dense},
    Recipe{"mha", 2, make_mha},
    Recipe{"swiglu", 0, make_swiglu},
    Recipe{"rmsnorm", 0, make_rmsnorm},
    Recipe{"cnn1", 2, make_cnn1},
    Recipe{"cnn2", 3, make_cnn2},
    Recipe{"cnn3", 4, make_cnn3},
    Recipe{"rnn", 2, make_rnn},
    Recipe{"lstm", 2, make_lstm},
    Recipe{"layernorm", 0, make_layernorm},
    Recipe{"convtransposed1", 2, make_transposed1},
    Recipe{"convtransposed2", 3, make_transposed2},
    Recipe{"convtransposed3", 4, make_transposed3},
    Recipe{"embedding", 0, make_embedding},
    Recipe{"kmeans", 0, make_kmeans},
    Recipe{"softmax", 0, make_softmax},
    Recipe{"parallel", 0, make_parallel},
    Recipe{"sequential", 0, make_sequential},
    Recipe{"residual", 0, make_residual},
    Recipe{"metacognition", 0, make_metacognition},
    Recipe{"gru", 2, make_gru},
    Recipe{"maxpool", 3, make_maxpool},
    Recipe{"avgpool", 3, make_avgpool},
    Recipe{"dropout", 0, make_dropout},
    Recipe{"lora", 0, make_lora},
    Recipe{"batchnorm", 0, make_batchnorm},
    Recipe{"groupnorm", 0, make_groupnorm},
    Recipe{"reshape", 0, make_reshape},
    Recipe{"activation", 0, make_activation},
    Recipe{"position_embedding", 2, make_position_embedding},
    Recipe{"permute", 0, make_permute},
    Recipe{"instancenorm", 3, make_instancenorm},
    Recipe{"s6", 2, make_s6},
};

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* recipe_of(std::string_view kind) {
  for (const Recipe& r : kRecipes)
    if (r.kind == kind) return &r;
  return nullptr;
}

Json dense_to(Site& site, const Shape& from, std::size_t cols) {
  Json spec = layer_of("dense");
  spec["input_height"] = from.cols(), spec["output_height"] = cols;
  if (site.draw.percent(50)) spec["bias"] = true;
  add_activation(site, spec, 40);
  add_common(site, spec);
  return spec;
}

namespace {

// Batches stay in front of every kind but those of one axis.
std::optional<RandomLayer> behind_reshape(Site& site, const Recipe& recipe) {
  std::optional<RandomLayer> first = reshape_to(site, recipe.axes);
  if (!first) return std::nullopt;
  Site inner{site.draw, first->output, 0, site.budget, site.nesting + 1, site.targets};
  std::optional<RandomLayer> second = recipe.make(inner);
  if (!second) return std::nullopt;
  Json spec = layer_of("sequential");
  spec["sequential_layers"] = Json::array({std::move(first->spec), std::move(second->spec)});
  return RandomLayer{std::move(spec), second->output};
}

std::optional<RandomLayer> share_link(Site& site) {
  if (site.targets == nullptr || site.ids != 0) return std::nullopt;
  std::vector<const LinkTarget*> fitting;
  for (const LinkTarget& t : *site.targets)
    if (t.input == site.input) fitting.push_back(&t);
  if (fitting.empty()) return std::nullopt;
  const LinkTarget& t = *site.draw.pick_of(fitting);
  Json spec{{"is_remote_link", true},
            {"target_z", t.address[0]},
            {"target_y", t.address[1]},
            {"target_x", t.address[2]},
            {"target_l", t.address[3]}};
  if (site.draw.percent(50) || site.nesting == 0) spec["link_mode"] = "share";
  return RandomLayer{std::move(spec), t.output};
}

}  // namespace

RandomLayer random_layer(Site& site) {
  if (site.ids != 0)
    if (auto made = make_embedding(site)) return *std::move(made);
  if (site.draw.percent(12))
    if (auto made = share_link(site)) return *std::move(made);
  for (std::size_t attempt = 0; attempt < 20; ++attempt) {
    const Recipe& recipe = kRecipes[site.draw.below(kRecipes.size())];
    const std::size_t axes = site.input.rank() - 1;
    const bool fits = recipe.axes == 0 || recipe.axes == axes ||
                      (recipe.make == make_maxpool || recipe.make == make_avgpool ? axes >= 2 && axes <= 4 : false);
    auto made = fits ? recipe.make(site) : behind_reshape(site, recipe);
    if (made && made->output.elements() <= 200'000) return *std::move(made);
  }
  Json spec = layer_of("activation");
  spec["activation"] = "tanh";
  return {std::move(spec), site.input};
}

}  // namespace loom
