#include "io/identify.h"

#include <gtest/gtest.h>

#include "io/network_file.h"
#include "io/network_tensors.h"
#include "io/npy/npy.h"
#include "io/onnx/graph_file.h"
#include "io/onnx_writer/onnx_export.h"
#include "support/files.h"

namespace loom::identify_test {
namespace {

constexpr char kSpec[] = R"({"input_shape":[3],"layers":[{"type":"dense","input_height":3,"output_height":2}]})";

std::string golden(const char* name) { return test::source_path(std::string("tests/golden/") + name); }

// Every kind of file with its bytes, made in the folder or found among the golden files.
std::vector<std::pair<FileKind, std::string>> files(const test::TempFolder& folder) {
  auto network = network_from_json(std::string_view(kSpec));
  EXPECT_TRUE(network) << network.error().text();
  EXPECT_TRUE(save_network(folder / "network.entity", network->network));
  EXPECT_TRUE(save_network_tensors(folder / "network.safetensors", network->network, {}));
  const std::string onnx = folder / "graph.onnx";
  const auto graph = network_to_onnx(network->network, {});
  EXPECT_TRUE(graph) << graph.error().text();
  test::write_all(onnx, graph->bytes);
  EXPECT_TRUE(convert_onnx(onnx, folder / "graph.entity"));
  const float value = 1;
  const std::size_t shape[] = {1};
  EXPECT_TRUE(write_npy(folder / "array.npy", DType::float32, shape, std::as_bytes(std::span(&value, 1))));
  const auto read = [](const std::string& path) { return test::read_all(path); };
  return {{FileKind::Gguf, read(golden("reference.gguf"))},
          {FileKind::Safetensors, read(golden("reference.safetensors"))},
          {FileKind::Safetensors, read(folder / "network.safetensors")},
          {FileKind::Npz, read(golden("npy/compressed.npz"))},
          {FileKind::Npy, read(folder / "array.npy")},
          {FileKind::Onnx, read(onnx)},
          {FileKind::NetworkEntity, read(folder / "network.entity")},
          {FileKind::GraphEntity, read(folder / "graph.entity")},
          {FileKind::Entity, read(folder / "network.entity").substr(0, 100)},
          {FileKind::Json, "\n  {\"layers\": []}"},
          {FileKind::JsonList, "[1, 2]"},
          {FileKind::Zip, "PK\x03\x04" + std::string(60, 'a')},
          {FileKind::Unknown, "Once upon a time"}};
}

TEST(Identify, TheContentDecidesUnderEveryName) {
  const test::TempFolder folder;
  for (const auto& [kind, bytes] : files(folder))
    for (const char* name : {"noending", "x.entity", "x.gguf", "x.json", "x.bin", "x.onnx", "x.npz", "x.safetensors"}) {
      const std::string_view named = name;
      const bool is_chosen_by_name = named == "x.onnx" || named == "x.npz" || named == "x.safetensors";
      if ((kind == FileKind::Unknown && is_chosen_by_name) || (kind == FileKind::Zip && named == "x.npz")) continue;
      test::write_all(folder / name, bytes);
      const auto found = identify(folder / name);
      ASSERT_TRUE(found) << found.error().text();
      EXPECT_EQ(describe(found->kind), describe(kind)) << name;
      EXPECT_TRUE(holds(folder / name, kind));
    }
}

// The low byte of a header's length may be '{', '[' or white space.
TEST(Identify, LengthsOfHeadersThatSpellJsonAreSafetensors) {
  const test::TempFolder folder;
  for (const char first : {'{', '[', ' ', '\n'}) {
    const auto length =
        static_cast<std::size_t>(first) < 64 ? static_cast<std::size_t>(first) + 256 : static_cast<std::size_t>(first);
    std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    header.resize(length, ' ');
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(length & 255), bytes[1] = static_cast<char>(length >> 8);
    test::write_all(folder / "x.json", bytes + header + std::string(4, '\0'));
    ASSERT_EQ(test::read_all(folder / "x.json")[0], first);
    EXPECT_EQ(describe(identify(folder / "x.json").value().kind), describe(FileKind::Safetensors)) << first;
  }
}

TEST(Identify, TheNameSaysWhichReaderReportsWhatBeginsLikeNoFormat) {
  const test::TempFolder folder;
  for (const auto& [name, kind] :
       {std::pair("x.onnx", FileKind::Onnx), std::pair("x.npz", FileKind::Npz),
        std::pair("x.safetensors", FileKind::Safetensors), std::pair("x.txt", FileKind::Unknown)}) {
    test::write_all(folder / name, "Once upon a time");
    EXPECT_EQ(identify(folder / name).value().kind, kind) << name;
  }
}

TEST(Identify, FoldersGoByTheirFiles) {
  const test::TempFolder folder;
  EXPECT_EQ(identify(folder.path()).value().kind, FileKind::Folder);
  test::write_all(folder / "adapter_config.json", "{}");
  EXPECT_EQ(identify(folder.path()).value().kind, FileKind::AdapterFolder);
  test::write_all(folder / "config.json", "{");
  EXPECT_EQ(identify(folder.path()).value().kind, FileKind::ModelFolder);
  test::write_all(folder / "config.json", R"({"model_type": "bert"})");
  const Identified found = identify(folder.path()).value();
  EXPECT_EQ(found.kind, FileKind::EncoderFolder);
  EXPECT_TRUE(found.is_folder());
  EXPECT_EQ(found.file().error().code, Code::IoError);
}

TEST(Identify, EmptyFilesAndPointersOfGitLfsAreRefusedByName) {
  const test::TempFolder folder;
  test::write_all(folder / "empty.json", "");
  const auto empty = identify(folder / "empty.json");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Code::CorruptData);
  EXPECT_EQ(empty.error().text(), (folder / "empty.json") + ": the file is empty");
  test::write_all(folder / "model.gguf",
                  "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n");
  const auto pointer = identify(folder / "model.gguf");
  ASSERT_FALSE(pointer);
  EXPECT_EQ(pointer.error().code, Code::Unsupported);
  EXPECT_NE(pointer.error().text().find("git lfs pull"), std::string::npos) << pointer.error().text();
  EXPECT_EQ(identify(folder / "none").error().code, Code::NotFound);
}

}  // namespace
}  // namespace loom::identify_test
