#pragma once
// Who chooses the arguments of capi_calls.inc: nothing at all, valid things but for the handles, or what bytes say.

#include <loom/loom.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace loom_calls {

template <class T>
struct Block {
  T* data = nullptr;
  std::size_t size = 0;
};
template <class T>
struct ViewTo {
  const T** data = nullptr;
  std::size_t* size = nullptr;
};

// Memory of exact sizes, so that a sanitizer sees the first byte beyond; it lasts as long as this, since a session may
// read what was bound to it in a later call.
class Memory {
 public:
  template <class T>
  T* take(std::size_t count) {
    blocks_.push_back(std::make_unique<unsigned char[]>(count * sizeof(T)));
    return reinterpret_cast<T*>(blocks_.back().get());
  }
  template <class T>
  Block<const T> copy(const T* from, std::size_t count) {
    T* const to = take<T>(count);
    if (count > 0) std::memcpy(to, from, count * sizeof(T));
    return {to, count};
  }
  const char* text(std::string_view from) { return copy(std::string(from).c_str(), from.size() + 1).data; }

 private:
  std::vector<std::unique_ptr<unsigned char[]>> blocks_;
};

// Defaults of the choosers: nothing.
struct NoArguments {
  loom_handle handle(const char*, loom_kind, bool) { return 0; }
  Block<const loom_handle> handles(const char*, loom_kind) { return {}; }
  template <class T>
  T number(const char*) {
    return {};
  }
  std::int32_t choice(const char*) { return 0; }
  const char* text(const char*, bool) { return nullptr; }
  Block<const void> bytes(const char*) { return {}; }
  Block<void> memory(const char*) { return {}; }
  Block<const char* const> texts(const char*) { return {}; }
  template <class T>
  Block<const T> array(const char*) {
    return {};
  }
  template <class T>
  Block<T> into(const char*) {
    return {};
  }
  template <class T>
  ViewTo<T> view() {
    return {};
  }
  template <class T>
  T* result() {
    return nullptr;
  }
  template <class S>
  S* result_struct() {
    return nullptr;
  }
  template <class S>
  S* given_struct(bool) {
    return nullptr;
  }
  bool fills() const { return false; }
  void* user() { return nullptr; }
  template <class F>
  F callback() {
    return nullptr;
  }
  void took(loom_handle) {}
  template <class T>
  void saw(const T*, std::size_t) {}
  void said(const char*) {}
};

// Documents that the functions take, and words for texts.
inline constexpr std::string_view kDocuments[] = {
    R"([{"role":"user","content":"Hi"}])",
    R"({"seed":7,"input_shape":[4],"layers":[{"type":"dense","input_height":4,)"
    R"("output_height":6,"activation":"relu"},{"type":"dense","input_height":6,"output_height":3}]})",
    R"({"seed":3,"input_shape":[3,4],"layers":[{"type":"lstm","input_size":4,"hidden_size":5},)"
    R"({"type":"rmsnorm","features":5}]})",
    R"({"dtype":"float64","input_shape":[4],"layers":[{"type":"dense","input_height":4,"output_height":2}]})",
    R"({"loss":"mse","optimizer":"adam","learning_rate":0.01})",
    R"({"loss":"softmax_crossentropy","optimizer":"sgd","clip_norm":1})",
    R"({"type":"dense","input_height":4,"output_height":6})",
    "Once upon a time",
    "{}",
    "[",
};
inline constexpr const char* kWords[] = {"",        "float32", "int8",   "q4_1",     "layers.0", "layers.0.weight",
                                         "concat",  "add",     "scalar", "bfloat16", "float64",  "layers.1.bias",
                                         "no such", "layers"};

// Functions that take seconds whatever they are given, or that a program calls once.
inline bool is_long(std::string_view name) { return name == "verify"; }

