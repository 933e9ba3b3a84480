#pragma once
// Keys that every layer or network has, for the reader, the writer and the schema alike.

#include <array>
#include <functional>

#include "core/json_fwd.h"
#include "layers/layer.h"
#include "network/network.h"

namespace loom {

// Performance hints of engine J-01 and J-16: accepted, and without a say in any number.
inline constexpr std::string_view kHintHelp = "Without effect: a hint of Loom 0.8x";
inline constexpr std::string_view kDeviceHelp =
    "Without effect: whoever runs a network chooses the device; a warning if it asks for one";
inline constexpr std::array<Key, 7> kHintKeys = {Key{"use_tiling", kHintHelp}, {"enable_multi_core_tiling", kHintHelp},
                                                 {"tile_size", kHintHelp},     {"use_simd_forward", kHintHelp},
                                                 {"use_gpu", kDeviceHelp},     {"exec_target", kDeviceHelp},
                                                 {"seq_length", kHintHelp}};
inline constexpr std::array<Key, 6> kNetworkHintKeys = {
    Key{"use_tiling", kHintHelp},    {"enable_multi_core_tiling", kHintHelp},
    {"use_simd_forward", kHintHelp}, {"use_gpu", kDeviceHelp},
    {"use_exact_dtype", kHintHelp},  {"release_fp32_master_when_idle", kHintHelp}};

void visit_dtype(ConfigVisitor& visit, Key key, DType& dtype);
void visit_common(ConfigVisitor& visit, CommonSettings& common);
// Visits the settings of a network that every visitor reads in the same way.
void visit_settings(ConfigVisitor& visit, NetworkSettings& settings);

inline constexpr std::array<std::size_t, 3> kGroupSizes = {32, 64, 128};
inline constexpr double kMaxInitScale = 1e6;  // 0 is the rule's own
// Returns whether weights drawn by that rule have a size to choose; elsewhere init_scale has no say.
constexpr bool reads_init_scale(std::string_view init) { return init == "uniform" || init == "normal"; }
// Returns whether a layer has matrices of its own, which an init draws; vectors begin as their kind says.
bool draws_matrices(Layer& layer);
bool any_reads_init_scale(const Network& network);

// {"name": [numbers]} of a layer: for tests (engine J-11).
Result<void> read_weights(Layer& layer, const Json& weights);

}  // namespace loom
