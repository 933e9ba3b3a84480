#pragma once
// Shared by reader and writer of .entity files.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/sha256.h"

namespace loom {

inline constexpr std::string_view kEntityMagic{"ENTITY\0\0", 8};
// How section "network" begins that holds a language model (lm/model_entity.h), and a graph (io/onnx/graph_file.h).
inline constexpr std::string_view kModelSpecBegin = "{\"transformer\":", kGraphSpecBegin = "{\"graph\":";
inline constexpr std::size_t kEntityHeaderBytes = 64, kEntityEntryBytes = 64, kEntityHashedHeader = 32;
inline constexpr std::size_t kEntityKindBytes = 8, kEntityHashInEntry = 32;

constexpr std::uint64_t section_alignment(std::string_view kind) { return kind == "weights" ? 4096 : 64; }

// Root hash of the header and the directory as they are in a file.
inline Digest entity_root_hash(std::span<const std::byte> header, std::span<const std::byte> directory) {
  Sha256 hash;
  hash.update(header.first(kEntityHashedHeader));
  for (; !directory.empty(); directory = directory.subspan(kEntityEntryBytes)) {
    const auto kind = directory.first(kEntityKindBytes);
    const bool is_signature = std::string_view(reinterpret_cast<const char*>(kind.data()), kind.size()) == "signatur";
    constexpr std::byte kZeros[32] = {};
    hash.update(directory.first(kEntityHashInEntry));
    hash.update(is_signature ? std::span<const std::byte>(kZeros) : directory.subspan(kEntityHashInEntry, 32));
  }
  return hash.finish();
}

}  // namespace loom
