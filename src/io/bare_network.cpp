#include "io/bare_network.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/json.h"

namespace loom {
namespace bare {
namespace {

// The last part of a tensor's name, by which it is a weight of its module; longer ones come first.
struct Suffix {
  std::string_view text, part;
};
constexpr Suffix kSuffixes[] = {{"out_proj.weight", "out_proj.weight"},
                                {"out_proj.bias", "out_proj.bias"},
                                {"num_batches_tracked", "num_batches_tracked"},
                                {"in_proj_weight", "in_proj_weight"},
                                {"in_proj_bias", "in_proj_bias"},
                                {"running_mean", "running_mean"},
                                {"running_var", "running_var"},
                                {"weight_ih", "weight_ih"},
                                {"weight_hh", "weight_hh"},
                                {"bias_ih", "bias_ih"},
                                {"bias_hh", "bias_hh"},
                                {"w_ih", "weight_ih"},
                                {"w_hh", "weight_hh"},
                                {"b_ih", "bias_ih"},
                                {"b_hh", "bias_hh"},
                                {"weight", "weight"},
                                {"gamma", "weight"},
                                {"kernel", "weight"},
                                {"bias", "bias"},
                                {"beta", "bias"},
                                {"emb", "emb"},
                                {"w", "weight"},
                                {"b", "bias"}};

struct Name {
  std::string module, part;
};

// "lstm.weight_ih_l1_reverse" is the part "reverse.weight_ih" of the module "lstm_l1".
Name split_name(std::string name) {
  std::string direction, level;
  if (name.ends_with("_reverse")) {
    name.resize(name.size() - 8);
    direction = "reverse.";
  }
  if (const std::size_t at = name.rfind("_l"); at != name.npos && at + 2 < name.size() &&
                                               std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 2,
                                                           name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    level = name.substr(at);
    name.resize(at);
    if (level == "_l0") level.clear();
  }
  for (const Suffix& suffix : kSuffixes) {
    if (!name.ends_with(suffix.text)) continue;
    const std::size_t rest = name.size() - suffix.text.size();
    if (rest == 0) return {level, direction + std::string(suffix.part)};
    if (name[rest - 1] != '.' && name[rest - 1] != '_') continue;
    if (suffix.part == "emb") break;  // a table beside other tensors of that name is a module of its own
    return {name.substr(0, rest - 1) + level, direction + std::string(suffix.part)};
  }
  return {name, "weight"};
}

// Numbers in names count by their size: "2.weight" comes before "10.weight".
bool natural_less(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) {
    std::size_t n = 0;
    while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
    return n;
  };
  while (!a.empty() && !b.empty()) {
    const std::size_t na = digits(a), nb = digits(b);
    if (na == 0 || nb == 0) {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1), b.remove_prefix(1);
      continue;
    }
    const auto value = [](std::string_view number) {
      return number.substr(std::min(number.find_first_not_of('0'), number.size()));
    };
    const std::string_view x = value(a.substr(0, na)), y = value(b.substr(0, nb));
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    a.remove_prefix(na), b.remove_prefix(nb);
  }
  return a.size() < b.size();
}

struct NaturalLess {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

// The tensors of a module by their parts.
struct Module {
  std::map<std::string, const BareTensor*> parts;
  const BareTensor* find(const std::string& part) const {
    const auto found = parts.find(part);
    return found == parts.end() ? nullptr : found->second;
  }
};
using Modules = std::map<std::string, Module, NaturalLess>;

// Modules that are one layer together: their names after the last point, and the parts that they become.
struct Family {
  std::array<std::string_view, 4> members;
  std::array<std::string_view, 4> parts;
};
constexpr Family kFamilies[] = {{{"q_proj", "k_proj", "v_proj", "o_proj"}, {"q", "k", "v", "o"}},
                                {{"q", "k", "v", "o"}, {"q", "k", "v", "o"}},
                                {{"gate_proj", "up_proj", "down_proj", ""}, {"gate", "up", "down", ""}},
                                {{"gate", "up", "down", ""}, {"gate", "up", "down", ""}}};

void join_families(Modules& modules) {
  for (const Family& family : kFamilies) {
    std::vector<std::string> parents;
    for (const auto& [name, module] : modules)
      if (name.ends_with(family.members[0])) parents.push_back(name.substr(0, name.size() - family.members[0].size()));
    for (const std::string& parent : parents) {
      if (!parent.empty() && parent.back() != '.') continue;
      const bool whole = std::ranges::all_of(family.members, [&](std::string_view member) {
        return member.empty() || modules.contains(parent + std::string(member));
      });
      if (!whole) continue;
      Module joined;
      for (std::size_t i = 0; i < family.members.size() && !family.members[i].empty(); ++i) {
        auto node = modules.extract(parent + std::string(family.members[i]));
        for (const auto& [part, tensor] : node.mapped().parts)
          joined.parts[std::string(family.parts[i]) + "." + part] = tensor;
      }
      modules[parent.empty() ? "attention" : parent.substr(0, parent.size() - 1)] = std::move(joined);
    }
  }
}

// A layer's keys, and where its tensors go below the layer's path.
struct Layout {
  Json keys = Json::object();
  std::vector<Mount> mounts;
  std::vector<std::string> unused;  // tensors that say nothing

