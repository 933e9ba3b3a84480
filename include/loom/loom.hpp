// Loom for C++17: owning handles over loom.h. Made by tools/gen_bindings.py from api/loom.json.
//
// A call that fails throws loom::Error, which has the code and the text. With LOOM_NO_EXCEPTIONS defined before this
// header (it is where the compiler has none) each call returns a loom::Result instead: if (auto r = ...) use(*r).
//
//   loom::Model model = loom::Model::open("model.gguf");
//   loom::Session session = loom::Session::create(model);
//   loom::Generator generator = loom::Generator::from_text(session, "What is gravity?", LOOM_PROMPT_AUTO);
//
// Structs are those of loom.h; loom::sized<loom_session_options>() makes one with its size set. Views of memory of the
// library last as long as loom.h says.
#pragma once

#include <loom/loom.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(LOOM_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define LOOM_NO_EXCEPTIONS
#endif
#ifndef LOOM_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace loom {
// Programs that link the engine itself, or files of both ways of errors, have no two things of one name.
#ifdef LOOM_NO_EXCEPTIONS
inline namespace api_results {
#else
inline namespace api {
#endif

// What a call failed with.
#ifdef LOOM_NO_EXCEPTIONS
class Error {
 public:
  Error(loom_status code, std::string text) : code_(code), text_(std::move(text)) {}
  const char* what() const { return text_.c_str(); }
  loom_status code() const { return code_; }

 private:
  loom_status code_;
  std::string text_;
};
#else
class Error : public std::runtime_error {
 public:
  Error(loom_status code, const std::string& text) : std::runtime_error(text), code_(code) {}
  loom_status code() const { return code_; }

 private:
  loom_status code_;
};
#endif

#ifdef LOOM_NO_EXCEPTIONS
// A value, or the error that came instead.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)), error_(LOOM_OK, {}) {}
  Result(Error error) : value_(), error_(std::move(error)) {}
  explicit operator bool() const { return error_.code() == LOOM_OK; }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }
  const Error& error() const { return error_; }

 private:
  T value_;
  Error error_;
};
template <>
class Result<void> {
 public:
  Result() : error_(LOOM_OK, {}) {}
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return error_.code() == LOOM_OK; }
  const Error& error() const { return error_; }

 private:
  Error error_;
};
#else
template <class T>
using Result = T;
#endif

// Contiguous values in memory that the view does not own.
template <class T>
class View {
 public:
  View() = default;
  View(const T* data, std::size_t size) : data_(data), size_(size) {}
  View(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {}
  View(std::initializer_list<T> values) : size_(values.size()) { data_ = values.begin(); }  // for the time of a call
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

// A struct of loom.h with its size set and all else 0.
template <class S>
S sized() {
  S out{};
  out.struct_size = sizeof out;
  return out;
}

// Values of the caller as a tensor, to read or to fill. The memory must last as long as the tensor is used.
template <class T>
loom_tensor tensor_of(const T* values, std::size_t count, const uint64_t* shape = nullptr, std::size_t rank = 0) {
  constexpr loom_element element = std::is_same_v<T, float>          ? LOOM_ELEMENT_FLOAT32
                                   : std::is_same_v<T, double>       ? LOOM_ELEMENT_FLOAT64
                                   : std::is_same_v<T, std::int32_t> ? LOOM_ELEMENT_INT32
                                   : std::is_same_v<T, std::int64_t> ? LOOM_ELEMENT_INT64
                                                                     : LOOM_ELEMENT_NONE;
  static_assert(element != LOOM_ELEMENT_NONE, "expected float, double, int32_t or int64_t");
  auto out = sized<loom_tensor>();
  out.element = element;
  out.data = const_cast<T*>(values), out.data_size = count * sizeof(T);
  out.shape = shape, out.shape_count = rank;
  return out;
}

namespace detail {

// The text of an error.
inline std::string error_text() {
  if (loom_library_abi_version() == LOOM_ABI_VERSION) return loom_last_error();
  return "the library has version " + std::to_string(loom_library_abi_version()) + " of the C interface, loom.h has " +
         std::to_string(LOOM_ABI_VERSION) + ": use the header and the library of one release";
}

#ifdef LOOM_NO_EXCEPTIONS
template <class T, class Make>
Result<T> finish(loom_status status, Make&& make) {
  if (status != LOOM_OK) return Error(status, error_text());
  return make();
}
inline Result<void> finish(loom_status status) {
  return status == LOOM_OK ? Result<void>() : Result<void>(Error(status, error_text()));
}
#else
inline void finish(loom_status status) {
  if (status != LOOM_OK) throw Error(status, error_text());
}
template <class T, class Make>
T finish(loom_status status, Make&& make) {
  finish(status);
  return make();
}
#endif

// Gives the argument of an optional struct: NULL for one without values, which is the default.
inline const loom_batch* given(const loom_batch& batch) {
  return batch.inputs == nullptr && batch.targets == nullptr ? nullptr : &batch;
}
inline const loom_tensor* given(const loom_tensor& tensor) {
  return tensor.data == nullptr && tensor.element == LOOM_ELEMENT_NONE ? nullptr : &tensor;
}

// Whether the library has the interface of this header; the functions that make objects ask.
inline bool is_same_abi() { return loom_library_abi_version() == LOOM_ABI_VERSION; }

// A handle that is given back at the end. A copy is one more owner of the same object.
class Owner {
 public:
  Owner() = default;
  explicit Owner(loom_handle handle) : handle_(handle) {}
  Owner(const Owner& other) : handle_(other.handle_) {
    if (handle_ != 0 && loom_retain(handle_) != LOOM_OK) handle_ = 0;
  }
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Owner& operator=(Owner other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() { loom_release(handle_); }

  // The handle for loom.h; it stays with this object.
  loom_handle get() const { return handle_; }
  // The same, which the caller has to release from now on.
  loom_handle take() { return std::exchange(handle_, 0); }
  explicit operator bool() const { return handle_ != 0; }

 private:
  loom_handle handle_ = 0;
};

}  // namespace detail

class Cancel;
class Network;
class Blob;
class Threads;
class Tokenizer;
class Model;
class Session;
class Generator;
class Chat;
class NetworkSession;
class Trainer;
class StepMesh;
class StepState;
class Tween;
class MeshTween;
class Population;
class Replica;
class Graph;
class GraphSession;
class Encoder;
class Adaptation;
class Layer;
class Judge;

// A flag that ends one long call from another thread.
class Cancel : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a flag that is not set.
  static Result<Cancel> create();

  // Sets or clears the flag, from any thread.
  Result<void> set(bool set) const;
};

// A grid of layers with their weights. Calls that change it answer BUSY while another thread runs it, and the other
// way round.
class Network : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring are drawn from
  // its seed.
  static Result<Network> from_json(std::string_view json,
      const loom_network_options& options = sized<loom_network_options>());

  // Makes a transformer of an arch_config.
  static Result<Network> from_arch(std::string_view json);

  // Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX as one cell.
  static Result<Network> open(const std::string& path,
      const loom_network_options& options = sized<loom_network_options>());

  // Like loom_network_open(), for bytes.
  static Result<Network> from_memory(std::string_view data,
      const loom_network_options& options = sized<loom_network_options>());

  // Makes a copy that shares nothing which can change.
  Result<Network> clone() const;

  // Makes a network of one parallel cell whose branches are copies of cell 0 of each network. (combine_mode: concat,
  // add, avg, ..., as of the kind parallel; share: the copies stand in cells of their own, which the branches link
  // to)
  static Result<Network> graft(View<loom_network> networks, const std::string& combine_mode, bool share);

  // Writes a file, whole or not at all: .json a checkpoint, everything else .entity. INVALID_ARGUMENT for the ending
  // of another format, and for a file that exists and holds no network. (keep_master: exact masters beside packed
  // weights, for further training)
  Result<void> save(const std::string& path, bool keep_master) const;

  // Like loom_network_save(), as bytes. (keep_master: of FORMAT_ENTITY)
  Result<Blob> to_bytes(loom_network_format format, bool keep_master) const;

  // Gives the spec as JSON: every setting that is not the default, without weights. Widths have the names of other
  // frameworks: in_features, out_features, hidden_size and the like.
  Result<Blob> spec() const;

  // Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape, what a lenient
  // reader met.
  Result<Blob> info() const;

  // Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name)
  Result<Blob> draw(const char* title = nullptr) const;

  // Gives the SHA-256 of all weights as text, 64 hexadecimal digits.
  Result<Blob> hash() const;

  // Resolves links and infers all shapes from the input's, samples first; a session does so by itself.
  Result<View<uint64_t>> prepare(View<uint64_t> input) const;

  // Puts a layer, a JSON object as in a spec, into a cell, replacing the layer in it; its weights are drawn. The next
  // forward of a session plans it again; step meshes of the network answer INVALID_STATE from then on. (address: z,
  // y, x, l; layer: of size 0: the cell becomes empty)
  Result<void> place(View<uint64_t> address, std::string_view layer) const;

  // Gives the matrices another numeric type. Masters stay exact. The next forward of a session plans it again. (path:
  // a layer and all below it, "layers.3"; NULL: all)
  Result<void> morph(const char* path, const std::string& dtype) const;

  // Frees the exact masters of weights whose type holds their values.
  Result<void> release_masters() const;

  // Adds every enabled adapter to its matrix and removes it.
  Result<void> merge_adapters() const;

  // Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen, master.
  Result<Blob> weights() const;

  // Fills a tensor with the values of a weight, as float32 or float64. Its size must be that of the weight. (values:
  // memory to fill; a shape must be that of the weight, or none)
  Result<void> get_weight(const std::string& name, const loom_tensor& values) const;

  // Sets the values of a weight. NON_FINITE names the first that is not finite. (values: float32 or float64; a shape
  // must be that of the weight, or none)
  Result<void> set_weight(const std::string& name, const loom_tensor& values) const;

  // Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64.
  Result<Blob> weight_codes(const std::string& name) const;

  // Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL: all)
  Result<void> freeze(const char* path, bool frozen) const;

  // Gives the flat index of a cell. (address: z, y, x, l)
  Result<uint64_t> index(View<uint64_t> address) const;

  // Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty cell. (address: z,
  // y, x, l)
  Result<Blob> layer(View<uint64_t> address) const;

  // Gives the structure of a network, a JSON object: every layer, nested ones included, with exact counts of
  // parameters and bytes.
  Result<Blob> blueprint() const;

  // Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON object: groups, a
  // list of prefix, layer, block and tensors, and unresolved, the names without such a prefix with the reason.
  Result<Blob> groups() const;

  // Like loom_file_export(), for a network with its present weights. (path: FILE.onnx or FILE.safetensors)
  Result<Blob> export_(const std::string& path,
      const loom_file_export_options& options = sized<loom_file_export_options>()) const;

  // Gives what differs between the specs and weights of two networks, a JSON object.
  Result<Blob> compare(const Network& second) const;

  // Makes a child of two networks. The config is a JSON object: mode blend, point or uniform, blend_alpha,
  // split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults)
  Result<Network> splice(const Network& second, std::string_view config) const;

  // Changes a network at random; its output keeps its shape. The config is the object `mutation` of an evolution, and
  // seed, generation, individual. The report says what was done. (shape: of the input, samples first; config: of size
  // 0: all defaults)
  Result<Blob> mutate(View<uint64_t> shape, std::string_view config) const;
};

// Bytes that a function returns: a text, ids, a snapshot.
class Blob : public detail::Owner {
 public:
  using Owner::Owner;

  // The bytes, which last as long as the blob.
  std::string_view bytes() const {
    const void* data = nullptr;
    std::size_t size = 0;
    if (loom_blob_view(get(), &data, &size) != LOOM_OK) return {};
    return {static_cast<const char*>(data), size};
  }
  std::string text() const { return std::string(bytes()); }
};

// Workers that any number of sessions share.
class Threads : public detail::Owner {
 public:
  using Owner::Owner;

  // Starts workers. Sessions that use them at the same time take turns; no result depends on it. (count: the caller's
  // thread included; 0: one per physical core)
  static Result<Threads> create(int32_t count);

  // Uses the host's own workers. (count: at least 1)
  static Result<Threads> from_host(int32_t count, loom_run_work run, void* user);
};

// Text to token ids and back. Immutable.
class Tokenizer : public detail::Owner {
 public:
  using Owner::Owner;

  // Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a tokenizer.json.
  static Result<Tokenizer> open(const std::string& path);

  // Reads a tokenizer.json from memory.
  static Result<Tokenizer> from_json(std::string_view json);

  // Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory.
  static Result<Tokenizer> from_memory(std::string_view data);

  // Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a text;
  // parse_special: a marker in the text is the marker; 0: it is ordinary text)
  Result<Blob> encode(std::string_view text, bool add_special_tokens, bool parse_special) const;

  // Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add nothing.
  Result<Blob> decode(View<int32_t> ids, bool skip_special_tokens) const;

  // Gives one more than the greatest id.
  Result<uint64_t> vocab_size() const;

  // Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has none.
  Result<int32_t> id(std::string_view text) const;

  // Gives the text of one id as the vocabulary spells it; empty for an unknown id.
  Result<Blob> token(int32_t id) const;
};

// A language model: weights, tokenizer, chat template. Immutable.
class Model : public detail::Owner {
 public:
  using Owner::Owner;

  // Loads a language model: a GGUF file, a Hugging Face folder or an .entity.
  static Result<Model> open(const std::string& path, const loom_model_options& options = sized<loom_model_options>());

  // Like loom_model_open(), for a part of a file into which a GGUF file or an .entity is embedded. (size: 0: to the
  // end)
  static Result<Model> open_part(const std::string& path, uint64_t offset, uint64_t size,
      const loom_model_options& options = sized<loom_model_options>());

  // Like loom_model_open(), for bytes, which are read during the call only.
  static Result<Model> from_memory(std::string_view data,
      const loom_model_options& options = sized<loom_model_options>());

  // Like loom_model_open(), for data that a callback of the host reads, on the calling thread: a GGUF file tensor by
  // tensor, other files into memory at once. (size: of all bytes)
  static Result<Model> from_callback(uint64_t size, loom_read_at read, void* user,
      const loom_model_options& options = sized<loom_model_options>());

  // Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json, model.safetensors (or its
  // index and shards), tokenizer.json and the others. They are read during the call only; INVALID_ARGUMENT names a
  // file that is not read. (names: of the files; data: the files, one after the other; ends: where each ends in data)
  static Result<Model> from_files(View<const char*> names, std::string_view data, View<uint64_t> ends,
      const loom_model_options& options = sized<loom_model_options>());

  // Gives a JSON object: path, format, sizes, context, special tokens, what is missing.
  Result<Blob> info() const;

  // Gives the model's tokenizer; NOT_FOUND, or why it cannot be read.
  Result<Tokenizer> tokenizer() const;

  // Writes messages as the model's chat template has them: a JSON list of objects with role and content.
  Result<Blob> render_chat(std::string_view messages, bool add_generation_prompt) const;

  // Gives a JSON list of a model's adapters: name (that of their folder's place among the options, "0"), rank, alpha,
  // matrices, parameters.
  Result<Blob> adapters() const;

  // Returns what a generator would read, as JSON: prompt, a text, and its ids, prompt_tokens and dropped_bytes. The
  // options count from plain_text on. CONTEXT_FULL beyond 4 times the context that the model was trained for.
  Result<Blob> prompt(std::string_view text, loom_prompt_form form,
      const loom_generation_options& options = sized<loom_generation_options>()) const;
};

// Sequences of tokens with their keys and values, over one model.
class Session : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a session with empty sequences.
  static Result<Session> create(const Model& model,
      const loom_session_options& options = sized<loom_session_options>());

  // Appends ids to a sequence and gives the logits that follow the last one; they last until the next call with the
  // session. A call that fails leaves the sequence as it was.
  Result<View<float>> feed(uint64_t sequence, View<int32_t> ids, const Cancel& cancel = {}) const;

  // Gives the tokens of a sequence; they last until the next call with the session.
  Result<View<int32_t>> tokens(uint64_t sequence) const;

  // Drops what follows the first length tokens of a sequence.
  Result<void> rewind(uint64_t sequence, uint64_t length) const;

  // Copies a sequence onto another.
  Result<void> fork(uint64_t from, uint64_t to) const;

  // Gives tokens, keys and values of a sequence as bytes.
  Result<Blob> snapshot(uint64_t sequence) const;

  // Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model.
  Result<void> restore(uint64_t sequence, std::string_view bytes) const;

  // Gives a JSON object: instruction set, threads, context, sequences, memory.
  Result<Blob> info() const;

  // Applies these adapters of the model from now on, and no others. All sequences are then empty. (all: every adapter
  // that the model has counts, whatever names says)
  Result<void> choose_adapters(View<const char*> names, bool all) const;

  // Scores a text: a JSON object with the perplexity and the mean of each window. The session's first sequence is
  // cleared. (window: tokens; 0: 512; max_windows: 0: the whole text)
  Result<Blob> perplexity(std::string_view text, uint64_t window, uint64_t max_windows,
      const Cancel& cancel = {}) const;
};

// One generation, step by step, over one session.
class Generator : public detail::Owner {
 public:
  using Owner::Owner;

  // Creates a generator that continues the sequence with the given ids. Nothing is read yet.
  static Result<Generator> create(const Session& session, View<int32_t> prompt,
      const loom_generation_options& options = sized<loom_generation_options>());

  // Creates a generator from a text or a conversation. CONTEXT_FULL for a prompt of more than 4 times the tokens that
  // the session holds.
  static Result<Generator> from_text(const Session& session, std::string_view text, loom_prompt_form form,
      const loom_generation_options& options = sized<loom_generation_options>());

  // Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled. At
  // the end it does nothing.
  Result<loom_step> next(const Cancel& cancel = {}) const;

  // Gives the generation so far.
  Result<loom_generation> result() const;

  // Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before temperature and cuts)
  // and top, the best tokens by the same. INVALID_STATE where the option logprobs is 0.
  Result<Blob> logprobs() const;

  // Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was cancelled.
  Result<Blob> receipt() const;
};

// A conversation over a session.
class Chat : public detail::Owner {
 public:
  using Owner::Owner;

  // Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it begins with;
  // NULL: none; options: of every answer)
  static Result<Chat> create(const Session& session, const char* system = nullptr,
      const loom_generation_options& options = sized<loom_generation_options>());

  // Adds a message of the user and begins the answer. After an error the conversation is as before.
  Result<void> say(std::string_view text, const Cancel& cancel = {}) const;

  // Begins an answer to the messages as they stand.
  Result<void> answer(const Cancel& cancel = {}) const;

  // Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the conversation,
  // also when the cancel ended it early.
  Result<loom_step> next(const Cancel& cancel = {}) const;

  // Ends an answer that runs; what it has said so far joins the conversation.
  Result<void> stop() const;

  // Gives the answer that runs, or the last one.
  Result<loom_generation> result() const;

  // Like loom_generator_logprobs(), for the answer that runs, or the last one.
  Result<Blob> logprobs() const;

  // Gives the conversation as JSON: a list of messages with role and content.
  Result<Blob> messages() const;

  // Puts another conversation in its place.
  Result<void> set_messages(std::string_view messages) const;

  // Keeps the first so many messages.
  Result<void> rewind(uint64_t count) const;

  // Gives a message another text and forgets what follows.
  Result<void> edit(uint64_t index, std::string_view text) const;

  // Writes the conversation into a file, whole or not at all. INVALID_ARGUMENT for a file that exists and holds no
  // conversation.
  Result<void> save(const std::string& path) const;

  // Reads a conversation from a file.
  Result<void> load(const std::string& path) const;

  // Gives the receipt of the last answer that was complete; INVALID_STATE before one.
  Result<Blob> receipt() const;
};

// One user of a network: activations, gradients, states. Several may run one network at the same time.
class NetworkSession : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a session.
  static Result<NetworkSession> create(const Network& network,
      const loom_network_session_options& options = sized<loom_network_session_options>());

  // Runs the network. The output lasts until the next call with the session. (input: of the element in which the
  // network computes, samples first)
  Result<loom_tensor> forward(const loom_tensor& input, const loom_pass& pass = sized<loom_pass>()) const;

  // Names the memory of the caller that loom_network_session_run() reads and fills. It must last as long as it is
  // bound. (input: NULL unbinds both; output: memory to fill; a shape must be that of the output, or none)
  Result<void> bind(const loom_tensor& input = sized<loom_tensor>(),
      const loom_tensor& output = sized<loom_tensor>()) const;

  // Runs the network from the bound input into the bound output.
  Result<void> run() const;

  // Runs the backward pass after a forward of a session with `backward`: adds to the gradients of the weights and
  // gives that of the input, which lasts until the next call. (output_gradient: as many values as the last output)
  Result<loom_tensor> backward(const loom_tensor& output_gradient, const Cancel& cancel = {}) const;

  // Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
  // memory to fill; a shape must be that of the weight, or none)
  Result<void> gradient(const std::string& weight, const loom_tensor& values) const;

  // Sets every gradient to 0.
  Result<void> clear_gradients() const;

  // Resets every sequence and state.
  Result<void> reset() const;

  // Goes back to where the sequences of a session with a context had so many positions.
  Result<void> rewind(uint64_t length) const;

  // Gives the state that the next call depends on as bytes: recurrent states, memories, keys and values.
  Result<Blob> snapshot() const;

  // Puts such a state back, into a session of the same network and options.
  Result<void> restore(std::string_view bytes) const;

  // Gives a JSON object: threads, memory, element type, positions, states.
  Result<Blob> info() const;

  // Calls the host after each layer of the session's passes.
  Result<void> watch(loom_on_layer layer, void* user) const;

  // Calls the host after each window of `layers` layers, with their statistics. (layers: at least 1)
  Result<void> watch_windows(uint64_t layers, loom_on_window window, void* user) const;

  // Sends a report of every layer to a host that listens, by a thread that no pass waits for: "http://HOST:PORT/PATH"
  // takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it.
  Result<void> report_to(const char* address = nullptr) const;
};

// A network that learns, step by step.
class Trainer : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a network ready to learn from batches of that shape, samples first. Nobody else may change the network
  // while it learns; calls that try answer BUSY, and a changed grid ends the training.
  static Result<Trainer> create(const Network& network, std::string_view config, View<uint64_t> shape,
      const loom_compute_options& options = sized<loom_compute_options>());

  // Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as before)
  Result<loom_training_step> step(const loom_batch& batch, const Cancel& cancel = {}) const;

  // Gives the loss of a batch and the output, which lasts until the next call; no weight changes.
  Result<std::tuple<double, loom_tensor>> evaluate(const loom_batch& batch) const;

  // Sets the epoch, from 0, for schedules that count epochs.
  Result<void> set_epoch(uint64_t epoch) const;

  // Gives the schedule "plateau" a validation metric.
  Result<void> observe(double metric) const;

  // Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the figures of each
  // cell's target.
  Result<Blob> info() const;

  // Calls the host after each layer of the steps of a trainer, forward and backward. UNSUPPORTED where several shards
  // run side by side.
  Result<void> watch(loom_on_layer layer, void* user) const;

  // Like loom_network_session_watch_windows(), for a trainer. (layers: at least 1)
  Result<void> watch_windows(uint64_t layers, loom_on_window window, void* user) const;

  // Like loom_network_session_report_to(), for a trainer.
  Result<void> report_to(const char* address = nullptr) const;
};

// A network that moves in ticks: in each every cell reads what the others left in the tick before.
class StepMesh : public detail::Owner {
 public:
  using Owner::Owner;

  // Prepares a network for ticks with such inputs, samples first.
  static Result<StepMesh> create(const Network& network, View<uint64_t> shape,
      const loom_step_mesh_options& options = sized<loom_step_mesh_options>());

  // Moves states by some ticks; after an error none of them has moved in that tick.
  Result<void> step(View<loom_step_state> states,
      const loom_tick_options& options = sized<loom_tick_options>()) const;

  // Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients of the weights
  // and gives that of the input of the newest tick, which lasts until the next call with the mesh; without data where
  // that tick had no input. (output_gradient: as many values as the output; ticks: at most; 0: all)
  Result<loom_tensor> backward(const StepState& state, const loom_tensor& output_gradient, uint64_t ticks) const;

  // Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or float64. (values:
  // memory to fill; a shape must be that of the weight, or none)
  Result<void> gradient(const std::string& weight, const loom_tensor& values) const;

  // Sets every gradient to 0.
  Result<void> clear_gradients() const;

  // Gives a JSON object: cells, memory of a state, what a cell waits for that can never start.
  Result<Blob> info() const;

  // Calls the host after each layer of a mesh's ticks; cells then run one after the other, with the same bits.
  Result<void> watch(loom_on_layer layer, void* user) const;

  // Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1)
  Result<void> watch_windows(uint64_t layers, loom_on_window window, void* user) const;

  // Like loom_network_session_report_to(), for a step mesh.
  Result<void> report_to(const char* address = nullptr) const;
};

