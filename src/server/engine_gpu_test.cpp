// Requests that share forward passes on a graphics card get the bits of each alone on the CPU.

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "lm/generator.h"
#include "support/engine_client.h"
#include "support/faulty_driver.h"
#include "support/files.h"

namespace loom::server_engine_gpu_test {
namespace {

using server::Answer;
using server::Engine;
using server::EngineOptions;
using server::Request;
using test::Client;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kContext = 192;

LanguageModel small_model(const std::string& name, const std::string& dtype = "") {
  ModelOptions options;
  if (!dtype.empty()) options.decoder.dtype = dtype_from_name(dtype).value();
  return load_language_model(test::source_path("tests/golden/models/" + name), options).value();
}

Ids some_ids(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Ids out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::int32_t>(random() % 250));
  return out;
}

GenerationOptions greedy(std::size_t tokens) {
  GenerationOptions options;
  options.max_tokens = tokens, options.ignore_eos = true;
  return options;
}

GenerationOptions drawn(std::size_t tokens, std::uint64_t seed) {
  GenerationOptions options = greedy(tokens);
  options.sampling.temperature = 0.9F, options.sampling.seed = seed, options.logprobs = 2;
  return options;
}

// A model with the sessions of a test.
struct Model {
  LanguageModel model;
  DType kv_dtype = DType::float32;

  std::unique_ptr<Engine> engine(Device* device, const EngineOptions& options, std::size_t sequences = 8) const {
    auto session = Session::create(model.decoder, {.threads = 1,
                                                   .context_tokens = kContext,
                                                   .sequences = sequences,
                                                   .chunk_rows = 48,
                                                   .kv_dtype = kv_dtype,
                                                   .device = device});
    EXPECT_TRUE(session) << session.error().text();
    return session ? Engine::start(model, std::move(*session), options).value() : nullptr;
  }
  Generation alone(const Ids& prompt, const GenerationOptions& options) const {
    const auto session =
        Session::create(model.decoder, {.threads = 1, .context_tokens = kContext, .kv_dtype = kv_dtype}).value();
    return generate(*session, model, prompt, options).value();
  }
};

void expect_equal(const Result<Answer>& answer, const Generation& expected, const std::string& name) {
  ASSERT_TRUE(answer) << name << ": " << answer.error().text();
  const Generation& got = answer->generation;
  EXPECT_EQ(got.ids, expected.ids) << name;
  EXPECT_EQ(got.text, expected.text) << name;
  EXPECT_EQ(got.stop_reason, expected.stop_reason) << name;
  EXPECT_TRUE(got.hash == expected.hash) << name;
  ASSERT_EQ(got.logprobs.size(), expected.logprobs.size()) << name;
  for (std::size_t i = 0; i < got.logprobs.size(); ++i)
    EXPECT_EQ(got.logprobs[i][0].logprob, expected.logprobs[i][0].logprob) << name;
}

Result<Answer> ask(Engine& engine, const Ids& prompt, const GenerationOptions& options) {
  Client client;
  LOOM_TRY_VOID(engine.submit(client.request(prompt, options)));
  return client.wait();
}

// Like drawn(), by options that the card draws by.
GenerationOptions drawn_on_card(std::size_t tokens, std::uint64_t seed) {
  GenerationOptions options = drawn(tokens, seed);
  options.sampling.top_k = 40, options.sampling.repetition_penalty = 1.2F, options.sampling.repetition_window = 7;
  options.logprobs = 0;
  return options;
}

// Prompts of different lengths, read in pieces beside the rows of answers; some draw, on the host or the card, some are
// greedy. The second time the card has what the first ones have read.
TEST(GpuEngine, RequestsAtOnceHaveTheBitsOfEachAloneOnTheCpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    const char *name, *dtype;
    DType kv_dtype;
  };
  for (const Case& c : {Case{"llama2_untied", "", DType::float32},
                        {"llama2_untied", "int8", DType::int8},
                        {"qwen3_head_norm", "int4", DType::bfloat16},
                        {"mistral_window", "", DType::float32}}) {
    SCOPED_TRACE(fmt::format("{} {}", c.name, c.dtype));
    const Model model{small_model(c.name, c.dtype), c.kv_dtype};
    const auto engine = model.engine(device, {.parallel = 5, .batch_tokens = 7});
    ASSERT_TRUE(engine);
    const bool shares = std::string_view(c.name) != "mistral_window";
    for (const bool again : {false, true}) {
      std::vector<Client> clients(7);
      std::vector<Request> requests;
      const auto prompt = [](std::size_t i) { return some_ids(3 + 11 * i, static_cast<std::uint32_t>(i)); };
      const auto options = [](std::size_t i) {
        return i == 1 ? drawn(9 + i, i) : i % 3 == 2 ? greedy(3 + 4 * i) : drawn_on_card(3 + 4 * i, i);
      };
      for (std::size_t i = 0; i < clients.size(); ++i) requests.push_back(clients[i].request(prompt(i), options(i)));
      if (again) std::ranges::reverse(requests);  // those that the card still holds first
      ASSERT_TRUE(engine->submit(std::move(requests)));
      std::size_t cached = 0;
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const Result<Answer> answer = clients[i].wait();
        expect_equal(answer, model.alone(prompt(i), options(i)), fmt::format("request {}, again {}", i, again));
        if (answer) cached += answer->cached_tokens;
      }
      if (again && shares) {
        EXPECT_GT(cached, 0u);
      }
    }
    const server::EngineCounts counts = engine->counts();
    EXPECT_LT(counts.passes, counts.rows);
    EXPECT_LE(counts.blocks, counts.most_blocks);
    EXPECT_EQ(counts.failed, 0u);
  }
}

