// Specs key by key and name by name: accepted values, and the messages about others.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/json.h"
#include "layers/all.h"
#include "verify/golden_layers.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "network/spec/spec_fields.h"
#include "support/files.h"
#include "support/schema_check.h"

namespace loom {
namespace {

std::string list_of(const std::string& layer, const std::string& more = "") {
  return "{" + more + R"("layers":[)" + layer + "]}";
}

bool fits_schema(const Json& spec) {
  static const Json schema = spec_schema();
  return test::SchemaCheck(schema).fits(spec, schema);
}

TEST(Schema, every_shipped_example_fits_and_is_read) {  // J-01
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_path("examples"))) {
    if (entry.path().extension() != ".json") continue;
    const auto folder = entry.path().parent_path().filename();
    if (folder == "hints") continue;  // of bare tensors (io/bare_network_test.cpp)
    if (folder == "vite") continue;   // a package of npm
    const Json file = test::read_json(entry.path().string());
    const Json* within = find(file, "network");
    const Json& spec = within != nullptr ? *within : file;
    ++seen;
    EXPECT_TRUE(fits_schema(spec)) << entry.path();
    const auto made = network_from_json(spec);
    // The example names a third party's ONNX file, which is not part of Loom (src/training/features_test.cpp).
    EXPECT_TRUE(made || made.error().message.starts_with("names a file, \"onnx/")) << entry.path();
  }
  EXPECT_GE(seen, 14u);
}

TEST(Schema, every_golden_layer_fits_and_what_the_reader_refuses_does_not) {  // J-01
  for (const GoldenLayer& c : golden_layers())
    EXPECT_TRUE(fits_schema(*parse_json(list_of(std::string(c.spec))))) << c.name;
  for (const char* spec :
       {R"({"layers":[{"type":"dense","dtype":"bf16","activation":"swish"}]})",
        R"({"layers":[{"is_remote_link":true,"target_l":1,"link_mode":"share"}]})",
        R"({"layers":[{"type":"dense","is_remote_link":true,"target_l":1,"link_mode":"feed","link_merge":"add"}]})",
        R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[]})",
        R"({"layers":[],"seed":"18446744073709551615"})"})
    EXPECT_TRUE(fits_schema(*parse_json(spec))) << spec;
  for (const char* spec :
       {R"({})", R"({"layers":{}})", R"({"layers":[{"type":"dens"}]})",
        R"({"layers":[{"type":"dense","input_heigth":3}]})", R"({"layers":[{"type":"dense","input_height":-1}]})",
        R"({"layers":[{"type":"dense","bias":1}]})", R"({"layers":[],"colour":1})",
        R"({"depth":0,"rows":1,"cols":1,"layers_per_cell":1,"layers":[]})",
        R"({"layers":[{"type":"dense","dtype":"float31"}]})", R"({"layers":[{"type":"dense","activation":6}]})",
        R"({"layers":[{"type":"dense","group_size":48}]})", R"({"layers":[{"is_remote_link":true,"group_size":33}]})",
        R"({"layers":[{"type":"dense","init_scale":-1}]})", R"({"layers":[],"init_scale":1e300})",
        R"({"layers":[{"is_remote_link":false}]})",
        R"({"layers":[{"type":"sequential","sequential_layers":[{"type":"dense","rank":1}]}]})"})
    EXPECT_FALSE(fits_schema(*parse_json(spec))) << spec;
}

// A name that the schema gives as the default, written out, changes nothing.
TEST(Schema, defaults_of_names_are_those_of_the_reader) {  // J-01
  const Json schema = spec_schema();
  EXPECT_EQ(schema["properties"]["default_dtype"]["default"], "float32");
  std::map<std::string, Json> kinds;
  for (const Json& kind : schema["$defs"]["layer"]["oneOf"])
    kinds[kind["title"].get<std::string>()] = kind["properties"];
  std::size_t checked = 0;
  for (const GoldenLayer& c : golden_layers()) {
    const Json plain = *parse_json(c.spec);
    const auto layer = layer_from_json(plain);
    ASSERT_TRUE(layer) << c.name;
    for (const auto& [key, property] : kinds[std::string((*layer)->kind())].items()) {
      // another name of a key, and keys of links alone
      if (key == "kmeans_output_mode" || key.starts_with("link_")) continue;
      const Json* standard = find(property, "default");
      if (standard == nullptr || find(property, "enum") == nullptr || plain.contains(key)) continue;
      Json named = plain;
      named[key] = *standard;
      const auto same = layer_from_json(named);
      ASSERT_TRUE(same) << c.name << " " << key << ": " << same.error().text();
      EXPECT_EQ(dump_json(layer_to_json(**same)), dump_json(layer_to_json(**layer))) << c.name << " " << key;
      ++checked;
    }
  }
  EXPECT_GT(checked, 100u);
}

// Keys that mean the same give the same network, and both at once are an error (engine J-12, J-13, J-14).
TEST(Spec, aliases_of_keys) {  // J-12, J-13, J-14
  const struct {
    const char *spec, *key, *alias;
  } rows[] = {
      {R"({"type":"dense","input_height":3,"output_height":2})", "input_height", "input_size"},
      {R"({"type":"dense","input_height":3,"output_height":2})", "input_height", "in_features"},
      {R"({"type":"dense","input_height":3,"output_height":2})", "output_height", "output_size"},
      {R"({"type":"dense","input_height":3,"output_height":2})", "output_height", "out_features"},
      {R"({"type":"rnn","input_height":3,"output_height":2})", "input_height", "input_size"},
      {R"({"type":"rnn","input_height":3,"output_height":2})", "output_height", "hidden_size"},
      {R"({"type":"lstm","input_height":3,"output_height":2})", "input_height", "input_size"},
      {R"({"type":"lstm","input_height":3,"output_height":2})", "output_height", "hidden_size"},
      {R"({"type":"gru","input_height":3,"output_height":2})", "output_height", "hidden_size"},
      {R"({"type":"swiglu","input_height":3,"output_height":2})", "output_height", "intermediate_size"},
      {R"({"type":"s6","input_height":3,"state_size":5})", "input_height", "input_size"},
      {R"({"type":"s6","input_height":3,"state_size":5})", "state_size", "d_state"},
      {R"({"type":"cnn2","input_channels":3,"filters":2,"kernel_size":1})", "input_channels", "in_channels"},
      {R"({"type":"cnn2","input_channels":3,"filters":2,"kernel_size":1})", "filters", "out_channels"},
      {R"({"type":"convtransposed1","input_channels":3,"filters":2,"kernel_size":1})", "filters", "out_channels"},
      {R"({"type":"mha","d_model":4,"num_heads":1,"rope_theta":500})", "rope_theta", "rope_freq_base"},
      {R"({"type":"kmeans","input_height":3,"num_clusters":2,"output_mode":"features"})", "output_mode",
       "kmeans_output_mode"},
      {R"({"type":"parallel","combine_mode":"filter","parallel_branches":[{"type":"dense","input_height":3,"output_height":2}],"filter_gate":{"type":"dense","input_height":3,"output_height":1}})",
       "filter_gate", "filter_gate_config"},
      {R"({"type":"rmsnorm","input_height":3})", "input_height", "output_height"},
      {R"({"type":"layernorm","input_height":3})", "input_height", "output_height"},
  };
  for (const auto& row : rows) {
    const Json spec = *parse_json(row.spec);
    Json renamed = Json::object(), both = spec;
    for (const auto& [key, value] : spec.items()) renamed[key == row.key ? row.alias : key] = value;
    both[row.alias] = spec[row.key];
    const auto a = layer_from_json(spec), b = layer_from_json(renamed), c = layer_from_json(both);
    ASSERT_TRUE(a) << row.spec << a.error().text();
    ASSERT_TRUE(b) << row.alias << ": " << b.error().text();
    EXPECT_EQ(dump_json(layer_to_json(**a)), dump_json(layer_to_json(**b))) << row.alias;
    EXPECT_FALSE(c) << row.spec << " with " << row.alias;
  }
}

