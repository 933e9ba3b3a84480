#pragma once
// Python values as a template sees them: immutable and counted, but for namespaces, loops and frames. Those may hold
// themselves, so the heap keeps them until the render ends and empties them then: no cycle survives, and no long chain
// of them is freed by recursion.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "core/stack_limit.h"

namespace loom::jinja {

enum class Kind : std::uint8_t {
  Missing,    // no value: an unset variable, an argument that was not given
  Undefined,  // jinja2's Undefined
  None,
  Bool,
  Int,
  BigInt,  // a JSON integer beyond int64: may be printed and compared, not computed with
  Float,
  String,
  List,
  Tuple,
  Dict,
  Keys,  // dict.keys(), dict.values(), dict.items()
  Values,
  Items,
  Range,
  Generator,  // what lazy filters return; read once
  Namespace,
  Macro,
  Loop,
  Function,
  Method,
  Cycler,
  Joiner,
};

struct Heap;

// Stack bytes of one level of a recursion over values: equal(), hash_value(), a destructor.
constexpr std::size_t kLevelBytes = 512;

struct Object {
  explicit Object(Heap& heap, std::size_t bytes);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual void clear() {}  // drops what it refers to; for retained objects
  void grow(std::size_t bytes);

  Heap* heap;
  std::size_t bytes = 0;
  std::uint32_t refs = 0;
  std::uint32_t height = 0;  // of the tallest value inside, plus one: bounds every recursion over values
};

// Memory of one render.
struct Heap {
  Heap();
  std::size_t used = 0, limit = 0;
  StackLimit stack;           // of walks over values that can say so
  std::uint32_t tallest = 0;  // values in values: bounds the walks that cannot check the stack themselves
  std::uint64_t steps = 0, max_steps = 0;
  const std::atomic<bool>* cancel = nullptr;  // may be null
  std::uint64_t next_look = 0;                // steps at which `cancel` is looked at again
  std::vector<Object*> retained;              // one reference each

  ~Heap() { release(); }
  std::size_t room() const { return used >= limit ? 0 : limit - used; }
  // LimitExceeded when `count` more steps are too many or memory has run out, Cancelled when the host said so.
  Result<void> tick(std::uint64_t count = 1) {
    steps += count;
    if (steps > max_steps || used > limit) [[unlikely]]
      return over();
    if (steps >= next_look) [[unlikely]]
      return look();
    return {};
  }
  // Work on texts that builds no value: every function pays for the bytes it looks at, or a short template could keep
  // it busy for years.
  Result<void> scan(std::size_t bytes) { return tick(bytes / 64); }    // copied, compared, searched
  Result<void> decode(std::size_t bytes) { return tick(bytes / 16); }  // read character by character
  // Counts steps where no error can be returned: false once they are used up, and the next tick raises LimitExceeded.
  bool spend(std::uint64_t count) { return (steps += count) <= max_steps; }
  // Has to be called before a value of `bytes` bytes is built.
  Result<void> reserve(std::size_t bytes);
  // Walks over values call this once a level.
  Result<void> descend() const {
    if (stack.reached()) [[unlikely]]
      return too_deep();
    return {};
  }
  Result<void> too_deep() const;
  Result<void> over() const;
  Result<void> look();
  void retain(Object& object);
  void release();
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) {
    if (p_) ++p_->refs;
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) ++p_->refs;
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && --p_->refs == 0) delete p_;
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }

 private:
  T* p_ = nullptr;
};

struct StringObject;
struct SequenceObject;
struct DictObject;

class Value {
 public:
  Value() = default;
  Value(const Value& o) : kind_(o.kind_), bits_(o.bits_) {
    if (counted()) ++bits_.object->refs;
  }
  Value(Value&& o) noexcept : kind_(o.kind_), bits_(o.bits_) { o.kind_ = Kind::Missing; }
  Value& operator=(Value o) noexcept {
    std::swap(kind_, o.kind_);
    std::swap(bits_, o.bits_);
    return *this;
  }
  ~Value() {
    if (counted() && --bits_.object->refs == 0) delete bits_.object;
  }

  static Value none() { return plain(Kind::None); }
  static Value boolean(bool b) {
    Value v = plain(Kind::Bool);
    v.bits_.integer = b;
    return v;
  }
  static Value integer(std::int64_t i) {
    Value v = plain(Kind::Int);
    v.bits_.integer = i;
    return v;
  }
  static Value number(double d) {
    Value v = plain(Kind::Float);
    v.bits_.real = d;
    return v;
  }
  static Value of(Kind kind, Object* object) {
    Value v = plain(kind);
    v.bits_.object = object;
    if (object) ++object->refs;
    return v;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool missing() const { return kind_ == Kind::Missing; }
  bool undefined() const { return kind_ == Kind::Undefined; }
  bool integral() const { return kind_ == Kind::Int || kind_ == Kind::Bool; }
  bool numeric() const { return integral() || kind_ == Kind::Float; }
  bool sequence() const { return kind_ == Kind::List || kind_ == Kind::Tuple; }
  std::int64_t i() const { return bits_.integer; }
  bool b() const { return bits_.integer != 0; }
  double f() const { return kind_ == Kind::Float ? bits_.real : static_cast<double>(bits_.integer); }
  Object* object() const { return counted() ? bits_.object : nullptr; }
  template <class T>
  T& as() const {
    return *static_cast<T*>(bits_.object);
  }
  // Strings only.
  std::string_view s() const;
  const StringObject& text() const;
  const std::vector<Value>& items() const;  // List, Tuple, views
  const DictObject& dict() const;

 private:
  static Value plain(Kind kind) {
    Value v;
    v.kind_ = kind;
    return v;
  }
  bool counted() const { return kind_ == Kind::Undefined || kind_ == Kind::BigInt || kind_ >= Kind::String; }
  Kind kind_ = Kind::Missing;
  union Bits {
    std::int64_t integer;
    double real;
    Object* object;
  } bits_{0};
};

struct StringObject final : Object {
  StringObject(Heap& heap, std::string s, bool safe);
  std::string text;
  bool markup = false;  // markupsafe.Markup: made by |safe and |escape
  bool ascii = true;
};

// Lists, tuples, views, and generators (items not yet read start at `position`; `tail` is the error that ends them).
struct SequenceObject final : Object {
  SequenceObject(Heap& heap, std::vector<Value> values);
  std::vector<Value> items;
  std::size_t position = 0;
  std::optional<Error> tail;
  const char* named = nullptr;  // "group": a groupby pair, whose members also have names
};

struct DictObject final : Object {
  explicit DictObject(Heap& heap) : Object(heap, sizeof(DictObject)) {}
  std::vector<std::pair<Value, Value>> items;
  // Null when absent. Keys that cannot be hashed are never found.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);  // the key must be hashable

