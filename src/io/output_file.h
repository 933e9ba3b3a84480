#pragma once
// Files that somebody names for writing: a name whose ending promises another format is refused, and an existing file
// of another kind is not destroyed.

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/error.h"

namespace loom {

enum class OutputKind { model, kv, graph, gguf, svg, html, npy, tensor, tensors, network, onnx, safetensors };

// The ending of a file's name in lower case, ".json"; empty where there is none.
std::string ending_of(const std::string& path);

// InvalidArgument for a path with the known ending of a file that is not of this kind, as ".onnx" for a network. Other
// endings, and none, are anybody's.
Result<void> check_ending(const std::string& path, OutputKind kind);

// InvalidArgument when `path` is a file of another kind than the one to be written, or one of those that are read, by
// any name or link; none, an empty one or one of the same kind may be replaced. Then check_ending(). `option` is what
// messages call the permission to replace it all the same, `overwrite`; empty where callers cannot give it.
Result<void> check_output(const std::string& path, OutputKind kind, bool overwrite,
                          std::initializer_list<std::string_view> inputs = {}, std::string_view option = "--overwrite");

}  // namespace loom