// The keys that a layer has, without those of its children.
class KeyList final : public FieldVisitor {
 public:
  std::set<std::string> keys;
  void operator()(Key k, bool&) override { add(k); }
  void operator()(Key k, std::string&) override { add(k); }
  void operator()(Key k, std::optional<std::int64_t>&) override { add(k); }
  void operator()(Key k, Activation&) override { add(k); }
  void operator()(Key k, AxisSizes&) override { add(k); }
  void operator()(Key k, std::vector<double>&) override { add(k); }
  void operator()(Key k, std::vector<std::string>&) override { add(k); }
  void operator()(Key k, std::vector<std::int64_t>&) override { add(k); }
  void operator()(Key k, std::vector<bool>&) override { add(k); }
  void operator()(Key k, SkipFrom&) override { add(k); }
  void operator()(Key k, LayerRef&) override { add(k); }
  void operator()(Key k, std::vector<LayerPtr>&) override { add(k); }
  void operator()(Key k, LayerPtr&) override { add(k); }
  void json(Key k, Json&) override { add(k); }
  void object(Key k, const Fields&, std::string_view) override { add(k); }

 protected:
  void whole(Key k, std::uint64_t&, SizeRange) override { add(k); }
  void wholes(Key k, std::vector<std::size_t>&, SizeRange) override { add(k); }
  void number(Key k, double&, NumberRange) override { add(k); }
  void number(Key k, std::optional<double>&, NumberRange) override { add(k); }
  void list(Key k, std::size_t, const std::function<void(std::size_t)>&,
            const std::function<void(std::size_t, ConfigVisitor&)>&) override {
    add(k);
  }
  void choose(Key k, std::size_t&, std::span<const std::string_view>, Code) override { add(k); }

 private:
  void add(Key k) { keys.emplace(k.first()); }
};

// Every key of every kind stands in one of these with a value that is not its default, and comes back as it was given.
TEST(Spec, every_key_of_every_kind_round_trips) {  // G-64, J-13, J-14
  const std::string activation = R"("activation":"elu","elu_alpha":0.5,"leaky_slope":0.3,"ste":false)";
  const std::string sizes =
      R"("input_height":9,"output_height":3,"input_width":8,"output_width":2,"input_depth":7,"output_depth":4)";
  const std::string conv =
      R"("input_channels":4,"filters":4,"stride":2,"padding":1,"dilation":2,"groups":2,"bias":true,)" + activation +
      "," + sizes;
  const std::string recurrent =
      R"("input_height":3,"output_height":2,"seq_length":7,"stateful":true,"bidirectional":true,"return_sequence":false,"bias":false)";
  const std::string dense = R"({"type":"dense","input_height":3,"output_height":3})";
  std::vector<std::string> all = {
      R"({"type":"dense","input_height":3,"output_height":2,"bias":true,"tied_to":"layers.1",)" + activation + "}",
      R"({"type":"activation",)" + activation + "}",
      R"({"type":"rnn","activation":"relu",)" + recurrent + "}",
      R"({"type":"lstm",)" + recurrent + "}",
      R"({"type":"gru",)" + recurrent + "}",
      R"({"type":"s6","input_height":3,"state_size":5,"dt_rank":2,"bias":false,"stateful":true})",
      R"({"type":"swiglu","input_height":3,"output_height":2,"bias":true,"inner_norm":true,"rms_norm_eps":1e-3,)" +
          activation + "}",
      R"({"type":"mha","d_model":12,"num_heads":6,"num_kv_heads":3,"head_dim":4,"query_dim":24,"kv_dim":12,"output_dim":5,"qkv_bias":true,"out_bias":true,"causal":false,
          "rope_theta":500,"rope_style":"interleaved","partial_rotary_factor":0.5,"qk_norm":"head","rms_norm_eps":1e-3,"inner_norm":true,"sliding_window":7,"attn_scale":0.5,
          "logit_softcap":3,"max_seq_len":99,"rope_scaling":{"type":"yarn","factor":2,"original_max_position_embeddings":64,"beta_fast":16,"beta_slow":2,"attention_factor":1.5}})",
      R"({"type":"mha","d_model":12,"num_heads":6,"cross":true,"rope":false})",
      R"({"type":"rmsnorm","input_height":3,"rms_norm_eps":1e-3,"weight_offset":1})",
      R"({"type":"layernorm","input_height":3,"eps":1e-3,"bias":false})",
      R"({"type":"groupnorm","input_height":4,"num_groups":2,"eps":1e-3})",
      R"({"type":"instancenorm","input_height":4,"eps":1e-3,"affine":true})",
      R"({"type":"batchnorm","input_height":3,"eps":1e-3,"momentum":0.2})",
      R"({"type":"embedding","vocab_size":7,"embedding_dim":3,"embed_scale":2,"oob":"zero",)" + activation + "}",
      R"({"type":"kmeans","num_clusters":2,"input_height":3,"kmeans_temperature":2,"output_mode":"features",)" +
          activation + "}",
      R"({"type":"softmax","softmax_type":"masked","input_height":3,"output_height":3,"temperature":2,"mask":[true,false]})",
      R"({"type":"softmax","softmax_type":"gumbel","gumbel_noise":false,"gumbel_hard":true})",
      R"({"type":"maxpool","kernel_size":2,"stride":3,"padding":1,"dilation":2,"ceil_mode":true,"global":true,)" +
          sizes + "}",
      R"({"type":"avgpool","kernel_size":2,"stride":3,"padding":1,"ceil_mode":true,"count_include_pad":false,"global":true,)" +
          sizes + "}",
      R"({"type":"parallel","concat_axis":1,"parallel_branches":[)" + dense + "]}",
      R"({"type":"parallel","flatten":true,"parallel_branches":[)" + dense + "]}",
      R"({"type":"parallel","combine_mode":"filter","gate_aux_weight":0.5,"gate_scope":"sample","top_k":1,"gate_temperature":2,"parallel_branches":[)" +
          dense + R"(],"filter_gate":{"type":"dense","input_height":3,"output_height":1}})",
      R"({"type":"metacognition","meta_source":"stats","meta_effect":"gate","train_meta":true,"meta_rules":[{"condition":"std_above","threshold":2,"command":"rmsnorm","cooldown":3}],
          "meta_observed_layer":)" +
          dense + R"(,"meta_network":{"type":"dense","input_height":6,"output_height":1}})",
      R"({"type":"residual","skip_from":[0,0,0,1]})",
      R"({"type":"graph","input":"a","output":"y","fixed":{"b":2},"train_weights":["w"],"graph":{"inputs":[{"name":"a"},
          {"name":"b","shape":[1]}],"outputs":["y","z"],"constants":[{"name":"w","type":"float32","shape":[3]}],
          "nodes":[{"op":"Mul","inputs":["a","b"],"outputs":["m"]},{"op":"Mul","inputs":["m","w"],"outputs":["y"]},
          {"op":"Add","inputs":["a","b"],"outputs":["z"]}]}})",
  };
  for (const char* kind : {"cnn1", "cnn2", "cnn3"})
    all.push_back(fmt::format(R"({{"type":"{}","kernel_size":2,{}}})", kind, conv));
  for (const char* kind : {"convtransposed1", "convtransposed2", "convtransposed3"})
    all.push_back(fmt::format(R"({{"type":"{}","kernel_size":2,"output_padding":1,{}}})", kind, conv));
  for (const GoldenLayer& c : golden_layers()) all.emplace_back(c.spec);
  std::map<std::string, std::set<std::string>> covered;
  for (const std::string& text : all) {
    const Json spec = *parse_json(text);
    auto layer = layer_from_json(spec);
    ASSERT_TRUE(layer) << text << layer.error().text();
    const Json written = layer_to_json(**layer);
    const auto again = layer_from_json(written);
    ASSERT_TRUE(again) << written;
    EXPECT_EQ(dump_json(layer_to_json(**again)), dump_json(written)) << text;
    const auto from_printed = layer_from_json(printed_spec(**layer));
    ASSERT_TRUE(from_printed) << printed_spec(**layer);
    EXPECT_EQ(dump_json(layer_to_json(**from_printed)), dump_json(written)) << text;
    for (const auto& [key, value] : written.items()) {
      if (const Json* given = find(spec, key); given != nullptr && !given->is_structured()) {
        EXPECT_EQ(*given, value) << text << " " << key;
      }
      covered[std::string((*layer)->kind())].insert(key);
    }
  }
  std::string missing;
  for (const LayerKind* kind : layer_kinds()) {
    KeyList keys;
    kind->fresh()->fields(keys);
    for (const std::string& key : keys.keys)
      if (!covered[std::string(kind->name)].contains(key)) missing += fmt::format("{}.{} ", kind->name, key);
  }
  EXPECT_EQ(missing, "");
}

