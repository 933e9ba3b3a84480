#pragma once
// Everything below the programs fails by returning an Error, never by an exception, an exit or a print.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace loom {

enum class Code : int {
  InvalidArgument = 1,
  InvalidConfig,
  ShapeMismatch,
  SizeOverflow,
  OutOfRange,
  IndexOutOfRange,
  NonFinite,
  UnknownName,
  UnknownKey,
  NotFound,
  IoError,
  DiskFull,
  CorruptData,
  Unsupported,
  OutOfMemory,
  ContextFull,
  NoTemplate,
  TemplateError,
  LimitExceeded,
  LinkCycle,
  Cancelled,
  EmptyTensor,
  FeedbackLink,
  LinkToEmpty,
  NestingTooDeep,
  InvalidState,
  NoValue,
  NoHistory,
  LossySave,
  Busy,
  BadHandle,
  DeviceLost,
};

// "ShapeMismatch" for Code::ShapeMismatch: what bindings and JSON carry.
const char* code_name(Code code);

// The way to a value inside a JSON document or a network, from the outside in: {"layers", "3", "num_heads"}.
using Steps = std::vector<std::string>;
// "/layers/3/num_heads" (RFC 6901).
std::string pointer_text(const Steps& steps);
// The steps of a layer's or weight's path: "layers.3.sequential_layers.0".
Steps path_steps(std::string_view path);

// A Place describes where an error arose: the file, the part of it, and the steps inside of that. It is one pointer
// wide, since every Result has room for one.
class Place {
 public:
  Place() = default;
  Place(Steps steps, std::string source = {});
  Place(const Place& other) : parts_(other.parts_ ? std::make_unique<Parts>(*other.parts_) : nullptr) {}
  Place(Place&&) noexcept = default;
  Place& operator=(Place other) noexcept {
    parts_ = std::move(other.parts_);
    return *this;
  }
  ~Place() = default;
  Steps steps() const { return parts_ ? parts_->steps : Steps(); }
  std::string source() const { return parts_ ? parts_->source : std::string(); }
  bool has_steps() const { return parts_ && !parts_->steps.empty(); }

 private:
  struct Parts {
    Steps steps;
    std::string source;
  };
  std::unique_ptr<Parts> parts_;
};

struct Error {
  Code code = Code::InvalidArgument;
  std::string message;  // what came and what was expected; one line
  Place place{};

  // A caller that knows more of the place adds it in front.
  Error& in_source(std::string_view outer);
  Error& under(Steps outer);
  // One line: "net.json: /layers/3/num_heads: expected an integer from 1 to 65536, got 0".
  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;

template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> text, Args&&... args) {
  return tl::make_unexpected(Error{code, fmt::format(text, std::forward<Args>(args)...)});
}

// An error with its place inside a document.
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail_at(Steps steps, Code code, fmt::format_string<Args...> text, Args&&... args) {
  return tl::make_unexpected(Error{code, fmt::format(text, std::forward<Args>(args)...), std::move(steps)});
}

// Passes an error of a layer below on, with the file or the part of it that it arose in.
[[nodiscard]] inline tl::unexpected<Error> at(std::string_view source, Error error) {
  return tl::make_unexpected(std::move(error.in_source(source)));
}
// Like at(), with the steps that lead to the place where the layer below began.
[[nodiscard]] inline tl::unexpected<Error> under(Steps steps, Error error) {
  return tl::make_unexpected(std::move(error.under(std::move(steps))));
}

[[noreturn]] void assertion_failed(const char* text, const char* file, int line);

}  // namespace loom

#define LOOM_JOIN_(a, b) a##b
#define LOOM_JOIN(a, b) LOOM_JOIN_(a, b)

// LOOM_TRY(auto header, read_header(bytes)); or LOOM_TRY_VOID(check(bytes)); passes an error up.
#define LOOM_TRY(declaration, ...) LOOM_TRY_(LOOM_JOIN(loom_try_, __LINE__), declaration, __VA_ARGS__)
#define LOOM_TRY_(name, declaration, ...)                           \
  auto name = (__VA_ARGS__);                                        \
  if (!name) return ::tl::make_unexpected(std::move(name).error()); \
  declaration = std::move(*name)
#define LOOM_TRY_VOID(...) \
  if (auto loom_try_void = (__VA_ARGS__); !loom_try_void) return ::tl::make_unexpected(std::move(loom_try_void).error())

// For broken invariants of ours only, never for input. Stays on in release: it guards memory.
#define LOOM_ASSERT(...) ((__VA_ARGS__) ? void(0) : ::loom::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