// One user of a step mesh: outputs of the cells, recurrent states, captured ticks.
class StepState : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a state without outputs.
  static Result<StepState> create(const StepMesh& mesh);

  // Sets the input of the first cell. (input: as many values as the mesh's input, of the element in which the network
  // computes; hold: until it is replaced; 0: for the next tick alone)
  Result<void> set_input(const loom_tensor& input, bool hold) const;

  // Removes the input.
  Result<void> clear_input() const;

  // Gives the output of a cell in the last tick, until the next call with the mesh; NO_VALUE before data has reached
  // it. (cell: its index; -1: the last one)
  Result<loom_tensor> output(int64_t cell) const;

  // No input, no outputs, no history, tick 0.
  Result<void> reset() const;

  // Creates an independent copy.
  Result<StepState> fork() const;

  // Gives the whole state as bytes that any machine reads.
  Result<Blob> snapshot() const;

  // Puts a snapshot into a state of a mesh of the same shapes.
  Result<void> restore(std::string_view bytes) const;

  // Gives the SHA-256 of the whole state as text, 64 hexadecimal digits.
  Result<Blob> hash() const;

  // Gives the number of ticks since the start.
  Result<uint64_t> ticks() const;
};

// A network that learns by targets, in single calls.
class Tween : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a network ready to learn by targets from batches of that shape.
  static Result<Tween> create(const Network& network, std::string_view config, View<uint64_t> shape,
      const loom_compute_options& options = sized<loom_compute_options>());

  // Runs the network; the output lasts until the next call. (input: of the element in which the network computes,
  // samples first)
  Result<loom_tensor> forward(const loom_tensor& input) const;

  // Runs the rest of a step after a forward: gaps, budgets, updates. (target: as many values as the output)
  Result<void> step(const loom_tensor& target, double learning_rate) const;

  // Gives every cell its target, the first of the three calls that loom_tween_step() makes. (target: as many values
  // as the output)
  Result<void> backward(const loom_tensor& target) const;

  // Measures how well each cell agrees with its target.
  Result<void> budgets() const;

  // Moves the weights.
  Result<void> apply(double learning_rate) const;

  // Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of the update.
  Result<Blob> info() const;
};

// A step mesh that learns by targets between its ticks.
class MeshTween : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the last tick alone;
  // above: through so many captured ones)
  static Result<MeshTween> create(const StepMesh& mesh, std::string_view config, uint64_t ticks);

  // Moves all weights once towards targets of the last cell's outputs, one state's after another. (targets: for each
  // state as many values as the output)
  Result<void> step(View<loom_step_state> states, const loom_tensor& targets, double learning_rate) const;
};

// Networks that are judged, mixed and changed, generation by generation.
class Population : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes the first generation: mutations of a network. The config is a JSON object: population, elites, seed,
  // objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config: of size 0: all
  // defaults; compute: threads, thread_count and isa; NULL: defaults)
  static Result<Population> create(const Network& base, View<uint64_t> shape, std::string_view config,
      const loom_compute_options& compute = sized<loom_compute_options>());

  // Gives the places of the members without a fitness, until the next call with the population.
  Result<View<uint64_t>> ask() const;

  // Gives a copy of a member.
  Result<Network> network(uint64_t place) const;

  // Takes the fitness of those members, more is better, NaN ranks last, and breeds the next generation. With several
  // objectives all numbers of a member stand together. The report is a JSON object: scores, best, average, worst,
  // hash.
  Result<Blob> tell(View<double> fitness) const;

  // Gives a copy of the network with the best score so far; NO_VALUE before the first generation.
  Result<Network> best() const;

  // Gives a JSON object: generation, best score, members with identity, parents, operations, species.
  Result<Blob> info() const;

  // Gives a population as bytes, to go on from elsewhere.
  Result<Blob> snapshot() const;

  // Makes a population of a snapshot; config and shape are those it was made with. (compute: threads, thread_count
  // and isa; NULL: defaults)
  static Result<Population> restore(std::string_view bytes, View<uint64_t> shape, std::string_view config,
      const loom_compute_options& compute = sized<loom_compute_options>());
};

// A network that computes gradients for a training in another process.
class Replica : public detail::Owner {
 public:
  using Owner::Owner;

  // Opens a config in JSON, with its data and network, to compute gradients for a training of the same config
  // elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps cannot be divided.
  // (options: folder and compute; other fields must be 0)
  static Result<Replica> create(std::string_view config,
      const loom_training_options& options = sized<loom_training_options>());

  // Takes over a step: what on_shards was given.
  Result<void> begin(uint64_t epoch, uint64_t position, uint64_t step, double loss_scale,
      std::string_view masters) const;

  // Gives the sum of the gradients of shards [first, first + count), and their share in the loss, which is not finite
  // where the step has to be skipped. The count is a power of two that divides first, or reaches up to the last
  // shard: a node of the tree that adds all shards.
  Result<std::tuple<double, Blob>> sum(uint64_t first, uint64_t count) const;

  // Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data.
  Result<Blob> info() const;
};

// A graph of operations, as an ONNX file holds one. Immutable.
class Graph : public detail::Owner {
 public:
  using Owner::Owner;

  // Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation that Loom lacks.
  static Result<Graph> open(const std::string& path, const loom_graph_options& options = sized<loom_graph_options>());

  // Like loom_graph_open(), for bytes, which are read during the call only; they must hold every tensor.
  static Result<Graph> from_memory(std::string_view data,
      const loom_graph_options& options = sized<loom_graph_options>());

  // Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the file says,
  // opset, operations and how often, constants and their bytes.
  Result<Blob> info() const;
};

// One user of a graph: plans, memory, inputs and outputs. Several may run one graph at the same time.
class GraphSession : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a session without inputs.
  static Result<GraphSession> create(const Graph& graph,
      const loom_compute_options& options = sized<loom_compute_options>());

  // Names the caller's memory that runs read as an input. It must last as long as it is bound; what is in it may
  // change between runs. Float32, float64 and int64 are read without a copy, other types are copied into wider ones
  // by each run. A shape of no extents is that of a scalar. (name: of the input; NULL: the only one)
  Result<void> bind(const char* name, const loom_tensor& input) const;

  // Lets go of all memory that is bound.
  Result<void> unbind() const;

  // Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of another type,
  // SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call with CANCELLED)
  Result<void> run(const Cancel& cancel = {}) const;

  // Gives an output of the last run without a copy; it lasts until the next call with the session that is not this
  // one. INVALID_STATE before a run. (name: of the output; NULL: the only one)
  Result<loom_tensor> output(const char* name = nullptr) const;

  // Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of the only one)
  Result<void> copy_output(const char* output, uint8_t* to, size_t to_count) const;

  // Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every machine.
  Result<Blob> hash() const;

  // Gives a JSON object: threads, memory that runs work in.
  Result<Blob> info() const;
};

// A model that turns texts into vectors.
class Encoder : public detail::Owner {
 public:
  using Owner::Owner;

  // Gives the receipt of the last texts; INVALID_STATE before any.
  Result<Blob> receipt() const;

  // Loads the folder of a BERT in the layout of sentence-transformers.
  static Result<Encoder> open(const std::string& path,
      const loom_encoder_options& options = sized<loom_encoder_options>());

  // Gives a JSON object: dimensions, max_tokens, layers, pooling, threads.
  Result<Blob> info() const;

  // Gives the encoder's tokenizer.
  Result<Tokenizer> tokenizer() const;

  // Gives a vector per text, one after another, and the number of tokens that were read of each; both last until the
  // next call with the encoder. A text's vector has the same bits alone and among others. A text is cut off after
  // max_tokens. (vectors: float32 [texts, dimensions])
  Result<std::tuple<loom_tensor, View<uint64_t>>> embed(View<const char*> texts, const Cancel& cancel = {}) const;
};

// Measures how fast accuracy recovers after the task changes.
class Adaptation : public detail::Owner {
 public:
  using Owner::Owner;

  // Begins windows of so many milliseconds, now. (total_ms: what comes later is not counted)
  static Result<Adaptation> create(double window_ms, double total_ms, const std::string& task);

  // Counts an output, which was right or not.
  Result<void> record(bool correct) const;

  // The task changes now.
  Result<void> mark(const std::string& task) const;

  // Gives a JSON object: windows so far, changes with accuracy before them and time to recover, accuracy, throughput,
  // availability, score.
  Result<Blob> info() const;
};

// A layer of a kind of the host's own, in one call of a callback. It lasts until the callback returns, and need not
// be released.
class Layer : public detail::Owner {
 public:
  using Owner::Owner;

  // Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes, width_key,
  // sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation), default, min, max,
  // choices, help. INVALID_ARGUMENT for a name that is taken.
  static Result<void> kind_register(std::string_view description, const loom_kind_callbacks& callbacks);

  // Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a layer of it
  // lives.
  static Result<void> kind_unregister(const std::string& name);

  // Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice.
  Result<double> setting(const std::string& key) const;

  // In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A fresh one is filled
  // by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot for matrices, zeros for
  // vectors; size: half width of uniform, deviation of normal; 0: 0.1 and 0.02)
  Result<void> declare_weight(const std::string& name, View<uint64_t> extents, const char* init, double size) const;

  // Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0 counts samples
  // in this tensor and in all that are computed from it; it keeps its place.
  Result<uint64_t> input() const;

  // Names what goes out: the output in forward, the gradient of the input in backward.
  Result<void> result(uint64_t tensor) const;

  // In forward: keeps a tensor for backward.
  Result<void> keep(uint64_t tensor) const;

  // In backward: gives what forward kept, the last one first. Every kept tensor must be taken.
  Result<uint64_t> kept() const;

  // Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them.
  Result<uint64_t> shape(uint64_t tensor, uint64_t* extents, size_t extents_count) const;

  // y = W x + b along the last axis, with the bits of a dense layer in every type of W.
  Result<uint64_t> matmul(uint64_t x, const std::string& weight, const char* bias = nullptr) const;

  // dx = W^T dy; adds to the gradients of W and b.
  Result<uint64_t> matmul_gradient(uint64_t x, uint64_t dy, const std::string& weight,
      const char* bias = nullptr) const;

  // y = left right over the last two axes of two tensors whose other axes are equal, either of them transposed. Its
  // gradients are products too.
  Result<uint64_t> product(uint64_t left, bool transpose_left, uint64_t right, bool transpose_right) const;

  // y = left + right; equal shapes.
  Result<uint64_t> add(uint64_t left, uint64_t right) const;

  // y = left right, element by element; equal shapes.
  Result<uint64_t> multiply(uint64_t left, uint64_t right) const;

  // y = x times a factor.
  Result<uint64_t> scale(uint64_t x, double factor) const;

  // Gives a tensor of the shape of another one with one value everywhere.
  Result<uint64_t> fill(uint64_t like, double value) const;

  // y = activation(x). (activation: the key of a setting of that type, or a name)
  Result<uint64_t> activate(uint64_t x, const std::string& activation) const;

  // dx = dy times the activation's derivative at x. (activation: the key of a setting of that type, or a name)
  Result<uint64_t> activate_gradient(uint64_t x, uint64_t dy, const std::string& activation) const;

  // y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type, or a name)
  Result<uint64_t> gated(uint64_t gate, uint64_t up, const std::string& activation) const;

  // The gradients of both. (activation: the key of a setting of that type, or a name)
  Result<std::tuple<uint64_t, uint64_t>> gated_gradient(uint64_t gate, uint64_t up, uint64_t dy,
      const std::string& activation) const;

  // p = softmax(x / temperature) along the last axis.
  Result<uint64_t> softmax(uint64_t x, double temperature) const;

  // dx from what softmax gave.
  Result<uint64_t> softmax_gradient(uint64_t p, uint64_t dy, double temperature) const;

  // y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1)
  Result<uint64_t> rms_norm(uint64_t x, const char* gamma, double eps) const;

  // dx; adds to the gradient of gamma.
  Result<uint64_t> rms_norm_gradient(uint64_t x, uint64_t dy, const char* gamma, double eps) const;

  // y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1)
  Result<uint64_t> layer_norm(uint64_t x, const char* gamma, const char* beta, double eps) const;

  // dx; adds to the gradients of gamma and beta.
  Result<uint64_t> layer_norm_gradient(uint64_t x, uint64_t dy, const char* gamma, const char* beta,
      double eps) const;

  // y is x with its axes in another order: axis i of y is axis axes[i] of x.
  Result<uint64_t> permute(uint64_t x, View<uint64_t> axes) const;

  // y is x with other extents.
  Result<uint64_t> reshape(uint64_t x, View<uint64_t> extents) const;