TEST(Spec, PrintedSpecsNameWidthsAsOtherFrameworksDo) {  // J-12
  const auto made = network_from_json(*parse_json(R"({"layers":[{"type":"sequential","layers":[
      {"type":"dense","input_height":6,"output_height":5},{"type":"lstm","input_height":5,"output_height":4},
      {"type":"layernorm","input_height":4},{"type":"swiglu","input_height":4,"output_height":16}]}]})"));
  ASSERT_TRUE(made) << made.error().text();
  const Json printed = printed_spec(made->network), stored = network_to_json(made->network);
  const Json& layers = printed["layers"][0]["sequential_layers"];
  EXPECT_EQ(layers[0], (Json{{"in_features", 6}, {"out_features", 5}, {"type", "dense"}}));
  EXPECT_EQ(layers[1], (Json{{"input_size", 5}, {"hidden_size", 4}, {"type", "lstm"}}));
  EXPECT_EQ(layers[2], (Json{{"normalized_shape", 4}, {"type", "layernorm"}}));
  EXPECT_EQ(layers[3], (Json{{"d_model", 4}, {"intermediate_size", 16}, {"type", "swiglu"}}));
  EXPECT_EQ(stored["layers"][0]["sequential_layers"][0],
            (Json{{"input_height", 6}, {"output_height", 5}, {"type", "dense"}}));
  const auto again = network_from_json(printed);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(network_to_json(again->network), stored);
  // The height of an image is no width.
  const auto pool = layer_from_json(*parse_json(R"({"type":"maxpool","kernel_size":2,"input_height":9})"));
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_EQ(printed_spec(**pool)["input_height"], 9);
}

TEST(Spec, lengths_that_are_not_positive_read_as_1_and_widths_default_to_heights) {  // J-17
  for (const char* length : {"0", "-1", "-9"}) {
    const auto layer = layer_from_json(
        *parse_json(fmt::format(R"({{"type":"lstm","input_height":3,"output_height":2,"seq_length":{}}})", length)));
    ASSERT_TRUE(layer) << length << layer.error().text();
    EXPECT_EQ(layer_to_json(**layer)["seq_length"], 1) << length;
  }
  const auto shape = [](const std::string& keys, const Shape& input) -> Result<std::string> {
    LOOM_TRY(const LayerPtr layer,
             layer_from_json(*parse_json(R"({"input_channels":1,"filters":2,"kernel_size":1,)" + keys + "}")));
    LOOM_TRY(const Shape out, layer->output_shape(input));
    return out.text();
  };
  const Shape flat = Shape::of({1, 1, 5, 5}), deep = Shape::of({1, 1, 5, 5, 5});
  EXPECT_EQ(shape(R"("type":"cnn2","input_height":5,"output_height":4)", flat).value_or(""), "[1, 2, 4, 4]");
  EXPECT_EQ(shape(R"("type":"cnn2","output_height":4,"output_width":2)", flat).value_or(""), "[1, 2, 4, 2]");
  EXPECT_EQ(shape(R"("type":"cnn2","output_width":2)", flat).value_or(""), "[1, 2, 5, 2]");
  EXPECT_EQ(shape(R"("type":"convtransposed2","output_height":4)", flat).value_or(""), "[1, 2, 4, 4]");
  EXPECT_EQ(shape(R"("type":"cnn3","output_height":4)", deep).value_or(""), "[1, 2, 4, 4, 4]");
  EXPECT_EQ(shape(R"("type":"cnn3","output_height":4,"output_depth":3)", deep).value_or(""), "[1, 2, 3, 4, 4]");
  EXPECT_FALSE(shape(R"("type":"cnn2","input_height":5)", Shape::of({1, 1, 5, 4})));
}

