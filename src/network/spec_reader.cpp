#include <algorithm>
#include <set>

#include "core/checked.h"
#include "core/nearest.h"
#include "core/numerics_version.h"
#include "core/stack_limit.h"
#include "layers/adapter.h"
#include "layers/all.h"
#include "layers/residual/residual.h"
#include "network/spec.h"
#include "network/spec_fields.h"

namespace loom {
namespace {

constexpr std::size_t kMaxErrors = 32, kDeepestSpec = 64;
constexpr std::string_view kSequenceLength = "seq_length";  // advisory: what is not positive reads as 1 (engine J-17)

// Results collected in one pass over a spec.
struct Findings {
  explicit Findings(const SpecOptions& given) : options(given) {}
  SpecOptions options;
  std::vector<Error> errors;
  std::vector<std::string> warnings;
  struct GivenWeights {
    Layer* layer;
    const Json* values;
    std::string pointer;
  };
  std::vector<GivenWeights> weights;  // read when all layers stand: what wraps a layer may give it more weights
  DType default_dtype = DType::float32;
  std::string init;
  double init_scale = 0;
  StackLimit stack;

  void add(Code code, const std::string& pointer, const std::string& message) {
    if (errors.size() < kMaxErrors) errors.push_back({code, (pointer.empty() ? "/" : pointer) + ": " + message});
  }
  void warn(const std::string& pointer, const std::string& message) {
    if (warnings.size() < kMaxErrors) warnings.push_back(pointer + ": " + message);
  }
  // An error of strict reading.
  void object_to(Code code, const std::string& pointer, const std::string& message) {
    options.strict ? add(code, pointer, message) : warn(pointer, message);
  }
  tl::unexpected<Error> joined() const {
    Error all = errors.front();
    for (std::size_t i = 1; i < errors.size(); ++i) all.message += "; " + errors[i].message;
    return tl::make_unexpected(std::move(all));
  }
};

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : printable(key)) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

// An integer, or its decimal digits as text: JSON's readers elsewhere lose the last bits of 64.
std::optional<std::uint64_t> as_u64(const Json& value) {
  if (const auto* n = value.get_ptr<const Json::number_unsigned_t*>()) return *n;
  if (const auto n = as_int(value); n && *n >= 0) return static_cast<std::uint64_t>(*n);  // built by a program, not read
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

std::string shown(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return text;
}

LayerPtr read_layer(Findings& findings, const Json& spec, const std::string& pointer, std::size_t nesting);

// Fills members from one JSON object; a missing key leaves the default.
class JsonReader final : public FieldVisitor {
 public:
  JsonReader(Findings& findings, const Json& object, std::string pointer, std::size_t nesting)
      : findings_(findings), object_(object), pointer_(std::move(pointer)), nesting_(nesting) {}

  void operator()(std::string_view keys, std::size_t& value, SizeRange range) override {
    const Json* given = take(keys);
    if (given == nullptr) {
      if (value < range.min) complain(Code::InvalidConfig, keys, "is missing");
      return;
    }
    const auto n = as_int(*given);
    if (n && *n <= 0 && keys == kSequenceLength) {
      value = 1;
      return;
    }
    if (!n || *n < 0 || static_cast<std::uint64_t>(*n) < range.min || static_cast<std::uint64_t>(*n) > range.max)
      return complain(Code::InvalidConfig, keys, fmt::format("{} given, an integer from {} to {} expected", shown(*given), range.min, range.max));
    value = static_cast<std::size_t>(*n);
  }
  void operator()(std::string_view keys, bool& value) override { typed(keys, value, as_bool, "true or false"); }
  void operator()(std::string_view keys, double& value) override { typed(keys, value, as_number, "a finite number"); }
  void operator()(std::string_view keys, std::string& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (const std::string* text = as_string(*given))
      value = *text;
    else
      complain(Code::InvalidConfig, keys, shown(*given) + " given, a text expected");
  }
  void operator()(std::string_view keys, Activation& value) override {
    const std::string* text = name_of(keys);
    if (text == nullptr) return;
    if (const auto found = activation_from_name(*text)) {
      value = *found;
      return;
    }
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < kNumActivations; ++i) known.push_back(name(static_cast<Activation>(i)));
    complain(Code::UnknownName, keys, fmt::format("activation \"{}\" is unknown; nearest: {}", printable(*text), nearest_names(*text, known)));
  }
  void operator()(std::string_view keys, AxisSizes& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (given->is_array()) {
      sizes(keys, *given, value.values);
      if (value.values.empty() || value.values.size() > 3) complain(Code::InvalidConfig, keys, "one to three numbers expected");
    } else if (const auto n = as_int(*given); n && *n >= 0 && *n <= 0x7fffffff) {
      value.values = {static_cast<std::size_t>(*n)};
    } else {
      complain(Code::InvalidConfig, keys, shown(*given) + " given, an integer or one per axis expected");
    }
  }
  void operator()(std::string_view keys, std::vector<std::size_t>& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (given->is_array())
      sizes(keys, *given, value);
    else
      complain(Code::InvalidConfig, keys, shown(*given) + " given, a list of integers expected");
  }
  void operator()(std::string_view keys, std::vector<std::int64_t>& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (!given->is_array()) return complain(Code::InvalidConfig, keys, shown(*given) + " given, a list of integers expected");
    value.clear();
    for (const Json& item : *given) {
      const auto n = as_int(item);
      if (!n || *n < -0x7fffffff || *n > 0x7fffffff)
        return complain(Code::InvalidConfig, keys, shown(item) + " given, an integer of 32 bits expected");
      value.push_back(*n);
    }
  }
  void operator()(std::string_view keys, std::vector<bool>& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (!given->is_array()) return complain(Code::InvalidConfig, keys, shown(*given) + " given, a list of true and false expected");
    value.clear();
    for (const Json& item : *given) {
      const auto b = as_bool(item);
      if (!b) return complain(Code::InvalidConfig, keys, shown(item) + " given, true or false expected");
      value.push_back(*b);
    }
  }
  void operator()(std::string_view keys, SkipFrom& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (const auto n = as_int(*given); n && *n >= 0 && *n <= 0x7fffffff) {
      value = {SkipFrom::Kind::Child, static_cast<std::size_t>(*n), {}};
    } else if (given->is_array()) {
      std::vector<std::size_t> address;
      sizes(keys, *given, address);
      if (address.size() != 4) return complain(Code::InvalidConfig, keys, shown(*given) + " given, an address [z, y, x, l] expected");
      value = {SkipFrom::Kind::Cell, 0, {address[0], address[1], address[2], address[3]}};
    } else {
      auto kind = std::size_t{0};
      choose(keys, kind, std::array<std::string_view, 4>{"default", "previous", "none", "external"}, Code::UnknownName);
      value = {static_cast<SkipFrom::Kind>(kind), 0, {}};
    }
  }
  void operator()(std::string_view keys, LayerRef& value) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (const std::string* text = as_string(*given)) {
      value = {*text, std::nullopt};
      return;
    }
    std::vector<std::size_t> address;
    if (given->is_array()) sizes(keys, *given, address);
    if (address.size() != 4) return complain(Code::InvalidConfig, keys, shown(*given) + " given, a layer's path or an address [z, y, x, l] expected");
    value = {{}, std::array{address[0], address[1], address[2], address[3]}};
  }
  void operator()(std::string_view keys, std::vector<LayerPtr>& children) override {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (!given->is_array()) return complain(Code::InvalidConfig, keys, "a list of layers expected");
    children.clear();
    for (std::size_t i = 0; i < given->size(); ++i) {
      LayerPtr child = read_layer(findings_, (*given)[i], fmt::format("{}/{}/{}", pointer_, used_as_, i), nesting_ + 1);
      if (!child) return;
      children.push_back(std::move(child));
    }
  }
  void operator()(std::string_view keys, LayerPtr& child) override {
    const Json* given = take(keys);
    if (given != nullptr) child = read_layer(findings_, *given, pointer_ + "/" + std::string(used_as_), nesting_ + 1);
  }
  void object(std::string_view key, const std::function<void(FieldVisitor&)>& fields) override {
    const Json* given = take(key);
    if (given == nullptr) return;
    if (!given->is_object()) return complain(Code::InvalidConfig, key, "an object expected");
    JsonReader inner(findings_, *given, pointer_ + "/" + std::string(key), nesting_);
    fields(inner);
    inner.finish();
  }