 private:
  std::ptrdiff_t locate(const Value& key, std::size_t hash) const;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;  // only looked up, never walked; empty for small dicts
};

struct RangeObject final : Object {
  RangeObject(Heap& heap, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t n)
      : Object(heap, sizeof(RangeObject)), start(a), stop(b), step(c), count(n) {}
  std::int64_t start, stop, step, count;
};

// The message says why a name has no value; it is shown when the name is used.
struct UndefinedObject final : Object {
  UndefinedObject(Heap& heap, std::string why)
      : Object(heap, sizeof(UndefinedObject) + why.size()), message(std::move(why)) {}
  std::string message;
};

struct NamespaceObject final : Object {
  explicit NamespaceObject(Heap& heap) : Object(heap, sizeof(NamespaceObject)) {}
  void clear() override { items.clear(), index_.clear(); }
  std::vector<std::pair<std::string, Value>> items;
  Value* find(std::string_view name);
  void set(std::string_view name, Value value);

 private:
  std::unordered_multimap<std::size_t, std::uint32_t> index_;  // as DictObject's
};

// cycler(...) and joiner(...).
struct CyclerObject final : Object {
  explicit CyclerObject(Heap& heap) : Object(heap, sizeof(CyclerObject)) {}
  std::vector<Value> items;
  std::size_t position = 0;
};

// ---- making values
Value make_string(Heap& heap, std::string text, bool markup = false);
Value make_undefined(Heap& heap, std::string_view message);  // of the message no more is kept than a line of text shows
// The first bytes of a text for a message, cut between characters.
std::string shortened(std::string_view text, std::size_t most = 200);
// LimitExceeded when the values inside are nested too deeply already.
Result<Value> make_sequence(Heap& heap, Kind kind, std::vector<Value> items);
// One more than the tallest of `items`; LimitExceeded beyond Heap::tallest.
Result<std::uint32_t> height_over(const std::vector<Value>& items);
Result<Value> make_dict(Heap& heap, std::vector<std::pair<Value, Value>> items);
// Range, list of its characters, keys...: what a Python iterator over the value gives. Reads a generator to its end.
struct Iteration {
  std::vector<Value> items;
  std::optional<Error> tail;  // raised after the last item
};
Result<Iteration> iterate(Heap& heap, const Value& value);
Result<std::vector<Value>> to_list(Heap& heap, const Value& value);  // iterate() with the tail raised
Result<Value> from_json(Heap& heap, const Json& json, int depth = 0);

// ---- reading values
const char* type_name(const Value& value);
bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
// a < b as Python has it: TypeError between kinds that have no order.
Result<bool> less(Heap& heap, const Value& a, const Value& b, const char* op = "<");
bool hashable(const Value& value);
std::size_t hash_value(const Value& value);
// len(): TypeError when there is none.
Result<std::int64_t> length_of(const Value& value);  // reads texts that are not ASCII

// ---- writing values
Result<std::string> to_str(Heap& heap, const Value& value);   // str(value)
Result<std::string> to_repr(Heap& heap, const Value& value);  // repr(value)
std::string repr_string(std::string_view text);
std::string repr_float(double value);

struct JsonStyle {
  bool ascii = false, sort_keys = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ", key_separator = ": ";
};
Result<std::string> to_json(Heap& heap, const Value& value, const JsonStyle& style);

inline tl::unexpected<Error> undefined_error(const Value& value) {
  return tl::make_unexpected(Error{Code::TemplateError, value.as<UndefinedObject>().message});
}

// Text that grows within the heap's room.
class TextBuilder {
 public:
  explicit TextBuilder(Heap& heap) : heap_(heap), limit_(heap.room()) {}
  void add(std::string_view s) {
    if (s.size() > limit_ - text_.size()) {
      full_ = true;
      return;
    }
    text_.append(s);
  }
  void add(char c) { add(std::string_view(&c, 1)); }
  void fill(std::size_t count, std::string_view s) {
    if (!s.empty() && count > (limit_ - text_.size()) / s.size()) {
      full_ = true;
      return;
    }
    for (; count > 0; --count) text_.append(s);
  }
  std::size_t size() const { return text_.size(); }
  bool full() const { return full_; }
  std::string& text() { return text_; }
  Result<std::string> finish();

 private:
  Heap& heap_;
  std::size_t limit_;
  std::string text_;
  bool full_ = false;
};

}  // namespace loom::jinja
