// Drafts, right or wrong, change the time of a generation and no bit of what it gives.

#include "lm/speculation.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>

#include "../support/files.h"
#include "core/philox.h"
#include "lm/generator.h"
#include "verify/golden_models.h"
#include "lm/peft.h"

namespace loom {
namespace {

using Ids = std::vector<std::int32_t>;
using Row = std::vector<float>;

const GoldenCase& case_of(const std::string& name) {
  static const std::vector<GoldenCase> cases = golden_cases();
  return *std::ranges::find(cases, name, &GoldenCase::name);
}

std::shared_ptr<const DecoderModel> model_of(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const DecoderModel>> models;
  auto& model = models[name];
  if (!model) model = golden_model(case_of(name)).value();
  return model;
}

SessionOptions options_of(const std::string& name, SessionOptions options = {}) {
  if (options.threads == 0) options.threads = 1;
  if (options.context_tokens == 0) options.context_tokens = 256;
  options.activations = case_of(name).activations, options.kv_dtype = case_of(name).kv_dtype;
  return options;
}

std::unique_ptr<Session> session_of(const std::string& name, SessionOptions options = {}) {
  return Session::create(model_of(name), options_of(name, options)).value();
}

Ids random_ids(std::size_t count, std::uint32_t stream, std::uint32_t below = 300) {
  const RandomStream random{23, RandomDomain::Noise, stream, 1};
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random.below(i, below)));
  return ids;
}

Row row_of(const Result<ConstTensor>& logits, std::size_t feed = 0) {
  EXPECT_TRUE(logits) << logits.error().text();
  return logits ? Row(logits->row(feed), logits->row(feed) + logits->cols) : Row();
}
bool same(const Row& a, const Row& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The logits after every id, fed one by one.
std::vector<Row> rows_of(Session& session, const Ids& ids, std::size_t sequence = 0) {
  std::vector<Row> rows;
  for (const std::int32_t id : ids) {
    const Session::Feed one{sequence, std::span(&id, 1)};
    rows.push_back(row_of(session.feed(std::span(&one, 1))));
  }
  return rows;
}

// Up to six drafts after ids[at]: the ids that follow, of which one at random may be wrong.
Ids drafts_after(const Ids& ids, std::size_t at, const RandomStream& random) {
  const std::size_t count = random.below(2 * at, 7), wrong = random.below(2 * at + 1, 9);
  Ids drafts;
  for (std::size_t i = 0; i < count; ++i)
    drafts.push_back(at + 1 + i < ids.size() && i != wrong ? ids[at + 1 + i] : static_cast<std::int32_t>(17 * i + 1));
  return drafts;
}

class DraftsOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Speculation, DraftsOf,
                         testing::Values("decoder q4_1", "decoder float32 mistral", "decoder q8_0 qwen2",
                                         "decoder q4_1 int8 activations", "decoder q4_1 bfloat16 keys and values",
                                         "decoder q4_1 int8 keys and values", "decoder float16 yarn odd sizes"));

TEST_P(DraftsOf, logits_are_those_without_them) {
  const Ids ids = random_ids(200, 1);
  const std::vector<Row> rows = rows_of(*session_of(GetParam()), ids);
  for (const std::size_t chunk_rows : {1, 3, 128})
    for (const std::uint32_t seed : {1u, 2u}) {
      const RandomStream random{seed, RandomDomain::Noise, 2, 1};
      const auto session =
          session_of(GetParam(), {.threads = 1 + static_cast<int>(seed % 2), .chunk_rows = chunk_rows});
      std::size_t free = 0;
      for (std::size_t at = 0; at < ids.size(); ++at) {
        free += session->foresees(ids[at]);
        const Ids drafts = drafts_after(ids, at, random);
        const Session::Feed one{0, std::span(&ids[at], 1), drafts};
        EXPECT_TRUE(same(row_of(session->feed(std::span(&one, 1))), rows[at])) << at;
        ASSERT_EQ(session->length(), at + 1);
        if (random.below(1000 + at, 23) == 0) {  // some tokens are taken back and come again
          const std::size_t back = std::min<std::size_t>(at, random.below(2000 + at, 6));
          ASSERT_TRUE(session->truncate(at + 1 - back));
          EXPECT_TRUE(std::ranges::equal(session->tokens(), std::span(ids).first(at + 1 - back)));
          for (std::size_t i = at + 1 - back; i <= at; ++i) {
            const Session::Feed again{0, std::span(&ids[i], 1)};
            EXPECT_TRUE(same(row_of(session->feed(std::span(&again, 1))), rows[i])) << at << " again";
          }
        }
      }
      EXPECT_EQ(free > 40, chunk_rows > 1) << free;
    }
}