  // y is [first, first + count) of an axis of x. Its gradient is that of pad, and the reverse.
  Result<uint64_t> slice(uint64_t x, uint64_t axis, uint64_t first, uint64_t count) const;

  // y is x at `first` of an axis of another extent, zeros elsewhere.
  Result<uint64_t> pad(uint64_t x, uint64_t axis, uint64_t first, uint64_t extent) const;

  // y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as often.
  Result<uint64_t> repeat(uint64_t x, uint64_t axis, uint64_t times) const;

  // y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy over as many.
  Result<uint64_t> mean(uint64_t x, uint64_t axis) const;

  // y is x with elements left out at that rate while a network trains, else x. Its gradient is the same of dy.
  // (which: number of the dropout within the layer)
  Result<uint64_t> dropout(uint64_t x, double rate, uint32_t which) const;

  // y has the shape of a tensor and holds a weight's values in each of its samples, as often as they fit.
  Result<uint64_t> weight(const std::string& name, uint64_t like) const;

  // In backward: adds the sum of such pieces of a tensor to a weight's gradient.
  Result<void> add_gradient(const std::string& name, uint64_t tensor) const;

  // Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows and outputs
  // that go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null where the kind runs on
  // the CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm, mha, gru, cnn1 to cnn3,
  // convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an instruction set by name; NULL:
  // the best one)
  static Result<Blob> kind_tiles(const std::string& kind, const std::string& dtype, const char* isa = nullptr);
};

// The task of an evolution that runs in another process.
class Judge : public detail::Owner {
 public:
  using Owner::Owner;

  // Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the same config
  // elsewhere, whose callback on_judging asks for it. (options: folder and compute; other fields must be 0)
  static Result<Judge> create(std::string_view config,
      const loom_evolution_options& options = sized<loom_evolution_options>());

  // Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives, and what novelty
  // goes by. They last until the next call.
  Result<View<double>> fitness(std::string_view network) const;

  // Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its files.
  Result<Blob> info() const;
};

inline Result<Cancel> Cancel::create() {
  loom_handle cancel = 0;
  return detail::finish<Cancel>(detail::is_same_abi() ? loom_cancel_create(&cancel) : LOOM_UNSUPPORTED,
      [&] { return Cancel(cancel); });
}

inline Result<void> Cancel::set(bool set) const {
  return detail::finish(loom_cancel_set(get(), set ? 1 : 0));
}

inline Result<Network> Network::from_json(std::string_view json, const loom_network_options& options) {
  loom_handle network = 0;
  return detail::finish<Network>(detail::is_same_abi() ? loom_network_from_json(json.data(), json.size(), &options,
      &network) : LOOM_UNSUPPORTED, [&] { return Network(network); });
}

inline Result<Network> Network::from_arch(std::string_view json) {
  loom_handle network = 0;
  return detail::finish<Network>(detail::is_same_abi() ? loom_network_from_arch(json.data(), json.size(),
      &network) : LOOM_UNSUPPORTED, [&] { return Network(network); });
}

inline Result<Network> Network::open(const std::string& path, const loom_network_options& options) {
  loom_handle network = 0;
  return detail::finish<Network>(detail::is_same_abi() ? loom_network_open(path.c_str(), &options,
      &network) : LOOM_UNSUPPORTED, [&] { return Network(network); });
}

inline Result<Network> Network::from_memory(std::string_view data, const loom_network_options& options) {
  loom_handle network = 0;
  return detail::finish<Network>(detail::is_same_abi() ? loom_network_from_memory(data.data(), data.size(), &options,
      &network) : LOOM_UNSUPPORTED, [&] { return Network(network); });
}

inline Result<Network> Network::clone() const {
  loom_handle copy = 0;
  return detail::finish<Network>(loom_network_clone(get(), &copy), [&] { return Network(copy); });
}

inline Result<Network> Network::graft(View<loom_network> networks, const std::string& combine_mode, bool share) {
  loom_handle grafted = 0;
  return detail::finish<Network>(detail::is_same_abi() ? loom_network_graft(networks.data(), networks.size(),
      combine_mode.c_str(), share ? 1 : 0, &grafted) : LOOM_UNSUPPORTED, [&] { return Network(grafted); });
}

inline Result<void> Network::save(const std::string& path, bool keep_master) const {
  return detail::finish(loom_network_save(get(), path.c_str(), keep_master ? 1 : 0));
}

inline Result<Blob> Network::to_bytes(loom_network_format format, bool keep_master) const {
  loom_handle bytes = 0;
  return detail::finish<Blob>(loom_network_to_bytes(get(), format, keep_master ? 1 : 0, &bytes),
      [&] { return Blob(bytes); });
}

inline Result<Blob> Network::spec() const {
  loom_handle spec = 0;
  return detail::finish<Blob>(loom_network_spec(get(), &spec), [&] { return Blob(spec); });
}

inline Result<Blob> Network::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_network_info(get(), &info), [&] { return Blob(info); });
}

inline Result<Blob> Network::draw(const char* title) const {
  loom_handle svg = 0;
  return detail::finish<Blob>(loom_network_draw(get(), title, &svg), [&] { return Blob(svg); });
}

inline Result<Blob> Network::hash() const {
  loom_handle hash = 0;
  return detail::finish<Blob>(loom_network_hash(get(), &hash), [&] { return Blob(hash); });
}

inline Result<View<uint64_t>> Network::prepare(View<uint64_t> input) const {
  const uint64_t* output = nullptr;
  std::size_t output_count = 0;
  return detail::finish<View<uint64_t>>(loom_network_prepare(get(), input.data(), input.size(), &output,
      &output_count), [&] { return View<uint64_t>(output, output_count); });
}

inline Result<void> Network::place(View<uint64_t> address, std::string_view layer) const {
  return detail::finish(loom_network_place(get(), address.data(), address.size(), layer.data(), layer.size()));
}

inline Result<void> Network::morph(const char* path, const std::string& dtype) const {
  return detail::finish(loom_network_morph(get(), path, dtype.c_str()));
}

inline Result<void> Network::release_masters() const {
  return detail::finish(loom_network_release_masters(get()));
}

inline Result<void> Network::merge_adapters() const {
  return detail::finish(loom_network_merge_adapters(get()));
}

inline Result<Blob> Network::weights() const {
  loom_handle list = 0;
  return detail::finish<Blob>(loom_network_weights(get(), &list), [&] { return Blob(list); });
}

inline Result<void> Network::get_weight(const std::string& name, const loom_tensor& values) const {
  return detail::finish(loom_network_get_weight(get(), name.c_str(), &values));
}

inline Result<void> Network::set_weight(const std::string& name, const loom_tensor& values) const {
  return detail::finish(loom_network_set_weight(get(), name.c_str(), &values));
}

inline Result<Blob> Network::weight_codes(const std::string& name) const {
  loom_handle codes = 0;
  return detail::finish<Blob>(loom_network_weight_codes(get(), name.c_str(), &codes), [&] { return Blob(codes); });
}

inline Result<void> Network::freeze(const char* path, bool frozen) const {
  return detail::finish(loom_network_freeze(get(), path, frozen ? 1 : 0));
}

inline Result<uint64_t> Network::index(View<uint64_t> address) const {
  uint64_t index{};
  return detail::finish<uint64_t>(loom_network_index(get(), address.data(), address.size(), &index),
      [&] { return index; });
}

inline Result<Blob> Network::layer(View<uint64_t> address) const {
  loom_handle layer = 0;
  return detail::finish<Blob>(loom_network_layer(get(), address.data(), address.size(), &layer),
      [&] { return Blob(layer); });
}

inline Result<Blob> Network::blueprint() const {
  loom_handle blueprint = 0;
  return detail::finish<Blob>(loom_network_blueprint(get(), &blueprint), [&] { return Blob(blueprint); });
}

inline Result<Blob> Network::groups() const {
  loom_handle groups = 0;
  return detail::finish<Blob>(loom_network_groups(get(), &groups), [&] { return Blob(groups); });
}

inline Result<Blob> Network::export_(const std::string& path, const loom_file_export_options& options) const {
  loom_handle report = 0;
  return detail::finish<Blob>(loom_network_export(get(), path.c_str(), &options, &report),
      [&] { return Blob(report); });
}

inline Result<Blob> Network::compare(const Network& second) const {
  loom_handle differences = 0;
  return detail::finish<Blob>(loom_network_compare(get(), second.get(), &differences),
      [&] { return Blob(differences); });
}

inline Result<Network> Network::splice(const Network& second, std::string_view config) const {
  loom_handle child = 0;
  return detail::finish<Network>(loom_network_splice(get(), second.get(), config.data(), config.size(), &child),
      [&] { return Network(child); });
}

inline Result<Blob> Network::mutate(View<uint64_t> shape, std::string_view config) const {
  loom_handle report = 0;
  return detail::finish<Blob>(loom_network_mutate(get(), shape.data(), shape.size(), config.data(), config.size(),
      &report), [&] { return Blob(report); });
}

inline Result<Threads> Threads::create(int32_t count) {
  loom_handle threads = 0;
  return detail::finish<Threads>(detail::is_same_abi() ? loom_threads_create(count, &threads) : LOOM_UNSUPPORTED,
      [&] { return Threads(threads); });
}

inline Result<Threads> Threads::from_host(int32_t count, loom_run_work run, void* user) {
  loom_handle threads = 0;
  return detail::finish<Threads>(detail::is_same_abi() ? loom_threads_from_host(count, run, user,
      &threads) : LOOM_UNSUPPORTED, [&] { return Threads(threads); });
}

inline Result<Tokenizer> Tokenizer::open(const std::string& path) {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(detail::is_same_abi() ? loom_tokenizer_open(path.c_str(),
      &tokenizer) : LOOM_UNSUPPORTED, [&] { return Tokenizer(tokenizer); });
}

inline Result<Tokenizer> Tokenizer::from_json(std::string_view json) {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(detail::is_same_abi() ? loom_tokenizer_from_json(json.data(), json.size(),
      &tokenizer) : LOOM_UNSUPPORTED, [&] { return Tokenizer(tokenizer); });
}

inline Result<Tokenizer> Tokenizer::from_memory(std::string_view data) {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(detail::is_same_abi() ? loom_tokenizer_from_memory(data.data(), data.size(),
      &tokenizer) : LOOM_UNSUPPORTED, [&] { return Tokenizer(tokenizer); });
}

inline Result<Blob> Tokenizer::encode(std::string_view text, bool add_special_tokens, bool parse_special) const {
  loom_handle ids = 0;
  return detail::finish<Blob>(loom_tokenizer_encode(get(), text.data(), text.size(), add_special_tokens ? 1 : 0,
      parse_special ? 1 : 0, &ids), [&] { return Blob(ids); });
}

inline Result<Blob> Tokenizer::decode(View<int32_t> ids, bool skip_special_tokens) const {
  loom_handle text = 0;
  return detail::finish<Blob>(loom_tokenizer_decode(get(), ids.data(), ids.size(), skip_special_tokens ? 1 : 0,
      &text), [&] { return Blob(text); });
}

inline Result<uint64_t> Tokenizer::vocab_size() const {
  uint64_t size{};
  return detail::finish<uint64_t>(loom_tokenizer_vocab_size(get(), &size), [&] { return size; });
}

inline Result<int32_t> Tokenizer::id(std::string_view text) const {
  int32_t id{};
  return detail::finish<int32_t>(loom_tokenizer_id(get(), text.data(), text.size(), &id), [&] { return id; });
}

inline Result<Blob> Tokenizer::token(int32_t id) const {
  loom_handle text = 0;
  return detail::finish<Blob>(loom_tokenizer_token(get(), id, &text), [&] { return Blob(text); });
}

inline Result<Model> Model::open(const std::string& path, const loom_model_options& options) {
  loom_handle model = 0;
  return detail::finish<Model>(detail::is_same_abi() ? loom_model_open(path.c_str(), &options,
      &model) : LOOM_UNSUPPORTED, [&] { return Model(model); });
}

inline Result<Model> Model::open_part(const std::string& path, uint64_t offset, uint64_t size,
    const loom_model_options& options) {
  loom_handle model = 0;
  return detail::finish<Model>(detail::is_same_abi() ? loom_model_open_part(path.c_str(), offset, size, &options,
      &model) : LOOM_UNSUPPORTED, [&] { return Model(model); });
}

inline Result<Model> Model::from_memory(std::string_view data, const loom_model_options& options) {
  loom_handle model = 0;
  return detail::finish<Model>(detail::is_same_abi() ? loom_model_from_memory(data.data(), data.size(), &options,
      &model) : LOOM_UNSUPPORTED, [&] { return Model(model); });
}

