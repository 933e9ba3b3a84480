// Language models on a graphics card answer with the bits of the CPU: whole, in chunks, beside others, and when a
// session moves between the two in mid-sentence.

#include <gtest/gtest.h>

#include <filesystem>

#include "core/philox.h"
#include "lm/language_model.h"
#include "lm/session.h"
#include "support/files.h"
#include "support/gpu.h"

namespace loom::gpu_models_test {
namespace {

std::vector<std::int32_t> random_ids(std::size_t n, std::size_t vocabulary) {
  const RandomStream stream{20261125, RandomDomain::Init, 0, 1};
  std::vector<std::int32_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(stream.word(i) % vocabulary);
  return ids;
}

// Of keys and values.
constexpr DType kTypes[] = {DType::float32, DType::bfloat16, DType::int8};

std::unique_ptr<Session> session_of(const LanguageModel& model, Device* device, std::size_t chunk = 128,
                                    std::size_t sequences = 1, DType kv_dtype = DType::float32) {
  SessionOptions options;
  options.threads = 2, options.context_tokens = 160, options.chunk_rows = chunk, options.sequences = sequences;
  options.device = device, options.kv_dtype = kv_dtype;
  auto session = Session::create(model.decoder, options);
  EXPECT_TRUE(session) << session.error().text();
  return session ? std::move(*session) : nullptr;
}

using Logits = std::vector<std::uint32_t>;
Logits feed(Session& session, std::span<const std::int32_t> ids, std::size_t sequence = 0) {
  const auto row = session.feed(ids, sequence);
  EXPECT_TRUE(row) << row.error().text();
  if (!row) return {};
  const auto* const bits = reinterpret_cast<const std::uint32_t*>(row->data());
  return {bits, bits + row->size()};
}

// Each small model that a golden file describes, with the weights of its file ("") and in other types.
template <class F>
void for_models(std::initializer_list<const char*> dtypes, F&& f) {
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("tests/golden/models"))) {
    SCOPED_TRACE(entry.path().filename().string());
    for (const char* const dtype : dtypes) {
      SCOPED_TRACE(dtype);
      ModelOptions options;
      if (*dtype != '\0') options.decoder.dtype = dtype_from_name(dtype).value();
      const auto model = load_language_model(entry.path().string(), options);
      if (!model) continue;  // a type that does not fit the rows of the model
      f(*model);
    }
  }
}

TEST(GpuModels, every_small_model_has_the_logits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  std::size_t models = 0;
  for_models({"", "q8_0", "int4", "fp4"}, [&](const LanguageModel& model) {
    const auto ids = random_ids(75, static_cast<std::size_t>(model.decoder->config.vocab_size));
    const auto here = session_of(model, nullptr), there = session_of(model, device),
               chunked = session_of(model, device, 7);
    if (here == nullptr || there == nullptr || chunked == nullptr) return;
    ++models;
    for (const std::size_t n : {70, 1, 4}) {
      const std::span<const std::int32_t> part = std::span(ids).subspan(n == 70 ? 0 : n == 1 ? 70 : 71, n);
      const Logits expected = feed(*here, part);
      EXPECT_EQ(feed(*there, part), expected);
      EXPECT_EQ(feed(*chunked, part), expected);
    }
  });
  EXPECT_GT(models, 20u);
}

TEST(GpuModels, keys_and_values_of_every_type_are_those_of_the_cpu) {  // L-74
  LOOM_NEEDS_GPU_DEVICE(device);
  std::size_t models = 0;
  for_models({""}, [&](const LanguageModel& model) {
    ++models;
    const auto ids = random_ids(75, static_cast<std::size_t>(model.decoder->config.vocab_size));
    for (const DType dtype : {DType::bfloat16, DType::int8}) {
      SCOPED_TRACE(name(dtype));
      const auto here = session_of(model, nullptr, 128, 1, dtype), there = session_of(model, device, 128, 1, dtype),
                 chunked = session_of(model, device, 7, 1, dtype);
      if (here == nullptr || there == nullptr || chunked == nullptr) return;
      for (const std::size_t n : {69, 1, 4, 1}) {
        const std::span<const std::int32_t> part = std::span(ids).subspan(here->length(), n);
        const Logits expected = feed(*here, part);
        EXPECT_EQ(feed(*there, part), expected);
        EXPECT_EQ(feed(*chunked, part), expected);
        const auto snapshot = here->snapshot().value();
        EXPECT_TRUE(there->snapshot().value() == snapshot);
        EXPECT_TRUE(chunked->snapshot().value() == snapshot);
      }
    }
  });
  EXPECT_GT(models, 10u);
}