TEST(Spec, stride_0_is_an_error) {  // G-24, L-31
  for (const char* kind : {"cnn1", "cnn2", "cnn3", "convtransposed1", "convtransposed2", "convtransposed3"}) {
    const auto layer = layer_from_json(
        *parse_json(fmt::format(R"({{"type":"{}","input_channels":1,"filters":1,"kernel_size":1,"stride":0}})", kind)));
    ASSERT_FALSE(layer) << kind;
    EXPECT_EQ(layer.error().code, Code::InvalidConfig) << kind;
  }
}

TEST(Spec, keys_of_links_belong_to_links) {  // J-21
  const std::string dense = R"("type":"dense","input_height":3,"output_height":3)";
  for (const char* key : {R"("target_z":0)", R"("target_y":0)", R"("target_x":0)", R"("target_l":1)",
                          R"("link_mode":"feed")", R"("link_merge":"add")"}) {
    const auto read = network_from_json(list_of("{" + dense + "," + key + "}"));
    ASSERT_FALSE(read) << key;
    EXPECT_EQ(read.error().code, Code::InvalidConfig) << key;
    EXPECT_TRUE(
        read.error().text().starts_with("/layers/0/" + std::string(key).substr(1, std::string(key).find(':') - 2)))
        << read.error().text();
    const auto lenient = network_from_json(list_of("{" + dense + "," + key + "}"), {.strict = false});
    ASSERT_TRUE(lenient) << key;
    EXPECT_EQ(lenient->warnings.size(), 1u) << key;
    EXPECT_TRUE(network_from_json(list_of("{" + dense + R"(,"is_remote_link":false,)" + key + "}"))) << key;
  }
  for (const char* link : {"", R"("is_remote_link":false,)", R"("is_remote_link":true,)"})
    for (const char* key :
         {R"("link_mode":"nonsense")", R"("link_merge":"nonsense")", R"("target_z":-1)", R"("target_l":"x")"}) {
      const auto read = network_from_json(list_of("{" + dense + "," + link + key + "}"));
      ASSERT_FALSE(read) << link << key;
      EXPECT_TRUE(read.error().code == Code::UnknownName || read.error().code == Code::InvalidConfig) << link << key;
    }
}

TEST(Spec, a_device_that_nothing_runs_on_is_warned_of) {  // T-02, G-70
  const std::string dense = R"({"type":"dense","input_height":3,"output_height":3)";
  const auto warnings = [](const std::string& spec) {
    const auto read = network_from_json(spec);
    EXPECT_TRUE(read) << spec;
    return read ? read->warnings : std::vector<std::string>{};
  };
  EXPECT_EQ(
      warnings(list_of(dense + "}", R"("use_gpu":true,)")),
      std::vector<std::string>{"/use_gpu: true has no effect: the device is chosen when a network runs (--device)"});
  EXPECT_EQ(warnings(list_of(dense + R"(,"use_gpu":true})")),
            std::vector<std::string>{
                "/layers/0/use_gpu: true has no effect: the device is chosen when a network runs (--device)"});
  EXPECT_EQ(warnings(list_of(dense + R"(,"exec_target":"gpu"})")),
            std::vector<std::string>{
                "/layers/0/exec_target: \"gpu\" has no effect: the device is chosen when a network runs (--device)"});
  EXPECT_TRUE(warnings(list_of(dense + R"(,"use_gpu":false,"exec_target":"CPU"})", R"("use_gpu":false,)")).empty());
}

// Loom 0.8x writes names in capitals; case, '_' and '-' count in none of them.
TEST(Spec, CaseDoesNotCountInActivationsAsInOtherNames) {
  const auto spec_with = [](std::string activation) {
    return list_of(R"({"type":"DENSE","dtype":"FP4","input_height":2,"output_height":2,"activation":")" + activation +
                   R"("})");
  };
  for (std::size_t i = 0; i < kNumActivations; ++i) {
    const std::string known(name(static_cast<Activation>(i)));
    std::string capitals = known;
    for (char& c : capitals) c = c == '_' ? '-' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const auto plain = network_from_json(spec_with(known)), shouted = network_from_json(spec_with(capitals));
    ASSERT_TRUE(plain && shouted) << capitals;
    EXPECT_EQ(dump_json(network_to_json(plain->network)), dump_json(network_to_json(shouted->network))) << capitals;
  }
  EXPECT_EQ(network_from_json(spec_with("RELUU")).error().code, Code::UnknownName);
}

// Keys of PyTorch, and those that one guesses, name what the own key names.
TEST(Spec, KeysOfOtherFrameworksAreAliases) {
  const std::pair<std::string, std::string> same[] = {
      {R"({"type":"batchnorm","num_features":3})", R"({"type":"batchnorm","input_height":3})"},
      {R"({"type":"batchnorm","channels":3})", R"({"type":"batchnorm","input_height":3})"},
      {R"({"type":"groupnorm","num_channels":4,"num_groups":2})",
       R"({"type":"groupnorm","input_height":4,"num_groups":2})"},
      {R"({"type":"instancenorm","channels":4})", R"({"type":"instancenorm","input_height":4})"},
      {R"({"type":"layernorm","normalized_shape":4})", R"({"type":"layernorm","input_height":4})"},
      {R"({"type":"rmsnorm","normalized_shape":4})", R"({"type":"rmsnorm","input_height":4})"},
      {R"({"type":"embedding","num_embeddings":4,"embedding_dim":2})",
       R"({"type":"embedding","vocab_size":4,"embedding_dim":2})"},
      {R"({"type":"parallel","branches":[{"type":"layernorm","input_height":4}]})",
       R"({"type":"parallel","parallel_branches":[{"type":"layernorm","input_height":4}]})"},
      {R"({"type":"sequential","layers":[{"type":"layernorm","input_height":4}]})",
       R"({"type":"sequential","sequential_layers":[{"type":"layernorm","input_height":4}]})"}};
  for (const auto& [theirs, own] : same) {
    const auto a = network_from_json(list_of(theirs)), b = network_from_json(list_of(own));
    ASSERT_EQ(a.has_value(), b.has_value()) << theirs << (a ? "" : a.error().text());
    if (a) {
      EXPECT_EQ(dump_json(network_to_json(a->network)), dump_json(network_to_json(b->network))) << theirs;
    }
    EXPECT_TRUE(fits_schema(parse_json(list_of(theirs)).value())) << theirs;
  }
  const auto residual = network_from_json(list_of(R"({"type":"residual","layers":[]})"));
  ASSERT_FALSE(residual);
  EXPECT_NE(residual.error().text().find("/layers/0/layers: a residual holds no layers; write"), std::string::npos)
      << residual.error().text();
}

