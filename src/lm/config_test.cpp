#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "core/json.h"
#include "io/gguf/gguf_writer.h"
#include "lm/model_config.h"
#include "lm/tensor_names.h"
#include "support/files.h"

namespace loom {
namespace {

std::string data_path(const std::string& name) {
  const char* folder = std::getenv("LOOM_DATA");
  return (folder ? std::string(folder) : std::string("LOOM_DATA is not set")) + "/" + name;
}

Result<ModelConfig> read(std::string_view text) {
  LOOM_TRY(const Json config, parse_json(text));
  return config_from_json(config);
}

// The published values; the second as transformers 5 writes it.
constexpr std::string_view kSmolLm2 =
    R"({"architectures":["LlamaForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":1,
 "eos_token_id":2,"hidden_act":"silu","hidden_size":576,"initializer_range":0.041666666666666664,"intermediate_size":1536,"is_llama_config":true,
 "max_position_embeddings":8192,"mlp_bias":false,"model_type":"llama","num_attention_heads":9,"num_hidden_layers":30,"num_key_value_heads":3,
 "pad_token_id":2,"pretraining_tp":1,"rms_norm_eps":1e-05,"rope_interleaved":false,"rope_scaling":null,"rope_theta":100000,
 "tie_word_embeddings":true,"torch_dtype":"bfloat16","transformers.js_config":{"kv_cache_dtype":{"q4f16":"float16"}},"transformers_version":"4.42.3",
 "use_cache":true,"vocab_size":49152})";
constexpr std::string_view kSmolLm2Version5 =
    R"({"architectures":["LlamaForCausalLM"],"attention_bias":false,"attention_dropout":0.0,"bos_token_id":1,
 "dtype":"bfloat16","eos_token_id":2,"head_dim":64,"hidden_act":"silu","hidden_size":576,"intermediate_size":1536,
 "max_position_embeddings":8192,"mlp_bias":false,"model_type":"llama","num_attention_heads":9,"num_hidden_layers":30,"num_key_value_heads":3,
 "pad_token_id":2,"rms_norm_eps":1e-05,"rope_parameters":{"rope_theta":100000,"rope_type":"default"},"tie_word_embeddings":true,
 "transformers_version":"5.0.0","use_cache":true,"vocab_size":49152})";
constexpr std::string_view kLlama31 =
    R"({"architectures":["LlamaForCausalLM"],"attention_bias":false,"bos_token_id":128000,"eos_token_id":[128001,128008,128009],
 "hidden_act":"silu","hidden_size":4096,"intermediate_size":14336,"max_position_embeddings":131072,"mlp_bias":false,"model_type":"llama",
 "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"rms_norm_eps":1e-05,"rope_scaling":{"factor":8.0,"low_freq_factor":1.0,
 "high_freq_factor":4.0,"original_max_position_embeddings":8192,"rope_type":"llama3"},"rope_theta":500000.0,"vocab_size":128256})";
constexpr std::string_view kMistral =
    R"({"architectures":["MistralForCausalLM"],"bos_token_id":1,"eos_token_id":2,"hidden_act":"silu","hidden_size":4096,
 "intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mistral","num_attention_heads":32,"num_hidden_layers":32,
 "num_key_value_heads":8,"rms_norm_eps":1e-05,"rope_theta":10000.0,"sliding_window":4096,"tie_word_embeddings":false,"vocab_size":32000})";
constexpr std::string_view kQwen25 =
    R"({"architectures":["Qwen2ForCausalLM"],"attention_dropout":0.0,"bos_token_id":151643,"eos_token_id":151645,
 "hidden_act":"silu","hidden_size":896,"intermediate_size":4864,"max_position_embeddings":32768,"max_window_layers":21,"model_type":"qwen2",
 "num_attention_heads":14,"num_hidden_layers":24,"num_key_value_heads":2,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"sliding_window":32768,
 "tie_word_embeddings":true,"use_sliding_window":false,"vocab_size":151936})";
constexpr std::string_view kQwen3 =
    R"({"architectures":["Qwen3ForCausalLM"],"attention_bias":false,"bos_token_id":151643,"eos_token_id":151645,"head_dim":128,
 "hidden_act":"silu","hidden_size":1024,"intermediate_size":3072,"max_position_embeddings":40960,"max_window_layers":28,"model_type":"qwen3",
 "num_attention_heads":16,"num_hidden_layers":28,"num_key_value_heads":8,"rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":1000000,
 "sliding_window":null,"tie_word_embeddings":true,"use_sliding_window":false,"vocab_size":151936})";

constexpr std::string_view kBitnet =
    R"({"architectures":["BitNetForCausalLM"],"auto_map":{"AutoConfig":"configuration_bitnet.BitNetConfig",
 "AutoModelForCausalLM":"modeling_bitnet.BitNetForCausalLM"},"bos_token_id":128000,"eos_token_id":128001,"hidden_act":"relu2","hidden_size":2560,
 "initializer_range":0.02,"intermediate_size":6912,"max_position_embeddings":4096,"model_type":"bitnet","rms_norm_eps":1e-05,
 "num_attention_heads":20,"num_hidden_layers":30,"num_key_value_heads":5,"rope_theta":500000.0,"tie_word_embeddings":true,"torch_dtype":"bfloat16",
 "use_cache":true,"vocab_size":128256,"quantization_config":{"quant_method":"bitnet","linear_class":"autobitlinear","quantization_mode":"offline"}})";

// `text` with one key set to another value.
std::string with(std::string_view text, const char* key, std::string_view value) {
  Json j = *parse_json(text);
  j[key] = *parse_json(value);
  return dump_json(j);
}
std::string without(std::string_view text, const char* key) {
  Json j = *parse_json(text);
  j.erase(key);
  return dump_json(j);
}

