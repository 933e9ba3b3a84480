#pragma once
// Hashes of what each layer of a language model gives for each token: two computations that differ anywhere differ in
// them, and they name the first token and the first layer.
//
//   leaf(t, l)  SHA-256 of the values of layer l for token t, as little-endian floats. Norm and head count for the
//               tokens whose logits a token was drawn from
//   tokens[t]   SHA-256 of leaf(t, 0), leaf(t, 1)...
//   layers[l]   SHA-256 of leaf(0, l), leaf(1, l)...
//   weights[l]  SHA-256 of the names and decoded values of the weights of layer l, with the adapters that count
//   root        Merkle tree hash (RFC 6962, section 2.1) of the list weights, layers, tokens
//
// Layer 0 is the embedding, layers 1 to N are the blocks, then come the norm and the head.

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "lm/generator.h"
#include "lm/session.h"

namespace loom {

struct Trace {
  Digest root{};
  std::vector<Digest> weights, layers, tokens;
};

// The names "embedding", "layer 0", ..., "norm", "head" of `count` layers.
std::string trace_layer_name(std::size_t layer, std::size_t count);

// A session on the host that computes traces of what another session computed; it shares that session's threads.
Result<std::unique_ptr<Session>> trace_session(const Session& like);

// The digests of a model's weights, by layer. `adapters`: names of those that count; null: those that are enabled.
std::vector<Digest> weight_digests(const DecoderModel& model, const std::vector<std::string>* adapters,
                                   ThreadPool& pool);

// Reads the ids of a generation once more, at the speed of a prompt: a token has the same bits in every batch.
// `num_prompt` of them are the prompt. Returns the trace without weights and root, and the last logits in `logits`.
// Unsupported on a graphics card; errors of Session::feed(). The session's sequence 0 is empty before and after.
Result<Trace> trace_tokens(Session& session, std::span<const std::int32_t> ids, std::size_t num_prompt,
                           std::vector<float>& logits, const std::atomic<bool>* cancel = nullptr);

// Sets the root from the lists.
void seal_trace(Trace& trace);

// The ids that a generation fed: the prompt, and what was drawn but for a last token that none follows.
std::vector<std::int32_t> fed_ids(std::span<const std::int32_t> prompt, std::span<const std::int32_t> drawn,
                                  bool ended_by_token);

// The Merkle tree hash of a list of digests; of an empty list the SHA-256 of nothing.
Digest merkle_root(std::span<const Digest> leaves);

}  // namespace loom