inline Result<Model> Model::from_callback(uint64_t size, loom_read_at read, void* user,
    const loom_model_options& options) {
  loom_handle model = 0;
  return detail::finish<Model>(detail::is_same_abi() ? loom_model_from_callback(size, read, user, &options,
      &model) : LOOM_UNSUPPORTED, [&] { return Model(model); });
}

inline Result<Model> Model::from_files(View<const char*> names, std::string_view data, View<uint64_t> ends,
    const loom_model_options& options) {
  loom_handle model = 0;
  return detail::finish<Model>(detail::is_same_abi() ? loom_model_from_files(names.data(), names.size(), data.data(),
      data.size(), ends.data(), ends.size(), &options, &model) : LOOM_UNSUPPORTED, [&] { return Model(model); });
}

inline Result<Blob> Model::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_model_info(get(), &info), [&] { return Blob(info); });
}

inline Result<Tokenizer> Model::tokenizer() const {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(loom_model_tokenizer(get(), &tokenizer), [&] { return Tokenizer(tokenizer); });
}

inline Result<Blob> Model::render_chat(std::string_view messages, bool add_generation_prompt) const {
  loom_handle text = 0;
  return detail::finish<Blob>(loom_model_render_chat(get(), messages.data(), messages.size(),
      add_generation_prompt ? 1 : 0, &text), [&] { return Blob(text); });
}

inline Result<Blob> Model::adapters() const {
  loom_handle list = 0;
  return detail::finish<Blob>(loom_model_adapters(get(), &list), [&] { return Blob(list); });
}

inline Result<Blob> Model::prompt(std::string_view text, loom_prompt_form form,
    const loom_generation_options& options) const {
  loom_handle prompt = 0;
  return detail::finish<Blob>(loom_model_prompt(get(), text.data(), text.size(), form, &options, &prompt),
      [&] { return Blob(prompt); });
}

inline Result<Session> Session::create(const Model& model, const loom_session_options& options) {
  loom_handle session = 0;
  return detail::finish<Session>(detail::is_same_abi() ? loom_session_create(model.get(), &options,
      &session) : LOOM_UNSUPPORTED, [&] { return Session(session); });
}

inline Result<View<float>> Session::feed(uint64_t sequence, View<int32_t> ids, const Cancel& cancel) const {
  const float* logits = nullptr;
  std::size_t logits_count = 0;
  return detail::finish<View<float>>(loom_session_feed(get(), sequence, ids.data(), ids.size(), cancel.get(),
      &logits, &logits_count), [&] { return View<float>(logits, logits_count); });
}

inline Result<View<int32_t>> Session::tokens(uint64_t sequence) const {
  const int32_t* ids = nullptr;
  std::size_t ids_count = 0;
  return detail::finish<View<int32_t>>(loom_session_tokens(get(), sequence, &ids, &ids_count),
      [&] { return View<int32_t>(ids, ids_count); });
}

inline Result<void> Session::rewind(uint64_t sequence, uint64_t length) const {
  return detail::finish(loom_session_rewind(get(), sequence, length));
}

inline Result<void> Session::fork(uint64_t from, uint64_t to) const {
  return detail::finish(loom_session_fork(get(), from, to));
}

inline Result<Blob> Session::snapshot(uint64_t sequence) const {
  loom_handle bytes = 0;
  return detail::finish<Blob>(loom_session_snapshot(get(), sequence, &bytes), [&] { return Blob(bytes); });
}

inline Result<void> Session::restore(uint64_t sequence, std::string_view bytes) const {
  return detail::finish(loom_session_restore(get(), sequence, bytes.data(), bytes.size()));
}

inline Result<Blob> Session::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_session_info(get(), &info), [&] { return Blob(info); });
}

inline Result<void> Session::choose_adapters(View<const char*> names, bool all) const {
  return detail::finish(loom_session_choose_adapters(get(), names.data(), names.size(), all ? 1 : 0));
}

inline Result<Blob> Session::perplexity(std::string_view text, uint64_t window, uint64_t max_windows,
    const Cancel& cancel) const {
  loom_handle result = 0;
  return detail::finish<Blob>(loom_session_perplexity(get(), text.data(), text.size(), window, max_windows,
      cancel.get(), &result), [&] { return Blob(result); });
}

inline Result<Generator> Generator::create(const Session& session, View<int32_t> prompt,
    const loom_generation_options& options) {
  loom_handle generator = 0;
  return detail::finish<Generator>(detail::is_same_abi() ? loom_generator_create(session.get(), prompt.data(),
      prompt.size(), &options, &generator) : LOOM_UNSUPPORTED, [&] { return Generator(generator); });
}

inline Result<Generator> Generator::from_text(const Session& session, std::string_view text, loom_prompt_form form,
    const loom_generation_options& options) {
  loom_handle generator = 0;
  return detail::finish<Generator>(detail::is_same_abi() ? loom_generator_from_text(session.get(), text.data(),
      text.size(), form, &options, &generator) : LOOM_UNSUPPORTED, [&] { return Generator(generator); });
}

inline Result<loom_step> Generator::next(const Cancel& cancel) const {
  auto step = sized<loom_step>();
  return detail::finish<loom_step>(loom_generator_next(get(), cancel.get(), &step), [&] { return step; });
}

inline Result<loom_generation> Generator::result() const {
  auto result = sized<loom_generation>();
  return detail::finish<loom_generation>(loom_generator_result(get(), &result), [&] { return result; });
}

inline Result<Blob> Generator::logprobs() const {
  loom_handle logprobs = 0;
  return detail::finish<Blob>(loom_generator_logprobs(get(), &logprobs), [&] { return Blob(logprobs); });
}

inline Result<Blob> Generator::receipt() const {
  loom_handle receipt = 0;
  return detail::finish<Blob>(loom_generator_receipt(get(), &receipt), [&] { return Blob(receipt); });
}

inline Result<Chat> Chat::create(const Session& session, const char* system, const loom_generation_options& options) {
  loom_handle chat = 0;
  return detail::finish<Chat>(detail::is_same_abi() ? loom_chat_create(session.get(), system, &options,
      &chat) : LOOM_UNSUPPORTED, [&] { return Chat(chat); });
}

inline Result<void> Chat::say(std::string_view text, const Cancel& cancel) const {
  return detail::finish(loom_chat_say(get(), text.data(), text.size(), cancel.get()));
}

inline Result<void> Chat::answer(const Cancel& cancel) const {
  return detail::finish(loom_chat_answer(get(), cancel.get()));
}

inline Result<loom_step> Chat::next(const Cancel& cancel) const {
  auto step = sized<loom_step>();
  return detail::finish<loom_step>(loom_chat_next(get(), cancel.get(), &step), [&] { return step; });
}

inline Result<void> Chat::stop() const {
  return detail::finish(loom_chat_stop(get()));
}

inline Result<loom_generation> Chat::result() const {
  auto result = sized<loom_generation>();
  return detail::finish<loom_generation>(loom_chat_result(get(), &result), [&] { return result; });
}

inline Result<Blob> Chat::logprobs() const {
  loom_handle logprobs = 0;
  return detail::finish<Blob>(loom_chat_logprobs(get(), &logprobs), [&] { return Blob(logprobs); });
}

inline Result<Blob> Chat::messages() const {
  loom_handle messages = 0;
  return detail::finish<Blob>(loom_chat_messages(get(), &messages), [&] { return Blob(messages); });
}

inline Result<void> Chat::set_messages(std::string_view messages) const {
  return detail::finish(loom_chat_set_messages(get(), messages.data(), messages.size()));
}

inline Result<void> Chat::rewind(uint64_t count) const {
  return detail::finish(loom_chat_rewind(get(), count));
}

inline Result<void> Chat::edit(uint64_t index, std::string_view text) const {
  return detail::finish(loom_chat_edit(get(), index, text.data(), text.size()));
}

inline Result<void> Chat::save(const std::string& path) const {
  return detail::finish(loom_chat_save(get(), path.c_str()));
}

inline Result<void> Chat::load(const std::string& path) const {
  return detail::finish(loom_chat_load(get(), path.c_str()));
}

inline Result<Blob> Chat::receipt() const {
  loom_handle receipt = 0;
  return detail::finish<Blob>(loom_chat_receipt(get(), &receipt), [&] { return Blob(receipt); });
}

inline Result<NetworkSession> NetworkSession::create(const Network& network,
    const loom_network_session_options& options) {
  loom_handle session = 0;
  return detail::finish<NetworkSession>(detail::is_same_abi() ? loom_network_session_create(network.get(), &options,
      &session) : LOOM_UNSUPPORTED, [&] { return NetworkSession(session); });
}

inline Result<loom_tensor> NetworkSession::forward(const loom_tensor& input, const loom_pass& pass) const {
  auto output = sized<loom_tensor>();
  return detail::finish<loom_tensor>(loom_network_session_forward(get(), &input, &pass, &output),
      [&] { return output; });
}

inline Result<void> NetworkSession::bind(const loom_tensor& input, const loom_tensor& output) const {
  return detail::finish(loom_network_session_bind(get(), detail::given(input), detail::given(output)));
}

inline Result<void> NetworkSession::run() const {
  return detail::finish(loom_network_session_run(get()));
}

inline Result<loom_tensor> NetworkSession::backward(const loom_tensor& output_gradient, const Cancel& cancel) const {
  auto input_gradient = sized<loom_tensor>();
  return detail::finish<loom_tensor>(loom_network_session_backward(get(), &output_gradient, cancel.get(),
      &input_gradient), [&] { return input_gradient; });
}

inline Result<void> NetworkSession::gradient(const std::string& weight, const loom_tensor& values) const {
  return detail::finish(loom_network_session_gradient(get(), weight.c_str(), &values));
}

inline Result<void> NetworkSession::clear_gradients() const {
  return detail::finish(loom_network_session_clear_gradients(get()));
}

inline Result<void> NetworkSession::reset() const {
  return detail::finish(loom_network_session_reset(get()));
}

inline Result<void> NetworkSession::rewind(uint64_t length) const {
  return detail::finish(loom_network_session_rewind(get(), length));
}

inline Result<Blob> NetworkSession::snapshot() const {
  loom_handle bytes = 0;
  return detail::finish<Blob>(loom_network_session_snapshot(get(), &bytes), [&] { return Blob(bytes); });
}

inline Result<void> NetworkSession::restore(std::string_view bytes) const {
  return detail::finish(loom_network_session_restore(get(), bytes.data(), bytes.size()));
}

inline Result<Blob> NetworkSession::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_network_session_info(get(), &info), [&] { return Blob(info); });
}

inline Result<void> NetworkSession::watch(loom_on_layer layer, void* user) const {
  return detail::finish(loom_network_session_watch(get(), layer, user));
}

inline Result<void> NetworkSession::watch_windows(uint64_t layers, loom_on_window window, void* user) const {
  return detail::finish(loom_network_session_watch_windows(get(), layers, window, user));
}

inline Result<void> NetworkSession::report_to(const char* address) const {
  return detail::finish(loom_network_session_report_to(get(), address));
}

inline Result<Trainer> Trainer::create(const Network& network, std::string_view config, View<uint64_t> shape,
    const loom_compute_options& options) {
  loom_handle trainer = 0;
  return detail::finish<Trainer>(detail::is_same_abi() ? loom_trainer_create(network.get(), config.data(),
      config.size(), shape.data(), shape.size(), &options, &trainer) : LOOM_UNSUPPORTED,
          [&] { return Trainer(trainer); });
}

inline Result<loom_training_step> Trainer::step(const loom_batch& batch, const Cancel& cancel) const {
  auto step = sized<loom_training_step>();
  return detail::finish<loom_training_step>(loom_trainer_step(get(), &batch, cancel.get(), &step),
      [&] { return step; });
}

inline Result<std::tuple<double, loom_tensor>> Trainer::evaluate(const loom_batch& batch) const {
  double loss{};
  auto output = sized<loom_tensor>();
  return detail::finish<std::tuple<double, loom_tensor>>(loom_trainer_evaluate(get(), &batch, &loss, &output),
      [&] { return std::tuple<double, loom_tensor>(loss, output); });
}

inline Result<void> Trainer::set_epoch(uint64_t epoch) const {
  return detail::finish(loom_trainer_set_epoch(get(), epoch));
}

inline Result<void> Trainer::observe(double metric) const {
  return detail::finish(loom_trainer_observe(get(), metric));
}

