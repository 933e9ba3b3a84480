#include "lm/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "core/hooks.h"
#include "core/philox.h"
#include "verify/golden_models.h"
#include "lm/language_model.h"
#include "lm/peft.h"
#include "lm/sampling.h"
#include "support/adapters.h"
#include "support/divided.h"
#include "support/null_device.h"
#include "support/paths.h"

namespace loom {
namespace {

using Ids = std::vector<std::int32_t>;
using Row = std::vector<float>;

constexpr const char* kPlain = "decoder q4_1";
constexpr const char* kWindow = "decoder float32 mistral";  // layer 0 sees 17 positions, layer 1 all

std::shared_ptr<const DecoderModel> model_of(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const DecoderModel>> models;
  auto& model = models[name];
  for (const GoldenCase& c : golden_cases())
    if (!model && c.name == name) model = golden_model(c).value();
  EXPECT_TRUE(model) << name;
  return model;
}

std::unique_ptr<Session> session_of(const std::string& name, SessionOptions options = {}) {
  if (options.threads == 0) options.threads = 1;
  if (options.context_tokens == 0) options.context_tokens = 256;
  auto session = Session::create(model_of(name), options);
  EXPECT_TRUE(session) << session.error().text();
  return std::move(*session);
}

Ids random_ids(std::size_t count, std::uint32_t stream = 0) {
  const RandomStream random{11, RandomDomain::Noise, stream, 1};
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random.below(i, 300)));
  return ids;
}

// Bits, so that -0 and 0 differ. A failed feed gives an empty row and a test failure.
Row feed(Session& session, std::span<const std::int32_t> ids, std::size_t sequence = 0) {
  auto row = session.feed(ids, sequence);
  EXPECT_TRUE(row) << row.error().text();
  return row ? Row(row->begin(), row->end()) : Row();
}
bool same(const Row& a, const Row& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Logits of a new session that reads these ids in one piece.
Row fresh(const std::string& name, const Ids& ids) {
  const auto session = session_of(name, {.context_tokens = ids.size(), .chunk_rows = ids.size()});
  return feed(*session, ids);
}

Ids joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Ids first(const Ids& ids, std::size_t n) { return Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)); }

class EveryKind : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Session, EveryKind, testing::Values(kPlain, kWindow));

TEST_P(EveryKind, chunks_give_the_same_bits) {
  const Ids ids = random_ids(150);
  const Row whole = fresh(GetParam(), ids);
  for (const std::size_t chunk_rows : {1, 16, 128})
    for (const std::size_t step : {1, 7, 64, 150})
      for (const int threads : {1, 2}) {
        const test::ExpectDivided divided(threads);
        const auto session = session_of(GetParam(), {.threads = threads, .chunk_rows = chunk_rows});
        Row row;
        for (std::size_t begin = 0; begin < ids.size(); begin += step)
          row = feed(*session, std::span(ids).subspan(begin, std::min(step, ids.size() - begin)));
        EXPECT_TRUE(same(row, whole)) << chunk_rows << " rows, steps of " << step << ", " << threads << " threads";
      }
}

TEST_P(EveryKind, every_row_of_feed_all_is_the_row_of_a_feed) {
  const Ids ids = random_ids(90);
  std::vector<Row> rows(ids.size());
  const auto all = session_of(GetParam(), {.chunk_rows = 40});
  ASSERT_TRUE(
      all->feed_all(ids, [&](std::size_t i, std::span<const float> row) { rows[i].assign(row.begin(), row.end()); }));
  EXPECT_EQ(all->length(), ids.size());
  const auto one = session_of(GetParam());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_TRUE(same(feed(*one, std::span(&ids[i], 1)), rows[i])) << i;
}

TEST_P(EveryKind, neighbours_in_a_batch_change_no_bit) {
  const std::vector<Ids> prompts = {random_ids(100, 1), random_ids(3, 2), random_ids(61, 3), random_ids(17, 4)};
  const auto session = session_of(GetParam(), {.sequences = 4, .chunk_rows = 32});
  std::vector<Session::Feed> feeds;
  for (const std::size_t s : {2, 0, 3, 1}) feeds.push_back({s, prompts[s]});
  auto logits = session->feed(feeds);
  ASSERT_TRUE(logits) << logits.error().text();
  ASSERT_EQ(logits->rows, 4u);
  for (std::size_t f = 0; f < 4; ++f)
    EXPECT_TRUE(same(Row(logits->row(f), logits->row(f) + logits->cols), fresh(GetParam(), prompts[feeds[f].sequence])))
        << "feed " << f;
  // Some of them go on, together.
  const Ids next = {5};
  const Session::Feed two[] = {{3, next}, {1, next}};
  logits = session->feed(two);
  ASSERT_TRUE(logits);
  EXPECT_TRUE(same(Row(logits->row(0), logits->row(0) + logits->cols), fresh(GetParam(), joined(prompts[3], next))));
  EXPECT_TRUE(same(Row(logits->row(1), logits->row(1) + logits->cols), fresh(GetParam(), joined(prompts[1], next))));
  EXPECT_EQ(session->length(0), 100u);
  EXPECT_EQ(session->length(1), 4u);
}

