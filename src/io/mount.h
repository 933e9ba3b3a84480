#pragma once
// Tensors of a file take their places in a network (engine F-51): which goes where is listed by name, every weight gets
// all of its values, and the report says what became of each tensor.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "dtypes/dtype.h"
#include "io/identify.h"
#include "network/network.h"

namespace loom {

// A tensor of a file of any format. `keeps` owns the memory of `bytes`, or is null.
struct BareTensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;  // outermost first
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keeps{};

  std::size_t elements() const;
  // Values as float32; Unsupported for integers of 32 and 64 bits.
  Result<std::vector<float>> values() const;
};

// One place of a tensor's rows.
struct Mount {
  std::string tensor, path;     // "conv1.weight", "layers.0.weight"
  std::size_t first_row = 0;    // of the tensor; rows are its first axis. As many are taken as the weight has
  bool adds = false;            // to the values of another mount, as PyTorch's second bias of a gate
  bool transposed = false;      // [in, out] in the file
  bool swaps_channels = false;  // [C, F / groups, ...] in the file, PyTorch's layout of transposed convolutions
  std::size_t groups = 1;       // of these
};

// The places of a tensor in the network, or the reason why it has none.
struct TensorReport {
  std::string name;
  std::vector<std::size_t> shape;
  DType dtype = DType::float32;
  std::vector<std::string> paths;
  std::string reason;
};

struct LoadReport {
  std::string format;
  std::vector<TensorReport> tensors;
};
Json to_json(const LoadReport& report);

// Reads safetensors (sharded too, by their index or folder) and .npz files. NotFound, CorruptData, Unsupported.
Result<std::vector<BareTensor>> read_bare_tensors(const Identified& file);
Result<std::vector<BareTensor>> read_bare_tensors(const std::string& path);

// Sets every weight of the network. NotFound for weights that no mount fills and mounts of tensors that do not exist,
// ShapeMismatch, InvalidArgument for a weight that is filled twice. Tensors without a mount are errors unless `ignored`
// gives the reason; parts of a tensor that no mount takes are errors.
Result<LoadReport> mount_tensors(Network& network, std::span<const BareTensor> tensors, std::span<const Mount> mounts,
                                 const std::map<std::string, std::string>& ignored);

// Every name that begins with a prefix begins with its replacement instead; of several prefixes the longest counts.
// NotFound for a prefix that matches nothing (engine F-51), InvalidArgument where two tensors come to one name.
Result<void> rename_by_prefix(std::vector<BareTensor>& tensors, const std::map<std::string, std::string>& prefixes);

}  // namespace loom
