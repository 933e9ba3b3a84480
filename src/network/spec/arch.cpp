// Networks of transformer blocks from a handful of numbers (engine J-03).

#include "core/config_reader.h"
#include "core/json.h"
#include "network/spec/spec.h"
#include "network/spec/spec_fields.h"

namespace loom {
namespace {

constexpr std::size_t kExpansion = 4;  // of the gated layer's hidden size

struct ArchConfig {
  std::string id = "network", name, activation = "silu", dtype = "float32";
  std::size_t grid_depth = 1, grid_rows = 1, grid_cols = 1, layers_per_cell = 1, d_model = 0, num_heads = 1;
  double init_scale = 0;
};

void arch_fields(ConfigVisitor& visit, ArchConfig& c) {
  visit("id", c.id);
  visit("name", c.name);
  visit("gridDepth", c.grid_depth, {1, 65536});
  visit("gridRows", c.grid_rows, {1, 65536});
  visit("gridCols", c.grid_cols, {1, 65536});
  visit("layersPerCell", c.layers_per_cell, {1, 65536});
  visit("dModel", c.d_model, {1, 1 << 20});
  visit("numHeads", c.num_heads, {1, 1 << 20});
  visit("activation", c.activation);
  visit("dtype", c.dtype);
  visit("initScale", c.init_scale, {0, kMaxInitScale});
}

Json residual(Json operation, std::size_t width) {
  const Json norm = {{"type", "rmsnorm"}, {"input_height", width}};
  return {{"type", "sequential"}, {"residual", true}, {"sequential_layers", Json::array({norm, std::move(operation)})}};
}

}  // namespace

Result<SpecResult> build_from_arch(const Json& given, const SpecOptions& options) {
  const Json* inner = find(given, "arch_config");
  ArchConfig c;
  const Steps place = inner == nullptr ? Steps{} : Steps{"arch_config"};
  LOOM_TRY_VOID(
      read_config(inner == nullptr ? given : *inner, [&](ConfigVisitor& visit) { arch_fields(visit, c); }, place));
  LOOM_TRY(const Network grid, Network::create({c.grid_depth, c.grid_rows, c.grid_cols, c.layers_per_cell}));
  constexpr std::size_t kMostCells = 1 << 16;
  if (grid.num_cells() > kMostCells)
    return fail(Code::LimitExceeded, "{} cells of blocks, at most {} are built", grid.num_cells(), kMostCells);
  const Json attention = residual({{"type", "mha"}, {"d_model", c.d_model}, {"num_heads", c.num_heads}}, c.d_model);
  const Json gated = residual({{"type", "swiglu"},
                               {"input_height", c.d_model},
                               {"output_height", kExpansion * c.d_model},
                               {"activation", c.activation}},
                              c.d_model);
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
    layers.push_back({{"type", "sequential"},
                      {"z", a.z},
                      {"y", a.y},
                      {"x", a.x},
                      {"l", a.l},
                      {"sequential_layers", Json::array({attention, gated})}});
  }
  spec["layers"] = std::move(layers);
  return network_from_json(spec, options);
}

}  // namespace loom
