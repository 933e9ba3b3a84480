#include <algorithm>

#include "core/checked.h"
#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "core/numerics_version.h"
#include "core/stack_limit.h"
#include "layers/adapter.h"
#include "layers/all.h"
#include "graph/folding.h"
#include "layers/graph/graph_layer.h"
#include "layers/residual/residual.h"
#include "network/spec/spec.h"
#include "network/spec/spec_fields.h"

namespace loom {
namespace {

constexpr std::size_t kDeepestSpec = 64;
constexpr std::string_view kSequenceLength = "seq_length";  // advisory: what is not positive reads as 1 (engine J-17)

// Results collected in one pass over a spec.
struct Findings : ConfigFindings {
  explicit Findings(const SpecOptions& given) : options(given) { strict = given.strict; }
  SpecOptions options;
  struct GivenWeights {
    Layer* layer;
    const Json* values;
    Steps place;
  };
  struct GivenShare {
    const Json* spec;
    Steps place;
    std::array<std::size_t, 4> target;
  };
  std::vector<GivenShare> shares;     // compared with their targets when all cells stand
  std::vector<GivenWeights> weights;  // read when all layers stand: what wraps a layer may give it more weights
  DType default_dtype = DType::float32;
  std::string init;
  double init_scale = 0;
  StackLimit stack;
};

Steps below(Steps place, std::string_view key) {
  place.emplace_back(key);
  return place;
}

// An integer, or its decimal digits as text: JSON's readers elsewhere lose the last bits of 64.
std::optional<std::uint64_t> as_u64(const Json& value) {
  if (const auto* n = value.get_ptr<const Json::number_unsigned_t*>()) return *n;
  // built by a program, not read
  if (const auto n = as_int(value); n && *n >= 0) return static_cast<std::uint64_t>(*n);
  const std::string* text = as_string(value);
  if (text == nullptr || text->empty() || text->size() > 20) return std::nullopt;
  std::uint64_t n = 0;
  for (const char c : *text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (c < '0' || c > '9' || n > (~std::uint64_t{0} - digit) / 10) return std::nullopt;
    n = n * 10 + digit;
  }
  return n;
}

LayerPtr read_layer(Findings& findings, const Json& spec, const Steps& place, std::size_t nesting);

// A config's reader that also reads what refers to layers.
class JsonReader final : public FieldVisitor, public ConfigReader {
 public:
  JsonReader(Findings& findings, const Json& object, Steps place, std::size_t nesting)
      : ConfigReader(findings, &object, std::move(place)), spec_(findings), nesting_(nesting) {}

  using ConfigReader::operator();
  void operator()(Key key, Activation& value) override {
    const std::string* text = name_of(key);
    if (text == nullptr) return;
    if (const auto found = activation_from_name(*text)) {
      value = *found;
      return;
    }
    std::vector<std::string_view> known;
    known.reserve(kNumActivations);
    for (std::size_t i = 0; i < kNumActivations; ++i) known.push_back(name(static_cast<Activation>(i)));
    complain(Code::UnknownName, key,
             fmt::format("activation \"{}\" is unknown; nearest: {}", printable(*text), nearest_names(*text, known)));
  }
  void operator()(Key key, AxisSizes& value) override {
    const Json* given = peek(key);
    if (given == nullptr) return void(take(key));
    if (given->is_array()) {
      (*this)(key, value.values);
      if (value.values.empty() || value.values.size() > 3) complain(key, "one to three integers", *given);
    } else if (const auto n = small(*given)) {
      take(key);
      value.values = {*n};
    } else {
      take(key), complain(key, "an integer, or one per axis", *given);
    }
  }
  void operator()(Key key, SkipFrom& value) override {
    const Json* given = peek(key);
    if (given == nullptr) return void(take(key));
    if (const auto n = small(*given)) {
      take(key);
      value = {SkipFrom::Kind::Child, *n, {}};
    } else if (given->is_array()) {
      if (const auto a = address(key)) value = {SkipFrom::Kind::Cell, 0, *a};
    } else {
      auto kind = std::size_t{0};
      choose(key, kind, std::array<std::string_view, 4>{"default", "previous", "none", "external"}, Code::UnknownName);
      value = {static_cast<SkipFrom::Kind>(kind), 0, {}};
    }
  }
  void operator()(Key key, LayerRef& value) override {
    const Json* given = peek(key);
    const std::string* text = given == nullptr ? nullptr : as_string(*given);
    if (given == nullptr || text != nullptr)
      take(key);
    else if (const auto a = address(key, "a layer's path or an address [z, y, x, l]"))
      value = {{}, a};
    if (text != nullptr) value = {*text, std::nullopt};
  }
  void operator()(Key key, std::vector<LayerPtr>& children) override {
    const Json* given = take(key);
    if (given == nullptr) return;
    if (!given->is_array()) return complain(key, "a list of layers", *given);
    children.clear();
    const Steps place = steps_to(used_as_);
    for (std::size_t i = 0; i < given->size(); ++i) {
      LayerPtr child = read_layer(spec_, (*given)[i], below(place, std::to_string(i)), nesting_ + 1);
      if (!child) return;
      children.push_back(std::move(child));
    }
  }
  void operator()(Key key, LayerPtr& child) override {
    if (const Json* given = take(key)) child = read_layer(spec_, *given, steps_to(used_as_), nesting_ + 1);
  }

