#include "text/template/value.h"

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "text/template/unicode.h"

namespace loom::jinja {
namespace {

constexpr std::uint32_t kDeepestValue = 300;  // values inside values; Python would stop near 1000
constexpr std::size_t kIndexedFrom = 9;       // smaller dicts are searched one by one

Result<std::uint32_t> raised(std::uint32_t height, const Value& v) {
  const Object* o = v.object();
  const std::uint32_t h = o ? std::max(height, o->height + 1) : height;
  if (o && h > o->heap->tallest)
    return fail(Code::LimitExceeded, "a value is nested deeper than {} lists or dicts", o->heap->tallest);
  return h;
}

}  // namespace

// ---- memory

Object::Object(Heap& h, std::size_t n) : heap(&h) { grow(n); }
Object::~Object() { heap->used -= bytes; }
void Object::grow(std::size_t n) {
  bytes += n;
  heap->used += n;
  heap->steps += n / 64;
}

// A third of the stack, and no more than what 300 levels take.
Heap::Heap()
    : tallest(static_cast<std::uint32_t>(std::min<std::size_t>(stack.left() / 3 / kLevelBytes, kDeepestValue))) {}

Result<void> Heap::too_deep() const {
  return fail(Code::LimitExceeded, "a value is nested deeper than the stack of this thread allows");
}

void Heap::retain(Object& object) {
  ++object.refs;
  retained.push_back(&object);
}
void Heap::release() {
  for (Object* o : retained) o->clear();
  for (Object* o : std::exchange(retained, {}))
    if (--o->refs == 0) delete o;
}

Result<void> Heap::over() const {
  if (used > limit) return fail(Code::LimitExceeded, "the template's values take more than {} bytes", limit);
  return fail(Code::LimitExceeded, "the template takes more than {} steps", max_steps);
}

Result<void> Heap::look() {
  constexpr std::uint64_t kLookEvery = 4096;
  next_look = steps + kLookEvery;
  if (cancel && cancel->load(std::memory_order_relaxed)) return fail(Code::Cancelled, "the rendering was cancelled");
  return {};
}

Result<void> Heap::reserve(std::size_t n) {
  if (n > room()) return fail(Code::LimitExceeded, "the template's values would take more than {} bytes", limit);
  return tick(n / 64);
}

Result<std::string> TextBuilder::finish() {
  if (full_) return fail(Code::LimitExceeded, "a text of the template would take more than {} bytes", limit_);
  LOOM_TRY_VOID(heap_.tick(text_.size() / 64));
  return std::move(text_);
}

// ---- access

std::string_view Value::s() const { return as<StringObject>().text; }
const StringObject& Value::text() const { return as<StringObject>(); }
const std::vector<Value>& Value::items() const { return as<SequenceObject>().items; }
const DictObject& Value::dict() const { return as<DictObject>(); }

StringObject::StringObject(Heap& h, std::string s, bool safe)
    : Object(h, sizeof(StringObject) + s.size()), text(std::move(s)), markup(safe), ascii(is_ascii(text)) {}
SequenceObject::SequenceObject(Heap& h, std::vector<Value> values)
    : Object(h, sizeof(SequenceObject) + values.size() * sizeof(Value)), items(std::move(values)) {}

std::ptrdiff_t DictObject::locate(const Value& key, std::size_t hash) const {
  heap->spend(1);
  if (index_.empty()) {
    for (std::size_t k = 0; k < items.size(); ++k)
      if (equal(items[k].first, key)) return static_cast<std::ptrdiff_t>(k);
    return -1;
  }
  const auto [from, to] = index_.equal_range(hash);
  for (auto it = from; it != to && heap->spend(1); ++it)
    if (equal(items[it->second].first, key)) return it->second;
  return -1;
}

const Value* DictObject::find(const Value& key) const {
  if (!hashable(key)) return nullptr;
  const std::ptrdiff_t k = locate(key, index_.empty() ? 0 : hash_value(key));
  return k < 0 ? nullptr : &items[static_cast<std::size_t>(k)].second;
}

const Value* DictObject::find(std::string_view key) const {
  const auto same = [&](const Value& v) { return v.is(Kind::String) && v.s() == key; };
  if (index_.empty()) {
    for (const auto& [name, value] : items)
      if (same(name)) return &value;
    return nullptr;
  }
  heap->spend(1 + key.size() / 64);
  const auto [from, to] = index_.equal_range(std::hash<std::string_view>{}(key));
  for (auto it = from; it != to && heap->spend(1); ++it)
    if (same(items[it->second].first)) return &items[it->second].second;
  return nullptr;
}

void DictObject::set(Value key, Value value) {
  const std::size_t hash = index_.empty() ? 0 : hash_value(key);
  if (const std::ptrdiff_t k = locate(key, hash); k >= 0) {
    items[static_cast<std::size_t>(k)].second = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  grow(2 * sizeof(Value));
  if (!index_.empty()) {
    index_.emplace(hash, static_cast<std::uint32_t>(items.size() - 1));
  } else if (items.size() >= kIndexedFrom) {
    for (std::size_t k = 0; k < items.size(); ++k)
      index_.emplace(hash_value(items[k].first), static_cast<std::uint32_t>(k));
  }
}

Value* NamespaceObject::find(std::string_view name) {
  if (index_.empty()) {
    for (auto& [key, value] : items)
      if (key == name) return &value;
    return nullptr;
  }
  heap->spend(1 + name.size() / 64);
  const auto [from, to] = index_.equal_range(std::hash<std::string_view>{}(name));
  for (auto it = from; it != to && heap->spend(1); ++it)
    if (items[it->second].first == name) return &items[it->second].second;
  return nullptr;
}

void NamespaceObject::set(std::string_view name, Value value) {
  if (Value* old = find(name)) {
    *old = std::move(value);
    return;
  }
  grow(sizeof(Value) + sizeof(std::string) + name.size());
  items.emplace_back(std::string(name), std::move(value));
  const std::hash<std::string_view> hash;
  if (!index_.empty()) {
    index_.emplace(hash(name), static_cast<std::uint32_t>(items.size() - 1));
  } else if (items.size() >= kIndexedFrom) {
    for (std::size_t k = 0; k < items.size(); ++k) index_.emplace(hash(items[k].first), static_cast<std::uint32_t>(k));
  }
}

// ---- making values

Value make_string(Heap& heap, std::string text, bool markup) {
  return Value::of(Kind::String, new StringObject(heap, std::move(text), markup));
}
Value make_undefined(Heap& heap, std::string_view message) {
  return Value::of(Kind::Undefined, new UndefinedObject(heap, shortened(message, 1000)));
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

Result<std::uint32_t> height_over(const std::vector<Value>& items) {
  std::uint32_t height = 1;
  for (const Value& v : items) {
    LOOM_TRY(height, raised(height, v));
  }
  return height;
}

Result<Value> make_sequence(Heap& heap, Kind kind, std::vector<Value> items) {
  LOOM_TRY_VOID(heap.tick(items.size()));
  LOOM_TRY(const std::uint32_t height, height_over(items));
  auto* object = new SequenceObject(heap, std::move(items));
  object->height = height;
  return Value::of(kind, object);
}

Result<Value> make_dict(Heap& heap, std::vector<std::pair<Value, Value>> items) {
  LOOM_TRY_VOID(heap.tick(items.size()));
  Ref<DictObject> dict(new DictObject(heap));
  std::uint32_t height = 1;
  for (auto& [key, value] : items) {
    if (!hashable(key)) return fail(Code::TemplateError, "unhashable type: '{}'", type_name(key));
    LOOM_TRY(height, raised(height, key));
    LOOM_TRY(height, raised(height, value));
    dict->set(std::move(key), std::move(value));
  }
  dict->height = height;
  return Value::of(Kind::Dict, dict.get());
}

Result<Value> from_json(Heap& heap, const Json& json, int depth) {
  if (depth > 256) return fail(Code::LimitExceeded, "the template's variables are nested deeper than 256");
  LOOM_TRY_VOID(heap.descend());
  LOOM_TRY_VOID(heap.tick());
  if (const auto* s = as_string(json)) return make_string(heap, *s);
  if (const auto b = as_bool(json)) return Value::boolean(*b);
  if (const auto* u = json.get_ptr<const Json::number_unsigned_t*>(); u && *u > static_cast<std::uint64_t>(INT64_MAX))
    return Value::of(Kind::BigInt, new StringObject(heap, fmt::format("{}", *u), false));
  if (const auto* i = json.get_ptr<const Json::number_integer_t*>()) return Value::integer(*i);
  if (const auto* f = json.get_ptr<const Json::number_float_t*>()) return Value::number(*f);
  if (const auto* array = json.get_ptr<const Json::array_t*>()) {
    std::vector<Value> items;
    items.reserve(array->size());
    for (const Json& item : *array) {
      LOOM_TRY(auto v, from_json(heap, item, depth + 1));
      items.push_back(std::move(v));
    }
    return make_sequence(heap, Kind::List, std::move(items));
  }
  if (const auto* object = json.get_ptr<const Json::object_t*>()) {
    std::vector<std::pair<Value, Value>> items;
    items.reserve(object->size());
    for (const auto& [key, item] : *object) {
      LOOM_TRY(auto v, from_json(heap, item, depth + 1));
      items.emplace_back(make_string(heap, key), std::move(v));
    }
    return make_dict(heap, std::move(items));
  }
  return Value::none();
}

Result<Iteration> iterate(Heap& heap, const Value& v) {
  Iteration out;
  switch (v.kind()) {
    case Kind::Undefined: return out;
    case Kind::String: {
      const std::string_view text = v.s();
      LOOM_TRY_VOID(heap.reserve(text.size() * (sizeof(StringObject) + sizeof(Value))));
      for (std::size_t i = 0; i < text.size();) {
        const std::size_t n = decode_at(text, i).size;
        out.items.push_back(make_string(heap, std::string(text.substr(i, n)), v.text().markup));
        i += n;
      }
      break;
    }
    case Kind::List:
    case Kind::Tuple:
    case Kind::Keys:
    case Kind::Values:
    case Kind::Items: out.items = v.items(); break;
    case Kind::Dict:
      for (const auto& entry : v.dict().items) out.items.push_back(entry.first);
      break;
    case Kind::Range: {
      const auto& r = v.as<RangeObject>();
      for (std::int64_t k = 0; k < r.count; ++k) out.items.push_back(Value::integer(r.start + k * r.step));
      break;
    }
    case Kind::Generator: {
      auto& g = v.as<SequenceObject>();
      out.items.assign(g.items.begin() + static_cast<std::ptrdiff_t>(g.position), g.items.end());
      g.position = g.items.size();
      out.tail = std::exchange(g.tail, std::nullopt);
      break;
    }
    default: return fail(Code::TemplateError, "'{}' object is not iterable", type_name(v));
  }
  LOOM_TRY_VOID(heap.tick(out.items.size()));
  return out;
}

Result<std::vector<Value>> to_list(Heap& heap, const Value& value) {
  LOOM_TRY(auto all, iterate(heap, value));
  if (all.tail) return tl::make_unexpected(*std::move(all.tail));
  return std::move(all.items);
}

// ---- reading values

const char* type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::Missing:
    case Kind::Undefined: return "Undefined";
    case Kind::None: return "NoneType";
    case Kind::Bool: return "bool";
    case Kind::Int:
    case Kind::BigInt: return "int";
    case Kind::Float: return "float";
    case Kind::String: return v.text().markup ? "Markup" : "str";
    case Kind::List: return "list";
    case Kind::Tuple: return "tuple";
    case Kind::Dict: return "dict";
    case Kind::Keys: return "dict_keys";
    case Kind::Values: return "dict_values";
    case Kind::Items: return "dict_items";
    case Kind::Range: return "range";
    case Kind::Generator: return "generator";
    case Kind::Namespace: return "Namespace";
    case Kind::Macro: return "Macro";
    case Kind::Loop: return "LoopContext";
    case Kind::Function: return "function";
    case Kind::Method: return "builtin_function_or_method";
    case Kind::Cycler: return "Cycler";
    case Kind::Joiner: return "Joiner";
  }
  return "object";
}

Result<std::int64_t> length_of(const Value& v) {
  switch (v.kind()) {
    case Kind::Undefined: return 0;
    case Kind::String:
      if (v.text().ascii) return static_cast<std::int64_t>(v.s().size());
      LOOM_TRY_VOID(v.object()->heap->decode(v.s().size()));
      return static_cast<std::int64_t>(count_code_points(v.s()));
    case Kind::List:
    case Kind::Tuple:
    case Kind::Keys:
    case Kind::Values:
    case Kind::Items: return static_cast<std::int64_t>(v.items().size());
    case Kind::Dict: return static_cast<std::int64_t>(v.dict().items.size());
    case Kind::Range: return v.as<RangeObject>().count;
    default: return fail(Code::TemplateError, "object of type '{}' has no len()", type_name(v));
  }
}

bool truthy(const Value& v) {
  switch (v.kind()) {
    case Kind::Missing:
    case Kind::Undefined:
    case Kind::None: return false;
    case Kind::Bool:
    case Kind::Int: return v.i() != 0;
    case Kind::Float: return v.f() != 0;
    case Kind::String: return !v.s().empty();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Keys:
    case Kind::Values:
    case Kind::Items: return !v.items().empty();
    case Kind::Dict: return !v.dict().items.empty();
    case Kind::Range: return v.as<RangeObject>().count != 0;
    default: return true;
  }
}

namespace {

// Values share parts, so a small one may hold 2^300 leaves: every walk spends steps, and gives up when they are gone
// (the next tick raises LimitExceeded).
bool spend(const Value& v, std::size_t more = 0) {
  const Object* o = v.object();
  return !o || o->heap->spend(1 + more);
}

bool equal_texts(const Value& a, const Value& b) {
  return a.s().size() == b.s().size() && spend(a, a.s().size() / 64) && a.s() == b.s();
}

bool equal_items(const Value& a, const Value& b) {
  const auto &x = a.items(), &y = b.items();
  if (x.size() != y.size()) return false;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!spend(a) || !equal(x[k], y[k])) return false;
  return true;
}

// Compares views as sets.
bool equal_views(const Value& a, const Value& b) {
  const auto &x = a.items(), &y = b.items();
  return x.size() == y.size() && std::all_of(x.begin(), x.end(), [&](const Value& v) {
           return std::any_of(y.begin(), y.end(), [&](const Value& w) { return spend(b) && equal(v, w); });
         });
}

// Python compares int and float exactly; a double cast would call 2^53 and 2^53 + 1 equal.
bool equal_numbers(const Value& a, const Value& b) {
  if (a.integral() && b.integral()) return a.i() == b.i();
  if (a.is(Kind::Float) && b.is(Kind::Float)) return a.f() == b.f();
  const double f = a.is(Kind::Float) ? a.f() : b.f();
  const std::int64_t i = a.is(Kind::Float) ? b.i() : a.i();
  return f >= -0x1p63 && f < 0x1p63 && static_cast<double>(static_cast<std::int64_t>(f)) == f &&
         static_cast<std::int64_t>(f) == i;
}

bool equal_dicts(const DictObject& a, const DictObject& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = a.heap->spend(1) ? b.find(key) : nullptr;
    if (!other || !equal(value, *other)) return false;
  }
  return true;
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.numeric() && b.numeric()) return equal_numbers(a, b);
  if (a.kind() != b.kind() || !spend(a)) return false;
  if (a.object() && a.object() == b.object()) return true;
  switch (a.kind()) {
    case Kind::Missing:
    case Kind::Undefined:
    case Kind::None: return true;
    case Kind::String:
    case Kind::BigInt: return equal_texts(a, b);
    case Kind::List:
    case Kind::Tuple: return equal_items(a, b);
    case Kind::Keys:
    case Kind::Items: return equal_views(a, b);
    case Kind::Dict: return equal_dicts(a.dict(), b.dict());
    case Kind::Range: {
      const auto &x = a.as<RangeObject>(), &y = b.as<RangeObject>();
      return x.count == y.count && (x.count == 0 || (x.start == y.start && (x.count == 1 || x.step == y.step)));
    }
    default: return a.object() == b.object();
  }
}

