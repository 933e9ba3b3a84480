#pragma once
// The golden set: small models with seeded weights, one per weight type and per family, whose answers have known
// digests. Every machine, instruction set, thread count, chunk size and batch must reproduce them
// (tests/determinism/hashes.tsv, `loom verify`).

#include <string>
#include <vector>

#include "lm/session.h"

namespace loom {

struct GoldenCase {
  std::string name;  // "decoder q4_1", "decoder float32 qwen3": weight type, family
  DType dtype;
  ModelConfig config;
  Activations activations = Activations::int16;
  DType kv_dtype = DType::float32;
};

std::vector<GoldenCase> golden_cases();

// The model of a case: weights are a function of the case's name alone.
Result<DecoderModel> golden_decoder(const GoldenCase& c);
Result<std::shared_ptr<const DecoderModel>> golden_model(const GoldenCase& c);

// A case may be run in many ways. Every combination gives the same digest.
struct GoldenOptions {
  std::optional<Isa> isa;
  int threads = 1;
  std::size_t chunk = 0;                         // ids per call; 0: the prompt whole
  std::size_t neighbours = 0;                    // other sequences in every batch
  bool through_snapshot = false;                 // saved and restored between prompt and generation
  Activations activations = Activations::int16;  // the case's own,
  DType kv_dtype = DType::float32;               // and this
  Device* device = nullptr;                      // a golden_table() leaves out what a rule refuses,
  std::vector<std::string>* refused = nullptr;   // and adds its name to this list
};

// SHA-256 over the logits after the prompt and after each of 8 greedy tokens, and over the tokens.
Result<std::string> golden_digest(const std::shared_ptr<const DecoderModel>& model, const GoldenOptions& run);

// name TAB digest, one line per case, as in hashes.tsv.
Result<std::string> golden_table(const GoldenOptions& run);
// SHA-256 of the table: what `loom verify` prints.
std::string digest_of_text(const std::string& text);
// The digest of this numerics version's table.
extern const char* const kGoldenDigest;

}  // namespace loom