void expect_smollm2(const ModelConfig& c) {
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.hidden_size, 576);
  EXPECT_EQ(c.intermediate_size, 1536);
  EXPECT_EQ(c.num_hidden_layers, 30);
  EXPECT_EQ(c.num_attention_heads, 9);
  EXPECT_EQ(c.num_key_value_heads, 3);
  EXPECT_EQ(c.head_dim, 64);
  EXPECT_EQ(c.rotary_dim(), 64);
  EXPECT_EQ(c.vocab_size, 49152);
  EXPECT_EQ(c.max_position_embeddings, 8192);
  EXPECT_EQ(c.rms_norm_eps, 1e-5f);
  EXPECT_EQ(c.rope_theta, 100000.0);
  EXPECT_EQ(c.rope_scaling.type, RopeScalingType::None);
  EXPECT_EQ(c.sliding_window, 0);
  EXPECT_FALSE(c.qkv_bias || c.o_bias || c.mlp_bias || c.qk_norm);
  EXPECT_TRUE(c.tie_word_embeddings);
  EXPECT_EQ(c.bos_token_id, 1);
  EXPECT_EQ(c.pad_token_id, 2);
  EXPECT_EQ(c.eos_token_ids, (std::vector<std::int64_t>{2}));
}

TEST(ModelConfig, one_model_from_three_sources_is_one_config) {  // F-53
  const auto older = read(kSmolLm2), newer = read(kSmolLm2Version5);
  ASSERT_TRUE(older) << older.error().text();
  ASSERT_TRUE(newer) << newer.error().text();
  expect_smollm2(*older);
  expect_smollm2(*newer);
  const auto file = GgufFile::open(data_path("llm/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(file) << file.error().text();
  const auto gguf = config_from_gguf(*file);
  ASSERT_TRUE(gguf) << gguf.error().text();
  expect_smollm2(*gguf);
}

TEST(ModelConfig, llama3_rope) {  // F-53
  const auto c = read(kLlama31);
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->rope_scaling.type, RopeScalingType::Llama3);
  EXPECT_EQ(c->rope_scaling.factor, 8);
  EXPECT_EQ(c->rope_scaling.low_freq_factor, 1);
  EXPECT_EQ(c->rope_scaling.high_freq_factor, 4);
  EXPECT_EQ(c->rope_scaling.original_max_position_embeddings, 8192);
  EXPECT_EQ(c->head_dim, 128);
  EXPECT_FALSE(c->tie_word_embeddings);
  EXPECT_EQ(c->eos_token_ids, (std::vector<std::int64_t>{128001, 128008, 128009}));
}

TEST(ModelConfig, sliding_windows) {  // F-53
  const auto mistral = read(kMistral);
  ASSERT_TRUE(mistral) << mistral.error().text();
  EXPECT_EQ(mistral->window_of_layer(0), 4096);
  EXPECT_EQ(mistral->window_of_layer(31), 4096);
  const auto off = read(kQwen25);
  ASSERT_TRUE(off) << off.error().text();
  EXPECT_EQ(off->window_of_layer(23), 0);
  const auto on = read(with(kQwen25, "use_sliding_window", "true"));
  ASSERT_TRUE(on) << on.error().text();
  EXPECT_EQ(on->window_of_layer(20), 0);
  EXPECT_EQ(on->window_of_layer(21), 32768);
  std::string types = "[";
  for (int i = 0; i < 24; ++i)
    types += fmt::format("{}\"{}\"", i ? "," : "", i % 2 ? "sliding_attention" : "full_attention");
  const auto listed = read(with(with(kQwen25, "use_sliding_window", "true"), "layer_types", types + "]"));
  ASSERT_TRUE(listed) << listed.error().text();
  EXPECT_EQ(listed->window_of_layer(2), 0);
  EXPECT_EQ(listed->window_of_layer(3), 32768);
  // sliding layers without a window
  EXPECT_EQ(read(with(kQwen25, "layer_types", types + "]")).error().code, Code::InvalidConfig);
  EXPECT_EQ(read(with(kQwen25, "layer_types", R"(["full_attention"])")).error().code, Code::InvalidConfig);
  EXPECT_EQ(read(with(kSmolLm2, "sliding_window", "64")).error().code, Code::Unsupported);
}

TEST(ModelConfig, biases_and_norms_by_family) {  // G-96
  const auto qwen2 = read(kQwen25), qwen3 = read(kQwen3),
             biased = read(with(with(kSmolLm2, "attention_bias", "true"), "mlp_bias", "true"));
  ASSERT_TRUE(qwen2 && qwen3 && biased);
  EXPECT_TRUE(qwen2->qkv_bias && !qwen2->o_bias && !qwen2->qk_norm);
  EXPECT_TRUE(!qwen3->qkv_bias && !qwen3->o_bias && qwen3->qk_norm);
  EXPECT_EQ(qwen3->head_dim, 128);
  EXPECT_TRUE(biased->qkv_bias && biased->o_bias && biased->mlp_bias);
  EXPECT_EQ(read(with(kMistral, "attention_bias", "true")).error().code, Code::Unsupported);
  EXPECT_EQ(read(without(kQwen3, "head_dim"))->head_dim, 128);
}

TEST(ModelConfig, rope_scaling_types) {  // F-53
  const auto linear = read(with(kSmolLm2, "rope_scaling", R"({"type":"linear","factor":2.5})"));
  ASSERT_TRUE(linear) << linear.error().text();
  EXPECT_EQ(linear->rope_scaling.type, RopeScalingType::Linear);
  EXPECT_EQ(linear->rope_scaling.factor, 2.5);
  const auto yarn =
      read(with(kQwen25, "rope_scaling", R"({"type":"yarn","factor":4.0,"original_max_position_embeddings":32768})"));
  ASSERT_TRUE(yarn) << yarn.error().text();
  EXPECT_EQ(yarn->rope_scaling.type, RopeScalingType::Yarn);
  EXPECT_EQ(yarn->rope_scaling.beta_fast, 32);
  EXPECT_FALSE(yarn->rope_scaling.attention_factor);
  for (const char* bad :
       {R"({"type":"dynamic","factor":2})", R"({"rope_type":"longrope","factor":2})", R"({"type":"linear"})",
        R"({"type":"linear","factor":0})", R"({"type":"linear","factor":"2"})",
        R"({"type":"linear","factor":2,"mscale":1})", R"({"rope_type":"llama3","factor":8})", "[1]", "3"})
    EXPECT_FALSE(read(with(kSmolLm2, "rope_scaling", bad))) << bad;
  EXPECT_FALSE(read(with(kSmolLm2, "rope_parameters", R"({"rope_theta":5,"rope_type":"default"})")))
      << "two values of rope_theta";
}

// transformers 5 ignores it in all of these families with the default rope, and fails with others.
TEST(ModelConfig, partial_rotary_factors_are_refused) {  // F-54
  for (const std::string_view config : {kSmolLm2, kMistral, kQwen25, kQwen3, kBitnet}) {
    EXPECT_EQ(read(with(config, "partial_rotary_factor", "0.5")).error().code, Code::Unsupported);
    EXPECT_EQ(read(with(config, "partial_rotary_factor", "1.0"))->partial_rotary_factor, 1.0);
  }
  EXPECT_EQ(read(with(kSmolLm2Version5, "rope_parameters",
                      R"({"rope_theta":100000,"rope_type":"default","partial_rotary_factor":0.5})"))
                .error()
                .code,
            Code::Unsupported);
  EXPECT_EQ(
      read(with(kQwen25, "rope_scaling", R"({"type":"linear","factor":2,"partial_rotary_factor":0.5})")).error().code,
      Code::Unsupported);
}

// Defaults of the classes of transformers 5.23 for keys that a config.json leaves out.
TEST(ModelConfig, defaults_are_those_of_the_family) {  // F-53
  EXPECT_EQ(read(without(kMistral, "sliding_window"))->window_of_layer(31), 4096);
  EXPECT_EQ(read(with(kMistral, "sliding_window", "null"))->window_of_layer(0), 0);
  EXPECT_EQ(read(with(kMistral, "sliding_window", "0")).error().code, Code::InvalidConfig);
  EXPECT_EQ(read(with(kMistral, "use_sliding_window", "false"))->window_of_layer(0), 4096);  // no switch of this family
  EXPECT_EQ(read(with(kMistral, "max_window_layers", "40"))->window_of_layer(0), 4096);
  EXPECT_EQ(read(without(without(kMistral, "num_key_value_heads"), "sliding_window"))->num_key_value_heads, 8);
  const std::string full = "[" + [] {
    std::string list;
    for (int i = 0; i < 32; ++i) list += i ? ",\"full_attention\"" : "\"full_attention\"";
    return list;
  }() + "]";
  // transformers ignores the list in this family
  EXPECT_EQ(read(with(kMistral, "layer_types", full)).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(with(kMistral, "sliding_window", "null"), "layer_types", full))->window_of_layer(0), 0);

  const std::string sliding = with(with(kQwen25, "use_sliding_window", "true"), "max_window_layers", "20");
  EXPECT_EQ(read(without(sliding, "sliding_window"))->window_of_layer(20), 4096);
  EXPECT_EQ(read(without(sliding, "sliding_window"))->window_of_layer(19), 0);
  EXPECT_EQ(read(with(sliding, "sliding_window", "null"))->window_of_layer(23), 0);
  EXPECT_EQ(read(without(without(kQwen25, "use_sliding_window"), "sliding_window"))->window_of_layer(23), 0);

  EXPECT_EQ(read(without(with(kQwen25, "num_attention_heads", "32"), "num_key_value_heads"))->num_key_value_heads, 32);
  EXPECT_FALSE(read(without(kQwen25, "num_key_value_heads")));  // 14 heads do not divide among 32
  EXPECT_EQ(read(with(kQwen25, "num_key_value_heads", "null"))->num_key_value_heads, 14);
  EXPECT_EQ(read(without(with(kQwen3, "num_attention_heads", "64"), "num_key_value_heads"))->num_key_value_heads, 32);
  EXPECT_EQ(read(without(kLlama31, "num_key_value_heads"))->num_key_value_heads, 32);
  EXPECT_EQ(read(without(kBitnet, "num_key_value_heads"))->num_key_value_heads, 5);
  EXPECT_EQ(read(without(kBitnet, "rms_norm_eps"))->rms_norm_eps, 1e-5f);
  EXPECT_EQ(read(without(kSmolLm2, "rms_norm_eps"))->rms_norm_eps, 1e-6f);
  EXPECT_EQ(read(without(without(kMistral, "eos_token_id"), "bos_token_id"))->eos_token_ids,
            (std::vector<std::int64_t>{2}));
  EXPECT_EQ(read(without(kMistral, "bos_token_id"))->bos_token_id, 1);
  EXPECT_TRUE(read(without(kQwen25, "eos_token_id"))->eos_token_ids.empty());
}

