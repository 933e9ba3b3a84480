// Every key of a training's config changes a training, or is listed in this file with the reason why it does not.

#include <map>

#include "training/training_test.h"

namespace loom::training_test {
namespace {

// Places of all keys of a schema, "early_stop.metric".
void keys_of(const Json& schema, const std::string& before, std::vector<std::string>& keys) {
  const Json* properties = find(schema, "properties");
  if (properties == nullptr) return;
  for (const auto& [key, value] : properties->items()) {
    const std::string place = before.empty() ? key : before + "." + key;
    keys.push_back(place);
    keys_of(value, place, keys);
    for (const char* choice : {"oneOf", "anyOf"})
      if (const Json* forms = find(value, choice); forms != nullptr && forms->is_array())
        for (const Json& form : *forms) keys_of(form, place, keys);
  }
}

// The results of a training: its weights, losses, metrics, end and number of checkpoints; or why it is refused.
std::string outcome(const Json& config, const Folder& folder) {
  auto read = read_train_config(config, folder.path);
  if (!read) return "refused: " + read.error().text();
  RunOptions options;
  options.session.threads = 1, options.out = folder.file("run"), options.start = RunStart::overwrite;
  auto run = TrainingRun::create(std::move(*read), options);
  if (!run) return "refused: " + run.error().text();
  std::size_t checkpoints = 0;
  const auto done = (*run)->run([&](const TrainProgress& p) -> Result<Continue> {
    checkpoints += p.event == TrainEvent::Checkpoint;
    return Continue::yes;
  });
  if (!done) return "refused: " + done.error().text();
  std::string out = fmt::format("{} {} {} {} {}", to_hex(done->hash), name(done->stop_reason), done->steps, checkpoints,
                                fmt::join(done->loss_history, " "));
  if (done->validation) out += dump_json(done->validation->to_json());
  const auto journal = read_text_file(folder.file("run/journal.jsonl"));
  return out + fmt::format(" {} lines", journal ? std::ranges::count(*journal, '\n') : 0);
}

// A change of the small config that a key shows by: a merge patch that makes room for the key, and one that sets it.
struct Shown {
  const char* room;
  const char* change;
};

const std::map<std::string, Shown>& shown_keys() {
  static const std::map<std::string, Shown> keys{
      {"network", {"{}", R"({"network":{"seed":9}})"}},
      {"data", {"{}", R"({"data":{"limit":50}})"}},
      {"seed", {"{}", R"({"seed":6})"}},
      {"epochs", {"{}", R"({"epochs":3})"}},
      {"batch_size", {"{}", R"({"batch_size":8})"}},
      {"accumulate", {"{}", R"({"accumulate":2})"}},
      {"shards", {"{}", R"({"shards":3})"}},
      {"tbptt_steps",
       {R"({"network":{"input_shape":[4,2],"layers":[{"type":"gru","input_height":2,"output_height":4,"return_sequence":false}]}})",
        R"({"tbptt_steps":2})"}},
      {"tween", {R"({"optimizer":null})", R"({"tween":{}})"}},
      {"shuffle", {"{}", R"({"shuffle":false})"}},
      {"drop_last", {R"({"batch_size":15})", R"({"drop_last":true})"}},
      {"learning_rate", {R"({"optimizer":"sgd"})", R"({"learning_rate":0.5})"}},
      {"loss", {"{}", R"({"loss":"mse"})"}},
      {"loss.name", {R"({"loss":null})", R"({"loss":{"name":"mae"}})"}},
      {"loss.delta", {R"({"loss":{"name":"huber"}})", R"({"loss":{"delta":0.1}})"}},
      {"loss.label_smoothing", {R"({"loss":{"name":"softmax_crossentropy"}})", R"({"loss":{"label_smoothing":0.2}})"}},
      {"loss.ignore_index", {R"({"loss":{"name":"softmax_crossentropy"}})", R"({"loss":{"ignore_index":1}})"}},
      {"loss.class_weights",
       {R"({"loss":{"name":"softmax_crossentropy"}})", R"({"loss":{"class_weights":[1,2,3,4]}})"}},
      {"optimizer", {"{}", R"({"optimizer":"adagrad"})"}},
      {"optimizer.name", {"{}", R"({"optimizer":{"name":"rmsprop"}})"}},
      {"optimizer.learning_rate", {"{}", R"({"optimizer":{"learning_rate":0.02}})"}},
      {"optimizer.momentum", {R"({"optimizer":{"name":"sgd"}})", R"({"optimizer":{"momentum":0.5}})"}},
      {"optimizer.dampening", {R"({"optimizer":{"name":"sgd","momentum":0.5}})", R"({"optimizer":{"dampening":0.5}})"}},
      {"optimizer.nesterov", {R"({"optimizer":{"name":"sgd","momentum":0.5}})", R"({"optimizer":{"nesterov":true}})"}},
      {"optimizer.beta1", {"{}", R"({"optimizer":{"beta1":0.5}})"}},
      {"optimizer.beta2", {"{}", R"({"optimizer":{"beta2":0.5}})"}},
      {"optimizer.alpha", {R"({"optimizer":{"name":"rmsprop"}})", R"({"optimizer":{"alpha":0.5}})"}},
      {"optimizer.eps", {"{}", R"({"optimizer":{"eps":0.1}})"}},
      {"optimizer.amsgrad", {R"({"optimizer":{"beta2":0.1}})", R"({"optimizer":{"amsgrad":true}})"}},
      {"optimizer.centered", {R"({"optimizer":{"name":"rmsprop"}})", R"({"optimizer":{"centered":true}})"}},
      {"optimizer.weight_decay", {"{}", R"({"optimizer":{"weight_decay":0.5}})"}},
      {"optimizer.decay_vectors", {R"({"optimizer":{"weight_decay":0.5}})", R"({"optimizer":{"decay_vectors":true}})"}},
      {"optimizer.history", {R"({"optimizer":{"name":"lbfgs"}})", R"({"optimizer":{"history":1}})"}},
      {"schedule", {"{}", R"({"schedule":"cosine"})"}},
      {"schedule.name", {"{}", R"({"schedule":{"name":"linear"}})"}},
      {"schedule.unit", {R"({"schedule":{"name":"cosine"}})", R"({"schedule":{"unit":"epoch"}})"}},
      {"schedule.size", {R"({"schedule":{"name":"step"}})", R"({"schedule":{"size":3}})"}},
      {"schedule.total", {R"({"schedule":{"name":"cosine"}})", R"({"schedule":{"total":7}})"}},
      {"schedule.milestones", {R"({"schedule":{"name":"multi_step"}})", R"({"schedule":{"milestones":[2]}})"}},
      {"schedule.gamma", {R"({"schedule":{"name":"exponential"}})", R"({"schedule":{"gamma":0.9}})"}},
      {"schedule.start_factor", {R"({"schedule":{"name":"linear"}})", R"({"schedule":{"start_factor":0.9}})"}},
      {"schedule.end_factor", {R"({"schedule":{"name":"linear"}})", R"({"schedule":{"end_factor":0.1}})"}},
      {"schedule.power", {R"({"schedule":{"name":"polynomial"}})", R"({"schedule":{"power":3}})"}},
      {"schedule.end", {R"({"schedule":{"name":"polynomial"}})", R"({"schedule":{"end":0.005}})"}},
      {"schedule.min", {R"({"schedule":{"name":"cosine"}})", R"({"schedule":{"min":0.005}})"}},
      {"schedule.first_cycle", {R"({"schedule":{"name":"cosine_restarts"}})", R"({"schedule":{"first_cycle":5}})"}},
      {"schedule.cycle_mult",
       {R"({"schedule":{"name":"cosine_restarts","first_cycle":3}})", R"({"schedule":{"cycle_mult":2}})"}},
      {"schedule.max", {R"({"schedule":{"name":"one_cycle"}})", R"({"schedule":{"max":0.3}})"}},
      {"schedule.base", {R"({"schedule":{"name":"cyclic","up":2}})", R"({"schedule":{"base":0.3}})"}},
      {"schedule.pct", {R"({"schedule":{"name":"one_cycle"}})", R"({"schedule":{"pct":0.6}})"}},
      {"schedule.div", {R"({"schedule":{"name":"one_cycle"}})", R"({"schedule":{"div":3}})"}},
      {"schedule.final_div", {R"({"schedule":{"name":"one_cycle"}})", R"({"schedule":{"final_div":3}})"}},
      {"schedule.up", {R"({"schedule":{"name":"cyclic"}})", R"({"schedule":{"up":2}})"}},
      {"schedule.down", {R"({"schedule":{"name":"cyclic","up":2}})", R"({"schedule":{"down":2}})"}},
      {"schedule.cyclic_mode",
       {R"({"schedule":{"name":"cyclic","up":2,"down":2}})", R"({"schedule":{"cyclic_mode":"triangular2"}})"}},
      {"schedule.warmup", {R"({"schedule":{"name":"inverse_sqrt"}})", R"({"schedule":{"warmup":5}})"}},
      {"schedule.factor",
       {R"({"schedule":{"name":"plateau","patience":0,"threshold":1}})", R"({"schedule":{"factor":0.5}})"}},
      {"schedule.threshold", {R"({"schedule":{"name":"plateau","patience":0}})", R"({"schedule":{"threshold":1}})"}},
      {"schedule.patience", {R"({"schedule":{"name":"plateau","threshold":1}})", R"({"schedule":{"patience":0}})"}},
      {"schedule.cooldown",
       {R"({"epochs":6,"schedule":{"name":"plateau","patience":0,"threshold":1}})", R"({"schedule":{"cooldown":3}})"}},
      {"schedule.higher_is_better",
       {R"({"schedule":{"name":"plateau","patience":0}})", R"({"schedule":{"higher_is_better":true}})"}},
      {"schedule.warmup_steps", {"{}", R"({"schedule":{"warmup_steps":3}})"}},
      {"schedule.warmup_shape", {R"({"schedule":{"warmup_steps":3}})", R"({"schedule":{"warmup_shape":"cosine"}})"}},
      {"schedule.warmup_factor", {R"({"schedule":{"warmup_steps":3}})", R"({"schedule":{"warmup_factor":0.5}})"}},
      {"clip_norm", {"{}", R"({"clip_norm":0.01})"}},
      {"clip_value", {"{}", R"({"clip_value":0.001})"}},
      {"max_skipped", {R"({"optimizer":"sgd","learning_rate":1e12})", R"({"max_skipped":1})"}},
      {"dtype", {"{}", R"({"dtype":"int4"})"}},
      {"clamp_master", {R"({"dtype":"ternary"})", R"({"clamp_master":0.01})"}},
      {"qat_scale", {R"({"dtype":"int8"})", R"({"qat_scale":"frozen"})"}},
      {"mixed", {"{}", R"({"mixed":"bf16"})"}},
      {"early_stop", {"{}", R"({"early_stop":{"min_delta":1e9,"patience":1}})"}},
      {"early_stop.metric", {R"({"epochs":6,"early_stop":{"patience":1}})", R"({"early_stop":{"metric":"accuracy"}})"}},
      {"early_stop.patience", {R"({"early_stop":{"min_delta":1e9}})", R"({"early_stop":{"patience":1}})"}},
      {"early_stop.min_delta", {R"({"early_stop":{"patience":1}})", R"({"early_stop":{"min_delta":1e9}})"}},
      {"early_stop.mode", {R"({"early_stop":{"patience":1}})", R"({"early_stop":{"mode":"max"}})"}},
      {"early_stop.restore_best",
       {R"({"early_stop":{"min_delta":1e9,"patience":1}})", R"({"early_stop":{"restore_best":false}})"}},
      {"checkpoint", {"{}", R"({"checkpoint":{"every_steps":2}})"}},
      {"checkpoint.every_steps", {"{}", R"({"checkpoint":{"every_steps":2}})"}},
      {"journal", {"{}", R"({"journal":{"hash_every":1}})"}},
      {"journal.hash_every", {"{}", R"({"journal":{"hash_every":1}})"}},
      {"data.limit", {"{}", R"({"data":{"limit":50}})"}},
      {"data.header", {"{}", R"({"data":{"header":true}})"}},
      {"data.delimiter", {"{}", R"({"data":{"delimiter":";"}})"}},
      {"data.target_index", {"{}", R"({"data":{"target_index":0}})"}},
      {"data.target_column", {"{}", R"({"data":{"target_column":"y"}})"}},
      {"data.target_kind", {"{}", R"({"data":{"target_kind":"values"}})"}},
      {"data.class_ids", {"{}", R"({"data":{"class_ids":false}})"}},
      {"data.class_names", {"{}", R"({"data":{"class_names":["a","b"]}})"}},
      {"data.shape", {R"({"network":{"input_shape":null}})", R"({"data":{"shape":[2,4]}})"}},
      {"data.format", {"{}", R"({"data":{"format":"npy"}})"}},
      {"data.path", {"{}", R"({"data":{"path":"other.csv"}})"}},
      {"data.validation_split", {"{}", R"({"data":{"validation_split":0.5}})"}},
      {"data.split", {"{}", R"({"data":{"split":"shuffled"}})"}},
      {"data.validation",
       {R"({"data":{"validation_split":null}})",
        R"({"data":{"validation":{"format":"csv","path":"blobs.csv","header":false,"class_ids":true}}})"}},
      {"data.normalise", {"{}", R"({"data":{"normalise":"mean_std"}})"}},
      {"data.normalise.method", {"{}", R"({"data":{"normalise":{"method":"min_max"}}})"}},
      {"data.normalise.offset",
       {R"({"data":{"normalise":{"offset":[0],"scale":[2]}}})", R"({"data":{"normalise":{"offset":[1]}}})"}},
      {"data.normalise.scale",
       {R"({"data":{"normalise":{"offset":[1],"scale":[1]}}})", R"({"data":{"normalise":{"scale":[2]}}})"}},
      {"data.normalise.by",
       {R"({"data":{"normalise":{"method":"mean_std"}}})", R"({"data":{"normalise":{"by":"element"}}})"}},
      {"data.augment", {"{}", R"({"data":{"augment":{"noise":0.5}}})"}},
      {"data.augment.noise", {"{}", R"({"data":{"augment":{"noise":0.5}}})"}},
      {"commit_meta", {"{}", R"({"commit_meta":true})"}}};
  return keys;
}

// Keys that leave a training of this table as it is, and where they are shown.
const std::map<std::string, std::string>& other_keys() {
  static const std::map<std::string, std::string> keys{
      {"mode", "the same bits in every mode; cards: gpu_test"},
      {"cpu_fallback", "for machines without a card: gpu_loss_test"},
      {"micro_batch", "less memory, the same bits for multiples of 16: trainer_test"},
      {"workers", "the same bits: trainer_test"},
      {"checkpoint_every", "less memory, the same bits: trainer_test"},
      {"keep_dna", "dna.jsonl of `loom train`: host/train_test"},
      {"loss.heads", "several heads: loss_test"},
      {"loss.temperature", "contrastive: loss_test"}};
  return keys;
}

// Formats beside csv have their own tests (src/data), and refuse the keys of others; src/data tests augment's too.
bool is_of_another_format(const std::string& key) {
  static const std::vector<std::string> keys{"data.inputs", "data.targets",   "data.classes", "data.columns",
                                             "data.length", "data.stride",    "data.scale",   "data.channels",
                                             "data.unit",   "data.vocabulary"};
  return std::ranges::find(keys, key) != keys.end() ||
         (key.starts_with("data.augment.") && key != "data.augment.noise");
}

TEST(EveryTrainingKey, ChangesATrainingOrIsListedWithTheReason) {
  std::vector<std::string> keys;
  keys_of(train_schema(), "", keys);
  EXPECT_GT(keys.size(), 100u);
  const Folder folder;
  folder.write("blobs.csv", blobs(100, 8, 4));
  for (const std::string& key : keys) {
    if (other_keys().contains(key) || is_of_another_format(key)) continue;
    const auto shown = shown_keys().find(key);
    if (shown == shown_keys().end()) {
      ADD_FAILURE() << key << ": say how a training shows it, or why none does";
      continue;
    }
    Json config = small_config();
    config.merge_patch(parse_json(shown->second.room).value());
    const std::string before = outcome(config, folder);
    config.merge_patch(parse_json(shown->second.change).value());
    EXPECT_NE(outcome(config, folder), before) << key;
  }
  // Validation samples of a series are multiplied by their own scale.
  std::string rows = "a,b\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{}\n", i % 5, i % 7);
  folder.write("series.csv", rows);
  Json series = parse_json(R"({"network":{"layers":[{"type":"lstm","input_height":2,"output_height":2,
    "return_sequence":false}]},"data":{"format":"series","path":"series.csv","length":4,
    "validation":{"format":"series","path":"series.csv","length":4}},"epochs":1,"batch_size":8,"loss":"mse"})")
                    .value();
  const std::string unscaled = outcome(series, folder);
  EXPECT_FALSE(unscaled.starts_with("refused")) << unscaled;
  series["data"]["validation"]["scale"] = 2;
  EXPECT_NE(outcome(series, folder), unscaled);
  for (const auto& [key, reason] : other_keys())
    EXPECT_NE(std::ranges::find(keys, key), keys.end()) << key << " is no key any more: " << reason;
  for (const auto& [key, shown] : shown_keys())
    EXPECT_NE(std::ranges::find(keys, key), keys.end()) << key << " is no key any more";
}

