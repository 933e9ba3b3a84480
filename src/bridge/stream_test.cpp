// Streams as planetbridging sends them, with what the frameworks gave (tools/golden/bridge.py), and what no payload may
// do.

#include "bridge/stream.h"

#include <gtest/gtest.h>

#include "bridge/payload_layers.h"
#include "core/json.h"
#include "support/files.h"

namespace loom::stream_test {
namespace {

Json golden(const char* planet) {
  const auto json = parse_json(test::read_all(test::source_path(fmt::format("tests/golden/bridge/{}.json", planet))));
  return json ? *json : Json();
}

// 1e-5 is the bound of planetbridging's own verdict.
void expect_agreement(const Json& request, const std::string& path) {
  StreamOptions options;
  options.output = path;
  const auto result = stream_envelope(request, options);
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_TRUE(result->difference);
  EXPECT_NE(difference_label(*result->difference), "DIFF") << result->difference->largest;
  if (result->bedrock == "embedding") {
    EXPECT_TRUE(result->difference->exact);
  }
  ASSERT_TRUE(result->certificate);
  EXPECT_TRUE(result->certificate->reload_equal);
  EXPECT_EQ(result->certificate->layers.size(), result->layer_count);
  for (const LayerCertificate& layer : result->certificate->layers) EXPECT_LT(layer.rounding, 1e-5) << layer.kind;
}

class EveryPlanet : public testing::TestWithParam<const char*> {};

TEST_P(EveryPlanet, streams_agree_with_the_framework_and_with_their_file) {  // F-70
  const test::TempFolder folder;
  const Json file = golden(GetParam());
  const Json* cases = find(file, "cases");
  ASSERT_NE(cases, nullptr);
  ASSERT_GE(cases->size(), 4u);
  for (const Json& one : *cases) {
    SCOPED_TRACE(dump_json(one["payload"]["model_id"]));
    expect_agreement(one, folder / "x.entity");
  }
}

INSTANTIATE_TEST_SUITE_P(Bridge, EveryPlanet, testing::Values("pytorch", "tensorflow", "jax", "sklearn"));

Json dense(std::size_t in, std::size_t out) {
  return {{"input_dim", in}, {"output_dim", out}, {"weights", std::vector<double>(in * out, 0.5)}};
}
Json payload_of(std::initializer_list<Json> layers) {
  return {{"bedrock", "dense"}, {"planet", "here"}, {"model_id", "m"}, {"layers", Json(layers)}};
}

Result<StreamResult> run(const Json& payload, const test::TempFolder& folder) {
  StreamOptions options;
  options.models = folder / "models";
  return stream_payload(payload, options);
}

std::string error_of(const Json& payload) {
  const test::TempFolder folder;
  const auto result = run(payload, folder);
  return result ? "no error" : std::string(code_name(result.error().code)) + " " + result.error().text();
}

TEST(Stream, errors_name_the_layer_and_the_lengths) {  // F-70
  Json short_weights = dense(4, 3);
  short_weights["weights"].erase(11);
  EXPECT_EQ(error_of(payload_of({dense(2, 4), short_weights})),
            "ShapeMismatch /layers/1/weights: dense: 11 numbers, expected 12 (3 x 4)");
  Json bias = dense(4, 3);
  bias["bias"] = {1, 2};
  EXPECT_EQ(error_of(payload_of({bias})), "ShapeMismatch /layers/0/bias: dense: 2 numbers, expected 3 (3)");
  EXPECT_EQ(error_of(payload_of({dense(2, 4), dense(3, 1)})),
            "ShapeMismatch /layers/1: dense: reads 3 features, 4 come in ([4])");
  Json index = dense(2, 2);
  index["index"] = 5;
  EXPECT_EQ(error_of(payload_of({index})), "InvalidConfig /layers/0/index: dense: 5 at place 0");
  Json unknown = dense(2, 2);
  unknown["activaton"] = "relu";
  EXPECT_EQ(error_of(payload_of({unknown})).substr(0, 60),
            "UnknownKey /layers/0/activaton: dense: unknown key; nearest:");
  Json huge = dense(2, 2);
  huge["weights"][1] = 1e39;
  EXPECT_EQ(error_of(payload_of({huge})), "NonFinite /layers/0/weights: dense: number 1 is not finite as float32");
  Json kind = dense(2, 2);
  kind["kind"] = "mha";
  EXPECT_EQ(error_of(payload_of({dense(2, 2), kind})),
            "InvalidConfig /layers/1: kind \"mha\" in a stream of dense layers");
}

TEST(Stream, sizes_from_outside_allocate_nothing) {  // F-70
  Json large = dense(2, 2);
  large["input_dim"] = 65536, large["output_dim"] = 65536;
  EXPECT_EQ(error_of(payload_of({large})),
            "ShapeMismatch /layers/0/weights: dense: 4 numbers, expected 4294967296 (65536 x 65536)");
  large["input_dim"] = std::uint64_t{1} << 62;
  EXPECT_EQ(error_of(payload_of({large})).substr(0, 13), "InvalidConfig");
  Json network = {{"network",
                   {{"input_shape", {65536}},
                    {"layers", {{{"type", "dense"}, {"input_height", 65536}, {"output_height", 65536}}}}}}};
  EXPECT_EQ(error_of(network), "NotFound /weights/layers.0.weight: no values are given for it");
  // A filter of one number whose output would take terabytes.
  Json wide = {{"bedrock", "convtransposed3"},
               {"inputs", {{1.0}}},
               {"layers",
                {{{"in_channels", 1},
                  {"filters", 1},
                  {"input_depth", 1},
                  {"input_height", 1},
                  {"input_width", 1},
                  {"kernel_size", 1},
                  {"stride", 65536},
                  {"output_padding", 65535},
                  {"weights", {1.0}}}}}};
  EXPECT_NE(error_of(wide), "no error");
}

TEST(Stream, ids_reach_no_path) {  // F-70
  for (const char* id : {"../x", "a/b", "a\\b", ".hidden", "..", "a\nb", ""}) {
    EXPECT_FALSE(safe_file_name(id, "planet")) << id;
    Json payload = payload_of({dense(2, 1)});
    payload["inputs"] = {{1, 2}};
    payload["model_id"] = id;
    if (*id != 0) {
      EXPECT_EQ(error_of(payload).substr(0, 26), "InvalidArgument /model_id:") << id;
    }
  }
  EXPECT_EQ(safe_file_name("my model", "planet").value(), "my_model");
  Json payload = payload_of({dense(2, 1)});
  payload["fixture_version"] = "../../etc/passwd";
  const test::TempFolder folder;
  StreamOptions options;
  options.models = folder / "models", options.fixtures = folder / "fixtures";
  const auto result = stream_payload(payload, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::InvalidArgument);
}

TEST(Stream, layouts_and_base64_give_the_same_network) {  // F-70
  const test::TempFolder folder;
  Json payload = payload_of({{{"input_dim", 2}, {"output_dim", 2}, {"weights", {1, 2, 3, 4}}}});
  payload["inputs"] = {{1, 10}};
  EXPECT_EQ(run(payload, folder)->outputs.values, (std::vector<double>{21, 43}));
  payload["layers"][0]["layout"] = "in_out";
  EXPECT_EQ(run(payload, folder)->outputs.values, (std::vector<double>{31, 42}));
  payload["layers"][0].erase("layout");
  payload["planet"] = "jax";  // planetbridging sends a square matrix as JAX keeps it
  EXPECT_EQ(run(payload, folder)->outputs.values, (std::vector<double>{31, 42}));
  payload["planet"] = "here";
  payload["layers"][0]["weights"] = "AACAPwAAAEAAAEBAAACAQA==";
  EXPECT_EQ(run(payload, folder)->outputs.values, (std::vector<double>{21, 43}));
  payload["layers"][0]["weights"] = {{"dtype", "float16"}, {"base64", "ADwAQABCAEQ="}};
  EXPECT_EQ(run(payload, folder)->outputs.values, (std::vector<double>{21, 43}));
}

TEST(Stream, a_certificate_tells_the_largest_error_of_each_layer) {  // F-70
  const test::TempFolder folder;
  Json payload = payload_of({dense(2, 2), dense(2, 1)});
  payload["inputs"] = {{1, 2}, {3, 4}};
  payload["layer_outputs"] = {{{1.5, 1.5}, {3.5, 3.75}}, nullptr};
  payload["native_outputs"] = {{1.5}, {3.5}};
  const auto result = run(payload, folder);
  ASSERT_TRUE(result) << result.error().text();
  const StreamCertificate& c = *result->certificate;
  ASSERT_EQ(c.layers.size(), 2u);
  EXPECT_EQ(c.layers[0].source, 0.25);
  EXPECT_FALSE(c.layers[1].source);
  EXPECT_EQ(c.layers[0].rounding, 0);
  EXPECT_EQ(c.source, c.loom);  // equal outputs have equal hashes
  EXPECT_TRUE(c.difference->exact);
  const std::string page = certificate_page(to_json(c));
  EXPECT_NE(page.find(to_hex(c.loom)), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // nothing from elsewhere
  payload["native_outputs"] = {{1.5}};
  EXPECT_EQ(error_of(payload), "ShapeMismatch /native_outputs: 1 samples of 1 numbers, the network gave 2 of 1");
}

TEST(Stream, what_is_not_finite_is_an_error) {  // F-70
  Json payload = payload_of({dense(2, 1)});
  payload["inputs"] = {{1, 1e39}};
  EXPECT_EQ(error_of(payload), "NonFinite /inputs: number 1 is not finite");
  payload["inputs"] = {{3e38, 3e38}};
  payload["layers"][0]["weights"] = {3, 3};
  EXPECT_EQ(error_of(payload), "NonFinite output 0 of sample 0 is not finite");
  payload["inputs"] = {{1, 2}, {3}};
  EXPECT_EQ(error_of(payload), "ShapeMismatch /inputs: sample 1 has 1 numbers, the first one 2");
  payload.erase("inputs");
  EXPECT_EQ(error_of(payload), "InvalidConfig /inputs: expected samples, or fixture_version; got neither");
}

}  // namespace
}  // namespace loom::stream_test
