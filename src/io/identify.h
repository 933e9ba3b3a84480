#pragma once
// Finds out by one look at its content what a path holds. The name counts only for a file that begins like no format:
// it chooses the reader that says what is wrong.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/byte_source.h"

namespace loom {

enum class FileKind : std::uint8_t {
  Folder,         // none of the next three
  ModelFolder,    // a language model in Hugging Face's layout
  EncoderFolder,  // a text encoder
  AdapterFolder,  // a low-rank adapter in PEFT's format
  Gguf,
  Safetensors,  // a network that Loom wrote, or tensors alone
  Npz,
  Npy,
  Onnx,
  NetworkEntity,      // .entity files, up to Loom08Entity, go by their sections
  ModelEntity,        // a language model
  GraphEntity,        // an ONNX graph
  Checkpoint,         // of a training, with its network
  AdapterCheckpoint,  // of a fine-tuning
  PromptEntity,       // keys and values of a prompt
  Entity,             // other sections, or damaged
  Loom08Entity,       // a network of Loom 0.8x
  Json,               // an object: a spec, a checkpoint in JSON, a config
  JsonList,
  Zip,  // of other files than arrays
  Unknown,
};
// Returns "a GGUF file" and the like, for messages.
std::string_view describe(FileKind kind);

// Returns whether it is an .entity file of any content.
constexpr bool is_entity(FileKind kind) { return kind >= FileKind::NetworkEntity && kind <= FileKind::Loom08Entity; }

bool looks_like_gguf(std::span<const std::byte> bytes);
// Returns whether bytes begin as an ONNX file does: with its version, and a field that may follow.
bool looks_like_onnx(std::span<const std::byte> bytes);
// Returns the kind of a file with these bytes and this name. CorruptData for an empty file.
Result<FileKind> kind_of(std::span<const std::byte> bytes, std::string_view name);

struct Identified {
  std::string path;
  FileKind kind = FileKind::Unknown;
  std::shared_ptr<const ByteSource> source{};  // of a file, which is opened once; null of a folder

  bool is_folder() const { return source == nullptr; }
  bool is_graph() const { return kind == FileKind::Onnx || kind == FileKind::GraphEntity; }
  // load_network() makes a network of it, or says why it cannot.
  bool is_network() const;
  // Tensors of which a network can be made (io/bare_network.h).
  bool is_tensors() const { return kind == FileKind::Safetensors || kind == FileKind::Npz; }
  // The source, for readers of files. IoError for a folder.
  Result<std::shared_ptr<const ByteSource>> file() const;
};
// Opens a path. Errors of MappedFile::open() and kind_of().
Result<Identified> identify(const std::string& path);
// Returns whether a path exists and holds this.
bool holds(const std::string& path, FileKind kind);

}  // namespace loom
