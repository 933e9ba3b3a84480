// A graphics card that chooses tokens by itself and runs ahead of the reader gives the ids, logits, hashes, errors and
// sessions that the CPU gives.

#include "lm/gpu_generation_test.h"
#include "ops/choice/choice.h"

namespace loom::gpu_greedy_test {
namespace {

using namespace gpu_generation_test;

TEST(GpuGreedy, generations_and_their_sessions_are_those_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const char* const name :
       {"llama2_untied", "mistral_window", "qwen2_biases", "qwen3_head_norm", "bitnet_multiplied"}) {
    SCOPED_TRACE(name);
    const LanguageModel model = small_model(name);
    GenerationOptions options;
    for (const std::size_t prompt : {3, 40})  // one chunk, several
      for (const std::size_t tokens : {0, 1, 2, 60}) {
        SCOPED_TRACE(fmt::format("{} + {} tokens", prompt, tokens));
        options.max_tokens = tokens;
        expect_equal(run(*session_on(model, device), model, some_ids(prompt), options),
                     run(*session_on(model, nullptr), model, some_ids(prompt), options));
      }
    options.max_tokens = 300;  // more than fit
    expect_equal(run(*session_on(model, device, 70), model, some_ids(40), options),
                 run(*session_on(model, nullptr, 70), model, some_ids(40), options));
  }
}

// Prompts have more positions than a cache's first size, and more than one workgroup reads.
TEST(GpuGreedy, tokens_ahead_with_keys_and_values_of_every_type_are_those_of_the_cpu) {  // L-74, X-23
  LOOM_NEEDS_GPU_DEVICE(device);
  GenerationOptions options;
  options.max_tokens = 40, options.ignore_eos = true;
  for (const char* const path : {"llama2_untied", "mistral_window"})
    for (const DType dtype : {DType::bfloat16, DType::int8}) {
      SCOPED_TRACE(fmt::format("{} {}", path, name(dtype)));
      const LanguageModel model = small_model(path);
      for (const std::size_t prompt : {3, 490})
        expect_equal(run(*session_on(model, device, 600, 1, dtype), model, some_ids(prompt), options),
                     run(*session_on(model, nullptr, 600, 1, dtype), model, some_ids(prompt), options));
    }
}

TEST(GpuGreedy, ends_in_the_middle_leave_what_they_leave_on_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const char* const name : {"llama2_untied", "mistral_window"}) {
    SCOPED_TRACE(name);
    const LanguageModel model = small_model(name);
    GenerationOptions options;
    options.max_tokens = 40;
    const Ids prompt = some_ids(20);
    const Left whole = run(*session_on(model, nullptr), model, prompt, options);
    ASSERT_EQ(whole.ids.size(), 40u);
    const auto compare = [&](std::size_t cancelled = 1 << 20) {
      const auto here = session_on(model, nullptr), there = session_on(model, device);
      // The second generation continues the tokens of the first.
      for (int again = 0; again < 2; ++again)
        expect_equal(run(*there, model, prompt, options, cancelled), run(*here, model, prompt, options, cancelled));
    };
    const bool is_window = name == std::string_view("mistral_window");
    for (const std::size_t at : is_window ? std::vector<std::size_t>{7} : std::vector<std::size_t>{0, 1, 7, 39}) {
      SCOPED_TRACE(at);
      options.stop_ids = {whole.ids[at]};
      compare();
      options.ignore_eos = true;
      compare();
      options.ignore_eos = false, options.min_tokens = 3;
      compare();
      options.min_tokens = 0, options.stop_ids = {};
      options.sampling.banned = {whole.ids[at], whole.ids[5]};
      compare();
      options.sampling.banned = {};
      options.stop = {whole.text.substr(std::min(at, whole.text.size() - 1), 2)};
      compare();
      options.stop = {};
      compare(at);  // cancelled at this token
    }
  }
}

TEST(GpuGreedy, a_logit_that_is_not_finite_is_told_where_the_cpu_tells_it) {
  LOOM_NEEDS_GPU_DEVICE(device);
  GenerationOptions options;
  options.max_tokens = 30;
  const Ids prompt = some_ids(5);
  const LanguageModel whole = model_with_broken(-1);
  for (const DType dtype : {DType::float32, DType::int8}) {
    const Ids ids = run(*session_on(whole, nullptr, 200, 1, dtype), whole, prompt, options).ids;
    ASSERT_EQ(ids.size(), 30u);
    for (const std::size_t at : {0, 9}) {
      SCOPED_TRACE(fmt::format("{} {}", at, name(dtype)));
      const LanguageModel broken = model_with_broken(ids[at]);
      const auto here = session_on(broken, nullptr, 200, 1, dtype), there = session_on(broken, device, 200, 1, dtype);
      const Left wanted = run(*here, broken, prompt, options), got = run(*there, broken, prompt, options);
      EXPECT_NE(wanted.error.find("the logit of token"), std::string::npos) << wanted.error;
      EXPECT_LE(wanted.ids.size(), at + 1);
      EXPECT_EQ(got.error, wanted.error);
      EXPECT_EQ(got.ids, wanted.ids);
      EXPECT_EQ(got.tokens, wanted.tokens);
      // Values of the failed pass reach no later token.
      ASSERT_TRUE(there->truncate(2));
      ASSERT_TRUE(here->truncate(2));
      EXPECT_EQ(bits_of(there->feed(Ids{1, 2})), bits_of(here->feed(Ids{1, 2})));
    }
  }
}

