#include "layers/all.h"

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "layers/activation/activation.h"
#include "layers/batchnorm/batchnorm.h"
#include "layers/conv/conv.h"
#include "layers/dense/dense.h"
#include "layers/dropout/dropout.h"
#include "layers/embedding/embedding.h"
#include "layers/foreign/foreign_kind.h"
#include "layers/graph/graph_layer.h"
#include "layers/groupnorm/groupnorm.h"
#include "layers/instancenorm/instancenorm.h"
#include "layers/kmeans/kmeans.h"
#include "layers/layernorm/layernorm.h"
#include "layers/lora/lora.h"
#include "layers/metacognition/metacognition.h"
#include "layers/mha/mha.h"
#include "layers/parallel/parallel.h"
#include "layers/permute/permute.h"
#include "layers/pool/pool.h"
#include "layers/position_embedding/position_embedding.h"
#include "layers/recurrent/recurrent.h"
#include "layers/reshape/reshape.h"
#include "layers/residual/residual.h"
#include "layers/rmsnorm/rmsnorm.h"
#include "layers/s6/s6.h"
#include "layers/sequential/sequential.h"
#include "layers/softmax/softmax.h"
#include "layers/swiglu/swiglu.h"

namespace loom {
namespace {

// The kinds stand in the order of their ids.
constexpr const LayerKind* kKinds[] = {
    &Dense::kKind,
    &Mha::kKind,
    &Swiglu::kKind,
    &RmsNorm::kKind,
    &Conv::kKinds[0],
    &Conv::kKinds[1],
    &Conv::kKinds[2],
    &Recurrent::kKinds[0],
    &Recurrent::kKinds[1],
    &LayerNorm::kKind,
    &Conv::kKinds[3],
    &Conv::kKinds[4],
    &Conv::kKinds[5],
    &Embedding::kKind,
    &Kmeans::kKind,
    &Softmax::kKind,
    &Parallel::kKind,
    &Sequential::kKind,
    &Residual::kKind,
    &Metacognition::kKind,
    &Recurrent::kKinds[2],
    &Pool::kKinds[0],
    &Pool::kKinds[1],
    &Dropout::kKind,
    &Lora::kKind,
    &BatchNorm::kKind,
    &GroupNorm::kKind,
    &Reshape::kKind,
    &ActivationLayer::kKind,
    &PositionEmbedding::kKind,
    &Permute::kKind,
    &InstanceNorm::kKind,
    &S6::kKind,
    &GraphLayer::kKind,
};

// Null: there is none. Their names are written as folded_name() gives them.
const LayerKind* find_builtin(std::string_view wanted) {
  for (const LayerKind* kind : kKinds) {
    if (kind->name == wanted) return kind;
    for (const std::string_view alias : split_names(kind->aliases))
      if (alias == wanted) return kind;
  }
  return nullptr;
}

}  // namespace

std::span<const LayerKind* const> layer_kinds() { return kKinds; }

std::vector<const LayerKind*> all_layer_kinds() {
  std::vector<const LayerKind*> all(std::begin(kKinds), std::end(kKinds));
  const std::vector<const LayerKind*> foreign = foreign_kinds();
  all.insert(all.end(), foreign.begin(), foreign.end());
  return all;
}

bool is_builtin_kind(std::string_view name) { return find_builtin(folded_name(name)) != nullptr; }

Result<const LayerKind*> layer_kind(std::string_view name) {
  const std::string wanted = folded_name(name);
  if (const LayerKind* const kind = find_builtin(wanted)) return kind;
  if (const LayerKind* const kind = find_foreign_kind(wanted)) return kind;
  std::vector<std::string_view> known;
  for (const LayerKind* kind : all_layer_kinds()) known.push_back(kind->name);
  return fail(Code::UnknownName, "layer type \"{}\" is neither built in nor registered; nearest: {}", printable(name),
              nearest_names(wanted, known));
}

}  // namespace loom
