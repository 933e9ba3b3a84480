#pragma once
// The run-time state of one user of a language model: sequences with their caches, threads, scratch memory. Many
// sessions may share one model. Feeding a prompt whole, in chunks or token by token, alone or beside other sequences,
// gives the same bits. A session that loses its graphics card continues on the host: it reads its tokens again, and the
// call in which the card was lost, like all later ones, gives the same results as on the card.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sha256.h"
#include "lm/decoder.h"
#include "lm/draw_row.h"
#include "lm/host_weights.h"
#include "lm/session_ahead.h"
#include "network/plan/forward_plan.h"
#include "network/session/state_store.h"

namespace loom {

struct SessionOptions {
  int threads = 0;           // 0: one per physical core; not read where there is a pool
  std::optional<Isa> isa{};  // absent: the best one
  Activations activations = Activations::int16;
  std::size_t context_tokens = 0;  // 0: the model's own context, at most kDefaultContext
  std::size_t sequences = 1;       // that can be held at once
  // rows of one forward pass at most; 0: 128, on a graphics card 512 where no window slides
  std::size_t chunk_rows = 0;
  DType kv_dtype = DType::float32;  // of keys and values: float32, bfloat16, int8 (ops/attention/kv_cache.h)
  Device* device = nullptr;         // that stores tensors and runs ops; null: the host. Outlives the session
  // Called once, with a line that reports that the card was lost and that the session continues on the host.
  std::function<void(const std::string& line)> on_loss{};
  // Chooses the device in place of `device`.
  std::function<Device*(const DecoderModel&, const SessionOptions&)> choose_device{};
  std::shared_ptr<ThreadPool> pool = {};  // shared with other sessions, also of other threads; null: one of its own
  // names of the model's adapters (lm/peft.h) that are active in this session; absent: those that are enabled
  std::optional<std::vector<std::string>> adapters{};
};
inline constexpr std::size_t kDefaultContext = 4096;
// Names of Activations.
inline constexpr std::string_view kActivationTypes[] = {"int8", "int16"};
constexpr std::string_view name(Activations type) { return kActivationTypes[static_cast<std::size_t>(type)]; }
Result<Activations> activations_from_name(std::string_view name);

class Session {
 public:
  ~Session();
  // NotFound for an adapter that the model does not have; InvalidArgument, OutOfMemory.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const DecoderModel> model,
                                                 const SessionOptions& options);