TEST_P(EveryKind, greedy_feeds_are_feeds_and_their_logits_can_be_asked_for) {
  const Ids prompt = random_ids(100);
  const auto fed = session_of(GetParam()), greedy = session_of(GetParam(), {.chunk_rows = 7});
  Ids next = prompt;
  for (int i = 0; i < 12; ++i) {
    const Row row = feed(*fed, next);
    const auto id = greedy->feed_and_choose({0, next}, 3);
    ASSERT_TRUE(id) << id.error().text();
    EXPECT_EQ(*id, argmax(row));
    for (int again = 0; again < 2; ++again) {
      const auto logits = greedy->logits();
      ASSERT_TRUE(logits) << logits.error().text();
      EXPECT_TRUE(same(Row(logits->begin(), logits->end()), row));
    }
    next = {*id};
  }
  ASSERT_TRUE(greedy->rewind(105));
  const auto logits = greedy->logits();
  ASSERT_TRUE(logits) << logits.error().text();
  EXPECT_TRUE(same(Row(logits->begin(), logits->end()),
                   fresh(GetParam(), Ids(fed->tokens().begin(), fed->tokens().begin() + 105))));
  EXPECT_EQ(greedy->length(), 105u);
  const Row row = feed(*greedy, Ids{5});
  ASSERT_TRUE(greedy->rewind(105));
  const std::int32_t best = argmax(row);
  const SamplingOptions banned{.banned = {best}};
  EXPECT_NE(greedy->feed_and_choose({.sequence = 0, .ids = Ids{5}, .sampling = &banned}, 0).value(), best);
  ASSERT_TRUE(greedy->truncate(0));
  EXPECT_EQ(greedy->logits().error().code, Code::InvalidState);
  EXPECT_EQ(greedy->logits(1).error().code, Code::OutOfRange);
}

TEST_P(EveryKind, rewind_then_other_tokens) {
  const Ids ids = random_ids(100), other = random_ids(20, 9);
  const auto session = session_of(GetParam());
  feed(*session, ids);
  ASSERT_TRUE(session->rewind(60));
  EXPECT_EQ(session->length(), 60u);
  EXPECT_TRUE(same(feed(*session, other), fresh(GetParam(), joined(first(ids, 60), other))));
  ASSERT_TRUE(session->rewind(0));
  EXPECT_TRUE(same(feed(*session, other), fresh(GetParam(), other)));
  EXPECT_EQ(session->rewind(21).error().code, Code::OutOfRange);
  EXPECT_EQ(session->rewind(0, 1).error().code, Code::OutOfRange);
  EXPECT_EQ(session->length(), 20u);
}

TEST_P(EveryKind, forks_part_ways) {
  const Ids ids = random_ids(80), a = random_ids(9, 1), b = random_ids(5, 2);
  const auto session = session_of(GetParam(), {.sequences = 3, .chunk_rows = 16});
  feed(*session, ids, 0);
  feed(*session, b, 2);  // replaces the old sequence
  ASSERT_TRUE(session->fork(0, 2));
  ASSERT_TRUE(session->fork(0, 0));
  EXPECT_TRUE(same(feed(*session, a, 0), fresh(GetParam(), joined(ids, a))));
  EXPECT_TRUE(same(feed(*session, b, 2), fresh(GetParam(), joined(ids, b))));
  EXPECT_EQ(session->fork(0, 3).error().code, Code::OutOfRange);
  EXPECT_EQ(session->fork(3, 0).error().code, Code::OutOfRange);
  ASSERT_TRUE(session->fork(1, 0));  // an empty one
  EXPECT_EQ(session->length(0), 0u);
}

// Prompts in pieces beside sequences that write: the rows of a pass that want logits have those of a sequence alone.
TEST_P(EveryKind, a_pass_of_several_sequences_has_the_bits_of_each_alone) {
  const Ids prompts[] = {random_ids(150, 1), random_ids(70, 2), random_ids(9, 3)};
  for (const std::size_t piece : {1, 7, 40}) {
    const auto session = session_of(GetParam(), {.sequences = 4, .chunk_rows = 3 * piece + 1});
    std::size_t at[] = {0, 0, 0}, finished = 0;
    while (finished < 3) {
      std::vector<Session::Feed> feeds;
      std::vector<std::size_t> wanting;
      for (const std::size_t s : {1, 0, 2}) {
        if (at[s] == prompts[s].size()) continue;
        const std::size_t count = std::min(piece + (s == 0 ? 1 : 0), prompts[s].size() - at[s]);
        const bool wants = at[s] + count == prompts[s].size();
        feeds.push_back({s, std::span(prompts[s]).subspan(at[s], count), {}, wants});
        at[s] += count;
        if (wants) wanting.push_back(s);
      }
      const auto logits = session->feed_pass(feeds);
      ASSERT_TRUE(logits) << logits.error().text();
      ASSERT_EQ(logits->rows, wanting.size());
      for (std::size_t row = 0; row < wanting.size(); ++row)
        EXPECT_TRUE(
            same(Row(logits->row(row), logits->row(row) + logits->cols), fresh(GetParam(), prompts[wanting[row]])))
            << piece << ", sequence " << wanting[row];
      finished += wanting.size();
    }
    for (std::size_t s = 0; s < 3; ++s) EXPECT_TRUE(std::ranges::equal(session->tokens(s), prompts[s]));
  }
  const auto session = session_of(GetParam(), {.sequences = 2, .chunk_rows = 16});
  const Ids nine = random_ids(9), eight = random_ids(8);
  const Session::Feed much[] = {{0, nine}, {1, eight}}, twice[] = {{0, eight}, {0, eight}};
  EXPECT_EQ(session->feed_pass(much).error().code, Code::InvalidArgument);
  EXPECT_EQ(session->feed_pass(twice).error().code, Code::InvalidArgument);
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(session->feed_pass(std::span(much).first(1), &cancel).error().code, Code::Cancelled);
  EXPECT_EQ(session->length(0), 0u);
  EXPECT_TRUE(same(feed(*session, nine), fresh(GetParam(), nine)));
}

