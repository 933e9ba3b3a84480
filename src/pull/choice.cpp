#include "pull/choice.h"

#include <algorithm>

#include "core/nearest.h"
#include "lm/hub.h"

namespace loom::pull {
namespace {

// Files at the top of a Hugging Face folder that Loom reads, beside the weights.
constexpr std::string_view kFolderFiles[] = {
    "added_tokens.json",      "chat_template.jinja",  "chat_template.json",        "config_sentence_transformers.json",
    "generation_config.json", "modules.json",         "sentence_bert_config.json", "special_tokens_map.json",
    "tokenizer.json",         "tokenizer_config.json"};
// The first one of these is taken of a repository with several, unless the caller names one: about four bits per
// weight, then the smallest loss.
constexpr std::string_view kUsual[] = {"Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "Q5_K_M",
                                       "Q6_K",   "Q8_0",   "BF16", "F16",  "F32"};

bool is_gguf(std::string_view path) { return path.ends_with(".gguf"); }

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Parts of a model (NAME-00001-of-00003.gguf), which Loom does not join.
bool is_part(std::string_view path) {
  constexpr std::size_t kEnd = 20;  // "-00001-of-00003.gguf"
  if (path.size() <= kEnd) return false;
  const std::string_view end = path.substr(path.size() - kEnd);
  return end[0] == '-' && read_count(end.substr(1, 5)) && end.substr(6, 4) == "-of-" && read_count(end.substr(10, 5));
}

// Not models: projectors of pictures, and statistics from which quantisations are made.
bool is_beside_model(std::string_view path) {
  const std::string_view name = name_of(path);
  return name.starts_with("mmproj") || name.find("imatrix") != name.npos;
}

std::vector<RemoteFile> models_of(const Repository& repository) {
  std::vector<RemoteFile> out;
  for (const RemoteFile& file : repository.files)
    if (is_gguf(file.path) && !is_part(file.path) && !is_beside_model(file.path)) out.push_back(file);
  return out;
}

// At most ten paths with their sizes, for an error.
std::string names_of(const std::vector<RemoteFile>& files) {
  constexpr std::size_t kMost = 10;
  std::string out;
  for (std::size_t i = 0; i < std::min(files.size(), kMost); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", printable(files[i].path));
    if (files[i].bytes) out += fmt::format(" ({})", size_text(*files[i].bytes));
  }
  if (files.size() > kMost) out += fmt::format(" and {} more", files.size() - kMost);
  return out.empty() ? "none" : out;
}

const RemoteFile* find_file(const Repository& repository, std::string_view path) {
  const auto at = std::ranges::find(repository.files, path, &RemoteFile::path);
  return at == repository.files.end() ? nullptr : &*at;
}

// "1_Pooling/config.json" of an encoder
bool is_module_config(std::string_view path) {
  const std::size_t digits = std::min(path.find_first_not_of("0123456789"), path.size());
  return digits > 0 && path.substr(digits).starts_with("_") && std::ranges::count(path, '/') == 1 &&
         name_of(path) == "config.json";
}

// The weights of a folder: one file, or an index and its parts.
std::vector<RemoteFile> weights_of(const Repository& repository) {
  std::vector<RemoteFile> out;
  for (const std::string_view whole : {"model.safetensors", "adapter_model.safetensors"})
    if (const RemoteFile* const file = find_file(repository, whole)) out.push_back(*file);
  if (!out.empty()) return out;
  const RemoteFile* const index = find_file(repository, "model.safetensors.index.json");
  if (index == nullptr) return out;
  for (const RemoteFile& file : repository.files)
    if (file.path.starts_with("model-") && file.path.ends_with(".safetensors")) out.push_back(file);
  if (!out.empty()) out.push_back(*index);
  return out;
}

// A folder of safetensors; no files where there is none.
Choice folder_of(const Repository& repository) {
  Choice out;
  out.is_folder = true;
  const RemoteFile *config = find_file(repository, "config.json"),
                   *adapter = find_file(repository, "adapter_config.json");
  if (config == nullptr && adapter == nullptr) return out;
  out.files = weights_of(repository);
  if (out.files.empty()) return out;
  for (const RemoteFile& file : repository.files)
    if (std::ranges::find(kFolderFiles, file.path) != std::end(kFolderFiles) || is_module_config(file.path))
      out.files.push_back(file);
  for (const RemoteFile* const last : {adapter, config})
    if (last != nullptr) out.files.push_back(*last);
  out.words = fmt::format("the folder of safetensors, {} files", out.files.size());
  return out;
}

Result<Choice> by_quantisation(const Repository& repository, const std::string& model, const std::string& wanted) {
  const std::vector<RemoteFile> models = models_of(repository);
  std::vector<RemoteFile> found;
  for (const RemoteFile& file : models)
    if (is_quantisation(file.path, wanted)) found.push_back(file);
  if (found.size() > 1)
    return fail(Code::InvalidArgument, "{}:{}: {} files are of that quantisation, name one: {}", model,
                printable(wanted), found.size(), names_of(found));
  if (found.empty()) {
    const bool has_parts = std::ranges::any_of(repository.files, [](const auto& file) { return is_part(file.path); });
    return fail(Code::NotFound, "{}:{}: no such file or quantisation{}; GGUF files: {}", model, printable(wanted),
                has_parts ? " in one file (Loom does not join the parts of a GGUF model)" : "", names_of(models));
  }
  const std::string type = quantisation_of(found[0].path);
  if (!is_readable_type(type))
    return fail(Code::Unsupported, "{}:{}: Loom does not read the type {}; GGUF files: {}", model, printable(wanted),
                type, names_of(models));
  return choose_file(found[0], "quantisation " + type);
}

}  // namespace

bool is_readable_type(std::string_view quantisation) {
  if (quantisation.starts_with("IQ") || quantisation == "I2_S") return false;
  return quantisation != "Q4_0_4_4" && quantisation != "Q4_0_4_8" && quantisation != "Q4_0_8_8";
}

std::string size_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", value / 1e3);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.2f} GB", value / 1e9);
}

