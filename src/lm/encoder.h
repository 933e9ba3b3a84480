#pragma once
// Text encoders: a BERT in a Hugging Face folder, as sentence-transformers save it, becomes a network, and texts
// become vectors. Blocks are post-norm (Devlin et al. 2018): x = layernorm(x + mha(x)), x = layernorm(x + dense(gelu(
// dense(x)))); attention sees the whole text.
//
// Texts of one length run as one batch; none is padded, so a text's vector has the same bits alone and among others.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "core/thread_pool.h"
#include "io/mount.h"
#include "network/session/network_session.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

struct EncoderConfig {
  std::size_t vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, num_attention_heads = 0, intermediate_size = 0;
  std::size_t max_position_embeddings = 0, type_vocab_size = 0;
  double layer_norm_eps = 1e-12;
  std::string hidden_act = "gelu";
};

// config.json of model_type bert. Unsupported for other models and for options that change numbers, UnknownKey,
// InvalidConfig.
Result<EncoderConfig> encoder_config_from_json(const Json& config);

// How the vectors of a text's tokens become the vector of the text.
struct PoolingConfig {
  enum class Mode : std::uint8_t { Mean, Cls, Max, MeanSqrtLength } mode = Mode::Mean;
  bool normalize = false;      // to a length of 1
  bool include_prompt = true;  // false: the prompt's tokens are read, but not pooled
};

// A module of sentence-transformers after the pooling and its normalisation: y = act(W x + b), or x at a length of 1.
struct EncoderModule {
  bool is_dense = false;  // else it normalises
  std::size_t in = 0, out = 0;
  bool bias = true;
  std::string activation;  // of a dense layer
  std::string folder;      // of its config and weights
};

// Texts that sentence-transformers puts before every text, by their names.
struct EncoderPrompts {
  std::map<std::string, std::string> texts;
  std::string default_name;  // empty: none
};

struct EncoderOptions {
  NetworkSessionOptions session{};
  std::optional<DType> dtype{};  // matrices in this type; absent: float32
  // What stands before every text; absent: the folder's prompt of that name, else its default one.
  std::optional<std::string> prompt{};
  std::string prompt_name{};
};

struct TextEmbedding {
  std::vector<float> values;
  std::size_t tokens = 0;     // that were read, special ones included
  bool is_truncated = false;  // the text has more
};

// A text, or the tokens that are read in place of one: nothing is added to them.
struct EncoderInput {
  std::string text;
  std::vector<std::int32_t> ids{};  // empty: of the text
};

class TextEncoder {
 public:
  // `folder` holds config.json, model.safetensors (or shards), tokenizer.json and, as sentence-transformers write them,
  // modules.json, the config of the pooling, folders of Dense modules, sentence_bert_config.json and
  // config_sentence_transformers.json; without modules.json the mean of the tokens is taken. Strict (engine F-51): a
  // missing, unknown or mis-sized tensor, and a key that is not known, is an error that names it. UnknownName for a
  // prompt's name.
  static Result<TextEncoder> load(const std::string& folder, const EncoderOptions& options = {});

  const EncoderConfig& config() const { return config_; }
  const PoolingConfig& pooling() const { return pooling_; }
  const std::vector<EncoderModule>& modules() const { return modules_; }
  // Numbers of a vector.
  std::size_t dimensions() const;
  const EncoderPrompts& prompts() const { return prompts_; }
  // The text before every text; absent where nothing was asked for and the folder has no default.
  const std::optional<std::string>& prompt() const { return prompt_; }
  const LoadReport& report() const { return report_; }
  const Network& network() const { return *network_; }
  const std::shared_ptr<const text::Tokenizer>& tokenizer() const { return tokenizer_; }
  int threads() const { return session_->threads(); }
  Device* device() const { return session_->device(); }  // that was chosen
  // The most tokens that are read of a text; later ones are dropped, as in sentence-transformers.
  std::size_t max_tokens() const { return max_tokens_; }

  // One vector per text, in their order. Errors of Tokenizer::encode(); Cancelled once `*cancel` is set.
  Result<std::vector<TextEmbedding>> embed(std::span<const std::string> texts,
                                           const std::atomic<bool>* cancel = nullptr);
  // OutOfRange for an id that the model lacks.
  Result<std::vector<TextEmbedding>> embed(std::span<const EncoderInput> inputs,
                                           const std::atomic<bool>* cancel = nullptr);

 private:
  TextEncoder() = default;
  Result<void> run_batch(std::span<const std::vector<std::int32_t>* const> batch, const std::atomic<bool>* cancel,
                         std::span<TextEmbedding* const> results);
  Result<void> choose_prompt(const EncoderOptions& options);
  Result<void> load_modules(const EncoderOptions& options);
  Result<void> run_modules(std::span<TextEmbedding* const> batch, const std::atomic<bool>* cancel);
  std::vector<float> pooled(const float* rows, std::size_t count) const;

  EncoderConfig config_;
  PoolingConfig pooling_;
  std::vector<EncoderModule> modules_;
  struct Head {
    std::unique_ptr<Network> network;  // null: normalises
    std::unique_ptr<NetworkSession> session;
  };
  std::vector<Head> heads_;  // one for each module
  EncoderPrompts prompts_;
  std::optional<std::string> prompt_;
  std::size_t unpooled_ = 0;  // tokens of the prompt, where they are not pooled
  LoadReport report_;
  std::size_t max_tokens_ = 0;
  std::unique_ptr<Network> network_;
  std::unique_ptr<NetworkSession> session_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

// Keeps the first `dimensions` numbers and divides them by their length, as OpenAI's interface does; a vector that has
// no more stays as it is.
void shorten(std::vector<float>& vector, std::size_t dimensions);

// The cosine of the angle between two vectors of one length; 0 where one of them is 0.
double cosine_of(std::span<const float> a, std::span<const float> b);

}  // namespace loom