TEST_P(EveryKind, sequences_share_their_beginning_until_they_write) {
  const Ids ids = random_ids(100), a = random_ids(70, 1), b = random_ids(66, 2);
  for (const std::size_t n : {0, 1, 63, 64, 65, 99, 100}) {
    const auto session = session_of(GetParam(), {.sequences = 3, .chunk_rows = 16});
    feed(*session, ids, 0);
    feed(*session, b, 2);  // is replaced
    ASSERT_TRUE(session->clear(2));
    const std::size_t before = session->cache_bytes();
    ASSERT_TRUE(session->share(0, n, 2)) << n;
    EXPECT_EQ(session->cache_bytes() > before, n % 64 != 0) << n;  // only a part of a block is copied
    EXPECT_TRUE(std::ranges::equal(session->tokens(2), first(ids, n)));
    EXPECT_TRUE(same(feed(*session, a, 2), fresh(GetParam(), joined(first(ids, n), a)))) << n;
    // The first sequence is what it was, goes on, and goes back into what they share.
    EXPECT_TRUE(same(feed(*session, b, 0), fresh(GetParam(), joined(ids, b)))) << n;
    ASSERT_TRUE(session->truncate(20, 0));
    EXPECT_TRUE(same(feed(*session, b, 0), fresh(GetParam(), joined(first(ids, 20), b)))) << n;
    ASSERT_TRUE(session->clear(0, 10));
    EXPECT_TRUE(same(feed(*session, a, 0), fresh(GetParam(), joined(first(ids, 10), a)))) << n;
    ASSERT_TRUE(session->clear(0));
    EXPECT_TRUE(same(feed(*session, b, 2), fresh(GetParam(), joined(joined(first(ids, n), a), b)))) << n;
    ASSERT_TRUE(session->clear(2));
    EXPECT_EQ(session->cache_bytes(), 0u) << n;
  }
}

TEST(Session, a_sequence_without_its_first_positions_is_not_shared) {
  const auto session = session_of(kWindow, {.sequences = 2, .chunk_rows = 16});
  const Ids ids = random_ids(200), other = random_ids(5, 1);
  feed(*session, ids, 0);
  feed(*session, other, 1);
  EXPECT_EQ(session->share(0, 150, 1).error().code, Code::Unsupported);
  EXPECT_EQ(session->share(0, 201, 1).error().code, Code::OutOfRange);
  EXPECT_EQ(session->share(0, 1, 2).error().code, Code::OutOfRange);
  EXPECT_TRUE(same(feed(*session, other, 1), fresh(kWindow, joined(other, other))));
  EXPECT_TRUE(same(feed(*session, other, 0), fresh(kWindow, joined(ids, other))));
}

TEST_P(EveryKind, snapshot_goes_on_in_any_session) {
  const Ids ids = random_ids(200), rest = random_ids(12, 3);
  const Row expected = fresh(GetParam(), joined(ids, rest));
  const auto session = session_of(GetParam(), {.chunk_rows = 16});
  feed(*session, ids);
  const std::vector<std::byte> saved = session->snapshot().value();
  EXPECT_EQ(session->snapshot().value(), saved);
  feed(*session, random_ids(30, 4));
  ASSERT_TRUE(session->restore(saved));
  EXPECT_TRUE(same(feed(*session, rest), expected));
  // Rings of other lengths hold other positions.
  for (const std::size_t chunk_rows : {1, 16, 100, 256}) {
    const auto other =
        session_of(GetParam(), {.threads = 2, .context_tokens = 300, .sequences = 2, .chunk_rows = chunk_rows});
    auto restored = other->restore(saved, 1);
    ASSERT_TRUE(restored) << restored.error().text();
    EXPECT_TRUE(std::ranges::equal(other->tokens(1), ids));
    EXPECT_TRUE(same(feed(*other, rest, 1), expected)) << chunk_rows;
    // A rewind to where a shorter ring has nothing left is refused, or right.
    if (other->rewind(150, 1)) {
      EXPECT_TRUE(same(feed(*other, rest, 1), fresh(GetParam(), joined(first(ids, 150), rest)))) << chunk_rows;
    }
  }
  const auto small = session_of(GetParam(), {.context_tokens = 199});
  EXPECT_EQ(small->restore(saved).error().code, Code::ContextFull);
  EXPECT_EQ(small->restore(saved, 1).error().code, Code::OutOfRange);
}