// Each sequence has its own drafts; some of a call take no pass, others do.
TEST_P(DraftsOf, sequences_of_a_batch_draft_apart) {
  constexpr std::size_t kSequences = 3, kTokens = 60;
  std::vector<Ids> ids;
  std::vector<std::vector<Row>> rows;
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    ids.push_back(random_ids(kTokens, 3 + s));
    rows.push_back(rows_of(*session_of(GetParam()), ids[s]));
  }
  const auto session = session_of(GetParam(), {.sequences = kSequences, .chunk_rows = 16});
  for (std::size_t call = 0; session->length(0) < kTokens || session->length(1) < kTokens; ++call) {
    std::vector<Session::Feed> feeds;
    std::vector<Ids> drafts;
    for (const std::size_t s : {2, 0, 1}) {
      const std::size_t at = session->length(s);
      const RandomStream random{9, RandomDomain::Noise, static_cast<std::uint32_t>(s), 1};
      if (at == kTokens || random.below(500 + call, 4) == 0) continue;
      drafts.push_back(drafts_after(ids[s], at, random));
      feeds.push_back({s, std::span(&ids[s][at], 1)});
    }
    for (std::size_t f = 0; f < feeds.size(); ++f) feeds[f].drafts = drafts[f];
    if (feeds.empty()) continue;
    std::vector<std::size_t> at;
    for (const Session::Feed& feed : feeds) at.push_back(session->length(feed.sequence));
    const auto logits = session->feed(feeds);
    for (std::size_t f = 0; f < feeds.size(); ++f)
      EXPECT_TRUE(same(row_of(logits, f), rows[feeds[f].sequence][at[f]])) << feeds[f].sequence << " at " << at[f];
  }
}

TEST_P(DraftsOf, every_other_call_forgets_them) {
  const Ids ids = random_ids(40, 6);
  const std::vector<Row> rows = rows_of(*session_of(GetParam()), ids);
  const auto session = session_of(GetParam(), {.sequences = 2});
  const std::span<const std::int32_t> all = ids;
  const auto draft = [&](std::size_t at, std::size_t sequence = 0) {
    const Session::Feed one{sequence, all.subspan(at, 1), all.subspan(at + 1, 4)};
    EXPECT_TRUE(same(row_of(session->feed(std::span(&one, 1))), rows[at])) << at;
    EXPECT_TRUE(session->foresees(ids[at + 1], sequence) && !session->foresees(ids[at + 1] + 1, sequence));
  };
  ASSERT_TRUE(session->prefill(all.first(5)));
  draft(5);
  ASSERT_TRUE(session->prefill(all.subspan(6, 2)));  // more than one id
  draft(8);
  std::vector<Row> some;
  ASSERT_TRUE(session->feed_all(
      all.subspan(9, 3), [&](std::size_t, std::span<const float> row) { some.emplace_back(row.begin(), row.end()); }));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same(some[i], rows[9 + i])) << i;
  draft(12);
  const std::vector<std::byte> saved = session->snapshot().value();
  ASSERT_TRUE(session->fork(0, 1));
  draft(13, 1);
  ASSERT_TRUE(session->restore(saved, 1));
  EXPECT_FALSE(session->foresees(ids[14], 1));
  draft(13, 1);
  EXPECT_TRUE(session->foresees(ids[13], 0)) << "another sequence's";
  draft(13, 0);
  ASSERT_TRUE(session->truncate(10));
  EXPECT_FALSE(session->foresees(ids[10]));
  draft(10);
  ASSERT_TRUE(session->choose_adapters(std::vector<std::string>{}));
  EXPECT_FALSE(session->foresees(ids[11]));
  draft(0);
}

