// The C ABI as a host sees it: loom.h alone, and what it answers to handles and pointers that are wrong.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "capi/capi_test.h"
#include "support/files.h"
#include "support/small_model.h"

namespace {

using loom::test::sized;
using loom::test::take;

// A model file of one block, and the handles of a host that uses it.
class Capi : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace();
    path_ = *folder_ / "small.gguf";
    const auto written = loom::test::write_small_model(path_);
    ASSERT_TRUE(written) << written.error().text();
    ASSERT_EQ(loom_model_open(path_.c_str(), nullptr, &model_), LOOM_OK) << loom_last_error();
  }
  void TearDown() override { EXPECT_EQ(loom_release(model_), LOOM_OK) << loom_last_error(); }

  loom_session session(const loom_session_options* options = nullptr) {
    loom_session s = 0;
    EXPECT_EQ(loom_session_create(model_, options, &s), LOOM_OK) << loom_last_error();
    return s;
  }
  // The answer's text and the hash of it.
  std::pair<std::string, std::string> answer(loom_session s, const char* text, loom_cancel cancel = 0) {
    auto options = sized<loom_generation_options>();
    options.max_tokens = 12;
    loom_generator g = 0;
    EXPECT_EQ(loom_generator_from_text(s, text, std::string(text).size(), LOOM_PROMPT_AUTO, &options, &g), LOOM_OK)
        << loom_last_error();
    auto step = sized<loom_step>();
    std::string pieces;
    while (step.stop == LOOM_STOP_NOT_YET) {
      const loom_status status = loom_generator_next(g, cancel, &step);
      if (status == LOOM_BUSY) continue;
      EXPECT_EQ(status, LOOM_OK) << loom_last_error();
      if (status != LOOM_OK) break;
      pieces.append(step.text, step.text_size);
    }
    auto whole = sized<loom_generation>();
    EXPECT_EQ(loom_generator_result(g, &whole), LOOM_OK) << loom_last_error();
    EXPECT_EQ(pieces, std::string(whole.text, whole.text_size));
    std::string hash(reinterpret_cast<const char*>(whole.hash), sizeof whole.hash);
    EXPECT_EQ(loom_release(g), LOOM_OK);
    return {pieces, hash};
  }

  std::optional<loom::test::TempFolder> folder_;
  std::string path_;
  loom_model model_ = 0;
};

TEST_F(Capi, generates_the_same_bits_whoever_lends_the_threads) {
  const loom_session alone = session();
  const auto expected = answer(alone, "What is the capital of France?");
  EXPECT_FALSE(expected.first.empty());

  loom_threads shared = 0;
  ASSERT_EQ(loom_threads_create(2, &shared), LOOM_OK);
  loom_threads lent = 0;
  const loom_run_work serial = [](void* user, loom_work work, void* job, std::int32_t workers) {
    static_cast<std::atomic<int>*>(user)->fetch_add(1);
    for (std::int32_t w = workers; w-- > 0;) work(job, w);
  };
  std::atomic<int> jobs{0};
  ASSERT_EQ(loom_threads_from_host(3, serial, &jobs, &lent), LOOM_OK);
  for (const loom_threads threads : {shared, lent}) {
    auto compute = sized<loom_compute_options>();
    auto options = sized<loom_session_options>();
    options.compute = &compute;
    compute.threads = threads;
    const loom_session s = session(&options);
    EXPECT_EQ(answer(s, "What is the capital of France?"), expected);
    EXPECT_EQ(loom_release(s), LOOM_OK);
  }
  EXPECT_GT(jobs.load(), 0);
  EXPECT_EQ(loom_release(shared), LOOM_OK);
  EXPECT_EQ(loom_release(lent), LOOM_OK);
  EXPECT_EQ(loom_release(alone), LOOM_OK);
}

