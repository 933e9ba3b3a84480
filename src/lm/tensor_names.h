#pragma once
// This table gives the role of each tensor: it has the names of Hugging Face checkpoints and of GGUF files beside the
// roles of a decoder's weights.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lm/model_config.h"

namespace loom {

enum class TensorRole : std::uint8_t {
  Embedding,
  AttentionNorm,
  Q,
  K,
  V,
  O,
  QBias,
  KBias,
  VBias,
  OBias,
  QNorm,
  KNorm,
  AttentionInnerNorm,
  FfnNorm,
  Gate,
  Up,
  Down,
  FfnInnerNorm,
  GateBias,
  UpBias,
  DownBias,
  FinalNorm,
  Head,
  RopeFactors,
};

struct TensorPlace {
  TensorRole role = TensorRole::Embedding;
  std::int64_t layer = -1;  // -1 where the role is not one of a layer
  friend bool operator==(const TensorPlace&, const TensorPlace&) = default;
};

// nullopt for names that are no weight of a supported model. Layer numbers have no sign, blanks or leading zeros.
std::optional<TensorPlace> place_from_hf(std::string_view name);
std::optional<TensorPlace> place_from_gguf(std::string_view name);
// "" where the format has no such tensor (rope factors in Hugging Face files).
std::string hf_name(TensorPlace place);
std::string gguf_name(TensorPlace place);

// The weight of build_decoder()'s network that holds a tensor, as .entity files name it; empty for rope factors, which
// belong to the config.
struct NetworkPlace {
  std::string path, weight;
};
NetworkPlace place_in_network(const ModelConfig& config, TensorPlace place);
std::optional<TensorPlace> place_from_network(const ModelConfig& config, std::string_view path,
                                              std::string_view weight);

// Buffers that old checkpoints store and that follow from the config ("model.layers.0.self_attn.rotary_emb.inv_freq").
bool is_ignorable_hf(std::string_view name);

// Every tensor that a model of this config must have, in order of execution, and the shape of one. A tied head has no
// tensor.
std::vector<TensorPlace> expected_tensors(const ModelConfig& config);
std::vector<std::size_t> expected_shape(const ModelConfig& config, TensorRole role);

// GGUF files of architecture "llama" store the rows of q and k (and their biases) for interleaved RoPE (engine F-41).
// Row r of the half-split matrix that Loom and Hugging Face use is row gguf_row(r, head_dim) of the file's.
bool has_interleaved_rows(std::string_view gguf_architecture, TensorRole role);
constexpr std::size_t gguf_row(std::size_t row, std::size_t head_dim) {
  const std::size_t head = row / head_dim, in_head = row % head_dim, half = head_dim / 2;
  return head * head_dim + in_head % half * 2 + in_head / half;
}

}  // namespace loom
