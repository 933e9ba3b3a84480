// Values that pass between a script and the classes of this folder, without a type of either engine.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace loom_godot {

class Object;

using Floats = std::vector<float>;
struct Bytes {
  std::string data;
};
// An Object* is an object of this folder; null for null and for objects of others.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, Floats, Bytes, Object*>;

// The type of an argument or a result; its number is the index in Value.
enum class Kind { kNothing, kBool, kInteger, kNumber, kText, kFloats, kBytes, kObject };

template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_void_v<T>) {
    return Kind::kNothing;
  } else {
    constexpr bool matches[] = {false,
                                std::is_same_v<T, bool>,
                                std::is_same_v<T, std::int64_t>,
                                std::is_same_v<T, double>,
                                std::is_same_v<T, std::string>,
                                std::is_same_v<T, Floats>,
                                std::is_same_v<T, Bytes>,
                                std::is_same_v<T, Object*>};
    for (int i = 0; i < 8; ++i) {
      if (matches[i]) return static_cast<Kind>(i);
    }
    return Kind::kNothing;
  }
}

}  // namespace loom_godot
