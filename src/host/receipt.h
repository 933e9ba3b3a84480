#pragma once
// A receipt: what a result was computed from and what came out, as JSON that another machine can compute again
// (docs/guide/audit.md). It names no times, so the same command writes the same receipt.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config_visitor.h"
#include "core/json.h"
#include "host/content_hash.h"
#include "host/graph_run.h"
#include "host/run_network.h"
#include "lm/encoder.h"
#include "lm/generator.h"
#include "lm/trace.h"

namespace loom {

struct Receipt {
  enum class Command : std::uint8_t { generate, logits, embed, run };

  // A file or folder with its content_hash(), which seal() fills in where it is empty.
  struct File {
    std::string name;  // of an input of a graph, of an adapter; else empty
    std::string path, sha256;
    void fields(ConfigVisitor& visit);
  };
  struct Prompt {
    std::string text;                 // as valid UTF-8
    bool is_exact = false;            // `text` is what was encoded, byte for byte; false where ids were given
    bool adds_special_tokens = true;  // when the text is encoded
    std::vector<std::int32_t> ids;    // all that the model read before the first drawn token
    std::string template_sha256;      // of the chat template that wrote the text; empty: none did
  };
  struct NetworkInput {
    std::vector<File> files{};  // empty: drawn
    std::uint64_t seed = 0, batch = 1;
    File hints{};
    bool lenient = false;
    std::vector<File> others{};  // that the network's file names
  };
  struct Settings {
    std::string dtype, kv_dtype = "float32";
    Activations activations = Activations::int16;
    std::uint64_t context = 0;
    std::vector<std::string> adapters;  // names of those that count
  };
  // Of an answer, by layer and by token (lm/trace.h).
  struct LayerHashes {
    std::string root;
    std::vector<std::string> weights, layers, tokens;
  };
  // No bit of a result depends on these.
  struct Machine {
    std::string device = "cpu", precision = "strict", isa;
    std::uint64_t threads = 0;
    bool speculation = false;
  };
  struct Outcome {
    std::vector<std::int32_t> ids;
    std::string text, stop_reason;
    std::vector<std::size_t> shape;
    std::string hash;
  };

  Command command = Command::generate;
  std::string version;
  std::uint64_t numerics_version = 0;
  File model;
  std::vector<File> adapters;  // folders beside those that the model brings
  std::vector<File> kv;        // keys and values that the prompt went on from; at most one
  Prompt prompt;
  std::vector<std::string> texts;  // of embed
  std::string text_prompt;         // put before each of them
  NetworkInput input;
  Settings session;
  GenerationOptions generation;         // without the grammar, which `form` describes
  std::optional<Grammar::Source> form;  // that the answer satisfies
  std::optional<LayerHashes> trace;
  Machine machine;
  Outcome result;

  // The one list of keys: those of its command.
  void fields(ConfigVisitor& visit);
};

// A prompt that was encoded from a text, or given as ids.
Receipt::Prompt prompt_of_text(std::string_view text, bool adds_special_tokens, std::string_view template_source = {});

// Receipts of results, without hashes of files: seal() reads those. InvalidState for an answer that was stopped or
// runs; Unsupported for a device of precision fast, whose bits prove nothing.
Result<Receipt> receipt_of(const LanguageModel& model, const Session& session, const GenerationOptions& options,
                           const Generation& generation, Receipt::Prompt prompt);
Result<Receipt> receipt_of_logits(const LanguageModel& model, const Session& session, const Digest& hash,
                                  Receipt::Prompt prompt);
Result<Receipt> receipt_of(const std::string& folder, const TextEncoder& encoder, const EncoderOptions& options,
                           std::vector<std::string> texts, const std::vector<TextEmbedding>& vectors);
// `read`: every file that was opened meanwhile (core/files_read.h).
Result<Receipt> receipt_of(const std::string& network, Receipt::NetworkInput input, const NetworkOutput& output,
                           const std::vector<std::string>& read);
Result<Receipt> receipt_of(const std::string& graph, Receipt::NetworkInput input, const GraphRunResult& result,
                           const std::vector<std::string>& read);
// Adds the trace of an answer, which it computes again in the session, one of trace_session(); `weights` are those of
// weight_digests(). InvalidState where the hash of the answer is not reproduced.
Result<void> add_trace(Receipt& receipt, Session& session, const std::vector<Digest>& weights,
                       const std::atomic<bool>* cancel = nullptr);
// Like the other one, with a session and digests of its own.
Result<void> add_trace(Receipt& receipt, const Session& like, const std::atomic<bool>* cancel = nullptr);
// Returns the trace that this machine computes for the tokens of a receipt, and the hash of the answer.
Result<std::pair<Trace, Digest>> trace_again(const Receipt& receipt, Session& session,
                                             const std::atomic<bool>* cancel = nullptr);
// SHA-256 of all vectors, one after the other.
Digest hash_of(const std::vector<TextEmbedding>& vectors);

// Hashes the files that a receipt names and writes it: {"loom_receipt": 1, ..., "digest"}, in which the digest is the
// SHA-256 of the canonical JSON of the rest. Errors of content_hash().
Result<Json> seal(Receipt receipt, const std::atomic<bool>* cancel = nullptr);
// Checks that a receipt can be written to the path: InvalidArgument for a folder, and for a file that is no receipt and
// not empty; errors of AtomicFile::create().
Result<void> check_receipt_place(const std::string& path);
// Writes a sealed receipt as a file. Errors of check_receipt_place(); DiskFull, IoError.
Result<void> write_receipt(const std::string& path, const Json& sealed);

// CorruptData, InvalidConfig, UnknownKey, LimitExceeded, with the place. Nothing that it names is opened.
Result<Receipt> receipt_from_json(const Json& json);
// Whether the digest is that of the rest: nobody has changed the receipt by hand.
bool is_intact(const Json& receipt);
// Whether a file begins as a receipt; as a receipt, a conversation or a response of loom serve, which may hold some.
bool is_receipt_file(const std::string& path);
bool may_hold_receipts(const std::string& path);
// The receipts of a file: one, those of the answers of a conversation, or those of a saved response of loom serve,
// whole or as events. NotFound for a conversation or a response without any.
Result<std::vector<Json>> read_receipts(const std::string& path);
inline constexpr JsonLimits kReceiptLimits{std::size_t{64} << 20, 32};

}  // namespace loom
