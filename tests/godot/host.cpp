// The interface of Godot 4 as far as bindings/godot/gdextension uses it, and the tests that run in it.
//   host libloom_godot4.so api.tsv VERSION MODEL quick|all
// Functions, hashes of methods and sizes are those that extension_api.json of that version has
// (tools/godot_headers.py); others are refused as the engine refuses them. Every value that the engine makes is
// counted, so a lost one is found.
#include <dlfcn.h>
#include <gdextension_interface.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

int failures = 0;
void check(bool is_right, const std::string& text) {
  if (is_right) return;
  ++failures;
  std::printf("FAILED: %s\n", text.c_str());
}
template <class A, class B>
void check_equal(const A& came, const B& expected, const std::string& text) {
  std::ostringstream out;
  out << text << ": got " << came << ", expected " << expected;
  check(came == expected, out.str());
}

// --- what the engine's description of a version says

struct Description {
  std::set<std::string> functions;
  std::map<std::string, std::set<std::int64_t>> methods;  // and builtin ones
  std::map<std::string, std::size_t> sizes;
} about;

bool is_at_most(const std::string& version, const std::string& other) {
  return std::stoi(version.substr(2)) <= std::stoi(other.substr(2));
}

void read_description(const char* path, const std::string& version) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string of, what, name;
    std::int64_t value = 0;
    words >> of >> what >> name >> value;
    if (what == "function" && is_at_most(of, version)) about.functions.insert(name);
    if (of != version) continue;
    if (what == "method" || what == "builtin") about.methods[name].insert(value);
    if (what == "size") about.sizes[name] = static_cast<std::size_t>(value);
  }
}

// --- values of the engine

std::atomic<long> live{0};  // strings, arrays and references that exist

struct Instance;
struct Any {  // what a variant holds
  GDExtensionVariantType type = GDEXTENSION_VARIANT_TYPE_NIL;
  bool flag = false;
  std::int64_t whole = 0;
  double number = 0;
  std::string text;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int32_t> ints32;
  std::vector<std::int64_t> ints64;
  std::vector<std::uint8_t> bytes;
  std::vector<std::unique_ptr<void*[]>> items;  // of an array: variants
  Instance* object = nullptr;
};

void hold(Instance* object);
void let_go(Instance* object);

// The memory of a variant begins with a pointer to what it holds; that of String, StringName and arrays too.
Any*& at(const void* memory) { return *static_cast<Any**>(const_cast<void*>(memory)); }

Any* make(GDExtensionVariantType type) {
  ++live;
  Any* out = new Any;
  out->type = type;
  return out;
}
Any* copy_of(const Any& from) {
  Any* out = make(from.type);
  out->flag = from.flag;
  out->whole = from.whole;
  out->number = from.number;
  out->text = from.text;
  out->floats = from.floats;
  out->doubles = from.doubles;
  out->ints32 = from.ints32;
  out->ints64 = from.ints64;
  out->bytes = from.bytes;
  for (const auto& item : from.items) {
    out->items.push_back(std::make_unique<void*[]>(3));
    at(out->items.back().get()) = copy_of(*at(item.get()));
  }
  out->object = from.object;
  if (out->object) hold(out->object);
  return out;
}
void destroy(Any*& any) {
  if (!any) {
    check(false, "a value was destroyed twice");
    return;
  }
  for (auto& item : any->items) destroy(at(item.get()));
  if (any->object) let_go(any->object);
  delete std::exchange(any, nullptr);
  --live;
}

// --- classes and objects

struct Method {
  GDExtensionClassMethodInfo info;
  std::string name;
  std::vector<std::string> arguments;
  // As the page has it: Class.method(arguments).
  std::string listed(const std::string& of) const {
    std::string out = of + "." + name + "(";
    for (const std::string& argument : arguments) out += (out.back() == '(' ? "" : ", ") + argument;
    return out + ")";
  }
};
struct ClassOf {
  std::string name;
  GDExtensionClassCreationInfo2 info{};
  std::map<std::string, Method> methods;
  std::map<std::string, std::size_t> signals;
};
std::map<std::string, ClassOf> classes;

