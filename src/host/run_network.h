#pragma once
// One forward pass of a network, with what a first look at it asks for: each cell's output, its time and its hash.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "host/tensor_file.h"
#include "network/session/network_session.h"

namespace loom {

struct NetworkRunOptions {
  int threads = 0;  // 0: one per physical core; not read where there is a pool
  std::optional<Isa> isa{};
  std::shared_ptr<ThreadPool> pool{};
  Device* device = nullptr;  // where the pass runs; without `cells`
  // in place of `device`, as in NetworkSessionOptions
  DeviceChooser choose_device{};
  std::uint64_t max_bytes = std::uint64_t{4} << 30;  // of the session
  std::string input_name{};                          // of the input, for errors of its values
  bool cells = false;                                // NetworkOutput::cells is filled
  const std::atomic<bool>* cancel = nullptr;         // set from any thread: the call ends with Cancelled
};

// A cell's output, as a hash and three figures. Where two runs part ways, the first hash that differs names the cell.
struct CellFigures {
  std::string place, kind;
  Shape shape;
  double ms = 0;  // that the cell took, a measurement
  double least = 0, mean = 0, largest = 0;
  Digest hash{};
};

struct NetworkOutput {
  Shape input_shape, shape;
  Element element = Element::f32;
  std::vector<std::byte> bytes;  // elements in their order
  Digest hash{};                 // of the bytes
  // The first element that is no finite number: such a network passes numbers on by the rules of IEEE.
  std::optional<std::size_t> non_finite;
  std::size_t resident_bytes = 0, scratch_bytes = 0;
  int threads = 0;
  Isa isa{};
  std::string device;                       // that computed it: device_title()
  Precision precision = Precision::Strict;  // of the device: whether the hash proves anything
  std::vector<CellFigures> cells;
  ConstView view() const { return {bytes.data(), shape, element}; }
};

// Values in [0, 1) of the network's own input_shape that are a function of the seed alone: a first look needs no data.
// InvalidArgument for a network that names no input_shape, OutOfMemory beyond `max_bytes`.
Result<TensorValues> drawn_input(const Network& network, std::size_t batch, std::uint64_t seed,
                                 std::uint64_t max_bytes);
// Prepares the network for the input and runs it. NonFinite for input that is not; ShapeMismatch...
Result<NetworkOutput> run_network(Network& network, const TensorValues& input, const NetworkRunOptions& options = {});
// Nested lists; what is not finite is "NaN", "Infinity" or "-Infinity".
Json nested_json(const ConstView& view);
// Shapes, hash, memory, threads; the output itself and the cells where they are asked for.
Json to_json(const NetworkOutput& output, bool with_values, bool with_cells);
Json to_json(const CellFigures& cell);

}  // namespace loom