class GpuGreedyTypes : public testing::TestWithParam<DType> {};

TEST_P(GpuGreedyTypes, every_other_call_forgets_what_ran_ahead) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const LanguageModel model = small_model();
  const auto here = session_on(model, nullptr, 200, 2, GetParam()),
             there = session_on(model, device, 200, 2, GetParam());
  const auto both = [&](const std::function<std::vector<std::uint32_t>(Session&)>& call) {
    EXPECT_EQ(call(*there), call(*here));
    for (const std::size_t sequence : {0, 1})
      EXPECT_TRUE(there->snapshot(sequence).value() == here->snapshot(sequence).value());
  };
  const auto greedy = [&](std::size_t sequence, Ids ids, std::size_t count) {
    return [=](Session& session) {
      std::vector<std::uint32_t> out;
      Ids next = ids;
      for (std::size_t i = 0; i < count; ++i) {
        const auto id = session.feed_and_choose({sequence, next}, 9);
        EXPECT_TRUE(id) << id.error().text();
        if (!id) return out;
        EXPECT_EQ(*id, argmax(*session.logits(sequence)));
        next = {*id};
        out.push_back(static_cast<std::uint32_t>(*id));
        const auto row = bits_of(session.logits(sequence));
        if (i + 1 == count) out.insert(out.end(), row.begin(), row.end());
      }
      return out;
    };
  };
  both(greedy(0, some_ids(30), 4));
  both(greedy(0, {5}, 2));  // another id than the one that was chosen
  both([](Session& s) { return bits_of(s.feed(Ids{9})); });
  both(greedy(0, {6, 7, 8}, 5));
  both(greedy(1, some_ids(20, 5), 3));  // another sequence, after which the first continues
  both(greedy(0, {1}, 3));
  both([](Session& s) { return bits_of(s.feed(Ids{4, 4}, 1)); });
  both([](Session& s) { return bits_of(s.logits(0)); });
  both(greedy(0, {1}, 3));
  both([](Session& s) { return did(s.rewind(s.length() - 2)), bits_of(s.logits(0)); });
  both(greedy(0, {2}, 3));
  both([](Session& s) {
    did(s.fork(0, 1));
    return bits_of(s.feed(Ids{2}, 1));
  });
  both([](Session& s) { return did(s.restore(s.snapshot(1).value(), 0)), bits_of(s.feed(Ids{3})); });
  both(greedy(0, {2}, 2));
  both([](Session& s) {
    did(s.prefill(Ids{3, 5}));
    return bits_of(s.logits());
  });
  both(greedy(0, {2}, 2));
  both([](Session& s) {
    did(s.choose_adapters({}));
    return bits_of(s.feed(Ids{8, 8}));
  });
  std::atomic<bool> cancel{true};
  EXPECT_EQ(there->feed_and_choose({0, Ids{1}}, 3, &cancel).error().code, Code::Cancelled);
  EXPECT_EQ(there->feed_and_choose({0, Ids{1 << 20}}, 0).error().code, Code::IndexOutOfRange);
  EXPECT_EQ(there->length(), here->length());
  ASSERT_TRUE(there->truncate(0));
  EXPECT_EQ(there->logits().error().code, Code::InvalidState);
}

INSTANTIATE_TEST_SUITE_P(, GpuGreedyTypes, testing::Values(DType::float32, DType::bfloat16, DType::int8));