  // Reports keys that no reader asked for.
  void finish() {
    for (const auto& [key, value] : object_.items()) {
      if (used_.contains(key)) continue;
      std::vector<std::string_view> known(asked_.begin(), asked_.end());
      findings_.object_to(Code::UnknownKey, pointer_ + "/" + escaped(key), fmt::format("unknown key; nearest: {}", nearest_names(key, known)));
    }
  }
  // The member under one of the keys; asking marks it as known.
  const Json* take(std::string_view keys) {
    const Json* found = nullptr;
    for (const std::string_view key : split_names(keys)) {
      asked_.push_back(key);
      const Json* here = loom::find(object_, key);
      if (here == nullptr) continue;
      used_.insert(std::string(key));
      if (found != nullptr) complain(Code::InvalidConfig, key, fmt::format("given beside \"{}\", which means the same", used_as_));
      if (found == nullptr) found = here, used_as_ = key;
    }
    return found;
  }
  void complain(Code code, std::string_view keys, const std::string& message) {
    findings_.add(
        code,
        pointer_ + "/" + std::string(used_.contains(std::string(used_as_)) && keys.find(used_as_) != keys.npos ? used_as_ : split_names(keys)[0]),
        message);
  }

 protected:
  void list(std::string_view key, std::size_t, const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t, FieldVisitor&)>& item) override {
    const Json* given = take(key);
    if (given == nullptr) return;
    if (!given->is_array() || given->size() > kMaxObjects)
      return complain(Code::InvalidConfig, key, fmt::format("a list of at most {} objects expected", kMaxObjects));
    resize(given->size());
    for (std::size_t i = 0; i < given->size(); ++i) {
      const std::string pointer = fmt::format("{}/{}/{}", pointer_, key, i);
      if (!(*given)[i].is_object()) return findings_.add(Code::InvalidConfig, pointer, "an object expected");
      JsonReader inner(findings_, (*given)[i], pointer, nesting_);
      item(i, inner);
      inner.finish();
    }
  }
  void choose(std::string_view keys, std::size_t& index, std::span<const std::string_view> names, Code unknown) override {
    const std::string* text = name_of(keys);
    if (text == nullptr) return;
    const std::string wanted = folded_name(*text);
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < names.size(); ++i)
      for (const std::string_view n : split_names(names[i])) {
        known.push_back(n);
        if (folded_name(n) == wanted) {
          index = i;
          return;
        }
      }
    complain(unknown, keys, fmt::format("\"{}\" is unknown; nearest: {}", printable(*text), nearest_names(wanted, known)));
  }

 private:
  template <class T, class Read>
  void typed(std::string_view keys, T& value, Read read, const char* expected) {
    const Json* given = take(keys);
    if (given == nullptr) return;
    if (const auto v = read(*given))
      value = *v;
    else
      complain(Code::InvalidConfig, keys, fmt::format("{} given, {} expected", shown(*given), expected));
  }
  // A name, or a number where names are numbers ("6").
  const std::string* name_of(std::string_view keys) {
    const Json* given = take(keys);
    if (given == nullptr) return nullptr;
    if (const std::string* text = as_string(*given)) return text;
    if (const auto n = as_int(*given)) {
      number_ = std::to_string(*n);
      return &number_;
    }
    complain(Code::InvalidConfig, keys, shown(*given) + " given, a name expected");
    return nullptr;
  }
  void sizes(std::string_view keys, const Json& list, std::vector<std::size_t>& to) {
    to.clear();
    for (const Json& item : list) {
      const auto n = as_int(item);
      if (!n || *n < 0 || *n > 0x7fffffff)
        return complain(Code::InvalidConfig, keys, shown(item) + " given, an integer that is not negative expected");
      to.push_back(static_cast<std::size_t>(*n));
    }
  }

  Findings& findings_;
  const Json& object_;
  std::string pointer_;
  std::size_t nesting_;
  std::set<std::string> used_;
  std::vector<std::string_view> asked_;
  std::string_view used_as_;
  std::string number_;
};