TEST(Drafts, outside_of_the_vocabulary_or_the_context) {
  const Ids ids = random_ids(20, 7);
  const auto session = session_of("decoder q4_1", {.context_tokens = 20});
  const std::vector<Row> rows = rows_of(*session_of("decoder q4_1"), ids);
  const std::span<const std::int32_t> all = ids;
  ASSERT_TRUE(session->prefill(all.first(10)));
  for (const std::int32_t id : {-1, 300, 1 << 30}) {
    const Session::Feed bad{0, all.subspan(10, 1), std::span(&id, 1)};
    EXPECT_EQ(session->feed(std::span(&bad, 1)).error().code, Code::IndexOutOfRange);
    EXPECT_EQ(session->length(), 10u);
  }
  const Ids many = random_ids(50, 8);  // more than there is room for
  Ids drafts(ids.begin() + 11, ids.end());
  drafts.insert(drafts.end(), many.begin(), many.end());
  for (std::size_t at = 10; at < 20; ++at) {
    const Session::Feed one{0, all.subspan(at, 1), drafts};
    EXPECT_EQ(session->foresees(ids[at]), at > 10);
    EXPECT_TRUE(same(row_of(session->feed(std::span(&one, 1))), rows[at])) << at;
  }
  const Session::Feed one{0, all.first(1), all};
  EXPECT_EQ(session->feed(std::span(&one, 1)).error().code, Code::ContextFull);
}

TEST(Drafts, a_cancel_keeps_the_tokens_and_their_bits) {
  const Ids ids = random_ids(12, 9);
  const std::vector<Row> rows = rows_of(*session_of("decoder q4_1"), ids);
  const auto session = session_of("decoder q4_1");
  const std::span<const std::int32_t> all = ids;
  ASSERT_TRUE(session->prefill(all.first(5)));
  const std::atomic<bool> cancel{true};
  const auto feed = [&](std::size_t at, const std::atomic<bool>* flag) {
    const Session::Feed one{0, all.subspan(at, 1), all.subspan(at + 1)};
    return session->feed(std::span(&one, 1), flag);
  };
  EXPECT_EQ(feed(5, &cancel).error().code, Code::Cancelled);
  EXPECT_TRUE(same(row_of(feed(5, nullptr)), rows[5]));
  EXPECT_TRUE(session->foresees(ids[6]));
  EXPECT_EQ(feed(6, &cancel).error().code, Code::Cancelled) << "a pass or not";
  EXPECT_EQ(session->length(), 6u);
  for (std::size_t at = 6; at < 12; ++at) EXPECT_TRUE(same(row_of(feed(at, nullptr)), rows[at])) << at;
}

