#pragma once
// A language model in one .entity file (engine 10.4):
//   "network"   canonical JSON {"transformer": config}, mandatory: a reader without language models refuses the file
//   "tensors", "weights"   every tensor, with its name in the network of build_decoder(); rows of q and k are
//               half-split. Matrices keep their type, block formats their blocks; norms and biases are f32
//   "tokenize"  index 0: the text of a tokenizer.json; index 1: the vocabulary of a GGUF as canonical JSON
//   "template"  the chat template
//   "adapter"   mandatory, index 0, 1..: low-rank adapters beside the weights (PeftDelta), which are active unless a
//               session chooses others
//   "kvcache"   a sequence that was read (Session::snapshot); loading the model does not read it
//   "licence"   the name or text of the model's licence, if its source has one
//   "metadata"  canonical JSON {"bos_token", "eos_token"}: texts for the template, where they are not the tokenizer's;
//               {"special_tokens", "chat_templates"}: further ones by name
// Sections "weights" have at most a megabyte, and their hashes are checked when a tensor in them is first read; that of
// "kvcache" when it is requested.
// Equal contents give equal files, and a file gives the logits of its source bit for bit.

#include <functional>
#include <optional>
#include <string>

#include "io/entity/entity.h"
#include "lm/model_contents.h"
#include "lm/peft.h"

namespace loom {

struct ModelEntityOptions {
  int threads = 0;               // 0: one per physical core
  std::optional<DType> dtype{};  // matrices to this type, as ModelOptions would load them; absent: as stored
  // added to the weights that it has pairs for, which are re-encoded in their type
  const PeftDelta* adapter = nullptr;
  std::span<const PeftDelta> beside{};  // adapters to keep beside the weights, after those that the model has
  // written: how much of the adapter's change is left after rounding to the weights' types; 1: all
  double* adapter_share = nullptr;
  std::function<bool(std::size_t done, std::size_t total)> progress{};  // tensors; false cancels
  Stop stop{};                                                          // asked every kStopElements of a matrix
};

// Atomic. Returns the root hash. NonFinite, CorruptData with the tensor; InvalidArgument for a vocabulary that is no
// UTF-8; Cancelled, DiskFull, IoError.
Result<Digest> write_model_entity(const std::string& path, const ModelContents& model,
                                  const ModelEntityOptions& options = {});

// Checks the hash of everything but the tensors, which source_matrix() checks one by one. Errors of EntityReader and of
// a damaged section, with its name.
Result<ModelContents> read_model_entity(const std::shared_ptr<const ByteSource>& source);
// Reads from bytes that the caller keeps alive, and checks every hash first.
Result<ModelContents> parse_model_entity(const EntityReader& file);
// The tokenizer alone; both empty when there is none.
Result<void> read_entity_tokenizer(const std::shared_ptr<const ByteSource>& source, std::string& tokenizer_json,
                                   std::optional<text::VocabSpec>& vocab);

// The config as an .entity holds it; reading is strict: every key once, and check() at the end.
Json config_to_entity(const ModelConfig& config);
Result<ModelConfig> config_from_entity(const Json& transformer);

}  // namespace loom
