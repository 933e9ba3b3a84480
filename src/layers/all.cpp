#include "layers/all.h"

#include "layers/activation/activation.h"
#include "layers/batchnorm/batchnorm.h"
#include "layers/conv/conv.h"
#include "layers/dense/dense.h"
#include "layers/dropout/dropout.h"
#include "layers/embedding/embedding.h"
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

}  // namespace

std::span<const LayerKind* const> layer_kinds() { return kKinds; }

}  // namespace loom