// Objects that calls made, and some that were released: those of a test or of one input of the fuzzer. Several threads
// may share them.
class Objects {
 public:
  ~Objects() {
    for (const loom_handle handle : living_) loom_release(handle);
  }
  void add(loom_handle handle) {
    const std::scoped_lock lock(mutex_);
    living_.push_back(handle);
    if (living_.size() <= 40) return;
    loom_release(living_.front());  // the oldest goes
    stale_.push_back(living_.front());
    living_.erase(living_.begin());
  }
  // One of a kind, of any kind for none; 0 when there is no such object.
  loom_handle living(loom_kind kind, std::size_t which) { return pick(living_, kind, which); }
  loom_handle stale(loom_kind kind, std::size_t which) { return pick(stale_, kind, which); }
  void release(loom_handle handle) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::find(living_.begin(), living_.end(), handle);
    if (found == living_.end()) return;
    living_.erase(found);
    stale_.push_back(handle);
    loom_release(handle);
  }

 private:
  static loom_kind kind_of(loom_handle handle) { return static_cast<loom_kind>(handle >> 56); }
  loom_handle pick(const std::vector<loom_handle>& from, loom_kind kind, std::size_t which) {
    const std::scoped_lock lock(mutex_);
    std::vector<loom_handle> fitting;
    for (const loom_handle handle : from)
      if (kind == LOOM_KIND_NONE || kind_of(handle) == kind) fitting.push_back(handle);
    return fitting.empty() ? 0 : fitting[which % fitting.size()];
  }

  std::mutex mutex_;
  std::vector<loom_handle> living_, stale_;
};

// Chooses by bytes: mostly what makes sense, sometimes what does not.
class Chooser {
 public:
  // paths: names of files that may be read and written. private_memory: nobody else uses what calls point to, so that
  // results are read to their end.
  Chooser(const std::uint8_t* data, std::size_t size, Objects& objects, const std::vector<std::string>& paths,
          bool private_memory)
      : data_(data), size_(size), objects_(objects), paths_(paths), private_memory_(private_memory) {}

  bool at_end() const { return at_ >= size_; }
  std::size_t next() { return at_ < size_ ? data_[at_++] : 0; }
  // A byte in [0, n).
  std::size_t below(std::size_t n) { return next() % n; }
  bool rarely() { return next() % 16 == 15; }

