#pragma once
// Low-rank adapters of language models, in the files of Hugging Face's PEFT: a folder with adapter_config.json
// (lm/peft_config.h) and adapter_model.safetensors (base_model.model.model.layers.N.self_attn.q_proj.lora_A.weight,
// ...lora_B.weight, and tensors that replace ones of the model). Rows of q and k are in the order of Hugging Face
// checkpoints, as they are in memory for every format of the base model.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/safetensors/safetensors.h"
#include "lm/decoder.h"
#include "lm/peft_config.h"
#include "lm/tensor_names.h"

namespace loom {

struct PeftConfig {
  std::string name = "default";
  std::size_t rank = 8;
  double alpha = 16;
  // of every block; also gate_proj, up_proj, down_proj
  std::vector<std::string> targets = {"q_proj", "k_proj", "v_proj", "o_proj"};
};

// The low-rank adapters of one name, apart from any model: contents of such a folder, or of a section "adapter" of an
// .entity, which is a safetensors file as PEFT has it with name and scales in its metadata.
class PeftDelta {
 public:
  struct Pair {
    TensorPlace place;  // a matrix; of an embedding the rows are the tokens
    std::size_t rows = 0, cols = 0, rank = 0;
    double alpha = 0;         // the product counts alpha / rank times
    std::vector<float> a, b;  // [rank, cols], [rows, rank]
    // Until settle(): DoRA's magnitudes, one per row, of an embedding one per column; and what to take from the base.
    std::vector<float> magnitude{};
    LoraStart start = LoraStart::None;
    double scale() const { return alpha / static_cast<double>(rank); }
    Result<void> check_shape(std::size_t weight_rows, std::size_t weight_cols) const;
  };
  // Values in the place of the model's own, or (bias_of_b) added to them.
  struct Change {
    TensorPlace place;
    std::vector<std::size_t> shape;
    std::vector<float> values;
    std::vector<std::int64_t> rows{};  // not empty: of these rows alone
    bool adds = false;
    bool is_base = false;   // of a matrix that has a pair too: nothing is taken from it
    bool is_saved = false;  // by modules_to_save: a table that is tied to another one is no longer
  };
  // Returns a matrix of the base model, row-major, rows in Hugging Face's order.
  using BaseMatrix = std::function<Result<std::vector<float>>(const TensorPlace&)>;

  // NotFound, CorruptData, ShapeMismatch with the tensor; Unsupported for other kinds of adapters than LoRA and for
  // tensors without a counterpart in a model of that config.
  static Result<PeftDelta> read(const std::string& folder, const ModelConfig& model);
  // Reads the bytes of to_bytes(); the same errors.
  static Result<PeftDelta> parse(std::span<const std::byte> bytes, const ModelConfig& model);
  // Unsupported for an adapter with changes, which only settle() can apply.
  Result<std::vector<std::byte>> to_bytes() const;

  // `name` is that of a section, or what rename() gave; targets are those of the pairs.
  const PeftConfig& config() const { return config_; }
  // InvalidConfig for a name that adapters cannot have.
  Result<void> rename(const std::string& name);
  std::span<const Pair> pairs() const { return pairs_; }
  // Null where there is none.
  const Pair* find(const TensorPlace& place) const;
  // w[rows, cols] += alpha / rank * B A, each sum in f64 over the rank ascending, rounded once to f32. ShapeMismatch.
  Result<void> add_to(const TensorPlace& place, std::size_t rows, std::size_t cols, std::span<float> w) const;

  // Whether it changes the model's own tensors (modules_to_save, biases, DoRA, trained tokens), so that it cannot be
  // switched off.
  bool is_fixed() const;
  // Every tensor that the adapter changes or adds to.
  std::vector<TensorPlace> places() const;
  // Puts the changes and DoRA's matrices, as f32, in the place of the source's tensors and takes the start of PiSSA and
  // OLoRA away; a head with a pair is no longer tied. Pairs beside the weights are left. ShapeMismatch,
  // Unsupported.
  Result<void> settle(DecoderSource& source);
  // Like settle(), for pairs that are then added to the weights: tables that are tied become two where a pair changes
  // one.
  Result<void> settle_to_merge(DecoderSource& source);
  // Takes only the start of PiSSA and OLoRA away, for a model that is already built. Unsupported for an adapter with
  // changes, unless settle() calls it.
  Result<void> take_start(const BaseMatrix& base, bool settles = false);

 private:
  friend class PeftFolder;
  friend class PeftSettler;

  PeftConfig config_;
  std::vector<Pair> pairs_;
  std::vector<Change> changes_;
};

// Settles the adapters of folders in a source, in their order: what build_decoder() takes before load_peft() adds the
// pairs. Unsupported where two of them change the same tensor.
Result<void> settle_all(DecoderSource& source, std::span<PeftDelta> adapters);

// Adds fresh adapters (A normal with deviation 0.02 by seed and path, B zero: the model's answers stay as they are) and
// freezes everything else. UnknownName for a target, InvalidConfig for a name that is taken, a rank of 0.
Result<void> add_peft(DecoderModel& model, const PeftConfig& config, std::uint64_t seed);
// Reads a folder and adds what it holds under `name`, beside the weights. Errors of PeftDelta::read(); InvalidConfig
// for a name that is taken; Unsupported for one that changes the model's own tensors, which is given when the model is
// loaded. After an error the model is as it was.
Result<PeftConfig> load_peft(DecoderModel& model, const std::string& folder, const std::string& name);
// Loads a change that was read, under its own name.
Result<void> load_peft(DecoderModel& model, const PeftDelta& delta);
// Writes the adapters of that name as a folder that PEFT and load_peft() read. NotFound when the model has none;
// DiskFull, IoError.
Result<void> save_peft(const DecoderModel& model, const PeftConfig& config, const std::string& folder,
                       const std::string& base_model = "");
// Takes the adapters of that name away. No session of before may go on. NotFound.
Result<void> drop_peft(DecoderModel& model, const std::string& name);

// The adapters of one name, over all matrices that they stand beside.
struct PeftInfo {
  std::string name;
  bool enabled = false;
  std::size_t rank = 0, matrices = 0, parameters = 0;
  double alpha = 0;
};
// Lists the adapters in the order in which they were added.
std::vector<PeftInfo> list_peft(const DecoderModel& model);

}  // namespace loom