TEST_F(Capi, speculation_gives_the_same_bits) {  // X-25
  constexpr std::string_view kText = "one two three one two three one two three one two";
  const auto run = [&](const loom_generation_options& options) {
    const loom_session s = session();
    loom_generator g = 0;
    EXPECT_EQ(loom_generator_from_text(s, kText.data(), kText.size(), LOOM_PROMPT_RAW, &options, &g), LOOM_OK)
        << loom_last_error();
    auto step = sized<loom_step>();
    while (step.stop == LOOM_STOP_NOT_YET) EXPECT_EQ(loom_generator_next(g, 0, &step), LOOM_OK) << loom_last_error();
    auto whole = sized<loom_generation>();
    EXPECT_EQ(loom_generator_result(g, &whole), LOOM_OK) << loom_last_error();
    EXPECT_EQ(loom_release(g), LOOM_OK);
    EXPECT_EQ(loom_release(s), LOOM_OK);
    return whole;
  };
  auto options = sized<loom_generation_options>();
  options.max_tokens = 40, options.ignore_eos = 1;
  const loom_generation plain = run(options);
  EXPECT_EQ(plain.drafted + plain.accepted + plain.passes, 0u);
  options.speculate = 1;
  const loom_generation told = run(options);
  EXPECT_EQ(std::memcmp(told.hash, plain.hash, sizeof told.hash), 0);
  EXPECT_GT(told.drafted, 0u);
  EXPECT_EQ(told.accepted + told.passes, 39u);
  // by itself, which its own account finds too dear to ask
  options.draft_model = model_;
  const loom_generation own = run(options);
  EXPECT_EQ(std::memcmp(own.hash, plain.hash, sizeof own.hash), 0);
  EXPECT_EQ(own.passes, 39u);

  const loom_session s = session();
  loom_generator g = 0;
  options.draft_model = s;
  EXPECT_EQ(loom_generator_from_text(s, kText.data(), kText.size(), LOOM_PROMPT_RAW, &options, &g), LOOM_BAD_HANDLE);
  loom_chat chat = 0;
  EXPECT_EQ(loom_chat_create(s, nullptr, &options, &chat), LOOM_BAD_HANDLE);
  options.draft_model = 0;
  EXPECT_EQ(loom_chat_create(s, nullptr, &options, &chat), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_release(chat), LOOM_OK);
  EXPECT_EQ(loom_release(s), LOOM_OK);
}

// The model goes first, then the session; the generator keeps both.
TEST_F(Capi, children_keep_their_parents) {
  const loom_session s = session();
  const auto expected = answer(s, "One");
  ASSERT_EQ(loom_session_rewind(s, 0, 0), LOOM_OK);
  auto options = sized<loom_generation_options>();
  options.max_tokens = 12;
  loom_generator g = 0;
  ASSERT_EQ(loom_generator_from_text(s, "One", 3, LOOM_PROMPT_AUTO, &options, &g), LOOM_OK);
  ASSERT_EQ(loom_retain(model_), LOOM_OK);
  ASSERT_EQ(loom_release(model_), LOOM_OK);
  ASSERT_EQ(loom_release(s), LOOM_OK);
  EXPECT_EQ(loom_session_rewind(s, 0, 0), LOOM_BAD_HANDLE);
  auto step = sized<loom_step>();
  while (step.stop == LOOM_STOP_NOT_YET) ASSERT_EQ(loom_generator_next(g, 0, &step), LOOM_OK) << loom_last_error();
  auto whole = sized<loom_generation>();
  ASSERT_EQ(loom_generator_result(g, &whole), LOOM_OK);
  EXPECT_EQ(std::string(whole.text, whole.text_size), expected.first);
  EXPECT_EQ(loom_release(g), LOOM_OK);
}

