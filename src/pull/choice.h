#pragma once
// Which files of a repository are fetched: one GGUF file, or the files of a Hugging Face folder that Loom reads.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pull/repository.h"

namespace loom::pull {

struct Choice {
  std::vector<RemoteFile> files;  // the one that makes a folder a model, config.json, comes last
  bool is_folder = false;         // the model is the snapshot's folder, otherwise the first file
  std::string words;              // what was chosen and why, for a person
};

// Returns whether Loom reads the type that a quantisation's name stands for.
bool is_readable_type(std::string_view quantisation);
// Whole GGUF models that Loom reads, the largest first. Files of which the size is not known are left out.
std::vector<RemoteFile> models_by_size(const Repository& repository);

// `wanted` is empty, the path of a file, or a quantisation. NotFound and InvalidArgument name what there is.
Result<Choice> choose_files(const Repository& repository, const std::string& model, const std::string& wanted);
Choice choose_file(const RemoteFile& file, std::string words);

// "98.1 MB"
std::string size_text(std::uint64_t bytes);

}  // namespace loom::pull