TEST(GpuGreedy, a_token_is_one_submit_and_few_bytes) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  if (test::compiler_errs()) GTEST_SKIP() << "kernels that are refused run here";
  const LanguageModel model = small_model();
  const auto session = session_on(model, device.get());
  const Ids prompt = some_ids(10);
  constexpr std::size_t kTokens = 50, kFirst = 10;
  for (const bool is_known : {false, true}) {  // all shaders have been proved for such sizes
    ASSERT_TRUE(session->truncate(0));
    Ids next = prompt;
    DeviceCounters before{};
    for (std::size_t i = 0; i < kTokens; ++i) {
      const auto id = session->feed_and_choose({0, next}, kTokens - 1 - i);
      ASSERT_TRUE(id) << id.error().text();
      next = {*id};
      if (i == kFirst) before = device->counters();
    }
    const DeviceCounters after = device->counters();
    if (!is_known) continue;
    // The last kMostAhead tokens were submitted before they were asked for.
    EXPECT_EQ(after.submits - before.submits, kTokens - 1 - kFirst - Session::kMostAhead);
    EXPECT_EQ(after.bytes_read - before.bytes_read, (kTokens - 1 - kFirst) * 4);
  }
}

// Beside sequences whose logits are read, or not requested: choices with other bans, and the logits that a card kept.
TEST(GpuGreedy, a_card_chooses_for_several_sequences_of_a_pass) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  constexpr std::size_t kSequences = 6;
  const LanguageModel model = small_model();
  const auto here = session_on(model, nullptr, 200, kSequences), plain = session_on(model, nullptr, 200, kSequences),
             there = session_on(model, device.get(), 200, kSequences);
  std::vector<SamplingOptions> bans;
  for (const std::int32_t id : {3, 17, 40, 5, 9}) {
    bans.push_back(bans.empty() ? SamplingOptions() : bans.back());
    bans.back().banned.push_back(id);
  }
  std::uint64_t read = 0;
  for (std::size_t pass = 0; pass < 30; ++pass) {
    SCOPED_TRACE(pass);
    const bool all_choose = pass % 3 != 0;
    std::vector<Ids> ids;
    std::vector<Session::Feed> feeds;
    for (std::size_t s = 0; s < kSequences; ++s) ids.push_back(some_ids(pass == 0 ? 1 + s / 2 : 1, 5 * pass + 11 * s));
    for (std::size_t s = 0; s < kSequences; ++s) {
      Session::Feed feed{s, ids[s]};
      feed.wants_logits = all_choose || s != 2, feed.chooses = all_choose || s % 3 != 0;
      if (s > 3) feed.sampling = &bans[pass % 5];
      feeds.push_back(feed);
    }
    const std::uint64_t before = device->counters().bytes_read;
    const auto expected = here->feed_pass(feeds), got = there->feed_pass(feeds);
    read = device->counters().bytes_read - before;
    ASSERT_TRUE(expected && got) << (got ? expected.error() : got.error()).text();
    ASSERT_EQ(got->rows, all_choose ? 0u : 2u);
    ASSERT_EQ(expected->rows, got->rows);
    for (std::size_t r = 0; r < got->rows; ++r)
      EXPECT_EQ(bits_of(std::span(got->row(r), got->cols)), bits_of(std::span(expected->row(r), expected->cols)));
    ASSERT_EQ(there->choices().size(), all_choose ? kSequences : 3u);
    EXPECT_TRUE(std::ranges::equal(there->choices(), here->choices()));
    for (std::size_t s = 0; s < kSequences; ++s) {
      const auto logits = bits_of(plain->feed(ids[s], s));
      if ((pass + s) % 4 != 0) continue;
      EXPECT_EQ(bits_of(there->logits(s)), logits) << "sequence " << s;
    }
  }
  for (std::size_t s = 0; s < kSequences; ++s)
    EXPECT_TRUE(there->snapshot(s).value() == plain->snapshot(s).value()) << "sequence " << s;
  if (!test::compiler_errs()) {  // kernels that are refused run on the host
    EXPECT_EQ(read, kSequences * 4);
  }
}

// Alone, then beside another sequence, whose passes give logits or choices, and alone again.
TEST(GpuGreedy, a_generation_runs_ahead_again_after_passes_with_others) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const LanguageModel model = small_model();
  GenerationOptions options;
  options.max_tokens = 60, options.ignore_eos = true;
  const Ids prompt = some_ids(20), other = some_ids(60, 9);
  const Left wanted = run(*session_on(model, nullptr), model, prompt, options);
  const auto session = session_on(model, device, 200, 2);
  auto generator = Generator::create(*session, model, prompt, options).value();
  std::size_t fed = 0;
  for (std::size_t step = 0; !generator.done(); ++step) {
    if (step % 10 < 5) {
      ASSERT_TRUE(generator.next());
      continue;
    }
    Session::Feed feeds[] = {{0, generator.due()}, {1, std::span(other).subspan(fed++, 1), {}, false}};
    ASSERT_TRUE(generator.may_session_choose());
    feeds[0].chooses = step % 10 > 7, feeds[0].sampling = &generator.sampling();
    const auto logits = session->feed_pass(feeds);
    ASSERT_TRUE(logits) << logits.error().text();
    const auto taken = feeds[0].chooses ? generator.take(1, session->choices()[0])
                                        : generator.take(1, std::span(logits->row(0), logits->cols));
    ASSERT_TRUE(taken) << taken.error().text();
  }
  EXPECT_EQ(generator.result().ids, wanted.ids);
  EXPECT_EQ(to_hex(generator.result().hash), wanted.hash);
  EXPECT_GT(fed, 5u);
}