// The values of one token overflow. In a pass they would meet the rows before them, times 0.
TEST(Drafts, a_draft_that_is_not_finite_reaches_no_other_token) {  // X-25, L-74
  GoldenCase c = case_of("decoder float32");
  DecoderModel changed = golden_decoder(c).value();
  constexpr std::int32_t kBroken = 7;
  std::size_t found = 0;
  changed.network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    const bool table = w.name() == "table", value = w.name() == "v.weight" && found < 2;
    if (!table && !value) return;
    ++found;
    Row values(w.elements());
    w.decode(0, values.size(), values.data());
    const auto width = static_cast<std::size_t>(c.config.hidden_size);
    for (std::size_t r = 0; r < values.size() / width; ++r)
      values[r * width] = value ? 3e38f : r == kBroken ? 100.0f : 0.0f;
    ASSERT_TRUE(w.set(std::span<const float>(values))) << path;
  });
  ASSERT_EQ(found, 2u);
  const auto model = std::make_shared<const DecoderModel>(std::move(changed));
  const auto plain = Session::create(model, {.threads = 1}).value(),
             drafted = Session::create(model, {.threads = 1}).value();
  Ids ids = random_ids(80, 10);
  std::ranges::replace(ids, kBroken, 8);
  const std::vector<Row> rows = rows_of(*plain, ids);
  for (const Row& row : rows) ASSERT_TRUE(std::isfinite(row[0]));
  std::size_t foreseen = 0;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    foreseen += drafted->foresees(ids[at]);
    Ids drafts(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1, ids.end());
    // After 58, which nothing predicts, the broken one is in another block of keys than the first drafts and
    // reaches only the later ones; what it has left meets no bare feed of 64.
    const bool breaks = at % 3 == 1 && at != 64;
    drafts.resize(std::min<std::size_t>(drafts.size(), breaks ? 7 : at > 51 && at < 58 ? 0 : at % 8));
    if (breaks) drafts.push_back(kBroken);
    const Session::Feed one{0, std::span(&ids[at], 1), drafts};
    EXPECT_TRUE(same(row_of(drafted->feed(std::span(&one, 1))), rows[at])) << at;
  }
  EXPECT_GT(foreseen, 0u);
  const Session::Feed broken{0, std::span(&kBroken, 1)};
  EXPECT_TRUE(std::isnan(row_of(drafted->feed(std::span(&broken, 1)))[0]));
}

// Proposes what a function says, always.
class ToldDrafter final : public Drafter {
 public:
  using Tell = std::function<Ids(std::span<const std::int32_t> ids, std::size_t most)>;
  explicit ToldDrafter(Tell tell) : tell_(std::move(tell)) {}
  Result<void> read(std::span<const std::int32_t> ids, const std::atomic<bool>*) override {
    ids_.assign(ids.begin(), ids.end());
    return {};
  }
  void append(std::int32_t id) override { ids_.push_back(id); }
  std::size_t evidence() const override { return kMostEvidence; }
  Result<std::span<const std::int32_t>> propose(std::size_t most, const std::atomic<bool>*) override {
    drafts_ = tell_(ids_, most);
    return drafts_;
  }

 private:
  Tell tell_;
  Ids ids_, drafts_;
};

struct Told {
  Generation generation;
  std::string shown;
  Ids tokens;  // of the session, after the generation
  Row next;    // logits after one more
};

class SpeculativeGeneration : public testing::Test {
 protected:
  // Ends where `cancel_behind` bytes have been shown.
  Told run(const LanguageModel& model, const Ids& prompt, GenerationOptions options, std::shared_ptr<Drafter> drafter,
           SessionOptions session_options = {}, std::size_t cancel_behind = std::string::npos) {
    if (session_options.threads == 0) session_options.threads = 1;
    if (session_options.context_tokens == 0) session_options.context_tokens = 256;
    const auto session = Session::create(model.decoder, session_options).value();
    options.drafter = std::move(drafter);
    Told out;
    const auto done = generate(*session, model, prompt, options, [&](std::string_view piece) {
      out.shown += piece;
      return out.shown.size() < cancel_behind;
    });
    EXPECT_TRUE(done) << done.error().text();
    if (done) out.generation = *done;
    out.tokens.assign(session->tokens().begin(), session->tokens().end());
    if (session->length() < session->context_tokens()) {
      const std::int32_t id = 5;
      const auto row = session->feed(std::span(&id, 1));
      EXPECT_TRUE(row);
      if (row) out.next.assign(row->begin(), row->end());
    }
    return out;
  }

