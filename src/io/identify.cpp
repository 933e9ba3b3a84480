#include "io/identify.h"

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/json.h"
#include "io/byte_reader.h"
#include "io/entity/entity.h"
#include "io/entity/entity_layout.h"
#include "io/npy/npy_types.h"
#include "io/safetensors/safetensors.h"
#include "legacy/files/loom08.h"

namespace loom {
namespace {

// By its sections. A damaged file is one as well: its reader says what is wrong.
FileKind kind_of_entity(std::span<const std::byte> bytes) {
  if (loom08::is_entity(bytes)) return FileKind::Loom08Entity;
  const auto reader = EntityReader::parse(bytes);
  if (!reader) return FileKind::Entity;
  if (const auto network = reader->unchecked_section("network")) {
    const std::string_view spec = as_text(*network);
    if (spec.starts_with(kModelSpecBegin)) return FileKind::ModelEntity;
    if (spec.starts_with(kGraphSpecBegin)) return FileKind::GraphEntity;
    return reader->find("train") != nullptr ? FileKind::Checkpoint : FileKind::NetworkEntity;
  }
  if (reader->find("train") != nullptr) return FileKind::AdapterCheckpoint;
  return reader->find("kvcache") != nullptr && reader->sections().size() == 1 ? FileKind::PromptEntity
                                                                              : FileKind::Entity;
}

// The name of a ZIP archive's first file stands 30 bytes after its beginning.
bool first_file_is_array(std::string_view text) {
  if (text.size() < 30) return false;
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  return text.substr(30, at(26) + (at(27) << 8)).ends_with(".npy");
}

FileKind kind_of_content(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view text = as_text(bytes);
  if (looks_like_gguf(bytes)) return FileKind::Gguf;
  if (text.starts_with("ENTITY")) return kind_of_entity(bytes);
  if (text.starts_with(kNpyMagic)) return FileKind::Npy;
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06"))
    return first_file_is_array(text) || name.ends_with(".npz") ? FileKind::Npz : FileKind::Zip;
  if (looks_like_safetensors(bytes, "")) return FileKind::Safetensors;
  const std::string_view beginning = text.substr(0, 64);
  const std::size_t first = std::min(beginning.find_first_not_of(" \n\t\r"), beginning.size());
  if (beginning.substr(first).starts_with('{')) return FileKind::Json;
  if (beginning.substr(first).starts_with('[')) return FileKind::JsonList;
  if (looks_like_onnx(bytes)) return FileKind::Onnx;
  constexpr std::pair<std::string_view, FileKind> kNames[] = {
      {".safetensors", FileKind::Safetensors}, {".onnx", FileKind::Onnx}, {".npz", FileKind::Npz}};
  for (const auto& [ending, kind] : kNames)
    if (name.ends_with(ending)) return kind;
  return FileKind::Unknown;
}

FileKind kind_of_folder(const std::string& path) {
  if (const auto text = read_text_file(path + "/config.json")) {
    const auto config = parse_json(*text);
    const Json* const type = config ? find(*config, "model_type") : nullptr;
    const bool is_encoder = type != nullptr && as_string(*type) != nullptr && *as_string(*type) == "bert";
    return is_encoder ? FileKind::EncoderFolder : FileKind::ModelFolder;
  }
  if (is_file(path + "/config.json")) return FileKind::ModelFolder;  // whose reader says why it cannot be read
  return is_file(path + "/adapter_config.json") ? FileKind::AdapterFolder : FileKind::Folder;
}

}  // namespace

std::string_view describe(FileKind kind) {
  constexpr std::string_view kTexts[] = {"a folder",
                                         "a folder of a language model",
                                         "a folder of a text encoder",
                                         "a folder of a low-rank adapter",
                                         "a GGUF file",
                                         "a safetensors file",
                                         "an .npz file of arrays",
                                         "an .npy array",
                                         "a graph in an ONNX file",
                                         "a network in an .entity file",
                                         "a language model in an .entity file",
                                         "a graph in an .entity file",
                                         "a checkpoint of a training",
                                         "a checkpoint of a fine-tuning",
                                         "a prompt in an .entity file",
                                         "an .entity file",
                                         "a network of Loom 0.8x",
                                         "a JSON object",
                                         "a JSON list",
                                         "a ZIP archive",
                                         "a file of an unknown kind"};
  static_assert(std::size(kTexts) == static_cast<std::size_t>(FileKind::Unknown) + 1);
  return kTexts[static_cast<std::size_t>(kind)];
}

bool looks_like_gguf(std::span<const std::byte> bytes) { return as_text(bytes).starts_with("GGUF"); }

bool looks_like_onnx(std::span<const std::byte> bytes) {
  if (bytes.size() < 3 || bytes[0] != std::byte{0x08} || bytes[1] > std::byte{0x3f}) return false;
  // producer_name, producer_version, domain, model_version, doc_string, graph, opset_import
  constexpr std::array kNext{0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42};
  return std::ranges::find(kNext, static_cast<int>(bytes[2])) != kNext.end();
}

Result<FileKind> kind_of(std::span<const std::byte> bytes, std::string_view name) {
  if (bytes.empty()) return fail(Code::CorruptData, "{}: the file is empty", name);
  return kind_of_content(bytes, name);
}

bool Identified::is_network() const {
  constexpr std::array kNetworks{FileKind::NetworkEntity,     FileKind::Checkpoint,   FileKind::GraphEntity,
                                 FileKind::AdapterCheckpoint, FileKind::PromptEntity, FileKind::Entity,
                                 FileKind::Loom08Entity,      FileKind::Json,         FileKind::Onnx};
  return std::ranges::find(kNetworks, kind) != kNetworks.end();
}

Result<std::shared_ptr<const ByteSource>> Identified::file() const {
  return is_folder() ? ByteSource::file(path) : source;  // which says that a folder is no file
}

Result<Identified> identify(const std::string& path) {
  if (is_directory(path)) return Identified{path, kind_of_folder(path), nullptr};
  LOOM_TRY(auto source, ByteSource::file(path));
  LOOM_TRY(const FileKind kind, kind_of(source->bytes(), path));
  return Identified{path, kind, std::move(source)};
}

bool holds(const std::string& path, FileKind kind) {
  const auto found = identify(path);
  return found && found->kind == kind;
}

}  // namespace loom