// Hints have no say in any number; that a device was asked for which nothing runs on is said all the same (engine T-02).
void read_hints(Findings& findings, JsonReader& reader, const std::string& pointer, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    const Json* given = reader.take(key);
    if (given == nullptr) continue;
    const std::string* target = key == "exec_target" ? as_string(*given) : nullptr;
    if ((key == "use_gpu" && as_bool(*given).value_or(false)) || (target != nullptr && folded_name(*target) != "cpu"))
      findings.warn(fmt::format("{}/{}", pointer, key), shown(*given) + " given, networks run on the CPU alone");
  }
}

void check_init_scale(JsonReader& reader, double scale) {
  if (!(scale >= 0 && scale <= kMaxInitScale))
    reader.complain(Code::InvalidConfig, "init_scale", fmt::format("{} given, a number from 0 to {} expected", scale, kMaxInitScale));
}

void complain_of_unread_scale(JsonReader& reader, std::string_view init) {
  reader.complain(Code::InvalidConfig, "init_scale",
                  fmt::format("only the inits uniform and normal read it, not {}", init.empty() ? "auto" : printable(init)));
}

// Settings of every layer, and that none of those given is without effect.
void read_common(Findings& findings, JsonReader& reader, CommonSettings& common) {
  common.encoding.dtype = findings.default_dtype;
  common.init = findings.init, common.init_scale = findings.init_scale;
  visit_common(reader, common);
  check_init_scale(reader, common.init_scale);
  // A file brings its weights, however they were drawn.
  if (findings.options.initialise && common.init_scale != findings.init_scale && common.init_scale != 0 && !reads_init_scale(common.init))
    complain_of_unread_scale(reader, common.init);
  const ScaleSpan &span = common.encoding.span, standard;
  if (std::ranges::find(kGroupSizes, span.group_size) == kGroupSizes.end())
    reader.complain(Code::InvalidConfig, "group_size", fmt::format("{} given, one of {} expected", span.group_size, fmt::join(kGroupSizes, ", ")));
  // Beside a type without groups it waits for a morph.
  if (span.group_size != standard.group_size && (span.granularity == Granularity::Tensor || span.granularity == Granularity::Row))
    reader.complain(Code::InvalidConfig, "group_size", "scale_granularity says that there are no groups");
}