  // The same generation without drafts and with every kind of them; counts what was accepted.
  void expect_same(const LanguageModel& model, const Ids& prompt, const GenerationOptions& options,
                   const SessionOptions& session = {}, std::size_t cancel_behind = std::string::npos) {
    const Told plain = run(model, prompt, options, nullptr, session, cancel_behind);
    EXPECT_EQ(plain.generation.speculation.passes, 0u);
    const auto vocab = static_cast<std::uint32_t>(model.decoder->config.vocab_size);
    const auto truth = [&](std::span<const std::int32_t> ids, std::size_t most) {
      Ids out;
      for (std::size_t at = ids.size() - prompt.size(); at < plain.generation.ids.size() && out.size() < most; ++at)
        out.push_back(plain.generation.ids[at]);
      return out;
    };
    const auto wrong = [&](std::span<const std::int32_t> ids, std::size_t most) {
      return random_ids(most, static_cast<std::uint32_t>(ids.size()), vocab);
    };
    const std::pair<const char*, std::shared_ptr<Drafter>> drafters[] = {
        {"ngram", std::make_shared<NgramDrafter>()},
        {"truth", std::make_shared<ToldDrafter>(truth)},
        {"wrong", std::make_shared<ToldDrafter>(wrong)},
        {"both", std::make_shared<ToldDrafter>([&](std::span<const std::int32_t> ids, std::size_t most) {
           Ids out = truth(ids, most);
           if (ids.size() % 3 == 0 && !out.empty()) out.back() = (out.back() + 1) % static_cast<std::int32_t>(vocab);
           return out;
         })}};
    for (const auto& [name, drafter] : drafters) {
      SCOPED_TRACE(name);
      const Told told = run(model, prompt, options, drafter, session, cancel_behind);
      const Generation &a = plain.generation, &b = told.generation;
      EXPECT_EQ(b.ids, a.ids);
      EXPECT_EQ(b.hash, a.hash);
      EXPECT_EQ(b.stop_reason, a.stop_reason);
      EXPECT_EQ(b.text, a.text);
      EXPECT_EQ(told.shown, plain.shown);
      EXPECT_EQ(b.prompt_tokens, a.prompt_tokens);
      EXPECT_EQ(b.decode_steps, a.decode_steps);
      ASSERT_EQ(b.logprobs.size(), a.logprobs.size());
      for (std::size_t i = 0; i < a.logprobs.size(); ++i)
        for (std::size_t k = 0; k < a.logprobs[i].size(); ++k) {
          EXPECT_EQ(b.logprobs[i][k].id, a.logprobs[i][k].id);
          EXPECT_EQ(b.logprobs[i][k].logprob, a.logprobs[i][k].logprob);
        }
      EXPECT_EQ(told.tokens, plain.tokens);
      EXPECT_EQ(told.next, plain.next);
      EXPECT_EQ(b.speculation.passes + b.speculation.accepted, b.decode_steps);
      accepted_ += b.speculation.accepted;
    }
  }

  std::size_t accepted_ = 0;
};

std::vector<GenerationOptions> settings() {
  std::vector<GenerationOptions> all;
  const auto with = [&](const std::function<void(GenerationOptions&)>& change) {
    GenerationOptions options;
    options.max_tokens = 40, options.logprobs = 2;
    change(options);
    all.push_back(options);
  };
  with([](auto&) {});
  with([](auto& o) { o.sampling.repetition_penalty = 1.3f, o.sampling.repetition_window = -1; });
  with([](auto& o) { o.sampling.frequency_penalty = 0.5f, o.sampling.presence_penalty = 0.2f; });
  with([](auto& o) { o.sampling.temperature = 0.3f, o.sampling.seed = 5; });
  with([](auto& o) { o.sampling.temperature = 0.8f, o.sampling.top_k = 5, o.sampling.top_p = 0.9f; });
  with([](auto& o) { o.sampling.temperature = 0.5f, o.sampling.min_p = 0.2f, o.sampling.repetition_penalty = 1.1f; });
  with([](auto& o) { o.sampling.temperature = 1, o.sampling.typical_p = 0.5f, o.sampling.logit_bias = {{65, 6.0f}}; });
  with([](auto& o) { o.max_tokens = 1; });
  with([](auto& o) { o.max_tokens = 2; });
  return all;
}

Ids repeating(std::size_t count) {
  const Ids part = random_ids(9, 12);
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(part[i % part.size()]);
  return ids;
}

