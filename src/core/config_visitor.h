#pragma once
// Settings described once. A config has one function that visits its fields: the key, the member that holds it (and,
// before it is read, its default), its range and one line of help. Reading (core/config_reader.h), writing and the JSON
// Schema with its tables of keys (core/config_writer.h) are visitors.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"

namespace loom {

struct Key {
  std::string_view names;   // the key and its aliases, separated by '|'
  std::string_view help{};  // one line for the manual

  constexpr Key(const char* key, std::string_view text = {}) : names(key), help(text) {}
  constexpr Key(std::string_view key, std::string_view text = {}) : names(key), help(text) {}
  std::string_view first() const { return names.substr(0, names.find('|')); }
};

struct SizeRange {
  std::uint64_t min = 0, max = 0x7fffffff;
};
inline constexpr SizeRange kAnySize{0, std::uint64_t{1} << 53};
inline constexpr SizeRange kOneOrMore{1, kAnySize.max};

struct NumberRange {
  double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity();
};
inline constexpr NumberRange kNotNegative{0};

class ConfigVisitor {
 public:
  using Fields = std::function<void(ConfigVisitor&)>;
  virtual ~ConfigVisitor() = default;

  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void operator()(Key key, T& value, SizeRange range = {}) {
    std::uint64_t wide = value;
    range.max = std::min<std::uint64_t>(range.max, std::numeric_limits<T>::max());
    whole(key, wide, range);
    if (wide != value) value = static_cast<T>(wide);  // several threads may write what one config holds
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, std::size_t>)
  void operator()(Key key, std::vector<T>& value, SizeRange items = {}) {
    std::vector<std::size_t> wide(value.begin(), value.end());
    wholes(key, wide, items);
    value.assign(wide.begin(), wide.end());
  }
  void operator()(Key key, std::vector<std::size_t>& value, SizeRange items = {}) { wholes(key, value, items); }
  void operator()(Key key, double& value, NumberRange range = {}) { number(key, value, range); }
  void operator()(Key key, std::optional<double>& value, NumberRange range = {}) { number(key, value, range); }
  void operator()(Key key, float& value, NumberRange range = {}) {
    double wide = static_cast<double>(value);
    number(key, wide, range);
    value = static_cast<float>(wide);
  }
  virtual void operator()(Key key, bool& value) = 0;
  virtual void operator()(Key key, std::string& value) = 0;
  virtual void operator()(Key key, std::optional<std::int64_t>& value) = 0;
  virtual void operator()(Key key, std::vector<double>& value) = 0;
  virtual void operator()(Key key, std::vector<std::string>& value) = 0;
  virtual void operator()(Key key, std::vector<std::int64_t>& value) = 0;
  virtual void operator()(Key key, std::vector<bool>& value) = 0;
  // A value that other code reads.
  virtual void json(Key key, Json& value) = 0;
  // An object with fields of its own. Where `name` is given, a text alone stands for an object with that key.
  virtual void object(Key key, const Fields& fields, std::string_view name = {}) = 0;
  // Returns whether keys are described, not read: a config then visits also the keys that depend on the values of
  // others.
  virtual bool describes() const { return false; }

  // Objects with fields of their own, at most kMaxObjects.
  template <class T>
  void objects(Key key, std::vector<T>& items) {
    T fresh;
    list(
        key, items.size(), [&](std::size_t size) { items.assign(size, T()); },
        [&](std::size_t i, ConfigVisitor& visit) { (i < items.size() ? items[i] : fresh).fields(visit); });
  }
  static constexpr std::size_t kMaxObjects = 64;

  // One of a list of names; `unknown` is the error of any other.
  template <class E>
  void choice(Key key, E& value, std::span<const std::string_view> names, Code unknown = Code::UnknownName) {
    auto index = static_cast<std::size_t>(value);
    choose(key, index, names, unknown);
    if (static_cast<E>(index) != value) value = static_cast<E>(index);
  }
  template <class E>
  void choice(Key key, E& value, std::initializer_list<std::string_view> names, Code unknown = Code::UnknownName) {
    choice(key, value, std::span(names.begin(), names.size()), unknown);
  }

 protected:
  virtual void whole(Key key, std::uint64_t& value, SizeRange range) = 0;
  virtual void wholes(Key key, std::vector<std::size_t>& value, SizeRange items) = 0;
  virtual void number(Key key, double& value, NumberRange range) = 0;
  virtual void number(Key key, std::optional<double>& value, NumberRange range) = 0;
  // item(i, visit) visits the fields of object i; beyond the last, those of a fresh one.
  virtual void list(Key key, std::size_t size, const std::function<void(std::size_t)>& resize,
                    const std::function<void(std::size_t, ConfigVisitor&)>& item) = 0;
  // Names may have aliases, separated by '|'.
  virtual void choose(Key key, std::size_t& index, std::span<const std::string_view> names, Code unknown) = 0;
};

// Looks at no field: for visitors that look for few.
class QuietVisitor : public virtual ConfigVisitor {
 public:
  using ConfigVisitor::operator();
  void operator()(Key, bool&) override {}
  void operator()(Key, std::string&) override {}
  void operator()(Key, std::optional<std::int64_t>&) override {}
  void operator()(Key, std::vector<double>&) override {}
  void operator()(Key, std::vector<std::string>&) override {}
  void operator()(Key, std::vector<std::int64_t>&) override {}
  void operator()(Key, std::vector<bool>&) override {}
  void json(Key, Json&) override {}
  void object(Key, const Fields&, std::string_view) override {}

 protected:
  void whole(Key, std::uint64_t&, SizeRange) override {}
  void wholes(Key, std::vector<std::size_t>&, SizeRange) override {}
  void number(Key, double&, NumberRange) override {}
  void number(Key, std::optional<double>&, NumberRange) override {}
  void list(Key, std::size_t, const std::function<void(std::size_t)>&,
            const std::function<void(std::size_t, ConfigVisitor&)>&) override {}
  void choose(Key, std::size_t&, std::span<const std::string_view>, Code) override {}
};

}  // namespace loom