TEST(GpuModels, a_session_moves_between_cpu_and_card_in_mid_sentence_and_neighbours_change_nothing) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto model = load_language_model(test::source_path("tests/golden/models/mistral_window"));
  ASSERT_TRUE(model) << model.error().text();
  const auto ids = random_ids(90, static_cast<std::size_t>(model->decoder->config.vocab_size));
  const std::span<const std::int32_t> all = ids;
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(name(dtype));
    const auto session_on = [&](Device* on, std::size_t sequences = 1) {
      return session_of(*model, on, 128, sequences, dtype);
    };
    const auto expected = session_on(nullptr), cpu = session_on(nullptr), card = session_on(device);
    feed(*expected, all.first(60));
    feed(*cpu, all.first(41));  // within a word of keys
    ASSERT_TRUE(card->restore(cpu->snapshot().value()));
    feed(*card, all.subspan(41, 19));
    EXPECT_EQ(feed(*card, all.subspan(60, 5)), feed(*expected, all.subspan(60, 5)));
    EXPECT_EQ(card->snapshot().value(), expected->snapshot().value());
    ASSERT_TRUE(cpu->restore(card->snapshot().value()));
    const Logits last = feed(*expected, all.subspan(65));
    EXPECT_EQ(feed(*cpu, all.subspan(65)), last);

    const auto batch = session_on(device, 8);
    std::vector<Session::Feed> feeds;
    for (std::size_t s = 0; s < 8; ++s) feeds.push_back({s, s == 5 ? all : all.subspan(s, 3 + 7 * s)});
    const auto rows = batch->feed(feeds);
    ASSERT_TRUE(rows) << rows.error().text();
    const auto* const bits = reinterpret_cast<const std::uint32_t*>(rows->row(5));
    EXPECT_EQ(Logits(bits, bits + rows->cols), last);
  }
}

// One row of each that writes, beside pieces of prompts; some see more positions than one workgroup reads.
TEST(GpuModels, rows_of_several_sequences_in_one_pass_are_those_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    const char *path, *dtype;
    DType kv_dtype;
  };
  for (const Case& c : {Case{"llama2_untied", "", DType::float32},
                        {"llama2_untied", "int8", DType::int8},
                        {"qwen3_head_norm", "int4", DType::bfloat16},
                        {"mistral_window", "", DType::int8}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.path, c.dtype, name(c.kv_dtype)));
    ModelOptions model_options;
    if (*c.dtype != '\0') model_options.decoder.dtype = dtype_from_name(c.dtype).value();
    const auto model =
        load_language_model(test::source_path(std::string("tests/golden/models/") + c.path), model_options);
    ASSERT_TRUE(model) << model.error().text();
    SessionOptions options;
    options.threads = 1, options.context_tokens = 700, options.chunk_rows = 96, options.sequences = 5;
    options.kv_dtype = c.kv_dtype;
    const auto here = Session::create(model->decoder, options).value();
    options.device = device;
    const auto there = Session::create(model->decoder, options).value();
    const auto ids = random_ids(700, static_cast<std::size_t>(model->decoder->config.vocab_size));
    const std::span<const std::int32_t> all = ids;
    constexpr std::size_t kBegin[] = {1, 61, 500, 620, 0};
    for (std::size_t s = 0; s < 4; ++s) {
      ASSERT_TRUE(here->prefill(all.first(kBegin[s]), s));
      ASSERT_TRUE(there->prefill(all.first(kBegin[s]), s));
    }
    for (std::size_t pass = 0; pass < 16; ++pass) {
      std::vector<Session::Feed> feeds;
      for (std::size_t s = 0; s < 5; ++s) {
        if (s == pass % 5) continue;  // waits
        const std::size_t n = s == 4 && pass > 3 ? 3 + 20 * (pass % 3) : s == 1 && pass == 8 ? 33 : 1;
        feeds.push_back({s, all.subspan(there->length(s), n), {}, s != 4 || pass % 4 == 1});
      }
      std::size_t wanted = 0;
      for (const Session::Feed& feed : feeds) wanted += feed.wants_logits ? 1 : 0;
      const auto expected = here->feed_pass(feeds), got = there->feed_pass(feeds);
      ASSERT_TRUE(expected && got) << (got ? expected.error() : got.error()).text();
      ASSERT_EQ(got->rows, wanted);
      for (std::size_t r = 0; r < wanted; ++r) {
        const auto *const a = reinterpret_cast<const std::uint32_t*>(expected->row(r)),
                          *const b = reinterpret_cast<const std::uint32_t*>(got->row(r));
        EXPECT_EQ(Logits(b, b + got->cols), Logits(a, a + got->cols)) << "pass " << pass << ", row " << r;
      }
    }
    for (std::size_t s = 0; s < 5; ++s)
      EXPECT_TRUE(there->snapshot(s).value() == here->snapshot(s).value()) << "sequence " << s;
  }
}