 protected:
  void whole(Key key, std::uint64_t& value, SizeRange range) override {
    const Json* given = key.names == kSequenceLength ? take(key) : nullptr;
    if (given != nullptr && as_int(*given).value_or(1) <= 0)
      value = 1;
    else
      ConfigReader::whole(key, value, range);
  }

 private:
  static std::optional<std::size_t> small(const Json& value) {
    const auto n = as_int(value);
    return n && *n >= 0 && *n <= 0x7fffffff ? std::optional(static_cast<std::size_t>(*n)) : std::nullopt;
  }
  std::optional<std::array<std::size_t, 4>> address(Key key, std::string_view what = "an address [z, y, x, l]") {
    const Json& given = *peek(key);
    std::vector<std::size_t> a;
    const std::size_t before = findings_.errors.size();
    if (given.is_array())
      (*this)(key, a);
    else
      take(key);
    if (findings_.errors.size() != before) return std::nullopt;
    if (a.size() == 4) return std::array{a[0], a[1], a[2], a[3]};
    complain(key, what, given);
    return std::nullopt;
  }

  Findings& spec_;
  std::size_t nesting_;
};

// Hints change no number. A spec that asks for a device is warned: whoever runs the network chooses it (engine T-02).
void read_hints(Findings& findings, JsonReader& reader, const Steps& place, std::span<const Key> keys) {
  for (const Key& hint : keys) {
    const std::string_view key = hint.names;
    const Json* given = reader.take(key);
    if (given == nullptr) continue;
    const std::string* target = key == "exec_target" ? as_string(*given) : nullptr;
    if ((key == "use_gpu" && as_bool(*given).value_or(false)) || (target != nullptr && folded_name(*target) != "cpu"))
      findings.warn(below(place, key),
                    shown(*given) + " has no effect: the device is chosen when a network runs (--device)");
  }
}

void complain_of_unread_scale(JsonReader& reader, std::string_view init) {
  if (reads_init_scale(init))
    return reader.complain(Code::InvalidConfig, "init_scale",
                           "it is the size of the matrices that are drawn, and no layer draws one; leave it out");
  reader.complain(
      Code::InvalidConfig, "init_scale",
      fmt::format("only the inits uniform and normal read it, not {}", init.empty() ? "auto" : printable(init)));
}

// Settings of every layer, and that none of those given is without effect.
void read_common(Findings& findings, JsonReader& reader, CommonSettings& common) {
  common.encoding.dtype = findings.default_dtype;
  common.init = findings.init, common.init_scale = findings.init_scale;
  visit_common(reader, common);
  // A file brings its weights, however they were drawn.
  if (findings.options.initialise && common.init_scale != findings.init_scale && common.init_scale != 0 &&
      !reads_init_scale(common.init))
    complain_of_unread_scale(reader, common.init);
  const ScaleSpan &span = common.encoding.span, standard;
  if (std::ranges::find(kGroupSizes, span.group_size) == kGroupSizes.end())
    reader.complain("group_size", fmt::format("one of {}", fmt::join(kGroupSizes, ", ")), span.group_size);
  // Beside a type without groups it waits for a morph.
  if (span.group_size != standard.group_size &&
      (span.granularity == Granularity::Tensor || span.granularity == Granularity::Row))
    reader.complain(Code::InvalidConfig, "group_size", "scale_granularity says that there are no groups");
}

// Reads the graph of a layer that names its file; without a way to files, build() says so.
void read_graph_file(Findings& findings, Layer& layer, const Steps& place) {
  if (layer.kind() != "graph") return;  // by its name: modules without this kind hold nothing of it
  GraphLayer& graph = static_cast<GraphLayer&>(layer);
  if (graph.file() == nullptr || !findings.options.read_graph) return;
  auto model = findings.options.read_graph(*graph.file());
  if (!model) return findings.add(std::move(model.error().under(below(place, "graph"))));
  graph.adopt(std::move(*model));
}

// A layer's settings from the reader, then its weights; null after an error.
LayerPtr read_operation(Findings& findings, JsonReader& reader, const LayerKind& kind, const CommonSettings* common,
                        const Steps& place) {
  LayerPtr layer = kind.fresh();
  const std::size_t before = findings.errors.size();
  if (common == nullptr)
    read_common(findings, reader, layer->common);
  else
    layer->common = *common;
  read_hints(findings, reader, place, kHintKeys);
  layer->fields(reader);
  const Json* weights = reader.take("weights");
  // In other frameworks a residual holds the layers that it goes round.
  if (kind.name == "residual")
    for (const char* const key : {"layers", "sequential_layers"})
      if (reader.take(key) != nullptr)
        reader.complain(Code::UnknownKey, key,
                        "a residual holds no layers; write {\"type\": \"sequential\", \"residual\": true, "
                        "\"sequential_layers\": [...]}");
  reader.finish();
  read_graph_file(findings, *layer, place);
  if (findings.errors.size() != before) return nullptr;
  auto built = layer->build();
  if (built) built = attach_adapters(*layer);
  if (!built) return findings.add(std::move(built.error().under(place))), nullptr;
  if (weights != nullptr) findings.weights.push_back({layer.get(), weights, below(place, "weights")});
  return findings.errors.size() == before ? std::move(layer) : nullptr;
}

// Weights are read only where no error was found, since the layers may be gone after one.
void read_given_weights(Findings& findings) {
  for (const Findings::GivenWeights& given : findings.weights)
    if (findings.errors.empty())
      if (auto read = read_weights(*given.layer, *given.values); !read)
        findings.add(std::move(read.error().under(given.place)));
}

// A network says which cell an error is of, its spec which item of the list.
Error with_item(const Network& network, const std::vector<std::size_t>& cells, Error error) {
  Steps steps = error.place.steps();
  if (steps.size() < 2 || steps[0] != "layers") return error;
  for (std::size_t item = 0; item < cells.size(); ++item)
    if (cells[item] < network.num_cells() && network.steps(cells[item])[1] == steps[1]) {
      steps[1] = std::to_string(item);
      error.place = Place(std::move(steps), error.place.source());
      break;
    }
  return error;
}

// Outside a sequence a residual has no child before it whose input it could add (engine V-31).
void warn_of_lone_residuals(Findings& findings, const Network& network, const std::vector<std::size_t>& cells) {
  for (const std::size_t cell : cells) {
    if (!network.cell(cell).layer) continue;
    visit_layers(Network::path(cell), *network.cell(cell).layer, [&](const std::string& path, Layer& layer) {
      const Residual* residual = layer_as<Residual>(layer);
      if (residual == nullptr || findings.warnings.size() >= ConfigFindings::kMost) return;
      Steps steps = network.steps(path);
      if (steps[steps.size() - 2] == "sequential_layers") return;
      if (const auto kind = residual->from().kind; kind != SkipFrom::Kind::Default && kind != SkipFrom::Kind::Previous)
        return;
      const Error place = with_item(network, cells, {Code::InvalidConfig, "", std::move(steps)});
      findings.warn(place.place.steps(),
                    "a residual that stands in no sequence passes its input through; skip_from names what it adds");
    });
  }
}

// The kind that the member "type" names; null after an error.
const LayerKind* read_kind(Findings& findings, JsonReader& reader) {
  const Json* type = reader.take("type");
  if (type == nullptr) {
    reader.complain(Code::InvalidConfig, "type", "is missing");
    return nullptr;
  }
  const std::string* name = as_string(*type);
  if (name == nullptr) {
    reader.complain("type", "the name of a layer type", *type);
    return nullptr;
  }
  const auto kind = layer_kind(*name);
  if (!kind) {
    findings.add(kind.error().code, reader.steps_to("type"), kind.error().message);
    return nullptr;
  }
  return *kind;
}

// Reads a remote link. A link that shares another cell's operation has none of its own: type, sizes and weights beside
// it do nothing (V-20), so they must be equal to the target's (check_shares). A cell of the grid keeps its operation,
// because the step mesh, or link_mode feed, runs it.
Cell read_link(Findings& findings, JsonReader& reader, const Json& spec, const Steps& place, bool is_cell) {
  auto link = std::make_unique<Link>();
  const std::size_t before = findings.errors.size();
  read_common(findings, reader, link->share.common);
  link->share.fields(reader);
  if (findings.errors.size() != before) return {};
  if (!is_cell && link->feeds()) {
    findings.add(Code::InvalidConfig, place, "a feed link stands in a cell of the grid, not inside a container");
    return Cell();
  }
  if (!is_cell || link->share.mode() == Share::Mode::Share) {
    findings.shares.push_back({&spec, place, link->share.address()});
    return {nullptr, std::move(link)};
  }
  if (find(spec, "type") == nullptr) {
    reader.take("type");
    read_hints(findings, reader, place, kHintKeys);
    reader.finish();
    return findings.errors.size() == before ? Cell(nullptr, std::move(link)) : Cell();
  }
  const LayerKind* const kind = read_kind(findings, reader);
  if (kind == nullptr) return {};
  LayerPtr own = read_operation(findings, reader, *kind, &link->share.common, place);
  return own ? Cell(std::move(own), std::move(link)) : Cell();
}

// Reads the layer and the link of a cell, whose spec may hold the keys `placement`, or of a place inside a container,
// which has none. The cell is empty after an error.
Cell read_cell(Findings& findings, const Json& spec, const Steps& place, std::size_t nesting,
               std::span<const std::string_view> placement) {
  if (!spec.is_object()) {
    findings.add(Code::InvalidConfig, place, expected("a layer as an object", spec));
    return {};
  }
  if (nesting > kDeepestSpec) {
    findings.add(Code::NestingTooDeep, place, fmt::format("containers nest deeper than {}", kDeepestSpec));
    return Cell();
  }
  if (findings.stack.reached()) {
    findings.add(Code::NestingTooDeep, place, "containers nest deeper than the stack of this thread allows");
    return Cell();
  }
  JsonReader reader(findings, spec, place, nesting);
  for (const std::string_view key : placement) reader.take(key);
  bool is_link = false;
  reader("is_remote_link", is_link);
  if (is_link) return read_link(findings, reader, spec, place, !placement.empty());
  // A writer that names every key says is_remote_link: false; without it the target would be dropped in silence.
  Share none;
  none.fields(reader);
  if (find(spec, "is_remote_link") == nullptr)
    for (const std::string_view key : {"target_z", "target_y", "target_x", "target_l", "link_mode", "link_merge"})
      if (find(spec, key) != nullptr)
        findings.object_to(Code::InvalidConfig, below(place, key), "a link's key without is_remote_link");
  const LayerKind* const kind = read_kind(findings, reader);
  if (kind == nullptr) return {};
  return read_operation(findings, reader, *kind, nullptr, place);
}

LayerPtr read_layer(Findings& findings, const Json& spec, const Steps& place, std::size_t nesting) {
  Cell cell = read_cell(findings, spec, place, nesting, {});
  return cell.link ? std::make_unique<Share>(std::move(cell.link->share)) : std::move(cell.layer);
}

constexpr std::array<std::string_view, 4> kPlacement = {"z", "y", "x", "l"};

constexpr std::array<std::string_view, 4> kExtents = {"depth", "rows", "cols", "layers_per_cell"};

bool is_unplaced(const Json& layer) {
  return std::ranges::none_of(kPlacement, [&](std::string_view key) { return find(layer, key) != nullptr; });
}

std::optional<Address> read_address(Findings& findings, const Json& spec, const Steps& place) {
  Address a;
  const std::array<std::size_t*, 4> parts = {&a.z, &a.y, &a.x, &a.l};
  for (std::size_t i = 0; i < 4; ++i) {
    const Json* given = find(spec, kPlacement[i]);
    const std::int64_t n = given == nullptr ? -1 : as_int(*given).value_or(-1);
    if (n < 0 || n > 65535) {
      findings.add(Code::InvalidConfig, below(place, kPlacement[i]),
                   given == nullptr ? "is missing" : expected("an integer from 0 to 65535", *given));
      return std::nullopt;
    }
    *parts[i] = static_cast<std::size_t>(n);
  }
  return a;
}

void read_settings(JsonReader& reader, Findings& findings, NetworkSettings& s) {
  visit_settings(reader, s);
  if (const Json* seed = reader.take("seed")) {
    const auto n = as_u64(*seed);
    if (n)
      s.seed = *n;
    else
      reader.complain("seed", "an unsigned 64-bit integer or its decimal text", *seed);
  }
  std::vector<std::size_t> extents;
  reader("input_shape", extents);
  if (!extents.empty()) {
    auto shape = Shape::create(extents);
    if (shape)
      s.input_shape = *shape;
    else
      findings.add(std::move(shape.error().under({"input_shape"})));
  }
  if (const Json* version = reader.take("numerics_version");
      version != nullptr && as_int(*version).value_or(-1) != kNumericsVersion)
    reader.complain(Code::Unsupported, "numerics_version",
                    expected(fmt::format("version {}, which this program computes", kNumericsVersion), *version));
  if (const Json* metadata = reader.take("metadata")) s.metadata = std::make_shared<const Json>(*metadata);
  read_hints(findings, reader, {}, kNetworkHintKeys);
}

// Fills the network; the cell of each item, num_cells() for one that has none.
std::vector<std::size_t> read_cells(Findings& findings, Network& network, const Json& layers, bool is_list) {
  std::vector<std::size_t> cells;
  for (std::size_t i = 0; i < layers.size() && findings.errors.size() < ConfigFindings::kMost; ++i) {
    const Steps place = {"layers", std::to_string(i)};
    const Json& item = layers[i];
    cells.push_back(network.num_cells());
    const auto address = is_list && is_unplaced(item) ? Address{0, 0, 0, i} : read_address(findings, item, place);
    Cell cell = read_cell(findings, item, place, 0, kPlacement);
    if (!address || cell.is_empty()) continue;
    const auto index = network.index_of(*address);
    if (!index) {
      findings.add(std::move(Error(index.error()).under(place)));
    } else if (!network.cell(*index).is_empty()) {
      findings.add(Code::InvalidConfig, place, network.place_text(*index) + " is taken by an earlier layer");
    } else {
      network.exchange(*index, std::move(cell));
      cells.back() = *index;
    }
  }
  return cells;
}

// The keys that a link reads which shares an operation, and the settings of every layer, which specs of such links
// carry although they are the target's to say: digests of evolved networks cover them.
constexpr std::array<std::string_view, 24> kShareKeys = {"z",
                                                         "y",
                                                         "x",
                                                         "l",
                                                         "is_remote_link",
                                                         "target_z",
                                                         "target_y",
                                                         "target_x",
                                                         "target_l",
                                                         "link_mode",
                                                         "link_merge",
                                                         "name",
                                                         "is_disabled",
                                                         "scatter_to",
                                                         "dtype",
                                                         "scale_granularity",
                                                         "group_size",
                                                         "activation_quant",
                                                         "init",
                                                         "init_scale",
                                                         "adapters",
                                                         "freeze_base",
                                                         "trainable",
                                                         "learning_rate_scale"};

// The item of the list that stands at an address; null for none.
const Json* item_at(const Json& layers, bool is_list, const std::array<std::size_t, 4>& address) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].is_object()) continue;
    std::array<std::size_t, 4> at{0, 0, 0, i};
    if (!is_list || !is_unplaced(layers[i]))
      for (std::size_t k = 0; k < 4; ++k) {
        const Json* given = find(layers[i], kPlacement[k]);
        at[k] = given == nullptr ? ~std::size_t{0} : static_cast<std::size_t>(as_int(*given).value_or(-1));
      }
    if (at == address) return &layers[i];
  }
  return nullptr;
}