  void put(const Module& module, const std::string& part, const std::string& weight, std::size_t first_row = 0,
           bool adds = false) {
    if (const BareTensor* t = module.find(part)) mounts.push_back({t->name, weight, first_row, adds});
  }
};

Result<std::size_t> extent(const Module& module, const std::string& part, std::size_t axis) {
  const BareTensor* t = module.find(part);
  if (t == nullptr) return fail(Code::NotFound, "{} is missing", part);
  if (axis >= t->shape.size())
    return fail(Code::ShapeMismatch, "{}: {} axes, more were expected", t->name, t->shape.size());
  return t->shape[axis];
}

Result<Layout> recurrent(const Module& module) {
  LOOM_TRY(const std::size_t rows, extent(module, "weight_hh", 0));
  LOOM_TRY(const std::size_t units, extent(module, "weight_hh", 1));
  LOOM_TRY(const std::size_t features, extent(module, "weight_ih", 1));
  const std::size_t gates = units == 0 || rows % units != 0 ? 0 : rows / units;
  static const std::map<std::size_t, std::pair<const char*, std::vector<std::string>>> kKinds = {
      {1, {"rnn", {""}}}, {3, {"gru", {"r.", "z.", "n."}}}, {4, {"lstm", {"i.", "f.", "g.", "o."}}}};
  const auto kind = kKinds.find(gates);
  if (kind == kKinds.end())
    return fail(Code::ShapeMismatch, "weight_hh of {} x {}: 1, 3 or 4 gates expected", rows, units);
  Layout out;
  const bool both = module.find("reverse.weight_ih") != nullptr, bias = module.find("bias_ih") != nullptr;
  out.keys = {{"type", kind->second.first}, {"input_height", features}, {"output_height", units}, {"bias", bias}};
  if (both) out.keys["bidirectional"] = true;
  for (const std::string direction : {"", "reverse."})
    for (std::size_t g = 0; g < gates; ++g) {
      const std::string to = direction + kind->second.second[g];
      const bool inner = gates == 3 && g == 2;  // gru multiplies the state's product of n by r, bias and all
      out.put(module, direction + "weight_ih", to + "weight_ih", g * units);
      out.put(module, direction + "weight_hh", to + "weight_hh", g * units);
      out.put(module, direction + "bias_ih", to + "bias", g * units);
      out.put(module, direction + "bias_hh", to + (inner ? "bias_hh" : "bias"), g * units, !inner);
    }
  return out;
}

Result<Layout> attention(const Module& module) {
  Layout out;
  if (module.find("in_proj_weight") != nullptr) {  // as PyTorch's MultiheadAttention
    LOOM_TRY(const std::size_t d, extent(module, "in_proj_weight", 1));
    const bool bias = module.find("in_proj_bias") != nullptr;
    out.keys = {{"type", "mha"},    {"d_model", d},
                {"qkv_bias", bias}, {"out_bias", module.find("out_proj.bias") != nullptr},
                {"causal", false},  {"rope", false}};
    std::size_t row = 0;
    for (const std::string name : {"q", "k", "v"}) {
      out.put(module, "in_proj_weight", name + ".weight", row);
      out.put(module, "in_proj_bias", name + ".bias", row);
      row += d;
    }
    out.put(module, "out_proj.weight", "o.weight");
    out.put(module, "out_proj.bias", "o.bias");
    return out;
  }
  LOOM_TRY(const std::size_t d, extent(module, "q.weight", 1));
  LOOM_TRY(const std::size_t query, extent(module, "q.weight", 0));
  LOOM_TRY(const std::size_t keys, extent(module, "k.weight", 0));
  LOOM_TRY(const std::size_t width, extent(module, "o.weight", 0));
  out.keys = {{"type", "mha"},
              {"d_model", d},
              {"query_dim", query},
              {"kv_dim", keys},
              {"output_dim", width},
              {"qkv_bias", module.find("q.bias") != nullptr},
              {"out_bias", module.find("o.bias") != nullptr}};
  for (const auto& [part, tensor] : module.parts) out.put(module, part, part);
  return out;
}

Result<Layout> swiglu(const Module& module) {
  LOOM_TRY(const std::size_t n, extent(module, "gate.weight", 0));
  LOOM_TRY(const std::size_t d, extent(module, "gate.weight", 1));
  Layout out;
  out.keys = {
      {"type", "swiglu"}, {"input_height", d}, {"output_height", n}, {"bias", module.find("gate.bias") != nullptr}};
  for (const auto& [part, tensor] : module.parts) out.put(module, part, part);
  return out;
}

Layout norm(const Module& module, const BareTensor& weight) {
  Layout out;
  const bool statistics = module.find("running_mean") != nullptr, bias = module.find("bias") != nullptr;
  out.keys = {{"type", statistics ? "batchnorm" : bias ? "layernorm" : "rmsnorm"}, {"input_height", weight.shape[0]}};
  out.put(module, "weight", "gamma");
  out.put(module, "bias", "beta");
  out.put(module, "running_mean", "running_mean");
  out.put(module, "running_var", "running_var");
  if (const BareTensor* count = module.find("num_batches_tracked")) out.unused.push_back(count->name);
  return out;
}

// `wanted`: the type that a hint asks for, else empty.
Layout convolution(const Module& module, const BareTensor& weight, const std::string& wanted, std::size_t groups) {
  Layout out;
  const std::size_t axes = weight.shape.size() - 2;
  const bool transposed = wanted.starts_with("convtranspose");
  const std::size_t first = weight.shape[0], second = weight.shape[1] * groups;
  out.keys = {{"type", transposed ? fmt::format("convtransposed{}", axes) : fmt::format("cnn{}", axes)},
              {"input_channels", transposed ? first : second},
              {"filters", transposed ? second : first},
              {"kernel_size", std::vector<std::size_t>(weight.shape.begin() + 2, weight.shape.end())},
              {"bias", module.find("bias") != nullptr}};
  out.put(module, "weight", "weight");
  out.mounts.back().swaps_channels = transposed, out.mounts.back().groups = groups;
  out.put(module, "bias", "bias");
  return out;
}

Layout matrix(const std::string& name, const Module& module, const BareTensor& weight, const std::string& wanted) {
  Layout out;
  const std::size_t rows = weight.shape[0], cols = weight.shape[1];
  const bool bias = module.find("bias") != nullptr;
  const bool table = wanted.empty() ? !bias && (name.find("emb") != name.npos || rows > 10 * cols)
                                    : wanted == "embedding" || wanted == "position_embedding";
  if (table) {
    const char* count = wanted == "position_embedding" ? "max_seq_len" : "vocab_size";
    out.keys = {{"type", wanted.empty() ? "embedding" : wanted}, {count, rows}, {"embedding_dim", cols}};
    out.put(module, "weight", "table");
    return out;
  }
  out.keys = {{"type", "dense"}, {"input_height", cols}, {"output_height", rows}, {"bias", bias}};
  out.put(module, "weight", "weight");
  out.put(module, "bias", "bias");
  return out;
}

Result<Layout> layout_of(const std::string& name, const Module& module, const Json& hint) {
  const Json *type = find(hint, "type"), *groups = find(hint, "groups");
  const std::string wanted = type == nullptr || as_string(*type) == nullptr ? "" : *as_string(*type);
  if (module.find("weight_ih") != nullptr) return recurrent(module);
  if (module.find("in_proj_weight") != nullptr || module.find("q.weight") != nullptr) {
    if (find(hint, "num_heads") == nullptr)
      return fail(Code::InvalidConfig, "num_heads: the shapes do not determine the number of heads; give it by a hint");
    return attention(module);
  }
  if (module.find("gate.weight") != nullptr) return swiglu(module);
  const BareTensor* weight = module.find("weight");
  if (weight == nullptr) return fail(Code::NotFound, "the module has no weight");
  switch (weight->shape.size()) {
    case 1: return norm(module, *weight);
    case 2: return matrix(name, module, *weight, wanted);
    case 3:
    case 4:
    case 5: {
      const std::int64_t count = groups == nullptr ? 1 : as_int(*groups).value_or(1);
      return convolution(module, *weight, wanted, count < 1 ? 1 : static_cast<std::size_t>(count));
    }
    default: return fail(Code::Unsupported, "{}: {} axes", weight->name, weight->shape.size());
  }
}

// Names that begin with one of the prefixes leave the list; each prefix has to match.
Result<std::map<std::string, std::string>> ignored_by(const Json* prefixes, const std::vector<BareTensor>& tensors) {
  std::map<std::string, std::string> ignored;
  if (prefixes == nullptr) return ignored;
  if (!prefixes->is_array()) return fail_at({"ignore"}, Code::InvalidConfig, "a list of prefixes expected");
  for (const Json& item : *prefixes) {
    const std::string* prefix = as_string(item);
    if (prefix == nullptr) return fail_at({"ignore"}, Code::InvalidConfig, "a list of prefixes expected");
    bool matches = false;
    for (const BareTensor& t : tensors)
      if (t.name.starts_with(*prefix)) ignored[t.name] = "a hint ignores it", matches = true;
    if (!matches) return fail_at({"ignore"}, Code::NotFound, "\"{}\": no tensor's name begins with it", *prefix);
  }
  return ignored;
}

Result<void> apply_renames(const Json* renames, std::vector<BareTensor>& tensors) {
  if (renames == nullptr) return {};
  std::map<std::string, std::string> prefixes;
  if (!renames->is_object()) return fail_at({"rename"}, Code::InvalidConfig, "an object of prefixes expected");
  for (const auto& [prefix, to] : renames->items()) {
    if (as_string(to) == nullptr) return fail_at({"rename", prefix}, Code::InvalidConfig, "a text expected");
    prefixes[prefix] = *as_string(to);
  }
  return rename_by_prefix(tensors, prefixes);
}

// The layers that hints ask for, or one per module.
Result<Json> wanted_layers(const Json& hints, const Modules& modules) {
  if (const Json* layers = find(hints, "layers")) {
    if (!layers->is_array()) return fail_at({"layers"}, Code::InvalidConfig, "a list expected");
    return *layers;
  }
  Json layers = Json::array();
  for (const auto& [name, module] : modules) layers.push_back({{"tensors", name}});
  return layers;
}

// The spec, its mounts, and tensors without a say.
struct Plan {
  Json spec = Json::object();
  std::vector<Mount> mounts;
  std::map<std::string, std::string> ignored;
};

Result<Json> planned_layer(const Json& hint, std::size_t index, const Modules& modules, Plan& plan) {
  const std::vector<std::string> place{"layers", std::to_string(index)};
  const Json* tensors = find(hint, "tensors");
  if (tensors == nullptr) return hint;
  const std::string* name = as_string(*tensors);
  const auto module = name == nullptr ? modules.end() : modules.find(*name);
  if (module == modules.end())
    return fail_at(place, Code::NotFound, "\"tensors\": the file has no module \"{}\"", name == nullptr ? "" : *name);
  auto layout = layout_of(*name, module->second, hint);
  if (!layout) return under(place, std::move(layout.error().in_source(*name)));
  Json layer = std::move(layout->keys);
  for (const auto& [key, value] : hint.items())
    if (key != "tensors") layer[key] = value;
  for (Mount& mount : layout->mounts) {
    mount.path = fmt::format("layers.{}.{}", index, mount.path);
    plan.mounts.push_back(std::move(mount));
  }
  for (const std::string& unused : layout->unused) plan.ignored[unused] = "a count that only training reads";
  return layer;
}

}  // namespace
}  // namespace bare

