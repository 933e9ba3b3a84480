// Godot 3: the classes of ../core as NativeScripts, by the C interface of GDNative.
#include <gdnative_api_struct.gen.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "../core/classes.h"
#include "../core/utf8.h"

namespace {

using namespace loom_godot;

const godot_gdnative_core_api_struct* api = nullptr;
const godot_gdnative_ext_nativescript_api_struct* scripts = nullptr;

// A value of the engine that is destroyed at the end.
class Text {
 public:
  explicit Text(std::string_view text)
      : text_(api->godot_string_chars_to_utf8_with_len(text.data(), static_cast<godot_int>(text.size()))) {}
  explicit Text(godot_string text) : text_(text) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { api->godot_string_destroy(&text_); }
  const godot_string* get() const { return &text_; }
  std::string text() const {
    godot_char_string bytes = api->godot_string_utf8(&text_);
    std::string out(api->godot_char_string_get_data(&bytes),
                    static_cast<std::size_t>(api->godot_char_string_length(&bytes)));
    api->godot_char_string_destroy(&bytes);
    return out;
  }

 private:
  godot_string text_;
};

class Variant {
 public:
  explicit Variant(godot_variant value) : value_(value) {}
  // Holds a reference of an object.
  explicit Variant(const godot_object* object) { api->godot_variant_new_object(&value_, object); }
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;
  ~Variant() { api->godot_variant_destroy(&value_); }
  const godot_variant* get() const { return &value_; }

