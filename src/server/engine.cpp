#include "server/engine.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/checked.h"
#include "ops/attention/kv_cache.h"

namespace loom::server {
namespace {

// Sequences that hold anything. On a graphics card the memory of each may grow to a whole context.
std::size_t places_for(const EngineOptions& options, const Session& session) {
  if (session.device() == nullptr) return session.sequences();
  const std::size_t contexts = options.cache_tokens / round_up(session.context_tokens(), kCacheBlock);
  return std::clamp<std::size_t>(contexts, 1, session.sequences());
}

EngineOptions fitted(const EngineOptions& options, const Session& session) {
  EngineOptions out = options;
  const std::size_t context = round_up(session.context_tokens(), kCacheBlock);
  out.parallel = std::min(options.parallel, session.sequences());
  out.batch_tokens = std::min(options.batch_tokens, session.chunk_rows());
  if (out.cache_tokens == 0) out.cache_tokens = out.parallel * context;
  constexpr std::uint64_t kMostCacheTokens = std::uint64_t{1} << 36, kMostWaiting = std::uint64_t{1} << 32;
  out.cache_tokens = static_cast<std::size_t>(std::min<std::uint64_t>(out.cache_tokens, kMostCacheTokens));
  out.most_waiting = static_cast<std::size_t>(std::min<std::uint64_t>(out.most_waiting, kMostWaiting));
  if (session.device() != nullptr) out.parallel = std::min(out.parallel, places_for(out, session));
  return out;
}

// Tokens whose computation takes longer than a file's reading.
constexpr std::size_t kWorthAFile = 64;

std::size_t common_length(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(LanguageModel model, std::unique_ptr<Session> session,
                                              const EngineOptions& options) {
  LOOM_TRY_VOID(model.need_tokenizer());
  if (options.parallel == 0 || options.batch_tokens == 0)
    return fail(Code::InvalidArgument, "{} requests at once, {} rows of prompts in a pass: expected at least 1",
                options.parallel, options.batch_tokens);
  if (options.cache_tokens != 0 && options.cache_tokens < session->context_tokens())
    return fail(Code::InvalidArgument,
                "a cache of {} tokens is less than the context of {}: raise it, or lower the context",
                options.cache_tokens, session->context_tokens());
  std::unique_ptr<SequenceStore> store;
  if (!options.cache_folder.empty()) {
    LOOM_TRY(store, SequenceStore::open(options.cache_folder, options.cache_folder_bytes));
  }
  return std::unique_ptr<Engine>(new Engine(std::move(model), std::move(session), options, std::move(store)));
}

Result<void> Engine::prepare(Session& session, const EngineOptions& options) {
  constexpr std::size_t kPasses = 3;  // shaders are proved alone, then joined, and then go without a trial
  const std::size_t parallel = fitted(options, session).parallel;
  const std::int32_t id = 0;
  SamplingOptions greedy, drawing;
  drawing.temperature = 1, drawing.top_k = 0, drawing.repetition_penalty = 1.1F;
  const auto feed = [&]() -> Result<void> {
    for (const SamplingOptions* sampling : {&greedy, &drawing})
      for (const std::size_t count : {std::size_t{1}, std::size_t{2}, parallel}) {
        std::vector<Session::Feed> feeds(std::min(count, parallel));
        for (std::size_t s = 0; s < feeds.size(); ++s) feeds[s] = {s, {&id, 1}, {}, true, true, sampling};
        for (std::size_t pass = 0; pass < kPasses && session.length() < session.context_tokens(); ++pass) {
          if (feeds.size() == 1) {
            LOOM_TRY_VOID(session.feed_and_choose(feeds[0], 0));
          } else {
            LOOM_TRY_VOID(session.feed_pass(feeds));
          }
        }
      }
    return {};
  };
  auto done = session.device() == nullptr ? Result<void>() : feed();
  for (std::size_t s = 0; s < session.sequences(); ++s) LOOM_TRY_VOID(session.clear(s));
  return done;
}

Engine::Engine(LanguageModel model, std::unique_ptr<Session> session, const EngineOptions& options,
               std::unique_ptr<SequenceStore> store)
    : model_(std::move(model)),
      session_(std::move(session)),
      options_(fitted(options, *session_)),
      store_(std::move(store)),
      places_(places_for(options_, *session_)),
      thread_([this] { run(); }) {}

Engine::~Engine() {
  is_stopped_ = true;
  {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }
  thread_.join();
}

std::size_t Engine::under_way() const {
  const std::scoped_lock lock(mutex_);
  return num_waiting_ + num_running_;
}

Result<void> Engine::check_request(const Request& request) const {
  if (request.prompt.empty()) return fail(Code::InvalidArgument, "the prompt has no tokens");
  if (request.prompt.size() > context_tokens())
    return fail(Code::ContextFull, "the prompt has {} tokens, the context holds {}: loom serve --ctx makes it larger",
                request.prompt.size(), context_tokens());
  return check(request.options.sampling, static_cast<std::size_t>(model_.decoder->config.vocab_size));
}

Result<void> Engine::submit(Request request) {
  std::vector<Request> one;
  one.push_back(std::move(request));
  return submit(std::move(one));
}

Result<void> Engine::submit(std::vector<Request> requests) {
  for (const Request& request : requests) LOOM_TRY_VOID(check_request(request));
  const std::scoped_lock lock(mutex_);
  if (is_stopped_) return fail(Code::Cancelled, "the server ends");
  const std::size_t most = options_.parallel + options_.most_waiting, now = num_running_ + num_waiting_;
  if (requests.size() > most) {
    num_refused_ += requests.size();
    return fail(Code::LimitExceeded, "{} answers in one request, at most {} may run or wait on this server",
                requests.size(), most);
  }
  if (now > most - requests.size()) {
    num_refused_ += requests.size();
    return fail(Code::Busy, "{} requests are under way and {} came, at most {} may run or wait; try again later", now,
                requests.size(), most);
  }
  num_waiting_ += requests.size();
  for (Request& request : requests) incoming_.push_back(std::move(request));
  changed_.notify_all();
  return {};
}

void Engine::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopped_ || num_running_ + num_waiting_ > 0; });
      if (!incoming_.empty()) may_admit_ = true;
      for (Request& request : incoming_) queue_.push_back(std::move(request));
      incoming_.clear();
      if (is_stopped_) break;
    }
    admit();
    step();
    publish();
  }
  for (std::size_t place = 0; place < places_.size(); ++place)
    if (places_[place].running) use(place, places_[place].running->generator.stop());
  for (; !queue_.empty(); queue_.pop_front()) queue_.front().on_end(fail(Code::Cancelled, "the server ends"));
  publish();
  const std::scoped_lock lock(mutex_);
  num_waiting_ = 0;
}