inline Result<Blob> Trainer::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_trainer_info(get(), &info), [&] { return Blob(info); });
}

inline Result<void> Trainer::watch(loom_on_layer layer, void* user) const {
  return detail::finish(loom_trainer_watch(get(), layer, user));
}

inline Result<void> Trainer::watch_windows(uint64_t layers, loom_on_window window, void* user) const {
  return detail::finish(loom_trainer_watch_windows(get(), layers, window, user));
}

inline Result<void> Trainer::report_to(const char* address) const {
  return detail::finish(loom_trainer_report_to(get(), address));
}

inline Result<StepMesh> StepMesh::create(const Network& network, View<uint64_t> shape,
    const loom_step_mesh_options& options) {
  loom_handle mesh = 0;
  return detail::finish<StepMesh>(detail::is_same_abi() ? loom_step_mesh_create(network.get(), shape.data(),
      shape.size(), &options, &mesh) : LOOM_UNSUPPORTED, [&] { return StepMesh(mesh); });
}

inline Result<void> StepMesh::step(View<loom_step_state> states, const loom_tick_options& options) const {
  return detail::finish(loom_step_mesh_step(get(), states.data(), states.size(), &options));
}

inline Result<loom_tensor> StepMesh::backward(const StepState& state, const loom_tensor& output_gradient,
    uint64_t ticks) const {
  auto input_gradient = sized<loom_tensor>();
  return detail::finish<loom_tensor>(loom_step_mesh_backward(get(), state.get(), &output_gradient, ticks,
      &input_gradient), [&] { return input_gradient; });
}

inline Result<void> StepMesh::gradient(const std::string& weight, const loom_tensor& values) const {
  return detail::finish(loom_step_mesh_gradient(get(), weight.c_str(), &values));
}

inline Result<void> StepMesh::clear_gradients() const {
  return detail::finish(loom_step_mesh_clear_gradients(get()));
}

inline Result<Blob> StepMesh::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_step_mesh_info(get(), &info), [&] { return Blob(info); });
}

inline Result<void> StepMesh::watch(loom_on_layer layer, void* user) const {
  return detail::finish(loom_step_mesh_watch(get(), layer, user));
}

inline Result<void> StepMesh::watch_windows(uint64_t layers, loom_on_window window, void* user) const {
  return detail::finish(loom_step_mesh_watch_windows(get(), layers, window, user));
}

inline Result<void> StepMesh::report_to(const char* address) const {
  return detail::finish(loom_step_mesh_report_to(get(), address));
}

inline Result<StepState> StepState::create(const StepMesh& mesh) {
  loom_handle state = 0;
  return detail::finish<StepState>(detail::is_same_abi() ? loom_step_state_create(mesh.get(),
      &state) : LOOM_UNSUPPORTED, [&] { return StepState(state); });
}

inline Result<void> StepState::set_input(const loom_tensor& input, bool hold) const {
  return detail::finish(loom_step_state_set_input(get(), &input, hold ? 1 : 0));
}

inline Result<void> StepState::clear_input() const {
  return detail::finish(loom_step_state_clear_input(get()));
}

inline Result<loom_tensor> StepState::output(int64_t cell) const {
  auto output = sized<loom_tensor>();
  return detail::finish<loom_tensor>(loom_step_state_output(get(), cell, &output), [&] { return output; });
}

inline Result<void> StepState::reset() const {
  return detail::finish(loom_step_state_reset(get()));
}

inline Result<StepState> StepState::fork() const {
  loom_handle copy = 0;
  return detail::finish<StepState>(loom_step_state_fork(get(), &copy), [&] { return StepState(copy); });
}

inline Result<Blob> StepState::snapshot() const {
  loom_handle bytes = 0;
  return detail::finish<Blob>(loom_step_state_snapshot(get(), &bytes), [&] { return Blob(bytes); });
}

inline Result<void> StepState::restore(std::string_view bytes) const {
  return detail::finish(loom_step_state_restore(get(), bytes.data(), bytes.size()));
}

inline Result<Blob> StepState::hash() const {
  loom_handle hash = 0;
  return detail::finish<Blob>(loom_step_state_hash(get(), &hash), [&] { return Blob(hash); });
}

inline Result<uint64_t> StepState::ticks() const {
  uint64_t ticks{};
  return detail::finish<uint64_t>(loom_step_state_ticks(get(), &ticks), [&] { return ticks; });
}

inline Result<Tween> Tween::create(const Network& network, std::string_view config, View<uint64_t> shape,
    const loom_compute_options& options) {
  loom_handle tween = 0;
  return detail::finish<Tween>(detail::is_same_abi() ? loom_tween_create(network.get(), config.data(), config.size(),
      shape.data(), shape.size(), &options, &tween) : LOOM_UNSUPPORTED, [&] { return Tween(tween); });
}

inline Result<loom_tensor> Tween::forward(const loom_tensor& input) const {
  auto output = sized<loom_tensor>();
  return detail::finish<loom_tensor>(loom_tween_forward(get(), &input, &output), [&] { return output; });
}

inline Result<void> Tween::step(const loom_tensor& target, double learning_rate) const {
  return detail::finish(loom_tween_step(get(), &target, learning_rate));
}

inline Result<void> Tween::backward(const loom_tensor& target) const {
  return detail::finish(loom_tween_backward(get(), &target));
}

inline Result<void> Tween::budgets() const {
  return detail::finish(loom_tween_budgets(get()));
}

inline Result<void> Tween::apply(double learning_rate) const {
  return detail::finish(loom_tween_apply(get(), learning_rate));
}

inline Result<Blob> Tween::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_tween_info(get(), &info), [&] { return Blob(info); });
}

inline Result<MeshTween> MeshTween::create(const StepMesh& mesh, std::string_view config, uint64_t ticks) {
  loom_handle tween = 0;
  return detail::finish<MeshTween>(detail::is_same_abi() ? loom_mesh_tween_create(mesh.get(), config.data(),
      config.size(), ticks, &tween) : LOOM_UNSUPPORTED, [&] { return MeshTween(tween); });
}

inline Result<void> MeshTween::step(View<loom_step_state> states, const loom_tensor& targets,
    double learning_rate) const {
  return detail::finish(loom_mesh_tween_step(get(), states.data(), states.size(), &targets, learning_rate));
}

inline Result<Population> Population::create(const Network& base, View<uint64_t> shape, std::string_view config,
    const loom_compute_options& compute) {
  loom_handle population = 0;
  return detail::finish<Population>(detail::is_same_abi() ? loom_population_create(base.get(), shape.data(),
      shape.size(), config.data(), config.size(), &compute, &population) : LOOM_UNSUPPORTED,
          [&] { return Population(population); });
}

inline Result<View<uint64_t>> Population::ask() const {
  const uint64_t* places = nullptr;
  std::size_t places_count = 0;
  return detail::finish<View<uint64_t>>(loom_population_ask(get(), &places, &places_count),
      [&] { return View<uint64_t>(places, places_count); });
}

inline Result<Network> Population::network(uint64_t place) const {
  loom_handle network = 0;
  return detail::finish<Network>(loom_population_network(get(), place, &network), [&] { return Network(network); });
}

inline Result<Blob> Population::tell(View<double> fitness) const {
  loom_handle report = 0;
  return detail::finish<Blob>(loom_population_tell(get(), fitness.data(), fitness.size(), &report),
      [&] { return Blob(report); });
}

inline Result<Network> Population::best() const {
  loom_handle network = 0;
  return detail::finish<Network>(loom_population_best(get(), &network), [&] { return Network(network); });
}

inline Result<Blob> Population::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_population_info(get(), &info), [&] { return Blob(info); });
}

inline Result<Blob> Population::snapshot() const {
  loom_handle bytes = 0;
  return detail::finish<Blob>(loom_population_snapshot(get(), &bytes), [&] { return Blob(bytes); });
}

inline Result<Population> Population::restore(std::string_view bytes, View<uint64_t> shape, std::string_view config,
    const loom_compute_options& compute) {
  loom_handle population = 0;
  return detail::finish<Population>(detail::is_same_abi() ? loom_population_restore(bytes.data(), bytes.size(),
      shape.data(), shape.size(), config.data(), config.size(), &compute, &population) : LOOM_UNSUPPORTED,
          [&] { return Population(population); });
}

inline Result<Replica> Replica::create(std::string_view config, const loom_training_options& options) {
  loom_handle replica = 0;
  return detail::finish<Replica>(detail::is_same_abi() ? loom_replica_create(config.data(), config.size(), &options,
      &replica) : LOOM_UNSUPPORTED, [&] { return Replica(replica); });
}

inline Result<void> Replica::begin(uint64_t epoch, uint64_t position, uint64_t step, double loss_scale,
    std::string_view masters) const {
  return detail::finish(loom_replica_begin(get(), epoch, position, step, loss_scale, masters.data(), masters.size()));
}

inline Result<std::tuple<double, Blob>> Replica::sum(uint64_t first, uint64_t count) const {
  double loss{};
  loom_handle gradients = 0;
  return detail::finish<std::tuple<double, Blob>>(loom_replica_sum(get(), first, count, &loss, &gradients),
      [&] { return std::tuple<double, Blob>(loss, Blob(gradients)); });
}

inline Result<Blob> Replica::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_replica_info(get(), &info), [&] { return Blob(info); });
}

inline Result<Graph> Graph::open(const std::string& path, const loom_graph_options& options) {
  loom_handle graph = 0;
  return detail::finish<Graph>(detail::is_same_abi() ? loom_graph_open(path.c_str(), &options,
      &graph) : LOOM_UNSUPPORTED, [&] { return Graph(graph); });
}

inline Result<Graph> Graph::from_memory(std::string_view data, const loom_graph_options& options) {
  loom_handle graph = 0;
  return detail::finish<Graph>(detail::is_same_abi() ? loom_graph_from_memory(data.data(), data.size(), &options,
      &graph) : LOOM_UNSUPPORTED, [&] { return Graph(graph); });
}

inline Result<Blob> Graph::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_graph_info(get(), &info), [&] { return Blob(info); });
}

inline Result<GraphSession> GraphSession::create(const Graph& graph, const loom_compute_options& options) {
  loom_handle session = 0;
  return detail::finish<GraphSession>(detail::is_same_abi() ? loom_graph_session_create(graph.get(), &options,
      &session) : LOOM_UNSUPPORTED, [&] { return GraphSession(session); });
}

inline Result<void> GraphSession::bind(const char* name, const loom_tensor& input) const {
  return detail::finish(loom_graph_session_bind(get(), name, &input));
}

inline Result<void> GraphSession::unbind() const {
  return detail::finish(loom_graph_session_unbind(get()));
}

inline Result<void> GraphSession::run(const Cancel& cancel) const {
  return detail::finish(loom_graph_session_run(get(), cancel.get()));
}

inline Result<loom_tensor> GraphSession::output(const char* name) const {
  auto output = sized<loom_tensor>();
  return detail::finish<loom_tensor>(loom_graph_session_output(get(), name, &output), [&] { return output; });
}

inline Result<void> GraphSession::copy_output(const char* output, uint8_t* to, size_t to_count) const {
  return detail::finish(loom_graph_session_copy_output(get(), output, to, to_count));
}

inline Result<Blob> GraphSession::hash() const {
  loom_handle hash = 0;
  return detail::finish<Blob>(loom_graph_session_hash(get(), &hash), [&] { return Blob(hash); });
}

inline Result<Blob> GraphSession::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_graph_session_info(get(), &info), [&] { return Blob(info); });
}

inline Result<Blob> Encoder::receipt() const {
  loom_handle receipt = 0;
  return detail::finish<Blob>(loom_encoder_receipt(get(), &receipt), [&] { return Blob(receipt); });
}

inline Result<Encoder> Encoder::open(const std::string& path, const loom_encoder_options& options) {
  loom_handle encoder = 0;
  return detail::finish<Encoder>(detail::is_same_abi() ? loom_encoder_open(path.c_str(), &options,
      &encoder) : LOOM_UNSUPPORTED, [&] { return Encoder(encoder); });
}

inline Result<Blob> Encoder::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_encoder_info(get(), &info), [&] { return Blob(info); });
}

inline Result<Tokenizer> Encoder::tokenizer() const {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(loom_encoder_tokenizer(get(), &tokenizer), [&] { return Tokenizer(tokenizer); });
}

