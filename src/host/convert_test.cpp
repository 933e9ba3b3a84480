#include "host/convert.h"

#include <filesystem>
#include <tuple>

#include "support/files.h"
#include "support/leftovers.h"
#include "support/small_model_test.h"

namespace loom::host_convert_test {
namespace {

class HostConvert : public test::SmallModelTest {
 protected:
  static std::string tiny() { return test::source_path("tests/golden/models/llama2_untied"); }
};

TEST_F(HostConvert, every_pair_of_formats_of_a_network_is_converted_or_refused_with_a_reason) {  // F-43
  const std::string spec = test::source_path("examples/networks/mixer_v2.json");
  ASSERT_TRUE(convert_network(spec, folder_ / "a.entity"));
  ASSERT_TRUE(convert_network(folder_ / "a.entity", folder_ / "b.json", {.allow_loss = true}));
  const std::string simple = folder_ / "simple.json";
  test::write_all(simple, R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"seed":3,"layers":[
    {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":4,"output_height":3,"dtype":"int8"}]})");
  ASSERT_TRUE(convert_network(simple, folder_ / "two.entity"));
  ASSERT_TRUE(convert_network(simple, folder_ / "one.entity", {.entity_version = 1}));
  EXPECT_EQ(test::read_all(folder_ / "one.entity").substr(0, 10), std::string("ENTITY\0\0\1\0", 10));
  // Masters come back from both, so a second conversion gives the first file.
  ASSERT_TRUE(convert_network(folder_ / "one.entity", folder_ / "again.entity"));
  const auto lost = convert_network(simple, folder_ / "lost.json");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::LossySave) << lost.error().text();
  EXPECT_FALSE(is_file(folder_ / "lost.json"));
  const auto allowed = convert_network(simple, folder_ / "lost.json", {.allow_loss = true});
  ASSERT_TRUE(allowed) << allowed.error().text();
  EXPECT_EQ(allowed->losses.size(), 1u);
  for (const char* name : {"one.entity", "two.entity", "lost.json"})
    for (const char* to : {"x.entity", "x.json"})
      for (const int version : {1, 2}) {
        const auto made = convert_network(folder_ / name, folder_ / to, {version, true});
        ASSERT_TRUE(made) << name << " " << to << ": " << made.error().text();
        EXPECT_EQ(made->bytes, std::filesystem::file_size(folder_ / to));
      }
  for (const auto& [from, to, version] :
       {std::tuple(folder_ / "a.entity", "x.gguf", 2), std::tuple(folder_ / "a.entity", "x.safetensors", 2),
        std::tuple(gguf(), "y.entity", 2)}) {
    const auto refused = convert_network(from, folder_ / to, {.entity_version = version});
    ASSERT_FALSE(refused) << to;
    EXPECT_EQ(refused.error().code, Code::Unsupported) << refused.error().text();
    EXPECT_FALSE(is_file(folder_ / to));
  }
}

TEST_F(HostConvert, a_quantised_file_gives_the_bits_of_a_type_chosen_on_load) {
  std::vector<std::size_t> told;
  QuantizeFileOptions options;
  options.dtype = DType::q8_0;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_LE(done, total);
    told.push_back(done);
    return true;
  };
  const auto result = quantize_file(gguf(), folder_ / "q.gguf", options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->bytes, std::filesystem::file_size(folder_ / "q.gguf"));
  EXPECT_EQ(told.size(), result->quantized);
  EXPECT_GT(result->quantized, 0u);
  EXPECT_LT(result->quantized, result->tensors);  // norms stay
  EXPECT_EQ(dump_json(to_json(*result)),
            fmt::format(R"({{"output":"{}","bytes":{},"tensors":{},"quantized":{},"dtype":"q8_0"}})", result->output,
                        result->bytes, result->tensors, result->quantized));
  ModelOptions on_load;
  on_load.decoder.dtype = DType::q8_0;
  EXPECT_EQ(test::model_digest(folder_ / "q.gguf"), test::model_digest(gguf(), on_load));
  options.progress = nullptr;
  const auto silent = quantize_file(gguf(), folder_ / "silent.gguf", options);
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->quantized, result->quantized);
}

TEST_F(HostConvert, what_is_stopped_writes_nothing) {
  for (const bool by_progress : {true, false}) {
    QuantizeFileOptions quantize;
    quantize.dtype = DType::q8_0;
    ConvertModelOptions convert;
    if (by_progress)
      quantize.progress = convert.progress = [](std::size_t done, std::size_t) { return done < 2; };
    else
      quantize.stop = convert.stop = [] { return true; };
    convert.dtype = DType::float16;
    const auto quantized = quantize_file(gguf(), folder_ / "q.gguf", quantize);
    ASSERT_FALSE(quantized);
    EXPECT_EQ(quantized.error().code, Code::Cancelled) << quantized.error().text();
    const auto converted = convert_model(gguf(), folder_ / "c.entity", convert);
    ASSERT_FALSE(converted);
    EXPECT_EQ(converted.error().code, Code::Cancelled) << converted.error().text();
    EXPECT_FALSE(is_file(folder_ / "q.gguf") || is_file(folder_ / "c.entity"));
    EXPECT_EQ(test::leftovers(folder_.path()), std::vector<std::string>());
  }
}

TEST_F(HostConvert, a_converted_model_gives_the_bits_of_its_source) {
  const auto result = convert_model(tiny(), folder_ / "tiny.entity", {.threads = 1});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->bytes, std::filesystem::file_size(folder_ / "tiny.entity"));
  EXPECT_FALSE(result->adapter_share);
  const Json said = to_json(*result);
  EXPECT_EQ(said["root_hash"], to_hex(result->root));
  EXPECT_EQ(find(said, "adapter_share"), nullptr);
  EXPECT_EQ(test::model_digest(folder_ / "tiny.entity"), test::model_digest(tiny()));
}

TEST_F(HostConvert, errors_name_what_is_wrong) {
  QuantizeFileOptions options;
  options.dtype = DType::ternary;  // GGUF has none
  EXPECT_EQ(quantize_file(gguf(), folder_ / "q.gguf", options).error().code, Code::Unsupported);
  EXPECT_EQ(quantize_file(folder_ / "absent.gguf", folder_ / "q.gguf", options).error().code, Code::NotFound);
  EXPECT_EQ(convert_model(folder_ / "absent.gguf", folder_ / "c.entity").error().code, Code::NotFound);
  EXPECT_EQ(convert_model(tiny(), folder_ / "c.entity", {.adapter = folder_ / "absent"}).error().code, Code::NotFound);
}

}  // namespace
}  // namespace loom::host_convert_test