// A network whose links feed back is made with its input_shape; its forward pass is refused, its mesh runs.
TEST(Spec, ANetworkThatFeedsBackIsMadeForTheStepMesh) {
  const std::string spec = R"({"depth":1,"rows":1,"cols":3,"layers_per_cell":1,"input_shape":[4],"layers":[
      {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":4,"output_height":4,"is_remote_link":true,"target_x":2,"link_mode":"feed",
       "link_merge":"add"},
      {"z":0,"y":0,"x":1,"l":0,"type":"dense","input_height":4,"output_height":4},
      {"z":0,"y":0,"x":2,"l":0,"type":"dense","input_height":4,"output_height":4}]})";
  auto read = network_from_json(spec);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(ForwardPlan::create(read->network, Shape::of({1, 4})).error().code, Code::FeedbackLink);
  EXPECT_EQ(read->plans.forward, nullptr);
  ASSERT_NE(read->plans.steps, nullptr);
  EXPECT_EQ(read->plans.input(), Shape::of({1, 4}));
  auto wide = spec;
  wide.replace(wide.find("[4]"), 3, "[5]");
  EXPECT_EQ(network_from_json(wide).error().code, Code::FeedbackLink);
}

TEST(Spec, a_residual_outside_a_sequence_is_warned_of) {  // V-31, G-12
  const auto alone =
      network_from_json(list_of(R"({"type":"dense","input_height":2,"output_height":2},{"type":"residual"})"));
  ASSERT_TRUE(alone);
  ASSERT_EQ(alone->warnings.size(), 1u);
  EXPECT_TRUE(alone->warnings[0].starts_with("/layers/1: a residual that stands in no sequence")) << alone->warnings[0];
  const auto branch = network_from_json(list_of(
      R"({"type":"parallel","parallel_branches":[{"type":"residual"},{"type":"sequential","sequential_layers":[{"type":"softmax"},{"type":"residual"}]}]})"));
  ASSERT_TRUE(branch);
  ASSERT_EQ(branch->warnings.size(), 1u);
  EXPECT_TRUE(branch->warnings[0].starts_with("/layers/0/parallel_branches/0: a residual")) << branch->warnings[0];
  for (const char* from : {R"("none")", R"("external")", "[0,0,0,0]"}) {
    const auto told = network_from_json(
        list_of(R"({"type":"dense","input_height":2,"output_height":2},{"type":"residual","skip_from":)" +
                std::string(from) + "}"));
    ASSERT_TRUE(told) << from;
    EXPECT_TRUE(told->warnings.empty()) << from;
  }
}

TEST(Spec, initial_values_are_those_of_the_documented_rules) {  // J-02
  const Json golden = test::read_json(test::source_path("tests/golden/init.json"));
  std::size_t compared = 0;
  for (const Json& c : golden["cases"]) {
    const auto read = network_from_json(c["spec"]);
    ASSERT_TRUE(read) << c["spec"] << read.error().text();
    for (const auto& [name, values] : c["weights"].items()) {
      const Weight* w = find_weight(*read->network.cell(0).layer, name);
      ASSERT_NE(w, nullptr) << c["spec"] << name;
      ASSERT_EQ(w->master().size(), values.size()) << c["spec"] << name;
      for (std::size_t i = 0; i < values.size(); ++i, ++compared) {
        const double wanted = *as_number(values[i]);
        // Rounded once to f32; the normals' logarithm and cosine may differ in the last bits of f64.
        EXPECT_NEAR(static_cast<double>(w->master()[i]), wanted, std::abs(wanted) * 0x1p-23 + 1e-12)
            << c["spec"] << name << " " << i;
      }
    }
  }
  EXPECT_GT(compared, 1000u);
}

TEST(Spec, the_seed_alone_makes_the_weights) {  // G-62, J-02
  const auto values = [](const char* seed) {
    std::vector<std::uint32_t> bits;
    for (const GoldenLayer& c : golden_layers()) {
      const auto read = network_from_json(list_of(std::string(c.spec), std::string(R"("seed":)") + seed + ","));
      EXPECT_TRUE(read) << c.name;
      read->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
        for (const float v : w.master()) bits.push_back(std::bit_cast<std::uint32_t>(v));
      });
    }
    return bits;
  };
  const auto one = values("1");
  EXPECT_EQ(one, values("1"));
  EXPECT_EQ(one, values(R"("1")"));
  EXPECT_NE(one, values("2"));
  EXPECT_NE(one, values("4294967297"));  // the high half counts
}

TEST(Spec, weights_are_not_drawn_where_nobody_asks_and_not_beyond_a_limit) {
  const std::string huge = R"({"layers":[{"type":"dense","input_height":30000,"output_height":30000}]})";
  const auto undrawn = network_from_json(huge, {.initialise = false});
  ASSERT_TRUE(undrawn);
  EXPECT_EQ(undrawn->network.resident_bytes(),
            std::size_t{30000} * 30000 * 4);  // what they would take; 3.6 GB are not touched
  const auto refused = network_from_json(huge, {.max_bytes = std::uint64_t{4} << 30});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::OutOfMemory);
  EXPECT_EQ(refused.error().text(), "/layers: 900000000 weights take 7.2 GB, at most 4.3 GB are allowed");
  EXPECT_TRUE(
      network_from_json(list_of(R"({"type":"dense","input_height":16,"output_height":16})"), {.max_bytes = 2048}));
  EXPECT_FALSE(
      network_from_json(list_of(R"({"type":"dense","input_height":16,"output_height":16})"), {.max_bytes = 2047}));
}

// The bytes that inspect reports for a spec without drawing weights equal those in memory after drawing, without
// masters.
TEST(Spec, bytes_told_before_weights_are_drawn_are_those_after) {  // D-11
  for (const GoldenLayer& c : golden_layers())
    for (std::size_t t = 0; t < kNumTypes; ++t) {
      for (const char* more : {"", R"("activation_quant":"none",)"}) {
        const std::string type(name(static_cast<DType>(t)));
        const std::string spec =
            list_of("{" + std::string(more) + std::string(c.spec).substr(1), R"("default_dtype":")" + type + R"(",)");
        const auto before = network_from_json(spec, {.initialise = false});
        auto after = network_from_json(spec);
        ASSERT_TRUE(before) << spec;
        ASSERT_TRUE(after) << spec;
        after->network.release_masters();
        EXPECT_EQ(before->network.resident_bytes(), after->network.resident_bytes()) << spec;
      }
    }
}

