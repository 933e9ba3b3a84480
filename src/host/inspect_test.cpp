#include "host/inspect.h"

#include "host/convert.h"
#include "host/load_any.h"
#include "io/entity/entity.h"
#include "io/network_file.h"
#include "support/files.h"
#include "support/small_model.h"
#include "support/small_network.h"

namespace loom::host_inspect_test {
namespace {

TEST(Inspect, a_language_model_is_told_by_its_config_types_and_tensors) {
  const test::TempFolder folder;
  const std::string path = folder / "model.gguf";
  const auto written = test::write_small_model(path);
  ASSERT_TRUE(written) << written.error().text();
  const auto facts = inspect_file(path);
  ASSERT_TRUE(facts) << facts.error().text();
  const auto* model = std::get_if<ModelFacts>(&*facts);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->config.num_hidden_layers, 1);
  std::size_t parameters = 0, bytes = 0, tensors = 0;
  for (const TensorFacts& t : model->tensors) {
    std::size_t elements = 1;
    for (const std::size_t d : t.shape) elements *= d;
    parameters += elements, bytes += t.bytes;
  }
  for (const auto& [type, of] : model->types) tensors += of.tensors;
  EXPECT_EQ(model->parameters, parameters);
  EXPECT_EQ(model->weight_bytes, bytes);
  EXPECT_EQ(model->tensors.size(), tensors);
  const Json brief = to_json(*facts, false), whole = to_json(*facts, true);
  EXPECT_EQ(find(brief, "tensors"), nullptr);
  EXPECT_EQ(whole["tensors"].size(), tensors);
  EXPECT_EQ(whole["tensors"][0]["name"], model->tensors[0].name);
  EXPECT_EQ(whole["path"], path);
}

TEST(Inspect, a_network_is_told_by_its_layers_as_they_lie_in_memory) {
  const test::TempFolder folder;
  test::write_all(folder / "net.json", test::kTwoLayers);
  const auto facts = inspect_file(folder / "net.json");
  ASSERT_TRUE(facts) << facts.error().text();
  const auto* network = std::get_if<NetworkFacts>(&*facts);
  ASSERT_NE(network, nullptr);
  EXPECT_EQ(network->grid.depth * network->grid.rows * network->grid.cols * network->grid.layers_per_cell,
            network->layers.size());
  std::size_t weights = 0, of_types = 0, bytes = 0;
  for (const LayerFacts& layer : network->layers) weights += layer.weights, bytes += layer.resident_bytes;
  for (const auto& [type, of] : network->types) of_types += of.weights;
  EXPECT_EQ(weights, 2u * 8 + 8 * 3);
  EXPECT_EQ(of_types, weights);
  EXPECT_EQ(bytes, network->resident_bytes);
  EXPECT_EQ(to_json(*network)["layers"][0]["type"], "dense");
}

TEST(Inspect, a_key_that_is_unknown_is_a_warning) {
  const test::TempFolder folder;
  test::write_all(folder / "net.json",
                  R"({"layers":[{"type":"dense","input_height":2,"output_height":1,"colour":1}]})");
  const auto facts = inspect_file(folder / "net.json");
  ASSERT_TRUE(facts) << facts.error().text();
  const auto* network = std::get_if<NetworkFacts>(&*facts);
  ASSERT_NE(network, nullptr);
  ASSERT_EQ(network->warnings.size(), 1u);
  EXPECT_NE(network->warnings[0].find("colour"), std::string::npos) << network->warnings[0];
}

TEST(Inspect, what_is_not_there_or_no_such_file_is_an_error) {
  const test::TempFolder folder;
  test::write_all(folder / "letter.txt", "Dear reader");
  EXPECT_EQ(inspect_file(folder / "absent").error().code, Code::NotFound);
  EXPECT_FALSE(inspect_file(folder / "letter.txt"));
}

TEST(Inspect, files_that_are_cut_or_hold_something_else_are_called_so) {  // F-01
  const test::TempFolder folder;
  ASSERT_TRUE(test::write_small_model(folder / "model.gguf"));
  ASSERT_TRUE(convert_model(folder / "model.gguf", folder / "model.entity"));
  std::string bytes = test::read_all(folder / "model.entity");
  test::write_all(folder / "cut.entity", bytes.substr(0, bytes.size() - 1));
  bytes.back() ^= 1;
  test::write_all(folder / "damaged.entity", bytes);
  const std::vector<std::byte> saved(64);
  EntityWriter prompt;
  ASSERT_TRUE(prompt.add("kvcache", 0, 0, saved));
  ASSERT_TRUE(prompt.write(folder / "prompt.entity"));
  test::write_all(folder / "empty.json", "");
  test::write_all(folder / "begun.json", R"({"layers":[)");
  const struct {
    const char* file;
    Code code;
    std::string_view words;
  } rows[] = {{"cut.entity", Code::CorruptData, "it was cut"},
              {"damaged.entity", Code::CorruptData, "SHA-256"},
              {"prompt.entity", Code::Unsupported, "holds a prompt that was read"},
              {"empty.json", Code::CorruptData, "the file is empty"},
              {"begun.json", Code::CorruptData, "not valid JSON"}};
  for (const auto& [file, code, words] : rows) {
    SCOPED_TRACE(file);
    const auto facts = inspect_file(folder / file);
    const auto any = load_any(folder / file, {});
    const auto model = load_language_model(folder / file);
    const auto failed = [&, words = words](const Error& error) {
      EXPECT_NE(error.text().find(words), std::string::npos) << error.text();
    };
    if (facts && std::string_view(file) == "damaged.entity") continue;  // what is inspected is not read
    ASSERT_FALSE(facts);
    ASSERT_FALSE(any);
    EXPECT_EQ(facts.error().code, code) << facts.error().text();
    EXPECT_EQ(any.error().code, code) << any.error().text();
    failed(facts.error()), failed(any.error());
    ASSERT_FALSE(model);
    if (!std::string_view(file).ends_with("begun.json")) failed(model.error());
  }
}

// Whatever is wrong with a file of tensors, every command says what its reader says.
TEST(Inspect, DamagedSafetensorsKeepTheReadersError) {
  const test::TempFolder folder;
  const std::string whole = test::read_all(test::source_path("tests/golden/damaged/cut.safetensors"));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = whole;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, std::string> files[] = {
      {"cut.safetensors", whole},
      {"header.safetensors", whole.substr(0, 40)},
      {"length.safetensors", whole.substr(0, 5)},
      {"cut.bin", whole},  // the content says what it is
      {"dtype.safetensors", with("F32", "F4x")},
      {"offsets.safetensors", with("[0,24]", "[9,24]")},
      {"shape.safetensors", with("[2,3]", "[9,9]")},
      {"pointer.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"},
  };
  test::write_all(folder / "empty.safetensors", "");
  EXPECT_EQ(inspect_file(folder / "empty.safetensors").error().text(),
            (folder / "empty.safetensors") + ": the file is empty");
  for (const auto& [name, bytes] : files) {
    SCOPED_TRACE(name);
    test::write_all(folder / name, bytes);
    const auto read = SafetensorsFile::open(folder / name);
    ASSERT_FALSE(read);
    const std::string reason = read.error().message;
    const auto facts = inspect_file(folder / name);
    const auto any = load_any(folder / name, {}), hinted = load_any(folder / name, {.path = folder / "hints.json"});
    const auto model = load_language_model(folder / name);
    ASSERT_FALSE(facts || any || hinted || model);
    for (const Error& error : {facts.error(), any.error(), hinted.error(), model.error()}) {
      EXPECT_EQ(error.code, read.error().code) << error.text();
      EXPECT_NE(error.text().find(reason), std::string::npos) << error.text() << "; expected: " << reason;
    }
  }
}

}  // namespace
}  // namespace loom::host_inspect_test