TEST_F(SpeculativeGeneration, golden_models_under_every_setting) {
  for (const char* name : {"decoder q4_1", "decoder float32 mistral", "decoder q4_1 int8 keys and values",
                           "decoder q4_1 bfloat16 keys and values", "decoder q4_1 int8 activations"}) {
    LanguageModel model;
    model.decoder = model_of(name);
    std::size_t setting = 0;
    for (const GenerationOptions& options : settings())
      for (const Ids& prompt : {random_ids(30, 11), repeating(70)}) {
        SCOPED_TRACE(fmt::format("{}, setting {}, prompt of {}", name, setting++ / 2, prompt.size()));
        expect_same(model, prompt, options, options_of(name));
      }
  }
  EXPECT_GT(accepted_, 2000u);
}

TEST_F(SpeculativeGeneration, ends_in_the_middle_of_drafts) {
  LanguageModel model = load_language_model(test::source_path("tests/golden/models/llama2_untied")).value();
  const Ids prompt = repeating(40);
  Ids small;
  for (const std::int32_t id : prompt) small.push_back(id % 200 + 20);
  GenerationOptions options;
  options.max_tokens = 60;
  const Told free = run(model, small, options, nullptr);
  ASSERT_GT(free.shown.size(), 20u);
  expect_same(model, small, options);
  for (const std::size_t context : {small.size() + 1, small.size() + 2, small.size() + 13, small.size() + 40}) {
    SCOPED_TRACE(fmt::format("context of {}", context));
    expect_same(model, small, options, {.context_tokens = context});
  }
  for (const std::size_t cancel_behind : {1u, 5u, 11u, 17u}) {
    SCOPED_TRACE(fmt::format("cancelled behind {} bytes", cancel_behind));
    expect_same(model, small, options, {}, cancel_behind);
  }
  for (const std::size_t at : {2u, 7u, 15u}) {
    SCOPED_TRACE(fmt::format("stop string at {}", at));
    GenerationOptions stops = options;
    stops.stop = {free.shown.substr(at, 3), "never"};
    expect_same(model, small, stops);
  }
  for (const std::size_t at : {0u, 3u, 20u}) {
    SCOPED_TRACE(fmt::format("end of text at {}", at));
    GenerationOptions ends = options;
    ends.stop_ids = {free.generation.ids[at]};
    expect_same(model, small, ends);
    ends.min_tokens = at + 4;
    expect_same(model, small, ends);
    ends.ignore_eos = true;
    expect_same(model, small, ends);
  }
}

TEST_F(SpeculativeGeneration, with_adapters) {  // X-25, L-141
  const auto decoder = std::const_pointer_cast<DecoderModel>(
      load_language_model(test::source_path("tests/golden/models/llama2_untied")).value().decoder);
  ASSERT_TRUE(add_peft(*decoder, {.name = "x", .rank = 2}, 1));
  decoder->network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (w.role() != WeightRole::Adapter || !path.ends_with(".b")) return;
    Row values(w.elements());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i % 37) - 0.18f;
    EXPECT_TRUE(w.set(std::span<const float>(values)));
  });
  LanguageModel model;
  model.decoder = decoder;
  GenerationOptions options;
  options.max_tokens = 50;
  Ids prompt = repeating(30);
  for (std::int32_t& id : prompt) id = id % 200 + 20;
  expect_same(model, prompt, options);
  expect_same(model, prompt, options, {.adapters = std::vector<std::string>{}});
}

TEST_F(SpeculativeGeneration, drafts_outside_of_the_vocabulary_are_refused) {
  LanguageModel model;
  model.decoder = model_of("decoder q4_1");
  GenerationOptions options;
  options.drafter = std::make_shared<ToldDrafter>([](auto, std::size_t most) { return Ids(most, 300); });
  const auto session = session_of("decoder q4_1");
  const auto done = generate(*session, model, random_ids(5, 1), options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::IndexOutOfRange);
}

