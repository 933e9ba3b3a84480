#include "bridge/payload_network.h"

#include <algorithm>

#include "bridge/payload_layers.h"
#include "core/checked.h"
#include "core/nearest.h"
#include "network/plan/forward_plan.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

constexpr std::size_t kMostLayers = 4096;
constexpr std::string_view kMixers[] = {"mixer", "chain"};  // of layers of any kind
constexpr std::string_view kNetwork = "network";

std::size_t product(std::span<const std::size_t> extents) {
  std::size_t n = 1;
  for (const std::size_t extent : extents) n *= extent;
  return n;
}

// Chains the layers of a payload and keeps the shape of a sample between them.
class Chain {
 public:
  Chain(const Json& payload, std::string bedrock, Element element)
      : payload_(payload), root_(payload, {}, bedrock), element_(element) {
    out_.bedrock = std::move(bedrock);
  }

  Result<BridgeNetwork> build() {
    LOOM_TRY_VOID(plan());
    LOOM_TRY_VOID(find_input());
    for (std::size_t i = 0; i < plans_.size(); ++i) LOOM_TRY_VOID(add(i));
    LOOM_TRY_VOID(order_outputs());
    LOOM_TRY_VOID(make());
    return {std::move(out_)};
  }

 private:
  static Steps place(std::size_t index) { return {"layers", std::to_string(index)}; }
  bool is_mixer() const { return std::ranges::find(kMixers, out_.bedrock) != std::end(kMixers); }
  tl::unexpected<Error> wrong(std::size_t index, const std::string& message) const {
    return fail_at(place(index), Code::ShapeMismatch, "{}: {}", out_.kinds[index], message);
  }

  Result<void> plan() {
    const Json* layers = find(payload_, "layers");
    if (layers == nullptr || !layers->is_array() || layers->empty() || layers->size() > kMostLayers)
      return fail_at({"layers"}, Code::InvalidConfig, "expected a list of 1 to {} layers", kMostLayers);
    LOOM_TRY(const std::string planet, root_.text("planet", ""));
    const std::string_view square = square_layout(planet);
    for (const Json& layer : *layers) {
      const std::size_t index = plans_.size();
      const Json* kind = find(layer, "kind");
      const std::string* named = kind == nullptr ? nullptr : as_string(*kind);
      out_.kinds.push_back(named == nullptr || named->empty() ? out_.bedrock : *named);
      if (is_mixer() && named == nullptr)
        return fail_at(place(index), Code::InvalidConfig, "a layer of a mixer says its kind");
      if (!is_mixer() && out_.kinds.back() != out_.bedrock)
        return fail_at(place(index), Code::InvalidConfig, "kind \"{}\" in a stream of {} layers",
                       printable(out_.kinds.back()), out_.bedrock);
      LOOM_TRY(PlannedLayer planned, plan_layer(layer, out_.kinds.back(), {place(index), index, square}));
      plans_.push_back(std::move(planned));
    }
    return {};
  }

  // JAX and scikit-learn keep a matrix as [in, out]. planetbridging 0.7.3 turns it round by its shape, so a square one
  // arrives as it was kept.
  std::string_view square_layout(std::string_view planet) const {
    return out_.bedrock == "dense" && (planet == "jax" || planet == "sklearn") ? "in_out" : "out_in";
  }

  // JAX and Keras keep channels last, also in the row that a convolution's output becomes.
  Result<void> order_outputs() {
    LOOM_TRY(const std::string planet, root_.text("planet", ""));
    // Keras takes cnn3 with channels first, as planetbridging sets it up.
    const bool keras = planet == "tensorflow" && (out_.bedrock == "cnn1" || out_.bedrock == "cnn2");
    const bool by_source = keras || (planet == "jax" && out_.bedrock.starts_with("cnn"));
    LOOM_TRY(const std::string order, root_.text("output_layout", by_source ? "channels_last" : "channels_first"));
    if (order != "channels_last" && order != "channels_first")
      return root_.wrong("output_layout", Code::UnknownName,
                         fmt::format("expected channels_first or channels_last, got {}", printable(order)));
    if (order == "channels_first" || current_.rank() < 2) return {};
    Json axes = Json::array({0});
    for (std::size_t a = 2; a <= current_.rank(); ++a) axes.push_back(a);
    axes.push_back(1);
    cells_.push_back({{"type", "permute"}, {"axes", std::move(axes)}});
    return {};
  }