std::vector<std::byte> signed_again(std::vector<std::byte> bytes) {
  Sha256 hash;
  hash.update(std::span(bytes).first(bytes.size() - 32));
  const Digest digest = hash.finish();
  std::memcpy(bytes.data() + bytes.size() - 32, digest.data(), 32);
  return bytes;
}

TEST_P(EveryKind, damaged_snapshots_are_refused_and_change_nothing) {
  const Ids ids = random_ids(30), next = {7};
  const auto session = session_of(GetParam());
  feed(*session, ids);
  const std::vector<std::byte> saved = session->snapshot().value();
  ASSERT_TRUE(session->rewind(29));
  const auto refused = [&](std::span<const std::byte> bytes) {
    auto restored = session->restore(bytes);
    return !restored && session->length() == 29;
  };
  EXPECT_TRUE(refused({}));
  for (std::size_t n = 0; n < saved.size(); n += n < 400 ? 1 : 997)
    EXPECT_TRUE(refused(std::span(saved).first(n))) << n << " bytes";
  std::vector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(refused(longer));
  for (std::size_t n = 0; n < saved.size(); n += n < 200 ? 1 : 1499) {
    std::vector<std::byte> flipped = saved;
    flipped[n] ^= std::byte{4};
    EXPECT_TRUE(refused(flipped)) << "byte " << n;
  }
  EXPECT_TRUE(same(feed(*session, next), fresh(GetParam(), joined(first(ids, 29), next))));
}

