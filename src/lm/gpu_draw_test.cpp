// A graphics card that draws tokens by itself, ahead of the reader too, gives the ids, logits, hashes, errors and
// sessions that the CPU gives.

#include <cmath>

#include "lm/gpu_generation_test.h"
#include "ops/choice/choice.h"
#include "support/small_model.h"

namespace loom::gpu_draw_test {
namespace {

using namespace gpu_generation_test;

struct Case {
  const char* name;
  SamplingOptions sampling;
};

// All that a card takes, and some that the host draws by.
std::vector<Case> cases() {
  return {
      {"top_k", {.temperature = 0.8f, .top_k = 40, .seed = 7}},
      {"client",
       {.temperature = 0.8f, .top_k = 40, .top_p = 0.9f, .min_p = 0.05f, .repetition_penalty = 1.1f, .seed = 1}},
      {"many", {.temperature = 3, .top_k = 200, .top_p = 0.99f, .seed = 3}},
      {"penalties",
       {.temperature = 1.5f,
        .top_k = 20,
        .repetition_penalty = 1.3f,
        .repetition_window = 2,
        .frequency_penalty = 0.3f,
        .presence_penalty = 0.2f,
        .seed = 5}},
      {"all tokens", {.temperature = 2, .top_k = 64, .repetition_window = -1, .frequency_penalty = 1, .seed = 6}},
      {"best one", {.repetition_penalty = 1.5f, .repetition_window = 10, .presence_penalty = 0.5f}},
      {"biases",
       {.temperature = 1.2f,
        .top_k = 10,
        .logit_bias = {{3, 4.0f}, {40, -INFINITY}, {3, 0.5f}, {9, -3.4e38f}},
        .banned = {17, 5},
        .seed = 8}},
      {"all ids", {.temperature = 1, .top_p = 0.9f, .seed = 9}},
      {"on the host", {.temperature = 1, .top_k = 300, .top_p = 0.9f, .seed = 9}},
  };
}

TEST(GpuDraw, generations_and_their_sessions_are_those_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const char* const name : {"llama2_untied", "mistral_window", "qwen2_biases"}) {
    const LanguageModel model = small_model(name);
    for (const Case& c : cases())
      for (const std::size_t prompt : {3, 40}) {  // one chunk, several
        if (std::string_view(name) != "llama2_untied" && std::string_view(c.name) != "client") continue;
        SCOPED_TRACE(fmt::format("{}, {}, a prompt of {}", name, c.name, prompt));
        GenerationOptions options;
        options.sampling = c.sampling, options.ignore_eos = true;
        options.max_tokens = prompt == 3 ? 30 : 9;
        options.sampling_session = prompt == 3 ? 0 : 2;
        expect_equal(run(*session_on(model, device), model, some_ids(prompt), options),
                     run(*session_on(model, nullptr), model, some_ids(prompt), options));
      }
  }
}

// Ends of sequence, texts, the length, the context, a caller that cancels.
TEST(GpuDraw, ends_in_the_middle_leave_what_they_leave_on_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const LanguageModel model = small_model();
  GenerationOptions options;
  options.max_tokens = 40, options.sampling = cases()[1].sampling;
  const Ids prompt = some_ids(20);
  const Left whole = run(*session_on(model, nullptr), model, prompt, options);
  ASSERT_EQ(whole.ids.size(), 40u);
  const auto compare = [&](std::size_t context = 200, std::size_t cancelled = 1 << 20) {
    const auto here = session_on(model, nullptr, context), there = session_on(model, device, context);
    for (int again = 0; again < (context == 200 ? 2 : 1); ++again)  // the second continues the tokens of the first
      expect_equal(run(*there, model, prompt, options, cancelled), run(*here, model, prompt, options, cancelled));
  };
  for (const std::size_t at : {0, 1, 7}) {
    SCOPED_TRACE(at);
    options.stop_ids = {whole.ids[at]};
    compare();
    options.ignore_eos = true;
    compare();
    options.ignore_eos = false, options.min_tokens = 3;
    compare();
    options.min_tokens = 0, options.stop_ids = {};
    options.stop = {whole.text.substr(std::min(at, whole.text.size() - 1), 2)};
    compare();
    options.stop = {};
    compare(200, at);
  }
  options.max_tokens = 300;
  compare(70);
  options.max_tokens = 10, options.logprobs = 3;
  compare();
}

TEST(GpuDraw, errors_are_those_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  GenerationOptions options;
  options.max_tokens = 30, options.sampling = cases()[1].sampling;
  const Ids prompt = some_ids(5);
  const LanguageModel whole = model_with_broken(-1);
  const Ids ids = run(*session_on(whole, nullptr), whole, prompt, options).ids;
  ASSERT_EQ(ids.size(), 30u);
  for (const std::size_t at : {0, 9}) {
    SCOPED_TRACE(at);
    const LanguageModel broken = model_with_broken(ids[at]);
    const auto here = session_on(broken, nullptr), there = session_on(broken, device);
    const Left wanted = run(*here, broken, prompt, options), got = run(*there, broken, prompt, options);
    EXPECT_NE(wanted.error.find("the logit of token"), std::string::npos) << wanted.error;
    EXPECT_EQ(got.error, wanted.error);
    EXPECT_EQ(got.ids, wanted.ids);
    EXPECT_EQ(got.tokens, wanted.tokens);
  }
  // Biases of all tokens: nothing is left to draw.
  for (std::int32_t id = 0; id < whole.decoder->config.vocab_size; ++id)
    options.sampling.logit_bias.emplace_back(id, -INFINITY);
  const Left wanted = run(*session_on(whole, nullptr), whole, prompt, options);
  EXPECT_NE(wanted.error.find("no token can be drawn"), std::string::npos) << wanted.error;
  EXPECT_EQ(run(*session_on(whole, device), whole, prompt, options).error, wanted.error);
}

TEST(GpuDraw, a_token_is_one_submit_and_few_bytes) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  if (test::compiler_errs()) GTEST_SKIP() << "kernels that are refused run here";
  const LanguageModel model = small_model();
  const auto session = session_on(model, device.get());
  const SamplingOptions sampling = cases()[1].sampling;
  constexpr std::size_t kTokens = 50, kFirst = 12;
  for (const bool is_known : {false, true}) {  // all shaders have been proved for such sizes
    ASSERT_TRUE(session->truncate(0));
    Ids next = some_ids(10);
    DeviceCounters before{};
    for (std::size_t i = 0; i < kTokens; ++i) {
      const auto id = session->feed_and_choose({.sequence = 0, .ids = next, .sampling = &sampling}, kTokens - 1 - i);
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

// Sequences of a pass with options of their own, some of them greedy, beside one whose logits are read.
TEST(GpuDraw, a_card_draws_for_several_sequences_of_a_pass) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  constexpr std::size_t kSequences = 20;  // logits are computed for sixteen at a time
  const LanguageModel model = small_model();
  const auto here = session_on(model, nullptr, 200, kSequences),
             there = session_on(model, device.get(), 200, kSequences);
  std::vector<Sampler> samplers;
  std::vector<SamplingOptions> sampling(kSequences);
  const std::vector<Case> all = cases();
  for (std::size_t s = 0; s < kSequences; ++s) {
    if (s % 4 != 3) sampling[s] = all[s % 7].sampling;
    samplers.emplace_back(sampling[s], static_cast<std::size_t>(model.decoder->config.vocab_size));
  }
  std::vector<Ids> next;
  for (std::size_t s = 0; s < kSequences; ++s) next.push_back(some_ids(1, 11 * s));
  std::uint64_t read = 0;
  for (std::size_t pass = 0; pass < 12; ++pass) {
    SCOPED_TRACE(pass);
    const bool reads = pass == 5;
    std::vector<Session::Feed> feeds;
    for (std::size_t s = 0; s < kSequences; ++s)
      feeds.push_back({s, next[s], {}, true, !reads || s != 6, &sampling[s], static_cast<std::uint32_t>(s % 2)});
    const std::uint64_t before = device->counters().bytes_read;
    const auto got = there->feed_pass(feeds);
    ASSERT_TRUE(got) << got.error().text();
    read = device->counters().bytes_read - before;
    ASSERT_EQ(got->rows, reads ? 1u : 0u);
    const auto expected = here->feed(feeds);
    ASSERT_TRUE(expected);
    std::vector<std::int32_t> choices(there->choices().begin(), there->choices().end());
    if (reads)
      choices.insert(choices.begin() + 6, samplers[6].choose({got->row(0), got->cols}, here->tokens(6)).value());
    ASSERT_EQ(choices.size(), kSequences);
    for (std::size_t s = 0; s < kSequences; ++s) {
      const std::span<const float> row(expected->row(s), expected->cols);
      const auto id = samplers[s].choose(row, here->tokens(s), static_cast<std::uint32_t>(s % 2));
      if (!reads || s != 6) {
        EXPECT_EQ(choices[s], id.value()) << s;
      }
      if (s == pass) {
        EXPECT_EQ(bits_of(there->logits(s)), bits_of(row));
      }
      next[s] = {choices[s]};
    }
  }
  if (!test::compiler_errs()) {
    EXPECT_EQ(read, kSequences * 4);
  }
  for (std::size_t s = 0; s < kSequences; ++s)
    EXPECT_TRUE(there->snapshot(s).value() == here->snapshot(s).value()) << s;
}

// Other options, another session's draws, other calls: what ran ahead is dropped.
TEST(GpuDraw, other_options_forget_what_ran_ahead) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const LanguageModel model = small_model();
  const auto here = session_on(model, nullptr), there = session_on(model, device);
  const std::vector<Case> all = cases();
  Ids next = some_ids(20);
  for (std::size_t n = 0; n < 40; ++n) {
    const SamplingOptions* const sampling = n % 5 == 4 ? nullptr : &all[n / 3 % 7].sampling;
    const Session::Feed feed{
        .sequence = 0, .ids = next, .sampling = sampling, .sampling_session = n % 7 == 6 ? 1u : 0u};
    const auto got = there->feed_and_choose(feed, 9), wanted = here->feed_and_choose(feed, 9);
    ASSERT_TRUE(got && wanted);
    ASSERT_EQ(*got, *wanted) << n;
    next = {n % 11 == 10 ? 5 : *got};
    if (n % 13 == 12) {
      ASSERT_TRUE(there->rewind(there->length() - 2));
      ASSERT_TRUE(here->rewind(here->length() - 2));
    }
  }
  const SamplingOptions typical{.temperature = 1, .top_k = 40, .typical_p = 0.5f};
  const auto refused = there->feed_and_choose({.sequence = 0, .ids = next, .sampling = &typical}, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unsupported);
}

// The first block of SmolLM2, with 49 152 tokens: the card leaves draws undecided.
TEST(GpuDraw, a_draw_that_is_undecided_is_left_to_the_host) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const test::TempFolder folder;
  ASSERT_TRUE(test::write_small_model(folder / "model.gguf"));
  const auto loaded = load_language_model(folder / "model.gguf");
  ASSERT_TRUE(loaded) << loaded.error().text();
  const LanguageModel& model = *loaded;
  constexpr std::size_t kTokens = 8;
  std::size_t undecided = 0, drawn = 0;
  for (const SamplingOptions& sampling :
       {SamplingOptions{.temperature = 0.8f, .seed = 2},
        SamplingOptions{.temperature = 0.7f, .top_p = 0.9f, .min_p = 0.02f, .repetition_penalty = 1.2f, .seed = 4},
        SamplingOptions{.temperature = 30, .seed = 5}}) {  // flat
    SCOPED_TRACE(fmt::format("temperature {}", sampling.temperature));
    GenerationOptions options;
    options.sampling = sampling, options.ignore_eos = true, options.max_tokens = kTokens;
    const auto here = session_on(model, nullptr), there = session_on(model, device);
    expect_equal(run(*there, model, some_ids(7), options), run(*here, model, some_ids(7), options));

    // Draws of the card alone, also with tokens ahead of one that it leaves.
    ASSERT_TRUE(there->truncate(0));
    ASSERT_TRUE(here->truncate(0));
    Sampler sampler(sampling, static_cast<std::size_t>(model.decoder->config.vocab_size));
    Ids next = some_ids(7);
    for (std::size_t n = 0; n < kTokens; ++n) {
      const auto id = there->feed_and_choose({.sequence = 0, .ids = next, .sampling = &sampling}, 3);
      ASSERT_TRUE(id) << id.error().text();
      const auto logits = here->feed(next);
      ASSERT_TRUE(logits);
      next = {sampler.choose(*logits, here->tokens()).value()};
      if (*id == kNoChoice) {
        ++undecided;
        EXPECT_EQ(bits_of(there->logits()), bits_of(*logits));
      } else {
        ++drawn;
        ASSERT_EQ(*id, next[0]) << n;
      }
    }
  }
  EXPECT_GE(undecided, 6u);
  EXPECT_GE(drawn, 6u);