void Engine::publish() {
  own_counts_.blocks_running = 0;
  std::size_t blocks_of_all = 0;
  for (const Place& place : places_) {
    own_counts_.blocks_running += place.running ? place.blocks : 0;
    blocks_of_all += place.blocks;
  }
  const std::size_t block_bytes = kCacheBlock * session_->token_bytes();
  own_counts_.blocks = is_on_card()       ? blocks_of_all
                       : block_bytes == 0 ? 0
                                          : ceil_div(session_->cache_bytes(), block_bytes);
  own_counts_.stored_bytes = store_ ? store_->bytes() : 0;
  const std::scoped_lock lock(mutex_);
  counts_ = own_counts_;
}

EngineCounts Engine::counts() const {
  const std::scoped_lock lock(mutex_);
  EngineCounts out = counts_;
  out.waiting = num_waiting_, out.running = num_running_, out.refused += num_refused_;
  out.most_blocks = blocks_of(options_.cache_tokens);
  return out;
}

bool Engine::is_unwanted(Running& running) const {
  if (running.request.is_wanted && !running.request.is_wanted()) running.is_unwanted = true;
  return running.is_unwanted;
}

// Requests go first in the order in which they came. One that waits for the beginning of its prompt, which another
// request is reading, lets others pass; one that waits for memory does not, since it might wait for ever.
void Engine::admit() {
  std::erase_if(queue_, [this](Request& request) {
    if (!request.is_wanted || request.is_wanted()) return false;
    turn_away(request, {Code::Cancelled, "the client has left"});
    return true;
  });
  if (!std::exchange(may_admit_, false)) return;
  for (auto at = queue_.begin(); at != queue_.end();) {
    const Admission admission = admit(*at);
    if (admission == Admission::Full && num_running() > 0) return;
    if (admission == Admission::Full)  // nothing will end and make room
      turn_away(*at,
                {Code::Busy, fmt::format("the request does not fit into a cache of {} tokens: ask for fewer tokens",
                                         options_.cache_tokens)});
    at = admission == Admission::Later ? std::next(at) : queue_.erase(at);
  }
}

void Engine::turn_away(Request& request, Error error) {
  begin_count(), end_count();
  ++(error.code == Code::Cancelled ? own_counts_.cancelled : own_counts_.failed);
  publish();
  request.on_end(tl::make_unexpected(std::move(error)));
}