struct Instance {
  std::int64_t id = 0;
  int references = 0;
  ClassOf* of = nullptr;
  void* data = nullptr;
  std::vector<std::vector<std::string>> signals;  // emitted
  std::function<void()> on_signal;
};
std::mutex engine_mutex;
std::map<std::int64_t, Instance*> instances;
std::int64_t next_id = 1;
std::deque<std::pair<std::int64_t, std::string>> deferred;
std::thread::id main_thread;

void hold(Instance* object) { ++object->references; }
void let_go(Instance* object) {
  if (--object->references > 0) return;
  object->of->info.free_instance_func(object->of->info.class_userdata, object->data);
  {
    const std::lock_guard lock(engine_mutex);
    instances.erase(object->id);
  }
  delete object;
}

struct Variant {
  void* memory[3] = {};
  Variant() { at(memory) = make(GDEXTENSION_VARIANT_TYPE_NIL); }
  explicit Variant(Any* any) { at(memory) = any; }
  Variant(const Variant& other) { at(memory) = copy_of(*at(other.memory)); }
  Variant(const char* text) : Variant(std::string(text)) {}
  Variant(const std::string& text) {
    at(memory) = make(GDEXTENSION_VARIANT_TYPE_STRING);
    at(memory)->text = text;
  }
  Variant(std::int64_t whole) {
    at(memory) = make(GDEXTENSION_VARIANT_TYPE_INT);
    at(memory)->whole = whole;
  }
  Variant(int whole) : Variant(static_cast<std::int64_t>(whole)) {}
  Variant(double number) {
    at(memory) = make(GDEXTENSION_VARIANT_TYPE_FLOAT);
    at(memory)->number = number;
  }
  Variant(std::vector<float> floats) {
    at(memory) = make(GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY);
    at(memory)->floats = std::move(floats);
  }
  Variant& operator=(const Variant&) = delete;
  ~Variant() { destroy(at(memory)); }
  const Any& any() const { return *at(memory); }
};

struct Bind {
  std::string name;
};
Bind binds[] = {{"Object.emit_signal"}, {"Object.call_deferred"}, {"ProjectSettings.globalize_path"}};

// --- the functions of the interface

using Name = GDExtensionConstStringNamePtr;
const std::string& text_at(const void* memory) { return at(memory)->text; }

void variant_new_nil(void* to) { at(to) = make(GDEXTENSION_VARIANT_TYPE_NIL); }
void variant_destroy(void* of) { destroy(at(of)); }
GDExtensionVariantType variant_get_type(const void* of) { return at(of)->type; }

template <GDExtensionVariantType type>
void from_type(void* to, void* value) {
  Any* out;
  switch (type) {
    case GDEXTENSION_VARIANT_TYPE_BOOL: (out = make(type))->flag = *static_cast<GDExtensionBool*>(value) != 0; break;
    case GDEXTENSION_VARIANT_TYPE_INT: (out = make(type))->whole = *static_cast<std::int64_t*>(value); break;
    case GDEXTENSION_VARIANT_TYPE_FLOAT: (out = make(type))->number = *static_cast<double*>(value); break;
    case GDEXTENSION_VARIANT_TYPE_OBJECT:
      (out = make(type))->object = *static_cast<Instance**>(value);
      if (out->object) hold(out->object);
      break;
    default: out = copy_of(*at(value));
  }
  check(out->type == type, "a variant of a value of another type");
  at(to) = out;
}
template <GDExtensionVariantType type>
void to_type(void* to, void* variant) {
  const Any& from = *at(variant);
  switch (type) {
    case GDEXTENSION_VARIANT_TYPE_BOOL: *static_cast<GDExtensionBool*>(to) = from.flag; break;
    case GDEXTENSION_VARIANT_TYPE_INT: *static_cast<std::int64_t*>(to) = from.whole; break;
    case GDEXTENSION_VARIANT_TYPE_FLOAT: *static_cast<double*>(to) = from.number; break;
    case GDEXTENSION_VARIANT_TYPE_OBJECT: *static_cast<Instance**>(to) = from.object; break;
    default: at(to) = copy_of(from);
  }
}
// clang-format off
#define EACH_TYPE(X) \
  X(BOOL) \
  X(INT) \
  X(FLOAT) \
  X(STRING) \
  X(OBJECT) \
  X(ARRAY) \
  X(PACKED_BYTE_ARRAY) \
  X(PACKED_INT32_ARRAY) \
  X(PACKED_INT64_ARRAY) \
  X(PACKED_FLOAT32_ARRAY) \
  X(PACKED_FLOAT64_ARRAY)