  // Three sequences in a pass, of which one is flat: its row alone is left to the host.
  const std::array<SamplingOptions, 3> sampling = {SamplingOptions{.temperature = 0.5f, .seed = 2},
                                                   SamplingOptions{.temperature = 30, .seed = 5}, SamplingOptions{}};
  const auto here = session_on(model, nullptr, 200, 3), there = session_on(model, device, 200, 3);
  std::array<Ids, 3> next = {some_ids(3), some_ids(5), some_ids(4)};
  std::array<std::size_t, 3> left{};
  for (std::size_t pass = 0; pass < kTokens; ++pass) {
    std::vector<Session::Feed> feeds;
    for (std::size_t s = 0; s < 3; ++s) feeds.push_back({s, next[s], {}, true, true, &sampling[s]});
    const auto got = there->feed_pass(feeds);
    ASSERT_TRUE(got) << got.error().text();
    const std::vector<std::int32_t> choices(there->choices().begin(), there->choices().end());
    ASSERT_EQ(choices.size(), 3u);
    const auto expected = here->feed(feeds);
    ASSERT_TRUE(expected);
    for (std::size_t s = 0; s < 3; ++s) {
      const std::span<const float> row(expected->row(s), expected->cols);
      Sampler sampler(sampling[s], static_cast<std::size_t>(model.decoder->config.vocab_size));
      next[s] = {sampler.choose(row, here->tokens(s)).value()};
      if (choices[s] == kNoChoice) {
        ++left[s];
        EXPECT_EQ(bits_of(there->logits(s)), bits_of(row)) << s;
      } else {
        EXPECT_EQ(choices[s], next[s][0]) << s;
      }
    }
  }
  EXPECT_GE(left[1], 4u);
  EXPECT_EQ(left[2], 0u);  // greedy
}

