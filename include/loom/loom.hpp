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

// Values that lie one behind the other in memory of somebody else.
template <class T>
class View {
 public:
  View() = default;
  View(const T* data, std::size_t size) : data_(data), size_(size) {}
  View(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {}
  View(std::initializer_list<T> values) : data_(values.begin()), size_(values.size()) {}  // for the time of a call
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

namespace detail {

#ifdef LOOM_NO_EXCEPTIONS
template <class T, class Make>
Result<T> finish(loom_status status, Make&& make) {
  if (status != LOOM_OK) return Error(status, loom_last_error());
  return make();
}
inline Result<void> finish(loom_status status) {
  return status == LOOM_OK ? Result<void>() : Result<void>(Error(status, loom_last_error()));
}
#else
inline void finish(loom_status status) {
  if (status != LOOM_OK) throw Error(status, loom_last_error());
}
template <class T, class Make>
T finish(loom_status status, Make&& make) {
  finish(status);
  return make();
}
#endif

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
class Blob;
class Threads;
class Tokenizer;
class Model;
class Session;
class Generator;

// A flag that ends one long call from another thread.
class Cancel : public detail::Owner {
 public:
  using Owner::Owner;

  // Makes a flag that is not set.
  static Result<Cancel> create();

  // Sets or clears the flag, from any thread.
  Result<void> set(bool set) const;
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

  // Gives a JSON object: path, format, sizes, context, special tokens, what is missing.
  Result<Blob> info() const;

  // Gives the model's tokenizer; NOT_FOUND, or why it cannot be read.
  Result<Tokenizer> tokenizer() const;

  // Writes messages as the model's chat template has them: a JSON list of objects with role and content.
  Result<Blob> render_chat(std::string_view messages, bool add_generation_prompt) const;
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
};

// One generation, step by step, over one session.
class Generator : public detail::Owner {
 public:
  using Owner::Owner;

  // Prepares a generation behind what the sequence holds and the given ids. Nothing is read yet.
  static Result<Generator> create(const Session& session, View<int32_t> prompt,
      const loom_generation_options& options = sized<loom_generation_options>());

  // The same of a text.
  static Result<Generator> from_text(const Session& session, std::string_view text, loom_prompt_form form,
      const loom_generation_options& options = sized<loom_generation_options>());

  // Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text has settled. At
  // the end it does nothing.
  Result<loom_step> next(const Cancel& cancel = {}) const;

  // Gives the generation so far.
  Result<loom_generation> result() const;
};

inline Result<Cancel> Cancel::create() {
  loom_handle cancel = 0;
  return detail::finish<Cancel>(loom_cancel_create(&cancel), [&] { return Cancel(cancel); });
}

inline Result<void> Cancel::set(bool set) const {
  return detail::finish(loom_cancel_set(get(), set ? 1 : 0));
}

inline Result<Threads> Threads::create(int32_t count) {
  loom_handle threads = 0;
  return detail::finish<Threads>(loom_threads_create(count, &threads), [&] { return Threads(threads); });
}

inline Result<Threads> Threads::from_host(int32_t count, loom_run_work run, void* user) {
  loom_handle threads = 0;
  return detail::finish<Threads>(loom_threads_from_host(count, run, user, &threads),
      [&] { return Threads(threads); });
}

inline Result<Tokenizer> Tokenizer::open(const std::string& path) {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(loom_tokenizer_open(path.c_str(), &tokenizer),
      [&] { return Tokenizer(tokenizer); });
}

inline Result<Tokenizer> Tokenizer::from_json(std::string_view json) {
  loom_handle tokenizer = 0;
  return detail::finish<Tokenizer>(loom_tokenizer_from_json(json.data(), json.size(), &tokenizer),
      [&] { return Tokenizer(tokenizer); });
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
  return detail::finish<Model>(loom_model_open(path.c_str(), &options, &model), [&] { return Model(model); });
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

inline Result<Session> Session::create(const Model& model, const loom_session_options& options) {
  loom_handle session = 0;
  return detail::finish<Session>(loom_session_create(model.get(), &options, &session),
      [&] { return Session(session); });
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

inline Result<Generator> Generator::create(const Session& session, View<int32_t> prompt,
    const loom_generation_options& options) {
  loom_handle generator = 0;
  return detail::finish<Generator>(loom_generator_create(session.get(), prompt.data(), prompt.size(), &options,
      &generator), [&] { return Generator(generator); });
}

inline Result<Generator> Generator::from_text(const Session& session, std::string_view text, loom_prompt_form form,
    const loom_generation_options& options) {
  loom_handle generator = 0;
  return detail::finish<Generator>(loom_generator_from_text(session.get(), text.data(), text.size(), form, &options,
      &generator), [&] { return Generator(generator); });
}

inline Result<loom_step> Generator::next(const Cancel& cancel) const {
  auto step = sized<loom_step>();
  return detail::finish<loom_step>(loom_generator_next(get(), cancel.get(), &step), [&] { return step; });
}

inline Result<loom_generation> Generator::result() const {
  auto result = sized<loom_generation>();
  return detail::finish<loom_generation>(loom_generator_result(get(), &result), [&] { return result; });
}

// Returns the version, "0.1.0".
inline const char* version() { return loom_version(); }

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
  return detail::finish<Blob>(loom_system_info(&info), [&] { return Blob(info); });
}

// Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on every machine.
// Takes seconds. (isa: an instruction set by name; NULL: the best one; threads: 0: one per physical core)
inline Result<Blob> verify(const char* isa, int32_t threads) {
  loom_handle digest = 0;
  return detail::finish<Blob>(loom_verify(isa, threads, &digest), [&] { return Blob(digest); });
}

// Gives what the handle stands for.
inline Result<loom_kind> kind_of(loom_handle handle) {
  loom_kind kind{};
  return detail::finish<loom_kind>(loom_kind_of(handle, &kind), [&] { return kind; });
}

// The words of the mission (engine C-14), for those that are there.
inline constexpr auto SystemAudit = [](auto&&... given) {
  return system_info(std::forward<decltype(given)>(given)...);
};
inline constexpr auto GetHardwareInfo = [](auto&&... given) {
  return system_info(std::forward<decltype(given)>(given)...);
};

#ifdef LOOM_NO_EXCEPTIONS
}  // namespace api_results
#else
}  // namespace api
#endif
}  // namespace loom
