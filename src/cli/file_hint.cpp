#include "cli/file_hint.h"

#include <fmt/format.h>

#include "core/file.h"
#include "core/json.h"
#include "host/receipt.h"
#include "io/identify.h"

namespace loom::cli {
namespace {

constexpr std::size_t kLongestConfig = std::size_t{16} << 20;

// Chooses the command for a JSON object by the keys that only one kind has.
std::string command_for_object(const std::string& path) {
  if (is_receipt_file(path)) return "replay {0}";
  const auto text = read_text_file(path, kLongestConfig);
  const auto json = text ? parse_json(*text) : Json();
  if (!json) return "inspect {0}";
  for (const auto& [key, command] :
       {std::pair("layers", "run {0}"), std::pair("data", "train {0}"), std::pair("task", "evolve {0}"),
        std::pair("messages", "generate MODEL --messages {0}")})
    if (find(*json, key) != nullptr) return command;
  return "inspect {0}";
}

std::string command_for(const Identified& file) {
  switch (file.kind) {
    case FileKind::Gguf:
    case FileKind::ModelEntity:
    case FileKind::ModelFolder: return "chat {0}";
    case FileKind::EncoderFolder: return "embed {0} TEXT";
    case FileKind::AdapterFolder: return "chat MODEL --adapter {0}";
    case FileKind::PromptEntity: return "chat MODEL --kv {0}";
    case FileKind::Npy: return "run NETWORK --input {0}";
    case FileKind::JsonList: return "generate MODEL --messages {0}";
    case FileKind::Json: return command_for_object(file.path);
    case FileKind::AdapterCheckpoint:
    case FileKind::Entity: return "inspect {0}";
    case FileKind::Folder:
    case FileKind::Zip:
    case FileKind::Unknown: return "";
    default: return "run {0}";
  }
}

}  // namespace

std::string file_hint(const std::string& path) {
  if (!is_file(path) && !is_directory(path)) return {};
  const auto file = identify(path);
  if (!file) return file.error().text();
  const std::string command = command_for(*file);
  const std::string_view kind = describe(file->kind);
  if (command.empty()) return fmt::format("{} is {}, no command", path, kind);
  return fmt::format("{} is {}; loom {} takes it", path, kind, fmt::format(fmt::runtime(command), path));
}

}  // namespace loom::cli