// clang-format on
GDExtensionVariantFromTypeConstructorFunc get_variant_from_type_constructor(GDExtensionVariantType type) {
#define FROM(name) \
  if (type == GDEXTENSION_VARIANT_TYPE_##name) return from_type<GDEXTENSION_VARIANT_TYPE_##name>;
  EACH_TYPE(FROM)
  return nullptr;
}
GDExtensionTypeFromVariantConstructorFunc get_variant_to_type_constructor(GDExtensionVariantType type) {
#define TO(name) \
  if (type == GDEXTENSION_VARIANT_TYPE_##name) return to_type<GDEXTENSION_VARIANT_TYPE_##name>;
  EACH_TYPE(TO)
  return nullptr;
}
template <GDExtensionVariantType type>
void construct(void* to, const GDExtensionConstTypePtr*) {
  at(to) = make(type);
}
GDExtensionPtrConstructor variant_get_ptr_constructor(GDExtensionVariantType type, std::int32_t which) {
  if (which != 0) return nullptr;
#define CONSTRUCT(name) \
  if (type == GDEXTENSION_VARIANT_TYPE_##name) return construct<GDEXTENSION_VARIANT_TYPE_##name>;
  EACH_TYPE(CONSTRUCT)
  return nullptr;
}
void destroy_value(void* value) { destroy(at(value)); }
GDExtensionPtrDestructor variant_get_ptr_destructor(GDExtensionVariantType) { return destroy_value; }

void size_of(void* base, const GDExtensionConstTypePtr*, void* out, int) {
  const Any& of = *at(base);
  *static_cast<std::int64_t*>(out) = static_cast<std::int64_t>(std::max(
      {of.floats.size(), of.doubles.size(), of.ints32.size(), of.ints64.size(), of.bytes.size(), of.items.size()}));
}
void resize(void* base, const GDExtensionConstTypePtr* arguments, void* out, int) {
  const auto size = static_cast<std::size_t>(*static_cast<const std::int64_t*>(arguments[0]));
  Any& of = *at(base);
  if (of.type == GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY) of.floats.resize(size);
  if (of.type == GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY) of.bytes.resize(size);
  *static_cast<std::int64_t*>(out) = 0;
}
GDExtensionPtrBuiltInMethod variant_get_ptr_builtin_method(GDExtensionVariantType type, Name name,
                                                           GDExtensionInt hash) {
  const char* of = type == GDEXTENSION_VARIANT_TYPE_ARRAY                  ? "Array"
                   : type == GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY    ? "PackedByteArray"
                   : type == GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY   ? "PackedInt32Array"
                   : type == GDEXTENSION_VARIANT_TYPE_PACKED_INT64_ARRAY   ? "PackedInt64Array"
                   : type == GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY ? "PackedFloat32Array"
                   : type == GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT64_ARRAY ? "PackedFloat64Array"
                                                                           : "";
  if (!about.methods[std::string(of) + "." + text_at(name)].contains(hash)) return nullptr;
  return text_at(name) == "size" ? size_of : resize;
}
void string_new_with_utf8_chars_and_len(void* to, const char* text, GDExtensionInt size) {
  at(to) = make(GDEXTENSION_VARIANT_TYPE_STRING);
  at(to)->text.assign(text, static_cast<std::size_t>(size));
}
GDExtensionInt string_to_utf8_chars(const void* of, char* to, GDExtensionInt most) {
  const std::string& text = at(of)->text;
  if (to) std::memcpy(to, text.data(), std::min(text.size(), static_cast<std::size_t>(most)));
  return static_cast<GDExtensionInt>(text.size());
}
void string_name_new_with_utf8_chars(void* to, const char* text) {
  at(to) = make(GDEXTENSION_VARIANT_TYPE_STRING_NAME);
  at(to)->text = text;
}
std::uint8_t* packed_byte_array_operator_index(void* of, GDExtensionInt i) { return at(of)->bytes.data() + i; }
std::int32_t* packed_int32_array_operator_index(void* of, GDExtensionInt i) { return at(of)->ints32.data() + i; }
std::int64_t* packed_int64_array_operator_index(void* of, GDExtensionInt i) { return at(of)->ints64.data() + i; }
float* packed_float32_array_operator_index(void* of, GDExtensionInt i) { return at(of)->floats.data() + i; }
double* packed_float64_array_operator_index(void* of, GDExtensionInt i) { return at(of)->doubles.data() + i; }
void* array_operator_index(void* of, GDExtensionInt i) { return at(of)->items[static_cast<std::size_t>(i)].get(); }

GDExtensionMethodBindPtr classdb_get_method_bind(Name of, Name method, GDExtensionInt hash) {
  const std::string name = text_at(of) + "." + text_at(method);
  if (!about.methods[name].contains(hash)) return nullptr;
  for (const Bind& bind : binds) {
    if (bind.name == name) return &bind;
  }
  return nullptr;
}
char settings_singleton;
void object_method_bind_call(GDExtensionMethodBindPtr which, void* peer, const GDExtensionConstVariantPtr* arguments,
                             GDExtensionInt count, void* result, GDExtensionCallError* error) {
  const std::string& name = static_cast<const Bind*>(which)->name;
  at(result) = make(GDEXTENSION_VARIANT_TYPE_NIL);
  error->error = GDEXTENSION_CALL_OK;
  if (name == "Object.call_deferred") {
    const std::lock_guard lock(engine_mutex);
    deferred.emplace_back(static_cast<Instance*>(peer)->id, text_at(arguments[0]));
    return;
  }
  check(std::this_thread::get_id() == main_thread, name + " on another thread");
  if (name == "ProjectSettings.globalize_path") {
    check(peer == &settings_singleton, "globalize_path of another object");
    at(result)->type = GDEXTENSION_VARIANT_TYPE_STRING;
    at(result)->text = text_at(arguments[0]).substr(text_at(arguments[0]).find("//") + 2);
    return;
  }
  auto* object = static_cast<Instance*>(peer);
  std::vector<std::string> words;
  for (GDExtensionInt i = 0; i < count; ++i) words.push_back(text_at(arguments[i]));
  const auto signal = object->of->signals.find(words[0]);
  check(signal != object->of->signals.end() && signal->second == words.size() - 1, "signal " + words[0]);
  object->signals.push_back(words);
  if (object->on_signal) object->on_signal();
}
void* global_get_singleton(Name name) { return text_at(name) == "ProjectSettings" ? &settings_singleton : nullptr; }
void* classdb_construct_object(Name of) {
  if (text_at(of) != "RefCounted") return nullptr;
  auto* out = new Instance;
  const std::lock_guard lock(engine_mutex);
  out->id = next_id++;
  instances[out->id] = out;
  return out;
}
void object_set_instance(void* peer, Name of, void* data) {
  auto* object = static_cast<Instance*>(peer);
  object->of = &classes.at(text_at(of));
  object->data = data;
}
void classdb_register_extension_class2(void*, Name name, Name parent, const GDExtensionClassCreationInfo2* info) {
  check(text_at(parent) == "RefCounted", "parent of " + text_at(name));
  classes[text_at(name)].name = text_at(name);
  classes[text_at(name)].info = *info;
}
void classdb_register_extension_class_method(void*, Name of, const GDExtensionClassMethodInfo* info) {
  Method method{*info, text_at(info->name), {}};
  for (std::uint32_t i = 0; i < info->argument_count; ++i)
    method.arguments.push_back(text_at(info->arguments_info[i].name));
  check(info->default_argument_count <= info->argument_count, "defaults of " + method.name);
  classes.at(text_at(of)).methods.emplace(text_at(info->name), method);
}
void classdb_register_extension_class_signal(void*, Name of, Name name, const GDExtensionPropertyInfo* arguments,
                                             GDExtensionInt count) {
  for (GDExtensionInt i = 0; i < count; ++i) check(!text_at(arguments[i].name).empty(), "an argument without a name");
  classes.at(text_at(of)).signals[text_at(name)] = static_cast<std::size_t>(count);
}
void classdb_unregister_extension_class(void*, Name name) { classes.erase(text_at(name)); }

template <class F>
GDExtensionInterfaceFunctionPtr pointer(F function) {
  return reinterpret_cast<GDExtensionInterfaceFunctionPtr>(function);
}
GDExtensionInterfaceFunctionPtr get_proc_address(const char* name) {
  static const std::map<std::string, GDExtensionInterfaceFunctionPtr> all = {
#define HAVE(name) {#name, pointer(&name)},
      // clang-format off
      HAVE(variant_new_nil)
      HAVE(variant_destroy)
      HAVE(variant_get_type)
      HAVE(get_variant_from_type_constructor)
      HAVE(get_variant_to_type_constructor)
      HAVE(variant_get_ptr_constructor)
      HAVE(variant_get_ptr_destructor)
      HAVE(variant_get_ptr_builtin_method)
      HAVE(string_new_with_utf8_chars_and_len)
      HAVE(string_to_utf8_chars)
      HAVE(string_name_new_with_utf8_chars)
      HAVE(packed_byte_array_operator_index)
      HAVE(packed_int32_array_operator_index)
      HAVE(packed_int64_array_operator_index)
      HAVE(packed_float32_array_operator_index)
      HAVE(packed_float64_array_operator_index)
      HAVE(array_operator_index)
      HAVE(classdb_get_method_bind)
      HAVE(object_method_bind_call)
      HAVE(global_get_singleton)
      HAVE(classdb_construct_object)
      HAVE(object_set_instance)
      HAVE(classdb_register_extension_class2)
      HAVE(classdb_register_extension_class_method)
      HAVE(classdb_register_extension_class_signal)
      HAVE(classdb_unregister_extension_class)
      // clang-format on
  };
  const auto found = all.find(name);
  check(found != all.end(), std::string("a function that this host lacks: ") + name);
  if (!about.functions.contains(name)) return nullptr;  // as in that version
  return found == all.end() ? nullptr : found->second;
}

// --- scripts

class Object {  // a script's reference
 public:
  explicit Object(const char* name) {
    const ClassOf& of = classes.at(name);
    object_ = static_cast<Instance*>(of.info.create_instance_func(of.info.class_userdata));
    hold(object_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { reset(); }
  void reset() {
    if (object_) let_go(std::exchange(object_, nullptr));
  }
  template <class... A>
  Variant call(const char* name, A&&... arguments) {
    const std::vector<Variant> values = {Variant(arguments)...};
    return call_with(name, values);
  }
  Variant call_with(const char* name, const std::vector<Variant>& values) {
    const Method& method = object_->of->methods.at(name);
    std::vector<const void*> pointers;
    for (const Variant& value : values) pointers.push_back(value.memory);
    Variant result;
    GDExtensionCallError error{};
    method.info.call_func(method.info.method_userdata, object_->data, pointers.data(),
                          static_cast<GDExtensionInt>(pointers.size()), result.memory, &error);
    check_equal(static_cast<int>(error.error), static_cast<int>(GDEXTENSION_CALL_OK), std::string("call of ") + name);
    return result;
  }
  // As compiled scripts call methods whose types are known.
  Variant call_typed(const char* name) {
    const Method& method = object_->of->methods.at(name);
    Variant result;
    method.info.ptrcall_func(method.info.method_userdata, object_->data, nullptr, result.memory);
    return result;
  }
  template <class... A>
  std::string text(const char* name, A&&... arguments) {
    return call(name, arguments...).any().text;
  }
  template <class... A>
  bool flag(const char* name, A&&... arguments) {
    return call(name, arguments...).any().flag;
  }
  // The signals since the last call.
  std::vector<std::vector<std::string>> signals() { return std::exchange(object_->signals, {}); }
  std::string last_code() {
    const auto all = signals();
    return all.empty() ? "no signal" : all.back()[0] == "failed" ? all.back()[1] : all.back()[0];
  }
  void on_signal(std::function<void()> function) { object_->on_signal = std::move(function); }
  Variant variant() const {
    Any* any = make(GDEXTENSION_VARIANT_TYPE_OBJECT);
    any->object = object_;
    hold(object_);
    return Variant(any);
  }

 private:
  Instance* object_ = nullptr;
};

// A frame of the game: the calls that were deferred.
void frame() {
  std::deque<std::pair<std::int64_t, std::string>> calls;
  {
    const std::lock_guard lock(engine_mutex);
    calls.swap(deferred);
  }
  for (const auto& [id, name] : calls) {
    Instance* object = nullptr;
    {
      const std::lock_guard lock(engine_mutex);
      const auto found = instances.find(id);
      if (found == instances.end()) continue;  // gone, as in the engine
      object = found->second;
    }
    const Method& method = object->of->methods.at(name);
    Variant result;
    GDExtensionCallError error{};
    method.info.call_func(method.info.method_userdata, object->data, nullptr, 0, result.memory, &error);
  }
}

// Runs frames until work ends and returns the last signal; tokens are joined in `said`.
std::vector<std::string> wait_for(Object& object, std::string* said = nullptr) {
  for (int i = 0; i < 60000; ++i) {
    frame();
    if (!object.flag("is_busy")) {
      auto all = object.signals();
      if (all.empty()) break;
      for (const auto& each : all) {
        if (said && each[0] == "token") *said += each[1];
      }
      return all.back();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  check(false, "no signal");
  return {"nothing", "", ""};
}

constexpr const char* kQuestion = "What is the capital of France?";
constexpr const char* kAnswer = "The capital of France is Paris.";
constexpr const char* kReadmeHash = "99554f0d";
constexpr const char* kSpec = R"({"seed": 1, "layers": [{"type": "dense", "input_height": 2, "output_height": 1}]})";
// Of docs/guide/languages.md.
constexpr const char* kTrainedHash = "6e62a74adf6ec2038f69174b469e77483ad9cb09e5e5b77861d585dedd5654cf";

void language(const std::string& path) {
  Object model("LoomModel");
  check_equal(model.flag("load_model", "no_such_file.gguf"), false, "load_model of a wrong path");
  const auto signals = model.signals();
  check(signals.size() == 1 && signals[0][1] == "NotFound" && signals[0][2].find("no_such_file") != std::string::npos,
        "a wrong path emits failed with code and text");
  check_equal(model.text("generate", "x"), "", "generate without a model");
  check_equal(model.last_code(), "InvalidState", "generate without a model");
  check_equal(model.flag("load_model", path), true, "load_model: " + model.text("error_text"));
  check_equal(model.text("generate", kQuestion), kAnswer, "generate");
  check_equal(model.text("hash").substr(0, 8), kReadmeHash, "hash of generate");
  check(model.flag("stream", kQuestion), "stream begins");
  check_equal(model.call_typed("is_busy").any().flag, true, "a typed call");
  std::string said;
  const auto end = wait_for(model, &said);
  check(end == std::vector<std::string>{"finished", kAnswer}, "stream ends with " + end[0]);
  check_equal(said, kAnswer, "the tokens of stream");
  check_equal(model.text("hash").substr(0, 8), kReadmeHash, "hash of stream");
  for (const int frames : {0, 1, 10}) {
    model.flag("stream", "Tell me a long story.", 400);
    for (int i = 0; i < frames; ++i) {
      frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    model.call("cancel");
    const auto ended = wait_for(model);
    check(ended[0] == "failed" && ended[1] == "Cancelled", "cancel ends with " + ended[0]);
  }
  check_equal(model.text("generate", kQuestion), kAnswer, "an answer after cancels");
}

void chats(const std::string& path) {
  Object model("LoomModel");
  model.flag("set_option", "max_tokens", 24);
  model.flag("load_model", "res://" + path);  // the host drops the scheme
  Object chat("LoomChat"), other("LoomChat");
  check(chat.flag("begin", model.variant()), "begin: " + chat.text("error_text"));
  check(chat.flag("say", "The key to the gate is under the oak."), "say");
  check_equal(wait_for(chat)[0], "finished", "an answer of a chat");
  check(chat.flag("save_chat", "user://chat.json"), "save_chat: " + chat.text("error_text"));
  check(other.flag("begin", model.variant(), ""), "begin");
  check(other.flag("load_chat", "user://chat.json"), "load_chat: " + other.text("error_text"));
  check_equal(other.text("messages"), chat.text("messages"), "the conversation that was loaded");
  const std::string answer = other.text("ask", "Where is the key to the gate?");
  check(answer.find("oak") != std::string::npos, "the place was said: " + answer);
  check_equal(other.flag("begin", chat.variant()), false, "begin with another object");
  check_equal(other.last_code(), "InvalidArgument", "begin with another object");
  // Freed at any moment.
  for (int i = 0; i < 6; ++i) {
    Object gone("LoomChat");
    gone.flag("begin", model.variant());
    gone.flag("say", "Tell me a long story.");
    for (int n = 0; n < i; ++n) {
      frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }
  frame();
  auto dropped = std::make_unique<Object>("LoomModel");
  dropped->flag("load_model", path);
  bool is_dropped = false;
  dropped->on_signal([&] {
    if (std::exchange(is_dropped, true)) return;
    dropped->reset();  // the receiver lets go of the last reference
  });
  dropped->flag("stream", kQuestion);
  for (int i = 0; i < 20000 && !is_dropped; ++i) {
    frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  check(is_dropped, "a token came");
}

void networks() {
  Object network("LoomNetwork");
  check(network.flag("load_network", kSpec), "load_network: " + network.text("error_text"));
  const std::vector<float> x = {0, 0, 0, 1, 1, 0, 1, 1}, y = {0, 1, 1, 2};
  network.call("train", x, y, 4, 100, R"({"loss": "mse", "learning_rate": 0.1})");
  check_equal(network.text("hash"), kTrainedHash, "weights after 100 steps");
  // An Array of whole numbers.
  Any* list = make(GDEXTENSION_VARIANT_TYPE_ARRAY);
  for (int i = 0; i < 2; ++i) {
    list->items.push_back(std::make_unique<void*[]>(3));
    at(list->items.back().get()) = make(GDEXTENSION_VARIANT_TYPE_INT);
    at(list->items.back().get())->whole = 1;
  }
  const Variant output = network.call("forward", Variant(list));
  check(output.any().floats.size() == 1 && std::abs(output.any().floats[0] - 2) < 0.1f, "forward");
  Object mesh("LoomMesh");
  check(mesh.flag("open", network.variant(), 2, 2), "open: " + mesh.text("error_text"));
  check(mesh.flag("set_inputs", std::vector<float>{1, 1, 0, 1}), "set_inputs: " + mesh.text("error_text"));
  check(mesh.flag("step", 3), "step: " + mesh.text("error_text"));
  check(mesh.flag("teach", std::vector<float>{2, 1}, 0.01), "teach: " + mesh.text("error_text"));
  const Variant bytes = mesh.call("snapshot", 0);
  check(mesh.flag("restore", 1, bytes), "restore: " + mesh.text("error_text"));
  check_equal(mesh.text("hash", 1), mesh.text("hash", 0), "a state that was restored");
  for (const std::vector<Variant>& wrong :
       std::vector<std::vector<Variant>>{{}, {Variant(1)}, {Variant()}, {Variant("a"), Variant("b")}}) {
    Object model("LoomModel");
    model.call_with("generate", wrong);
    check_equal(model.last_code(), "InvalidArgument", "wrong arguments");
  }
}

long memory_kb() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4;
}

void rounds(int count) {
  Object network("LoomNetwork");
  network.flag("load_network", kSpec);
  long before = 0;
  for (int i = 0; i < count; ++i) {
    Object model("LoomModel"), own("LoomNetwork"), mesh("LoomMesh");
    model.flag("load_model", "no_such_file.gguf");
    own.flag("load_network", kSpec);
    own.call("forward", std::vector<float>{1, 1});
    mesh.flag("open", network.variant(), 3, 2);
    mesh.flag("step");
    own.flag("train_async", std::vector<float>{1, 1}, std::vector<float>{1}, 1, 1,
             R"({"loss": "mse"})");  // freed while it trains
    frame();
    if (i == count / 2) before = memory_kb();
  }
  const long grown = memory_kb() - before;
  std::printf("memory after %d rounds: %+ld kB in the second half\n", count, grown);
  // In few rounds it still settles.
  check(grown < std::max(count / 2, 256), "memory grew by " + std::to_string(grown) + " kB");
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  main_thread = std::this_thread::get_id();
  read_description(words[2], words[3]);
  for (const auto& [name, size] : std::map<std::string, std::size_t>{
           {"Variant", 24}, {"String", 8}, {"StringName", 8}, {"Array", 8}, {"PackedFloat32Array", 16}}) {
    check_equal(about.sizes[name], size, "size of " + name);
  }
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::printf("%s\n", dlerror()), 1;
  const auto init = reinterpret_cast<GDExtensionInitializationFunction>(dlsym(library, "loom_gdextension_init"));
  GDExtensionInitialization initialization{};
  if (!init || !init(get_proc_address, nullptr, &initialization)) return std::printf("no extension\n"), 1;
  for (int level = 0; level <= GDEXTENSION_INITIALIZATION_SCENE; ++level) {
    initialization.initialize(initialization.userdata, static_cast<GDExtensionInitializationLevel>(level));
  }
  check_equal(classes.size(), 4u, "classes");
  for (const auto& [name, of] : classes) {
    for (const auto& [method, about_it] : of.methods) std::printf("METHOD %s\n", about_it.listed(name).c_str());
  }
  const long registered = live;
  const bool is_quick = std::string(words[5]) == "quick";
  networks();
  if (!is_quick) {
    language(words[4]);
    chats(words[4]);
  }
  rounds(is_quick ? 50 : 1000);
  frame();
  check_equal(instances.size(), 0u, "objects at the end");
  check_equal(live.load(), registered, "values of the engine at the end");
  for (int level = GDEXTENSION_INITIALIZATION_SCENE; level >= 0; --level) {
    initialization.deinitialize(initialization.userdata, static_cast<GDExtensionInitializationLevel>(level));
  }
  check_equal(classes.size(), 0u, "classes after the end");
  dlclose(library);
  std::printf("Godot %s: %d failures\n", words[3], failures);
  return failures ? 1 : 0;
}