// Whoever writes the bytes can write the digest as well: nothing may crash, and no id outside the vocabulary gets in.
TEST_P(EveryKind, snapshots_forged_with_a_right_digest_do_no_harm) {
  const Ids ids = random_ids(30), next = {7};
  const auto session = session_of(GetParam());
  feed(*session, ids);
  const std::vector<std::byte> saved = session->snapshot().value();
  constexpr std::size_t kDigest = 16, kCount = 48, kIds = 56;
  const auto forged = [&](std::size_t at, std::uint32_t value) {
    std::vector<std::byte> bytes = saved;
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
    return signed_again(std::move(bytes));
  };
  EXPECT_EQ(session->restore(forged(8, 77)).error().code, Code::Unsupported);
  EXPECT_EQ(session->restore(forged(kDigest, 1)).error().code, Code::ShapeMismatch);
  EXPECT_EQ(session->restore(forged(12, 2)).error().code, Code::CorruptData) << "a state of a step mesh";
  EXPECT_EQ(session->restore(forged(kCount, 0xffffffff)).error().code, Code::ContextFull);
  EXPECT_EQ(session->restore(forged(kCount, 31)).error().code, Code::CorruptData);
  EXPECT_EQ(session->restore(forged(kCount, 29)).error().code, Code::CorruptData);
  for (const std::uint32_t id : {300u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
    EXPECT_EQ(session->restore(forged(kIds, id)).error().code, Code::CorruptData) << id;
  EXPECT_EQ(session->restore(forged(kIds + 30 * 8, 31)).error().code, Code::CorruptData);
  EXPECT_FALSE(session->restore(forged(kIds + 30 * 8, 1)));
  for (std::size_t n = 0; n < 400; ++n) {
    std::vector<std::byte> bytes = saved;
    bytes[n * 131 % (bytes.size() - 32)] ^= std::byte{0x81};
    if (session->restore(signed_again(std::move(bytes)))) (void)session->feed(next);
  }
  ASSERT_TRUE(session->restore(saved));
  EXPECT_TRUE(same(feed(*session, next), fresh(GetParam(), joined(ids, next))));
}

// Attention multiplies whole blocks: values of a longer sequence after the end of a restored one must not count, NaN
// least of all.
TEST_P(EveryKind, a_restored_sequence_forgets_what_came_after_it) {  // X-20, L-74
  const Ids ids = random_ids(40), next = {7, 9};
  const auto session = session_of(GetParam());
  feed(*session, std::span(ids).first(5));
  const std::vector<std::byte> saved = session->snapshot().value();
  feed(*session, std::span(ids).subspan(5));
  std::vector<std::byte> broken = session->snapshot().value();
  constexpr std::size_t kIds = 56;
  for (std::size_t at = kIds + ids.size() * 8 + 8; at + 36 <= broken.size() && at < kIds + ids.size() * 8 + 8 + 4096;
       at += 4)
    for (std::size_t i = 0; i < 4; ++i) broken[at + i] = std::byte{i == 3 ? std::uint8_t{0x7f} : std::uint8_t{0xc0}};
  if (!session->restore(signed_again(std::move(broken)))) GTEST_FAIL() << "the first slot's rows are any numbers";
  ASSERT_TRUE(session->restore(saved));
  EXPECT_TRUE(same(feed(*session, next), fresh(GetParam(), joined(Ids(ids.begin(), ids.begin() + 5), next))));
}

TEST(Session, snapshot_of_another_model_is_refused) {
  const auto a = session_of(kPlain), b = session_of("decoder q4_0"), c = session_of(kWindow);
  feed(*a, random_ids(5));
  EXPECT_EQ(b->restore(a->snapshot().value()).error().code, Code::ShapeMismatch);
  EXPECT_EQ(c->restore(a->snapshot().value()).error().code, Code::ShapeMismatch);
}

// The same weights under other settings give other keys; so do adapters that count.
TEST(Session, snapshot_of_other_settings_is_refused) {
  const auto golden = [](const std::function<void(ModelConfig&)>& change) {
    const auto all = golden_cases();
    GoldenCase c = *std::find_if(all.begin(), all.end(), [](const GoldenCase& g) { return g.name == kPlain; });
    change(c.config);
    return golden_model(c).value();
  };
  const auto session = [](std::shared_ptr<const DecoderModel> model) {
    return Session::create(std::move(model), {.threads = 1, .context_tokens = 64}).value();
  };
  const auto plain = session(golden([](ModelConfig&) {}));
  feed(*plain, random_ids(5));
  const std::vector<std::byte> saved = plain->snapshot().value();
  ASSERT_TRUE(session(golden([](ModelConfig&) {}))->restore(saved));
  const std::function<void(ModelConfig&)> changes[] = {
      [](ModelConfig& c) { c.rope_theta = 500; },
      [](ModelConfig& c) { c.rms_norm_eps = 1e-3f; },
      [](ModelConfig& c) { c.rope_scaling.type = RopeScalingType::Linear, c.rope_scaling.factor = 2; },
  };
  for (const auto& change : changes)
    EXPECT_EQ(session(golden(change))->restore(saved).error().code, Code::ShapeMismatch);

  const auto loaded = [] {
    return load_language_model(test::source_path("tests/golden/models/llama2_untied")).value().decoder;
  };
  const auto base = session(loaded());
  feed(*base, Ids{1, 2, 3});
  const auto adapted = std::const_pointer_cast<DecoderModel>(loaded());
  ASSERT_TRUE(add_peft(*adapted, {.name = "x", .rank = 2}, 1));
  EXPECT_EQ(session(adapted)->restore(base->snapshot().value()).error().code, Code::ShapeMismatch);
  ASSERT_GT(test::enable_adapters(*adapted, "x", false), 0u);
  EXPECT_TRUE(session(adapted)->restore(base->snapshot().value()));
}

// A model with the adapters "x" and "y", which both change its answers.
std::shared_ptr<DecoderModel> adapted_model() {
  auto model = std::const_pointer_cast<DecoderModel>(
      load_language_model(test::source_path("tests/golden/models/llama2_untied")).value().decoder);
  std::uint64_t seed = 1;
  for (const char* name : {"x", "y"}) EXPECT_TRUE(add_peft(*model, {.name = name, .rank = 2}, seed++));
  model->network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (w.role() != WeightRole::Adapter || !path.ends_with(".b")) return;
    std::vector<double> values(w.elements());
    const RandomStream stream{seed++, RandomDomain::Noise, 0, random_site("adapter")};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(stream.uniform(i)) - 0.5;
    EXPECT_TRUE(w.set(std::span<const double>(values)));
  });
  return model;
}

TEST(Session, each_session_chooses_the_adapters_that_count_in_it) {  // L-141
  using Names = std::vector<std::string>;
  const Names choices[] = {Names{}, Names{"x"}, Names{"y"}, Names{"x", "y"}};
  const auto shared = adapted_model();
  const Ids ids = {3, 1, 4, 15, 9, 2, 6};
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<std::byte>> snapshots;
  for (const Names& names : choices) {
    // As a model of which only these are enabled.
    const auto alone = adapted_model();
    for (const char* name : {"x", "y"})
      ASSERT_GT(test::enable_adapters(*alone, name, std::ranges::find(names, name) != names.end()), 0u);
    const auto plain = Session::create(alone, {.threads = 1, .context_tokens = 32}).value();
    const auto wanted = feed(*plain, ids);
    sessions.push_back(Session::create(shared, {.threads = 1, .context_tokens = 32, .adapters = names}).value());
    EXPECT_TRUE(same(feed(*sessions.back(), ids), wanted));
    EXPECT_EQ(sessions.back()->snapshot().value(), plain->snapshot().value());
    snapshots.push_back(plain->snapshot().value());
    // Chosen later, by a session in use.
    const auto other = Session::create(shared, {.threads = 1, .context_tokens = 32, .sequences = 2}).value();
    feed(*other, joined(ids, ids));
    ASSERT_TRUE(other->choose_adapters(names));
    EXPECT_EQ(other->length(), 0u);
    EXPECT_TRUE(same(feed(*other, ids), wanted));
    EXPECT_EQ(other->choose_adapters(Names{"x", "z"}).error().code, Code::NotFound);
    EXPECT_EQ(other->length(), ids.size());
  }
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      EXPECT_EQ(sessions[a]->restore(snapshots[b]).has_value(), a == b) << a << " " << b;
  EXPECT_EQ(Session::create(shared, {.threads = 1, .adapters = Names{"z"}}).error().code, Code::NotFound);
}

