#pragma once
// A network as one safetensors file: its weights by their paths, its spec in `__metadata__`, from which it is read back
// with equal bits.

#include <string>

#include "core/sha256.h"
#include "io/safetensors/safetensors.h"
#include "network/spec/spec.h"

namespace loom {

// The key of the spec in `__metadata__`.
inline constexpr const char* kNetworkMetadata = "loom_network";

struct TensorExportOptions {
  // Writes integer weights by the float32 values that they stand for; the spec then says float32.
  bool dequantize = false;
};

// Weights of float64, float32, float16 and bfloat16 are stored as they are. Unsupported for others, which have scales
// that safetensors lacks, before a byte is written; NoValue for weights without one. The number of tensors.
Result<std::size_t> save_network_tensors(const std::string& path, const Network& network,
                                         const TensorExportOptions& options = {});

bool holds_network(const SafetensorsFile& file);
// Strict: a tensor that is missing, of no weight, or of another shape or type than the spec says is an error that names
// it.
Result<SpecResult> network_from_tensors(const SafetensorsFile& file, const SpecOptions& options = {});

}  // namespace loom
