#include "server/model_card.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "core/file.h"
#include "core/json.h"
#include "core/path.h"
#include "host/inspect.h"
#include "lm/hub.h"

namespace loom::server {
namespace {

namespace fs = std::filesystem;

// Bytes of a file or of the files of a folder, and when the youngest was changed.
void look_at_files(const std::string& path, ModelCard& card) {
  std::error_code error;
  fs::file_time_type last{};
  const auto look = [&](const fs::path& file) {
    const auto size = fs::file_size(file, error);
    if (!error) card.bytes += size;
    const auto time = fs::last_write_time(file, error);
    if (!error) last = std::max(last, time);
  };
  const fs::path at = path_of(path);
  if (!fs::is_directory(at, error)) look(at);
  for (fs::directory_iterator file(at, error), end; !error && file != end; file.increment(error))
    if (file->is_regular_file(error)) look(file->path());
  const auto ago = std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() - last);
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  if (last != fs::file_time_type{}) card.modified = (now - ago).count();
}

// Parameters, and the type that most of them have.
void look_at_weights(const Network& network, ModelCard& card) {
  std::size_t most = 0;
  for (const auto& [name, type] : network_facts(network).types) {
    card.parameters += type.weights;
    if (type.weights > most) most = type.weights, card.types = name;
  }
}

}  // namespace

ModelCard card_of(const LanguageModel& model, const std::string& path, std::string name, std::size_t context_tokens,
                  bool has_tools) {
  ModelCard card{.name = std::move(name),
                 .format = std::string(loom::name(model.format)),
                 .family = model.decoder->config.architecture,
                 .types = {},
                 .context_tokens = context_tokens,
                 .answers = true,
                 .has_tools = has_tools};
  look_at_files(path, card);
  look_at_weights(model.decoder->network, card);
  return card;
}

ModelCard card_of(const TextEncoder& encoder, const std::string& folder, std::string name) {
  ModelCard card{.name = std::move(name),
                 .format = "huggingface",
                 .family = "bert",
                 .types = {},
                 .context_tokens = encoder.max_tokens(),
                 .embeds = true};
  look_at_files(folder, card);
  look_at_weights(encoder.network(), card);
  return card;
}

bool is_encoder(const std::string& given) {
  const auto folder = find_model(given);
  if (!folder || is_file(*folder)) return false;
  const auto text = read_text_file(*folder + "/config.json");
  const auto json = text ? parse_json(*text) : Result<Json>(Json());
  const Json* const type = json ? find(*json, "model_type") : nullptr;
  return type != nullptr && *type == "bert";
}

}  // namespace loom::server