std::vector<RemoteFile> models_by_size(const Repository& repository) {
  std::vector<RemoteFile> out = models_of(repository);
  std::erase_if(out,
                [](const RemoteFile& file) { return !file.bytes || !is_readable_type(quantisation_of(file.path)); });
  std::ranges::stable_sort(out, std::greater<>(), [](const RemoteFile& file) { return *file.bytes; });
  return out;
}

Choice choose_file(const RemoteFile& file, std::string words) { return {{file}, false, std::move(words)}; }

Result<Choice> choose_files(const Repository& repository, const std::string& model, const std::string& wanted) {
  if (!wanted.empty()) {
    const RemoteFile* const file = find_file(repository, wanted);
    if (file == nullptr) return by_quantisation(repository, model, wanted);
    Choice out = choose_file(*file, "the file " + wanted);
    // Weights that an ONNX file keeps beside it.
    if (wanted.ends_with(".onnx"))
      for (const char* const end : {"_data", ".data"})
        if (const RemoteFile* const data = find_file(repository, wanted + end)) out.files.push_back(*data);
    return out;
  }
  Choice folder = folder_of(repository);
  if (!folder.files.empty()) return folder;
  const std::vector<RemoteFile> models = models_of(repository);
  if (models.size() == 1) return choose_file(models[0], "the only GGUF file");
  for (const std::string_view usual : kUsual)
    for (const RemoteFile& file : models)
      if (is_quantisation(file.path, usual))
        return choose_file(file, fmt::format("quantisation {} of {} GGUF files; {}:QUANTISATION takes another", usual,
                                             models.size(), model));
  if (!models.empty())
    return fail(Code::InvalidArgument, "{}: give one of its {} GGUF files, as {}:FILE: {}", model, models.size(), model,
                names_of(models));
  std::vector<RemoteFile> graphs;
  for (const RemoteFile& file : repository.files)
    if (file.path.ends_with(".onnx") || file.path.ends_with(".entity")) graphs.push_back(file);
  if (!graphs.empty())
    return fail(Code::InvalidArgument, "{}: give one of its files, as {}:FILE: {}", model, model, names_of(graphs));
  return fail(Code::Unsupported,
              "{}: no GGUF file, and no config.json with safetensors: Loom reads no other weights; files: {}", model,
              names_of(repository.files));
}

}  // namespace loom::pull
