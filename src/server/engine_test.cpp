#include "server/engine.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "support/divided.h"
#include "support/engine_client.h"
#include "support/small_model.h"

namespace loom::server_engine_test {
namespace {

using server::Answer;
using server::Engine;
using server::EngineOptions;
using server::Request;
using test::Client;
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kContext = 256;

class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempFolder;
    ASSERT_TRUE(test::write_small_model(*folder_ / "small.gguf"));
    model_ = new LanguageModel(load_language_model(*folder_ / "small.gguf").value());
  }
  static void TearDownTestSuite() {
    delete model_;
    delete folder_;
  }

  static std::unique_ptr<Engine> engine(const EngineOptions& options, int threads = 1, std::size_t sequences = 32) {
    auto session = Session::create(model_->decoder, {.threads = threads,
                                                     .context_tokens = kContext,
                                                     .sequences = sequences,
                                                     .chunk_rows = options.batch_tokens + options.parallel});
    return Engine::start(*model_, std::move(session).value(), options).value();
  }
  static Generation alone(const Ids& prompt, const GenerationOptions& options) {
    const auto session = Session::create(model_->decoder, {.threads = 1, .context_tokens = kContext}).value();
    return generate(*session, *model_, prompt, options).value();
  }
  static Ids ids(std::size_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    Ids out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::int32_t>(100 + random() % 40000));
    return out;
  }
  static void expect_equal(const Result<Answer>& answer, const Generation& expected, const std::string& name) {
    ASSERT_TRUE(answer) << name << ": " << answer.error().text();
    const Generation& got = answer->generation;
    EXPECT_EQ(got.ids, expected.ids) << name;
    EXPECT_EQ(got.text, expected.text) << name;
    EXPECT_EQ(got.stop_reason, expected.stop_reason) << name;
    EXPECT_EQ(got.prompt_ids, expected.prompt_ids) << name;
    EXPECT_TRUE(got.hash == expected.hash) << name;
    ASSERT_EQ(got.logprobs.size(), expected.logprobs.size()) << name;
    for (std::size_t i = 0; i < got.logprobs.size(); ++i)
      EXPECT_EQ(got.logprobs[i][0].logprob, expected.logprobs[i][0].logprob) << name;
  }
  static Result<Answer> ask(Engine& engine, const Ids& prompt, const GenerationOptions& options) {
    Client client;
    LOOM_TRY_VOID(engine.submit(client.request(prompt, options)));
    return client.wait();
  }
  static GenerationOptions greedy(std::size_t tokens) {
    GenerationOptions options;
    options.max_tokens = tokens, options.ignore_eos = true;
    return options;
  }

  static inline test::TempFolder* folder_ = nullptr;
  static inline LanguageModel* model_ = nullptr;
};

class EveryChunk : public EngineTest, public testing::WithParamInterface<std::tuple<int, std::size_t>> {};

