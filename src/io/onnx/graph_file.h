#pragma once
// A graph in one .entity file (engine 10.4): section "network" is canonical JSON {"graph": {"format", "opset"}},
// mandatory, and section "weights" is the ONNX message as it came. Every byte of both is hashed.

#include <functional>

#include "core/sha256.h"
#include "io/identify.h"
#include "io/onnx/onnx.h"
#include "network/network.h"

namespace loom {

// Errors of parse_onnx() and EntityReader, whose hashes are checked first; CorruptData for another kind of file.
Result<graph::Model> read_graph(const std::string& path);
Result<graph::Model> read_graph(const Identified& file);

// Reads a graph from bytes: an ONNX message that holds every tensor, or an .entity with one. They are read during the
// call.
Result<graph::Model> parse_graph(std::span<const std::byte> bytes);

// For specs: reads the graphs that they name, .onnx or .entity, in a folder and below it.
std::function<Result<graph::Model>(const std::string& file)> graphs_in(std::string folder);

// A network of one cell, the graph, whose "input_shape" the file says if it does. InvalidConfig where the graph has
// several inputs without values or several outputs: a spec with a layer of kind graph chooses.
Result<Network> network_of_graph(graph::Model model);

// Writes an ONNX file as an .entity. Atomic. Returns the root hash. Unsupported for tensors in files of their own and
// for operations that Loom lacks; errors of parse_onnx(); DiskFull, IoError.
Result<Digest> convert_onnx(const std::string& model, const std::string& output);

}  // namespace loom
