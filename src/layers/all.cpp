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
#include "layers/groupnorm/groupnorm.h"
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
#include "layers/sequential/sequential.h"
#include "layers/softmax/softmax.h"
#include "layers/swiglu/swiglu.h"

namespace loom {
namespace {

template <class L, auto... Settings>
LayerPtr make() {
  return std::make_unique<L>(Settings...);
}

constexpr std::array kKinds = {
    LayerKind{0, "dense", "linear", make<Dense>},
    LayerKind{1, "mha", "attention|multiheadattention", make<Mha>},
    LayerKind{2, "swiglu", "gatedmlp", make<Swiglu>},
    LayerKind{3, "rmsnorm", "", make<RmsNorm>},
    LayerKind{4, "cnn1", "conv1d", make<Conv, std::size_t{1}, false>},
    LayerKind{5, "cnn2", "conv2d", make<Conv, std::size_t{2}, false>},
    LayerKind{6, "cnn3", "conv3d", make<Conv, std::size_t{3}, false>},
    LayerKind{7, "rnn", "", make<Recurrent, RecurrentKind::Rnn>},
    LayerKind{8, "lstm", "", make<Recurrent, RecurrentKind::Lstm>},
    LayerKind{9, "layernorm", "", make<LayerNorm>},
    LayerKind{10, "convtransposed1", "convtransposed1d|convtranspose1d", make<Conv, std::size_t{1}, true>},
    LayerKind{11, "convtransposed2", "convtransposed2d|convtranspose2d", make<Conv, std::size_t{2}, true>},
    LayerKind{12, "convtransposed3", "convtransposed3d|convtranspose3d", make<Conv, std::size_t{3}, true>},
    LayerKind{13, "embedding", "", make<Embedding>},
    LayerKind{14, "kmeans", "", make<Kmeans>},
    LayerKind{15, "softmax", "", make<Softmax>},
    LayerKind{16, "parallel", "", make<Parallel>},
    LayerKind{17, "sequential", "", make<Sequential>},
    LayerKind{18, "residual", "", make<Residual>},
    LayerKind{19, "metacognition", "meta", make<Metacognition>},
    LayerKind{20, "gru", "", make<Recurrent, RecurrentKind::Gru>},
    LayerKind{21, "maxpool", "", make<Pool, false>},
    LayerKind{22, "avgpool", "", make<Pool, true>},
    LayerKind{23, "dropout", "", make<Dropout>},
    LayerKind{24, "lora", "", make<Lora>},
    LayerKind{25, "batchnorm", "", make<BatchNorm>},
    LayerKind{26, "groupnorm", "", make<GroupNorm>},
    LayerKind{27, "reshape", "flatten", make<Reshape>},
    LayerKind{28, "activation", "", make<ActivationLayer>},
    LayerKind{29, "position_embedding", "positionembedding", make<PositionEmbedding>},
    LayerKind{30, "permute", "transpose", make<Permute>},
};

}  // namespace

std::span<const LayerKind> layer_kinds() { return kKinds; }

Result<const LayerKind*> layer_kind(std::string_view name) {
  const std::string wanted = folded_name(name);
  std::vector<std::string_view> known;
  for (const LayerKind& kind : kKinds) {
    known.push_back(kind.name);
    if (kind.name == wanted) return &kind;
    for (const std::string_view alias : split_names(kind.aliases))
      if (alias == wanted) return &kind;
  }
  return fail(Code::UnknownName, "layer type \"{}\" is unknown; nearest: {}", printable(name), nearest_names(wanted, known));
}

}  // namespace loom