// Alone, beside seven others, after a prefix hit, and while neighbours leave.
TEST_P(EveryChunk, GivesTheBitsOfTheRequestAlone) {
  const auto [threads, chunk] = GetParam();
  const test::ExpectDivided divided(threads);
  const Ids prompt = ids(90, 1);
  GenerationOptions options = greedy(10);
  options.sampling.temperature = 0.8F, options.sampling.seed = 5, options.logprobs = 2;
  const Generation expected = alone(prompt, options);
  const auto shared = engine({.parallel = 8, .batch_tokens = chunk}, threads);
  const Result<Answer> first = ask(*shared, prompt, options);
  expect_equal(first, expected, "alone");
  EXPECT_EQ(first->cached_tokens, 0u);
  {
    std::vector<Client> clients(8);
    std::vector<Request> requests;
    for (std::size_t i = 0; i < 8; ++i)
      requests.push_back(clients[i].request(i == 3 ? prompt : ids(20 + 9 * i, 50 + static_cast<std::uint32_t>(i)),
                                            i == 3 ? options : greedy(4 + i)));
    ASSERT_TRUE(shared->submit(std::move(requests)));
    const Result<Answer> third = clients[3].wait();
    expect_equal(third, expected, "one of eight, with what the first one read");
    EXPECT_EQ(third->cached_tokens, prompt.size() - 1);
    for (std::size_t i = 0; i < 8; ++i)
      if (i != 3)
        expect_equal(clients[i].wait(), alone(ids(20 + 9 * i, 50 + static_cast<std::uint32_t>(i)), greedy(4 + i)),
                     "neighbour " + std::to_string(i));
  }
  Ids longer = prompt;
  longer.resize(70), longer.push_back(77), longer.push_back(78);
  const Result<Answer> other = ask(*shared, longer, options);
  expect_equal(other, alone(longer, options), "another prompt with the same beginning");
  EXPECT_EQ(other->cached_tokens, 70u);
  std::deque<Client> leaving;
  for (std::size_t i = 0; i < 4; ++i) leaving.emplace_back(i);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 4; ++i) requests.push_back(leaving[i].request(ids(30 + i, 9), greedy(100)));
  Client stays;
  const Ids fresh = ids(60, 3);
  requests.push_back(stays.request(fresh, options));
  ASSERT_TRUE(shared->submit(std::move(requests)));
  expect_equal(stays.wait(), alone(fresh, options), "while neighbours leave");
  for (std::size_t i = 0; i < 4; ++i) {
    (void)leaving[i].wait();
    EXPECT_LE(leaving[i].pieces(), i + 1);  // within one token
  }
}
// Thirty-two at once, every fourth one held to a form.
TEST_P(EveryChunk, ThirtyTwoWithFormsAmongThemGetTheBitsOfEachAlone) {
  const auto [threads, chunk] = GetParam();
  const test::ExpectDivided divided(threads);
  struct Case {
    Ids prompt;
    GenerationOptions options;
    Generation expected;
  };
  static const std::vector<Case> cases = [] {
    std::vector<Case> all(32);
    const std::string choices[] = {"yes, it is", "no"};
    const std::shared_ptr<const Grammar> forms[] = {Grammar::from_regex("[a-z]{3,9}( [a-z]+)*").value(),
                                                    Grammar::json_object().value(),
                                                    Grammar::from_choices(choices).value()};
    for (std::size_t i = 0; i < all.size(); ++i) {
      Case& c = all[i];
      c.prompt = ids(5 + 3 * i, 300 + static_cast<std::uint32_t>(i)), c.options.max_tokens = 3 + i % 8;
      if (i % 2 == 0) c.options.sampling.temperature = 0.9F, c.options.sampling.seed = i;
      if (i % 4 == 0) c.options.grammar = forms[i / 4 % 3];
      c.expected = alone(c.prompt, c.options);
    }
    return all;
  }();
  const std::string& chosen = cases[8].expected.text;
  EXPECT_TRUE(!chosen.empty() && (std::string_view("yes, it is").starts_with(chosen) || chosen == "no")) << chosen;
  const auto shared = engine({.parallel = 32, .batch_tokens = chunk}, threads, 40);
  std::vector<Client> clients(cases.size());
  std::vector<Request> requests;
  for (std::size_t i = 0; i < cases.size(); ++i)
    requests.push_back(clients[i].request(cases[i].prompt, cases[i].options));
  ASSERT_TRUE(shared->submit(std::move(requests)));
  for (std::size_t i = 0; i < cases.size(); ++i)
    expect_equal(clients[i].wait(), cases[i].expected, "request " + std::to_string(i));
}

// The engine keeps the form that came first and what it has found; equal ones are let go.
TEST_F(EngineTest, AFormThatCameBeforeServesAgain) {
  const auto shared = engine({.parallel = 2});
  std::weak_ptr<const Grammar> forms[2];
  for (auto& form : forms) {
    GenerationOptions options = greedy(6);
    options.grammar = Grammar::from_regex("[a-z]{3,9}( [a-z]+)*").value();
    form = options.grammar;
    expect_equal(ask(*shared, ids(8, 1), options), alone(ids(8, 1), options), "form");
  }
  EXPECT_FALSE(forms[0].expired());
  EXPECT_TRUE(forms[1].expired());
}

INSTANTIATE_TEST_SUITE_P(Threads, EveryChunk,
                         testing::Combine(testing::Values(1, 2), testing::Values<std::size_t>(1, 7, 128)));