std::size_t Engine::num_running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(places_, [](const Place& place) { return place.running != nullptr; }));
}

Engine::Admission Engine::admit(Request& request) {
  if (num_running() >= options_.parallel) return Admission::Full;
  std::optional<Prefix> found = longest_prefix(request);
  if (!found) {
    may_admit_ = true;
    return Admission::Later;
  }
  if (store_) {
    restore(request, *found);
    found = longest_prefix(request);
  }
  Prefix prefix = *found;
  const bool is_idle = !places_[prefix.place].running;
  const std::size_t last = blocks_of(
      std::min(context_tokens(), request.prompt.size() + std::min(request.options.max_tokens, context_tokens())));
  const auto fits = [&](std::size_t target) {
    const std::size_t has = target == prefix.place ? places_[target].blocks : prefix.count / kCacheBlock;
    return make_room(last > has ? last - has : 0, target, prefix.place);
  };
  // A conversation goes on in its own sequence; the beginning of another one is shared, or, where memory is short,
  // taken away from it.
  std::size_t target = free_place(prefix.place);
  if (prefix.count == 0 || (is_idle && prefix.count == session_->length(prefix.place))) target = prefix.place;
  if (target == prefix.place) shorten(prefix);
  if (!fits(target)) {
    if (!is_idle || target == prefix.place) return Admission::Full;
    target = prefix.place;
    shorten(prefix);
    if (!fits(target)) return Admission::Full;
  }
  auto taken = take_over(prefix, target);
  if (!taken) {
    turn_away(request, std::move(taken).error());
    return Admission::Done;
  }
  request.options.grammar = forms_.find(std::move(request.options.grammar));
  auto generator =
      Generator::create(*session_, model_, std::span(request.prompt).subspan(*taken), request.options, target);
  if (!generator) {
    turn_away(request, std::move(generator).error());
    return Admission::Done;
  }
  begin_count();
  Place& place = places_[target];
  place.running = std::make_unique<Running>(std::move(request), *std::move(generator));
  place.running->cached_tokens = *taken, place.running->last_blocks = last;
  return Admission::Done;
}

// The sequence that has most of the prompt; none while another request is reading more of it. The last token of the
// prompt is fed in any case, for its logits.
std::optional<Engine::Prefix> Engine::longest_prefix(const Request& request) const {
  const auto prompt = std::span(request.prompt).first(request.prompt.size() - 1);
  Prefix best{free_place(places_.size()), 0};
  std::size_t later = 0;
  for (std::size_t place = 0; place < places_.size(); ++place) {
    const std::size_t count = common_length(prompt, session_->tokens(place));
    if (count > best.count) best = {place, count};
    const Running* running = places_[place].running.get();
    if (running == nullptr || !running->generator.reads_prompt()) continue;
    later = std::max(later, common_length(prompt, running->request.prompt));
  }
  if (later > best.count) return std::nullopt;
  return best;
}

// Brings a sequence back from its file where that has more of the prompt than the best one in memory, and its blocks
// fit. The prompt is read again if that fails.
void Engine::restore(const Request& request, const Prefix& best) {
  const auto prompt = std::span(request.prompt).first(request.prompt.size() - 1);
  const auto match = store_->longest(prompt);
  if (match.count < best.count + kWorthAFile) return;
  const std::size_t blocks = blocks_of(store_->length(match.entry));
  const std::size_t target = free_place(places_.size());
  drop(target);  // its blocks are free for those that come
  if (!make_room(blocks, target, target)) return;
  const auto again = store_->longest(prompt);
  if (again.count != match.count) return;  // room for what was dropped has displaced it
  auto bytes = store_->read(again.entry);
  Result<void> done = bytes ? session_->restore(*bytes, target) : tl::make_unexpected(std::move(bytes).error());
  if (!done) {
    ++own_counts_.storage_errors;
    store_->drop(again.entry);
    return;
  }
  ++own_counts_.restored;
  places_[target].blocks = blocks_of(session_->length(target));
  places_[target].last_used = ++clock_;
}

// Writes a sequence to a file before its tokens from `from` on leave memory, if they are worth it.
void Engine::keep(std::size_t place, std::size_t from) {
  const auto tokens = session_->tokens(place);
  if (!store_ || tokens.size() < from + kWorthAFile || store_->holds(tokens)) return;
  const auto bytes = session_->snapshot(place);
  if (bytes && store_->put(tokens, *bytes))
    ++own_counts_.stored;
  else
    ++own_counts_.storage_errors;
}

