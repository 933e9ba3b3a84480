#pragma once
// Networks in other types, as JSON.

#include <string>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "network/auto_morph.h"

namespace loom {

struct MorphResult {
  std::string output;
  DType dtype = DType::float32;
  std::size_t resident_bytes = 0, resident_bytes_before = 0;
  Digest root{};  // of the file
};
Json to_json(const MorphResult& result);

// {"output", "root_hash", "loss_name", "loss_float32", "loss", "bytes_float32", "bytes", "measurements", "layers":
// [{"path", "kind", "dtype", "bytes", "loss_increase"}]}
Json to_json(const AutoMorphReport& report, const std::string& output, const Digest& root);

}  // namespace loom
