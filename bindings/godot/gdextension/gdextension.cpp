// Godot 4: the classes of ../core by the C interface of GDExtension, from Godot 4.2 on.
#include <gdextension_interface.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "../core/classes.h"

namespace {

using namespace loom_godot;

static_assert(sizeof(void*) == 8, "the sizes of the engine's types are those of 64 bits");

// The functions of the engine that this file uses.
struct Functions {
  GDExtensionInterfaceVariantNewNil variant_new_nil;
  GDExtensionInterfaceVariantDestroy variant_destroy;
  GDExtensionInterfaceVariantGetType variant_get_type;
  GDExtensionInterfaceGetVariantFromTypeConstructor get_variant_from_type_constructor;
  GDExtensionInterfaceGetVariantToTypeConstructor get_variant_to_type_constructor;
  GDExtensionInterfaceVariantGetPtrConstructor variant_get_ptr_constructor;
  GDExtensionInterfaceVariantGetPtrDestructor variant_get_ptr_destructor;
  GDExtensionInterfaceVariantGetPtrBuiltinMethod variant_get_ptr_builtin_method;
  GDExtensionInterfaceStringNewWithUtf8CharsAndLen string_new_with_utf8_chars_and_len;
  GDExtensionInterfaceStringToUtf8Chars string_to_utf8_chars;
  GDExtensionInterfaceStringNameNewWithUtf8Chars string_name_new_with_utf8_chars;
  GDExtensionInterfacePackedByteArrayOperatorIndex packed_byte_array_operator_index;
  GDExtensionInterfacePackedInt32ArrayOperatorIndex packed_int32_array_operator_index;
  GDExtensionInterfacePackedInt64ArrayOperatorIndex packed_int64_array_operator_index;
  GDExtensionInterfacePackedFloat32ArrayOperatorIndex packed_float32_array_operator_index;
  GDExtensionInterfacePackedFloat64ArrayOperatorIndex packed_float64_array_operator_index;
  GDExtensionInterfaceArrayOperatorIndex array_operator_index;
  GDExtensionInterfaceClassdbGetMethodBind classdb_get_method_bind;
  GDExtensionInterfaceObjectMethodBindCall object_method_bind_call;
  GDExtensionInterfaceGlobalGetSingleton global_get_singleton;
  GDExtensionInterfaceClassdbConstructObject classdb_construct_object;
  GDExtensionInterfaceObjectSetInstance object_set_instance;
  GDExtensionInterfaceClassdbRegisterExtensionClass2 classdb_register_extension_class2;
  GDExtensionInterfaceClassdbRegisterExtensionClassMethod classdb_register_extension_class_method;
  GDExtensionInterfaceClassdbRegisterExtensionClassSignal classdb_register_extension_class_signal;
  GDExtensionInterfaceClassdbUnregisterExtensionClass classdb_unregister_extension_class;
};
Functions api;
GDExtensionClassLibraryPtr library;

bool load_functions(GDExtensionInterfaceGetProcAddress get) {
  bool have_all = true;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(name));
    have_all = have_all && function;
  };
#define LOOM_LOAD(name) load(api.name, #name)
  LOOM_LOAD(variant_new_nil);
  LOOM_LOAD(variant_destroy);
  LOOM_LOAD(variant_get_type);
  LOOM_LOAD(get_variant_from_type_constructor);
  LOOM_LOAD(get_variant_to_type_constructor);
  LOOM_LOAD(variant_get_ptr_constructor);
  LOOM_LOAD(variant_get_ptr_destructor);
  LOOM_LOAD(variant_get_ptr_builtin_method);
  LOOM_LOAD(string_new_with_utf8_chars_and_len);
  LOOM_LOAD(string_to_utf8_chars);
  LOOM_LOAD(string_name_new_with_utf8_chars);
  LOOM_LOAD(packed_byte_array_operator_index);
  LOOM_LOAD(packed_int32_array_operator_index);
  LOOM_LOAD(packed_int64_array_operator_index);
  LOOM_LOAD(packed_float32_array_operator_index);
  LOOM_LOAD(packed_float64_array_operator_index);
  LOOM_LOAD(array_operator_index);
  LOOM_LOAD(classdb_get_method_bind);
  LOOM_LOAD(object_method_bind_call);
  LOOM_LOAD(global_get_singleton);
  LOOM_LOAD(classdb_construct_object);
  LOOM_LOAD(object_set_instance);
  LOOM_LOAD(classdb_register_extension_class2);
  LOOM_LOAD(classdb_register_extension_class_method);
  LOOM_LOAD(classdb_register_extension_class_signal);
  LOOM_LOAD(classdb_unregister_extension_class);