// One that is empty, else the one that was used least recently; `except` only where there is no other.
std::size_t Engine::free_place(std::size_t except) const {
  std::optional<std::size_t> best;
  const auto rank = [&](std::size_t place) {
    return std::tuple(place == except, session_->length(place) != 0, places_[place].last_used);
  };
  for (std::size_t place = 0; place < places_.size(); ++place)
    if (!places_[place].running && (!best || rank(place) < rank(*best))) best = place;
  return best.value_or(0);
}

std::size_t Engine::blocks_of(std::size_t tokens) const { return ceil_div(tokens, kCacheBlock); }

// Returns whether so many blocks more fit beside those that the running requests may still take, after dropping what
// finished requests have left, the least recently used first.
bool Engine::make_room(std::size_t blocks, std::size_t target, std::size_t source) {
  if (is_on_card()) return true;  // every place has room for a whole context
  const std::size_t block_bytes = kCacheBlock * session_->token_bytes();
  for (const Place& place : places_)
    if (place.running && place.running->last_blocks > place.blocks) blocks += place.running->last_blocks - place.blocks;
  const std::size_t most = blocks_of(options_.cache_tokens) * block_bytes;
  if (target != source) drop(target);
  while (session_->cache_bytes() + blocks * block_bytes > most)
    if (!drop_oldest(target, source)) return false;
  return true;
}

void Engine::drop(std::size_t place) {
  keep(place);
  (void)session_->clear(place);
  places_[place].blocks = 0;
}

// Drops what the least recently used finished request has left; false where there is none but these two.
bool Engine::drop_oldest(std::size_t target, std::size_t source) {
  std::optional<std::size_t> oldest;
  for (std::size_t place = 0; place < places_.size(); ++place) {
    if (places_[place].running || place == target || place == source || places_[place].blocks == 0) continue;
    if (!oldest || places_[place].last_used < places_[*oldest].last_used) oldest = place;
  }
  if (oldest) drop(*oldest);
  return oldest.has_value();
}

// Leaves of a sequence what begins the prompt: nothing where a sliding window has moved on.
void Engine::shorten(Prefix& prefix) {
  if (prefix.count == session_->length(prefix.place)) return;
  Place& place = places_[prefix.place];
  keep(prefix.place, prefix.count);
  if (!session_->rewind(prefix.count, prefix.place)) prefix.count = 0;
  (void)session_->clear(prefix.place, prefix.count);
  place.blocks = blocks_of(prefix.count);
}

// Copies the beginning of the prompt into the target. Returns its length: 0 where the other sequence has lost it.
Result<std::size_t> Engine::take_over(const Prefix& prefix, std::size_t target) {
  if (prefix.place == target) return prefix.count;
  Place& place = places_[target];
  if (!places_[prefix.place].running) places_[prefix.place].last_used = ++clock_;
  keep(target);
  LOOM_TRY_VOID(session_->clear(target));
  place.blocks = 0;
  if (prefix.count == 0) return std::size_t{0};
  auto shared = session_->share(prefix.place, prefix.count, target);
  if (!shared && shared.error().code != Code::Unsupported) return tl::make_unexpected(std::move(shared).error());
  place.blocks = blocks_of(session_->length(target));
  return session_->length(target);
}

void Engine::step() {
  for (std::size_t place = 0; place < places_.size(); ++place) {
    Running* running = places_[place].running.get();
    if (running != nullptr && is_unwanted(*running)) use(place, running->generator.stop());
  }
  if (is_on_card() && num_running() == 1) return step_alone();
  lay_out();
  if (!feeds_.empty()) feed(feeds_);
}

// A graphics card chooses tokens ahead of the reader, of one sequence.
void Engine::step_alone() {
  const auto alone = std::ranges::find_if(places_, [](const Place& place) { return place.running != nullptr; });
  const auto number = static_cast<std::size_t>(alone - places_.begin());
  Running& running = *alone->running;
  const Generation& made = running.generator.result();
  const std::size_t read_before = made.prompt_tokens, fed_before = made.decode_steps;
  auto step = running.generator.next(&running.is_unwanted);
  while (!step && step.error().code == Code::OutOfMemory && drop_oldest(number, number))
    step = running.generator.next(&running.is_unwanted);
  const std::size_t read = std::max(made.prompt_tokens, read_before) - read_before;
  const std::size_t fed = made.decode_steps - fed_before;
  own_counts_.passes += fed + (read > 0 ? 1 : 0), own_counts_.rows += fed + read;
  alone->blocks = blocks_of(session_->length(number));
  use(number, std::move(step));
  // After the prompt a token is drawn, so that one is due in a pass with others.
  if (alone->running != nullptr && running.generator.due().empty())
    use(number, running.generator.next(&running.is_unwanted));
}

