#include "host/export.h"

#include <filesystem>

#include "core/file_set.h"
#include "core/json.h"
#include "lm/tokenizer_files.h"
#include "support/files.h"
#include "support/small_model_test.h"

namespace loom::host_export_test {
namespace {

ModelOptions as_float16() {
  ModelOptions options;
  options.decoder.dtype = DType::float16;
  return options;
}

class HostExport : public test::SmallModelTest {
 protected:
  static std::string reference(const std::string& name) { return test::source_path("tests/golden/models/" + name); }
  Error error_of(const std::string& input, const std::string& output, const ExportOptions& options = {}) {
    const auto result = export_file(input, output, options);
    EXPECT_FALSE(result) << output;
    EXPECT_FALSE(std::filesystem::exists(output)) << output;
    return result ? Error{} : result.error();
  }
};

TEST_F(HostExport, a_gguf_written_from_a_model_gives_its_logits) {  // F-41
  const std::string out = folder_ / "out.gguf";
  const auto result = export_file(gguf(), out, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->format, "gguf");
  EXPECT_EQ(test::model_digest(out), test::model_digest(gguf()));
  const std::string half = folder_ / "half.gguf";
  ASSERT_TRUE(export_file(gguf(), half, {.dtype = DType::float16}));
  EXPECT_EQ(test::model_digest(half), test::model_digest(gguf(), as_float16()));
}

TEST_F(HostExport, a_folder_gives_the_logits_of_its_gguf) {  // F-40
  const std::string out = folder_ / "folder";
  const auto result = export_file(gguf(), out, {.dtype = DType::float16});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->format, "huggingface");
  EXPECT_EQ(test::model_digest(out), test::model_digest(gguf(), as_float16()));
  const auto again = export_file(gguf(), out, {.dtype = DType::float16});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::InvalidArgument);
}

TEST_F(HostExport, folders_come_back_as_folders) {  // F-40
  for (const char* name : {"llama2_untied", "llama2_no_gqa", "llama3_scaled", "llama_biases", "llama_linear",
                           "llama_yarn", "mistral_window", "qwen2_biases", "qwen3_head_norm"}) {
    SCOPED_TRACE(name);
    const std::string out = folder_ / name;
    const auto result = export_file(reference(name), out, {});
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(test::model_digest(out), test::model_digest(reference(name)));
  }
}

TEST_F(HostExport, AFolderKeepsItsTokenizerAndSpecialTokens) {
  const std::string from = folder_ / "from", to = folder_ / "to";
  std::filesystem::copy(reference("llama2_untied"), from, std::filesystem::copy_options::recursive);
  test::write_all(from + "/tokenizer_config.json",
                  R"({"tokenizer_class":"GPT2Tokenizer","add_prefix_space":true,"split_special_tokens":true,)"
                  R"("chat_control_tokens":["a"],"pad_token":"<pad>","extra_special_tokens":{"image":"<img>"}})");
  ASSERT_TRUE(export_file(from, to, {}));
  const auto before = read_folder_tokenizer(FileSet::folder(from)), after = read_folder_tokenizer(FileSet::folder(to));
  ASSERT_TRUE(before) << before.error().text();
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->json, before->json);
  EXPECT_EQ(after->special_tokens, before->special_tokens);
}

TEST_F(HostExport, what_a_format_cannot_hold_is_refused_and_nothing_is_written) {  // F-43
  EXPECT_EQ(error_of(gguf(), folder_ / "a.onnx").code, Code::Unsupported);
  EXPECT_EQ(error_of(gguf(), folder_ / "a.safetensors").code, Code::Unsupported);
  EXPECT_EQ(error_of(gguf(), folder_ / "a", {.dtype = DType::q8_0}).code, Code::Unsupported);
  EXPECT_EQ(error_of(gguf(), folder_ / "a.gguf", {.dtype = DType::fp8e4m3}).code, Code::Unsupported);
  const Error tokenizer = error_of(reference("llama2_untied"), folder_ / "a.gguf");
  EXPECT_EQ(tokenizer.code, Code::Unsupported);
  EXPECT_NE(tokenizer.text().find("tokenizer.json"), std::string::npos) << tokenizer.text();
  const std::string net = folder_ / "net.json";
  test::write_all(net, R"({"input_shape":[3],"layers":[{"type":"dense","input_height":3,"output_height":2}]})");
  EXPECT_EQ(error_of(net, folder_ / "a.gguf").code, Code::Unsupported);
  EXPECT_EQ(error_of(net, folder_ / "a.txt").code, Code::InvalidArgument);
}

TEST_F(HostExport, OptionsThatAFileOrAFormatDoesNotUseAreRefused) {
  const std::string net = folder_ / "net.json";
  test::write_all(net, R"({"input_shape":[3],"layers":[{"type":"dense","input_height":3,"output_height":2}]})");
  const auto refused = [&](const std::string& from, const char* to, const ExportOptions& options,
                           std::string_view name) {
    const Error error = error_of(from, folder_ / to, options);
    EXPECT_EQ(error.code, Code::InvalidArgument) << to;
    EXPECT_TRUE(error.text().starts_with(name)) << error.text();
    EXPECT_FALSE(std::filesystem::exists(folder_ / to)) << to;
  };
  refused(gguf(), "m.gguf", {.input_shape = Shape::of({3})}, "input_shape");
  refused(gguf(), "m", {.dequantize = true}, "dequantize");
  refused(gguf(), "m.gguf", {.hints = net}, "hints");
  refused(net, "n.onnx", {.dtype = DType::float16}, "dtype");
  refused(net, "n.safetensors", {.input_shape = Shape::of({3})}, "input_shape");
}

TEST_F(HostExport, a_network_becomes_onnx_and_comes_back_from_safetensors) {  // F-42
  const std::string net = folder_ / "net.json";
  test::write_all(net, R"({"input_shape":[3],"layers":[{"type":"dense","input_height":3,"output_height":2}]})");
  const auto onnx = export_file(net, folder_ / "net.onnx", {});
  ASSERT_TRUE(onnx) << onnx.error().text();
  EXPECT_EQ(onnx->nodes, 2u);
  ASSERT_TRUE(export_file(net, folder_ / "net.safetensors", {}));
  const auto again = export_file(folder_ / "net.safetensors", folder_ / "again.onnx", {});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->sha256, onnx->sha256);
}

TEST_F(HostExport, a_stop_leaves_nothing) {  // F-43
  const std::string out = folder_ / "stopped";
  EXPECT_EQ(
      error_of(gguf(), out, {.dtype = DType::float16, .progress = [](std::size_t, std::size_t) { return false; }}).code,
      Code::Cancelled);
}

}  // namespace
}  // namespace loom::host_export_test
