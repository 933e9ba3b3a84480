#pragma once
// Containers, links and the forward pass over the grid (reference.h).

#include "reference_layers.h"

namespace loom::test {

class ReferenceNetwork {
 public:
  // The network has been prepared; `spec` is what it was read from.
  ReferenceNetwork(Network& network, const Json& spec, std::uint32_t step = 0) : network_(network), step_(step) {
    for (const Json& cell : *find(spec, "layers")) {
      const Settings s(cell);
      const auto index = network.index_of({s.size("z"), s.size("y"), s.size("x"), s.size("l")});
      cells_[*index] = &cell;
    }
    unit = network.settings.activations == Element::f64 ? 0x1p-52 : 0x1p-24;
    tiny = network.settings.activations == Element::f64 ? 0x1p-480 : 0x1p-50;
    quantises = network.settings.activations == Element::f32;
    for (const auto& [index, cell] : cells_) {
      const Cell& placed = network.cell(index);
      if (placed.link) specs_[placed.front()] = cell;
      if (!placed.layer) continue;
      Json own = *cell;
      for (const char* key : {"is_remote_link", "link_mode", "link_merge"}) own.erase(key);
      note(Network::path(index), own_[index] = std::move(own), *placed.layer);
    }
  }

  // The settings of a layer, by the object that runs it.
  const Json* spec_of(const Layer& layer) const {
    const auto found = specs_.find(&layer);
    return found == specs_.end() ? nullptr : found->second;
  }

  // Nothing where a layer does what this evaluator leaves out (`why`).
  std::optional<Tensor> run(const Tensor& input) {
    Tensor now = input;
    outputs_.clear();
    for (std::size_t i = 0; i < network_.num_cells(); ++i) {
      const auto found = cells_.find(i);
      if (found != cells_.end() && !Settings(*found->second).flag("is_disabled")) {
        auto next = cell(i, now);
        if (!next) return std::nullopt;
        now = std::move(*next);
      }
      outputs_[i] = now;
    }
    return now;
  }

  std::optional<Tensor> layer(const Json& spec, Layer& l, const Tensor& x);
  std::string why;

 private:
  std::optional<Tensor> leave(const std::string& reason) {
    why = reason;
    return std::nullopt;
  }
  void note(const std::string& path, const Json& spec, Layer& l) {
    specs_[&l] = &spec;
    l.visit_children([&](const std::string& below, Layer& child) {
      const Json* at = &spec;
      std::size_t begin = 0;
      while (at != nullptr && begin < below.size()) {
        std::size_t end = below.find('.', begin);
        if (end == below.npos) end = below.size();
        const std::string step = below.substr(begin, end - begin);
        const bool is_number = step.find_first_not_of("0123456789") == step.npos;
        at = is_number ? &(*at)[std::stoul(step)] : find(*at, step);
        begin = end + 1;
      }
      if (at != nullptr) note(path + "." + below, *at, child);
    });
  }
  Layer& child(Layer& parent, const std::string& name) {
    Layer* found = nullptr;
    parent.visit_children([&](const std::string& below, Layer& c) {
      if (below == name) found = &c;
    });
    return *found;
  }
  std::size_t index_of(const Json& address) const {
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(as_int(address[i]).value_or(0)); };
    return *network_.index_of({at(0), at(1), at(2), at(3)});
  }

  std::optional<Tensor> sequential(const Settings& s, Layer& l, const Tensor& x);
  std::optional<Tensor> parallel(const Settings& s, Layer& l, const Tensor& x);
  std::optional<Tensor> filter(const Settings& s, Layer& l, const Tensor& x, const std::vector<Tensor>& branches,
                               const std::vector<bool>& enabled);
  std::optional<Tensor> cell(std::size_t index, const Tensor& x);
  std::size_t target_of(const Settings& link) const;
  std::optional<Tensor> share(const Settings& s, const Tensor& x);
  // Runs the cell's own layer; a cell without one passes x through.
  std::optional<Tensor> own(std::size_t index, const Tensor& x) {
    Layer* const l = network_.cell(index).layer.get();
    return l == nullptr ? x : layer(own_.at(index), *l, x);
  }
  std::optional<Tensor> metacognition(const Settings& s, Layer& l, const Tensor& x);

  Network& network_;
  std::uint32_t step_;
  std::map<std::size_t, const Json*> cells_;
  std::map<std::size_t, Json> own_;  // of the cells' own operations, without the keys of links
  std::map<const Layer*, const Json*> specs_;
  std::map<std::size_t, Tensor> outputs_;  // of the cells so far
};

