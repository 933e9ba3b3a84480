// Another kind of layer in a place whose shapes are given (engine E-22).

#include <algorithm>

#include "core/checked.h"
#include "evolution/mutation/mutation.h"
#include "layers/all.h"
#include "layers/dense/dense.h"
#include "layers/reshape/reshape.h"
#include "layers/sequential/sequential.h"

namespace loom {
namespace {

using Sizes = std::vector<std::size_t>;

Sizes sample_of(const Shape& shape) {
  const auto e = shape.extents();
  return {e.begin() + (e.size() > 1 ? 1 : 0), e.end()};
}

// A sample with `rank` axes: ones in front, or the first axes joined.
Sizes with_rank(Sizes sample, std::size_t rank) {
  while (sample.size() < rank) sample.insert(sample.begin(), 1);
  while (sample.size() > rank) {
    sample[1] *= sample[0];
    sample.erase(sample.begin());
  }
  return sample;
}

class Chain {
 public:
  Chain(const Shape& in, const MutationConfig& config) : shape_(in), config_(config) {}
  const Shape& shape() const { return shape_; }
  Result<void> add(LayerPtr layer) {
    LOOM_TRY_VOID(layer->build());
    LOOM_TRY(shape_, layer->output_shape(shape_));
    std::size_t weights = 0;
    layer->visit_weights(
        [&](Weight& w) { weights = w.elements() > config_.max_adapter_weights ? w.elements() : weights; });
    if (weights != 0)
      return fail(Code::LimitExceeded, "{} weights in one matrix of a new layer, at most {} are allowed", weights,
                  config_.max_adapter_weights);
    layers.push_back(std::move(layer));
    return {};
  }
  Result<void> reshape(const Sizes& sample) {
    return add(std::make_unique<Reshape>(ReshapeConfig{{sample.begin(), sample.end()}}));
  }
  Result<void> dense(std::size_t to) {
    return add(std::make_unique<Dense>(DenseConfig{.input_height = shape_.cols(), .output_height = to}));
  }

  std::vector<LayerPtr> layers;

 private:
  Shape shape_;
  const MutationConfig& config_;
};

bool same_but_width(const Shape& a, const Shape& b) {
  return a.rank() == b.rank() && std::equal(a.extents().begin(), a.extents().end() - 1, b.extents().begin());
}

}  // namespace

Result<LayerPtr> repaired_layer(std::string_view kind, const Shape& in, const Shape& out, const Encoding& encoding,
                                const MutationConfig& config, std::uint64_t seed, Activation activation) {
  const bool has_batch = in.rank() > 1 && out.rank() > 1;
  if (has_batch && in[0] != out[0]) return fail(Code::ShapeMismatch, "{} samples become {}", in[0], out[0]);
  Sizes sample = sample_of(in);
  const Sizes wanted = sample_of(out);
  Chain chain(in, config);
  LOOM_TRY(const LayerKind* const row, layer_kind(kind));
  if (row->fit == nullptr) return fail(Code::Unsupported, "mutation to \"{}\" is not known", kind);
  if (const std::size_t rank = row->fresh()->sample_rank(); rank != 0) {
    if (!has_batch) return fail(Code::ShapeMismatch, "{} needs a batch in front", kind);
    if (sample.size() != rank) {
      const bool has_room = sample.size() < rank;
      sample = with_rank(sample, rank);
      if (has_room && row->matrix == MatrixUse::Places && sample.back() % config.in_channels == 0)
        sample.front() = config.in_channels, sample.back() /= config.in_channels;
      LOOM_TRY_VOID(chain.reshape(sample));
    }
  }
  const std::size_t d_model = config.d_model != 0 ? config.d_model : std::min<std::size_t>(sample.back(), 16);
  LOOM_TRY_VOID(chain.add(row->fit({.in = sample,
                                    .out = wanted,
                                    .d_model = d_model,
                                    .num_heads = config.num_heads,
                                    .filters = config.filters,
                                    .kernel_size = config.kernel_size,
                                    .vocab_size = config.vocab_size,
                                    .num_clusters = config.num_clusters,
                                    .activation = activation})));
  if (!(chain.shape() == out)) {
    if (same_but_width(chain.shape(), out)) {
      LOOM_TRY_VOID(chain.dense(out.cols()));
    } else {
      if (!has_batch) return fail(Code::ShapeMismatch, "{} of a vector gives {}", kind, chain.shape().text());
      if (chain.shape().rank() > 2) {
        LOOM_TRY_VOID(chain.reshape({chain.shape().elements() / chain.shape()[0]}));
      }
      const std::size_t elements = out.elements() / out[0];
      if (chain.shape().cols() != elements) {
        LOOM_TRY_VOID(chain.dense(elements));
      }
      if (out.rank() > 2) {
        LOOM_TRY_VOID(chain.reshape(wanted));
      }
    }
  }
  if (!(chain.shape() == out))
    return fail(Code::ShapeMismatch, "{} gives {}, expected {}", kind, chain.shape().text(), out.text());
  for (LayerPtr& layer : chain.layers) layer->common.encoding = encoding;
  LayerPtr whole;
  if (chain.layers.size() == 1) {
    whole = std::move(chain.layers[0]);
  } else {
    whole = std::make_unique<Sequential>(std::move(chain.layers), false);
    LOOM_TRY_VOID(whole->build());
  }
  LOOM_TRY_VOID(initialise_weights("repaired", *whole, seed));
  return whole;
}

}  // namespace loom
