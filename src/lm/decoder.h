#pragma once
// Builds the network of a decoder-only language model (engine F-52): a grid of depth N + 3, one cell per block along z.
//   z = 0 the embedding; z = 1..N sequential[ sequential(residual)[rmsnorm, mha], sequential(residual)[rmsnorm, swiglu]
//     ];
//   z = N + 1 the final norm; z = N + 2 the head, tied to the embedding when the model says so.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/byte_source.h"
#include "core/thread_pool.h"
#include "dtypes/matrix.h"
#include "io/entity/entity.h"
#include "lm/model_config.h"
#include "lm/tensor_names.h"
#include "network/plan/forward_plan.h"

namespace loom {

struct SourceTensor {
  std::string name;  // as in the file
  TensorPlace place;
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;  // outermost first
  std::span<const std::byte> bytes;
  std::shared_ptr<const ByteSource> file;  // its pages are given back once repacked; may be null
  // For tensors of an .entity: `bytes` are packed codes (dtypes/packing.h) with these beside them. Absent: an array or
  // blocks as a GGUF has them.
  std::optional<ScaleSpan> packed = std::nullopt;
  std::span<const std::byte> scales = {}, zeros = {};
  // bytes are codes of Matrix::from_bitnet(), dtype ternary, the shape that of the weights
  std::optional<float> bitnet_scale = {};
  // Not null: the bytes are in this file, whose hashes source_matrix() checks before it reads them.
  std::shared_ptr<const EntityReader> entity = nullptr;
  // Not null: an adapter's f32 values in the place of the file's, rows in Hugging Face's order; keeps `bytes` alive.
  std::shared_ptr<const std::vector<std::byte>> replaced = nullptr;
  // Not 0: `file` has this many bytes at `offset` on demand, and `bytes` are none.
  std::size_t unread = 0;
  std::uint64_t offset = 0;
};

struct DecoderSource {
  ModelConfig config;
  std::vector<SourceTensor> tensors;
  bool interleaved_qk = false;  // rows of q and k stand as GGUF's llama files have them (engine F-41)
};

// The tensor's values as kernels take them; a vector is one row. `row_order`, if given, names the source row of each
// row.
Result<Matrix> source_matrix(const SourceTensor& tensor, std::span<const std::uint32_t> row_order = {},
                             std::shared_ptr<PanelPool> pool = nullptr, const Stop& stop = {});
// The tensor's values, row-major, rows in Hugging Face's order.
Result<std::vector<float>> source_values(const DecoderSource& source, const SourceTensor& tensor);
// Returns the place of each row of a tensor of the source in its file; empty: in order (engine F-41).
std::vector<std::uint32_t> source_row_order(const DecoderSource& source, const SourceTensor& tensor);
// Returns whether a role takes the model's type; the others stay f32.
bool is_matrix(TensorRole role);

struct DecoderOptions {
  std::optional<DType> dtype;  // quantise matrices to this type on load; absent: as stored
  // Called from the loading thread with tensors done and in all; false cancels.
  std::function<bool(std::size_t done, std::size_t total)> progress;
  const std::atomic<bool>* cancel = nullptr;  // read every kStopElements of a matrix; set from any thread
};

struct DecoderModel {
  ModelConfig config;
  Network network;
  std::shared_ptr<const ForwardPlan> plan{};  // for one token; plan_again() follows an edit of the network
  std::vector<std::string> fixed_adapters{};  // names of adapters that changed the weights on load
  Result<void> plan_again();
  // cells [0, blocks_end) precede norm and head
  std::size_t blocks_end() const { return static_cast<std::size_t>(config.num_hidden_layers) + 1; }
};

// Strict (engine F-51): a missing, duplicate or mis-sized tensor is an error that names it. Also NonFinite, Cancelled,
// OutOfMemory.
Result<DecoderModel> build_decoder(const DecoderSource& source, ThreadPool& pool, const DecoderOptions& options);

}  // namespace loom
