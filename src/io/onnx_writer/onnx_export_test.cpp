#include "io/onnx_writer/onnx_export.h"

#include <map>
#include <sstream>

#include "core/json.h"
#include "core/sha256.h"
#include "layers/all.h"
#include "network/spec/spec.h"
#include "support/files.h"

namespace loom::onnx_export_test {
namespace {

Result<OnnxModelText> exported(std::string_view spec, const OnnxExportOptions& options = {}) {
  auto loaded = network_from_json(spec);
  if (!loaded) return tl::make_unexpected(std::move(loaded).error());
  return network_to_onnx(loaded->network, options);
}

std::string digest_of(const std::string& text) {
  Sha256 hash;
  hash.update(test::bytes_of(text));
  return to_hex(hash.finish());
}

// Case and hash of the files that onnx.checker accepted and whose answers are those of onnxruntime
// (tools/golden/onnx_export.py).
std::map<std::string, std::string> record() {
  std::map<std::string, std::string> rows;
  std::istringstream in(test::read_all(test::source_path("tests/golden/export/record.tsv")));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t tab = line.find('\t');
    rows[line.substr(0, tab)] = line.substr(tab + 1, 64);
  }
  return rows;
}

TEST(OnnxExport, every_file_is_the_one_that_onnxruntime_agreed_with) {  // F-42
  const Json cases = test::read_json(test::source_path("tests/golden/export/cases.json"));
  const auto rows = record();
  ASSERT_EQ(cases.size(), rows.size());
  ASSERT_GE(rows.size(), 139u);
  for (const auto& [name, spec] : cases.items()) {
    const auto model = exported(dump_json(spec));
    ASSERT_TRUE(model) << name << ": " << model.error().text();
    EXPECT_EQ(digest_of(model->bytes), rows.at(name)) << name;
  }
}

TEST(OnnxExport, every_kind_has_a_case) {  // F-42
  const std::string cases = test::read_all(test::source_path("tests/golden/export/cases.json"));
  for (const LayerKind* kind : layer_kinds())
    EXPECT_TRUE(kind->forward_only || cases.find(fmt::format("\"type\": \"{}\"", kind->name)) != std::string::npos)
        << kind->name;
}

TEST(OnnxExport, links_and_ties_share_one_initialiser) {  // F-42
  const auto shared = exported(R"({"input_shape":[6],"layers":[{"type":"dense","input_height":6,"output_height":6},
    {"is_remote_link":true,"target_l":0,"link_mode":"share"}]})");
  ASSERT_TRUE(shared);
  std::size_t at = 0, found = 0;  // by its place, once as an initialiser's name and twice as a node's input
  while ((at = shared->bytes.find("layers.0.weight", at)) != std::string::npos) ++at, ++found;
  EXPECT_EQ(found, 3u);
}

// The code is Unsupported and the message has the place and the reason.
void expect_unsupported(std::string_view spec, const std::string& place, const std::string& reason) {
  const auto model = exported(spec);
  ASSERT_FALSE(model) << spec;
  EXPECT_EQ(model.error().code, Code::Unsupported) << model.error().text();
  EXPECT_NE(model.error().text().find(place), std::string::npos) << model.error().text();
  EXPECT_NE(model.error().text().find(reason), std::string::npos) << model.error().text();
}

TEST(OnnxExport, what_a_graph_cannot_hold_is_unsupported_by_its_place) {  // F-43
  const auto net = [](const std::string& layer, const std::string& shape = "[4,6]") {
    return fmt::format(R"({{"input_shape":{},"layers":[{}]}})", shape, layer);
  };
  expect_unsupported(net(R"({"type":"lstm","input_height":6,"output_height":4,"stateful":true})"), "/layers/0",
                     "state");
  expect_unsupported(net(R"({"type":"s6","input_height":6,"stateful":true})"), "/layers/0", "state");
  expect_unsupported(net(R"({"type":"mha","d_model":6,"cross":true})"), "/layers/0", "second input");
  expect_unsupported(net(R"({"type":"mha","d_model":6})", "[6]"), "/layers/0", "batch for steps");
  expect_unsupported(net(R"({"type":"permute","axes":[1,0,2]})"), "/layers/0", "axis of the batch");
  expect_unsupported(net(R"({"type":"softmax","softmax_type":"gumbel"})"), "/layers/0", "noise");
  expect_unsupported(net(R"({"type":"softmax","softmax_type":"entmax"})"), "/layers/0", "entmax");
  expect_unsupported(net(R"({"type":"sequential","sequential_layers":[{"type":"residual","skip_from":"external"}]})"),
                     "/layers/0/sequential_layers/0", "second input");
  expect_unsupported(net(R"({"type":"dense","input_height":6,"output_height":4,"dtype":"int8"})"), "/layers/0/weight",
                     "--dequantize");
  expect_unsupported(net(R"({"type":"dense","input_height":6,"output_height":4,"dtype":"ternary"})"),
                     "/layers/0/weight", "--dequantize");
  expect_unsupported(net(R"({"type":"metacognition","meta_effect":"gate","meta_observed_layer":
    {"type":"dense","input_height":6,"output_height":4},
    "meta_network":{"type":"dense","input_height":6,"output_height":1}})",
                         "[6]"),
                     "/layers/0", "session");
  expect_unsupported(R"({"input_shape":[6],"activations":"float64","layers":[{"type":"softmax"}]})", "", "float64");
}

TEST(OnnxExport, an_input_shape_is_needed_and_can_be_given) {  // F-42
  const char* spec = R"({"layers":[{"type":"dense","input_height":6,"output_height":4}]})";
  const auto without = exported(spec);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::InvalidArgument);
  const auto with = exported(spec, {Shape::of({3, 6})});
  ASSERT_TRUE(with) << with.error().text();
  EXPECT_EQ(with->input, Shape::of({1, 3, 6}));
  EXPECT_EQ(with->output, Shape::of({1, 3, 4}));
  const auto wrong = exported(spec, {Shape::of({5})});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::ShapeMismatch);
}

TEST(OnnxExport, dequantised_weights_are_written_as_their_values) {  // F-42
  const std::string spec =
      R"({"input_shape":[6],"layers":[{"type":"dense","input_height":6,"output_height":4,"dtype":"int8"}]})";
  auto loaded = network_from_json(spec);
  ASSERT_TRUE(loaded);
  const auto model = network_to_onnx(loaded->network, {.dequantize = true});
  ASSERT_TRUE(model) << model.error().text();
  const Weight* weight = find_weight(**loaded->network.layer_at(0), "weight");
  std::vector<float> values(weight->elements());
  weight->decode(0, values.size(), values.data());
  const std::string_view raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  EXPECT_NE(model->bytes.find(raw), std::string::npos);
}

}  // namespace
}  // namespace loom::onnx_export_test