namespace {
bool less_numbers(const Value& a, const Value& b) {
  if (a.integral() && b.integral()) return a.i() < b.i();
  return a.f() < b.f();
}
}  // namespace

Result<bool> less(Heap& heap, const Value& a, const Value& b, const char* op) {
  LOOM_TRY_VOID(heap.descend());
  if (a.undefined()) return undefined_error(a);
  if (b.undefined()) return undefined_error(b);
  if (a.numeric() && b.numeric()) return less_numbers(a, b);
  // UTF-8 bytes order as code points do.
  if (a.is(Kind::String) && b.is(Kind::String)) {
    LOOM_TRY_VOID(heap.scan(std::min(a.s().size(), b.s().size())));
    return a.s() < b.s();
  }
  if (a.sequence() && a.kind() == b.kind()) {
    const auto &x = a.items(), &y = b.items();
    for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
      LOOM_TRY_VOID(heap.tick());
      if (!equal(x[k], y[k])) return less(heap, x[k], y[k], op);
    }
    return x.size() < y.size();
  }
  return fail(Code::TemplateError, "'{}' not supported between instances of '{}' and '{}'", op, type_name(a),
              type_name(b));
}

bool hashable(const Value& v) {
  switch (v.kind()) {
    case Kind::List:
    case Kind::Dict:
    case Kind::Keys:
    case Kind::Items: return false;
    case Kind::Tuple: return spend(v, v.items().size()) && std::all_of(v.items().begin(), v.items().end(), hashable);
    default: return true;
  }
}

std::size_t hash_value(const Value& v) {
  switch (v.kind()) {
    case Kind::String: return spend(v, v.s().size() / 64) ? std::hash<std::string_view>{}(v.s()) : 0;
    case Kind::Bool:
    case Kind::Int: return std::hash<double>{}(static_cast<double>(v.i()));
    case Kind::Float: return std::hash<double>{}(v.f());
    case Kind::Tuple: {
      std::size_t h = 0;
      if (!spend(v, v.items().size())) return h;
      for (const Value& item : v.items()) h = h * 31 + hash_value(item);
      return h;
    }
    default: return static_cast<std::size_t>(v.kind());
  }
}

}  // namespace loom::jinja
