#pragma once
// Files that a command is asked to write: an existing file of another kind is not destroyed.

#include "cli/common.h"

namespace loom::cli {

enum class OutputKind { model, kv, graph, gguf, svg, html, npy, tensor, tensors, network, onnx, safetensors };

// --overwrite.
void add_overwrite(CLI::App& app, bool& overwrite);

// Returns whether both exist and are one file, by any name or link.
bool is_same_file(const std::string& a, const std::string& b);
// InvalidArgument when `path` is a file of another kind than the one to be written, or one of those that are read, by
// any name or link; none, an empty one or one of the same kind may be replaced.
Result<void> check_output(const std::string& path, OutputKind kind, bool overwrite,
                          std::initializer_list<std::string_view> inputs = {});

}  // namespace loom::cli