// A layer's settings from the reader, then its weights; null after an error.
LayerPtr read_operation(Findings& findings, JsonReader& reader, const LayerKind& kind, const CommonSettings* common, const std::string& pointer) {
  LayerPtr layer = kind.make();
  const std::size_t before = findings.errors.size();
  if (common == nullptr)
    read_common(findings, reader, layer->common);
  else
    layer->common = *common;
  read_hints(findings, reader, pointer, kHintKeys);
  layer->fields(reader);
  const Json* weights = reader.take("weights");
  reader.finish();
  if (findings.errors.size() != before) return nullptr;
  auto built = layer->build();
  if (built) built = attach_adapters(*layer);
  if (!built) return findings.add(built.error().code, pointer, built.error().message), nullptr;
  if (weights != nullptr) findings.weights.push_back({layer.get(), weights, pointer + "/weights"});
  return layer;
}

// After an error the layers may be gone.
void read_given_weights(Findings& findings) {
  for (const Findings::GivenWeights& given : findings.weights)
    if (findings.errors.empty())
      read_weights(*given.layer, *given.values, [&](Code code, const std::string& message) { findings.add(code, given.pointer, message); });
}

// Errors of a network say where by path or address ("layers.3.sequential_layers.0: ..."); those of its spec by pointer.
Error with_pointer(const Network& network, const std::vector<std::size_t>& cells, Error error) {
  std::string pointer, rest = error.message;
  for (std::size_t item = 0; item < cells.size() && pointer.empty(); ++item)
    for (const std::string& place : {network.place_text(cells[item]) + ": ", Network::path(cells[item]) + ": ", Network::path(cells[item]) + "."})
      if (pointer.empty() && rest.starts_with(place)) {
        pointer = fmt::format("/layers/{}", item);
        rest = rest.substr(place.size());
        if (place.back() == '.') rest.insert(0, 1, '.');
      }
  if (pointer.empty()) return error;
  // Names of children follow, each with a dot or a colon before the next.
  for (bool more = true; more;) {
    more = false;
    const std::size_t begin = rest.starts_with('.') ? 1 : 0;
    for (const std::string_view child :
         {"sequential_layers.", "parallel_branches.", "filter_gate", "base_layer", "meta_observed_layer", "meta_network", "tied_to", "adapters/"}) {
      if (rest.compare(begin, child.size(), child) != 0) continue;
      std::size_t end = begin + child.size();
      while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
      if (end < rest.size() && rest[end] != '.' && rest[end] != ':') continue;
      std::string step = rest.substr(begin, end - begin);
      std::ranges::replace(step, '.', '/');
      pointer += "/" + step;
      const bool colon = end < rest.size() && rest[end] == ':';
      rest = rest.substr(std::min(rest.size(), colon ? end + 2 : end));
      more = true;
      break;
    }
  }
  error.message = pointer + ": " + rest;
  return error;
}