TEST_F(EngineTest, ConcurrentEqualPromptsAreReadOnce) {
  const auto shared = engine({.parallel = 4, .batch_tokens = 32});
  const Ids prompt = ids(130, 4);
  std::vector<Client> clients(4);
  std::vector<Request> requests;
  GenerationOptions options = greedy(6);
  options.sampling.temperature = 1, options.sampling.seed = 3;
  for (std::size_t i = 0; i < 4; ++i) {
    options.sampling_session = static_cast<std::uint32_t>(i);
    requests.push_back(clients[i].request(prompt, options));
  }
  ASSERT_TRUE(shared->submit(std::move(requests)));
  std::set<Ids> different;
  for (std::size_t i = 0; i < 4; ++i) {
    options.sampling_session = static_cast<std::uint32_t>(i);
    const Result<Answer> answer = clients[i].wait();
    expect_equal(answer, alone(prompt, options), "choice " + std::to_string(i));
    EXPECT_EQ(answer->cached_tokens, i == 0 ? 0 : prompt.size() - 1);
    different.insert(answer->generation.ids);
  }
  EXPECT_GT(different.size(), 1u);
  const server::EngineCounts counts = shared->counts();
  EXPECT_EQ(counts.rows, prompt.size() + 3 + 4 * 5);  // the last drawn token is not fed
  EXPECT_EQ(counts.blocks, 2 + 4u);                   // two are shared, and each has one of its own
  EXPECT_EQ(counts.cached_tokens, 3 * (prompt.size() - 1));
  EXPECT_EQ(counts.prompt_tokens, 4 * prompt.size());
  EXPECT_EQ(counts.written_tokens, 4 * 6u);
  EXPECT_EQ(counts.answered, 4u);
}

// A cache of one context: requests wait for memory, what finished ones left is dropped, and an answer is the same.
TEST_F(EngineTest, WhatWasEvictedIsReadAgain) {
  const auto shared = engine({.parallel = 4, .batch_tokens = 64, .cache_tokens = kContext});
  const Ids prompt = ids(100, 5);
  const Generation expected = alone(prompt, greedy(8));
  expect_equal(ask(*shared, prompt, greedy(8)), expected, "first");
  expect_equal(ask(*shared, prompt, greedy(8)), expected, "again");
  EXPECT_GT(ask(*shared, prompt, greedy(8))->cached_tokens, 0u);
  std::vector<Client> clients(3);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < clients.size(); ++i)
    requests.push_back(clients[i].request(ids(120, 60 + static_cast<std::uint32_t>(i)), greedy(130)));  // 250 of 256
  ASSERT_TRUE(shared->submit(std::move(requests)));
  for (std::size_t i = 0; i < clients.size(); ++i)
    expect_equal(clients[i].wait(), alone(ids(120, 60 + static_cast<std::uint32_t>(i)), greedy(130)),
                 "large " + std::to_string(i));
  const Result<Answer> evicted = ask(*shared, prompt, greedy(8));
  expect_equal(evicted, expected, "after eviction");
  EXPECT_EQ(evicted->cached_tokens, 0u);
  const LanguageModel& model = *model_;
  auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = kContext}).value();
  const auto small = Engine::start(model, std::move(session), {.cache_tokens = kContext - 1});
  EXPECT_EQ(small.error().code, Code::InvalidArgument);
}

// Turns of conversations that do not fit into memory together: each comes back from its file.
TEST_F(EngineTest, WhatWentToAFileComesBackWithTheSameBits) {
  for (const std::size_t chunk : {1, 7, 128}) {
    const test::TempFolder files;
    const auto names = [&] {
      std::set<std::string> out;
      for (const auto& entry : std::filesystem::directory_iterator(files.path())) out.insert(entry.path().filename());
      return out;
    };
    test::write_all(files / "sequence-left-by-a-killed-process.kv", "half a file");
    const auto engine_ptr =
        engine({.parallel = 2, .batch_tokens = chunk, .cache_tokens = kContext, .cache_folder = files.path()}, 1, 4);
    EXPECT_TRUE(names().empty());
    std::vector<Ids> conversations;
    for (std::uint32_t i = 0; i < 4; ++i) conversations.push_back(ids(100 + 7 * i, 400 + i));
    for (std::size_t turn = 0; turn < 3; ++turn)
      for (Ids& talk : conversations) {
        const Result<Answer> answer = ask(*engine_ptr, talk, greedy(6));
        expect_equal(answer, alone(talk, greedy(6)), "chunk " + std::to_string(chunk));
        if (turn > 0) {
          EXPECT_GE(answer->cached_tokens, talk.size() - 20) << "turn " << turn;
        }
        talk.insert(talk.end(), answer->generation.ids.begin(), answer->generation.ids.end());
        const Ids more = ids(9, static_cast<std::uint32_t>(talk.size()));
        talk.insert(talk.end(), more.begin(), more.end());
      }
    const server::EngineCounts counts = engine_ptr->counts();
    EXPECT_GE(counts.stored, 8u);
    EXPECT_GE(counts.restored, 6u);
    EXPECT_EQ(counts.storage_errors, 0u);
    EXPECT_LE(counts.blocks, counts.most_blocks);
    ASSERT_FALSE(names().empty());
  }
}