TEST(Session, a_call_that_would_take_too_much_is_refused) {
  const auto read =
      network_from_json(R"({"input_shape":[1000],"layers":[{"type":"dense","input_height":1000,"output_height":8}]})");
  ASSERT_TRUE(read);
  const auto session = NetworkSession::create(read->network, read->plans.forward, {.threads = 1, .max_bytes = 1 << 20});
  ASSERT_TRUE(session);
  const auto planned = (*session)->prepare(Shape::of({1000000, 1000}));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, Code::OutOfMemory);
  EXPECT_TRUE((*session)->prepare(Shape::of({1, 1000})));
}

// The four ways of each layer: "auto" is one of the others for every type, and none of them changes types that take
// inputs as they are.
TEST(Spec, activation_quant_of_every_layer) {  // D-34, J-11
  const auto run = [](const std::string& type, const std::string& way, const std::string& more = "") {
    const std::string layer = R"({"type":"dense","input_height":96,"output_height":32,"activation_quant":")" + way +
                              R"(","dtype":")" + type + R"("})";
    auto read = network_from_json(list_of(layer, R"("seed":3,"input_shape":[96],)" + more));
    EXPECT_TRUE(read) << layer;
    const auto again = network_from_json(dump_json(network_to_json(read->network)));
    EXPECT_TRUE(again);
    EXPECT_EQ(again->network.cell(0).layer->common.encoding.activation_quant,
              read->network.cell(0).layer->common.encoding.activation_quant);
    std::vector<float> x(96);
    const RandomStream stream{5, RandomDomain::Noise, 0, 1};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i < 40 ? 2.0f : 0.3f) * (2 * stream.uniform(i) - 1);
    const auto session = NetworkSession::create(read->network, read->plans.forward, {.threads = 1});
    const auto y = (*session)->forward({x.data(), Shape::of({1, 96})});
    EXPECT_TRUE(y);
    return std::vector<float>(y->as<float>(), y->as<float>() + 32);
  };
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const auto dtype = static_cast<DType>(t);
    const std::string type(name(dtype));
    const auto by_itself = run(type, "auto"), row = run(type, "row"), group = run(type, "group"),
               none = run(type, "none");
    if (info(dtype).compute == ComputeClass::Int) {
      const bool grouped = resolved(dtype, {}).granularity == Granularity::Group;
      EXPECT_EQ(by_itself, grouped ? group : row) << type;
      EXPECT_NE(row, group) << type;
      EXPECT_NE(none, row) << type;
      EXPECT_NE(none, group) << type;
      EXPECT_EQ(run(type, "group", R"("quantized_inputs":"int16",)"), group) << type;
      EXPECT_EQ(run(type, "row", R"("quantized_inputs":"int16",)"), row) << type;
    } else {
      EXPECT_EQ(by_itself, row) << type;
      EXPECT_EQ(by_itself, group) << type;
    }
  }
}

// D-33: inputs of matrices of integers with group scales are rounded to int16 where a network says so, else to int8 as
// all others.
TEST(Spec, quantized_inputs_is_a_setting_of_the_network) {  // D-33
  const std::string layer = R"({"type":"dense","input_height":96,"output_height":32,"dtype":"int4"})";
  const auto run = [&](const std::string& more) {
    auto read = network_from_json(list_of(layer, R"("seed":3,"input_shape":[96],)" + more));
    EXPECT_TRUE(read) << more;
    std::vector<float> x(96);
    const RandomStream stream{5, RandomDomain::Noise, 0, 1};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * stream.uniform(i) - 1;
    const auto session = NetworkSession::create(read->network, read->plans.forward, {.threads = 1});
    const auto y = (*session)->forward({x.data(), Shape::of({1, 96})});
    EXPECT_TRUE(y);
    return std::pair(std::vector<float>(y->as<float>(), y->as<float>() + 32),
                     dump_json(network_to_json(read->network)));
  };
  const auto [plain, spec] = run("");
  const auto [fine, fine_spec] = run(R"("quantized_inputs":"int16",)");
  const auto [coarse, same_spec] = run(R"("quantized_inputs":"int8",)");
  EXPECT_EQ(plain, coarse);
  EXPECT_EQ(spec, same_spec);
  EXPECT_NE(plain, fine);
  EXPECT_NE(fine_spec.find(R"("quantized_inputs":"int16")"), std::string::npos);
  // Against W x with the decoded weights: half a step of 127 and of 32512 parts of the largest input (at most 1),
  // summed over |w|.
  auto read = network_from_json(list_of(layer, R"("seed":3,"input_shape":[96],)"));
  std::vector<float> w(32 * 96);
  find_weight(*read->network.cell(0).layer, "weight")->decode(0, w.size(), w.data());
  const RandomStream stream{5, RandomDomain::Noise, 0, 1};
  double coarse_error = 0, fine_error = 0;
  for (std::size_t o = 0; o < 32; ++o) {
    double exact = 0, sum = 0;
    for (std::size_t i = 0; i < 96; ++i) {
      exact += static_cast<double>(w[o * 96 + i]) * (2.0 * static_cast<double>(stream.uniform(i)) - 1.0);
      sum += std::abs(static_cast<double>(w[o * 96 + i]));
    }
    EXPECT_NEAR(static_cast<double>(coarse[o]), exact, sum * 0.5 / 127 + 1e-6) << o;
    EXPECT_NEAR(static_cast<double>(fine[o]), exact, sum * 0.5 / 32512 + 1e-6) << o;
    coarse_error += std::abs(static_cast<double>(coarse[o]) - exact),
        fine_error += std::abs(static_cast<double>(fine[o]) - exact);
  }
  EXPECT_GT(coarse_error, 16 * fine_error);
}