#undef LOOM_LOAD
  return have_all;
}

// A value of a builtin type of the engine, which owns it until the end.
template <GDExtensionVariantType type, std::size_t size>
class Builtin {
 public:
  Builtin() = default;
  Builtin(const Builtin&) = delete;
  Builtin& operator=(const Builtin&) = delete;
  ~Builtin() {
    static const GDExtensionPtrDestructor destroy = api.variant_get_ptr_destructor(type);
    destroy(value_);
  }
  void* get() const { return value_; }

 protected:
  // The engine writes through its own pointers, whose constness is not C++'s.
  alignas(8) mutable unsigned char value_[size] = {};
};

class Name final : public Builtin<GDEXTENSION_VARIANT_TYPE_STRING_NAME, 8> {
 public:
  explicit Name(const std::string& text) { api.string_name_new_with_utf8_chars(value_, text.c_str()); }
};

class Text final : public Builtin<GDEXTENSION_VARIANT_TYPE_STRING, 8> {
 public:
  Text() = default;  // for an engine function that constructs it
  explicit Text(const std::string& text) {
    api.string_new_with_utf8_chars_and_len(value_, text.data(), static_cast<GDExtensionInt>(text.size()));
  }
  std::string text() const {
    const GDExtensionInt size = api.string_to_utf8_chars(value_, nullptr, 0);
    std::string out(static_cast<std::size_t>(size), '\0');
    api.string_to_utf8_chars(value_, out.data(), size);
    return out;
  }
};

constexpr std::int64_t kSizeHash = 3173160232, kResizeHash = 848867239;  // of extension_api.json

template <GDExtensionVariantType type, std::size_t bytes>
class Sequence final : public Builtin<type, bytes> {
 public:
  std::size_t size() const {
    static const GDExtensionPtrBuiltInMethod method = method_of("size", kSizeHash);
    std::int64_t out = 0;
    method(this->value_, nullptr, &out, 0);
    return static_cast<std::size_t>(out);
  }
  // Makes an empty one, then gives it a size.
  void make(std::size_t size) {
    static const GDExtensionPtrConstructor construct = api.variant_get_ptr_constructor(type, 0);
    static const GDExtensionPtrBuiltInMethod method = method_of("resize", kResizeHash);
    construct(this->value_, nullptr);
    const auto count = static_cast<std::int64_t>(size);
    const GDExtensionConstTypePtr arguments[] = {&count};
    std::int64_t error = 0;
    method(this->value_, arguments, &error, 1);
  }

 private:
  static GDExtensionPtrBuiltInMethod method_of(const char* name, std::int64_t hash) {
    const Name of(name);
    return api.variant_get_ptr_builtin_method(type, of.get(), hash);
  }
};
using ByteArray = Sequence<GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY, 16>;
using Int32Array = Sequence<GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY, 16>;
using Int64Array = Sequence<GDEXTENSION_VARIANT_TYPE_PACKED_INT64_ARRAY, 16>;
using Float32Array = Sequence<GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY, 16>;
using Float64Array = Sequence<GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT64_ARRAY, 16>;
using Array = Sequence<GDEXTENSION_VARIANT_TYPE_ARRAY, 8>;

// Constructs a variant of a builtin value, in memory that holds none.
void put(GDExtensionUninitializedVariantPtr to, GDExtensionVariantType type, const void* value) {
  api.get_variant_from_type_constructor(type)(to, const_cast<void*>(value));
}
// Constructs a builtin value of a variant.
void get(void* to, GDExtensionVariantType type, GDExtensionConstVariantPtr from) {
  api.get_variant_to_type_constructor(type)(to, const_cast<void*>(from));
}

class Variant {
 public:
  Variant() { api.variant_new_nil(value_); }
  explicit Variant(const Value& value);
  // Holds a reference of an object.
  explicit Variant(GDExtensionObjectPtr object) { put(value_, GDEXTENSION_VARIANT_TYPE_OBJECT, &object); }
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;
  ~Variant() { api.variant_destroy(value_); }
  void* get() { return value_; }

 private:
  alignas(8) unsigned char value_[24];
};

// Our object of each object of the engine.
std::mutex objects_mutex;
std::map<const void*, Object*> objects;

Object* object_of(const void* peer) {
  const std::lock_guard lock(objects_mutex);
  const auto found = objects.find(peer);
  return found == objects.end() ? nullptr : found->second;
}

