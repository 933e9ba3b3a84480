// Another kind of layer in a place whose shapes are given (engine E-22).

#include <algorithm>

#include "core/checked.h"
#include "evolution/mutation/mutation.h"
#include "layers/sequential/sequential.h"
#include "network/spec.h"

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

// Axes that a kind asks of a sample; 0: any.
std::size_t rank_of(std::string_view kind) {
  if (kind == "mha" || kind == "rnn" || kind == "lstm" || kind == "gru") return 2;
  if (kind == "cnn1" || kind == "convtransposed1") return 2;
  if (kind == "cnn2" || kind == "convtransposed2") return 3;
  if (kind == "cnn3" || kind == "convtransposed3") return 4;
  return 0;
}

bool is_spatial(std::string_view kind) { return kind.starts_with("cnn") || kind.starts_with("convtransposed"); }

Result<Json> core_of(std::string_view kind, const Sizes& in, const Sizes& out, const MutationConfig& config, Activation activation) {
  const std::size_t width = in.back(), wanted = out.back();
  const bool same_rows = in.size() == out.size() && std::equal(in.begin(), in.end() - 1, out.begin());
  const std::size_t d_model = config.d_model != 0 ? config.d_model : std::min<std::size_t>(width, 16);
  Json json{{"type", std::string(kind)}};
  if (kind == "dense") {
    json.update({{"input_height", width}, {"output_height", same_rows ? wanted : width}, {"bias", true}, {"activation", std::string(name(activation))}});
  } else if (kind == "swiglu") {
    json.update({{"input_height", width}, {"output_height", std::min<std::size_t>(2 * width, 4096)}});
  } else if (kind == "rmsnorm" || kind == "layernorm" || kind == "softmax") {
    json["input_height"] = width;
  } else if (kind == "kmeans") {
    json.update({{"input_height", width}, {"num_clusters", config.num_clusters}, {"output_mode", in == out ? "features" : "probabilities"}});
  } else if (kind == "embedding") {
    json.update({{"vocab_size", config.vocab_size}, {"embedding_dim", d_model}, {"oob", "zero"}});
  } else if (kind == "residual") {
    json["skip_from"] = "none";
  } else if (kind == "mha") {
    std::size_t heads = width < 4 ? 1 : std::max<std::size_t>(config.num_heads, 1);
    while (width % heads != 0) --heads;
    json.update({{"d_model", width}, {"num_heads", heads}, {"output_dim", same_rows ? wanted : width}, {"max_seq_len", std::max<std::size_t>(2048, in[0])}});
    if (width / heads % 2 != 0) json["rope"] = false;
  } else if (kind == "rnn" || kind == "lstm" || kind == "gru") {
    json.update({{"input_height", width}, {"output_height", same_rows ? wanted : width}});
  } else if (is_spatial(kind)) {
    const bool same_places = in.size() == out.size() && std::equal(in.begin() + 1, in.end(), out.begin() + 1);
    const std::size_t filters = same_places ? out[0] : config.filters != 0 ? config.filters : std::max<std::size_t>(1, d_model / 4);
    json.update({{"input_channels", in[0]}, {"filters", filters}, {"kernel_size", config.kernel_size}, {"padding", (config.kernel_size - 1) / 2},
                 {"activation", std::string(name(activation))}, {"bias", true}});
  } else {
    return fail(Code::Unsupported, "mutation to \"{}\" is not known", kind);
  }
  return json;
}

class Chain {
 public:
  Chain(const Shape& in, const MutationConfig& config) : shape_(in), config_(config) {}
  const Shape& shape() const { return shape_; }
  Result<void> add(const Json& spec) {
    LOOM_TRY(LayerPtr layer, layer_from_json(spec));
    LOOM_TRY(shape_, layer->output_shape(shape_));
    std::size_t weights = 0;
    layer->visit_weights([&](Weight& w) { weights = w.elements() > config_.max_adapter_weights ? w.elements() : weights; });
    if (weights != 0) return fail(Code::LimitExceeded, "{} weights in one matrix of a new layer, at most {} are allowed", weights, config_.max_adapter_weights);
    layers.push_back(std::move(layer));
    return {};
  }
  Result<void> reshape(const Sizes& sample) { return add(Json{{"type", "reshape"}, {"shape", sample}}); }
  Result<void> dense(std::size_t to) { return add(Json{{"type", "dense"}, {"input_height", shape_.cols()}, {"output_height", to}}); }

  std::vector<LayerPtr> layers;

 private:
  Shape shape_;
  const MutationConfig& config_;
};

bool same_but_width(const Shape& a, const Shape& b) {
  return a.rank() == b.rank() && std::equal(a.extents().begin(), a.extents().end() - 1, b.extents().begin());
}

}  // namespace

Result<LayerPtr> repaired_layer(std::string_view kind, const Shape& in, const Shape& out, const Encoding& encoding, const MutationConfig& config,
                                std::uint64_t seed, Activation activation) {
  const bool has_batch = in.rank() > 1 && out.rank() > 1;
  if (has_batch && in[0] != out[0]) return fail(Code::ShapeMismatch, "{} samples become {}", in[0], out[0]);
  Sizes sample = sample_of(in);
  const Sizes wanted = sample_of(out);
  Chain chain(in, config);
  if (const std::size_t rank = rank_of(kind); rank != 0) {
    if (!has_batch) return fail(Code::ShapeMismatch, "{} needs a batch in front", kind);
    if (sample.size() != rank) {
      const bool has_room = sample.size() < rank;
      sample = with_rank(sample, rank);
      if (has_room && is_spatial(kind) && sample.back() % config.in_channels == 0) sample.front() = config.in_channels, sample.back() /= config.in_channels;
      LOOM_TRY_VOID(chain.reshape(sample));
    }
  }
  LOOM_TRY(const Json core, core_of(kind, sample, wanted, config, activation));
  LOOM_TRY_VOID(chain.add(core));
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
  if (!(chain.shape() == out)) return fail(Code::ShapeMismatch, "{} gives {}, {} wanted", kind, chain.shape().text(), out.text());
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