TEST_F(Capi, every_wrong_handle_is_an_error) {
  const loom_session s = session();
  loom_blob info = 0;
  const loom_handle wrong[] = {0,
                               1,
                               ~std::uint64_t{0},
                               model_ ^ 1,
                               model_ + (1u << 10),
                               s ^ 7,
                               std::uint64_t{8} << 56 | 1,
                               std::uint64_t{0x7f} << 56,
                               std::uint64_t{9} << 56,
                               model_,
                               model_ ^ std::uint64_t{1} << 32,
                               std::uint64_t{200} << 56 | 1};
  for (const loom_handle handle : wrong) {
    EXPECT_EQ(loom_session_info(handle, &info), LOOM_BAD_HANDLE) << handle;
    EXPECT_NE(std::string(loom_last_error()), "");
    if (handle == model_) continue;
    loom_kind kind = 0;
    EXPECT_NE(loom_kind_of(handle, &kind), LOOM_OK) << handle;
    EXPECT_NE(loom_retain(handle), LOOM_OK) << handle;
    if (handle != 0) {
      EXPECT_NE(loom_release(handle), LOOM_OK) << handle;
    }
  }
  EXPECT_EQ(loom_model_info(s, &info), LOOM_BAD_HANDLE);
  EXPECT_STREQ(loom_last_error(), "expected the handle of a model, got that of a session");
  EXPECT_EQ(loom_release(s), LOOM_OK);
  EXPECT_EQ(loom_release(s), LOOM_BAD_HANDLE);
  EXPECT_EQ(loom_session_info(s, &info), LOOM_BAD_HANDLE);
  EXPECT_EQ(loom_release(0), LOOM_OK);
  const loom_session next = session();  // takes the slot, not the handle
  EXPECT_NE(next, s);
  EXPECT_EQ(loom_session_info(s, &info), LOOM_BAD_HANDLE);
  EXPECT_EQ(loom_release(next), LOOM_OK);
}

TEST_F(Capi, null_and_wrong_sizes_are_errors) {
  loom_handle out = 0;
  EXPECT_EQ(loom_model_open(nullptr, nullptr, &out), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_model_open("nowhere.gguf", nullptr, &out), LOOM_NOT_FOUND);
  EXPECT_EQ(loom_model_open(path_.c_str(), nullptr, nullptr), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_tokenizer_from_json(nullptr, 5, &out), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_tokenizer_from_json("{", 1, &out), LOOM_CORRUPT_DATA);
  loom_session_options options = {};
  EXPECT_EQ(loom_session_create(model_, &options, &out), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "loom_session_options: struct_size is 0: set it to sizeof(loom_session_options)");
  options = sized<loom_session_options>();
  options.kv_dtype = "int3";
  EXPECT_EQ(loom_session_create(model_, &options, &out), LOOM_UNKNOWN_NAME);
  struct Newer {
    loom_session_options known;
    std::uint64_t more;
  } newer{};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(loom_session_create(model_, &newer.known, &out), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_release(out), LOOM_OK);
  newer.more = 1;
  EXPECT_EQ(loom_session_create(model_, &newer.known, &out), LOOM_UNSUPPORTED);
  const std::uint32_t older = offsetof(loom_session_options, kv_dtype);
  options = {};
  options.struct_size = older;
  options.kv_dtype = "int3";  // the caller does not know the field
  EXPECT_EQ(loom_session_create(model_, &options, &out), LOOM_OK) << loom_last_error();
  const float* logits = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(loom_session_feed(out, 0, nullptr, 3, 0, &logits, &count), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_session_feed(out, 0, nullptr, 0, 0, &logits, &count), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_session_feed(out, 7, nullptr, 0, 0, &logits, &count), LOOM_OUT_OF_RANGE);
  EXPECT_EQ(loom_release(out), LOOM_OK);
}