inline std::optional<Tensor> ReferenceNetwork::layer(const Json& spec, Layer& l, const Tensor& x) {
  const Settings s(spec);
  if (s.flag("is_remote_link")) return share(s, x);
  const std::string kind = s.text("type");
  // Samples of their own axis: a kind of channels, windows or sequences reads [B, ...].
  if (kind == "dense") return ref_dense(s, l, x);
  if (kind == "swiglu") return ref_swiglu(s, l, x);
  if (kind == "rmsnorm") return ref_rmsnorm(s, l, x);
  if (kind == "layernorm") return ref_layernorm(s, l, x);
  if (kind == "groupnorm") return ref_groupnorm(s, l, x);
  if (kind == "instancenorm") return ref_instancenorm(s, l, x);
  if (kind == "batchnorm") return ref_batchnorm(s, l, x);
  if (kind.starts_with("cnn")) return ref_conv(s, l, x, false);
  if (kind.starts_with("convtransposed")) return ref_conv(s, l, x, true);
  if (kind == "maxpool" || kind == "avgpool") return ref_pool(s, x, kind == "avgpool");
  if (kind == "rnn" || kind == "lstm" || kind == "gru") return ref_recurrent(s, l, x, kind);
  if (kind == "s6") return ref_s6(s, l, x);
  if (kind == "mha") return ref_mha(s, l, x);
  if (kind == "kmeans") return ref_kmeans(s, l, x);
  if (kind == "embedding") return ref_embedding(s, l, x);
  if (kind == "position_embedding") return ref_position_embedding(l, x);
  if (kind == "softmax") {
    auto y = ref_softmax(s, l, x, network_.settings.seed, step_);
    return y ? y : leave("a hard choice between equals");
  }
  if (kind == "activation") {
    Tensor y = x;
    for (Num& v : y.v) v = activated(s, v);
    return y;
  }
  if (kind == "dropout") return x;
  if (kind == "reshape") {
    Tensor y{{x.shape[0]}, x.v};
    std::size_t known = x.shape[0];
    std::vector<std::size_t> open;
    const Json* shape = find(spec, "shape");
    for (std::size_t i = 0; shape != nullptr && i < shape->size(); ++i) {
      const auto e = as_int((*shape)[i]).value_or(1);
      y.shape.push_back(e == 0 ? x.shape[i + 1] : e < 0 ? 1 : static_cast<std::size_t>(e));
      if (e < 0) open.push_back(i + 1);
      known *= y.shape.back();
    }
    if (shape == nullptr) y.shape.push_back(1), open = {1};
    if (!open.empty()) y.shape[open[0]] = x.v.size() / known;
    return y;
  }
  if (kind == "permute") {
    const std::vector<std::size_t> axes = s.list("axes");
    Tensor y{{}, std::vector<Num>(x.v.size())};
    for (const std::size_t a : axes) y.shape.push_back(x.shape[a]);
    for (std::size_t i = 0; i < y.v.size(); ++i) {
      const auto at = Window::at(i, y.shape);
      std::vector<std::size_t> from(axes.size());
      for (std::size_t a = 0; a < axes.size(); ++a) from[axes[a]] = static_cast<std::size_t>(at[a]);
      std::size_t flat = 0;
      for (std::size_t a = 0; a < axes.size(); ++a) flat = flat * x.shape[a] + from[a];
      y.v[i] = x.v[flat];
    }
    return y;
  }
  if (kind == "residual") {
    const Json* from = find(spec, "skip_from");
    if (from == nullptr || !from->is_array()) return x;
    Tensor y = x;
    const auto found = outputs_.find(index_of(*from));
    if (found == outputs_.end()) return leave("a skip from another cell");
    const Tensor& skip = found->second;
    for (std::size_t i = 0; i < y.v.size(); ++i) y.v[i] = y.v[i] + skip.v[i];
    return y;
  }
  if (kind == "lora") return layer(*find(spec, "base_layer"), child(l, "base_layer"), x);
  if (kind == "sequential") return sequential(s, l, x);
  if (kind == "parallel") return parallel(s, l, x);
  if (kind == "metacognition") return metacognition(s, l, x);
  return leave("kind " + kind);
}

inline std::optional<Tensor> ReferenceNetwork::sequential(const Settings& s, Layer& l, const Tensor& x) {
  const Json& list = *find(s.json(), "sequential_layers");
  Tensor now = x;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Settings c(list[i]);
    inputs.push_back(now);
    if (c.flag("is_disabled")) continue;
    const Json* from = find(list[i], "skip_from");
    const bool is_residual =
        c.text("type") == "residual" && (from == nullptr || !from->is_array()) && c.text("skip_from") != "none";
    if (is_residual) {
      const std::size_t source = from == nullptr || from->is_string() ? i - 1 : c.size("skip_from");
      for (std::size_t k = 0; k < now.v.size(); ++k) now.v[k] = now.v[k] + inputs[source].v[k];
      continue;
    }
    auto next = layer(list[i], child(l, fmt::format("sequential_layers.{}", i)), now);
    if (!next) return next;
    now = std::move(*next);
  }
  if (s.flag("residual"))
    for (std::size_t k = 0; k < now.v.size(); ++k) now.v[k] = x.v[k] + now.v[k];
  return now;
}