// Outside a sequence a residual has no child before it whose input it could add (engine V-31).
void warn_of_lone_residuals(Findings& findings, const Network& network, const std::vector<std::size_t>& cells) {
  for (const std::size_t cell : cells) {
    if (!network.cell(cell).layer) continue;
    visit_layers(Network::path(cell), *network.cell(cell).layer, [&](const std::string& path, Layer& layer) {
      const Residual* residual = layer_as<Residual>(layer);
      const std::string_view place = std::string_view(path).substr(0, path.find_last_of('.'));
      if (residual == nullptr || place.ends_with(".sequential_layers")) return;
      if (const auto kind = residual->from().kind;
          findings.warnings.size() < kMaxErrors && (kind == SkipFrom::Kind::Default || kind == SkipFrom::Kind::Previous))
        findings.warnings.push_back(
            with_pointer(network, cells, {Code::InvalidConfig, path + ": a residual that stands in no sequence passes its input through; skip_from names what it adds"})
                .message);
    });
  }
}

// A remote link. What shares another cell's operation has none of its own: type, sizes and weights beside it are ignored (V-20). A cell
// of the grid keeps its operation, because the step mesh, or link_mode feed, runs it.
Cell read_link(Findings& findings, JsonReader& reader, const Json& spec, const std::string& pointer, bool is_cell) {
  auto link = std::make_unique<Link>();
  const std::size_t before = findings.errors.size();
  read_common(findings, reader, link->share.common);
  link->share.fields(reader);
  const Json* type = find(spec, "type");
  if (findings.errors.size() != before) return {};
  if (!is_cell && link->feeds())
    return findings.add(Code::InvalidConfig, pointer, "a feed link stands in a cell of the grid, not inside a container"), Cell();
  if (!is_cell || link->share.mode() == Share::Mode::Share) return {nullptr, std::move(link)};
  reader.take("type");
  if (type == nullptr) {
    read_hints(findings, reader, pointer, kHintKeys);
    reader.finish();
    return findings.errors.size() == before ? Cell(nullptr, std::move(link)) : Cell();
  }
  const std::string* name = as_string(*type);
  const auto kind = name == nullptr ? Result<const LayerKind*>(fail(Code::InvalidConfig, "a type is a text")) : layer_kind(*name);
  if (!kind) return findings.add(kind.error().code, pointer + "/type", kind.error().message), Cell();
  LayerPtr own = read_operation(findings, reader, **kind, &link->share.common, pointer);
  return own ? Cell(std::move(own), std::move(link)) : Cell();
}