  struct Feed {
    std::size_t sequence = 0;
    std::span<const std::int32_t> ids;
    // Drafts of the ids that may follow. The pass also computes and keeps the logits after as many drafts as the pass
    // and the context have room for: later feeds of one id each that equal the drafts take no pass. Tokens and logits
    // are those without drafts; a sliding window may have advanced by one more block.
    std::span<const std::int32_t> drafts{};
    // Read by feed_pass() alone. One that wants logits may ask for a choice in their place.
    bool wants_logits = true, chooses = false;
    // How a token is chosen: as Sampler does by options that DrawRow::takes(); null takes the greatest logit.
    const SamplingOptions* sampling = nullptr;
    std::uint32_t sampling_session = 0;  // the parameter `session` of Sampler::choose()
  };
  // Appends the ids to their sequences; a sequence appears once. Returns the logits that follow the last id of each
  // feed: [feeds, vocab_size], valid until the next call. ContextFull, IndexOutOfRange, InvalidArgument; Cancelled when
  // `*cancel`, which is read between cells, was set from any thread. Every sequence of a call that failed keeps the
  // tokens it had before.
  Result<ConstTensor> feed(std::span<const Feed> feeds, const std::atomic<bool>* cancel = nullptr);
  Result<std::span<const float>> feed(std::span<const std::int32_t> ids, std::size_t sequence = 0,
                                      const std::atomic<bool>* cancel = nullptr);
  // Like feed(), in one forward pass: at most chunk_rows() ids in total, `drafts` are not read. Returns the logits
  // after the last id of each feed that wants them and does not choose, in their order: [such feeds, vocab_size].
  Result<ConstTensor> feed_pass(std::span<const Feed> feeds, const std::atomic<bool>* cancel = nullptr);
  // Returns the choices of the feeds of the last feed_pass() that choose, in their order, as feed_and_choose() does.
  // A graphics card keeps the logits, and the host reads the ids alone.
  std::span<const std::int32_t> choices() const { return choices_; }
  // Like feed(), for one sequence: returns the next token, chosen by `sampling` of the feed, and kNoChoice
  // (ops/choice/choice.h) where a logit is not finite, none can be chosen, or the draw is undecided (ops/draw/draw.h):
  // a Sampler then chooses from logits(). `drafts` are not read. A graphics card
  // keeps the logits, and computes up to `ahead` more tokens (kMostAhead at most; what the caller may feed and the
  // context holds), each pass feeding the id that the pass before chose. If the next call feeds the returned id, with
  // equal options, its pass is done or running. Any other call for that sequence drops the passes ahead, and so does
  // feed_and_choose() for another sequence.
  static constexpr std::size_t kMostAhead = ChoiceRun::kMostAhead;
  Result<std::int32_t> feed_and_choose(const Feed& feed, std::size_t ahead, const std::atomic<bool>* cancel = nullptr);
  // The logits that follow the last token of a sequence, valid until the next call. After feed_and_choose() of it,
  // and after a feed_pass() in which a card chose for it, they are available, otherwise that token is fed once more.
  // InvalidState for a sequence without tokens, else as feed().
  Result<std::span<const float>> logits(std::size_t sequence = 0, const std::atomic<bool>* cancel = nullptr);
  // Like feed(), for one sequence, with the logits after every id: visit(index of the id, logits).
  Result<void> feed_all(std::span<const std::int32_t> ids,
                        const std::function<void(std::size_t, std::span<const float>)>& visit, std::size_t sequence = 0,
                        const std::atomic<bool>* cancel = nullptr);
  // Like feed(), for one sequence and without logits: for the beginning of a prompt that continues.
  Result<void> prefill(std::span<const std::int32_t> ids, std::size_t sequence = 0,
                       const std::atomic<bool>* cancel = nullptr);
  // The errors that feed() would give for what it is asked, without feeding it.
  Result<void> check(std::span<const Feed> feeds) const;
  // Returns whether a draft predicted that this id comes next, so that its feed takes no pass.
  bool foresees(std::int32_t id, std::size_t sequence = 0) const;

  std::size_t length(std::size_t sequence = 0) const { return tokens_[sequence].size(); }
  std::span<const std::int32_t> tokens(std::size_t sequence = 0) const { return tokens_[sequence]; }
  // Another number after every call that has changed the tokens of a sequence.
  std::uint64_t revision(std::size_t sequence = 0) const { return revisions_[sequence]; }
  // Drops what follows the first n tokens. OutOfRange when n is longer than the sequence or older than a sliding
  // window's ring.
  Result<void> rewind(std::size_t n, std::size_t sequence = 0);
  // Like rewind(), also after a sliding window has advanced: the next call then reads the n tokens again, which takes
  // time. OutOfRange when n is longer than the sequence.
  Result<void> truncate(std::size_t n, std::size_t sequence = 0);
  // Copies a sequence onto another.
  Result<void> fork(std::size_t from, std::size_t to);
  // The first n tokens of one sequence replace those of another, which shares the whole blocks of 64 positions of keys
  // and values; a graphics card copies them. OutOfRange; Unsupported where a sliding window has advanced; OutOfMemory,
  // after which the other sequence is empty.
  Result<void> share(std::size_t from, std::size_t n, std::size_t to);
  // Like truncate(), and gives the memory of what was dropped to the other sequences; on a graphics card only that of a
  // whole sequence.
  Result<void> clear(std::size_t sequence, std::size_t n = 0);

  // Tokens and cache of a sequence as bytes, and back: CorruptData, or ShapeMismatch for a snapshot of another model.
  Result<std::vector<std::byte>> snapshot(std::size_t sequence = 0);
  Result<void> restore(std::span<const std::byte> bytes, std::size_t sequence = 0);

  // Activates other adapters for all later calls, like SessionOptions::adapters. All sequences are empty after this
  // call, since their caches were computed with other adapters. NotFound, with everything as it was.
  Result<void> choose_adapters(std::optional<std::vector<std::string>> names);
  const std::optional<std::vector<std::string>>& adapters() const { return adapters_; }