TEST_P(EveryKind, a_full_context_keeps_its_tokens) {
  const Ids ids = random_ids(50), next = {7};
  const auto session = session_of(GetParam(), {.context_tokens = 50, .sequences = 2});
  feed(*session, first(ids, 40));
  auto over = session->feed(random_ids(11, 5));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::ContextFull);
  EXPECT_EQ(session->length(), 40u);
  // A neighbour that fits is not fed either.
  const Ids much = random_ids(51, 6);
  const Session::Feed both[] = {{0, next}, {1, much}};
  EXPECT_EQ(session->feed(both).error().code, Code::ContextFull);
  EXPECT_EQ(session->length(0), 40u);
  EXPECT_TRUE(same(feed(*session, std::span(ids).subspan(40)), fresh(GetParam(), ids)));
  EXPECT_EQ(session->feed(next).error().code, Code::ContextFull);
  EXPECT_EQ(session->feed_all(next, [](std::size_t, std::span<const float>) { ADD_FAILURE(); }).error().code,
            Code::ContextFull);
  EXPECT_EQ(session->length(), 50u);
  ASSERT_TRUE(session->rewind(49));
  EXPECT_TRUE(same(feed(*session, next), fresh(GetParam(), joined(first(ids, 49), next))));
}

TEST(Session, bad_feeds_are_refused_and_change_nothing) {
  const auto session = session_of(kPlain, {.sequences = 2});
  const Ids ids = random_ids(10), empty, next = {7};
  feed(*session, ids);
  for (const std::int32_t bad : {-1, 300, 2147483647, -2147483647 - 1}) {
    const Ids with_bad = {1, 2, bad};
    auto fed = session->feed(with_bad);
    ASSERT_FALSE(fed) << bad;
    EXPECT_EQ(fed.error().code, Code::IndexOutOfRange);
    EXPECT_NE(fed.error().text().find(fmt::format("{}", bad)), std::string::npos) << fed.error().text();
  }
  EXPECT_EQ(session->feed(empty).error().code, Code::InvalidArgument);
  EXPECT_EQ(session->feed(std::span<const Session::Feed>()).error().code, Code::InvalidArgument);
  EXPECT_EQ(session->feed(next, 2).error().code, Code::OutOfRange);
  const Session::Feed twice[] = {{1, next}, {1, next}};
  EXPECT_EQ(session->feed(twice).error().code, Code::InvalidArgument);
  const Session::Feed three[] = {{0, next}, {1, next}, {2, next}};
  EXPECT_EQ(session->feed(three).error().code, Code::InvalidArgument);
  EXPECT_EQ(session->length(0), 10u);
  EXPECT_EQ(session->length(1), 0u);
  EXPECT_TRUE(same(feed(*session, next), fresh(kPlain, joined(ids, next))));
}

// Pieces, neighbours, rewinds, forks and snapshots change no bit, whatever type keys and values are kept in.
TEST_P(EveryKind, kept_as_another_type_a_sequence_has_its_own_bits_however_it_comes) {  // L-74
  const Ids ids = random_ids(150), other = random_ids(60, 8);
  const Row exact = fresh(GetParam(), ids);
  for (const DType dtype : {DType::bfloat16, DType::int8}) {
    const auto made = [&](SessionOptions options) {
      options.kv_dtype = dtype;
      return session_of(GetParam(), options);
    };
    const auto whole = made({.chunk_rows = 150});
    const Row expected = feed(*whole, ids);
    double most = 0, size = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(expected[i]) - static_cast<double>(exact[i])));
      size = std::max(size, std::abs(static_cast<double>(exact[i])));
    }
    EXPECT_GT(most, 0);
    EXPECT_LT(most, 0.05 * size) << name(dtype);
    EXPECT_LT(whole->token_bytes() * (dtype == DType::int8 ? 3 : 2),
              session_of(GetParam())->token_bytes() + (dtype == DType::int8 ? 0 : 1));
    for (const Isa isa : usable_isas())
      for (const int threads : {1, 3}) {
        const auto session = made({.threads = threads, .isa = isa, .sequences = 2, .chunk_rows = 16});
        for (std::size_t begin = 0; begin < 105; begin += 7) feed(*session, std::span(ids).subspan(begin, 7));
        feed(*session, other, 1);
        ASSERT_TRUE(session->rewind(100));
        ASSERT_TRUE(session->fork(0, 1));
        const std::vector<std::byte> saved = session->snapshot().value();
        EXPECT_TRUE(same(feed(*session, std::span(ids).subspan(100), 1), expected)) << name(isa);
        ASSERT_TRUE(session->restore(saved, 1));
        EXPECT_TRUE(same(feed(*session, std::span(ids).subspan(100), 1), expected)) << name(isa);
        EXPECT_EQ(session_of(GetParam())->restore(saved).error().code, Code::ShapeMismatch);
      }
  }
  SessionOptions refused;
  refused.kv_dtype = DType::int4;
  EXPECT_EQ(Session::create(model_of(kPlain), refused).error().code, Code::InvalidArgument);
}

