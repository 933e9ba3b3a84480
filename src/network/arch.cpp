// Networks of transformer blocks from a handful of numbers (engine J-03).

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "network/spec.h"
#include "network/spec_fields.h"

namespace loom {
namespace {

constexpr std::size_t kExpansion = 4;  // of the gated layer's hidden size

struct ArchConfig {
  std::string id = "network", name, activation = "silu", dtype = "float32";
  std::size_t grid_depth = 1, grid_rows = 1, grid_cols = 1, layers_per_cell = 1, d_model = 0, num_heads = 1;
  double init_scale = 0;
};

Result<void> read_size(const Json& arch, const char* key, std::size_t& value, std::size_t most) {
  const Json* given = find(arch, key);
  if (given == nullptr && value != 0) return {};
  const auto n = given == nullptr ? std::nullopt : as_int(*given);
  if (!n || *n < 1 || static_cast<std::uint64_t>(*n) > most) return fail(Code::InvalidConfig, "/{}: an integer from 1 to {} expected", key, most);
  value = static_cast<std::size_t>(*n);
  return {};
}

Result<void> read_text(const Json& arch, const char* key, std::string& value) {
  const Json* given = find(arch, key);
  if (given == nullptr) return {};
  const std::string* text = as_string(*given);
  if (text == nullptr) return fail(Code::InvalidConfig, "/{}: a text expected", key);
  value = *text;
  return {};
}

Result<ArchConfig> read_arch(const Json& arch) {
  if (!arch.is_object()) return fail(Code::InvalidConfig, "/: an arch_config is an object");
  ArchConfig c;
  LOOM_TRY_VOID(read_text(arch, "id", c.id));
  LOOM_TRY_VOID(read_text(arch, "name", c.name));
  LOOM_TRY_VOID(read_size(arch, "gridDepth", c.grid_depth, 65536));
  LOOM_TRY_VOID(read_size(arch, "gridRows", c.grid_rows, 65536));
  LOOM_TRY_VOID(read_size(arch, "gridCols", c.grid_cols, 65536));
  LOOM_TRY_VOID(read_size(arch, "layersPerCell", c.layers_per_cell, 65536));
  LOOM_TRY_VOID(read_size(arch, "dModel", c.d_model, 1 << 20));
  LOOM_TRY_VOID(read_size(arch, "numHeads", c.num_heads, 1 << 20));
  LOOM_TRY_VOID(read_text(arch, "activation", c.activation));
  LOOM_TRY_VOID(read_text(arch, "dtype", c.dtype));
  if (const Json* scale = find(arch, "initScale")) {
    const auto given = as_number(*scale);
    if (!given || !(*given >= 0 && *given <= kMaxInitScale))
      return fail(Code::InvalidConfig, "/initScale: a number from 0 to {} expected", kMaxInitScale);
    c.init_scale = *given;
  }
  for (const auto& [key, value] : arch.items()) {
    constexpr std::array<std::string_view, 11> kKnown = {"id",     "name",     "gridDepth",  "gridRows", "gridCols", "layersPerCell",
                                                         "dModel", "numHeads", "activation", "dtype",    "initScale"};
    if (std::ranges::find(kKnown, key) == kKnown.end()) return fail(Code::UnknownKey, "/{}: unknown key of an arch_config", printable(key));
  }
  return c;
}

Json residual(Json operation, std::size_t width) {
  const Json norm = {{"type", "rmsnorm"}, {"input_height", width}};
  return {{"type", "sequential"}, {"residual", true}, {"sequential_layers", Json::array({norm, std::move(operation)})}};
}

}  // namespace

Result<SpecResult> build_from_arch(const Json& given, const SpecOptions& options) {
  const Json* inner = find(given, "arch_config");
  LOOM_TRY(const ArchConfig c, read_arch(inner == nullptr ? given : *inner));
  LOOM_TRY(const Network grid, Network::create({c.grid_depth, c.grid_rows, c.grid_cols, c.layers_per_cell}));
  constexpr std::size_t kMostCells = 1 << 16;
  if (grid.num_cells() > kMostCells) return fail(Code::LimitExceeded, "/: {} cells of blocks, at most {} are built", grid.num_cells(), kMostCells);
  const Json attention = residual({{"type", "mha"}, {"d_model", c.d_model}, {"num_heads", c.num_heads}}, c.d_model);
  const Json gated =
      residual({{"type", "swiglu"}, {"input_height", c.d_model}, {"output_height", kExpansion * c.d_model}, {"activation", c.activation}}, c.d_model);
  Json spec = {{"id", c.id},
               {"depth", c.grid_depth},
               {"rows", c.grid_rows},
               {"cols", c.grid_cols},
               {"name", c.name},
               {"layers_per_cell", c.layers_per_cell},
               {"default_dtype", c.dtype}};
  if (c.init_scale > 0) spec["init"] = "uniform", spec["init_scale"] = c.init_scale;
  Json layers = Json::array();
  for (std::size_t i = 0; i < grid.num_cells(); ++i) {
    const Address a = grid.address_of(i);
    layers.push_back(
        {{"type", "sequential"}, {"z", a.z}, {"y", a.y}, {"x", a.x}, {"l", a.l}, {"sequential_layers", Json::array({attention, gated})}});
  }
  spec["layers"] = std::move(layers);
  return network_from_json(spec, options);
}

}  // namespace loom
