#include "host/tile_sizes.h"

#include <algorithm>
#include <array>

#include "core/json.h"
#include "dtypes/panel.h"
#include "ops/all.h"
#include "ops/attention/attention.h"
#include "ops/conv/conv.h"
#include "ops/matmul/tiles_gpu.h"

namespace loom {
namespace {

constexpr std::size_t kLanesOfTile = kPanelRows;

enum class TiledWork : std::uint8_t { Product, Convolution, Attention };
struct TiledKind {
  std::string_view name;
  TiledWork work;
};
constexpr std::array kTiledKinds = {
    TiledKind{"dense", TiledWork::Product},
    TiledKind{"swiglu", TiledWork::Product},
    TiledKind{"rnn", TiledWork::Product},
    TiledKind{"lstm", TiledWork::Product},
    TiledKind{"gru", TiledWork::Product},
    TiledKind{"mha", TiledWork::Product},
    TiledKind{"cnn1", TiledWork::Convolution},
    TiledKind{"cnn2", TiledWork::Convolution},
    TiledKind{"cnn3", TiledWork::Convolution},
    TiledKind{"convtransposed1", TiledWork::Convolution},
    TiledKind{"convtransposed2", TiledWork::Convolution},
    TiledKind{"convtransposed3", TiledWork::Convolution},
    TiledKind{"attention", TiledWork::Attention},
};

// Rows that share a pass over a panel of floats, as many as fit the registers (kTile of ops/chain.h): with twelve two
// panels go side by side, by eight rows (kSide, kTileOf).
TileSize product_of_floats(std::size_t tile) {
  constexpr std::size_t kTwoPanels = 12, kRowsOfTwo = 8;
  if (tile == kTwoPanels) return {kRowsOfTwo, 2 * kLanesOfTile};
  return {tile, kLanesOfTile};
}

TileSize cpu_product(const KernelTable& kernels, const PanelTraits& panel) {
  constexpr std::size_t kRowsOfCodes = 16;  // that share one unpacking (ops/matmul/code_panels.h)
  if (panel.holds_codes() && !panel.is_wide()) return {kRowsOfCodes, kLanesOfTile};
  const bool wide = panel.inputs == PanelInputs::F64;
  return product_of_floats(wide ? kernels.conv.f64.tile : kernels.conv.f32.tile);
}

void add_products(const KernelTable& kernels, TileSizes& out) {
  const PanelTraits& panel = traits(info(out.dtype).panel.kind);
  out.cpu = cpu_product(kernels, panel);
  if (panel.inputs == PanelInputs::F64) return;  // a product in f64 has no shader
  out.few_rows = gpu::kFewRows, out.gpu_few = TileSize{1, gpu::kFewOutputs};
  out.gpu_many = panel.kind == PanelKind::Float32 ? TileSize{gpu::kGemmTiles[0].rows(), gpu::kGemmTiles[0].columns()}
                                                  : TileSize{gpu::kRowsOfGroup, kLanesOfTile};
}

}  // namespace

Result<TileSizes> tile_sizes(std::string_view kind, DType dtype, std::optional<Isa> isa) {
  const auto found = std::ranges::find(kTiledKinds, kind, &TiledKind::name);
  if (found == kTiledKinds.end()) {
    std::string names;
    for (const TiledKind& known : kTiledKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    return fail(Code::UnknownName, "{} has no tiles: expected one of {}", kind, names);
  }
  TileSizes out;
  out.kind = found->name, out.dtype = dtype, out.isa = isa.value_or(best_isa());
  LOOM_TRY(const KernelTable* const kernels, kernels_for(out.isa));
  switch (found->work) {
    case TiledWork::Product: add_products(*kernels, out); break;
    case TiledWork::Convolution:  // weights of other types are decoded to floats before
      out.cpu = {kLanesOfTile, dtype == DType::float64 ? kernels->conv.f64.tile : kernels->conv.f32.tile};
      if (dtype != DType::float64) out.gpu_few = out.gpu_many = TileSize{1, gpu::kThreadsOfGroup};
      break;
    case TiledWork::Attention: out.cpu = {static_cast<std::size_t>(kernels->attention.tile), kLanesOfTile}; break;
  }
  return out;
}

Json to_json(const TileSizes& t) {
  const auto size = [](const TileSize& s) { return Json{{"rows", s.rows}, {"outputs", s.outputs}}; };
  Json out{{"kind", t.kind}, {"dtype", name(t.dtype)}, {"isa", name(t.isa)}, {"cpu", size(t.cpu)}, {"gpu", nullptr}};
  if (t.gpu_many) out["gpu"] = {{"few_rows", t.few_rows}, {"few", size(*t.gpu_few)}, {"many", size(*t.gpu_many)}};
  return out;
}

}  // namespace loom
