#include "io/network_tensors.h"

#include "core/json.h"
#include "io/network_file.h"
#include "support/files.h"

namespace loom::network_tensors_test {
namespace {

std::string spec_of(std::string_view dtype) {
  return fmt::format(R"({{"input_shape":[5,6],"seed":3,"default_dtype":"{}","layers":[
    {{"type":"lstm","input_height":6,"output_height":8,"bidirectional":true}},
    {{"type":"rmsnorm","input_height":16}},
    {{"type":"lora","rank":2,"base_layer":{{"type":"dense","input_height":16,"output_height":4,"bias":true}}}}]}})",
                     dtype);
}

class NetworkTensors : public testing::Test {
 protected:
  std::string path() const { return folder_ / "net.safetensors"; }
  static Network network(std::string_view dtype) { return std::move(network_from_json(spec_of(dtype))->network); }
  Result<SpecResult> read() const {
    LOOM_TRY(const SafetensorsFile file, SafetensorsFile::open(path()));
    return network_from_tensors(file);
  }
  test::TempFolder folder_;
};

TEST_F(NetworkTensors, float_networks_come_back_bit_for_bit) {  // F-40
  for (const char* dtype : {"float64", "float32", "float16", "bfloat16"}) {
    SCOPED_TRACE(dtype);
    Network before = network(dtype);
    const auto tensors = save_network_tensors(path(), before);
    ASSERT_TRUE(tensors) << tensors.error().text();
    EXPECT_GE(*tensors, 28u);
    const auto after = read();
    ASSERT_TRUE(after) << after.error().text();
    before.release_masters();
    EXPECT_EQ(network_to_entity(after->network).value(), network_to_entity(before).value());
  }
}

TEST_F(NetworkTensors, scales_have_no_place_and_nothing_is_written) {  // F-43
  for (const char* dtype : {"int8", "int4", "ternary", "uint16", "int64"}) {
    Network before = network(dtype);
    const auto tensors = save_network_tensors(path(), before);
    ASSERT_FALSE(tensors) << dtype;
    EXPECT_EQ(tensors.error().code, Code::Unsupported);
    EXPECT_NE(tensors.error().text().find("/layers/0/"), std::string::npos) << tensors.error().text();
    EXPECT_FALSE(is_file(path()));
  }
}

TEST_F(NetworkTensors, dequantised_weights_have_the_values_of_the_codes) {  // F-40
  Network before = network("int8");
  before.release_masters();
  std::vector<float> wanted;
  before.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    std::vector<float> own(w.elements());
    w.decode(0, own.size(), own.data());
    wanted.insert(wanted.end(), own.begin(), own.end());
  });
  ASSERT_TRUE(save_network_tensors(path(), before, {.dequantize = true}));
  const auto after = read();
  ASSERT_TRUE(after) << after.error().text();
  std::vector<float> found;
  after->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    EXPECT_EQ(w.dtype(), DType::float32);
    std::vector<float> own(w.elements());
    w.decode(0, own.size(), own.data());
    found.insert(found.end(), own.begin(), own.end());
  });
  EXPECT_EQ(found, wanted);
}

TEST_F(NetworkTensors, a_tensor_too_few_too_many_or_of_another_shape_is_named) {  // F-51
  Network before = network("float32");
  ASSERT_TRUE(save_network_tensors(path(), before));
  const auto file = SafetensorsFile::open(path());
  ASSERT_TRUE(file);
  enum class Change { Drop, Add, Reshape };
  for (const Change change : {Change::Drop, Change::Add, Change::Reshape}) {
    SafetensorsWriter writer;
    const std::vector<std::byte> more(8);
    for (const SafeTensor& t : file->tensors()) {
      if (t.name == "layers.1.gamma" && change == Change::Drop) continue;
      auto shape = t.shape;
      if (t.name == "layers.1.gamma" && change == Change::Reshape) shape = {4, 4};
      ASSERT_TRUE(writer.add(t.name, t.dtype, shape, t.bytes));
    }
    if (change == Change::Add) {
      ASSERT_TRUE(writer.add("layers.9.weight", DType::float32, {2}, more));
    }
    writer.set_metadata(kNetworkMetadata, file->metadata().at(kNetworkMetadata));
    const std::string changed = folder_ / "changed.safetensors";
    ASSERT_TRUE(writer.write(changed));
    const auto opened = SafetensorsFile::open(changed);
    ASSERT_TRUE(opened);
    const auto result = network_from_tensors(*opened);
    ASSERT_FALSE(result);
    const std::string place = change == Change::Add ? "tensors belong to no weight" : "layers.1.gamma";
    EXPECT_NE(result.error().text().find(place), std::string::npos) << result.error().text();
  }
}

}  // namespace
}  // namespace loom::network_tensors_test