// A session whose memory the host cannot touch: no pass asks for a value, logits are all that is read.
TEST_P(EveryKind, runs_where_the_host_sees_no_tensor) {  // L-74
  for (const DType dtype : {DType::float32, DType::int8}) {
    test::NullDevice device;
    const auto session =
        session_of(GetParam(), {.threads = 2, .sequences = 2, .chunk_rows = 16, .kv_dtype = dtype, .device = &device});
    const Ids ids = random_ids(70), next = {7};
    EXPECT_EQ(feed(*session, ids).size(), 300u);
    EXPECT_EQ(device.reads, 1);
    feed(*session, next), feed(*session, ids, 1);
    EXPECT_EQ(device.reads, 3);
    ASSERT_TRUE(session->rewind(64));
    ASSERT_TRUE(session->fork(0, 1));
    feed(*session, next, 1);
  }
}

// Memory of a host that has so many more pieces to give.
struct Scarce {
  static void* allocate(void* user, std::size_t bytes, std::size_t alignment) {
    auto& self = *static_cast<Scarce*>(user);
    if (self.left == 0) return nullptr;
    --self.left;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void free(void* /*user*/, void* memory, std::size_t /*bytes*/) { std::free(memory); }
  Scarce() { set_memory_hook({this, allocate, free}); }
  ~Scarce() { set_memory_hook({}); }
  std::size_t left = ~std::size_t{0};
};

// Wherever the memory for keys and values ends, alone or beside others: the earlier tokens stay, and with more memory
// the session goes on with the bits of one that never lacked any.
TEST_P(EveryKind, a_session_survives_a_cache_that_cannot_grow) {  // L-74
  const Ids prompt = random_ids(60), more = random_ids(150, 1), other = random_ids(70, 2);
  const Row expected = fresh(GetParam(), joined(prompt, more)), beside = fresh(GetParam(), other);
  for (std::size_t pieces = 0; pieces < 8; ++pieces) {  // of the eight or more that two layers need
    Scarce host;
    const auto session = session_of(GetParam(), {.sequences = 2, .chunk_rows = 32});
    feed(*session, prompt);
    const Session::Feed both[] = {{0, more}, {1, other}};
    host.left = pieces;
    const auto refused = session->feed(both);
    ASSERT_FALSE(refused) << pieces;
    EXPECT_EQ(refused.error().code, Code::OutOfMemory);
    EXPECT_EQ(session->length(0), prompt.size());
    EXPECT_EQ(session->length(1), 0u);
    host.left = 0;
    if (pieces == 0) {
      EXPECT_EQ(session->prefill(more).error().code, Code::OutOfMemory);
    }
    EXPECT_TRUE(session->truncate(prompt.size() - 1)) << "no memory is needed to go back";
    host.left = ~std::size_t{0};
    feed(*session, std::span(prompt).last(1));
    const auto logits = session->feed(both);
    ASSERT_TRUE(logits) << logits.error().text();
    EXPECT_TRUE(same(Row(logits->row(0), logits->row(0) + logits->cols), expected)) << pieces;
    EXPECT_TRUE(same(Row(logits->row(1), logits->row(1) + logits->cols), beside)) << pieces;
    const std::vector<std::byte> saved = session->snapshot(0).value();
    host.left = 1;
    EXPECT_EQ(session->restore(saved, 1).error().code, Code::OutOfMemory);
    EXPECT_EQ(session->length(1), other.size());
  }
}

TEST(Session, options_out_of_range_are_refused) {
  const auto code = [](SessionOptions options) { return Session::create(model_of(kPlain), options).error().code; };
  EXPECT_EQ(code({.threads = 1, .sequences = 0}), Code::InvalidArgument);
  EXPECT_EQ(code({.threads = 1, .sequences = 4097}), Code::InvalidArgument);
  EXPECT_EQ(code({.threads = 1, .context_tokens = (std::size_t{1} << 24) + 1}), Code::InvalidArgument);
  EXPECT_EQ(code({.threads = 257}), Code::InvalidArgument);
  EXPECT_EQ(session_of(kPlain, {.chunk_rows = 0})->feed(random_ids(9))->size(), 300u);
}

TEST_P(EveryKind, cancel_keeps_the_tokens_from_before) {
  const Ids ids = random_ids(60), next = {7};
  const auto session = session_of(GetParam(), {.chunk_rows = 16});
  feed(*session, ids);
  const std::atomic<bool> cancel{true};
  EXPECT_EQ(session->feed(next, 0, &cancel).error().code, Code::Cancelled);
  EXPECT_EQ(session->length(), 60u);
  EXPECT_TRUE(same(feed(*session, next), fresh(GetParam(), joined(ids, next))));
}

// The ring of 17 + 16 positions (rounded up to 128) has gone round when the cancel comes: the tokens must be read
// again.
TEST_P(EveryKind, cancel_in_the_middle_of_a_long_feed) {
  const Ids ids = random_ids(100), longer = random_ids(400, 2), next = {7};
  const Row expected = fresh(GetParam(), joined(ids, next));
  const auto session = session_of(GetParam(), {.context_tokens = 600, .sequences = 2, .chunk_rows = 16});
  feed(*session, ids);
  std::atomic<bool> cancel{false};
  const auto visit = [&](std::size_t i, std::span<const float>) { cancel = i >= 300; };
  auto fed = session->feed_all(longer, visit, 0, &cancel);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Code::Cancelled);
  EXPECT_EQ(session->length(), 100u);
  EXPECT_EQ(session->feed(next, 0, &cancel).error().code, Code::Cancelled);  // also while it reads again
  const std::vector<std::byte> saved = session->snapshot().value();
  ASSERT_TRUE(session->restore(saved, 1));
  EXPECT_TRUE(same(feed(*session, next, 1), expected));
  EXPECT_TRUE(same(feed(*session, next), expected));
  ASSERT_TRUE(session->rewind(90));
  EXPECT_TRUE(same(feed(*session, next), fresh(GetParam(), joined(first(ids, 90), next))));
}

