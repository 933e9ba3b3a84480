#include "backend/webgpu/workgroup_memory.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace loom::gpu {
namespace {

// Reads declarations of a body, and the constants that they are made of.
class Declaration {
 public:
  Declaration(const Kernel& kernel, std::string_view text, int depth) : kernel_(kernel), text_(text), depth_(depth) {}

  // `name: type;`
  std::optional<std::uint64_t> variable_bytes() {
    const std::size_t colon = text_.find(':');
    if (colon == text_.npos) return std::nullopt;
    text_.remove_prefix(colon + 1);
    const std::uint64_t bytes = type_bytes();
    return take(";") ? std::optional(bytes) : std::nullopt;
  }
  // `expression;`
  std::optional<std::uint64_t> constant() {
    const std::uint64_t value = conjunction();
    return take(";") ? std::optional(value) : std::nullopt;
  }

 private:
  bool take(std::string_view token) {
    text_.remove_prefix(std::min(text_.size(), text_.find_first_not_of(" \n")));
    if (is_wrong_ || !text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void need(std::string_view token) { is_wrong_ |= !take(token); }
  std::string_view word() {
    take("");
    const auto end = std::ranges::find_if_not(
        text_, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
    const std::string_view out = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    is_wrong_ |= out.empty();
    text_.remove_prefix(out.size());
    return out;
  }

  std::uint64_t type_bytes() {
    const std::string_view name = word();
    if (name == "u32" || name == "i32" || name == "f32") return 4;
    is_wrong_ |= name != "array" && name != "vec2" && name != "vec4" && name != "atomic";
    need("<");
    const std::uint64_t element = is_wrong_ ? 0 : type_bytes();
    std::uint64_t count = name == "vec2" ? 2 : name == "vec4" ? 4 : 1;
    if (name == "array") need(","), count = sum();
    need(">");
    return element * count;
  }

  std::uint64_t conjunction() {
    std::uint64_t value = comparison();
    while (take("&&")) value = std::uint64_t{comparison() != 0} & std::uint64_t{value != 0};
    return value;
  }
  std::uint64_t comparison() {
    const std::uint64_t left = sum();
    if (take("==")) return std::uint64_t{left == sum()};
    if (take("!=")) return std::uint64_t{left != sum()};
    if (take("<=")) return std::uint64_t{left <= sum()};
    if (take(">=")) return std::uint64_t{left >= sum()};
    if (take("<")) return std::uint64_t{left < sum()};
    if (take(">")) return std::uint64_t{left > sum()};
    return left;
  }
  std::uint64_t sum() {
    std::uint64_t value = product();
    for (;;) {
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
    }
  }
  std::uint64_t product() {
    std::uint64_t value = term();
    for (;;) {
      if (take("*")) {
        value *= term();
      } else if (const bool divides = take("/"); divides || take("%")) {
        const std::uint64_t by = term();
        is_wrong_ |= by == 0;
        if (!is_wrong_) value = divides ? value / by : value % by;
      } else {
        return value;
      }
    }
  }
  std::uint64_t term() {
    if (take("(")) {
      const std::uint64_t value = conjunction();
      need(")");
      return value;
    }
    const std::string_view name = word();
    if (is_wrong_) return 0;
    std::uint64_t number = 0;
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
      const char *const begin = name.data(), *const end = begin + name.size();
      const auto [rest, error] = std::from_chars(begin, end, number);
      is_wrong_ |= error != std::errc() || (rest != end && std::string_view(rest, end) != "u");
      return number;
    }
    return take("(") ? function(name) : named(name);
  }
  std::uint64_t function(std::string_view name) {
    const std::uint64_t a = conjunction();
    need(",");
    const std::uint64_t b = conjunction();
    if (name == "select") {
      need(",");
      const bool takes_second = conjunction() != 0;
      need(")");
      return takes_second ? b : a;
    }
    need(")");
    is_wrong_ |= name != "max" && name != "min";
    return name == "max" ? std::max(a, b) : std::min(a, b);
  }
  std::uint64_t named(std::string_view name) {
    for (const Kernel::Number& c : kernel_.constants())
      if (c.name == name) return c.bits;
    const std::string_view body = kernel_.body();
    const std::string declared = "const " + std::string(name) + " = ";
    const std::size_t at = body.starts_with(declared) ? 0 : body.find("\n" + declared);
    is_wrong_ |= at == body.npos || depth_ == 0;
    if (is_wrong_) return 0;
    const auto value =
        Declaration(kernel_, body.substr(body.find(declared, at) + declared.size()), depth_ - 1).constant();
    is_wrong_ |= !value;
    return value.value_or(0);
  }

  const Kernel& kernel_;
  std::string_view text_;
  const int depth_;  // of constants made of constants
  bool is_wrong_ = false;
};

}  // namespace

std::optional<std::uint64_t> workgroup_bytes(const Kernel& kernel) {
  constexpr std::string_view kVariable = "var<workgroup> ";
  std::uint64_t bytes = 0;
  const std::string_view body = kernel.body();
  for (std::size_t at = 0; (at = body.find(kVariable, at)) != body.npos;) {
    at += kVariable.size();
    const auto one = Declaration(kernel, body.substr(at), 16).variable_bytes();
    if (!one) return std::nullopt;
    bytes += (*one + 15) / 16 * 16;
  }
  return bytes;
}

}  // namespace loom::gpu