 private:
  godot_variant value_;
};

// Our object of each object of the engine.
std::mutex objects_mutex;
std::map<const godot_object*, Object*> objects;

Object* object_of(const godot_object* peer) {
  const std::lock_guard lock(objects_mutex);
  const auto found = objects.find(peer);
  return found == objects.end() ? nullptr : found->second;
}

godot_variant to_engine(const Value& value) {
  godot_variant out;
  switch (static_cast<Kind>(value.index())) {
    case Kind::kBool: api->godot_variant_new_bool(&out, std::get<bool>(value)); break;
    case Kind::kInteger: api->godot_variant_new_int(&out, std::get<std::int64_t>(value)); break;
    case Kind::kNumber: api->godot_variant_new_real(&out, std::get<double>(value)); break;
    case Kind::kText: {
      const Text text(std::get<std::string>(value));
      api->godot_variant_new_string(&out, text.get());
      break;
    }
    case Kind::kFloats: {
      const Floats& floats = std::get<Floats>(value);
      godot_pool_real_array array;
      api->godot_pool_real_array_new(&array);
      api->godot_pool_real_array_resize(&array, static_cast<godot_int>(floats.size()));
      if (!floats.empty()) {
        godot_pool_real_array_write_access* access = api->godot_pool_real_array_write(&array);
        std::copy(floats.begin(), floats.end(), api->godot_pool_real_array_write_access_ptr(access));
        api->godot_pool_real_array_write_access_destroy(access);
      }
      api->godot_variant_new_pool_real_array(&out, &array);
      api->godot_pool_real_array_destroy(&array);
      break;
    }
    case Kind::kBytes: {
      const std::string& bytes = std::get<Bytes>(value).data;
      godot_pool_byte_array array;
      api->godot_pool_byte_array_new(&array);
      api->godot_pool_byte_array_resize(&array, static_cast<godot_int>(bytes.size()));
      if (!bytes.empty()) {
        godot_pool_byte_array_write_access* access = api->godot_pool_byte_array_write(&array);
        std::copy(bytes.begin(), bytes.end(), api->godot_pool_byte_array_write_access_ptr(access));
        api->godot_pool_byte_array_write_access_destroy(access);
      }
      api->godot_variant_new_pool_byte_array(&out, &array);
      api->godot_pool_byte_array_destroy(&array);
      break;
    }
    default: api->godot_variant_new_nil(&out);
  }
  return out;
}

Floats floats_of(const godot_pool_real_array& array) {
  const auto size = static_cast<std::size_t>(api->godot_pool_real_array_size(&array));
  if (size == 0) return {};
  godot_pool_real_array_read_access* access = api->godot_pool_real_array_read(&array);
  const godot_real* data = api->godot_pool_real_array_read_access_ptr(access);
  Floats out(data, data + size);
  api->godot_pool_real_array_read_access_destroy(access);
  return out;
}

// The numbers of an Array; false if something else is in it.
bool floats_of(const godot_array& array, Floats& out) {
  for (godot_int i = 0; i < api->godot_array_size(&array); ++i) {
    const Variant item(api->godot_array_get(&array, i));
    const godot_variant_type type = api->godot_variant_get_type(item.get());
    if (type != GODOT_VARIANT_TYPE_REAL && type != GODOT_VARIANT_TYPE_INT) return false;
    out.push_back(static_cast<float>(api->godot_variant_as_real(item.get())));
  }
  return true;
}

// A value of another type becomes nothing, which no argument takes.
Value from_engine(const godot_variant* value) {
  switch (api->godot_variant_get_type(value)) {
    case GODOT_VARIANT_TYPE_BOOL: return Value(std::in_place_type<bool>, api->godot_variant_as_bool(value));
    case GODOT_VARIANT_TYPE_INT: return Value(std::in_place_type<std::int64_t>, api->godot_variant_as_int(value));
    case GODOT_VARIANT_TYPE_REAL: return api->godot_variant_as_real(value);
    case GODOT_VARIANT_TYPE_STRING: return Text(api->godot_variant_as_string(value)).text();
    case GODOT_VARIANT_TYPE_OBJECT: return object_of(api->godot_variant_as_object(value));
    case GODOT_VARIANT_TYPE_POOL_REAL_ARRAY: {
      godot_pool_real_array array = api->godot_variant_as_pool_real_array(value);
      Floats out = floats_of(array);
      api->godot_pool_real_array_destroy(&array);
      return out;
    }
    case GODOT_VARIANT_TYPE_POOL_INT_ARRAY: {
      godot_pool_int_array array = api->godot_variant_as_pool_int_array(value);
      Floats out;
      for (godot_int i = 0; i < api->godot_pool_int_array_size(&array); ++i) {
        out.push_back(static_cast<float>(api->godot_pool_int_array_get(&array, i)));
      }
      api->godot_pool_int_array_destroy(&array);
      return out;
    }
    case GODOT_VARIANT_TYPE_ARRAY: {
      godot_array array = api->godot_variant_as_array(value);
      Floats out;
      const bool are_numbers = floats_of(array, out);
      api->godot_array_destroy(&array);
      return are_numbers ? Value(std::move(out)) : Value();
    }
    case GODOT_VARIANT_TYPE_POOL_BYTE_ARRAY: {
      godot_pool_byte_array array = api->godot_variant_as_pool_byte_array(value);
      Bytes out;
      const auto size = static_cast<std::size_t>(api->godot_pool_byte_array_size(&array));
      if (size > 0) {
        godot_pool_byte_array_read_access* access = api->godot_pool_byte_array_read(&array);
        out.data.assign(reinterpret_cast<const char*>(api->godot_pool_byte_array_read_access_ptr(access)), size);
        api->godot_pool_byte_array_read_access_destroy(access);
      }
      api->godot_pool_byte_array_destroy(&array);
      return out;
    }
    default: return {};
  }
}

class Godot3 final : public Engine {
 public:
  void prepare() {
    emit_signal_ = api->godot_method_bind_get_method("Object", "emit_signal");
    call_deferred_ = api->godot_method_bind_get_method("Object", "call_deferred");
    globalize_path_ = api->godot_method_bind_get_method("ProjectSettings", "globalize_path");
  }
  void emit(void* peer, const char* signal, const std::vector<Value>& arguments) override {
    std::vector<Value> all = {std::string(signal)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    call(emit_signal_, peer, all);
  }
  void call_later(void* peer) override { call(call_deferred_, peer, {std::string("poll")}); }
  std::string system_path(const std::string& path) override {
    char name[] = "ProjectSettings";
    const Variant result(call_for(globalize_path_, api->godot_global_get_singleton(name), {path}));
    return Text(api->godot_variant_as_string(result.get())).text();
  }

 private:
  static godot_variant call_for(godot_method_bind* method, void* peer, const std::vector<Value>& values) {
    std::vector<std::unique_ptr<Variant>> held;
    std::vector<const godot_variant*> arguments;
    for (const Value& value : values) {
      held.push_back(std::make_unique<Variant>(to_engine(value)));
      arguments.push_back(held.back()->get());
    }
    godot_variant_call_error error;
    return api->godot_method_bind_call(method, static_cast<godot_object*>(peer), arguments.data(),
                                       static_cast<int>(arguments.size()), &error);
  }
  static void call(godot_method_bind* method, void* peer, const std::vector<Value>& values) {
    const Variant result(call_for(method, peer, values));
  }

  godot_method_bind *emit_signal_ = nullptr, *call_deferred_ = nullptr, *globalize_path_ = nullptr;
};
Godot3 engine;

struct BoundMethod {
  const Class& of;
  const Method& method;
};

void* create_instance(godot_object* peer, void* which) {
  std::unique_ptr<Object> object = static_cast<const Class*>(which)->create();
  object->attach(engine, peer);
  const std::lock_guard lock(objects_mutex);
  objects[peer] = object.get();
  return object.release();
}

void destroy_instance(godot_object* peer, void*, void* object) {
  {
    const std::lock_guard lock(objects_mutex);
    objects.erase(peer);
  }
  delete static_cast<Object*>(object);
}

godot_variant call_method(godot_object* peer, void* which, void* object, int count, godot_variant** arguments) {
  const auto& bound = *static_cast<const BoundMethod*>(which);
  const Variant held(peer);  // a receiver of a signal may let go of the object
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) values.push_back(from_engine(arguments[i]));
  return to_engine(invoke(bound.of, bound.method, *static_cast<Object*>(object), std::move(values)));
}

void forget_method(void* which) { delete static_cast<BoundMethod*>(which); }

void register_signal(void* handle, const char* of, const Signal& signal) {
  std::vector<godot_signal_argument> arguments;
  for (const std::string& name : signal.arguments) {
    godot_signal_argument argument{};
    argument.name = api->godot_string_chars_to_utf8(name.c_str());
    argument.type = GODOT_VARIANT_TYPE_STRING;
    argument.hint = GODOT_PROPERTY_HINT_NONE;
    argument.hint_string = api->godot_string_chars_to_utf8("");
    argument.usage = GODOT_PROPERTY_USAGE_DEFAULT;
    api->godot_variant_new_nil(&argument.default_value);
    arguments.push_back(argument);
  }
  godot_signal all{};
  all.name = api->godot_string_chars_to_utf8(signal.name.c_str());
  all.num_args = static_cast<int>(arguments.size());
  all.args = arguments.data();
  scripts->godot_nativescript_register_signal(handle, of, &all);
  api->godot_string_destroy(&all.name);
  for (godot_signal_argument& argument : arguments) {
    api->godot_string_destroy(&argument.name);
    api->godot_string_destroy(&argument.hint_string);
    api->godot_variant_destroy(&argument.default_value);
  }
}

}  // namespace