TEST_P(EveryKind, cancel_from_another_thread) {
  const Ids ids = random_ids(100), longer = random_ids(400, 2), next = {7};
  const Row expected = fresh(GetParam(), joined(ids, next));
  const auto session = session_of(GetParam(), {.threads = 2, .context_tokens = 600, .chunk_rows = 16});
  int cancelled = 0;
  for (int wait_us = 0, tries = 0; wait_us < 20000 || (cancelled == 0 && tries < 1000);
       wait_us = wait_us < 20000 ? wait_us * 2 + 100 : 0, ++tries) {
    ASSERT_TRUE(session->rewind(0));
    feed(*session, ids);
    std::atomic<bool> cancel{false};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
      cancel = true;
    });
    auto fed = session->feed(longer, 0, &cancel);
    other.join();
    EXPECT_EQ(session->length(), fed ? 500u : 100u);
    if (fed) continue;
    ++cancelled;
    EXPECT_EQ(fed.error().code, Code::Cancelled);
    EXPECT_TRUE(same(feed(*session, next), expected)) << wait_us;
  }
  EXPECT_GT(cancelled, 0);
}

// The flag is a caller's, who may use it for another call at once.
TEST(LoadingModels, a_cancel_that_is_taken_back_leaves_no_model_in_pieces) {
  std::atomic<bool> cancel{false}, over{false};
  std::thread caller([&] {
    while (!over) cancel = true, cancel = false;
  });
  ModelOptions options;
  options.threads = 2, options.decoder.cancel = &cancel;
  int cancelled = 0;
  for (int i = 0; i < 300; ++i) {
    const auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"), options);
    if (model) continue;
    EXPECT_EQ(model.error().code, Code::Cancelled) << model.error().text();
    ++cancelled;
  }
  over = true;
  caller.join();
  EXPECT_GT(cancelled, 0);
}

TEST(Session, a_ring_that_wraps_often_equals_a_long_cache) {  // L-74
  const Ids ids = random_ids(700);
  const auto ring = session_of(kWindow, {.context_tokens = 700, .chunk_rows = 8}),
             whole = session_of(kWindow, {.context_tokens = 700, .chunk_rows = 700});
  std::vector<Row> rows(ids.size());
  ASSERT_TRUE(
      whole->feed_all(ids, [&](std::size_t i, std::span<const float> row) { rows[i].assign(row.begin(), row.end()); }));
  std::size_t at = 0;
  for (std::size_t step = 1; at < ids.size(); step = step % 13 + 1) {
    const std::size_t n = std::min(step, ids.size() - at);
    EXPECT_TRUE(same(feed(*ring, std::span(ids).subspan(at, n)), rows[at + n - 1])) << at;
    at += n;
  }
}

// Positions that a ring has lost stay lost, however often the end moves.
TEST(Session, rewinds_in_steps_never_reach_what_the_ring_has_lost) {
  const Ids ids = random_ids(600), next = {7};
  int refused = 0, taken = 0;
#if defined(LOOM_SANITIZED)
  constexpr std::size_t kStep = 74;  // slow when sanitized: half the starting points
#else
  constexpr std::size_t kStep = 37;
#endif
  for (std::size_t from = 140; from < 600; from += kStep) {
    const auto session = session_of(kWindow, {.context_tokens = 700, .chunk_rows = 16});
    feed(*session, first(ids, from));
    for (std::size_t n = from - 1; n + 150 > from && n > 0; n -= 11) {
      if (!session->rewind(n)) {
        ++refused;
        EXPECT_GT(session->length(), n);
        break;
      }
      ++taken;
      const std::vector<std::byte> saved = session->snapshot().value();
      EXPECT_TRUE(same(feed(*session, next), fresh(kWindow, joined(first(ids, n), next)))) << from << " to " << n;
      ASSERT_TRUE(session->restore(saved));
      if (n < 12) break;
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(taken, 20);
}

}  // namespace
}  // namespace loom