// Keys of `tween` that other settings switch off.
TEST(EveryTrainingKey, TweenKeysWithoutEffectAreRefused) {
  const std::pair<const char*, const char*> pairs[] = {
      {R"({"mode":"layerwise","slope":"sign","slope_step":0.25})", R"({"mode":"layerwise","slope_step":0.25})"},
      {R"({"mode":"layerwise","depth_scale_factor":2})",
       R"({"mode":"layerwise","depth_scale_layerwise":true,"depth_scale_factor":2})"},
      {R"({"mode":"mirror","depth_scale_factor":2})", R"({"mode":"chain","depth_scale_factor":2})"},
      {R"({"mode":"dtp","feedback_steps":0,"feedback_noise":0.5})", R"({"mode":"dtp","feedback_noise":0.5})"},
      {R"({"mode":"mirror","feedback_steps":0,"feedback_learning_rate":0.5})",
       R"({"mode":"mirror","feedback_learning_rate":0.5})"}};
  for (const auto& [without, with] : pairs) {
    const auto refused = tween_config_from_json(parse_json(without).value());
    ASSERT_FALSE(refused) << without;
    EXPECT_EQ(refused.error().code, Code::InvalidConfig);
    EXPECT_NE(refused.error().text().find("has no effect"), std::string::npos) << refused.error().text();
    const auto taken = tween_config_from_json(parse_json(with).value());
    EXPECT_TRUE(taken) << with << taken.error().text();
  }
}

}  // namespace
}  // namespace loom::training_test