// With one sequence, what comes back takes the memory of what leaves for it.
TEST_F(EngineTest, ASequenceComesBackIntoTheOnlyPlace) {
  const test::TempFolder files;
  const auto shared =
      engine({.parallel = 1, .batch_tokens = 64, .cache_tokens = kContext, .cache_folder = files.path()}, 1, 1);
  const Ids first = ids(200, 1), second = ids(200, 2);
  for (std::size_t turn = 0; turn < 3; ++turn)
    for (const Ids& prompt : {first, second}) {
      const Result<Answer> answer = ask(*shared, prompt, greedy(5));
      expect_equal(answer, alone(prompt, greedy(5)), "turn " + std::to_string(turn));
      EXPECT_EQ(answer->cached_tokens, turn == 0 ? 0u : 199u) << "turn " << turn;
    }
  EXPECT_EQ(shared->counts().restored, 4u);
}

TEST_F(EngineTest, AFileThatWasChangedIsReadFromThePromptAgain) {
  const test::TempFolder files;
  const auto shared =
      engine({.parallel = 1, .batch_tokens = 64, .cache_tokens = kContext, .cache_folder = files.path()}, 1, 2);
  const Ids first = ids(200, 1), second = ids(200, 2);
  const Generation expected = alone(first, greedy(5));
  std::uint64_t errors = 0;
  for (const std::string change : {"a bit", "an end", "a name"}) {
    expect_equal(ask(*shared, first, greedy(5)), expected, change);
    ASSERT_TRUE(ask(*shared, second, greedy(5)));
    std::string path;
    for (const auto& entry : std::filesystem::directory_iterator(files.path())) {
      path = entry.path();
      if (change == "a name") {
        std::filesystem::remove(path);
      } else if (change == "an end") {
        std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
      } else {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(5000);
        const auto byte = static_cast<char>(file.get());
        file.seekp(5000);
        file.put(static_cast<char>(byte ^ 4));
      }
    }
    ASSERT_FALSE(path.empty());
    const Result<Answer> again = ask(*shared, first, greedy(5));
    expect_equal(again, expected, change);
    EXPECT_EQ(again->cached_tokens, 0u) << change;
    EXPECT_GT(shared->counts().storage_errors, std::exchange(errors, shared->counts().storage_errors)) << change;
  }
}

// As on a full disk: what cannot be written is computed again.
TEST_F(EngineTest, AFileThatCannotBeWrittenChangesNoAnswer) {
  const test::TempFolder files;
  const auto shared =
      engine({.parallel = 1, .batch_tokens = 64, .cache_tokens = kContext, .cache_folder = files.path()}, 1, 2);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (std::uint32_t i = 0; i < 4; ++i)
    expect_equal(ask(*shared, ids(200, i % 2), greedy(3)), alone(ids(200, i % 2), greedy(3)), std::to_string(i));
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_GE(shared->counts().storage_errors, 2u);
  EXPECT_EQ(shared->counts().stored, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(files.path()));
}