// Equal prompts are read once: the card copies the keys and values.
TEST(GpuEngine, EqualPromptsAreReadOnce) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const Model model{small_model("llama2_untied")};
  const auto engine = model.engine(device, {.parallel = 4, .batch_tokens = 32});
  const Ids prompt = some_ids(130, 4);
  std::vector<Client> clients(4);
  std::vector<Request> requests;
  const auto options = [](std::size_t i) { return drawn(6, i); };
  for (std::size_t i = 0; i < 4; ++i) requests.push_back(clients[i].request(prompt, options(i)));
  ASSERT_TRUE(engine->submit(std::move(requests)));
  for (std::size_t i = 0; i < 4; ++i) {
    const Result<Answer> answer = clients[i].wait();
    expect_equal(answer, model.alone(prompt, options(i)), std::to_string(i));
    EXPECT_EQ(answer->cached_tokens, i == 0 ? 0 : prompt.size() - 1);
  }
  EXPECT_EQ(engine->counts().rows, prompt.size() + 3 + 4 * 5);  // the last drawn token is not fed
}

// After it, passes of as many sequences as may run compile nothing more. Caches of so few positions share a buffer: a
// shader knows which of its tensors do.
TEST(GpuEngine, PreparingCompilesWhatSeveralAnswersRun) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  constexpr std::size_t kParallel = 7;
  const Model model{small_model("llama2_untied")};
  auto session =
      Session::create(
          model.model.decoder,
          {.threads = 1, .context_tokens = 64, .sequences = kParallel, .chunk_rows = 48, .device = device.get()})
          .value();
  ASSERT_TRUE(Engine::prepare(*session, {.parallel = kParallel}));
  for (std::size_t s = 0; s < kParallel; ++s) EXPECT_EQ(session->length(s), 0u);
  const std::uint64_t compiled = device->counters().pipelines;
  const SamplingOptions drawing{.temperature = 0.7F, .top_k = 100, .top_p = 0.8F, .presence_penalty = 0.5F};
  for (std::size_t pass = 0; pass < 5; ++pass) {
    std::vector<Session::Feed> feeds;
    const Ids ids = some_ids(kParallel, static_cast<std::uint32_t>(pass));
    for (std::size_t s = 0; s < kParallel; ++s) feeds.push_back({s, std::span(ids).subspan(s, 1), {}, true, true});
    ASSERT_TRUE(session->feed_pass(feeds));
    for (Session::Feed& feed : feeds) feed.sampling = &drawing;
    ASSERT_TRUE(session->feed_pass(feeds));
    ASSERT_TRUE(session->feed_and_choose(feeds[0], 0));
  }
  EXPECT_EQ(device->counters().pipelines, compiled);
  for (std::size_t s = 0; s < kParallel; ++s) ASSERT_TRUE(session->clear(s));
  const auto engine = Engine::start(model.model, std::move(session), {.parallel = kParallel}).value();
  std::vector<Client> clients(kParallel);
  for (std::uint32_t i = 0; i < kParallel; ++i)
    ASSERT_TRUE(engine->submit(clients[i].request(some_ids(5 + 3 * i, i), greedy(6))));
  for (std::uint32_t i = 0; i < kParallel; ++i)
    expect_equal(clients[i].wait(), model.alone(some_ids(5 + 3 * i, i), greedy(6)), std::to_string(i));
}

