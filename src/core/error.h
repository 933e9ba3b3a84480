#pragma once
// How everything below the programs fails: a returned Error, never an exception, an exit or a print.

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

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
};

// "ShapeMismatch" for Code::ShapeMismatch: what bindings and JSON carry.
const char* code_name(Code code);

struct Error {
  Code code = Code::InvalidArgument;
  std::string message;  // where, what came, what was expected; one line
};

template <class T>
using Result = tl::expected<T, Error>;

template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> text, Args&&... args) {
  return tl::make_unexpected(Error{code, fmt::format(text, std::forward<Args>(args)...)});
}

// Puts the place in front of an error that comes from a layer below: "model.gguf: header ends early".
[[nodiscard]] inline tl::unexpected<Error> at(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return tl::make_unexpected(std::move(error));
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