TEST_F(Capi, sessions_feed_rewind_fork_and_come_back_from_bytes) {
  auto options = sized<loom_session_options>();
  options.sequences = 2;
  const loom_session s = session(&options);
  const std::vector<std::int32_t> ids = {40, 41, 42}, next = {43};
  const float* logits = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(loom_session_feed(s, 0, ids.data(), ids.size(), 0, &logits, &count), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_session_fork(s, 0, 1), LOOM_OK);
  loom_blob saved = 0;
  ASSERT_EQ(loom_session_snapshot(s, 0, &saved), LOOM_OK);
  const std::string bytes = take(saved);
  std::vector<std::vector<float>> rows;
  for (const int way : {0, 1, 2}) {
    const std::uint64_t sequence = way == 1 ? 1 : 0;
    if (way == 2) {
      ASSERT_EQ(loom_session_restore(s, 0, bytes.data(), bytes.size()), LOOM_OK) << loom_last_error();
    }
    ASSERT_EQ(loom_session_feed(s, sequence, next.data(), 1, 0, &logits, &count), LOOM_OK);
    rows.emplace_back(logits, logits + count);
  }
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_EQ(rows[0], rows[2]);
  const std::int32_t* held = nullptr;
  ASSERT_EQ(loom_session_tokens(s, 0, &held, &count), LOOM_OK);
  EXPECT_EQ(std::vector<std::int32_t>(held, held + count), (std::vector<std::int32_t>{40, 41, 42, 43}));
  ASSERT_EQ(loom_session_rewind(s, 0, 1), LOOM_OK);
  EXPECT_EQ(loom_session_rewind(s, 0, 9), LOOM_OUT_OF_RANGE);
  loom_cancel cancel = 0;
  ASSERT_EQ(loom_cancel_create(&cancel), LOOM_OK);
  ASSERT_EQ(loom_cancel_set(cancel, 1), LOOM_OK);
  EXPECT_EQ(loom_session_feed(s, 0, next.data(), 1, cancel, &logits, &count), LOOM_CANCELLED);
  ASSERT_EQ(loom_cancel_set(cancel, 0), LOOM_OK);
  EXPECT_EQ(loom_session_feed(s, 0, next.data(), 1, cancel, &logits, &count), LOOM_OK);
  EXPECT_EQ(loom_release(cancel), LOOM_OK);
  loom_blob info = 0;
  ASSERT_EQ(loom_session_info(s, &info), LOOM_OK);
  EXPECT_NE(take(info).find("\"sequences\":2"), std::string::npos);
  EXPECT_EQ(loom_release(s), LOOM_OK);
}

// Reads the prompt of a generation, does something else with the session, and goes on.
TEST_F(Capi, other_sequences_may_be_used_between_two_steps_and_the_own_one_not) {
  loom_session_options two = sized<loom_session_options>();
  two.sequences = 2;
  const loom_session s = session(&two);
  const auto expected = answer(s, "What is the capital of France?");
  const std::vector<std::int32_t> ids = {40, 41};
  const float* logits = nullptr;
  std::size_t count = 0;
  const auto begin = [&] {
    EXPECT_EQ(loom_session_rewind(s, 0, 0), LOOM_OK);
    auto options = sized<loom_generation_options>();
    options.max_tokens = 12;
    loom_generator g = 0;
    const std::string text = "What is the capital of France?";
    EXPECT_EQ(loom_generator_from_text(s, text.data(), text.size(), LOOM_PROMPT_AUTO, &options, &g), LOOM_OK);
    auto step = sized<loom_step>();
    EXPECT_EQ(loom_generator_next(g, 0, &step), LOOM_OK);
    EXPECT_GT(step.prompt_tokens, 0u);
    return g;
  };
  loom_generator g = begin();
  auto step = sized<loom_step>();
  while (step.stop == LOOM_STOP_NOT_YET) {
    ASSERT_EQ(loom_session_feed(s, 1, ids.data(), ids.size(), 0, &logits, &count), LOOM_OK) << loom_last_error();
    ASSERT_EQ(loom_generator_next(g, 0, &step), LOOM_OK) << loom_last_error();
  }
  auto whole = sized<loom_generation>();
  ASSERT_EQ(loom_generator_result(g, &whole), LOOM_OK);
  EXPECT_EQ(std::string(whole.text, whole.text_size), expected.first);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(whole.hash), sizeof whole.hash), expected.second);
  EXPECT_EQ(loom_release(g), LOOM_OK);

  g = begin();
  const std::int32_t* held = nullptr;
  ASSERT_EQ(loom_session_tokens(s, 0, &held, &count), LOOM_OK);
  ASSERT_EQ(loom_session_rewind(s, 0, count - 1), LOOM_OK);
  ASSERT_EQ(loom_session_feed(s, 0, ids.data(), 1, 0, &logits, &count), LOOM_OK);  // as many tokens as before
  step = sized<loom_step>();
  EXPECT_EQ(loom_generator_next(g, 0, &step), LOOM_INVALID_STATE);
  EXPECT_EQ(loom_generator_next(g, 0, &step), LOOM_INVALID_STATE);
  EXPECT_EQ(loom_release(g), LOOM_OK);
  EXPECT_EQ(loom_release(s), LOOM_OK);
}