// One answer is written ahead of its reader, is joined by others that end or leave, and is alone again.
TEST(GpuEngine, NeighboursThatComeAndLeaveChangeNothing) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const char* const name : {"llama2_untied", "mistral_window"}) {
    SCOPED_TRACE(name);
    const Model model{small_model(name)};
    const auto engine = model.engine(device, {.parallel = 3, .batch_tokens = 7});
    const Ids prompt = some_ids(20, 1), second = some_ids(31, 2), third = some_ids(45, 3);
    Client stays, comes, leaves(2);
    std::size_t pieces = 0;
    bool are_in_time = true;
    stays.on_piece = [&] {
      if (++pieces == 5) {
        are_in_time = static_cast<bool>(engine->submit(comes.request(second, greedy(12)))) &&
                      static_cast<bool>(engine->submit(leaves.request(third, greedy(100))));
      }
    };
    ASSERT_TRUE(engine->submit(stays.request(prompt, greedy(150))));
    expect_equal(stays.wait(), model.alone(prompt, greedy(150)), "stays");
    EXPECT_TRUE(are_in_time);
    expect_equal(comes.wait(), model.alone(second, greedy(12)), "comes");
    const Result<Answer> left = leaves.wait();
    ASSERT_TRUE(left) << left.error().text();
    EXPECT_EQ(left->generation.stop_reason, StopReason::Cancelled);
    EXPECT_LE(leaves.pieces(), 3u);
    expect_equal(ask(*engine, third, greedy(20)), model.alone(third, greedy(20)), "after the one that left");
  }
}

// Every place may grow to a whole context, so that fewer run than may; what loses its place goes to a file.
TEST(GpuEngine, AsManyRunAsContextsFitAndOthersComeBackFromFiles) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const Model model{small_model("llama2_untied"), DType::int8};
  const test::TempFolder files;
  const auto engine = model.engine(
      device, {.parallel = 6, .batch_tokens = 16, .cache_tokens = 2 * kContext + 70, .cache_folder = files.path()});
  std::vector<Ids> conversations;
  for (std::uint32_t i = 0; i < 4; ++i) conversations.push_back(some_ids(90 + 7 * i, 40 + i));
  for (std::size_t turn = 0; turn < 2; ++turn) {
    std::vector<Client> clients(conversations.size());
    std::vector<Request> requests;
    std::size_t most_running = 0;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i].on_piece = [&] { most_running = std::max(most_running, engine->counts().running); };
      requests.push_back(clients[i].request(conversations[i], greedy(20)));
    }
    ASSERT_TRUE(engine->submit(std::move(requests)));
    for (std::size_t i = 0; i < clients.size(); ++i) {
      Ids& talk = conversations[i];
      const Result<Answer> answer = clients[i].wait();
      expect_equal(answer, model.alone(talk, greedy(20)), fmt::format("turn {}, {}", turn, i));
      if (turn > 0) {
        EXPECT_GE(answer->cached_tokens, talk.size() - 9) << i;
      }
      talk.insert(talk.end(), answer->generation.ids.begin(), answer->generation.ids.end() - 1);
      const Ids more = some_ids(7, static_cast<std::uint32_t>(talk.size()));
      talk.insert(talk.end(), more.begin(), more.end());
    }
    EXPECT_EQ(most_running, 2u);
  }
  const server::EngineCounts counts = engine->counts();
  EXPECT_GE(counts.stored, 4u);
  EXPECT_GE(counts.restored, 2u);
  EXPECT_EQ(counts.storage_errors, 0u);
  EXPECT_LE(counts.blocks, counts.most_blocks);
}