// A link that shares runs the operation of its target: a key of an operation beside the link is refused unless the
// target has it with an equal value.
void check_shares(Findings& findings, const Json& layers, bool is_list) {
  for (const Findings::GivenShare& share : findings.shares) {
    const Json* const target = item_at(layers, is_list, share.target);
    for (const auto& [key, value] : share.spec->items()) {
      const bool is_hint = std::ranges::any_of(kHintKeys, [&](const Key& hint) { return hint.names == key; });
      if (is_hint || std::ranges::find(kShareKeys, key) != kShareKeys.end()) continue;
      const Json* const said = target == nullptr ? nullptr : find(*target, key);
      if (said != nullptr && *said == value) continue;
      findings.object_to(said == nullptr ? Code::UnknownKey : Code::InvalidConfig, below(share.place, key),
                         fmt::format("a link that shares runs the operation of its target, which says {}; leave it out",
                                     said == nullptr ? "nothing of it" : shown(*said)));
    }
  }
}

// SizeOverflow, OutOfMemory: before a weight is drawn. After this call weights know their types.
Result<void> check_sizes(Network& network, const SpecOptions& options) {
  std::uint64_t elements = 0;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    elements += std::min<std::uint64_t>(w.elements(), options.max_weights);
  });
  if (elements > options.max_weights)
    return fail_at({"layers"}, Code::SizeOverflow, "{} weights in all, at most {} are allowed", elements,
                   options.max_weights);
  network.visit_weights(
      [](const std::string&, Weight& w, const Layer& layer) { static_cast<void>(w.morph(layer.common.encoding)); });
  if (!options.initialise) return {};
  const std::uint64_t bytes = network.resident_bytes() + elements * sizeof(float);  // masters
  if (bytes > options.max_bytes)
    return fail_at({"layers"}, Code::OutOfMemory, "{} weights take {:.1f} GB, at most {:.1f} GB are allowed", elements,
                   static_cast<double>(bytes) / 1e9, static_cast<double>(options.max_bytes) / 1e9);
  return {};
}

}  // namespace