// What a cell holds, with placement keys, or a place inside a container; empty after an error.
Cell read_cell(Findings& findings, const Json& spec, const std::string& pointer, std::size_t nesting, std::span<const std::string_view> placement) {
  if (!spec.is_object()) return findings.add(Code::InvalidConfig, pointer, "a layer is an object"), Cell();
  if (nesting > kDeepestSpec) return findings.add(Code::NestingTooDeep, pointer, fmt::format("containers nest deeper than {}", kDeepestSpec)), Cell();
  if (findings.stack.reached())
    return findings.add(Code::NestingTooDeep, pointer, "containers nest deeper than the stack of this thread allows"), Cell();
  JsonReader reader(findings, spec, pointer, nesting);
  for (const std::string_view key : placement) reader.take(key);
  bool is_link = false;
  reader("is_remote_link", is_link);
  if (is_link) return read_link(findings, reader, spec, pointer, !placement.empty());
  // A writer that names every key says is_remote_link: false; without it the target would be dropped in silence.
  Share none;
  none.fields(reader);
  if (find(spec, "is_remote_link") == nullptr)
    for (const std::string_view key : {"target_z", "target_y", "target_x", "target_l", "link_mode", "link_merge"})
      if (find(spec, key) != nullptr) findings.object_to(Code::InvalidConfig, fmt::format("{}/{}", pointer, key), "a link's key without is_remote_link");
  const Json* type = reader.take("type");
  const std::string* type_name = type == nullptr ? nullptr : as_string(*type);
  if (type_name == nullptr) return findings.add(Code::InvalidConfig, pointer + "/type", "a layer type is missing"), Cell();
  const auto kind = layer_kind(*type_name);
  if (!kind) return findings.add(kind.error().code, pointer + "/type", kind.error().message), Cell();
  return read_operation(findings, reader, **kind, nullptr, pointer);
}

LayerPtr read_layer(Findings& findings, const Json& spec, const std::string& pointer, std::size_t nesting) {
  Cell cell = read_cell(findings, spec, pointer, nesting, {});
  return cell.link ? std::make_unique<Share>(std::move(cell.link->share)) : std::move(cell.layer);
}

constexpr std::array<std::string_view, 4> kPlacement = {"z", "y", "x", "l"};

constexpr std::array<std::string_view, 4> kExtents = {"depth", "rows", "cols", "layers_per_cell"};

bool is_unplaced(const Json& layer) {
  return std::ranges::none_of(kPlacement, [&](std::string_view key) { return find(layer, key) != nullptr; });
}

std::optional<Address> read_address(Findings& findings, const Json& spec, const std::string& pointer) {
  Address a;
  const std::array<std::size_t*, 4> parts = {&a.z, &a.y, &a.x, &a.l};
  for (std::size_t i = 0; i < 4; ++i) {
    const Json* given = find(spec, kPlacement[i]);
    const auto n = given == nullptr ? std::nullopt : as_int(*given);
    if (!n || *n < 0 || *n > 65535) {
      findings.add(Code::InvalidConfig, fmt::format("{}/{}", pointer, kPlacement[i]),
                   given == nullptr ? "is missing" : shown(*given) + " given, 0 to 65535 expected");
      return std::nullopt;
    }
    *parts[i] = static_cast<std::size_t>(*n);
  }
  return a;
}

void read_settings(JsonReader& reader, Findings& findings, NetworkSettings& s) {
  reader("id", s.id);
  reader("name", s.name);
  reader("init", s.init);
  reader("init_scale", s.init_scale);
  check_init_scale(reader, s.init_scale);
  std::size_t element = 0;
  reader.choice("activations", element, {"float32|f32", "float64|f64"});
  s.activations = element == 1 ? Element::f64 : Element::f32;
  reader.choice("quantized_inputs", s.quantized_inputs, {"int8", "int16"});
  visit_dtype(reader, "default_dtype", s.default_dtype);
  if (const Json* seed = reader.take("seed")) {
    const auto n = as_u64(*seed);
    if (n)
      s.seed = *n;
    else
      reader.complain(Code::InvalidConfig, "seed", shown(*seed) + " given, an unsigned 64-bit integer or its decimal text expected");
  }
  std::vector<std::size_t> extents;
  reader("input_shape", extents);
  if (!extents.empty()) {
    auto shape = Shape::create(extents);
    if (shape)
      s.input_shape = *shape;
    else
      findings.add(shape.error().code, "/input_shape", shape.error().message);
  }
  if (const Json* version = reader.take("numerics_version"); version != nullptr && as_int(*version).value_or(-1) != kNumericsVersion)
    reader.complain(Code::Unsupported, "numerics_version", fmt::format("{} given, this program computes version {}", shown(*version), kNumericsVersion));
  if (const Json* metadata = reader.take("metadata")) s.metadata = *metadata;
  read_hints(findings, reader, "", kNetworkHintKeys);
}

}  // namespace