// Takes the next row of every sequence that writes, and divides the rows for prompts evenly: the shortest prompts come
// first, so that rows they leave go to the others.
void Engine::lay_out() {
  feeds_.clear();
  std::vector<std::size_t> readers;
  for (std::size_t place = 0; place < places_.size(); ++place) {
    const Running* running = places_[place].running.get();
    if (running == nullptr) continue;
    if (running->generator.reads_prompt())
      readers.push_back(place);
    else
      feeds_.push_back({place, running->generator.due()});
  }
  const auto due = [this](std::size_t place) { return places_[place].running->generator.due(); };
  std::ranges::stable_sort(readers, {}, [&](std::size_t place) { return due(place).size(); });
  std::size_t rows = std::min(options_.batch_tokens, session_->chunk_rows() - feeds_.size());
  for (std::size_t i = 0; i < readers.size() && rows > 0; ++i) {
    const auto ids = due(readers[i]);
    const std::size_t count = std::min(ids.size(), ceil_div(rows, readers.size() - i));
    feeds_.push_back({readers[i], ids.first(count), {}, count == ids.size()});
    rows -= count;
  }
  for (Session::Feed& one : feeds_) {
    Generator& generator = places_[one.sequence].running->generator;
    one.chooses = one.wants_logits && generator.may_session_choose();
    if (one.chooses) one.sampling = &generator.sampling(), one.sampling_session = generator.options().sampling_session;
  }
}

// Where memory runs out, the blocks of finished requests are reused. Where a pass of several sequences fails, each is
// fed alone: those that can go on do.
void Engine::feed(std::span<const Session::Feed> feeds) {
  auto fed = session_->feed_pass(feeds, &is_stopped_);
  while (!fed && fed.error().code == Code::OutOfMemory && drop_oldest(places_.size(), places_.size()))
    fed = session_->feed_pass(feeds, &is_stopped_);
  if (!fed) {
    if (is_stopped_) return;  // run() ends all
    if (feeds.size() > 1)
      for (const Session::Feed& one : feeds) feed(std::span(&one, 1));
    else
      end(feeds[0].sequence, std::move(fed).error());
    return;
  }
  ++own_counts_.passes;
  for (const Session::Feed& one : feeds) {
    Place& place = places_[one.sequence];
    place.blocks = std::max(place.blocks, blocks_of(session_->length(one.sequence)));
    own_counts_.rows += one.ids.size();
  }
  std::size_t row = 0, choice = 0;
  for (const Session::Feed& one : feeds) {
    if (one.chooses) continue;
    const float* const logits = one.wants_logits ? fed->row(row++) : nullptr;
    use(one.sequence, places_[one.sequence].running->generator.take(
                          one.ids.size(), std::span<const float>(logits, logits == nullptr ? 0 : fed->cols)));
  }
  // An answer that ends reads its logits from the card, and where that is lost, computes them in place of those above.
  for (const Session::Feed& one : feeds)
    if (one.chooses)
      use(one.sequence, places_[one.sequence].running->generator.take(one.ids.size(), session_->choices()[choice++]));
}

void Engine::use(std::size_t place, Result<Generator::Step> step) {
  if (!step) return end(place, std::move(step).error());
  Running& running = *places_[place].running;
  if (running.generator.reads_prompt() && step->prompt_tokens_read > 0) may_admit_ = true;
  if (!step->text.empty() && running.request.on_text && !running.request.on_text(step->text))
    running.is_unwanted = true;
  if (step->done) end(place);
}

void Engine::end(std::size_t place, std::optional<Error> error) {
  const std::unique_ptr<Running> running = std::move(places_[place].running);
  places_[place].last_used = ++clock_;
  may_admit_ = true;
  end_count();
  const Generation& made = running->generator.result();
  own_counts_.prompt_tokens += running->cached_tokens + made.prompt_tokens;
  own_counts_.cached_tokens += running->cached_tokens, own_counts_.written_tokens += made.ids.size();
  ++(error                                       ? own_counts_.failed
     : made.stop_reason == StopReason::Cancelled ? own_counts_.cancelled
                                                 : own_counts_.answered);
  publish();
  if (error) return running->request.on_end(tl::make_unexpected(*std::move(error)));
  running->request.on_end(Answer{made, {}, running->cached_tokens});
}

void Engine::begin_count() {
  const std::scoped_lock lock(mutex_);
  --num_waiting_, ++num_running_;
}

void Engine::end_count() {
  const std::scoped_lock lock(mutex_);
  --num_running_;
}

}  // namespace loom::server
