#include "verify/language_trial.h"

#include <algorithm>

#include "finetune/finetune.h"
#include "verify/golden_models.h"
#include "verify/own_folder.h"
#include "verify/trial_options.h"

namespace loom {

namespace {

Json random_positions(Draw& draw) {
  const std::size_t kind = draw.below(8);
  if (kind == 0) return {{"rope_type", "linear"}, {"factor", 4.0}};
  if (kind == 1)
    return {{"rope_type", "llama3"},
            {"factor", 8.0},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 32}};
  if (kind == 2) return {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}};
  return nullptr;
}

Json random_config(Draw& draw, DType dtype) {
  const std::string family(draw.name({"llama", "llama", "mistral", "qwen2", "qwen3"}));
  Json c{
      {"model_type", family}, {"max_position_embeddings", 256}, {"bos_token_id", nullptr}, {"eos_token_id", nullptr}};
  c["vocab_size"] = draw.between(20, 700);
  c["num_hidden_layers"] = draw.between(1, 3);
  const std::size_t block = info(dtype).block_elements;
  if (block > 32) {  // rows end with a block
    const std::size_t heads = draw.pick<std::size_t>({2, 4, 8});
    c["num_attention_heads"] = heads, c["num_key_value_heads"] = heads, c["head_dim"] = block / heads;
    c["hidden_size"] = block, c["intermediate_size"] = block * draw.between(1, 2);
  } else {
    const std::size_t step = draw.pick<std::size_t>({8, 32, 32}), heads = draw.pick<std::size_t>({1, 2, 3, 4, 6});
    c["num_attention_heads"] = heads, c["num_key_value_heads"] = draw.divisor(heads, heads);
    c["head_dim"] = step == 32 && heads != 4 ? std::size_t{32} : 2 * draw.between(2, 40);
    c["hidden_size"] = step * draw.between(1, 9);
    c["intermediate_size"] = step * draw.between(1, 14);
  }
  c["tie_word_embeddings"] = draw.percent(50);
  c["rms_norm_eps"] = draw.pick({1e-5, 1e-6});
  c["rope_theta"] = draw.pick({10000.0, 500000.0, 100.0});
  if (const Json positions = random_positions(draw); !positions.is_null()) c["rope_scaling"] = positions;
  if (family == "llama") {
    if (draw.percent(25)) c["attention_bias"] = true;
    if (draw.percent(25)) c["mlp_bias"] = true;
  }
  if (family == "mistral") c["sliding_window"] = draw.between(1, 100);
  if (family.starts_with("qwen")) {
    c["use_sliding_window"] = draw.percent(30);
    c["sliding_window"] = draw.between(1, 100);
    c["max_window_layers"] = draw.below(2);
  }
  return c;
}

void draft_model(Draw& draw, Trial& trial) {
  const auto dtype = static_cast<DType>(draw.below(kNumDTypes));
  trial.network = random_config(draw, dtype);
  trial.input = {1};
  trial.options["dtype"] = std::string(name(dtype));
}

}  // namespace

void draft_decoder(Draw& draw, Trial& trial) {
  draft_model(draw, trial);
  if (draw.percent(25)) trial.options["activations"] = "int8";
  if (draw.percent(40)) trial.options["kv_dtype"] = std::string(draw.name({"bfloat16", "int8"}));
  trial.variants.push_back(Json{{"chunk", draw.between(1, 69)}});
  trial.variants.push_back(Json{{"neighbours", draw.between(1, 4)}});
  trial.variants.push_back(Json{{"through_snapshot", true}, {"chunk", draw.between(1, 69)}});
}

void draft_finetune(Draw& draw, Trial& trial) {
  draft_model(draw, trial);
  Json& o = trial.options;
  o["rank"] = draw.between(1, 9);
  o["length"] = draw.between(2, 40);
  o["batch_size"] = draw.between(1, 5);
  o["micro_batch"] = draw.between(1, 5);
  o["steps"] = draw.between(1, 4);
  if (draw.percent(50)) o["every_matrix"] = true;
  o["optimizer"] = std::string(draw.name({"adamw", "adam", "sgd", "lion"}));
  if (o["steps"] != 1) trial.variants.push_back(Json{{"stop_after", 1}});
}