TEST(ModelConfig, keys_that_change_nothing_are_read) {  // F-53
  for (const auto& [key, value] : std::map<std::string, std::string>{{"use_mrope", "false"},
                                                                     {"_model_name_or_path", "\"x\""},
                                                                     {"max_sequence_length", "2048"},
                                                                     {"bias", "false"},
                                                                     {"is_causal", "true"},
                                                                     {"model_max_length", "4096"},
                                                                     {"num_experts", "0"},
                                                                     {"use_qk_norm", "false"},
                                                                     {"use_flash_attention", "true"},
                                                                     {"hidden_act", "\"swish\""},
                                                                     {"bos_token_id", "[1]"},
                                                                     {"pad_token_id", "[0]"},
                                                                     {"gradient_checkpointing", "true"},
                                                                     {"_commit_hash", "null"}}) {
    const auto c = read(with(kSmolLm2, key.c_str(), value));
    ASSERT_TRUE(c) << c.error().text();
    EXPECT_EQ(c->hidden_act, "silu");
    EXPECT_EQ(c->bos_token_id, 1);
  }
  for (const auto& [key, value] : std::map<std::string, std::string>{{"use_mrope", "true"},
                                                                     {"bias", "true"},
                                                                     {"is_causal", "false"},
                                                                     {"num_experts", "8"},
                                                                     {"use_qk_norm", "true"},
                                                                     {"hidden_act", "\"gelu\""},
                                                                     {"bos_token_id", "[1,2]"},
                                                                     {"is_causal", "3"}})
    EXPECT_FALSE(read(with(kSmolLm2, key.c_str(), value))) << key << " " << value;
  // As published: Qwen/Qwen2.5-0.5B.
  EXPECT_TRUE(read(with(with(kQwen25, "use_mrope", "false"), "max_window_layers", "24")));
}