TEST_F(EngineTest, FilesStayWithinTheirBytes) {
  const test::TempFolder files;
  constexpr std::uint64_t kMost = 300000;
  {
    const auto shared = engine({.parallel = 1,
                                .batch_tokens = 64,
                                .cache_tokens = kContext,
                                .cache_folder = files.path(),
                                .cache_folder_bytes = kMost},
                               1, 2);
    for (std::uint32_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(ask(*shared, ids(150, i), greedy(3)));
      std::uint64_t bytes = 0;
      for (const auto& entry : std::filesystem::directory_iterator(files.path())) bytes += entry.file_size();
      EXPECT_LE(bytes, kMost);
      EXPECT_EQ(shared->counts().stored_bytes, bytes);
    }
    EXPECT_GE(shared->counts().stored, 3u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(files.path()));
  auto session = Session::create(model_->decoder, {.threads = 1, .context_tokens = kContext}).value();
  const auto refused = Engine::start(*model_, std::move(session), {.cache_folder = *folder_ / "small.gguf"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("small.gguf"), std::string::npos);
}

TEST_F(EngineTest, RandomRequestsAtRandomMomentsHaveTheBitsOfEachAlone) {
  std::mt19937 random(7);
  struct Case {
    Ids prompt;
    GenerationOptions options;
  };
  std::vector<Case> cases;
  const Ids beginning = ids(150, 99);
  for (std::uint32_t i = 0; i < 32; ++i) {
    Case c;
    c.prompt.assign(beginning.begin(), beginning.begin() + random() % 150);
    const Ids tail = ids(1 + random() % 60, i);
    c.prompt.insert(c.prompt.end(), tail.begin(), tail.end());
    c.options.max_tokens = 1 + random() % 24;
    SamplingOptions& s = c.options.sampling;
    s.seed = random();
    if (i % 2 == 0) s.temperature = 0.9F;
    if (i % 3 == 0) s.repetition_penalty = 1.3F;
    if (i % 4 == 0) s.top_p = 0.8F;
    if (i % 5 == 0) s.logit_bias = {{static_cast<std::int32_t>(random() % 40000), 50.0F}};
    if (i % 7 == 0) c.options.logprobs = 3;
    if (i % 9 == 0) c.options.stop = {"e"};
    cases.push_back(std::move(c));
  }
  const auto shared = engine({.parallel = 5, .batch_tokens = 48, .cache_tokens = 3 * kContext}, 2, 12);
  std::vector<Client> clients(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_TRUE(shared->submit(clients[i].request(cases[i].prompt, cases[i].options)));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Result<Answer> answer = clients[i].wait();
    expect_equal(answer, alone(cases[i].prompt, cases[i].options), "request " + std::to_string(i));
    EXPECT_EQ(clients[i].text(), answer->generation.text) << i;
  }
  EXPECT_EQ(shared->under_way(), 0u);
}

// A stream gets one token in each pass: the passes from the first end to the last one are the tokens that the slowest
// stream lacks when the fastest one ends.
TEST_F(EngineTest, StreamsOfEqualDemandGetEqualTokens) {
  constexpr std::size_t kTokens = 100;
  const auto shared = engine({.parallel = 8, .batch_tokens = 16});
  std::vector<Client> clients(8);
  std::vector<std::size_t> ends;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 8; ++i) {
    requests.push_back(clients[i].request(ids(24, 20 + static_cast<std::uint32_t>(i)), greedy(kTokens)));
    clients[i].on_finish = [&] { ends.push_back(shared->counts().passes); };
  }
  ASSERT_TRUE(shared->submit(std::move(requests)));
  for (Client& client : clients) ASSERT_TRUE(client.wait());
  ASSERT_EQ(ends.size(), 8u);
  EXPECT_LE(ends.back() - ends.front(), kTokens / 10);
  EXPECT_LE(ends.back(), 8 * 24 / 16 + kTokens + 4);  // they share the passes
}

// A long prompt is read beside answers, a token of each in every pass.
TEST_F(EngineTest, AnswersGoOnWhileALongPromptIsRead) {
  const auto shared = engine({.parallel = 2, .batch_tokens = 4});
  Client writer, reader;
  std::size_t written = 0;
  writer.on_piece = [&] { ++written; };
  ASSERT_TRUE(shared->submit(writer.request(ids(4, 1), greedy(200))));
  std::size_t at_first = 0;
  reader.on_piece = [&] { at_first = at_first == 0 ? written : at_first; };
  ASSERT_TRUE(shared->submit(reader.request(ids(160, 2), greedy(3))));
  ASSERT_TRUE(reader.wait());
  ASSERT_TRUE(writer.wait());
  EXPECT_GE(at_first, 20u);  // of forty passes; a piece of text may have more than one token
}

TEST_F(EngineTest, ClientsLeaveAtAnyMoment) {
  const auto shared = engine({.parallel = 4, .batch_tokens = 16, .cache_tokens = 2 * kContext}, 1, 8);
  std::mt19937 random(11);
  std::vector<Client> clients(24);
  const Ids beginning = ids(80, 70);
  const auto prompt = [&](std::size_t i) {
    Ids out(beginning.begin(), beginning.begin() + static_cast<std::ptrdiff_t>(13 * i % 80));
    const Ids tail = ids(20, static_cast<std::uint32_t>(i));
    out.insert(out.end(), tail.begin(), tail.end());
    return out;
  };
  for (std::size_t i = 0; i < clients.size(); ++i)
    ASSERT_TRUE(shared->submit(clients[i].request(prompt(i), greedy(i % 3 == 0 ? 12 : 150))));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (i % 3 == 0) continue;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    clients[i].leave();
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Result<Answer> answer = clients[i].wait();
    if (i % 3 == 0)
      expect_equal(answer, alone(prompt(i), greedy(12)), "stays " + std::to_string(i));
    else if (answer)
      EXPECT_NE(answer->generation.stop_reason, StopReason::NotYet) << i;
    else
      EXPECT_EQ(answer.error().code, Code::Cancelled) << i;
  }
  const server::EngineCounts counts = shared->counts();
  EXPECT_EQ(counts.answered + counts.cancelled, clients.size());
  EXPECT_GE(counts.cancelled, 1u);
  EXPECT_EQ(counts.failed, 0u);
  EXPECT_EQ(counts.blocks_running, 0u);
  EXPECT_LE(counts.blocks, counts.most_blocks);
}

