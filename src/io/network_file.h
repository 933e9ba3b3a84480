#pragma once
// Networks in files: .entity v2 (engine 10.4) and JSON, a spec or a checkpoint with packed weights (engine 10.2).

#include <memory>
#include <span>
#include <string>

#include "core/byte_source.h"
#include "core/sha256.h"
#include "io/identify.h"
#include "network/spec/spec.h"

namespace loom {

class EntityReader;

struct SaveOptions {
  bool keep_master = false;  // exact masters beside the packed weights, for further training
};

// By the ending: .json a checkpoint, everything else .entity. Atomic. Returns the root hash of an .entity, or the
// SHA-256 of the JSON. InvalidArgument for the ending of another format (io/output_file.h), Unsupported for weights in
// block formats; DiskFull, IoError.
Result<Digest> save_network(const std::string& path, const Network& network, const SaveOptions& options = {});
Result<std::vector<std::byte>> network_to_entity(const Network& network, const SaveOptions& options = {});
Result<std::string> network_to_checkpoint(const Network& network);

// Unsupported, with what it holds instead, for an .entity without a section "network".
Result<void> check_holds_network(const EntityReader& file);

// By content: an .entity, JSON, or a graph in ONNX, which becomes a network of one cell (io/onnx/graph_file.h); files
// of Loom 0.8x too (legacy/files/loom08.h). A layer of a file may name another one with its graph, inside the same
// folder. Weights that a JSON lacks are initialised by its seed; an .entity and a file of 0.8x must have them all.
Result<SpecResult> load_network(const std::string& path, const SpecOptions& options = {});
Result<SpecResult> load_network(const Identified& file, const SpecOptions& options = {});
// The network holds copies of all it needs: memory of the caller is read during the call and not later.
Result<SpecResult> load_network(const std::shared_ptr<const ByteSource>& source, const SpecOptions& options = {});
Result<SpecResult> network_from_entity(std::span<const std::byte> bytes, const SpecOptions& options = {});

}  // namespace loom