TEST_F(Capi, a_result_without_its_size_costs_nothing) {
  const loom_session s = session();
  loom_generator g = 0;
  ASSERT_EQ(loom_generator_from_text(s, "One", 3, LOOM_PROMPT_AUTO, nullptr, &g), LOOM_OK);
  loom_step step{};
  EXPECT_EQ(loom_generator_next(g, 0, &step), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_generator_next(g, 0, nullptr), LOOM_INVALID_ARGUMENT);
  const std::int32_t* held = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(loom_session_tokens(s, 0, &held, &count), LOOM_OK);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(loom_release(g), LOOM_OK);
  EXPECT_EQ(loom_release(s), LOOM_OK);
}

TEST_F(Capi, tokenizers_and_templates) {
  loom_tokenizer t = 0;
  ASSERT_EQ(loom_model_tokenizer(model_, &t), LOOM_OK) << loom_last_error();
  loom_blob blob = 0;
  ASSERT_EQ(loom_tokenizer_encode(t, "Hello world", 11, 1, 1, &blob), LOOM_OK);
  const std::string bytes = take(blob);
  const auto* const ids = reinterpret_cast<const std::int32_t*>(bytes.data());
  ASSERT_EQ(loom_tokenizer_decode(t, ids, bytes.size() / 4, 1, &blob), LOOM_OK);
  EXPECT_EQ(take(blob), "Hello world");
  std::int32_t id = -1;
  ASSERT_EQ(loom_tokenizer_id(t, "<|im_end|>", 10, &id), LOOM_OK);
  ASSERT_EQ(loom_tokenizer_token(t, id, &blob), LOOM_OK);
  EXPECT_EQ(take(blob), "<|im_end|>");
  EXPECT_EQ(loom_tokenizer_id(t, "no such token", 13, &id), LOOM_NOT_FOUND);
  std::uint64_t size = 0;
  ASSERT_EQ(loom_tokenizer_vocab_size(t, &size), LOOM_OK);
  EXPECT_EQ(size, 49152u);
  loom_tokenizer same = 0;
  ASSERT_EQ(loom_tokenizer_open(path_.c_str(), &same), LOOM_OK);
  EXPECT_EQ(loom_release(same), LOOM_OK);
  EXPECT_EQ(loom_release(t), LOOM_OK);
  const std::string messages = R"([{"role":"user","content":"Hi"}])";
  ASSERT_EQ(loom_model_render_chat(model_, messages.data(), messages.size(), 1, &blob), LOOM_OK) << loom_last_error();
  EXPECT_NE(take(blob).find("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant"), std::string::npos);
  EXPECT_EQ(loom_model_render_chat(model_, "[1]", 3, 1, &blob), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_model_info(model_, &blob), LOOM_OK);
  EXPECT_NE(take(blob).find("\"layers\":1"), std::string::npos);
}

TEST_F(Capi, an_object_in_use_answers_busy_and_callbacks_may_not_come_back_to_it) {
  struct Host {
    loom_session session = 0;
    loom_status status = LOOM_OK;
  } host;
  const loom_run_work comes_back = [](void* user, loom_work work, void* job, std::int32_t workers) {
    auto& h = *static_cast<Host*>(user);
    if (h.session != 0 && h.status == LOOM_OK) h.status = loom_session_rewind(h.session, 0, 0);
    for (std::int32_t w = 0; w < workers; ++w) work(job, w);
  };
  loom_threads lent = 0;
  ASSERT_EQ(loom_threads_from_host(2, comes_back, &host, &lent), LOOM_OK);
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_session_options>();
  options.compute = &compute;
  compute.threads = lent;
  const loom_session s = session(&options);
  host.session = s;
  const auto done = answer(s, "A prompt that is long enough for more than one thread to have work with it");
  EXPECT_FALSE(done.first.empty());
  EXPECT_EQ(host.status, LOOM_BUSY);
  EXPECT_EQ(loom_release(s), LOOM_OK);
  EXPECT_EQ(loom_release(lent), LOOM_OK);
}