TEST_F(EngineTest, BlocksOfAClientThatLeavesAreFreeBeforeTheNextToken) {
  const auto shared = engine({.parallel = 1, .batch_tokens = 64, .cache_tokens = kContext});
  Client leaves(2), next;
  std::uint64_t at_piece = 0, at_end = 0, at_next = 0;
  std::size_t held = ~std::size_t{0};
  leaves.on_piece = [&] { at_piece = shared->counts().passes; };
  leaves.on_finish = [&] { at_end = shared->counts().passes, held = shared->counts().blocks_running; };
  next.on_piece = [&] { at_next = at_next == 0 ? shared->counts().passes : at_next; };
  ASSERT_TRUE(shared->submit(leaves.request(ids(130, 1), greedy(120))));
  ASSERT_TRUE(shared->submit(next.request(ids(60, 2), greedy(190))));  // needs blocks of the first one
  expect_equal(next.wait(), alone(ids(60, 2), greedy(190)), "next");
  EXPECT_EQ(held, 0u);
  EXPECT_LE(at_end, at_piece + 1);
  EXPECT_LE(at_next, at_end + 3);
}

TEST_F(EngineTest, AClientThatLeavesGivesItsPlaceToTheNext) {
  const auto shared = engine({.most_waiting = 1, .parallel = 1});
  Client leaves(2), next;
  ASSERT_TRUE(shared->submit(leaves.request(ids(8, 1), greedy(240))));
  ASSERT_TRUE(shared->submit(next.request(ids(8, 2), greedy(4))));
  expect_equal(next.wait(), alone(ids(8, 2), greedy(4)), "next");
  const Result<Answer> left = leaves.wait();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->generation.stop_reason, StopReason::Cancelled);
  EXPECT_LE(leaves.pieces(), 3u);
}

TEST_F(EngineTest, RequestsThatDoNotAllFitAreRefusedTogether) {
  const auto shared = engine({.most_waiting = 2, .parallel = 2});
  std::vector<Client> clients(5);
  std::vector<Request> requests;
  for (Client& client : clients) requests.push_back(client.request(ids(8, 1), greedy(4)));
  // To try again later would not help.
  const auto refused = shared->submit(std::move(requests));
  EXPECT_EQ(refused.error().code, Code::LimitExceeded);
  EXPECT_EQ(refused.error().text(), "5 answers in one request, at most 4 may run or wait on this server");
  EXPECT_EQ(shared->under_way(), 0u);
  expect_equal(ask(*shared, ids(8, 1), greedy(4)), alone(ids(8, 1), greedy(4)), "afterwards");
}

TEST(EngineModel, SmolLM2AnswersSeveralAsEachAlone) {
  const LanguageModel model = load_language_model(test::smollm2()).value();
  const auto session = [&](std::size_t sequences) {
    return Session::create(model.decoder, {.threads = 2, .context_tokens = 128, .sequences = sequences}).value();
  };
  GenerationOptions options;
  options.max_tokens = 8;
  std::vector<Ids> prompts;
  for (const char* text : {"The capital of France is", "The capital of France was once", "Water boils at"})
    ASSERT_TRUE(model.tokenizer->encode(text, {}, prompts.emplace_back()));
  const auto engine = Engine::start(model, session(6), {.parallel = 3, .batch_tokens = 16}).value();
  std::vector<Client> clients(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) ASSERT_TRUE(engine->submit(clients[i].request(prompts[i], options)));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Generation expected = generate(*session(1), model, prompts[i], options).value();
    const Result<Answer> answer = clients[i].wait();
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->generation.ids, expected.ids) << i;
    EXPECT_TRUE(answer->generation.hash == expected.hash) << i;
  }
}

}  // namespace
}  // namespace loom::server_engine_test