// Every number of a config, or "refused".
std::string fingerprint(const Result<ModelConfig>& read) {
  if (!read) return "refused";
  const ModelConfig& c = *read;
  const RopeScaling& s = c.rope_scaling;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", c.architecture,
                     c.hidden_size, c.intermediate_size, c.num_hidden_layers, c.num_attention_heads,
                     c.num_key_value_heads, c.head_dim, c.vocab_size, c.max_position_embeddings, c.rms_norm_eps,
                     c.rope_theta, c.partial_rotary_factor, static_cast<int>(s.type), s.factor, s.low_freq_factor,
                     s.high_freq_factor, s.original_max_position_embeddings, c.sliding_window,
                     fmt::join(c.layer_slides, ","), c.qkv_bias, c.o_bias, c.mlp_bias, c.tie_word_embeddings,
                     c.hidden_act, c.bos_token_id, c.pad_token_id, fmt::join(c.eos_token_ids, ","));
}

TEST(ModelConfig, EveryKeyOfConfigJsonChangesTheModelOrIsKnownToChangeNothing) {
  constexpr const char* kQwen2 =
      R"({"model_type":"qwen2","hidden_size":8,"intermediate_size":8,"num_hidden_layers":2,"num_attention_heads":2,)"
      R"("num_key_value_heads":2,"vocab_size":32,"max_position_embeddings":64,"use_sliding_window":true,)"
      R"("sliding_window":8,"max_window_layers":0,"eos_token_id":2})";
  const std::map<std::string_view, std::string> values = {
      {"model_type", "\"mistral\""},
      {"architectures", R"(["LlamaModel"])"},
      {"hidden_size", "16"},
      {"intermediate_size", "16"},
      {"num_hidden_layers", "3"},
      {"num_attention_heads", "4"},
      {"num_key_value_heads", "1"},
      {"head_dim", "6"},
      {"vocab_size", "64"},
      {"max_position_embeddings", "128"},
      {"rms_norm_eps", "0.5"},
      {"rope_theta", "50.0"},
      {"rope_scaling", R"({"type":"linear","factor":2.0})"},
      {"rope_parameters", R"({"rope_type":"default","rope_theta":50.0})"},
      {"partial_rotary_factor", "0.5"},
      {"sliding_window", "4"},
      {"use_sliding_window", "false"},
      {"max_window_layers", "1"},
      {"layer_types", R"(["full_attention","sliding_attention"])"},
      {"attention_bias", "true"},
      {"mlp_bias", "true"},
      {"tie_word_embeddings", "true"},
      {"hidden_act", "\"gelu\""},
      {"bos_token_id", "5"},
      {"eos_token_id", "5"},
      {"pad_token_id", "5"}};
  const std::string base = fingerprint(read(kQwen2));
  ASSERT_NE(base, "refused");
  const ConfigKeys keys = config_json_keys();
  for (const std::string_view key : keys.honoured) {
    ASSERT_TRUE(values.contains(key)) << key << " has no value in this test";
    EXPECT_NE(fingerprint(read(with(kQwen2, std::string(key).c_str(), values.at(key)))), base) << key;
  }
  for (const std::string_view key : keys.ignorable)
    for (const char* value : {"true", "3", "\"x\"", R"({"x":[1]})"})
      EXPECT_EQ(fingerprint(read(with(kQwen2, std::string(key).c_str(), value))), base) << key << ": " << value;
  for (const auto& [list, neutral, other] :
       {std::tuple(keys.must_be_off, "false", "true"), std::tuple(keys.must_be_on, "true", "false")})
    for (const std::string_view key : list) {
      EXPECT_EQ(fingerprint(read(with(kQwen2, std::string(key).c_str(), neutral))), base) << key;
      const auto refused = read(with(kQwen2, std::string(key).c_str(), other));
      ASSERT_FALSE(refused) << key;
      EXPECT_NE(refused.error().text().find(std::string("/").append(key)), std::string::npos) << key;
    }
}