  // The shape that the first layer reads: its own, or that of the payload.
  Result<std::vector<std::size_t>> first_input() {
    const PlannedLayer& first = plans_[0];
    if (!first.input.empty()) return first.input;
    LOOM_TRY(auto given, root_.sizes("input_shape", 1));
    if (!given.empty()) return given;
    LOOM_TRY(const std::size_t steps, root_.size("seq_len", 0, std::size_t{1} << 24, 0));
    if (first.reads_tokens && steps > 0) return std::vector<std::size_t>{steps};
    if (first.features > 0 && steps > 0) return std::vector<std::size_t>{steps, first.features};
    if (first.features > 0) return std::vector<std::size_t>{first.features};
    return fail_at({"input_shape"}, Code::InvalidConfig, "{}: seq_len or input_shape is missing", out_.kinds[0]);
  }

  Result<void> find_input() {
    LOOM_TRY(const auto extents, first_input());
    LOOM_TRY(current_, Shape::create(extents));
    if (!is_mixer() && plans_[0].adds_skip) {
      out_.inputs = {{"x_main_test", "inputs", current_}, {"x_skip_test", "skip_inputs", current_, true}};
    } else {
      out_.inputs = {{"x_test", "inputs", current_}};
    }
    out_.sample = current_;
    for (std::size_t i = 1; i < plans_.size(); ++i)
      if (plans_[i].reads_tokens) return add_token_input(i);
    return {};
  }

  // Tokens that a layer after the first one reads come after the other numbers of a row; two matrices of zeros and ones
  // split a row.
  Result<void> add_token_input(std::size_t index) {
    std::size_t steps = 0;
    for (std::size_t i = index; i < plans_.size() && steps == 0; ++i) steps = plans_[i].steps;
    if (steps == 0) {
      LOOM_TRY(steps, root_.size("seq_len", 0, std::size_t{1} << 24, 0));
    }
    if (steps == 0) return wrong(index, "expected seq_len, the number of tokens, in a layer after it");
    const std::size_t numbers = current_.elements();
    constexpr std::size_t kMostSelected = 4096;  // both extents of a matrix that selects
    if (numbers + steps > kMostSelected) return wrong(index, "a row with tokens has more than 4096 numbers");
    num_tokens_ = steps;
    out_.inputs.push_back({"token_ids_test", "token_inputs", Shape::of({steps})});
    out_.sample = Shape::of({numbers + steps});
    cells_.push_back({{"type", "reshape"}, {"name", "row"}, {"shape", {numbers + steps}}});
    cells_.push_back(selection("numbers", 0, numbers, Network::path(cells_.size())));
    current_ = Shape::of({numbers});
    return reshape_to(out_.inputs[0].shape);
  }

  // A dense layer that gives `count` numbers of a row as they are.
  Json selection(const char* name, std::size_t first, std::size_t count, const std::string& path) {
    const std::size_t width = out_.sample.elements();
    std::vector<float> ones(count * width);
    for (std::size_t i = 0; i < count; ++i) ones[i * width + first + i] = 1;
    values_.push_back({path, {{"weight", std::move(ones)}}});
    return {{"type", "dense"}, {"name", name}, {"input_height", width}, {"output_height", count}, {"trainable", false}};
  }

  Result<void> reshape_to(const Shape& shape) {
    if (current_ == shape) return {};
    const auto extents = shape.extents();
    cells_.push_back({{"type", "reshape"}, {"shape", std::vector<std::size_t>(extents.begin(), extents.end())}});
    current_ = shape;
    return {};
  }

  // Reshapes what stands before layer `index` to what it reads.
  Result<void> fit(std::size_t index) {
    const PlannedLayer& planned = plans_[index];
    if (!planned.input.empty()) {
      if (product(planned.input) != current_.elements())
        return wrong(index, fmt::format("reads {} numbers, {} come in ({})", product(planned.input),
                                        current_.elements(), current_.text()));
      return reshape_to(Shape::create(planned.input).value());
    }
    if (planned.features == 0 || planned.features == current_.cols()) return {};
    if (planned.features != current_.elements())
      return wrong(index, fmt::format("reads {} features, {} come in ({})", planned.features, current_.elements(),
                                      current_.text()));
    return reshape_to(Shape::of({planned.features}));
  }