// The memory of finished requests serves a request for which there is none, alone and beside another one.
TEST(GpuEngine, WhatFinishedRequestsHoldIsGivenUpWhereMemoryEnds) {
  const Model model{small_model("llama2_untied")};
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  test::Faults& faults = *card->faults;
  const auto engine = model.engine(card->device.get(), {.parallel = 4, .batch_tokens = 16});
  for (const std::size_t at_once : {1, 2}) {
    SCOPED_TRACE(at_once);
    std::uint32_t seed = 0;
    const auto ask_several = [&] {
      std::vector<Client> clients(at_once);
      std::vector<Ids> prompts;
      std::vector<Request> requests;
      for (Client& client : clients) {
        prompts.push_back(some_ids(70, ++seed));
        requests.push_back(client.request(prompts.back(), greedy(4)));
      }
      ASSERT_TRUE(engine->submit(std::move(requests)));
      for (std::size_t i = 0; i < at_once; ++i)
        expect_equal(clients[i].wait(), model.alone(prompts[i], greedy(4)), std::to_string(seed));
    };
    for (int i = 0; i < 4; ++i) ask_several();
    const std::uint64_t next = faults.buffers;
    faults.no_memory_at_buffer = next;
    for (int i = 0; i < 60 && faults.buffers == next; ++i) ask_several();
    EXPECT_GT(faults.buffers, next);
    EXPECT_EQ(engine->counts().failed, 0u);
  }
}

// In the midst of passes with several sequences: all of them go on on the host.
TEST(GpuEngine, ACardThatIsLostChangesNoAnswer) {
  const Model model{small_model("llama2_untied")};
  const auto prompt = [](std::size_t i) { return some_ids(9 + 17 * i, static_cast<std::uint32_t>(i)); };
  const auto options = [](std::size_t i) { return i % 2 == 0 ? greedy(30) : drawn(25, i); };
  for (const std::uint64_t n : {1, 4, 20}) {
    SCOPED_TRACE(n);
    auto card = test::open_faulty_card();
    ASSERT_TRUE(card);
    if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
    const auto engine = model.engine(card->device.get(), {.parallel = 4, .batch_tokens = 16});
    for (const bool is_lost : {false, true}) {
      std::vector<Client> clients(4);
      std::vector<Request> requests;
      for (std::size_t i = 0; i < clients.size(); ++i) requests.push_back(clients[i].request(prompt(i), options(i)));
      test::Faults& faults = *card->faults;
      if (is_lost) faults.lost_at_read = faults.reads + n;
      ASSERT_TRUE(engine->submit(std::move(requests)));
      for (std::size_t i = 0; i < clients.size(); ++i)
        expect_equal(clients[i].wait(), model.alone(prompt(i), options(i)), std::to_string(i));
      EXPECT_EQ(faults.is_lost, is_lost);
    }
    EXPECT_EQ(engine->counts().failed, 0u);
  }
}

}  // namespace
}  // namespace loom::server_engine_gpu_test