Result<SpecResult> network_from_json(const Json& spec, const SpecOptions& options) {
  Findings findings(options);
  if (!spec.is_object()) return fail(Code::InvalidConfig, "/: a network is an object");
  JsonReader reader(findings, spec, "", 0);
  bool strict = true;
  reader("strict", strict);
  findings.options.strict = findings.options.strict && strict;
  // Without extents the layers stand one behind the other in a grid of one place.
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
  if (layers == nullptr || !layers->is_array()) findings.add(Code::InvalidConfig, "/layers", "a list of layers expected");
  if (!findings.errors.empty()) return findings.joined();
  findings.default_dtype = settings.default_dtype, findings.init = settings.init, findings.init_scale = settings.init_scale;
  if (is_list) size = {1, 1, 1, std::max<std::size_t>(layers->size(), 1)};
  LOOM_TRY(Network network, Network::create(size));
  std::vector<std::size_t> cells;  // of each item
  for (std::size_t i = 0; i < layers->size() && findings.errors.size() < kMaxErrors; ++i) {
    const std::string pointer = fmt::format("/layers/{}", i);
    const Json& item = (*layers)[i];
    cells.push_back(network.num_cells());
    const auto address = is_list && is_unplaced(item) ? Address{0, 0, 0, i} : read_address(findings, item, pointer);
    Cell cell = read_cell(findings, item, pointer, 0, kPlacement);
    if (!address || cell.is_empty()) continue;
    const auto index = network.index_of(*address);
    if (!index) {
      findings.add(index.error().code, pointer, index.error().message);
    } else if (!network.cell(*index).is_empty()) {
      findings.add(Code::InvalidConfig, pointer, network.place_text(*index) + " is taken by an earlier layer");
    } else {
      network.exchange(*index, std::move(cell));
      cells.back() = *index;
    }
  }
  network.settings = std::move(settings);
  if (options.initialise && network.settings.init_scale != 0 && !any_reads_init_scale(network))
    complain_of_unread_scale(reader, network.settings.init);
  if (!findings.errors.empty()) return findings.joined();
  if (auto tied = network.resolve_ties(); !tied) return tl::make_unexpected(with_pointer(network, cells, std::move(tied).error()));
  std::uint64_t elements = 0;
  network.visit_weights(
      [&](const std::string&, const Weight& w, const Layer&) { elements += std::min<std::uint64_t>(w.elements(), options.max_weights); });
  if (elements > options.max_weights)
    return fail(Code::SizeOverflow, "/layers: {} weights in all, at most {} are allowed", elements, options.max_weights);
  network.visit_weights([](const std::string&, Weight& w, const Layer& layer) { static_cast<void>(w.morph(layer.common.encoding)); });  // to come
  if (options.initialise) {
    const std::uint64_t bytes = network.resident_bytes() + elements * sizeof(float);  // masters
    if (bytes > options.max_bytes)
      return fail(Code::OutOfMemory, "/layers: {} weights take {:.1f} GB, at most {:.1f} GB are allowed", elements, static_cast<double>(bytes) / 1e9,
                  static_cast<double>(options.max_bytes) / 1e9);
  }
  read_given_weights(findings);
  if (!findings.errors.empty()) return findings.joined();
  if (network.settings.input_shape) {
    auto prepared = network.prepare(network.with_batch(*network.settings.input_shape, 1));
    if (!prepared) return tl::make_unexpected(with_pointer(network, cells, std::move(prepared).error()));
  }
  warn_of_lone_residuals(findings, network, cells);
  if (options.initialise) {
    LOOM_TRY_VOID(network.initialise());
  }
  return SpecResult{std::move(network), std::move(findings.warnings)};
}

Result<SpecResult> network_from_json(std::string_view text, const SpecOptions& options) {
  LOOM_TRY(const Json spec, parse_json(text));
  return network_from_json(spec, options);
}

Result<LayerPtr> layer_from_json(const Json& spec, const SpecOptions& options) {
  Findings findings(options);
  LayerPtr layer = read_layer(findings, spec, "", 0);
  if (layer) read_given_weights(findings);
  if (!findings.errors.empty()) return findings.joined();
  return layer;
}

}  // namespace loom