  Result<void> add(std::size_t index) {
    PlannedLayer& planned = plans_[index];
    if (planned.reads_tokens && index > 0) return add_embedding(index);
    LOOM_TRY_VOID(fit(index));
    if (planned.adds_skip) {
      if (!is_mixer()) {
        planned.spec["skip_from"] = "external";
      } else if (!last_norm_) {
        return wrong(index, "no norm stands before it, whose output it could add");
      } else {
        planned.spec["skip_from"] = {0, 0, 0, *last_norm_};
      }
    }
    LOOM_TRY_VOID(follow(index, planned.spec, current_));
    values_.push_back({Network::path(cells_.size()), std::move(planned.values)});
    out_.cells.push_back(cells_.size());
    if (planned.saves_skip) last_norm_ = cells_.size();
    cells_.push_back(std::move(planned.spec));
    return {};
  }

  // Sets the shape after a layer that reads `from`.
  Result<void> follow(std::size_t index, const Json& spec, const Shape& from) {
    auto layer = layer_from_json(spec);
    if (!layer) return under(place(index), std::move(layer).error());
    auto shape = (*layer)->output_shape(Network::with_batch(from, 1));
    if (!shape) return under(place(index), std::move(shape).error());
    LOOM_TRY(current_, Shape::create(shape->extents().subspan(1)));
    return {};
  }

  Result<void> add_embedding(std::size_t index) {
    PlannedLayer& planned = plans_[index];
    const std::string path = Network::path(cells_.size());
    Json tokens = selection("tokens", out_.sample.elements() - num_tokens_, num_tokens_, path + ".sequential_layers.0");
    LOOM_TRY_VOID(follow(index, planned.spec, Shape::of({num_tokens_})));
    values_.push_back({path + ".sequential_layers.1", std::move(planned.values)});
    out_.cells.push_back(cells_.size());
    cells_.push_back({{"type", "sequential"},
                      {"is_remote_link", true},
                      {"link_mode", "feed"},
                      {"sequential_layers", Json::array({std::move(tokens), std::move(planned.spec)})}});
    return {};
  }

  // In float32 the mean and the variance of rows that are nearly constant lose three digits: norms by themselves are
  // computed in float64, as their sources' references are.
  const char* default_activations() const { return out_.bedrock == "layernorm" ? "float64" : "float32"; }

  Result<void> make() {
    Json spec = {{"id", out_.bedrock}, {"layers", std::move(cells_)}};
    const auto extents = out_.sample.extents();
    spec["input_shape"] = std::vector<std::size_t>(extents.begin(), extents.end());
    LOOM_TRY(const std::string activations, root_.text("activations", default_activations()));
    spec["activations"] = element_ == Element::f64 ? "float64" : activations;
    LOOM_TRY(SpecResult read, network_from_json(spec, {.initialise = false}));
    out_.network = std::move(read.network);
    for (const auto& [path, values] : values_) {
      LOOM_TRY(Layer * layer, out_.network.layer_at(path));
      for (const NamedValues& named : values) {
        Weight* weight = find_weight(*layer, named.name);
        if (weight == nullptr) return fail(Code::NotFound, "{} has no weight {}", path, named.name);
        LOOM_TRY_VOID(weight->set(std::span<const float>(named.values)));
        out_.weight_bytes += named.values.size() * sizeof(float);
      }
    }
    LOOM_TRY_VOID(ForwardPlan::create(out_.network, Network::with_batch(out_.sample, 1)));
    return {};
  }

  const Json& payload_;
  PayloadObject root_;
  Element element_;
  BridgeNetwork out_{Network::create({}).value(), {}, {}, {}, {}, {}, 0};
  std::vector<PlannedLayer> plans_;
  Json cells_ = Json::array();
  std::vector<std::pair<std::string, std::vector<NamedValues>>> values_;  // by the path of their layer
  Shape current_;                                                         // of a sample, after the last cell
  std::size_t num_tokens_ = 0;
  std::optional<std::size_t> last_norm_;
};