TEST_F(Capi, four_threads_use_and_release_the_same_handles) {
  const auto expected = [&] {
    const loom_session s = session();
    const auto out = answer(s, "Hello");
    EXPECT_EQ(loom_release(s), LOOM_OK);
    return out;
  }();
  loom_threads shared = 0;
  ASSERT_EQ(loom_threads_create(2, &shared), LOOM_OK);
  std::atomic<int> released{0};
  loom_cancel contested = 0;
  ASSERT_EQ(loom_cancel_create(&contested), LOOM_OK);
  std::vector<std::thread> hosts;
  for (int i = 0; i < 4; ++i)
    hosts.emplace_back([&] {
      auto compute = sized<loom_compute_options>();
      auto options = sized<loom_session_options>();
      options.compute = &compute;
      compute.threads = shared;
      const loom_session s = session(&options);
      EXPECT_EQ(answer(s, "Hello"), expected);
      EXPECT_EQ(loom_release(s), LOOM_OK);
      for (int n = 0; n < 2000; ++n) {
        loom_kind kind = 0;
        EXPECT_EQ(loom_kind_of(model_, &kind), LOOM_OK);
        (void)loom_cancel_set(contested, n % 2);
        loom_cancel own = 0;
        EXPECT_EQ(loom_cancel_create(&own), LOOM_OK);
        EXPECT_EQ(loom_release(own), LOOM_OK);
      }
      if (loom_release(contested) == LOOM_OK) released.fetch_add(1);
    });
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(released.load(), 1);
  EXPECT_EQ(loom_release(shared), LOOM_OK);
}

TEST(CapiLibrary, versions_names_and_the_machine) {
  std::uint32_t numerics = 0;
  EXPECT_EQ(loom_numerics_version(&numerics), LOOM_OK);
  EXPECT_EQ(numerics, 2u);
  EXPECT_EQ(loom_numerics_version(nullptr), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_version(), LOOM_VERSION);
  const char* const stops[] = {"", "eos", "stop", "length", "context", "cancelled", ""};
  for (int stop = LOOM_STOP_NOT_YET; stop <= LOOM_STOP_CANCELLED + 1; ++stop)
    EXPECT_STREQ(loom_stop_name(stop), stops[stop]);
  EXPECT_STREQ(loom_stop_name(-1), "");
  const char* const training_stops[] = {"", "finished", "early_stop", "stopped", "diverged", ""};
  for (int stop = LOOM_TRAINING_STOP_NOT_YET; stop <= LOOM_TRAINING_STOP_DIVERGED + 1; ++stop)
    EXPECT_STREQ(loom_training_stop_name(stop), training_stops[stop]);
  EXPECT_STREQ(loom_training_stop_name(-1), "");
  EXPECT_STREQ(loom_status_name(LOOM_OK), "Ok");
  EXPECT_STREQ(loom_status_name(LOOM_BUSY), "Busy");
  EXPECT_STREQ(loom_status_name(1 << 20), "Unknown");
  loom_blob blob = 0;
  ASSERT_EQ(loom_system_info(&blob), LOOM_OK);
  loom_kind kind = 0;
  ASSERT_EQ(loom_kind_of(blob, &kind), LOOM_OK);
  EXPECT_EQ(kind, LOOM_KIND_BLOB);
  EXPECT_NE(take(blob).find("\"cpu\""), std::string::npos);
  auto compute = sized<loom_compute_options>();
  compute.isa = "no such set";
  EXPECT_EQ(loom_verify(&compute, &blob), LOOM_UNKNOWN_NAME);
}

}  // namespace