// Keys of other families, and of nested configs, that change logits.
TEST(ModelConfig, KeysOfOtherFamiliesAreRefusedByName) {
  for (const char* key : {"text_config",
                          "vision_config",
                          "final_logit_softcapping",
                          "attn_logit_softcapping",
                          "query_pre_attn_scalar",
                          "logit_scale",
                          "logits_scaling",
                          "embedding_multiplier",
                          "residual_multiplier",
                          "attention_multiplier",
                          "no_rope_layers",
                          "rope_local_base_freq",
                          "sliding_window_pattern",
                          "sliding_window_size",
                          "clip_qkv",
                          "qk_layernorm",
                          "num_local_experts",
                          "num_experts_per_tok",
                          "head_bias",
                          "lm_head_bias",
                          "attention_out_bias",
                          "layer_norm_eps",
                          "use_parallel_residual",
                          "rotary_pct",
                          "mup_width_scale",
                          "dim_model_base"}) {
    const auto refused = read(with(kSmolLm2, key, "0.5"));
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, Code::UnknownKey) << key;
    EXPECT_NE(refused.error().text().find(key), std::string::npos) << refused.error().text();
  }
  for (const char* rope :
       {R"({"full_attention":{"rope_type":"default"}})", R"({"rope_type":"dynamic","factor":2})",
        R"({"rope_type":"longrope","short_factor":[1],"long_factor":[1]})",
        R"({"rope_type":"yarn","factor":2.0,"mscale":1.0})", R"({"rope_type":"yarn","factor":2.0,"truncate":false})",
        R"({"rope_type":"default","mrope_section":[1,1,1]})"})
    EXPECT_FALSE(read(with(without(kSmolLm2, "rope_theta"), "rope_parameters", rope))) << rope;
}

TEST(ModelConfig, refuses_by_name) {  // F-54
  for (const char* type : {"gemma2", "phi", "mixtral", "gpt2", "qwen2_moe", "llava", ""}) {
    const auto refused = read(with(kSmolLm2, "model_type", fmt::format("\"{}\"", type)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::Unsupported);
    EXPECT_NE(refused.error().text().find(fmt::format("\"{}\"", type)), std::string::npos);
    EXPECT_NE(refused.error().text().find("llama, mistral, qwen2, qwen3"), std::string::npos);
  }
  EXPECT_EQ(read(with(kSmolLm2, "architectures", R"(["LlamaForSequenceClassification"])")).error().code,
            Code::Unsupported);
  EXPECT_EQ(read(with(kSmolLm2, "quantization_config", R"({"quant_method":"gptq"})")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kSmolLm2, "auto_map", R"({"AutoModel":"x.y"})")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kSmolLm2, "hidden_act", "\"gelu\"")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kSmolLm2, "rope_interleaved", "true")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kSmolLm2, "logit_scale", "0.5")).error().code, Code::UnknownKey);
  EXPECT_TRUE(read(with(kSmolLm2, "logit_scale", "null")));
}

TEST(ModelConfig, bitnet) {  // D-24, F-53
  const auto c = read(kBitnet);
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_TRUE(c->inner_norm);
  EXPECT_EQ(c->hidden_act, "relu2");
  EXPECT_EQ(c->head_dim, 128);
  EXPECT_EQ(c->ternary_weights, TernaryWeights::Multiplied);
  const auto quantized = [](std::string_view q) { return read(with(kBitnet, "quantization_config", q)); };
  EXPECT_EQ(quantized(R"({"quant_method":"bitnet"})")->ternary_weights,
            TernaryWeights::Divided);  // transformers' default class
  EXPECT_EQ(read(without(kBitnet, "quantization_config"))->ternary_weights, TernaryWeights::None);
  EXPECT_EQ(read(without(without(kBitnet, "rope_theta"), "hidden_act"))->rope_theta, 500000.0);
  for (const char* q :
       {R"({"quant_method":"gptq"})", R"({"quant_method":"bitnet","quantization_mode":"online"})",
        R"({"quant_method":"bitnet","linear_class":"other"})", R"({"quant_method":"bitnet","use_rms_norm":true})"})
    EXPECT_EQ(quantized(q).error().code, Code::Unsupported) << q;
  EXPECT_EQ(quantized(R"({"quant_method":"bitnet","bits":1})").error().code, Code::UnknownKey);
  EXPECT_EQ(quantized("7").error().code, Code::InvalidConfig);
  EXPECT_EQ(quantized("{}").error().code, Code::InvalidConfig);
  EXPECT_EQ(read(with(kBitnet, "auto_map", R"({"AutoConfig":"other.Config"})")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kBitnet, "hidden_act", R"("silu")")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kSmolLm2, "hidden_act", R"("relu2")")).error().code, Code::Unsupported);
  EXPECT_EQ(read(with(kBitnet, "attention_bias", "true")).error().code, Code::Unsupported);
}