  // Sees every layer of the passes that follow, until it is null again; not on a graphics card.
  void set_watch(LayerWatch* watch) { watch_ = watch; }

  const DecoderModel& model() const { return *model_; }
  const std::shared_ptr<const DecoderModel>& shared_model() const { return model_; }
  std::size_t context_tokens() const { return context_tokens_; }
  DType kv_dtype() const { return kv_dtype_; }
  std::size_t sequences() const { return tokens_.size(); }
  std::size_t chunk_rows() const { return chunk_rows_; }  // tokens of one forward pass at most
  int threads() const { return pool_->threads(); }
  // The precision of the device that it began on: values that a card computed do not become exact when the card is
  // lost.
  Precision precision() const { return precision_; }
  const std::shared_ptr<ThreadPool>& pool() const { return pool_; }
  Isa isa() const { return isa_; }
  Device* device() const { return device_; }  // null: the host
  Activations activations() const { return activations_; }
  std::size_t scratch_bytes() const { return arena_.size(); }
  // Memory that each token of a sequence takes, outside of sliding windows.
  std::size_t token_bytes() const { return states_.position_bytes(); }
  // The host's copies of the weights of a file (lm/host_weights.h).
  std::size_t weight_bytes_on_host() const { return weights_.bytes_on_host(); }
  // Host memory of the keys and values of all sequences; what sequences share counts once.
  std::size_t cache_bytes() const { return states_.used_bytes(); }

 private:
  // How rows choose: where a row draws, all do.
  struct Choosing {
    std::span<const std::span<const std::int32_t>> banned{};
    std::span<const Drawing> drawings{};
    std::span<const std::int32_t> recent{};  // of these
  };
  // Tokens of one forward pass, with their sequences; `want` lists the rows whose logits are requested.
  struct Rows {
    std::span<const SequenceRows> runs;
    std::span<const std::int32_t> ids;
    std::span<const std::size_t> want{};
    // Memory in which a card keeps the logits of the last requested rows, and the ids that they choose: not read then.
    Tensor kept_logits{};
    std::span<std::int32_t> choice{};
    Choosing choosing{};
  };

  Session() = default;
  // Runs a part of a call, and runs it once more on the host if the card is lost in it.
  template <class F>
  auto with_host_fallback(F&& part) -> decltype(part()) {
    auto done = part();
    if (done || device_ == nullptr || done.error().code != Code::DeviceLost) return done;
    LOOM_TRY_VOID(move_to_host(done.error()));
    return part();
  }
  Result<void> move_to_host(const Error& lost);
  Result<ConstTensor> feed_pass_once(std::span<const Feed> feeds, const std::atomic<bool>* cancel);
  Result<ConstTensor> feed_once(std::span<const Feed> feeds, const std::atomic<bool>* cancel);
  Result<void> feed_all_once(std::span<const std::int32_t> ids,
                             const std::function<void(std::size_t, std::span<const float>)>& visit,
                             std::size_t sequence, const std::atomic<bool>* cancel);
  bool foresees(const Feed& feed) const { return feed.ids.size() == 1 && foresees(feed.ids[0], feed.sequence); }
  void forget_ahead(std::size_t sequence);
  // Drops the tokens after the first n, and what was computed ahead of them; the caches stay.
  void forget_after(std::size_t n, std::size_t sequence);
  static const SamplingOptions& options_of(const Feed& feed);
  bool continues_run(const Feed& feed) const;
  Result<std::int32_t> feed_card(const Feed& feed, std::size_t ahead, const std::atomic<bool>* cancel);
  std::int32_t choose_on_host(std::span<const float> logits, std::size_t chooser) const;
  Result<void> begin_run(const Feed& feed, const std::atomic<bool>* cancel);
  // A pass that chooses after the tokens of the sequence, those that are `fed`, and those on the card.
  Result<void> begin_choice(Rows rows, std::span<const std::int32_t> fed, const std::atomic<bool>* cancel);
  // Forgets the rows that choose, and adds one.
  void clear_choosers();
  void add_chooser(const SamplingOptions& options, std::uint32_t session, std::span<const std::int32_t> tokens,
                   std::span<const std::int32_t> fed, std::span<const std::uint32_t> unread = {});
  Choosing choosing();
  static void keep_choice(const Exec& exec, ConstTensor logits, const Rows& rows, std::size_t begin);
  Result<void> reserve_choices(std::size_t rows);
  Result<void> choose_in_pass(std::span<const Feed> feeds, std::size_t read, const std::atomic<bool>* cancel);
  Result<void> run_ahead(std::span<const std::int32_t> fed, std::size_t passes);
  Result<std::int32_t> next_choice();
  void drop_run();
  Result<std::span<const float>> logits_once(std::size_t sequence, const std::atomic<bool>* cancel);
  // Reads the tokens of a sequence once more when its caches lack positions that the next token sees.
  Result<void> refill(std::size_t sequence, const std::atomic<bool>* cancel);
  // Runs forward passes over ids from `position` on, without logits.
  Result<void> read(std::span<const std::int32_t> ids, std::size_t position, std::size_t sequence,
                    const std::atomic<bool>* cancel);
  Result<void> check_adapters(const std::optional<std::vector<std::string>>& names) const;
  Result<void> create_states(std::size_t sequences);
  Result<void> plan(std::size_t sequences);
  // The forward passes of feed() but the last one, where a feed is longer than its share of the rows.
  Result<void> read_beginnings(std::span<const Feed> feeds, std::size_t share, const std::atomic<bool>* cancel);
  // Lays out the last pass in runs_, ids_ and want_, with the rows of drafts last.
  void lay_out(std::span<const Feed> feeds, std::size_t share);
  Result<void> last_pass(std::span<const Feed> feeds, std::size_t share, const std::atomic<bool>* cancel);
  Result<void> reserve_logits(std::size_t rows);
  Result<void> keep_ahead();
  void commit(std::span<const Feed> feeds);
  std::size_t vocab() const { return plan_->shape_after(model_->network.num_cells() - 1).cols(); }
  // Runs one forward pass over at most chunk_rows rows; the requested logits are written to `logits`.
  Result<void> run_rows(const Rows& rows, float* logits, const std::atomic<bool>* cancel);
  void run_rows(const Exec& exec, const Rows& rows, float* logits);
  Exec exec(const std::atomic<bool>* cancel) { return {*pool_, *kernels_, arena_, cancel, activations_}; }
  Digest model_digest() const;