// Constructs a variant of a value, in memory that holds none.
void to_engine(const Value& value, GDExtensionUninitializedVariantPtr to) {
  switch (static_cast<Kind>(value.index())) {
    case Kind::kBool: {
      const GDExtensionBool flag = std::get<bool>(value);
      return put(to, GDEXTENSION_VARIANT_TYPE_BOOL, &flag);
    }
    case Kind::kInteger: return put(to, GDEXTENSION_VARIANT_TYPE_INT, &std::get<std::int64_t>(value));
    case Kind::kNumber: return put(to, GDEXTENSION_VARIANT_TYPE_FLOAT, &std::get<double>(value));
    case Kind::kText: {
      const Text text(std::get<std::string>(value));
      return put(to, GDEXTENSION_VARIANT_TYPE_STRING, text.get());
    }
    case Kind::kFloats: {
      const Floats& floats = std::get<Floats>(value);
      Float32Array array;
      array.make(floats.size());
      if (!floats.empty()) {
        std::copy(floats.begin(), floats.end(),
                  static_cast<float*>(api.packed_float32_array_operator_index(array.get(), 0)));
      }
      return put(to, GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY, array.get());
    }
    case Kind::kBytes: {
      const std::string& bytes = std::get<Bytes>(value).data;
      ByteArray array;
      array.make(bytes.size());
      if (!bytes.empty()) {
        std::copy(bytes.begin(), bytes.end(),
                  reinterpret_cast<char*>(api.packed_byte_array_operator_index(array.get(), 0)));
      }
      return put(to, GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY, array.get());
    }
    default: api.variant_new_nil(to);
  }
}

Variant::Variant(const Value& value) { to_engine(value, value_); }

template <class T>
T scalar(GDExtensionVariantType type, GDExtensionConstVariantPtr from) {
  T out{};
  get(&out, type, from);
  return out;
}