inline Result<std::tuple<loom_tensor, View<uint64_t>>> Encoder::embed(View<const char*> texts,
    const Cancel& cancel) const {
  auto vectors = sized<loom_tensor>();
  const uint64_t* tokens = nullptr;
  std::size_t tokens_count = 0;
  return detail::finish<std::tuple<loom_tensor, View<uint64_t>>>(loom_encoder_embed(get(), texts.data(),
      texts.size(), cancel.get(), &vectors, &tokens, &tokens_count), [&] { return std::tuple<loom_tensor,
          View<uint64_t>>(vectors, View<uint64_t>(tokens, tokens_count)); });
}

inline Result<Adaptation> Adaptation::create(double window_ms, double total_ms, const std::string& task) {
  loom_handle adaptation = 0;
  return detail::finish<Adaptation>(detail::is_same_abi() ? loom_adaptation_create(window_ms, total_ms, task.c_str(),
      &adaptation) : LOOM_UNSUPPORTED, [&] { return Adaptation(adaptation); });
}

inline Result<void> Adaptation::record(bool correct) const {
  return detail::finish(loom_adaptation_record(get(), correct ? 1 : 0));
}

inline Result<void> Adaptation::mark(const std::string& task) const {
  return detail::finish(loom_adaptation_mark(get(), task.c_str()));
}

inline Result<Blob> Adaptation::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_adaptation_info(get(), &info), [&] { return Blob(info); });
}

inline Result<void> Layer::kind_register(std::string_view description, const loom_kind_callbacks& callbacks) {
  return detail::finish(loom_layer_kind_register(description.data(), description.size(), &callbacks));
}

inline Result<void> Layer::kind_unregister(const std::string& name) {
  return detail::finish(loom_layer_kind_unregister(name.c_str()));
}

inline Result<double> Layer::setting(const std::string& key) const {
  double value{};
  return detail::finish<double>(loom_layer_setting(get(), key.c_str(), &value), [&] { return value; });
}

inline Result<void> Layer::declare_weight(const std::string& name, View<uint64_t> extents, const char* init,
    double size) const {
  return detail::finish(loom_layer_declare_weight(get(), name.c_str(), extents.data(), extents.size(), init, size));
}

inline Result<uint64_t> Layer::input() const {
  uint64_t x{};
  return detail::finish<uint64_t>(loom_layer_input(get(), &x), [&] { return x; });
}

inline Result<void> Layer::result(uint64_t tensor) const {
  return detail::finish(loom_layer_result(get(), tensor));
}

inline Result<void> Layer::keep(uint64_t tensor) const {
  return detail::finish(loom_layer_keep(get(), tensor));
}

inline Result<uint64_t> Layer::kept() const {
  uint64_t tensor{};
  return detail::finish<uint64_t>(loom_layer_kept(get(), &tensor), [&] { return tensor; });
}

inline Result<uint64_t> Layer::shape(uint64_t tensor, uint64_t* extents, size_t extents_count) const {
  uint64_t rank{};
  return detail::finish<uint64_t>(loom_layer_shape(get(), tensor, extents, extents_count, &rank),
      [&] { return rank; });
}

inline Result<uint64_t> Layer::matmul(uint64_t x, const std::string& weight, const char* bias) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_matmul(get(), x, weight.c_str(), bias, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::matmul_gradient(uint64_t x, uint64_t dy, const std::string& weight,
    const char* bias) const {
  uint64_t dx{};
  return detail::finish<uint64_t>(loom_layer_matmul_gradient(get(), x, dy, weight.c_str(), bias, &dx),
      [&] { return dx; });
}

inline Result<uint64_t> Layer::product(uint64_t left, bool transpose_left, uint64_t right,
    bool transpose_right) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_product(get(), left, transpose_left ? 1 : 0, right,
      transpose_right ? 1 : 0, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::add(uint64_t left, uint64_t right) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_add(get(), left, right, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::multiply(uint64_t left, uint64_t right) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_multiply(get(), left, right, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::scale(uint64_t x, double factor) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_scale(get(), x, factor, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::fill(uint64_t like, double value) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_fill(get(), like, value, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::activate(uint64_t x, const std::string& activation) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_activate(get(), x, activation.c_str(), &y), [&] { return y; });
}

inline Result<uint64_t> Layer::activate_gradient(uint64_t x, uint64_t dy, const std::string& activation) const {
  uint64_t dx{};
  return detail::finish<uint64_t>(loom_layer_activate_gradient(get(), x, dy, activation.c_str(), &dx),
      [&] { return dx; });
}

inline Result<uint64_t> Layer::gated(uint64_t gate, uint64_t up, const std::string& activation) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_gated(get(), gate, up, activation.c_str(), &y), [&] { return y; });
}

inline Result<std::tuple<uint64_t, uint64_t>> Layer::gated_gradient(uint64_t gate, uint64_t up, uint64_t dy,
    const std::string& activation) const {
  uint64_t dgate{};
  uint64_t dup{};
  return detail::finish<std::tuple<uint64_t, uint64_t>>(loom_layer_gated_gradient(get(), gate, up, dy,
      activation.c_str(), &dgate, &dup), [&] { return std::tuple<uint64_t, uint64_t>(dgate, dup); });
}

inline Result<uint64_t> Layer::softmax(uint64_t x, double temperature) const {
  uint64_t p{};
  return detail::finish<uint64_t>(loom_layer_softmax(get(), x, temperature, &p), [&] { return p; });
}

inline Result<uint64_t> Layer::softmax_gradient(uint64_t p, uint64_t dy, double temperature) const {
  uint64_t dx{};
  return detail::finish<uint64_t>(loom_layer_softmax_gradient(get(), p, dy, temperature, &dx), [&] { return dx; });
}

inline Result<uint64_t> Layer::rms_norm(uint64_t x, const char* gamma, double eps) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_rms_norm(get(), x, gamma, eps, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::rms_norm_gradient(uint64_t x, uint64_t dy, const char* gamma, double eps) const {
  uint64_t dx{};
  return detail::finish<uint64_t>(loom_layer_rms_norm_gradient(get(), x, dy, gamma, eps, &dx), [&] { return dx; });
}

inline Result<uint64_t> Layer::layer_norm(uint64_t x, const char* gamma, const char* beta, double eps) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_layer_norm(get(), x, gamma, beta, eps, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::layer_norm_gradient(uint64_t x, uint64_t dy, const char* gamma, const char* beta,
    double eps) const {
  uint64_t dx{};
  return detail::finish<uint64_t>(loom_layer_layer_norm_gradient(get(), x, dy, gamma, beta, eps, &dx),
      [&] { return dx; });
}

inline Result<uint64_t> Layer::permute(uint64_t x, View<uint64_t> axes) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_permute(get(), x, axes.data(), axes.size(), &y), [&] { return y; });
}

inline Result<uint64_t> Layer::reshape(uint64_t x, View<uint64_t> extents) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_reshape(get(), x, extents.data(), extents.size(), &y),
      [&] { return y; });
}

inline Result<uint64_t> Layer::slice(uint64_t x, uint64_t axis, uint64_t first, uint64_t count) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_slice(get(), x, axis, first, count, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::pad(uint64_t x, uint64_t axis, uint64_t first, uint64_t extent) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_pad(get(), x, axis, first, extent, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::repeat(uint64_t x, uint64_t axis, uint64_t times) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_repeat(get(), x, axis, times, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::mean(uint64_t x, uint64_t axis) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_mean(get(), x, axis, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::dropout(uint64_t x, double rate, uint32_t which) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_dropout(get(), x, rate, which, &y), [&] { return y; });
}

inline Result<uint64_t> Layer::weight(const std::string& name, uint64_t like) const {
  uint64_t y{};
  return detail::finish<uint64_t>(loom_layer_weight(get(), name.c_str(), like, &y), [&] { return y; });
}

inline Result<void> Layer::add_gradient(const std::string& name, uint64_t tensor) const {
  return detail::finish(loom_layer_add_gradient(get(), name.c_str(), tensor));
}

inline Result<Blob> Layer::kind_tiles(const std::string& kind, const std::string& dtype, const char* isa) {
  loom_handle sizes = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_layer_kind_tiles(kind.c_str(), dtype.c_str(), isa,
      &sizes) : LOOM_UNSUPPORTED, [&] { return Blob(sizes); });
}

inline Result<Judge> Judge::create(std::string_view config, const loom_evolution_options& options) {
  loom_handle judge = 0;
  return detail::finish<Judge>(detail::is_same_abi() ? loom_judge_create(config.data(), config.size(), &options,
      &judge) : LOOM_UNSUPPORTED, [&] { return Judge(judge); });
}

inline Result<View<double>> Judge::fitness(std::string_view network) const {
  const double* numbers = nullptr;
  std::size_t numbers_count = 0;
  return detail::finish<View<double>>(loom_judge_fitness(get(), network.data(), network.size(), &numbers,
      &numbers_count), [&] { return View<double>(numbers, numbers_count); });
}

inline Result<Blob> Judge::info() const {
  loom_handle info = 0;
  return detail::finish<Blob>(loom_judge_info(get(), &info), [&] { return Blob(info); });
}

// Returns the version, "0.1.0".
inline const char* version() { return loom_version(); }

// Returns the LOOM_ABI_VERSION of the library. A program that was compiled with another one must not call other
// functions.
inline loom_abi library_abi_version() { return loom_library_abi_version(); }

// Returns the name of a reason that a generation ended for, as files and receipts have it: eos, stop, length, context
// or cancelled; "" for STOP_NOT_YET and for a number that is none.
inline const char* stop_name(int32_t stop) { return loom_stop_name(stop); }

// Returns the name of a reason that a training ended for, as the stop_reason of outcomes, journals and reports:
// finished, early_stop, stopped or diverged; "" for TRAINING_STOP_NOT_YET and for a number that is none.
inline const char* training_stop_name(int32_t stop) { return loom_training_stop_name(stop); }

// Returns the name of a status, "Busy"; "Unknown" for a number that is none.
inline const char* status_name(int32_t status) { return loom_status_name(status); }

// Gives the version of the arithmetic: results of equal versions have equal bits.
inline Result<uint32_t> numerics_version() {
  uint32_t version{};
  return detail::finish<uint32_t>(loom_numerics_version(&version), [&] { return version; });
}

// Gives a JSON object: version, CPU, instruction sets, cores.
inline Result<Blob> system_info() {
  loom_handle info = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_system_info(&info) : LOOM_UNSUPPORTED, [&] { return Blob(info); });
}

// Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
// Takes seconds. (compute: thread_count and isa; NULL: defaults)
inline Result<Blob> verify(const loom_compute_options& compute = sized<loom_compute_options>()) {
  loom_handle digest = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_verify(&compute, &digest) : LOOM_UNSUPPORTED, [&] { return Blob(digest); });
}

// Gives a JSON object with the graphics cards that options can name in their field device: adapters, each with device
// ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the reason in one line where there is none.
// With the suffix :fast (gpu:0:fast) a card or auto need not be exact: its results differ from those of other devices
// (docs/guide/gpu.md).
inline Result<Blob> gpu_report() {
  loom_handle report = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_gpu_report(&report) : LOOM_UNSUPPORTED, [&] { return Blob(report); });
}

// Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix of such rows, and
// decoded. (columns: of a row; 0: all are one row; to: as many)
inline Result<void> dtype_simulate(View<float> values, uint64_t columns, const std::string& dtype, float* to, size_t to_count) {
  return detail::finish(loom_dtype_simulate(values.data(), values.size(), columns, dtype.c_str(), to, to_count));
}

// Gives what the handle stands for.
inline Result<loom_kind> kind_of(loom_handle handle) {
  loom_kind kind{};
  return detail::finish<loom_kind>(loom_kind_of(handle, &kind), [&] { return kind; });
}

// Reports every call that fails (LOOM_LOG_ERROR), and every lost graphics card whose work continues on the CPU
// (LOOM_LOG_INFO), to the host, on the thread of the call. The hook may call other functions; their failures are not
// reported.
inline Result<void> set_log(loom_on_log log, void* user) {
  return detail::finish(loom_set_log(log, user));
}

// Takes the memory of tensors from the host: weights, activations, keys and values. Memory goes back to the functions
// that gave it. Both functions are called from several threads at once.
inline Result<void> set_memory(loom_allocate_memory allocate, loom_free_memory free, void* user) {
  return detail::finish(loom_set_memory(allocate, free, user));
}

// Reports a broken invariant of the library to the host before the process ends.
inline Result<void> set_fatal(loom_on_fatal fatal, void* user) {
  return detail::finish(loom_set_fatal(fatal, user));
}

// Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The outcome is a JSON
// object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0: the config names one;
// samples: in place of the config's data; NULL: it names files; validation: in place of the config's own)
inline Result<Blob> training_run(std::string_view config, const Network& network = {}, const loom_batch& samples = sized<loom_batch>(), const loom_batch& validation = sized<loom_batch>(), const loom_training_options& options = sized<loom_training_options>()) {
  loom_handle outcome = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_training_run(config.data(), config.size(), network.get(), detail::given(samples), detail::given(validation), &options, &outcome) : LOOM_UNSUPPORTED, [&] { return Blob(outcome); });
}

// Like loom_training_run(), for a config file.
inline Result<Blob> training_run_file(const std::string& path, const loom_training_options& options = sized<loom_training_options>()) {
  loom_handle outcome = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_training_run_file(path.c_str(), &options, &outcome) : LOOM_UNSUPPORTED, [&] { return Blob(outcome); });
}

// Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the first line that
// differs. (path: a run's folder, or its journal)
inline Result<Blob> training_replay(const std::string& path, const loom_training_options& options = sized<loom_training_options>()) {
  loom_handle report = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_training_replay(path.c_str(), &options, &report) : LOOM_UNSUPPORTED, [&] { return Blob(report); });
}

// Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers inside containers too)
inline Result<Blob> dna_extract(const Network& network, bool nested) {
  loom_handle dna = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_dna_extract(network.get(), nested ? 1 : 0, &dna) : LOOM_UNSUPPORTED, [&] { return Blob(dna); });
}

// Compares two networks layer by layer, a JSON object: overlaps, logic shifts, layers of one alone.
inline Result<Blob> dna_compare(const Network& first, const Network& second, bool nested) {
  loom_handle comparison = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_dna_compare(first.get(), second.get(), nested ? 1 : 0, &comparison) : LOOM_UNSUPPORTED, [&] { return Blob(comparison); });
}

// Gives that as a picture, SVG.
inline Result<Blob> dna_draw(const Network& first, const Network& second, bool nested) {
  loom_handle svg = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_dna_draw(first.get(), second.get(), nested ? 1 : 0, &svg) : LOOM_UNSUPPORTED, [&] { return Blob(svg); });
}

// Runs a whole evolution by a config in JSON. The outcome is a JSON object.
inline Result<Blob> evolution_run(std::string_view config, const loom_evolution_options& options = sized<loom_evolution_options>()) {
  loom_handle outcome = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_evolution_run(config.data(), config.size(), &options, &outcome) : LOOM_UNSUPPORTED, [&] { return Blob(outcome); });
}

// Like loom_evolution_run(), for a config file.
inline Result<Blob> evolution_run_file(const std::string& path, const loom_evolution_options& options = sized<loom_evolution_options>()) {
  loom_handle outcome = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_evolution_run_file(path.c_str(), &options, &outcome) : LOOM_UNSUPPORTED, [&] { return Blob(outcome); });
}

// Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object: assignment, the
// cluster of each point, centres, iterations, converged. (points: row-major, one point after the other; count: of
// points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart (k-means++); 0: drawn points;
// seed: of the draws)
inline Result<Blob> points_cluster(View<double> points, uint64_t count, uint64_t clusters, uint64_t max_iterations, bool plus_plus, uint64_t seed) {
  loom_handle result = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_points_cluster(points.data(), points.size(), count, clusters, max_iterations, plus_plus ? 1 : 0, seed, &result) : LOOM_UNSUPPORTED, [&] { return Blob(result); });
}

// Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own cluster than to the
// next one. (points: row-major, one point after the other; count: of points; assignment: the cluster of each point;
// at least two clusters)
inline Result<double> points_silhouette(View<double> points, uint64_t count, View<uint64_t> assignment) {
  double value{};
  return detail::finish<double>(loom_points_silhouette(points.data(), points.size(), count, assignment.data(), assignment.size(), &value), [&] { return value; });
}

// Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of lists of points,
// in order of their first ones. (points: row-major, one point after the other; count: of points; threshold: 0 to 2)
inline Result<Blob> points_group(View<double> points, uint64_t count, double threshold) {
  loom_handle groups = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_points_group(points.data(), points.size(), count, threshold, &groups) : LOOM_UNSUPPORTED, [&] { return Blob(groups); });
}

// Finds models that complete each other: pairs whose cases that one of them gets right are at least such a part of
// all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of loom_matches_similarity().
// (right: a byte per case, 0 or 1, model by model)
inline Result<Blob> matches_find(std::string_view right, uint64_t models, double min_coverage) {
  loom_handle matches = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_matches_find(right.data(), right.size(), models, min_coverage, &matches) : LOOM_UNSUPPORTED, [&] { return Blob(matches); });
}

// Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same ones right, 0 where
// they have none in common. (first: a byte per case, 0 or 1; second: as many)
inline Result<double> matches_similarity(std::string_view first, std::string_view second) {
  double cosine{};
  return detail::finish<double>(loom_matches_similarity(first.data(), first.size(), second.data(), second.size(), &cosine), [&] { return cosine; });
}

// Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors: lists the tensors of a
// language model)
inline Result<Blob> file_inspect(const std::string& path, bool tensors) {
  loom_handle facts = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_file_inspect(path.c_str(), tensors ? 1 : 0, &facts) : LOOM_UNSUPPORTED, [&] { return Blob(facts); });
}

// Writes a GGUF file with the matrices of another one in a type, whole or not at all.
inline Result<Blob> file_quantize(const std::string& from, const std::string& to, const std::string& dtype, const loom_file_convert_options& options = sized<loom_file_convert_options>()) {
  loom_handle report = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_file_quantize(from.c_str(), to.c_str(), dtype.c_str(), &options, &report) : LOOM_UNSUPPORTED, [&] { return Blob(report); });
}

// Writes a language model of any format as .entity, whole or not at all.
inline Result<Blob> file_convert(const std::string& from, const std::string& to, const loom_file_convert_options& options = sized<loom_file_convert_options>()) {
  loom_handle report = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_file_convert(from.c_str(), to.c_str(), &options, &report) : LOOM_UNSUPPORTED, [&] { return Blob(report); });
}

// Gives the JSON Schema of a file that Loom reads.
inline Result<Blob> file_schema(loom_schema_kind file) {
  loom_handle json = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_file_schema(file, &json) : LOOM_UNSUPPORTED, [&] { return Blob(json); });
}

// Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model (GGUF, a Hugging
// Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity). loom_kind_of() gives the
// kind of the handle. The report is a JSON object: kind, format, where each tensor of a bare file went, warnings.
inline Result<std::tuple<detail::Owner, Blob>> file_open(const std::string& path, const loom_file_open_options& options = sized<loom_file_open_options>()) {
  loom_handle object = 0;
  loom_handle report = 0;
  return detail::finish<std::tuple<detail::Owner, Blob>>(detail::is_same_abi() ? loom_file_open(path.c_str(), &options, &object, &report) : LOOM_UNSUPPORTED, [&] { return std::tuple<detail::Owner, Blob>(detail::Owner(object), Blob(report)); });
}

// Writes what one file holds as another: a network as .onnx or .safetensors, a language model as .gguf or as a
// Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot express. The report is a
// JSON object: format, bytes, tensors or nodes, SHA-256.
inline Result<Blob> file_export(const std::string& from, const std::string& to, const loom_file_export_options& options = sized<loom_file_export_options>()) {
  loom_handle report = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_file_export(from.c_str(), to.c_str(), &options, &report) : LOOM_UNSUPPORTED, [&] { return Blob(report); });
}

// Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an .entity, as text: 64
// hexadecimal digits. A file that has not changed since is not read again.
inline Result<Blob> file_hash(const std::string& path) {
  loom_handle hash = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_file_hash(path.c_str(), &hash) : LOOM_UNSUPPORTED, [&] { return Blob(hash); });
}

// Computes what a receipt names again and compares: a JSON object with command, model, equal, difference (the first
// one, or null), hash, and the isa and device that were used: those of the receipt where this machine has them.
// (model: where the model is now; NULL: as in the receipt; folder: where relative paths start; NULL: the working
// folder; device: as in the options of a session; NULL: that of the receipt, else cpu)
inline Result<Blob> receipt_replay(std::string_view receipt, const char* model = nullptr, const char* folder = nullptr, const char* device = nullptr, const Cancel& cancel = {}) {
  loom_handle report = 0;
  return detail::finish<Blob>(detail::is_same_abi() ? loom_receipt_replay(receipt.data(), receipt.size(), model, folder, device, cancel.get(), &report) : LOOM_UNSUPPORTED, [&] { return Blob(report); });
}

// Names of the specification (engine C-14) whose functions exist.
using VolumetricNetwork = Network;
inline constexpr auto VolumetricLayer = [](const Network& self, auto&&... given) {
  return self.layer(std::forward<decltype(given)>(given)...);
};
inline constexpr auto GetIndex = [](const Network& self, auto&&... given) {
  return self.index(std::forward<decltype(given)>(given)...);
};
inline constexpr auto WeightStore = [](const Network& self, auto&&... given) {
  return self.weight_codes(std::forward<decltype(given)>(given)...);
};
inline constexpr auto Morph = [](const Network& self, auto&&... given) {
  return self.morph(std::forward<decltype(given)>(given)...);
};
inline constexpr auto SimulatePrecision = [](auto&&... given) {
  return dtype_simulate(std::forward<decltype(given)>(given)...);
};
inline constexpr auto DenseForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto RMSNormForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto LayerNormForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto MHAForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto SoftmaxForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto SwiGLUForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto EmbeddingForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ResidualForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto KMeansForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto RNNForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto LSTMForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto CNN1ForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto CNN2ForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto CNN3ForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ConvTransposed1DForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ConvTransposed2DForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ConvTransposed3DForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ParallelForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto SequentialForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto MetacognitionForwardPolymorphic = [](const NetworkSession& self, auto&&... given) {
  return self.forward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ExtractDNA = [](auto&&... given) {
  return dna_extract(std::forward<decltype(given)>(given)...);
};
inline constexpr auto CompareNetworks = [](auto&&... given) {
  return dna_compare(std::forward<decltype(given)>(given)...);
};
inline constexpr auto LayerSignature = [](auto&&... given) {
  return dna_extract(std::forward<decltype(given)>(given)...);
};
inline constexpr auto NetworkDNA = [](auto&&... given) {
  return dna_extract(std::forward<decltype(given)>(given)...);
};
inline constexpr auto LogicShift = [](auto&&... given) {
  return dna_compare(std::forward<decltype(given)>(given)...);
};
inline constexpr auto UniversalLoader = [](auto&&... given) {
  return file_open(std::forward<decltype(given)>(given)...);
};
inline constexpr auto PrefixWeightMapper = [](auto&&... given) {
  return file_open(std::forward<decltype(given)>(given)...);
};
inline constexpr auto FindComplementaryMatches = [](auto&&... given) {
  return matches_find(std::forward<decltype(given)>(given)...);
};
inline constexpr auto PolyObserver = [](const NetworkSession& self, auto&&... given) {
  return self.watch(std::forward<decltype(given)>(given)...);
};
inline constexpr auto AggregatingObserver = [](const NetworkSession& self, auto&&... given) {
  return self.watch_windows(std::forward<decltype(given)>(given)...);
};
using AdaptationTracker = Adaptation;
inline constexpr auto SystemAudit = [](auto&&... given) {
  return system_info(std::forward<decltype(given)>(given)...);
};
inline constexpr auto GetHardwareInfo = [](auto&&... given) {
  return system_info(std::forward<decltype(given)>(given)...);
};
inline constexpr auto CalculateOptimalTileSize = [](auto&&... given) {
  return Layer::kind_tiles(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ArchConfig = [](auto&&... given) {
  return Network::from_arch(std::forward<decltype(given)>(given)...);
};
inline constexpr auto SystolicForward = [](const StepMesh& self, auto&&... given) {
  return self.step(std::forward<decltype(given)>(given)...);
};
inline constexpr auto CommitSystolicState = [](const StepMesh& self, auto&&... given) {
  return self.step(std::forward<decltype(given)>(given)...);
};
using TargetPropState = Tween;
inline constexpr auto CalculateTargetPropGaps = [](const Tween& self, auto&&... given) {
  return self.backward(std::forward<decltype(given)>(given)...);
};
inline constexpr auto ApplyTargetPropGaps = [](const Tween& self, auto&&... given) {
  return self.apply(std::forward<decltype(given)>(given)...);
};
inline constexpr auto LinkBudget = [](const Tween& self, auto&&... given) {
  return self.budgets(std::forward<decltype(given)>(given)...);
};

#ifdef LOOM_NO_EXCEPTIONS
}  // namespace api_results
#else
}  // namespace api
#endif
}  // namespace loom