inline std::optional<Tensor> ReferenceNetwork::parallel(const Settings& s, Layer& l, const Tensor& x) {
  const Json* list = find(s.json(), "parallel_branches");
  if (list == nullptr || list->empty()) return x;
  const std::string mode = s.text("combine_mode", "concat");
  std::vector<Tensor> branches;
  std::vector<bool> enabled;
  for (std::size_t i = 0; i < list->size(); ++i) {
    // A branch that is switched off gives zeros of its shape.
    auto y = layer((*list)[i], child(l, fmt::format("parallel_branches.{}", i)), x);
    if (!y) return y;
    enabled.push_back(!Settings((*list)[i]).flag("is_disabled"));
    if (!enabled.back()) y->v.assign(y->v.size(), exactly(0));
    branches.push_back(std::move(*y));
  }
  const std::size_t n = branches.size();
  if (mode == "filter") return filter(s, l, x, branches, enabled);
  if (mode == "concat") {
    if (s.flag("flatten"))
      for (Tensor& b : branches) b.shape = {b.shape[0], b.v.size() / b.shape[0]};
    std::size_t cols = 0;
    for (const Tensor& b : branches) cols += b.cols();
    Tensor y{branches[0].shape, {}};
    y.shape.back() = cols;
    for (std::size_t r = 0; r < branches[0].rows(); ++r)
      for (const Tensor& b : branches) y.v.insert(y.v.end(), b.row(r), b.row(r) + b.cols());
    return y;
  }
  if (mode == "grid_scatter") {
    const Json* grid = find(s.json(), "scatter_grid");
    const Settings g(grid != nullptr ? *grid : s.json());
    const std::size_t depth = g.size("depth", 1), rows = g.size("rows", 1),
                      cols = g.size("cols", grid == nullptr ? n : 1), cells = depth * rows * cols;
    const std::size_t width = branches[0].cols(), lead = branches[0].rows();
    const std::string layout = s.text("scatter_layout", "flat");
    Tensor y{{branches[0].shape.begin(), branches[0].shape.end() - 1}, std::vector<Num>(lead * cells * width)};
    if (layout == "flat") {
      y.shape.push_back(cells * width);
    } else {
      if (layout == "channels_first") y.shape.push_back(width);
      y.shape.insert(y.shape.end(), {depth, rows, cols});
      if (layout == "grid") y.shape.push_back(width);
    }
    for (std::size_t b = 0; b < n; ++b) {
      const std::vector<std::size_t> to = Settings((*list)[b]).list("scatter_to");
      const std::size_t cell = to.empty() ? b : (to[0] * rows + to[1]) * cols + to[2];
      for (std::size_t r = 0; r < lead; ++r)
        for (std::size_t i = 0; i < width; ++i) {
          Num& v = y.v[layout == "channels_first" ? (r * width + i) * cells + cell : (r * cells + cell) * width + i];
          v = v + branches[b].row(r)[i];
        }
    }
    return y;
  }
  Tensor y = branches[0];
  std::size_t count = 0;
  for (Num& v : y.v) v = exactly(0);
  for (std::size_t b = 0; b < n; ++b) {
    if (!enabled[b]) continue;
    ++count;
    for (std::size_t i = 0; i < y.v.size(); ++i) y.v[i] = y.v[i] + branches[b].v[i];
  }
  if (mode == "avg" && count > 1)
    for (Num& v : y.v) v = v / exactly(static_cast<double>(count));
  return y;
}

