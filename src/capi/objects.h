#pragma once
// What the handles of language models stand for.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "capi/handles.h"
#include "core/json_fwd.h"
#include "core/run_folder.h"
#include "core/thread_pool.h"
#include "host/device.h"
#include "host/receipt.h"
#include "lm/generator.h"

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

// Passes on the part that is done, where the caller wants to know; the answer 0 cancels.
template <class Options>
std::function<bool(std::size_t, std::size_t)> progress_of(const Options& given) {
  if (given.progress == nullptr) return {};
  return [call = given.progress, user = given.user](std::size_t done, std::size_t total) {
    return call(user, total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total)) != 0;
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

// Workers, instruction set and device, as far as the options name them, into those of the engine.
template <class Given, class Options>
Result<void> read_workers(const Given& given, Options& to) {
  if constexpr (requires { given.threads; }) {
    if (given.threads != 0) {
      LOOM_TRY(const auto use, Use<ThreadsObject>::of(given.threads));
      to.pool = use->pool;
    }
  }
  if constexpr (requires { given.thread_count; }) {
    if (given.thread_count < 0)
      return fail(Code::InvalidArgument, "thread_count is {}: expected 0 or more", given.thread_count);
    to.threads = given.thread_count;
  }
  if constexpr (requires { given.isa; })
    if (given.isa != nullptr) {
      LOOM_TRY(to.isa, isa_from_name(given.isa));
    }
  if constexpr (requires { given.device; })
    if (given.device != nullptr) LOOM_TRY_VOID(name_device(given.device, to));
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
void give_step(const std::string& piece, const Generation& so_far, loom_step* to, std::uint32_t room);
// The list of loom_generator_logprobs(); InvalidState where none were asked for.
Result<std::uint64_t> logprobs_blob(const Generation& generation, const GenerationOptions& options);
void give_generation(const Generation& generation, std::size_t dropped_bytes, loom_generation* to, std::uint32_t room);

}  // namespace loom::capi
