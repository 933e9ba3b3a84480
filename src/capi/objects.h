#pragma once
// Objects of the handles of language models.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/options.h"
#include "core/json_fwd.h"
#include "core/run_folder.h"
#include "core/thread_pool.h"
#include "host/device.h"
#include "host/receipt.h"
#include "lm/generator.h"

namespace loom {
struct PromptRequest;
}

namespace loom::capi {

struct BlobObject : Object {
  static constexpr Kind kKind = Kind::Blob;
  explicit BlobObject(std::string given) : bytes(std::move(given)) {}
  const std::string bytes;
};
Result<std::uint64_t> make_blob(std::string bytes);
Result<std::uint64_t> make_blob(std::span<const std::byte> bytes);
Result<std::uint64_t> make_blob(const Json& json);

// A config in JSON, which may be empty.
Result<Json> config_json(const void* config, std::size_t size);

// Reports the fraction that is done to the caller's callback, where one is set; its answer 0 cancels.
template <class Options>
std::function<bool(std::size_t, std::size_t)> progress_of(const Options& given) {
  if (given.progress == nullptr) return {};
  return [call = given.progress, user = given.user](std::size_t done, std::size_t total) {
    const double fraction = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    return continues(call(user, fraction), "on_progress");
  };
}

Result<RunStart> run_start_of(loom_run_start given);

struct CancelObject : Object {
  static constexpr Kind kKind = Kind::Cancel;
  std::atomic<bool> flag{false};
};

// The flag of a handle, or none for 0, for the time of a call.
class CancelOf {
 public:
  static Result<CancelOf> handle(std::uint64_t handle) {
    CancelOf out;
    if (handle == 0) return out;
    LOOM_TRY(auto use, Use<CancelObject>::of(handle));
    out.use_.emplace(std::move(use));
    return out;
  }
  const std::atomic<bool>* flag() const { return use_ ? &(*use_)->flag : nullptr; }

 private:
  std::optional<Use<CancelObject>> use_;
};

struct ThreadsObject : Object {
  static constexpr Kind kKind = Kind::Threads;
  explicit ThreadsObject(std::shared_ptr<ThreadPool> given) : pool(std::move(given)) {}
  const std::shared_ptr<ThreadPool> pool;
};

inline Result<void> no_such_compute(const char* field) {
  return fail(Code::InvalidArgument, "compute.{} has no effect on this call: leave it unset", field);
}
// Reads the compute options of a call into those of the engine. InvalidArgument names a field that the engine's have no
// place for.
template <class Options>
Result<void> read_compute(const loom_compute_options* compute, Options& to) {
  LOOM_TRY(const loom_compute_options given, read_struct(compute));
  if (given.thread_count < 0)
    return fail(Code::InvalidArgument, "thread_count is {}: expected 0 or more", given.thread_count);
  if (given.threads != 0 && given.thread_count != 0)
    return fail(Code::InvalidArgument, "threads and thread_count: set one of them");
  if (given.threads != 0) {
    if constexpr (requires { to.pool; }) {
      LOOM_TRY(const auto use, Use<ThreadsObject>::of(given.threads));
      to.pool = use->pool;
    } else {
      return no_such_compute("threads");
    }
  }
  if (given.thread_count != 0) {
    if constexpr (requires { to.threads; })
      to.threads = given.thread_count;
    else
      return no_such_compute("thread_count");
  }
  if (given.isa != nullptr) {
    if constexpr (requires { to.isa; }) {
      LOOM_TRY(to.isa, isa_from_name(given.isa));
    } else {
      return no_such_compute("isa");
    }
  }
  if (given.device != nullptr) {
    if constexpr (requires { name_device(given.device, to); }) {
      LOOM_TRY_VOID(name_device(given.device, to));
    } else {
      return no_such_compute("device");
    }
  }
  if (given.max_bytes != 0) {
    if constexpr (requires { to.max_bytes; })
      to.max_bytes = given.max_bytes;
    else
      return no_such_compute("max_bytes");
  }
  return {};
}

struct TokenizerObject : Object {
  static constexpr Kind kKind = Kind::Tokenizer;
  explicit TokenizerObject(std::shared_ptr<const text::Tokenizer> given) : tokenizer(std::move(given)) {}
  const std::shared_ptr<const text::Tokenizer> tokenizer;
};

struct ModelObject : Object {
  static constexpr Kind kKind = Kind::Model;
  explicit ModelObject(LanguageModel given) : model(std::move(given)) {}
  const LanguageModel model;
};

struct SessionObject : Object {
  static constexpr Kind kKind = Kind::Session;
  SessionObject(std::shared_ptr<ModelObject> of, std::unique_ptr<Session> given)
      : model(std::move(of)), session(std::move(given)) {}
  const std::shared_ptr<ModelObject> model;
  const std::unique_ptr<Session> session;
};

struct GeneratorObject : Object {
  static constexpr Kind kKind = Kind::Generator;
  GeneratorObject(std::shared_ptr<SessionObject> of, Generator given, std::size_t dropped, Receipt::Prompt from)
      : session(std::move(of)), generator(std::move(given)), dropped_bytes(dropped), prompt(std::move(from)) {}
  const std::shared_ptr<SessionObject> session;  // it goes after the generator
  Generator generator;
  std::size_t dropped_bytes;
  Receipt::Prompt prompt;  // without ids
  std::string piece;       // that the last step gave
};

// Options of an answer in a session, and what it has said, as loom.h has them (generation.cpp).
Result<GenerationOptions> generation_options_of(const loom_generation_options& given, const SessionObject& session);
// The settings of prompts among the options.
Result<PromptRequest> prompt_request_of(const loom_generation_options& given, const LanguageModel& model);
Result<Json> messages_of(std::string_view text);
void give_step(const std::string& piece, const Generation& so_far, loom_step* to, std::uint32_t room);
// The list of loom_generator_logprobs(); InvalidState where none were asked for.
Result<std::uint64_t> logprobs_blob(const Generation& generation, const GenerationOptions& options);
void give_generation(const Generation& generation, std::size_t dropped_bytes, loom_generation* to, std::uint32_t room);

}  // namespace loom::capi