inline std::optional<Tensor> ReferenceNetwork::filter(const Settings& s, Layer& l, const Tensor& x,
                                                      const std::vector<Tensor>& branches,
                                                      const std::vector<bool>& enabled) {
  const Json& gate = *find(s.json(), "filter_gate");
  auto z = layer(gate, child(l, "filter_gate"), x);
  if (!z) return z;
  const Json* children = find(gate, "sequential_layers");
  const bool given = children != nullptr && Settings((*children)[children->size() - 1]).text("type") == "softmax";
  const std::size_t n = branches.size(), top = s.size("top_k") == 0 ? n : s.size("top_k");
  if (s.text("gate_scope") == "sample" && z->shape.size() > 2) {
    Tensor mean{{z->shape[0], n}, std::vector<Num>(z->shape[0] * n)};
    const std::size_t rows = z->rows() / z->shape[0];
    for (std::size_t b = 0; b < z->shape[0]; ++b)
      for (std::size_t i = 0; i < n; ++i) {
        Sum sum;
        for (std::size_t r = 0; r < rows; ++r) sum.add(z->row(b * rows + r)[i]);
        mean.row(b)[i] = sum.value() / exactly(static_cast<double>(rows));
      }
    *z = mean;
  }
  Tensor y = branches[0];
  const std::size_t group = y.v.size() / z->rows();
  const double temperature = s.number("gate_temperature", 1);
  for (std::size_t g = 0; g < z->rows(); ++g) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < n; ++i)
      if (enabled[i]) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return z->row(g)[a].v > z->row(g)[b].v; });
    if (order.size() > top) {
      const Num in = z->row(g)[order[top - 1]], out = z->row(g)[order[top]];
      if (in.v - in.e <= out.v + out.e && !(given && in.v == 0 && out.v == 0) && !(in.v == out.v && in.e == 0))
        return leave("a gate between equals");
      order.resize(top);
    }
    std::sort(order.begin(), order.end());
    std::vector<Num> kept, p(order.size());
    for (const std::size_t i : order) kept.push_back(given ? z->row(g)[i] : z->row(g)[i] / rounded(temperature, 0));
    if (!given) {
      softmax_row(kept, p.data());
    } else if (order.size() == n) {
      p = kept;
    } else {
      Sum sum;
      for (const Num& v : kept) sum.add(v);
      if (!(sum.v > 0)) return leave("a gate that keeps nothing");
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = kept[i] / sum.value();
    }
    for (std::size_t e = 0; e < group; ++e) {
      Sum sum;
      for (std::size_t i = 0; i < order.size(); ++i) sum.add(p[i], branches[order[i]].v[g * group + e]);
      y.v[g * group + e] = sum.value();
    }
  }
  return y;
}

// A link to a link means the final target (engine V-24).
inline std::size_t ReferenceNetwork::target_of(const Settings& link) const {
  const std::size_t target =
      *network_.index_of({link.size("target_z"), link.size("target_y"), link.size("target_x"), link.size("target_l")});
  const Settings next(*cells_.at(target));
  return next.flag("is_remote_link") && next.text("link_mode", "auto") != "feed" ? target_of(next) : target;
}

inline std::optional<Tensor> ReferenceNetwork::share(const Settings& s, const Tensor& x) {
  return own(target_of(s), x);
}

inline std::optional<Tensor> ReferenceNetwork::cell(std::size_t index, const Tensor& x) {
  const Settings s(*cells_.at(index));
  if (!s.flag("is_remote_link")) return own(index, x);
  if (s.text("link_mode", "auto") != "feed") return share(s, x);
  const auto found = outputs_.find(target_of(s));
  if (found == outputs_.end()) return leave("a link from another cell");
  const Tensor& fed = found->second;
  Tensor in = fed;
  const std::string merge = s.text("link_merge", "replace");
  if (merge == "add")
    for (std::size_t i = 0; i < in.v.size(); ++i) in.v[i] = x.v[i] + fed.v[i];
  if (merge == "concat") {
    in = like(x, x.cols() + fed.cols());
    for (std::size_t r = 0; r < x.rows(); ++r) {
      std::copy(x.row(r), x.row(r) + x.cols(), in.row(r));
      std::copy(fed.row(r), fed.row(r) + fed.cols(), in.row(r) + x.cols());
    }
  }
  return own(index, in);
}

inline std::optional<Tensor> ReferenceNetwork::metacognition(const Settings& s, Layer& l, const Tensor& x) {
  auto y = layer(*find(s.json(), "meta_observed_layer"), child(l, "meta_observed_layer"), x);
  const std::string effect = s.text("meta_effect", "none"), source = s.text("meta_source", "input");
  if (!y || effect == "none") return y;
  if (effect == "noise") return leave("noise");
  if (source == "stats" || source == "history") return leave("figures");
  auto m = layer(*find(s.json(), "meta_network"), child(l, "meta_network"), source == "input" ? x : *y);
  if (!m) return m;
  const std::size_t groups = m->shape.size() > 1 ? m->shape[0] : 1, per = m->v.size() / groups,
                    size = y->v.size() / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    const Num* said = m->v.data() + g * per;
    if (effect == "intervention") {
      if (std::abs(said[0].v - 0.5) <= said[0].e) return leave("an intervention in doubt");
      for (std::size_t i = 0; i < size && said[0].v > 0.5; ++i) y->v[g * size + i] = said[1 + i % (per - 1)];
    } else {
      const Num factor = apply(said[0], logistic, 8);
      for (std::size_t i = 0; i < size; ++i) y->v[g * size + i] = y->v[g * size + i] * factor;
    }
  }
  return y;
}

}  // namespace loom::test