// The numbers of a packed array.
template <class Packed, class Index>
Value numbers(GDExtensionVariantType type, GDExtensionConstVariantPtr from, Index index) {
  Packed array;
  get(array.get(), type, from);
  Floats out(array.size());
  if (!out.empty()) {
    const auto* data =
        static_cast<const std::remove_pointer_t<decltype(index(array.get(), 0))>*>(index(array.get(), 0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(data[i]);
  }
  return out;
}

// A value of another type becomes nothing, which no argument takes.
Value from_engine(GDExtensionConstVariantPtr value) {
  const GDExtensionVariantType type = api.variant_get_type(value);
  switch (type) {
    case GDEXTENSION_VARIANT_TYPE_BOOL:
      return Value(std::in_place_type<bool>, scalar<GDExtensionBool>(type, value) != 0);
    case GDEXTENSION_VARIANT_TYPE_INT:
      return Value(std::in_place_type<std::int64_t>, scalar<std::int64_t>(type, value));
    case GDEXTENSION_VARIANT_TYPE_FLOAT: return scalar<double>(type, value);
    case GDEXTENSION_VARIANT_TYPE_STRING:
    case GDEXTENSION_VARIANT_TYPE_STRING_NAME: {
      Text text;
      get(text.get(), GDEXTENSION_VARIANT_TYPE_STRING, value);
      return text.text();
    }
    case GDEXTENSION_VARIANT_TYPE_OBJECT: return object_of(scalar<void*>(type, value));
    case GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY:
      return numbers<Float32Array>(type, value, api.packed_float32_array_operator_index);
    case GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT64_ARRAY:
      return numbers<Float64Array>(type, value, api.packed_float64_array_operator_index);
    case GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY:
      return numbers<Int32Array>(type, value, api.packed_int32_array_operator_index);
    case GDEXTENSION_VARIANT_TYPE_PACKED_INT64_ARRAY:
      return numbers<Int64Array>(type, value, api.packed_int64_array_operator_index);
    case GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY: {
      ByteArray array;
      get(array.get(), type, value);
      const std::size_t size = array.size();
      if (size == 0) return Bytes();
      return Bytes{{reinterpret_cast<const char*>(api.packed_byte_array_operator_index(array.get(), 0)), size}};
    }
    case GDEXTENSION_VARIANT_TYPE_ARRAY: {
      Array array;
      get(array.get(), type, value);
      Floats out;
      for (std::size_t i = 0; i < array.size(); ++i) {
        const Value item = from_engine(api.array_operator_index(array.get(), static_cast<GDExtensionInt>(i)));
        if (const auto* number = std::get_if<double>(&item)) {
          out.push_back(static_cast<float>(*number));
        } else if (const auto* whole = std::get_if<std::int64_t>(&item)) {
          out.push_back(static_cast<float>(*whole));
        } else {
          return {};
        }
      }
      return out;
    }
    default: return {};
  }
}

class Godot4 final : public Engine {
 public:
  // False if the engine has other methods than this file was written for.
  bool prepare() {
    emit_signal_ = method_of("Object", "emit_signal", 4047867050);
    call_deferred_ = method_of("Object", "call_deferred", 3400424181);
    globalize_path_ = method_of("ProjectSettings", "globalize_path", 3135753539);
    return emit_signal_ && call_deferred_ && globalize_path_;
  }
  void emit(void* peer, const char* signal, const std::vector<Value>& arguments) override {
    std::vector<Value> all = {std::string(signal)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    call(emit_signal_, peer, all);
  }
  void call_later(void* peer) override { call(call_deferred_, peer, {std::string("poll")}); }
  std::string system_path(const std::string& path) override {
    const Name name("ProjectSettings");
    const Value result = call(globalize_path_, api.global_get_singleton(name.get()), {path});
    const auto* text = std::get_if<std::string>(&result);
    return text ? *text : path;
  }

 private:
  static GDExtensionMethodBindPtr method_of(const char* of, const char* method, std::int64_t hash) {
    const Name class_name(of), name(method);
    return api.classdb_get_method_bind(class_name.get(), name.get(), hash);
  }
  static Value call(GDExtensionMethodBindPtr method, void* peer, const std::vector<Value>& values) {
    std::vector<std::unique_ptr<Variant>> held;
    std::vector<GDExtensionConstVariantPtr> arguments;
    for (const Value& value : values) {
      held.push_back(std::make_unique<Variant>(value));
      arguments.push_back(held.back()->get());
    }
    // The engine constructs the result.
    alignas(8) unsigned char result[24];
    GDExtensionCallError error{};
    api.object_method_bind_call(method, peer, arguments.data(), static_cast<GDExtensionInt>(arguments.size()), result,
                                &error);
    Value out = from_engine(result);
    api.variant_destroy(result);
    return out;
  }

  GDExtensionMethodBindPtr emit_signal_ = nullptr, call_deferred_ = nullptr, globalize_path_ = nullptr;
};
Godot4 engine;

struct BoundMethod {
  const Class& of;
  const Method& method;
};
// The engine keeps pointers to them until the classes are unregistered.
std::vector<std::unique_ptr<BoundMethod>> bound_methods;

GDExtensionObjectPtr create_instance(void* which) {
  const Class& of = *static_cast<const Class*>(which);
  const Name parent("RefCounted"), name(of.name);
  GDExtensionObjectPtr peer = api.classdb_construct_object(parent.get());
  std::unique_ptr<Object> object = of.create();
  object->attach(engine, peer);
  {
    const std::lock_guard lock(objects_mutex);
    objects[peer] = object.get();
  }
  api.object_set_instance(peer, name.get(), object.release());
  return peer;
}

void free_instance(void*, GDExtensionClassInstancePtr instance) {
  Object* object = static_cast<Object*>(instance);
  {
    const std::lock_guard lock(objects_mutex);
    objects.erase(object->peer());
  }
  delete object;
}

// Calls a method with variants and replaces the variant of the result.
void call_bound(const BoundMethod& bound, GDExtensionClassInstancePtr instance, const GDExtensionConstVariantPtr* given,
                std::size_t count, GDExtensionVariantPtr result) {
  Object& object = *static_cast<Object*>(instance);
  const Variant held(object.peer());  // a receiver of a signal may let go of the object
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(from_engine(given[i]));
  const Value out = invoke(bound.of, bound.method, object, std::move(values));
  if (!result) return;
  api.variant_destroy(result);
  to_engine(out, result);
}

void call_method(void* which, GDExtensionClassInstancePtr instance, const GDExtensionConstVariantPtr* arguments,
                 GDExtensionInt count, GDExtensionVariantPtr result, GDExtensionCallError* error) {
  call_bound(*static_cast<const BoundMethod*>(which), instance, arguments, static_cast<std::size_t>(count), result);
  error->error = GDEXTENSION_CALL_OK;
}

// All arguments and results are declared as variants, so a typed call passes pointers to variants too.
void call_typed(void* which, GDExtensionClassInstancePtr instance, const GDExtensionConstTypePtr* arguments,
                GDExtensionTypePtr result) {
  const auto& bound = *static_cast<const BoundMethod*>(which);
  call_bound(bound, instance, arguments, bound.method.arguments.size(), result);
}

constexpr std::uint32_t kUsageDefault = 6, kUsageNilIsVariant = 1u << 17;  // PropertyUsageFlags of extension_api.json

// Names and types of arguments, which refer to texts of the engine.
class Properties {
 public:
  void add(const std::string& name, GDExtensionVariantType type) {
    names_.push_back(std::make_unique<Name>(name));
    GDExtensionPropertyInfo info{};
    info.type = type;
    info.name = names_.back()->get();
    info.class_name = none_.get();
    info.hint_string = hint_.get();
    info.usage = type == GDEXTENSION_VARIANT_TYPE_NIL ? kUsageDefault | kUsageNilIsVariant : kUsageDefault;
    infos_.push_back(info);
    metadata_.push_back(GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE);
  }
  GDExtensionPropertyInfo* infos() { return infos_.data(); }
  GDExtensionClassMethodArgumentMetadata* metadata() { return metadata_.data(); }
  std::size_t size() const { return infos_.size(); }

 private:
  const Name none_{""};
  const Text hint_{std::string()};
  std::vector<std::unique_ptr<Name>> names_;
  std::vector<GDExtensionPropertyInfo> infos_;
  std::vector<GDExtensionClassMethodArgumentMetadata> metadata_;
};

void register_method(const Name& of_name, const Class& of, const Method& method) {
  bound_methods.push_back(std::make_unique<BoundMethod>(BoundMethod{of, method}));
  Properties arguments, result;
  for (const Argument& argument : method.arguments) arguments.add(argument.name, GDEXTENSION_VARIANT_TYPE_NIL);
  result.add("", GDEXTENSION_VARIANT_TYPE_NIL);
  std::vector<std::unique_ptr<Variant>> defaults;
  std::vector<GDExtensionVariantPtr> default_pointers;
  for (const Value& value : method.defaults) {
    defaults.push_back(std::make_unique<Variant>(value));
    default_pointers.push_back(defaults.back()->get());
  }
  const Name name(method.name);
  GDExtensionClassMethodInfo info{};
  info.name = name.get();
  info.method_userdata = bound_methods.back().get();
  info.call_func = call_method;
  info.ptrcall_func = call_typed;
  info.method_flags = GDEXTENSION_METHOD_FLAGS_DEFAULT;
  info.has_return_value = method.result != Kind::kNothing;
  info.return_value_info = result.infos();
  info.return_value_metadata = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
  info.argument_count = static_cast<std::uint32_t>(arguments.size());
  info.arguments_info = arguments.infos();
  info.arguments_metadata = arguments.metadata();
  info.default_argument_count = static_cast<std::uint32_t>(default_pointers.size());
  info.default_arguments = default_pointers.data();
  api.classdb_register_extension_class_method(library, of_name.get(), &info);
}

void register_class(const Class& of) {
  const Name name(of.name), parent("RefCounted");
  GDExtensionClassCreationInfo2 info{};
  info.is_exposed = 1;
  info.create_instance_func = create_instance;
  info.free_instance_func = free_instance;
  info.class_userdata = const_cast<Class*>(&of);  // the table lasts as long as the library
  api.classdb_register_extension_class2(library, name.get(), parent.get(), &info);
  for (const Method& method : of.methods) register_method(name, of, method);
  for (const Signal& signal : signals()) {
    Properties arguments;
    for (const std::string& argument : signal.arguments) arguments.add(argument, GDEXTENSION_VARIANT_TYPE_STRING);
    const Name signal_name(signal.name);
    api.classdb_register_extension_class_signal(library, name.get(), signal_name.get(), arguments.infos(),
                                                static_cast<GDExtensionInt>(arguments.size()));
  }
}

void initialize(void*, GDExtensionInitializationLevel level) {
  if (level != GDEXTENSION_INITIALIZATION_SCENE || !engine.prepare()) return;
  for (const Class& of : classes()) register_class(of);
}

void deinitialize(void*, GDExtensionInitializationLevel level) {
  if (level != GDEXTENSION_INITIALIZATION_SCENE) return;
  Workers::join_all();
  for (auto of = classes().rbegin(); of != classes().rend(); ++of) {
    const Name name(of->name);
    api.classdb_unregister_extension_class(library, name.get());
  }
  bound_methods.clear();
}

}  // namespace

extern "C" {
#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
GDExtensionBool
loom_gdextension_init(GDExtensionInterfaceGetProcAddress get, GDExtensionClassLibraryPtr of,
                      GDExtensionInitialization* initialization) {
  if (!load_functions(get)) return 0;
  library = of;
  initialization->minimum_initialization_level = GDEXTENSION_INITIALIZATION_SCENE;
  initialization->initialize = initialize;
  initialization->deinitialize = deinitialize;
  return 1;
}
}