// A setting without effect is refused, unless it states the value that holds anyway.
TEST(Spec, init_scale_is_for_the_rules_that_read_it) {  // J-02
  const auto dense = [](const std::string& more) {
    return R"({"type":"dense","input_height":3,"output_height":3)" + more + "}";
  };
  const auto code_of = [](const std::string& spec, SpecOptions options = {}) {
    const auto read = network_from_json(spec, options);
    if (read) return Code{};
    EXPECT_NE(read.error().text().find("init_scale"), std::string::npos) << spec << read.error().text();
    return read.error().code;
  };
  for (const char* init : {"auto", "he", "xavier", "zeros", "identity", "none"}) {
    const std::string named = fmt::format(R"("init":"{}")", init);
    EXPECT_EQ(code_of(list_of(dense("," + named + R"(,"init_scale":0.5)"))), Code::InvalidConfig) << init;
    EXPECT_EQ(code_of(list_of(dense(""), named + R"(,"init_scale":0.5,)")), Code::InvalidConfig) << init;
    EXPECT_EQ(code_of(list_of(dense("," + named + R"(,"init_scale":0)"))), Code{}) << init;
    // The network's own is for the layer that reads it; the other may repeat it.
    EXPECT_EQ(code_of(list_of(dense(R"(,"init":"normal")") + "," + dense("," + named + R"(,"init_scale":0.5)"),
                              named + R"(,"init_scale":0.5,)")),
              Code{})
        << init;
    EXPECT_EQ(code_of(list_of(dense("," + named + R"(,"init_scale":0.5)")), {.initialise = false}), Code{})
        << init;  // a file brings its weights
  }
  EXPECT_EQ(code_of(list_of(dense(R"(,"init_scale":0.5)"))), Code::InvalidConfig);
  for (const char* init : {"uniform", "normal"}) {
    const std::string named = fmt::format(R"("init":"{}",)", init);
    for (const char* good : {"0", "0.5", "1e6"}) {
      EXPECT_EQ(code_of(list_of(dense(""), named + fmt::format(R"("init_scale":{},)", good))), Code{}) << init << good;
      EXPECT_EQ(code_of(list_of(dense(fmt::format(R"(,"init_scale":{})", good)), named)), Code{}) << init << good;
    }
    for (const char* bad : {"-1", "-1e-9", "1.1e6", "1e300"}) {
      EXPECT_EQ(code_of(list_of(dense(""), named + fmt::format(R"("init_scale":{},)", bad))), Code::InvalidConfig)
          << init << bad;
      EXPECT_EQ(code_of(list_of(dense(fmt::format(R"(,"init_scale":{})", bad)), named)), Code::InvalidConfig)
          << init << bad;
    }
  }
  const auto arch = build_from_arch(*parse_json(
      R"({"gridDepth":1,"gridRows":1,"gridCols":1,"layersPerCell":1,"dModel":8,"numHeads":2,"initScale":1e300})"));
  ASSERT_FALSE(arch);
  EXPECT_NE(arch.error().text().find("/initScale"), std::string::npos) << arch.error().text();
}

// A link that shares runs its target: keys of an operation beside it may say what the target says, and nothing else.
TEST(Spec, KeysOfASharingLinkThatItsTargetDoesNotSayAreRefused) {
  const std::string target = R"({"type":"dense","input_height":4,"output_height":4,"bias":true,"dtype":"int8"})";
  const auto refused_at = [&](const std::string& more, bool strict = true) {
    const auto read =
        network_from_json(list_of(target + R"(,{"is_remote_link":true,"target_l":0,"link_mode":"share")" + more + "}"),
                          {.strict = strict});
    return read ? std::string() : pointer_text(read.error().place.steps());
  };
  EXPECT_EQ(refused_at(""), "");
  EXPECT_EQ(refused_at(R"(,"type":"dense","input_height":4,"output_height":4,"bias":true,"dtype":"int8")"), "");
  EXPECT_EQ(refused_at(R"(,"name":"again","is_disabled":true)"), "");
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"type", R"("lstm")"},
                                                                                   {"input_height", "5"},
                                                                                   {"bias", "false"},
                                                                                   {"activation", R"("relu")"},
                                                                                   {"weights", "{}"},
                                                                                   {"tied_to", R"("layers.0")"},
                                                                                   {"colour", "1"}}) {
    EXPECT_EQ(refused_at(fmt::format(R"(,"{}":{})", key, value)), "/layers/1/" + key);
    EXPECT_EQ(refused_at(fmt::format(R"(,"{}":{})", key, value), false), "") << key << ": a warning";
  }
  const auto inside = network_from_json(list_of(
      target +
      R"(,{"type":"sequential","sequential_layers":[{"is_remote_link":true,"target_l":0,"output_height":3}]})"));
  ASSERT_FALSE(inside);
  EXPECT_EQ(pointer_text(inside.error().place.steps()), "/layers/1/sequential_layers/0/output_height");
}

// A layer that was given another rule, and a network whose last reader of the scale is gone: what is written can be
// read.
TEST(Spec, written_specs_leave_out_an_init_scale_that_nobody_reads) {  // J-02, J-24
  Network network = std::move(network_from_json(list_of(R"({"type":"dense","input_height":3,"output_height":3})",
                                                        R"("init":"uniform","init_scale":0.5,)"))
                                  ->network);
  EXPECT_EQ(network_to_json(network)["init_scale"], 0.5);
  network.cell(0).layer->common.init = "he";
  Json written = network_to_json(network);
  EXPECT_EQ(written["layers"][0]["init"], "he");
  EXPECT_TRUE(network_from_json(written)) << dump_json(written);
  network.settings.init = "auto";
  written = network_to_json(network);
  EXPECT_TRUE(network_from_json(written)) << dump_json(written);
  EXPECT_EQ(find(written, "init_scale"), nullptr);
}

// The size counts for every type that a morph may choose, so it may stand beside a type without groups, but not beside
// another span.
TEST(Spec, group_sizes_are_32_64_or_128_and_for_groups) {  // D-21
  const auto read = [](const std::string& more) {
    return layer_from_json(*parse_json(R"({"type":"dense","input_height":256,"output_height":3,)" + more + "}"));
  };
  for (const char* size : {"32", "64", "128"}) {
    EXPECT_TRUE(read(fmt::format(R"("group_size":{})", size))) << size;
    EXPECT_TRUE(read(fmt::format(R"("group_size":{},"dtype":"int4","scale_granularity":"group")", size))) << size;
    for (const char* span : {"tensor", "row"})
      EXPECT_EQ(read(fmt::format(R"("group_size":{},"dtype":"int8","scale_granularity":"{}")", size, span)).has_value(),
                std::string(size) == "32")
          << size << span;
  }
  for (const char* size : {"0", "33", "48", "96", "129"}) {
    const auto refused = read(fmt::format(R"("group_size":{})", size));
    ASSERT_FALSE(refused) << size;
    EXPECT_NE(refused.error().text().find("/group_size"), std::string::npos) << refused.error().text();
  }
}