TEST(GpuModels, a_card_copies_the_beginning_of_a_sequence) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
  ASSERT_TRUE(model) << model.error().text();
  const auto ids = random_ids(150, static_cast<std::size_t>(model->decoder->config.vocab_size));
  const std::span<const std::int32_t> all = ids;
  for (const DType dtype : kTypes)
    for (const std::size_t n : {0, 1, 63, 64, 65, 99, 100}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), n));
      const auto here = session_of(*model, nullptr, 32, 3, dtype), there = session_of(*model, device, 32, 3, dtype);
      for (Session* const session : {here.get(), there.get()}) {
        feed(*session, all.first(100), 0);
        feed(*session, all.subspan(7, 120), 2);  // is replaced
        ASSERT_TRUE(session->share(0, n, 2));
      }
      for (const auto& [sequence, more] : {std::pair<std::size_t, std::size_t>{2, 30}, {0, 20}})
        EXPECT_EQ(feed(*there, all.last(more), sequence), feed(*here, all.last(more), sequence));
      for (Session* const session : {here.get(), there.get()}) ASSERT_TRUE(session->clear(0));
      EXPECT_EQ(feed(*there, all.first(3), 2), feed(*here, all.first(3), 2));
      EXPECT_EQ(feed(*there, all.last(70), 0), feed(*here, all.last(70), 0));
      for (const std::size_t s : {0, 2}) EXPECT_TRUE(there->snapshot(s).value() == here->snapshot(s).value()) << s;
    }
}

// They do in a pass whose shaders are all known but for the size of that growth.
TEST(GpuModels, keys_and_values_that_grow_between_two_tokens_lose_nothing) {  // L-74
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const char* const path : {"llama2_untied", "mistral_window"})
    for (const DType dtype : kTypes) {
      SCOPED_TRACE(fmt::format("{} {}", path, name(dtype)));
      const auto model = load_language_model(test::source_path(std::string("tests/golden/models/") + path));
      ASSERT_TRUE(model) << model.error().text();
      const auto ids = random_ids(530, static_cast<std::size_t>(model->decoder->config.vocab_size));
      SessionOptions options;
      options.threads = 1, options.context_tokens = 600, options.kv_dtype = dtype;
      const auto here = Session::create(model->decoder, options).value();
      options.device = device;
      const auto there = Session::create(model->decoder, options).value();
      feed(*here, std::span(ids).first(480));
      feed(*there, std::span(ids).first(480));
      for (std::size_t i = 480; i < ids.size(); i += 5)
        ASSERT_EQ(feed(*there, std::span(&ids[i], 5)), feed(*here, std::span(&ids[i], 5))) << i;
      EXPECT_TRUE(there->snapshot().value() == here->snapshot().value());
    }
}

TEST(GpuModels, what_no_card_computes_is_an_error_and_the_device_goes_on) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::string path = test::source_path("tests/golden/models/llama2_untied");
  const auto model = load_language_model(path);
  ASSERT_TRUE(model) << model.error().text();
  ModelOptions model_options;
  model_options.decoder.dtype = DType::float64;
  const auto wide = load_language_model(path, model_options);
  ASSERT_TRUE(wide) << wide.error().text();
  SessionOptions options;
  options.threads = 1, options.context_tokens = 64, options.device = device;
  EXPECT_EQ(Session::create(wide->decoder, options).error().code, Code::Unsupported);
  options.kv_dtype = DType::float16;
  EXPECT_EQ(Session::create(model->decoder, options).error().code, Code::InvalidArgument);
  const std::int32_t ids[] = {1, 2, 3};
  EXPECT_EQ(feed(*session_of(*model, device), ids), feed(*session_of(*model, nullptr), ids));
}

}  // namespace
}  // namespace loom::gpu_models_test