// By its own account, whatever is drafted: drafts that are wrong soon end.
TEST_F(SpeculativeGeneration, drafts_that_do_not_pay_are_few) {
  LanguageModel model;
  model.decoder = model_of("decoder q4_1");
  GenerationOptions options;
  options.max_tokens = 200;
  const auto nothing_right = [](std::span<const std::int32_t> ids, std::size_t most) {
    return random_ids(most, static_cast<std::uint32_t>(ids.size()) + 77);
  };
  const Told told = run(model, random_ids(20, 1), options, std::make_shared<ToldDrafter>(nothing_right));
  const SpeculationCounts& counts = told.generation.speculation;
  EXPECT_GE(counts.drafted, 2u);
  EXPECT_LE(0.25 * static_cast<double>(counts.drafted - counts.accepted),
            0.5 + 0.02 * 200 + static_cast<double>(counts.accepted));
}

TEST(NgramDrafter, the_latest_place_and_the_longest_agreement) {
  const auto drafts = [](const Ids& ids, std::size_t most) {
    NgramDrafter drafter;
    EXPECT_TRUE(drafter.read(ids, nullptr));
    std::pair<std::size_t, Ids> out{drafter.evidence(), {}};
    if (out.first == 0) return out;
    const auto proposed = drafter.propose(most, nullptr);
    if (proposed) out.second.assign(proposed->begin(), proposed->end());
    return out;
  };
  using Out = std::pair<std::size_t, Ids>;
  EXPECT_EQ(drafts({}, 3), Out(0, {}));
  EXPECT_EQ(drafts({1, 2, 3, 4}, 3), Out(0, {}));
  EXPECT_EQ(drafts({1, 2, 3, 9, 2}, 3), Out(0, {})) << "one token says too little";
  EXPECT_EQ(drafts({1, 2, 3, 4, 1, 2}, 2), Out(2, {3, 4}));
  EXPECT_EQ(drafts({1, 2, 3, 8, 1, 2, 4, 9, 1, 2}, 1), Out(2, {4})) << "the latest";
  EXPECT_EQ(drafts({7, 1, 2, 3, 8, 1, 2, 4, 9, 7, 1, 2}, 2), Out(3, {3, 8})) << "the longest";
  EXPECT_EQ(drafts({1, 2, 1, 2}, 5), Out(2, {1, 2, 1, 2, 1})) << "what repeats itself goes on";
  Ids many = random_ids(100, 3);
  many.insert(many.end(), many.begin(), many.begin() + 30);
  EXPECT_EQ(drafts(many, 1), Out(8, {many[30]}));
}

TEST(NgramDrafter, another_text_begins_anew) {
  NgramDrafter drafter;
  ASSERT_TRUE(drafter.read(Ids{1, 2, 3, 1, 2}, nullptr));
  EXPECT_EQ(drafter.evidence(), 2u);
  ASSERT_TRUE(drafter.read(Ids{4, 5, 1, 2}, nullptr));
  EXPECT_EQ(drafter.evidence(), 0u);
  ASSERT_TRUE(drafter.read(Ids{4, 5, 1, 2, 4, 5}, nullptr));  // goes on
  EXPECT_EQ(drafter.evidence(), 2u);
}

class ModelDrafting : public SpeculativeGeneration {
 protected:
  void SetUp() override {
    ModelOptions small;
    small.decoder.dtype = DType::int4;
    model_ = load_language_model(path_).value(), draft_ = load_language_model(path_, small).value();
    for (int i = 0; i < 150; ++i) prompt_.push_back(72 + i % 30);
  }
  std::string path_ = test::source_path("tests/golden/models/llama2_untied");
  LanguageModel model_, draft_;
  Ids prompt_;
};