// Values of weights by their paths, and none that is left out.
Result<std::size_t> fill(Network& network, const Json* weights) {
  std::optional<Error> error;
  std::size_t used = 0, bytes = 0;
  network.visit_weights([&](const std::string& path, Weight& weight, Layer&) {
    if (error) return;
    const Json* given = weights == nullptr ? nullptr : find(*weights, path);
    const auto done = [&]() -> Result<void> {
      bytes += weight.elements() * sizeof(float);
      if (given == nullptr && weight.has_value()) return {};
      if (given == nullptr) return fail(Code::NotFound, "no values are given for it");
      ++used;
      LOOM_TRY(const std::vector<float> values, float_values(*given));
      if (values.size() != weight.elements())
        return fail(Code::ShapeMismatch, "{} numbers, expected {} ({})", values.size(), weight.elements(),
                    weight.shape().text());
      return weight.set(std::span<const float>(values));
    }();
    if (!done) error = Error{done.error().code, done.error().message, Place({"weights", path})};
  });
  if (error) return tl::make_unexpected(*std::move(error));
  if (weights == nullptr) return bytes;
  if (!weights->is_object()) return fail_at({"weights"}, Code::InvalidConfig, "expected an object of tensors by name");
  if (used == weights->size()) return bytes;
  for (const auto& [name, value] : weights->items()) {
    bool known = false;
    network.visit_weights([&](const std::string& path, const Weight&, const Layer&) { known = known || path == name; });
    if (!known) return fail_at({"weights", name}, Code::UnknownName, "the network has no such tensor");
  }
  return bytes;
}

// A network's own spec, with its weights by name.
Result<BridgeNetwork> generic_network(const Json& payload, Element element) {
  const Json* given = find(payload, "network");
  if (given == nullptr || !given->is_object())
    return fail_at({"network"}, Code::InvalidConfig, "expected the spec of a network (docs/reference/layers.md)");
  Json spec = *given;
  if (element == Element::f64) spec["activations"] = "float64";
  auto read = network_from_json(spec, {.initialise = false});
  if (!read) return under({"network"}, std::move(read).error());
  BridgeNetwork out{std::move(read->network), std::string(kNetwork), {}, {}, {}, {}, 0};
  if (!out.network.settings.input_shape)
    return fail_at({"network", "input_shape"}, Code::InvalidConfig, "input_shape is missing");
  out.sample = *out.network.settings.input_shape;
  out.inputs = {{"x_test", "inputs", out.sample}};
  LOOM_TRY(out.weight_bytes, fill(out.network, find(payload, "weights")));
  LOOM_TRY_VOID(ForwardPlan::create(out.network, Network::with_batch(out.sample, 1)));
  for (std::size_t cell = 0; cell < out.network.num_cells(); ++cell) {
    if (out.network.cell(cell).is_empty()) continue;
    out.kinds.emplace_back(out.network.cell(cell).front()->kind());
    out.cells.push_back(cell);
  }
  return out;
}

}  // namespace

Result<std::string> payload_bedrock(const Json& payload) {
  if (!payload.is_object()) return fail(Code::InvalidConfig, "expected a payload: an object with layers");
  if (find(payload, "network") != nullptr) return std::string(kNetwork);
  const Json* given = find(payload, "bedrock");
  if (given == nullptr)
    if (const Json* layers = find(payload, "layers"); layers != nullptr && layers->is_array() && !layers->empty())
      given = find((*layers)[0], "kind");
  if (given == nullptr || given->is_null()) return std::string("dense");
  const std::string* name = as_string(*given);
  const auto kinds = payload_kinds();
  const bool known = name != nullptr && (*name == kNetwork || std::ranges::find(kinds, *name) != kinds.end() ||
                                         std::ranges::find(kMixers, *name) != std::end(kMixers));
  if (!known)
    return fail_at({"bedrock"}, Code::UnknownName, "unknown layer kind {}; nearest: {}", printable(dump_json(*given)),
                   nearest_names(name == nullptr ? "" : *name, kinds));
  return *name;
}

Result<BridgeNetwork> network_from_payload(const Json& payload, Element element) {
  LOOM_TRY(std::string bedrock, payload_bedrock(payload));
  if (bedrock == kNetwork) return generic_network(payload, element);
  return Chain(payload, std::move(bedrock), element).build();
}

}  // namespace loom