// Texts that 0.8x accepted, died of or hung on; each is an error with a code and one line (engine G-63).
TEST(Spec, hostile_specs_are_errors) {  // G-63, V-02, J-23, S-05
  const std::string dense = R"({"type":"dense","input_height":3,"output_height":3})";
  const auto grid_of = [](const char* extents) { return "{" + std::string(extents) + R"(,"layers":[]})"; };
  const std::string deep = [] {
    std::string text = R"({"type":"softmax"})";
    for (int i = 0; i < 70; ++i) text = R"({"type":"sequential","sequential_layers":[)" + text + "]}";
    return text;
  }();
  const std::vector<std::string> specs = {
      "",
      "null",
      "[]",
      "{}",
      "0",
      "\"x\"",
      "{\"layers\":",
      "{\"layers\":[]}x",
      "{\"layers\":[],}",
      "{\"layers\":[],\"layers\":[]}",
      "{\"layers\":[],\"id\":\"\xff\"}",
      std::string(300, '['),
      grid_of(R"("depth":0,"rows":1,"cols":1,"layers_per_cell":1)"),
      grid_of(R"("depth":-1,"rows":1,"cols":1,"layers_per_cell":1)"),
      grid_of(R"("depth":1.5,"rows":1,"cols":1,"layers_per_cell":1)"),
      grid_of(R"("depth":1e9,"rows":1,"cols":1,"layers_per_cell":1)"),
      grid_of(R"("depth":65537,"rows":1,"cols":1,"layers_per_cell":1)"),
      grid_of(R"("depth":65536,"rows":65536,"cols":65536,"layers_per_cell":65536)"),
      grid_of(R"("depth":1,"rows":1,"cols":1)"),
      grid_of(R"("depth":"1","rows":1,"cols":1,"layers_per_cell":1)"),
      grid_of(R"("depth":18446744073709551615,"rows":1,"cols":1,"layers_per_cell":1)"),
      R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":1,"y":0,"x":0,"l":0,"type":"softmax"}]})",
      R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":0,"y":0,"x":0,"l":0,"type":"softmax"},{"z":0,"y":0,"x":0,"l":0,"type":"softmax"}]})",
      R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"softmax"}]})",
      list_of("3"),
      list_of("{}"),
      list_of(R"({"type":3})"),
      list_of(R"({"type":"nonsense"})"),
      list_of(deep),
      list_of(R"({"type":"dense"})"),
      list_of(R"({"type":"dense","input_height":0,"output_height":3})"),
      list_of(R"({"type":"dense","input_height":-3,"output_height":3})"),
      list_of(R"({"type":"dense","input_height":3.5,"output_height":3})"),
      list_of(R"({"type":"dense","input_height":2147483647,"output_height":2147483647})"),
      list_of(R"({"type":"dense","input_height":1e300,"output_height":3})"),
      list_of(R"({"type":"dense","input_height":3,"output_height":3,"activation":"rleu"})"),
      list_of(R"({"type":"dense","input_height":3,"output_height":3,"dtype":77})"),
      list_of(R"({"type":"dense","input_height":3,"output_height":3,"bias":"yes"})"),
      list_of(R"({"type":"dense","input_height":3,"output_height":3,"init":"guess"})"),
      list_of(R"({"type":"dense","input_height":3,"output_height":3,"weights":{"weight":[1]}})"),
      list_of(R"({"type":"dense","input_height":1,"output_height":1,"weights":{"weight":[1e999]}})"),
      list_of(R"({"type":"dense","input_height":1,"output_height":1,"weights":{"wieght":[1]}})"),
      list_of(R"({"type":"cnn2","input_channels":3,"filters":2,"kernel_size":1,"groups":2})"),
      list_of(R"({"type":"cnn2","input_channels":2,"filters":2,"kernel_size":0})"),
      list_of(R"({"type":"cnn2","input_channels":2,"filters":2,"kernel_size":[1,2,3,4]})"),
      list_of(R"({"type":"mha","d_model":6,"num_heads":4})"),
      list_of(R"({"type":"mha","d_model":8,"num_heads":4,"num_kv_heads":3})"),
      list_of(R"({"type":"dropout","rate":1})"),
      list_of(R"({"type":"softmax","temperature":-1})"),
      list_of(R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_levels":[0]})"),
      list_of(R"({"type":"parallel","combine_mode":"blend","parallel_branches":[]})"),
      list_of(R"({"type":"parallel","combine_mode":"filter","parallel_branches":[{"type":"softmax"}]})"),
      list_of(R"({"type":"parallel","combine_mode":"add","flatten":true,"parallel_branches":[{"type":"softmax"}]})"),
      list_of(R"({"type":"parallel","combine_mode":"avg","concat_axis":1,"parallel_branches":[{"type":"softmax"}]})"),
      list_of(R"({"type":"parallel","flatten":true,"concat_axis":1,"parallel_branches":[{"type":"softmax"}]})"),
      list_of(R"({"type":"parallel","scatter_grid":{"rows":2},"parallel_branches":[{"type":"softmax"}]})"),
      list_of(
          R"({"type":"parallel","combine_mode":"add","scatter_layout":"grid","parallel_branches":[{"type":"softmax"}]})"),
      list_of(R"({"type":"parallel","parallel_branches":[{"type":"softmax","scatter_to":[0,0,0]}]})"),
      list_of(
          R"({"type":"parallel","combine_mode":"filter","parallel_branches":[{"type":"softmax"}],"filter_gate":{"type":"dense","input_height":1,"output_height":1,"is_disabled":true}})"),
      list_of(R"({"type":"softmax","mask":[true]})"),
      list_of(R"({"type":"softmax","softmax_type":"gumbel","mixture_count":2})"),
      list_of(R"({"type":"softmax","softmax_type":"grid","rows":2,"entmax_alpha":1.2})"),
      list_of(
          R"({"type":"dense","input_height":2,"output_height":2,"dtype":"float16","weights":{"weight":{"dtype":"float16","codes":"AH4APAA8ADw="}}})"),
      list_of(R"({"is_remote_link":true,"target_l":9})", R"("input_shape":[3],)"),
      list_of(R"({"is_remote_link":true,"target_l":0})", R"("input_shape":[3],)"),
      list_of(dense, R"("seed":-1,)"),
      list_of(dense, R"("seed":"000000000000000000001",)"),
      list_of(dense, R"("seed":18446744073709551616,)"),
      list_of(dense, R"("input_shape":[0],)"),
      list_of(dense, R"("input_shape":[4],)"),
      list_of(dense, R"("input_shape":[1099511627776,1099511627776],)"),
      list_of(dense, R"("numerics_version":1,)"),
      list_of(dense, R"("strict":"no",)"),
      list_of(dense, R"("colour":1,)"),
  };
  EXPECT_GE(specs.size(), 47u);
  for (const std::string& spec : specs) {
    const auto read = network_from_json(std::string_view(spec));
    ASSERT_FALSE(read) << spec.substr(0, 200);
    EXPECT_FALSE(read.error().text().empty());
    EXPECT_EQ(read.error().text().find('\n'), std::string::npos) << read.error().text();
  }
}

// Kinds name classes: what casts by them relies on that.
TEST(Kinds, every_kind_says_its_own_name_and_a_link_says_link) {
  for (const LayerKind* kind : layer_kinds()) EXPECT_EQ(&kind->fresh()->kind_row(), kind);
  const Cell cell((*layer_kind("dense"))->fresh(), std::make_unique<Link>());
  EXPECT_EQ(cell.front()->kind(), "link");
  EXPECT_EQ(cell.layer->kind(), "dense");
}

}  // namespace
}  // namespace loom