// In the midst of passes that run ahead: all shaders have been proved before.
TEST(GpuDraw, a_card_that_is_lost_with_tokens_ahead_changes_nothing) {
  const LanguageModel model = small_model();
  GenerationOptions options;
  options.max_tokens = 20, options.ignore_eos = true, options.sampling = cases()[1].sampling;
  const Ids prompt = some_ids(20);
  const Left wanted = run(*session_on(model, nullptr), model, prompt, options);
  for (const bool is_read : {false, true})
    for (const std::uint64_t n : {1, 2, 3, 7, 15}) {
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

TEST(GpuDraw, no_memory_for_a_token_ahead_is_told_when_that_token_is_fed) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  const LanguageModel model = small_model();
  const auto here = session_on(model, nullptr, 3000), there = session_on(model, card->device.get(), 3000);
  const SamplingOptions sampling = cases()[1].sampling;
  const auto step = [&](Session& session, const Ids& ids) {
    return session.feed_and_choose({.sequence = 0, .ids = ids, .sampling = &sampling}, 3);
  };
  const Ids prompt = some_ids(1013);
  std::int32_t id = step(*there, prompt).value();
  EXPECT_EQ(id, step(*here, prompt).value());
  card->faults->memory_is_full_from = card->faults->buffers;  // keys and values grow after 1024 positions
  while (there->length() < 1024) {
    const auto next = step(*there, {id});
    ASSERT_TRUE(next) << next.error().text() << " after " << there->length();
    ASSERT_EQ(*next, step(*here, {id}).value());
    id = *next;
  }
  EXPECT_EQ(step(*there, {id}).error().code, Code::OutOfMemory);
  EXPECT_EQ(there->length(), 1024u);
  card->faults->memory_is_full_from = test::Faults::kNever;
  EXPECT_EQ(step(*there, {id}).value(), step(*here, {id}).value());
  EXPECT_EQ(bits_of(there->logits()), bits_of(here->logits()));
}

}  // namespace
}  // namespace loom::gpu_draw_test
