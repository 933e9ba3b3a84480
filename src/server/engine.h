#pragma once
// The thread that owns a session and answers several requests at once: each forward pass takes the next row of every
// sequence that writes and rows of the prompts that are still read. A row has the same bits in every pass, so an answer
// is that of the request alone. Prompts begin with what other sequences, running or finished, have read already.
//
// Threads: one thread of the engine owns the session, the sequences and all generators, and makes every call of a
// Request. Any thread may submit(), count or end the engine: requests enter through `incoming_`, and figures leave
// through `counts_`, both under `mutex_`; `is_stopped_` is an atomic that a forward pass reads between cells. Answers
// leave through Request's functions, whose receiver guards itself (HttpReply does).

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/json_fwd.h"
#include "lm/generator.h"
#include "lm/language_model.h"
#include "lm/session.h"
#include "server/known_forms.h"
#include "server/sequence_store.h"

namespace loom::server {

struct Answer {
  Generation generation;
  std::shared_ptr<const Json> receipt{};  // null: none was asked for
  std::size_t cached_tokens = 0;          // of the prompt, that the session held already
};

// Calls come from the engine's thread.
struct Request {
  std::vector<std::int32_t> prompt;
  GenerationOptions options;                        // a drafter has no effect where several requests run
  std::function<bool(std::string_view)> on_text{};  // text that can no longer change; false: nobody listens
  std::function<bool()> is_wanted{};                // asked before each pass
  std::function<void(Result<Answer>)> on_end{};     // once, whatever happens
};

struct EngineOptions {
  std::size_t most_waiting = 64;   // requests that wait beside those that run
  std::size_t parallel = 8;        // requests that run; at most the session's sequences
  std::size_t batch_tokens = 256;  // rows of prompts in one pass
  // positions of keys and values in memory; 0: the context of `parallel` sequences. On a graphics card at most as many
  // requests run as whole contexts are in it
  std::size_t cache_tokens = 0;
  std::string cache_folder{};  // for sequences that leave memory; empty: they are lost
  std::uint64_t cache_folder_bytes = std::uint64_t{4} << 30;
};

// Figures of an engine: of its work so far, and of now.
struct EngineCounts {
  std::uint64_t answered = 0, cancelled = 0, failed = 0, refused = 0;      // requests, by their end
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, written_tokens = 0;  // of requests that have ended
  std::uint64_t passes = 0, rows = 0;                                      // forward passes, and their rows
  std::uint64_t stored = 0, restored = 0, storage_errors = 0;              // sequences, to and from files
  std::uint64_t stored_bytes = 0;                                          // of those files now
  std::size_t waiting = 0, running = 0;                                    // requests
  // Blocks of keys and values, of 64 positions: in memory, shared ones once; of requests that run, shared ones for each
  // of them; and the limit.
  std::size_t blocks = 0, blocks_running = 0, most_blocks = 0;
};

class Engine {
 public:
  // The model must have a tokenizer. Sequences of the session beyond `parallel` keep what finished requests have read.
  // InvalidArgument for a cache that is smaller than the context; IoError for a folder that takes no files.
  static Result<std::unique_ptr<Engine>> start(LanguageModel model, std::unique_ptr<Session> session,
                                               const EngineOptions& options = {});
  // Compiles and proves what a graphics card runs when one sequence and when several write, so that the first answers
  // do not wait for it. The session is empty before and after this call. Errors are those of passes, as OutOfMemory.
  static Result<void> prepare(Session& session, const EngineOptions& options);
  // Sequences that a session needs for so many requests at once, and for as many beginnings as are worth keeping.
  static constexpr std::size_t sequences_for(std::size_t parallel) {
    constexpr std::size_t kMostKept = 64;
    return parallel + (3 * parallel < kMostKept ? 3 * parallel : kMostKept);
  }
  // Ends the requests that run with what they have written, and those that wait with Cancelled.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Checks the request and puts it last. Busy when too many wait; else what Generator::create() would give.
  Result<void> submit(Request request);
  // All of them or none.
  Result<void> submit(std::vector<Request> requests);

  const LanguageModel& model() const { return model_; }
  // For Request's functions alone: they are called by the thread that owns the session.
  const Session& session() const { return *session_; }
  std::size_t context_tokens() const { return session_->context_tokens(); }
  // Requests that wait or are answered, now.
  std::size_t under_way() const;
  // As of the last forward pass; requests that run or wait, and those that were refused, as of now.
  EngineCounts counts() const;

 private:
  struct Running {
    Request request;
    Generator generator;
    std::size_t cached_tokens = 0;
    std::size_t last_blocks = 0;  // of keys and values, when the answer has its greatest length
    std::atomic<bool> is_unwanted = false;

    Running(Request from, Generator with) : request(std::move(from)), generator(std::move(with)) {}
  };
  // A sequence of the session.
  struct Place {
    std::unique_ptr<Running> running;  // null: what it holds may begin other prompts
    std::size_t blocks = 0;            // whose memory it has
    std::uint64_t last_used = 0;
  };
  // Tokens that a sequence has in common with the beginning of a prompt.
  struct Prefix {
    std::size_t place = 0, count = 0;
  };
  enum class Admission { Done, Later, Full };

  Engine(LanguageModel model, std::unique_ptr<Session> session, const EngineOptions& options,
         std::unique_ptr<SequenceStore> store);
  void run();
  Result<void> check_request(const Request& request) const;
  void admit();
  Admission admit(Request& request);
  // Ends a request that waits, without having run.
  void turn_away(Request& request, Error error);
  std::size_t num_running() const;
  std::optional<Prefix> longest_prefix(const Request& request) const;
  std::size_t free_place(std::size_t except) const;
  void restore(const Request& request, const Prefix& best);
  void keep(std::size_t place, std::size_t from = 0);
  bool make_room(std::size_t blocks, std::size_t target, std::size_t source);
  void shorten(Prefix& prefix);
  Result<std::size_t> take_over(const Prefix& prefix, std::size_t target);
  void step();
  void step_alone();
  void lay_out();
  void feed(std::span<const Session::Feed> feeds);
  void use(std::size_t place, Result<Generator::Step> step);
  void end(std::size_t place, std::optional<Error> error = {});
  bool is_unwanted(Running& running) const;
  bool drop_oldest(std::size_t target, std::size_t source);
  void drop(std::size_t place);
  void begin_count();
  void end_count();
  void publish();
  std::size_t blocks_of(std::size_t tokens) const;
  bool is_on_card() const { return session_->device() != nullptr; }  // until that is lost

  LanguageModel model_;
  std::unique_ptr<Session> session_;
  const EngineOptions options_;
  const std::unique_ptr<SequenceStore> store_;  // null: sequences that leave memory are lost
  std::vector<Place> places_;                   // [sequence]
  std::vector<Session::Feed> feeds_;
  std::deque<Request> queue_;  // of the engine's thread
  KnownForms forms_;
  bool may_admit_ = false;   // something has changed since a request had to wait
  std::uint64_t clock_ = 0;  // of last_used
  EngineCounts own_counts_;  // of the engine's thread
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> incoming_;
  std::size_t num_waiting_ = 0, num_running_ = 0, num_refused_ = 0;
  EngineCounts counts_;  // as published
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

}  // namespace loom::server