TEST(ModelConfig, missing_and_impossible_values) {  // F-53
  for (const char* key : {"model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                          "vocab_size", "max_position_embeddings"}) {
    EXPECT_EQ(read(without(kSmolLm2, key)).error().code, Code::InvalidConfig) << key;
    EXPECT_FALSE(read(with(kSmolLm2, key, "0"))) << key;
    EXPECT_FALSE(read(with(kSmolLm2, key, "-1"))) << key;
    EXPECT_FALSE(read(with(kSmolLm2, key, "9223372036854775807"))) << key;
    EXPECT_FALSE(read(with(kSmolLm2, key, "1.5"))) << key;
    EXPECT_FALSE(read(with(kSmolLm2, key, "[]"))) << key;
  }
  EXPECT_FALSE(read(with(kSmolLm2, "num_key_value_heads", "0")));
  EXPECT_FALSE(read(with(kSmolLm2, "num_key_value_heads", "2")));
  EXPECT_FALSE(read(with(kSmolLm2, "num_attention_heads", "7")));
  EXPECT_FALSE(read(with(kSmolLm2, "rms_norm_eps", "0")));
  EXPECT_FALSE(read(with(kSmolLm2, "rms_norm_eps", "1e300")));
  EXPECT_FALSE(read(with(kSmolLm2, "rope_theta", "-1")));
  EXPECT_FALSE(read(with(kSmolLm2, "head_dim", "63")));
  EXPECT_FALSE(read(with(kSmolLm2, "eos_token_id", "49152")));
  EXPECT_FALSE(read(with(kSmolLm2, "eos_token_id", "[1,\"2\"]")));
  EXPECT_FALSE(read("[]"));
  EXPECT_TRUE(read(with(kSmolLm2, "eos_token_id", "null"))->eos_token_ids.empty());
}

// Fields of transformers (tools/golden/generation_fields.py): each is read, without effect by a table, or refused by
// name where it would forbid, force or weigh tokens.
TEST(ModelConfig, EveryFieldOfGenerationConfigIsKnown) {
  std::size_t refused = 0;
  for (const Json& field : test::read_json(test::source_path("tests/golden/generation_fields.json"))) {
    const std::string key = *as_string(field);
    ModelConfig c = *read(kSmolLm2);
    EXPECT_TRUE(add_generation_config(c, Json{{key, nullptr}})) << key;
    const auto done = add_generation_config(c, Json{{key, key == "eos_token_id" ? Json(5) : Json(3)}});
    if (done) continue;
    ++refused;
    EXPECT_EQ(done.error().code, Code::Unsupported) << key;
    EXPECT_NE(done.error().text().find(key), std::string::npos) << done.error().text();
  }
  EXPECT_EQ(refused, 23u);
  ModelConfig c = *read(kSmolLm2);
  for (const char* text : {R"({"suppress_tokens":[]})", R"({"num_beams":1,"guidance_scale":1.0,"min_length":0})",
                           R"({"temperature":0.6,"top_p":0.9,"do_sample":true,"repetition_penalty":1.1})"})
    EXPECT_TRUE(add_generation_config(c, *parse_json(text))) << text;
  for (const char* text : {R"({"suppress_tokens":[7]})", R"({"forced_eos_token_id":0})", R"({"stop_strings":["x"]})"})
    EXPECT_EQ(add_generation_config(c, *parse_json(text)).error().code, Code::Unsupported) << text;
  EXPECT_EQ(add_generation_config(c, *parse_json(R"({"a_field_of_tomorrow":1})")).error().code, Code::UnknownKey);
}

TEST(ModelConfig, FieldsOfAnswersInAConfigAreRefusedWhereTheyForbidOrForceTokens) {
  for (const char* text :
       {R"({"suppress_tokens":[7]})", R"({"begin_suppress_tokens":[7]})", R"({"bad_words_ids":[[7]]})",
        R"({"forced_eos_token_id":0})", R"({"forced_bos_token_id":7})", R"({"num_beams":3})", R"({"min_length":9})",
        R"({"no_repeat_ngram_size":2})", R"({"exponential_decay_length_penalty":[1,5.0]})"}) {
    const auto refused = check_generation_fields(*parse_json(text));
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::Unsupported);
    EXPECT_NE(refused.error().text().find("config.json"), std::string::npos) << refused.error().text();
  }
  // As older transformers wrote them.
  EXPECT_TRUE(check_generation_fields(*parse_json(
      R"({"suppress_tokens":null,"bad_words_ids":null,"forced_eos_token_id":null,"num_beams":1,"num_beam_groups":1,)"
      R"("min_length":0,"no_repeat_ngram_size":0,"diversity_penalty":0.0,"temperature":0.6,"hidden_size":8})")));
}

TEST(ModelConfig, generation_config_adds_stop_tokens) {  // X-23
  auto c = *read(kSmolLm2);
  ASSERT_TRUE(add_generation_config(c, *parse_json(R"({"eos_token_id":[7,2,0]})")));
  EXPECT_EQ(c.eos_token_ids, (std::vector<std::int64_t>{0, 2, 7}));
  EXPECT_TRUE(add_generation_config(c, *parse_json("{}")));
  EXPECT_FALSE(add_generation_config(c, *parse_json(R"({"eos_token_id":49152})")));
}

TEST(ModelConfig, survives_damage) {  // F-01
  const std::string good(kSmolLm2);
  for (std::size_t n = 0; n < good.size(); ++n) ASSERT_FALSE(read(std::string_view(good).substr(0, n)));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int change : {0x01, 0x02, 0x10, 0x80}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      if (const auto c = read(bad)) {
        ASSERT_TRUE(check(*c)) << bad;
      }
    }
}

// A model of two layers, its tensors all zeros.
GgufWriter tiny(const std::string& architecture) {
  GgufWriter w;
  w.set("general.architecture", architecture);
  const auto key = [&](const char* k) { return architecture + "." + k; };
  w.set(key("block_count"), std::uint32_t{2});
  w.set(key("context_length"), std::uint32_t{128});
  w.set(key("embedding_length"), std::uint32_t{64});
  w.set(key("feed_forward_length"), std::uint32_t{96});
  w.set(key("attention.head_count"), std::uint32_t{4});
  w.set(key("attention.head_count_kv"), std::uint32_t{2});
  w.set(key("attention.layer_norm_rms_epsilon"), 1e-6f);
  w.set("tokenizer.ggml.eos_token_id", std::uint32_t{3});
  w.set("tokenizer.ggml.eot_token_id", std::uint32_t{1});
  return w;
}

Result<ModelConfig> read(const GgufWriter& w, const ModelConfig* tensors_of = nullptr) {
  GgufWriter copy = w;
  std::vector<std::vector<std::byte>> keep;
  if (tensors_of)
    for (const TensorPlace place : expected_tensors(*tensors_of)) {
      const auto shape = expected_shape(*tensors_of, place.role);
      std::size_t n = 4;
      for (const std::size_t extent : shape) n *= extent;
      LOOM_TRY_VOID(copy.add_tensor(gguf_name(place), DType::float32, shape, [n]() -> Result<std::vector<std::byte>> {
        std::vector<std::byte> ones(n);
        for (std::size_t i = 0; i < n; i += 4) store_le(ones.data() + i, 1.0f);
        return ones;
      }));
    }
  const std::string path = ::testing::TempDir() + "loom_config.gguf";
  LOOM_TRY_VOID(copy.write(path));
  LOOM_TRY(const auto file, GgufFile::open(path));
  return config_from_gguf(file);
}