Result<DecoderModel> trial_decoder(const Trial& trial) {
  LOOM_TRY(ModelConfig config, config_from_json(trial.network));
  LOOM_TRY(const DType dtype, dtype_from_name(text_option(trial.options, "dtype", "float32")));
  return golden_decoder({.name = fmt::format("trial {}", trial.data), .dtype = dtype, .config = std::move(config)});
}

Result<void> run_decoder(const Trial& trial, const Json& options, const TrialWay& way, TrialRecord& record) {
  LOOM_TRY(DecoderModel model, trial_decoder(trial));
  GoldenOptions run{.isa = way.isa, .threads = way.threads};
  run.device = way.device;
  run.chunk = number_option(options, "chunk"), run.neighbours = number_option(options, "neighbours");
  run.through_snapshot = flag_option(options, "through_snapshot");
  if (text_option(options, "activations") == "int8") run.activations = Activations::int8;
  LOOM_TRY(run.kv_dtype, dtype_from_name(text_option(options, "kv_dtype", "float32")));
  LOOM_TRY(const std::string digest, golden_digest(std::make_shared<const DecoderModel>(std::move(model)), run));
  record.show("logits", std::as_bytes(std::span(digest)));
  return {};
}

Result<void> run_finetune(const Trial& trial, const Json& options, const TrialWay& way, TrialRecord& record) {
  FinetuneConfig config;
  LOOM_TRY(DecoderModel model, trial_decoder(trial));
  // The smallest matrix limits the rank that is of use; the heads of queries are never fewer than those of keys.
  const ModelConfig& of = model.config;
  const auto widest =
      static_cast<std::size_t>(std::min({of.hidden_size, of.intermediate_size, of.num_key_value_heads * of.head_dim}));
  config.adapter.rank = std::min(number_option(options, "rank", 1), widest);
  if (flag_option(options, "every_matrix"))
    config.adapter.targets.insert(config.adapter.targets.end(), {"gate_proj", "up_proj", "down_proj"});
  config.length = number_option(options, "length", 2), config.batch_size = number_option(options, "batch_size", 1);
  config.micro_batch = number_option(options, "micro_batch", 1), config.steps = number_option(options, "steps", 1);
  config.optimizer.name = text_option(options, "optimizer", "adamw");
  config.schedule.learning_rate = 0.01, config.schedule.warmup_steps = 1;
  config.seed = trial.data, config.validation_windows = 2;
  config.session.threads = way.threads, config.session.isa = way.isa;
  config.session.device = way.device;

  const auto vocab = static_cast<std::size_t>(model.config.vocab_size);
  const RandomStream stream{trial.data, RandomDomain::Noise, 0, random_site("text")};
  std::vector<std::int32_t> ids(config.length * (config.batch_size * config.steps + 4) + 1);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(stream.below(i, static_cast<std::uint32_t>(vocab)));
  LOOM_TRY(const auto windows, TokenWindows::create(std::move(ids), config.length, vocab, "random"));

  OwnFolder folder;
  FinetuneRecord kept;
  if (const std::size_t stop_after = number_option(options, "stop_after"); stop_after > 0) {
    LOOM_TRY(kept.folder, folder.create());
    kept.start = RunStart::resume;
    LOOM_TRY(DecoderModel first, trial_decoder(trial));
    const auto stop = [&](const FinetuneProgress& p) -> Result<Continue> {
      return p.step >= stop_after ? Continue::stop : Continue::yes;
    };
    LOOM_TRY_VOID(finetune(first, *windows, config, stop, kept).map([](const FinetuneResult&) {}));
  }
  LOOM_TRY(const FinetuneResult result, finetune(model, *windows, config, nullptr, kept));
  record.show("adapters", std::as_bytes(std::span(result.hash)));
  for (std::size_t i = 0; i < result.losses.size(); ++i) record.show(fmt::format("loss {}", i), result.losses[i]);
  record.show("validation before", result.validation_before);
  record.show("validation after", result.validation_after);
  return {};
}

}  // namespace loom