  std::shared_ptr<const DecoderModel> model_;
  HostWeights weights_;
  std::shared_ptr<const ForwardPlan> plan_;
  std::shared_ptr<ThreadPool> pool_;
  const KernelTable* kernels_ = nullptr;
  Isa isa_ = Isa::scalar;
  Activations activations_ = Activations::int16;
  std::size_t context_tokens_ = 0, chunk_rows_ = 0;
  DType kv_dtype_ = DType::float32;
  std::optional<std::vector<std::string>> adapters_;
  Device* device_ = nullptr;
  Precision precision_ = Precision::Strict;
  std::function<void(const std::string&)> on_loss_;
  LayerWatch* watch_ = nullptr;
  bool has_moved_ = false;       // off a card that was lost
  std::optional<Error> broken_;  // the card was lost, and the host could not take over
  Arena arena_;
  StateStore states_;
  std::vector<std::vector<std::int32_t>> tokens_;  // [sequence]
  std::vector<std::uint64_t> revisions_;           // [sequence]
  std::vector<DraftsAhead> ahead_;                 // [sequence]
  ChoiceRun ahead_run_;
  // The sequence and its revision whose last token the first row of logits_ follows; absent: not known.
  struct RowOf {
    std::size_t sequence = 0;
    std::uint64_t revision = 0;
  };
  std::optional<RowOf> row_of_;
  // Rows of logits that a card keeps after feed_pass(), and whose they are.
  Memory kept_logits_, kept_ids_;
  std::vector<RowOf> kept_;
  std::vector<std::int32_t> choices_;
  // How they are chosen, during a pass.
  std::vector<std::span<const std::int32_t>> banned_;
  std::vector<DrawRow> draw_rows_;
  std::vector<Drawing> drawings_;
  bool draws_ = false;
  Buffer kept_row_;  // that was read last
  Buffer logits_;
  // Filled per forward pass, reserved at create().
  std::vector<std::uint32_t> positions_;
  std::vector<SequenceRows> runs_;
  std::vector<std::int32_t> ids_;
  std::vector<std::size_t> want_;
};

}  // namespace loom