ModelConfig tiny_config(const std::string& architecture) {
  ModelConfig c;
  c.architecture = architecture;
  c.hidden_size = 64, c.intermediate_size = 96, c.num_hidden_layers = 2, c.num_attention_heads = 4,
  c.num_key_value_heads = 2;
  c.head_dim = 16, c.vocab_size = 10, c.max_position_embeddings = 128;
  c.qkv_bias = architecture == "qwen2", c.qk_norm = architecture == "qwen3";
  return c;
}

TEST(ModelConfig, gguf_options_show_in_the_tensors) {  // F-41
  for (const bool on : {false, true}) {
    for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
      ModelConfig c = tiny_config(architecture);
      c.qkv_bias = c.qkv_bias || on;
      c.o_bias = c.mlp_bias = c.tie_word_embeddings = on;
      if (on) c.rope_freq_factors.assign(8, 1.0f);
      const auto got = read(tiny(architecture), &c);
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_EQ(got->vocab_size, 10);
      EXPECT_EQ(got->head_dim, 16);
      EXPECT_EQ(got->qkv_bias, c.qkv_bias);
      EXPECT_EQ(got->o_bias, on);
      EXPECT_EQ(got->mlp_bias, on);
      EXPECT_EQ(got->qk_norm, c.qk_norm);
      EXPECT_EQ(got->tie_word_embeddings, on);
      EXPECT_EQ(got->rope_freq_factors, c.rope_freq_factors);
      EXPECT_EQ(got->eos_token_ids, (std::vector<std::int64_t>{1, 3}));
      EXPECT_EQ(expected_tensors(*got), expected_tensors(c));
    }
  }
}

// llama.cpp has such norms in qwen3 alone, and always; the biases of qwen2 too.
TEST(ModelConfig, gguf_tensors_that_belong_to_a_family) {  // F-54
  for (const char* architecture : {"llama", "qwen2", "qwen3"}) {
    ModelConfig c = tiny_config(architecture);
    c.qk_norm = !c.qk_norm;
    const auto got = read(tiny(architecture), &c);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_NE(expected_tensors(*got), expected_tensors(c)) << architecture;  // build_decoder() refuses it
  }
  ModelConfig c = tiny_config("qwen2");
  c.qkv_bias = false;
  EXPECT_TRUE(read(tiny("qwen2"), &c)->qkv_bias);
}

// llama.cpp reads the key of 2023 where rope.scaling.factor is missing.
TEST(ModelConfig, GgufTakesTheOldLinearScale) {
  auto base = tiny("llama");
  base.set("llama.vocab_size", std::uint32_t{10});
  base.set("llama.rope.scale_linear", 4.0f);
  const auto old = read(base);
  ASSERT_TRUE(old) << old.error().text();
  EXPECT_EQ(old->rope_scaling.type, RopeScalingType::Linear);
  EXPECT_EQ(old->rope_scaling.factor, 4);
  base.set("llama.rope.scaling.factor", 2.0f);
  EXPECT_EQ(read(base)->rope_scaling.factor, 2);
  GgufWriter none = tiny("llama");
  none.set("llama.vocab_size", std::uint32_t{10});
  none.set("llama.rope.scale_linear", 0.0f);
  EXPECT_EQ(read(none)->rope_scaling.type, RopeScalingType::None);
}