TEST_F(ModelDrafting, gives_the_same_text) {
  GenerationOptions options;
  options.max_tokens = 60;
  const auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = 256}).value();
  std::size_t drafted = 0;
  const std::shared_ptr<Drafter> drafter = ModelDrafter::create(draft_, model_, *session).value();
  for (const float temperature : {0.0f, 0.4f, 0.0f}) {  // one drafter serves them one after another
    options.sampling.temperature = temperature;
    const Told plain = run(model_, prompt_, options, nullptr), told = run(model_, prompt_, options, drafter);
    EXPECT_EQ(told.generation.ids, plain.generation.ids);
    EXPECT_EQ(told.generation.hash, plain.generation.hash);
    EXPECT_EQ(told.shown, plain.shown);
    EXPECT_EQ(told.next, plain.next);
    drafted += told.generation.speculation.drafted;
  }
  EXPECT_GT(drafted, 0u);
  // the context ends
  const auto small = Session::create(model_.decoder, {.threads = 1, .context_tokens = 160}).value();
  options.sampling.temperature = 0;
  const Told plain = run(model_, prompt_, options, nullptr, {.context_tokens = 160}),
             told = run(model_, prompt_, options, ModelDrafter::create(draft_, model_, *small).value(),
                        {.context_tokens = 160});
  EXPECT_EQ(told.generation.hash, plain.generation.hash);
  EXPECT_EQ(told.generation.stop_reason, StopReason::Context);
}

TEST_F(ModelDrafting, the_smaller_model_reads_when_it_first_drafts) {
  const auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = 256}).value();
  const auto drafter = ModelDrafter::create(draft_, model_, *session).value();
  std::atomic<bool> cancel = true;
  EXPECT_TRUE(drafter->read(prompt_, &cancel));
  EXPECT_EQ(drafter->propose(1, &cancel).error().code, Code::Cancelled);
  cancel = false;
  EXPECT_EQ(drafter->propose(3, &cancel).value().size(), 3u);
}

TEST_F(ModelDrafting, keys_and_values_of_the_smaller_model_are_of_the_same_type) {
  const auto drafts_with = [&](DType dtype) {
    SessionOptions options;
    options.threads = 1, options.context_tokens = 256, options.kv_dtype = dtype;
    const auto session = Session::create(model_.decoder, options).value();
    // The model drafts for itself: its drafts are what a session of this type would write.
    const auto drafter = ModelDrafter::create(model_, model_, *session).value();
    EXPECT_TRUE(drafter->read(prompt_, nullptr));
    const auto drafts = drafter->propose(40, nullptr).value();
    EXPECT_TRUE(session->prefill(std::span(prompt_).first(prompt_.size() - 1)));
    Ids written, last{prompt_.back()};
    for (std::size_t i = 0; i < 40; ++i) {
      last[0] = argmax(session->feed(last).value());
      written.push_back(last[0]);
    }
    return std::pair(Ids(drafts.begin(), drafts.end()), written);
  };
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
    const auto [drafts, written] = drafts_with(dtype);
    EXPECT_EQ(drafts, written) << name(dtype);
  }
}

TEST_F(ModelDrafting, another_vocabulary_is_refused) {
  const auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = 64}).value();
  const auto refusal = [&] {
    const auto refused = ModelDrafter::create(draft_, model_, *session);
    return refused ? Error{} : refused.error();
  };
  EXPECT_EQ(refusal().message, "");
  // two tokens in each other's place
  std::string json = test::read_all(path_ + "/tokenizer.json");
  const std::size_t at = json.find("\"!\":");
  ASSERT_NE(at, json.npos);
  json[at + 1] = '?', json[json.find("\"?\":", at + 2) + 1] = '!';
  const test::TempFolder folder;
  test::write_all(folder / "tokenizer.json", json);
  draft_.tokenizer = load_tokenizer(folder / "tokenizer.json").value();
  EXPECT_EQ(refusal().code, Code::InvalidArgument);
  EXPECT_NE(refusal().message.find("token 33 is \"?\" in"), std::string::npos) << refusal().text();
  // fewer tokens
  json.replace(json.find(",\"ÿ\":"), json.find('}', json.find(",\"ÿ\":")) - json.find(",\"ÿ\":"), "");
  test::write_all(folder / "tokenizer.json", json);
  draft_.tokenizer = load_tokenizer(folder / "tokenizer.json").value();
  EXPECT_EQ(refusal().code, Code::InvalidArgument);
  EXPECT_NE(refusal().message.find("with the same tokens"), std::string::npos) << refusal().text();
  draft_.tokenizer = nullptr;
  EXPECT_EQ(refusal().code, Code::NotFound);
}

}  // namespace
}  // namespace loom