Result<SpecResult> network_from_json(const Json& spec, const SpecOptions& options) {
  const graph::FoldingBudget folding;  // one for the graphs of all layers
  Findings findings(options);
  if (!spec.is_object()) return fail(Code::InvalidConfig, "{}", expected("a network as an object", spec));
  JsonReader reader(findings, spec, {}, 0);
  bool strict = true;
  reader("strict", strict);
  findings.strict = findings.strict && strict;
  // Without extents the layers are a list, in a grid of one place.
  const bool is_list = std::ranges::none_of(kExtents, [&](std::string_view key) { return find(spec, key) != nullptr; });
  GridSize size{0, 0, 0, 0};
  if (!is_list) {
    reader(kExtents[0], size.depth, {1, 65536});
    reader(kExtents[1], size.rows, {1, 65536});
    reader(kExtents[2], size.cols, {1, 65536});
    reader(kExtents[3], size.layers_per_cell, {1, 65536});
  }
  NetworkSettings settings;
  read_settings(reader, findings, settings);
  const Json* layers = reader.take("layers");
  reader.finish();
  if (layers == nullptr)
    reader.complain(Code::InvalidConfig, "layers", "is missing");
  else if (!layers->is_array())
    reader.complain("layers", "a list of layers", *layers);
  LOOM_TRY_VOID(findings.result());
  findings.default_dtype = settings.default_dtype, findings.init = settings.init,
  findings.init_scale = settings.init_scale;
  if (is_list) size = {1, 1, 1, std::max<std::size_t>(layers->size(), 1)};
  LOOM_TRY(Network network, Network::create(size));
  const std::vector<std::size_t> cells = read_cells(findings, network, *layers, is_list);
  check_shares(findings, *layers, is_list);
  network.settings = std::move(settings);
  if (options.initialise && network.settings.init_scale != 0 && !any_reads_init_scale(network))
    complain_of_unread_scale(reader, network.settings.init);
  LOOM_TRY_VOID(findings.result());
  if (auto tied = network.settle(); !tied)
    return tl::make_unexpected(with_item(network, cells, std::move(tied).error()));
  LOOM_TRY_VOID(check_sizes(network, options));
  read_given_weights(findings);
  LOOM_TRY_VOID(findings.result());
  Plans plans;
  if (network.settings.input_shape) {
    const Shape sample = network.with_batch(*network.settings.input_shape, 1);
    auto planned = ForwardPlan::create(network, sample);
    if (planned) {
      plans.forward = *std::move(planned);
    } else {
      // A network with feedback links runs only in the step mesh: a forward pass is refused when it is requested.
      if (planned.error().code == Code::FeedbackLink)
        if (auto steps = StepPlan::create(network, sample)) plans.steps = *std::move(steps);
      if (plans.steps == nullptr) return tl::make_unexpected(with_item(network, cells, std::move(planned).error()));
    }
  }
  warn_of_lone_residuals(findings, network, cells);
  if (options.initialise) {
    LOOM_TRY_VOID(network.initialise());
  }
  return SpecResult{std::move(network), std::move(findings.warnings), std::move(plans)};
}

Result<SpecResult> network_from_json(std::string_view text, const SpecOptions& options) {
  LOOM_TRY(const Json spec, parse_json(text));
  return network_from_json(spec, options);
}

Result<LayerPtr> layer_from_json(const Json& spec, const SpecOptions& options) {
  Findings findings(options);
  LayerPtr layer = read_layer(findings, spec, {}, 0);
  if (layer) read_given_weights(findings);
  LOOM_TRY_VOID(findings.result());
  return layer;
}

}  // namespace loom