#ifdef _WIN32
#define LOOM_GODOT_EXPORT __declspec(dllexport)
#else
#define LOOM_GODOT_EXPORT __attribute__((visibility("default")))
#endif

extern "C" {

void LOOM_GODOT_EXPORT godot_gdnative_init(godot_gdnative_init_options* options) {
  api = options->api_struct;
  for (unsigned int i = 0; i < api->num_extensions; ++i) {
    if (api->extensions[i]->type == GDNATIVE_EXT_NATIVESCRIPT) {
      scripts = reinterpret_cast<const godot_gdnative_ext_nativescript_api_struct*>(api->extensions[i]);
    }
  }
  engine.prepare();
}

void LOOM_GODOT_EXPORT godot_gdnative_terminate(godot_gdnative_terminate_options*) { Workers::join_all(); }

void LOOM_GODOT_EXPORT godot_nativescript_init(void* handle) {
  for (const Class& of : classes()) {
    // The table lasts as long as the library.
    void* which = const_cast<Class*>(&of);
    scripts->godot_nativescript_register_class(handle, of.name.c_str(), "Reference", {create_instance, which, nullptr},
                                               {destroy_instance, nullptr, nullptr});
    for (const Method& method : of.methods) {
      scripts->godot_nativescript_register_method(handle, of.name.c_str(), method.name.c_str(),
                                                  {GODOT_METHOD_RPC_MODE_DISABLED},
                                                  {call_method, new BoundMethod{of, method}, forget_method});
    }
    for (const Signal& signal : signals()) register_signal(handle, of.name.c_str(), signal);
  }
}
}