  loom_handle handle(const char*, loom_kind kind, bool optional) {
    const std::size_t way = next();
    if (optional && way % 2 == 0) return 0;
    switch (way % 32) {
      case 31: return objects_.living(LOOM_KIND_NONE, next());  // perhaps of another kind
      case 30: return objects_.stale(kind, next());
      case 29: return number<std::uint64_t>("");
      case 28: return objects_.living(kind, next()) ^ (std::uint64_t{1} << below(64));
      case 27: return 0;
      default: return objects_.living(kind, next());
    }
  }
  Block<const loom_handle> handles(const char* name, loom_kind kind) {
    std::vector<loom_handle> out(below(4));
    for (loom_handle& h : out) h = handle(name, kind, false);
    return wrong_sometimes(memory_.copy(out.data(), out.size()));
  }
  template <class T>
  T number(const char*) {
    constexpr double kOdd[] = {0, 1, 2, 3, 4, 1e-3, 0.5, 1024, 1 << 20, 1e12, 1.8446744073709549e19, -1};
    const std::size_t way = next();
    if constexpr (std::is_floating_point_v<T>) {
      if (way == 255) return std::numeric_limits<T>::quiet_NaN();
      if (way == 254) return std::numeric_limits<T>::infinity();
      return static_cast<T>(kOdd[way % std::size(kOdd)]);
    } else {
      if (way == 255) return std::numeric_limits<T>::max();
      if (way == 254) return std::numeric_limits<T>::min();
      if (way == 253) return static_cast<T>(std::uint64_t{1} << below(64));
      return static_cast<T>(way % 8);
    }
  }
  std::int32_t choice(const char*) { return rarely() ? number<std::int32_t>("") : static_cast<std::int32_t>(below(3)); }
  const char* text(const char* name, bool optional) {
    if (optional && next() % 2 == 0) return nullptr;
    if (rarely()) return nullptr;
    const std::string_view called(name);
    if (called == "path" || called == "folder" || called == "file" || called == "output")
      return memory_.text(paths_[below(paths_.size())]);
    return memory_.text(kWords[below(std::size(kWords))]);
  }
  Block<const void> bytes(const char*) {
    const std::size_t way = next();
    Block<const char> out;
    if (way % 4 != 3) {
      const std::string_view document = kDocuments[way / 4 % std::size(kDocuments)];
      out = memory_.copy(document.data(), document.size());
    } else {  // the bytes of a blob, as of a snapshot, or some of the input, changed in a place
      std::vector<char> some;
      const void* from = nullptr;
      std::size_t n = 0;
      if (private_memory_ && loom_blob_view(objects_.living(LOOM_KIND_BLOB, next()), &from, &n) == LOOM_OK)
        some.assign(static_cast<const char*>(from), static_cast<const char*>(from) + n);
      else
        for (std::size_t i = below(64); i > 0; --i) some.push_back(static_cast<char>(next()));
      if (!some.empty() && rarely()) some[next() * 257 % some.size()] ^= static_cast<char>(1u << below(8));
      if (!some.empty() && rarely()) some.resize(next() % some.size());
      out = memory_.copy(some.data(), some.size());
    }
    const Block<const char> given = wrong_sometimes(out);
    return {given.data, given.size};
  }
  // Float32 values of a tensor, of a size that often fits.
  Block<void> memory(const char*) {
    const std::size_t bytes = std::array<std::size_t, 8>{0, 4, 12, 16, 32, 48, 96, 400}[below(8)];
    unsigned char* const to = memory_.take<unsigned char>(bytes);
    for (std::size_t i = 3; i < bytes; i += 4) to[i] = static_cast<unsigned char>(0x3c + below(8));
    const Block<unsigned char> given = wrong_sometimes(Block<unsigned char>{to, bytes});
    return {given.data, given.size};
  }
  Block<const char* const> texts(const char* name) {
    std::vector<const char*> out(below(3));
    for (const char*& each : out) each = text(name, false);
    const auto given = wrong_sometimes(memory_.copy(out.data(), out.size()));
    return {given.data, given.size};
  }
  // Shapes and addresses, ids, values: short and small, of a length that often fits.
  template <class T>
  Block<const T> array(const char* name) {
    std::vector<T> out;
    const std::string_view called(name);
    if (called == "address")
      out.resize(4);
    else if (std::is_same_v<T, std::uint64_t>)
      out = {static_cast<T>(1 + below(3)), static_cast<T>(4)};
    else
      out.resize(std::array<std::size_t, 8>{0, 1, 3, 4, 6, 8, 12, 24}[below(8)]);
    if (!std::is_same_v<T, std::uint64_t> || rarely())
      for (T& value : out) value = number<T>(name);
    return wrong_sometimes(memory_.copy(out.data(), out.size()));
  }
  template <class T>
  Block<T> into(const char*) {
    if (rarely()) return {nullptr, next()};
    const std::size_t n = std::array<std::size_t, 8>{0, 1, 3, 6, 12, 18, 24, 100}[below(8)];
    return {memory_.take<T>(n), n};
  }
  template <class T>
  ViewTo<T> view() {
    if (rarely()) return {nullptr, memory_.take<std::size_t>(1)};
    return {memory_.take<const T*>(1), rarely() ? nullptr : memory_.take<std::size_t>(1)};
  }
  template <class T>
  T* result() {
    return rarely() ? nullptr : memory_.take<T>(1);
  }
  template <class S>
  S* result_struct() {
    return rarely() ? nullptr : sized<S>();
  }
  template <class S>
  S* given_struct(bool optional) {
    if ((optional && next() % 2 == 0) || rarely()) return nullptr;
    return sized<S>();
  }
  bool fills() { return next() % 4 != 3; }
  void* user() { return &objects_; }
  template <class F>
  F callback() {
    if constexpr (std::is_same_v<F, loom_on_progress>)
      return on_progress();
    else if constexpr (std::is_same_v<F, loom_run_work>)
      return run_work();
    else if constexpr (std::is_same_v<F, loom_on_layer>)
      return on_layer();
    else if constexpr (std::is_same_v<F, loom_on_window>)
      return on_window();
    else
      return nullptr;  // hooks hold for all threads, and longer than one program of calls
  }
  loom_on_training on_training() {
    if (next() % 2 == 0) return nullptr;
    return [](void* user, const loom_training_event* event) -> std::int32_t {
      come_back(*static_cast<Objects*>(user));
      return event->phase != LOOM_TRAINING_BATCH_END || event->epoch == 0 ? 1 : 0;
    };
  }
  loom_on_generation on_generation() {
    if (next() % 2 == 0) return nullptr;
    return [](void* user, const char* report) -> std::int32_t {
      come_back(*static_cast<Objects*>(user));
      return report[0] == '{' ? 1 : 0;
    };
  }
  loom_read_at read_at() {
    if (rarely()) return nullptr;
    return [](void* user, std::uint64_t offset, void* to, std::size_t size) -> std::int64_t {
      come_back(*static_cast<Objects*>(user));
      if (offset > 4096) return -1;
      std::memset(to, 'G', size);
      return static_cast<std::int64_t>(size);
    };
  }
  void took(loom_handle handle) { objects_.add(handle); }
  template <class T>
  void saw(const T* data, std::size_t count) {
    if (!private_memory_) return;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(data);
    unsigned sum = 0;
    std::size_t each = 1;
    if constexpr (!std::is_void_v<T>) each = sizeof(T);
    for (std::size_t i = 0; i < count * each; ++i) sum += bytes[i];
    seen_ = sum;
  }
  void said(const char* text) { seen_ = text == nullptr ? 0 : std::strlen(text); }
  // Between two calls: the host gives one back.
  void release_one() { objects_.release(objects_.living(LOOM_KIND_NONE, next())); }

