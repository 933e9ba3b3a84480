#pragma once
// Keys that every layer or network has, for the reader, the writer and the schema alike.

#include <array>
#include <functional>

#include "core/json.h"
#include "layers/layer.h"
#include "network/network.h"

namespace loom {

// Performance hints of engine J-01 and J-16: accepted, and without a say in any number.
inline constexpr std::array<std::string_view, 7> kHintKeys = {
    "use_tiling", "enable_multi_core_tiling", "tile_size", "use_simd_forward", "use_gpu", "exec_target", "seq_length"};
inline constexpr std::array<std::string_view, 6> kNetworkHintKeys = {
    "use_tiling", "enable_multi_core_tiling", "use_simd_forward",
    "use_gpu",    "use_exact_dtype",          "release_fp32_master_when_idle"};

void visit_dtype(ConfigVisitor& visit, Key key, DType& dtype);
void visit_common(ConfigVisitor& visit, CommonSettings& common);
// Those of a network that any visitor can take as they are.
void visit_settings(ConfigVisitor& visit, NetworkSettings& settings);

inline constexpr std::array<std::size_t, 3> kGroupSizes = {32, 64, 128};
inline constexpr double kMaxInitScale = 1e6;  // 0 is the rule's own
// Whether weights drawn by that rule have a size to choose; elsewhere init_scale has no say.
constexpr bool reads_init_scale(std::string_view init) { return init == "uniform" || init == "normal"; }
bool any_reads_init_scale(const Network& network);

// {"name": [numbers]} of a layer: for tests (engine J-11).
Result<void> read_weights(Layer& layer, const Json& weights);

}  // namespace loom