TEST(ModelConfig, gguf_refusals) {  // F-54
  const auto code = [](GgufWriter w) {
    const auto c = read(w);
    return c ? Code{} : c.error().code;
  };
  auto base = tiny("llama");
  base.set("llama.vocab_size", std::uint32_t{10});
  EXPECT_EQ(code(base), Code{});
  const auto set = [&](const char* key, auto value) {
    GgufWriter w = base;
    w.set(key, value);
    return code(w);
  };
  EXPECT_EQ(code(tiny("gemma2")), Code::Unsupported);
  EXPECT_EQ(set("general.type", "adapter"), Code::Unsupported);
  EXPECT_EQ(set("split.count", std::uint16_t{2}), Code::Unsupported);
  EXPECT_EQ(set("llama.expert_count", std::uint32_t{8}), Code::Unsupported);
  EXPECT_EQ(set("llama.expert_count", std::uint32_t{0}), Code{});
  EXPECT_EQ(set("llama.logit_scale", 0.5f), Code::UnknownKey);
  EXPECT_EQ(set("llama.attention.causal", false), Code::Unsupported);
  EXPECT_EQ(set("llama.attention.value_length", std::uint32_t{8}), Code::Unsupported);
  EXPECT_EQ(set("llama.attention.head_count", std::vector<std::uint32_t>{4, 4}), Code::InvalidConfig);
  EXPECT_EQ(set("llama.attention.head_count", std::uint32_t{0}), Code::InvalidConfig);
  EXPECT_EQ(set("llama.block_count", std::int64_t{-1}), Code::InvalidConfig);
  EXPECT_EQ(set("llama.block_count", std::uint64_t{1} << 63), Code::InvalidConfig);
  EXPECT_EQ(set("llama.rope.dimension_count", std::uint32_t{16}), Code{});
  for (const std::uint32_t other : {0u, 8u, 15u, 17u})
    EXPECT_EQ(set("llama.rope.dimension_count", other), Code::Unsupported) << other;
  EXPECT_EQ(set("llama.rope.scaling.type", "longrope"), Code::Unsupported);
  EXPECT_EQ(set("llama.rope.scaling.type", "linear"), Code::InvalidConfig);  // without its factor
  EXPECT_EQ(set("llama.rope.scaling.factor", 2.0f), Code{});
  EXPECT_EQ(set("llama.rope.scaling.attn_factor", 2.0f), Code::Unsupported);
  EXPECT_EQ(set("llama.rope.scaling.attn_factor", 1.0f), Code{});
  EXPECT_EQ(set("llama.rope.scaling.yarn_attn_factor", 1.0f), Code::Unsupported);  // without yarn
  EXPECT_EQ(set("llama.rope.scaling.yarn_ext_factor", 1.0f), Code{});
  EXPECT_EQ(set("llama.rope.scaling.yarn_ext_factor", 0.5f), Code::Unsupported);
  EXPECT_EQ(set("llama.rope.scaling.yarn_log_multiplier", 0.0f), Code{});
  EXPECT_EQ(set("llama.rope.scaling.yarn_log_multiplier", 0.1f), Code::Unsupported);
  GgufWriter yarn = base;
  yarn.set("llama.rope.scaling.type", "yarn"), yarn.set("llama.rope.scaling.factor", 4.0f),
      yarn.set("llama.rope.scaling.yarn_attn_factor", 1.5f);
  EXPECT_EQ(read(yarn)->rope_scaling.attention_factor, 1.5);
  yarn.set("llama.rope.scaling.yarn_attn_factor", 0.0f);
  EXPECT_EQ(code(yarn), Code::InvalidConfig);
  EXPECT_EQ(set("llama.attention.layer_norm_rms_epsilon", 0.0f), Code::InvalidConfig);
  // The bits of a float under another type would be another number.
  EXPECT_EQ(set("llama.rope.freq_base", std::int32_t{1176256512}), Code::InvalidConfig);
  EXPECT_EQ(set("llama.rope.freq_base", std::uint32_t{10000}), Code::InvalidConfig);
  EXPECT_EQ(set("llama.rope.freq_base", 10000.0), Code::InvalidConfig);
  EXPECT_EQ(set("llama.block_count", std::int32_t{2}), Code::InvalidConfig);
  EXPECT_EQ(set("llama.attention.layer_norm_rms_epsilon", 1e-6), Code::InvalidConfig);
  EXPECT_EQ(set("split.count", std::uint32_t{1}), Code::InvalidConfig);
  EXPECT_EQ(set("tokenizer.ggml.eos_token_id", std::int32_t{3}), Code::InvalidConfig);
  for (const char* vocab : {"bert-bge", "gemma-4", "gpt-2", "phi-3"}) {
    const auto file = GgufFile::open(data_path(fmt::format("vocabs/{}.gguf", vocab)));
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(config_from_gguf(*file).error().code, Code::Unsupported) << vocab;
  }
}

TEST(TensorNames, both_ways) {  // F-51
  ModelConfig c = *read(with(with(kSmolLm2, "attention_bias", "true"), "mlp_bias", "true"));
  c.qk_norm = true, c.tie_word_embeddings = false;
  const auto all = expected_tensors(c);
  EXPECT_EQ(all.size(), 3u + 30 * 18);
  for (const TensorPlace place : all) {
    EXPECT_EQ(place_from_hf(hf_name(place)), place) << hf_name(place);
    EXPECT_EQ(place_from_gguf(gguf_name(place)), place) << gguf_name(place);
    EXPECT_FALSE(expected_shape(c, place.role).empty());
  }
  EXPECT_EQ(hf_name({TensorRole::Q, 7}), "model.layers.7.self_attn.q_proj.weight");
  EXPECT_EQ(gguf_name({TensorRole::Down, 12}), "blk.12.ffn_down.weight");
  for (const char* bad :
       {"", "model.layers.1.input_layernorm", "model.layers.01.input_layernorm.weight",
        "model.layers..input_layernorm.weight", "model.layers.-1.input_layernorm.weight",
        "model.layers.99999999999999999999.input_layernorm.weight", "model.layers.1.", "blk.1.attn_q.weight"})
    EXPECT_EQ(place_from_hf(bad), std::nullopt) << bad;
  EXPECT_TRUE(is_ignorable_hf("model.layers.3.self_attn.rotary_emb.inv_freq"));
  EXPECT_FALSE(is_ignorable_hf("model.layers.3.self_attn.q_proj.weight"));
}

TEST(TensorNames, every_tensor_of_a_real_model_has_its_place_and_shape) {  // F-41
  const auto file = GgufFile::open(data_path("llm/SmolLM2-135M-Instruct.Q4_1.gguf"));
  ASSERT_TRUE(file) << file.error().text();
  const auto config = config_from_gguf(*file);
  ASSERT_TRUE(config);
  const auto expected = expected_tensors(*config);
  EXPECT_EQ(expected.size(), file->tensors().size());
  for (const TensorPlace place : expected) {
    const GgufTensor* t = file->tensor(gguf_name(place));
    ASSERT_TRUE(t) << gguf_name(place);
    EXPECT_EQ(std::vector<std::size_t>(t->shape().begin(), t->shape().end()), expected_shape(*config, place.role));
  }
}

TEST(TensorNames, rows_of_q_and_k) {  // F-41
  // Within a head of eight rows, half-split row i pairs with i + 4; interleaved, 2i with 2i + 1.
  const std::size_t expected[] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (std::size_t r = 0; r < 16; ++r) EXPECT_EQ(gguf_row(r, 8), expected[r]);
  EXPECT_TRUE(has_interleaved_rows("llama", TensorRole::Q));
  EXPECT_TRUE(has_interleaved_rows("llama", TensorRole::KBias));
  EXPECT_FALSE(has_interleaved_rows("llama", TensorRole::V));
  EXPECT_FALSE(has_interleaved_rows("qwen2", TensorRole::Q));
}

}  // namespace
}  // namespace loom