Result<BareNetwork> network_from_bare(std::vector<BareTensor> tensors, const Json& hints, const SpecOptions& options) {
  if (!hints.is_null() && !hints.is_object()) return fail(Code::InvalidConfig, "hints: an object expected");
  LOOM_TRY_VOID(bare::apply_renames(find(hints, "rename"), tensors));
  bare::Plan plan;
  LOOM_TRY(plan.ignored, bare::ignored_by(find(hints, "ignore"), tensors));
  bare::Modules modules;
  for (const BareTensor& t : tensors) {
    if (plan.ignored.contains(t.name)) continue;
    const bare::Name name = bare::split_name(t.name);
    if (!modules[name.module].parts.emplace(name.part, &t).second)
      return fail(Code::InvalidArgument, "{}: another tensor is the {} of \"{}\"", t.name, name.part, name.module);
  }
  bare::join_families(modules);
  LOOM_TRY(const Json wanted, bare::wanted_layers(hints, modules));
  for (const auto& [key, value] : hints.items())
    if (key != "rename" && key != "ignore" && key != "layers") plan.spec[key] = value;
  Json layers = Json::array();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    LOOM_TRY(Json layer, bare::planned_layer(wanted[i], i, modules, plan));
    layers.push_back(std::move(layer));
  }
  plan.spec["layers"] = std::move(layers);
  SpecOptions reading = options;
  reading.initialise = false;
  LOOM_TRY(SpecResult built, network_from_json(plan.spec, reading));
  LOOM_TRY(LoadReport report, mount_tensors(built.network, tensors, plan.mounts, plan.ignored));
  return BareNetwork{std::move(built.network), std::move(report), std::move(built.plans)};
}

}  // namespace loom
