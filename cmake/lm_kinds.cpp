// The kinds of layers of loom-lm.wasm, in place of src/layers/all.cpp: those of text encoders, which are networks (src/lm/encoder.cpp).
// Decoders make their layers without the list. Evolution, graphs, recurrent and spatial layers stay out of the module.
#include "layers/all.h"
#include "layers/dense/dense.h"
#include "layers/embedding/embedding.h"
#include "layers/layernorm/layernorm.h"
#include "layers/mha/mha.h"
#include "layers/position_embedding/position_embedding.h"
#include "layers/sequential/sequential.h"

namespace loom {
namespace {

// In the order of their ids.
constexpr const LayerKind* kKinds[] = {
    &Dense::kKind, &Mha::kKind, &LayerNorm::kKind, &Embedding::kKind, &Sequential::kKind, &PositionEmbedding::kKind,
};

}  // namespace

std::span<const LayerKind* const> layer_kinds() { return kKinds; }

}  // namespace loom