TEST(GpuGreedy, choices_are_all_that_is_read_after_a_pass_with_others) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  if (test::compiler_errs()) GTEST_SKIP() << "kernels that are refused run here";
  const LanguageModel model = small_model();
  const auto session = session_on(model, device.get(), 200, 2);
  GenerationOptions options;
  options.max_tokens = 40, options.ignore_eos = true;
  for (const bool is_known : {false, true}) {  // all shaders have been proved for such sizes
    ASSERT_TRUE(session->truncate(0));
    auto generator = Generator::create(*session, model, some_ids(20), options).value();
    DeviceCounters before{};
    std::size_t tokens = 0;
    for (std::size_t step = 0; !generator.done(); ++step) {
      if (step == 6) before = device->counters(), tokens = generator.result().ids.size();
      if (step != 5) {
        ASSERT_TRUE(generator.next());
        continue;
      }
      const Ids other{3};
      const Session::Feed feeds[] = {{0, generator.due()}, {1, other, {}, false}};
      const auto logits = session->feed_pass(feeds);
      ASSERT_TRUE(logits) << logits.error().text();
      ASSERT_TRUE(generator.take(1, std::span(logits->row(0), logits->cols)));
    }
    if (!is_known) continue;
    const auto row_bytes = static_cast<std::uint64_t>(model.decoder->config.vocab_size) * 4;
    // The last token is not fed; the hash is of the last logits.
    EXPECT_EQ(device->counters().bytes_read - before.bytes_read, (40 - tokens) * 4 + row_bytes);
  }
}

// In the midst of passes that run ahead: all shaders have been proved before.
TEST(GpuGreedy, a_card_that_is_lost_with_tokens_ahead_changes_nothing) {
  const LanguageModel model = small_model();
  GenerationOptions options;
  options.max_tokens = 14, options.ignore_eos = true;
  const Ids prompt = some_ids(20);
  const Left wanted = run(*session_on(model, nullptr), model, prompt, options);
  for (const bool is_read : {false, true})
    for (const std::uint64_t n : {1, 2, 3, 4, 7, 15}) {
      SCOPED_TRACE(fmt::format("at {} {}", is_read ? "read" : "submit", n));
      auto card = test::open_faulty_card();
      ASSERT_TRUE(card);
      if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
      run(*session_on(model, card->device.get()), model, prompt, options);
      test::Faults& faults = *card->faults;
      const auto session = session_on(model, card->device.get());
      is_read ? faults.lost_at_read = faults.reads + n : faults.lost_at_submit = faults.submits + n;
      expect_equal(run(*session, model, prompt, options), wanted);
      EXPECT_TRUE(faults.is_lost);
      EXPECT_EQ(session->device(), nullptr);
      EXPECT_EQ(faults.calls_after_told, 0u);
    }
}

TEST(GpuGreedy, no_memory_for_a_token_ahead_is_told_when_that_token_is_fed) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  const LanguageModel model = small_model();
  const auto here = session_on(model, nullptr, 3000), there = session_on(model, card->device.get(), 3000);
  const Ids prompt = some_ids(1013);
  std::int32_t id = there->feed_and_choose({0, prompt}, 3).value();
  EXPECT_EQ(id, here->feed_and_choose({0, prompt}, 0).value());
  card->faults->memory_is_full_from = card->faults->buffers;  // keys and values grow after 1024 positions
  while (there->length() < 1024) {
    const auto next = there->feed_and_choose({0, Ids{id}}, 3);
    ASSERT_TRUE(next) << next.error().text() << " behind " << there->length();
    ASSERT_EQ(*next, here->feed_and_choose({0, Ids{id}}, 0).value());
    id = *next;
  }
  EXPECT_EQ(there->feed_and_choose({0, Ids{id}}, 3).error().code, Code::OutOfMemory);
  EXPECT_EQ(there->length(), 1024u);
  EXPECT_EQ(bits_of(there->logits()), bits_of(here->logits()));
  card->faults->memory_is_full_from = test::Faults::kNever;
  EXPECT_EQ(there->feed_and_choose({0, Ids{id}}, 3).value(), here->feed_and_choose({0, Ids{id}}, 0).value());
  EXPECT_EQ(bits_of(there->logits()), bits_of(here->logits()));
}

}  // namespace
}  // namespace loom::gpu_greedy_test