 private:
  loom_on_progress on_progress() {
    if (next() % 2 == 0) return nullptr;
    return [](void* user, double fraction) -> std::int32_t {
      come_back(*static_cast<Objects*>(user));
      return fraction < 0.5 ? 1 : 0;
    };
  }
  loom_on_layer on_layer() {
    if (next() % 2 == 0) return nullptr;
    return [](void* user, const loom_layer_event* event) -> std::int32_t {
      come_back(*static_cast<Objects*>(user));
      return event->pass == LOOM_PASS_FORWARD ? 1 : event->cell == 3 ? 7 : 0;
    };
  }
  loom_on_window on_window() {
    if (next() % 2 == 0) return nullptr;
    return [](void* user, const loom_window_event* event) -> std::int32_t {
      come_back(*static_cast<Objects*>(user));
      return event->last_step < 8 ? 1 : 0;
    };
  }
  loom_run_work run_work() {
    if (rarely()) return nullptr;
    return [](void* user, loom_work work, void* job, std::int32_t workers) {
      for (std::int32_t w = workers; w-- > 0;) work(job, w);
      come_back(*static_cast<Objects*>(user));
    };
  }
  // A callback that calls again: whatever it asks for, it gets an answer.
  static void come_back(Objects& objects) {
    loom_blob out = 0;
    const float* logits = nullptr;
    std::size_t count = 0;
    const std::int32_t id = 1;
    if (loom_session_info(objects.living(LOOM_KIND_SESSION, 0), &out) == LOOM_OK) loom_release(out);
    static_cast<void>(loom_session_feed(objects.living(LOOM_KIND_SESSION, 0), 0, &id, 1, 0, &logits, &count));
    if (loom_network_info(objects.living(LOOM_KIND_NETWORK, 0), &out) == LOOM_OK) loom_release(out);
    static_cast<void>(loom_network_session_run(objects.living(LOOM_KIND_NETWORK_SESSION, 0)));
  }
  template <class S>
  S* sized() {
    S* const out = memory_.take<S>(1);
    std::uint32_t size = sizeof(S);
    if (rarely()) size = static_cast<std::uint32_t>(std::array<std::size_t, 4>{0, 3, 5, 5000}[below(4)]);
    if (rarely()) size = static_cast<std::uint32_t>(4 + below(sizeof(S) - 3));  // of an older header
    std::memcpy(static_cast<void*>(out), &size, sizeof size);
    return out;
  }
  // NULL with a count, or a shorter count.
  template <class T>
  Block<T> wrong_sometimes(Block<T> block) {
    if (rarely()) return {nullptr, next()};
    if (rarely() && block.size > 0) --block.size;
    return block;
  }

  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
  Objects& objects_;
  const std::vector<std::string>& paths_;
  bool private_memory_;
  Memory memory_;
  volatile std::size_t seen_ = 0;
};

}  // namespace loom_calls
