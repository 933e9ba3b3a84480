// Tile sizes of Loom 0.8x: what Loom's kernels compute together (docs/guide/tiles.md). Of products the outputs, of
// convolutions the positions. For a card the first number is that of a few rows, the second that of many.

#include "legacy/names/welvet_compat.h"

namespace welvet {
namespace {

Json sizes_of(const char* kind, int dtype) {
  const char* const type = type_of_08(dtype);
  if (type == nullptr) {
    failed_text("no such type: " + std::to_string(dtype));
    return Json();
  }
  loom_blob blob = 0;
  if (loom_layer_kind_tiles(kind, type, nullptr, &blob) != LOOM_OK) {
    no_handle_of_call();
    return Json();
  }
  return Json::parse(take(blob), nullptr, false);
}

int side_of(const Json& tile, const char* kind) {
  const bool convolves = std::string_view(kind).substr(0, 3) == "cnn";
  return tile[convolves ? "rows" : "outputs"].get<int>();
}

// -1 where the layer is of another kind.
int tile_of_layer(int64_t n, int li, int number, const char* kind, int dtype) {
  return static_cast<int>(make([&]() -> int64_t {
    const LoomLayerSpec spec = LoomGetLayerSpec(n, li);
    if (spec.Type == -1) return -1;
    if (spec.Type != number) {
      failed_text("layer " + std::to_string(li) + " is of another kind: expected " + kind);
      return -1;
    }
    const Json sizes = sizes_of(kind, dtype);
    return sizes.is_object() ? side_of(sizes["cpu"], kind) : -1;
  }));
}

// Both numbers are -1 where there is no such network or type, and 0 where the kind runs on the CPU alone in that type.
void gpu_tiles(int64_t n, const char* kind, int dtype, int* few, int* many) {
  if (few == nullptr || many == nullptr) return failed_text("a result is NULL");
  *few = *many = -1;
  make([&]() -> int64_t {
    loom_kind is = LOOM_KIND_NONE;
    if (loom_kind_of(handle(n), &is) != LOOM_OK) return no_handle_of_call();
    if (is != LOOM_KIND_NETWORK) {
      failed_text("the handle is no network");
      return -1;
    }
    const Json sizes = sizes_of(kind, dtype);
    if (!sizes.is_object()) return -1;
    *few = *many = 0;
    if (!sizes["gpu"].is_object()) return 0;
    // A convolution's workgroup has a thread for each output, wherever it stands.
    *few = sizes["gpu"]["few"]["outputs"].get<int>(), *many = sizes["gpu"]["many"]["outputs"].get<int>();
    return 0;
  });
}

constexpr int kFloat32 = 1;

}  // namespace
}  // namespace welvet

using namespace welvet;

int LoomCalculateOptimalCNN1TileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 4, "cnn1", dtype);
}
int LoomCalculateOptimalCNN2TileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 5, "cnn2", dtype);
}
int LoomCalculateOptimalCNN3TileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 6, "cnn3", dtype);
}
int LoomCalculateOptimalDenseSimdTileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 0, "dense", dtype);
}
int LoomCalculateOptimalMHASimdTileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 1, "mha", dtype);
}
int LoomCalculateOptimalSwiGLUSimdTileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 2, "swiglu", dtype);
}
int LoomCalculateOptimalRNNSimdTileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 7, "rnn", dtype);
}
int LoomCalculateOptimalLSTMSimdTileSizeForLayer(int64_t n, int li, int dtype) {
  return tile_of_layer(n, li, 8, "lstm", dtype);
}

void LoomDenseGPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile) {
  gpu_tiles(n, "dense", dtype, scTile, mcTile);
}
void LoomCNN1GPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile) {
  gpu_tiles(n, "cnn1", dtype, scTile, mcTile);
}
void LoomCNN2GPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile) {
  gpu_tiles(n, "cnn2", dtype, scTile, mcTile);
}
void LoomCNN3GPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile) {
  gpu_tiles(n, "cnn3", dtype, scTile, mcTile);
}
void LoomSwiGLUGPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile) {
  gpu_tiles(n, "swiglu", dtype, scTile, mcTile);
}
// The products of mha; they do not depend on the size of a head.
void LoomMHAGPUTileSizes(int64_t n, int, int dtype, int* scTile, int* mcTile) {
  gpu_tiles(n, "mha", dtype, scTile, mcTile);
}
void LoomCNN1GPUTileSizesForLayer(int64_t n, int li, int dtype, int* scTile, int* mcTile) {
  if (LoomCalculateOptimalCNN1TileSizeForLayer(n, li, dtype) == -1) {
    if (scTile != nullptr) *scTile = -1;
    if (mcTile != nullptr) *mcTile = -1;
    return;
  }
  gpu_tiles(n, "cnn1", dtype, scTile, mcTile);
}
int LoomGetGPUSCTileSize(int64_t n) {
  int few = -1, many = -1;
  gpu_tiles(n, "dense", kFloat32, &few, &many);
  return few;
}
int LoomGetGPUMCTileSize(int64_t n) {
  int few = -1, many = -1;
  gpu_tiles(n, "dense", kFloat32, &few, &many);
  return many;
}
int LoomCalculateOptimalGPUTileSizeFromLimits(int64_t n, int) {
  int few = -1, many = -1;
  gpu_tiles(n, "mha", kFloat32, &few, &many);
  return many;
}

char* LoomGPUInfoJSON(void) {
  return answer([] {
    loom_blob report = 0;
    return loom_gpu_report(&report) == LOOM_OK ? text(take(report)) : failed_call();
  });
}
