// A session whose graphics card is lost continues on the CPU, with the ids and the logits of one that never left it.

#include <gtest/gtest.h>

#include "lm/generator.h"
#include "lm/peft.h"
#include "support/faulty_driver.h"
#include "support/files.h"

namespace loom::gpu_loss_test {
namespace {

using Ids = std::vector<std::int32_t>;
using Bits = std::vector<std::uint32_t>;

LanguageModel small_model(const std::string& name = "llama2_untied") {
  return load_language_model(test::source_path("tests/golden/models/" + name)).value();
}

Ids some_ids(std::size_t n, std::int32_t vocab = 50) {
  Ids ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>((i * 37 + i * i * 11 + 5) % 997) % vocab;
  return ids;
}

// A session on a card, or on the CPU where there is none, and the messages that it has reported.
struct Told {
  std::unique_ptr<Session> session;
  std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();
};
Told session_on(const LanguageModel& model, Device* device, std::size_t sequences = 1, std::size_t context = 160,
                std::size_t chunk = 16) {
  Told out;
  SessionOptions options;
  options.threads = 1, options.context_tokens = context, options.chunk_rows = chunk, options.sequences = sequences;
  options.device = device;
  options.on_loss = [lines = out.lines](const std::string& line) { lines->push_back(line); };
  auto made = Session::create(model.decoder, options);
  EXPECT_TRUE(made) << made.error().text();
  if (made) out.session = std::move(*made);
  return out;
}

Bits bits_of(const float* row, std::size_t count) {
  const auto* const bits = reinterpret_cast<const std::uint32_t*>(row);
  return {bits, bits + count};
}
Bits fed(Session& session, std::span<const std::int32_t> ids, std::size_t sequence = 0) {
  const auto row = session.feed(ids, sequence);
  EXPECT_TRUE(row) << row.error().text();
  return row ? bits_of(row->data(), row->size()) : Bits();
}

void expect_told_once(const Told& told) {
  EXPECT_EQ(told.session->device(), nullptr);
  ASSERT_EQ(told.lines->size(), 1u);
  const std::string& line = told.lines->front();
  EXPECT_NE(line.find("was lost"), std::string::npos) << line;
  EXPECT_NE(line.find("continues on the CPU"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

// The results of `talk` on a card that is lost at every step-th submit, read or buffer; they equal those of the CPU.
template <class F>
void expect_the_same_for_losses(std::uint64_t test::Faults::* when, std::uint64_t test::Faults::* count,
                                std::uint64_t step, std::size_t sequences, F&& talk,
                                const LanguageModel& model = small_model()) {
  const auto expected = talk(*session_on(model, nullptr, sequences).session);
  for (std::uint64_t n = 0; n < 5000; n += step) {
    SCOPED_TRACE(n);
    auto card = test::open_faulty_card();
    ASSERT_TRUE(card) << card.error().text();
    if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
    (*card->faults).*when = (*card->faults).*count + n;
    const Told told = session_on(model, card->device.get(), sequences);
    ASSERT_NE(told.session, nullptr);
    EXPECT_EQ(talk(*told.session), expected);
    EXPECT_EQ(card->faults->calls_after_told, 0u);
    if (!card->faults->is_lost) {
      EXPECT_GE(n, step);
      EXPECT_EQ(told.session->device(), card->device.get());
      EXPECT_TRUE(told.lines->empty());
      return;
    }
    expect_told_once(told);
  }
  ADD_FAILURE() << "no run has ended";
}

// A prompt of three chunks and twelve tokens after it: ids, and the hash of ids and last logits.
std::pair<Ids, std::string> generated(Session& session) {
  const LanguageModel model = small_model();
  GenerationOptions options;
  options.max_tokens = 12, options.ignore_eos = true;
  const auto out = generate(session, model, some_ids(40), options);
  EXPECT_TRUE(out) << out.error().text();
  return out ? std::pair(out->ids, to_hex(out->hash)) : std::pair<Ids, std::string>();
}

TEST(GpuLoss, ids_and_hash_are_those_of_the_cpu_for_losses_at_any_submit) {
  expect_the_same_for_losses(&test::Faults::lost_at_submit, &test::Faults::submits, 9, 1, generated);
}
TEST(GpuLoss, ids_and_hash_are_those_of_the_cpu_for_losses_at_any_read) {
  expect_the_same_for_losses(&test::Faults::lost_at_read, &test::Faults::reads, 23, 1, generated);
}
TEST(GpuLoss, ids_and_hash_are_those_of_the_cpu_for_losses_at_any_buffer) {
  expect_the_same_for_losses(&test::Faults::lost_at_buffer, &test::Faults::buffers, 1, 1, generated);
}

TEST(GpuLoss, sequences_of_a_batch_go_on_together_behind_a_sliding_window) {
  const LanguageModel model = small_model("mistral_window");
  const Ids ids = some_ids(90);
  const auto talk = [&](Session& session) {
    Bits all;
    const auto round = [&](std::size_t at, std::size_t count) {
      std::vector<Session::Feed> feeds;
      for (std::size_t s = 0; s < 3; ++s)
        feeds.push_back({s, std::span(ids).subspan(at + s, s == 1 && count > 1 ? 2 * count : count)});
      const auto rows = session.feed(feeds);
      ASSERT_TRUE(rows) << rows.error().text();
      const Bits bits = bits_of(rows->as(), rows->rows * rows->cols);
      all.insert(all.end(), bits.begin(), bits.end());
    };
    round(0, 25);
    for (std::size_t i = 0; i < 3; ++i) round(50 + i, 1);
    return all;
  };
  expect_the_same_for_losses(&test::Faults::lost_at_submit, &test::Faults::submits, 31, 3, talk, model);
}

TEST(GpuLoss, a_session_with_adapters_and_one_from_a_snapshot_go_on) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  const LanguageModel model = small_model();
  auto& decoder = const_cast<DecoderModel&>(*model.decoder);
  for (const char* const name : {"x", "y"}) ASSERT_TRUE(add_peft(decoder, {.name = name, .rank = 2}, 1));
  const Ids ids = some_ids(60);
  const std::span<const std::int32_t> all = ids;
  const Told here = session_on(model, nullptr, 2), there = session_on(model, card->device.get(), 2);
  for (const Told* told : {&here, &there}) {
    ASSERT_TRUE(told->session->choose_adapters(std::vector<std::string>{"y"}));
    fed(*told->session, all.first(30));
  }
  ASSERT_TRUE(there.session->restore(there.session->snapshot().value(), 1));
  ASSERT_TRUE(here.session->fork(0, 1));
  card->faults->lost_at_submit = card->faults->submits + 1;
  for (const std::size_t sequence : {1, 0})
    EXPECT_EQ(fed(*there.session, all.subspan(30, 20), sequence), fed(*here.session, all.subspan(30, 20), sequence));
  expect_told_once(there);
  EXPECT_EQ(there.session->snapshot().value(), here.session->snapshot().value());
  ASSERT_TRUE(there.session->choose_adapters(std::vector<std::string>{"x"}));
  ASSERT_TRUE(here.session->choose_adapters(std::vector<std::string>{"x"}));
  EXPECT_EQ(fed(*there.session, all.subspan(50)), fed(*here.session, all.subspan(50)));
}

TEST(GpuLoss, a_snapshot_and_the_logits_of_every_id_outlive_a_loss_in_their_midst) {
  const LanguageModel model = small_model();
  const Ids ids = some_ids(60);
  const Told here = session_on(model, nullptr);
  fed(*here.session, ids);
  const std::vector<std::byte> snapshot = here.session->snapshot().value();
  std::vector<Bits> rows;
  const auto visit = [](std::vector<Bits>& to) {
    return [&to](std::size_t i, std::span<const float> row) {
      EXPECT_EQ(i, to.size());
      to.push_back(bits_of(row.data(), row.size()));
    };
  };
  ASSERT_TRUE(here.session->truncate(0));
  ASSERT_TRUE(here.session->feed_all(ids, visit(rows)));
  for (const bool is_snapshot : {true, false}) {
    auto card = test::open_faulty_card();
    ASSERT_TRUE(card);
    if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
    const Told there = session_on(model, card->device.get());
    fed(*there.session, ids);
    if (is_snapshot) {
      card->faults->lost_at_read = card->faults->reads + 2;
      EXPECT_EQ(there.session->snapshot().value(), snapshot);
    } else {
      ASSERT_TRUE(there.session->truncate(0));
      card->faults->lost_at_read = card->faults->reads + 2;
      std::vector<Bits> got;
      ASSERT_TRUE(there.session->feed_all(ids, visit(got)));
      EXPECT_EQ(got, rows);
    }
    expect_told_once(there);
  }
}

TEST(GpuLoss, a_cancel_and_an_id_outside_the_table_have_the_codes_of_the_cpu_and_move_nothing) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  const LanguageModel model = small_model();
  const Told there = session_on(model, card->device.get());
  std::atomic<bool> cancel{true};
  EXPECT_EQ(there.session->feed(some_ids(20), 0, &cancel).error().code, Code::Cancelled);
  EXPECT_EQ(there.session->feed(Ids{1 << 20}).error().code, Code::IndexOutOfRange);
  EXPECT_EQ(there.session->length(), 0u);
  EXPECT_EQ(there.session->device(), card->device.get());
  const Ids ids = some_ids(20);
  EXPECT_EQ(fed(*there.session, ids), fed(*session_on(model, nullptr).session, ids));
}

TEST(GpuLoss, a_session_that_no_memory_is_left_for_keeps_its_tokens_and_leaks_nothing) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  test::Faults& faults = *card->faults;
  const LanguageModel model = small_model();
  const Ids ids = some_ids(1100);
  const std::span<const std::int32_t> all = ids;
  const Told here = session_on(model, nullptr, 1, 3000, 128);
  {
    const Told there = session_on(model, card->device.get(), 1, 3000, 128);
    EXPECT_EQ(fed(*there.session, all.first(1015)), fed(*here.session, all.first(1015)));
    const std::uint64_t before = card->device->buffer_bytes();
    faults.memory_is_full_from = faults.buffers;
    for (int again = 0; again < 2; ++again) {
      const auto refused = there.session->feed(all.subspan(1015, 20));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::OutOfMemory);
      const std::string text = refused.error().text();
      for (const std::string& part : {std::string("keys and values of 2048 positions"), card->device->adapter().name,
                                      std::string(" bytes"), std::string("smaller context")})
        EXPECT_NE(text.find(part), std::string::npos) << text;
      EXPECT_EQ(there.session->length(), 1015u);
      EXPECT_EQ(card->device->buffer_bytes(), before);
    }
    faults.memory_is_full_from = test::Faults::kNever;
    EXPECT_EQ(fed(*there.session, all.subspan(1015)), fed(*here.session, all.subspan(1015)));
    EXPECT_TRUE(there.lines->empty());
  }
}

// The library refuses what goes beyond them.
TEST(GpuLoss, a_card_with_no_more_than_the_least_limits_of_webgpu_computes_all_kernels) {
  auto driver = test::open_gpu_driver(test::kDefaultLimits);
  if (driver == nullptr) GTEST_SKIP() << "no graphics card";
  EXPECT_EQ(driver->adapter().limits.storage_buffers, 8u);
  EXPECT_EQ(driver->adapter().limits.workgroup_bytes, 16384u);
  const auto device = gpu::GpuDevice::create(std::move(driver));
  ASSERT_TRUE(device) << device.error().text();
  for (const char* const name : {"llama2_untied", "qwen3_head_norm", "bitnet_multiplied"}) {
    const LanguageModel model = small_model(name);
    const Told here = session_on(model, nullptr), there = session_on(model, device->get());
    const Ids ids = some_ids(40);
    EXPECT_EQ(fed(*there.session, ids), fed(*here.session, ids)) << name;
    EXPECT_EQ(fed(*there.session, Ids{3}), fed(*here.session, Ids{3})) << name;
  }
  EXPECT_EQ(test::refused_kernels(**device), "");
}

TEST(GpuLoss, a_session_that_cannot_be_prepared_names_what_there_is_no_room_for) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  const LanguageModel model = small_model();
  SessionOptions options;
  options.threads = 1, options.device = card->device.get(), options.context_tokens = 4096, options.chunk_rows = 512;
  const std::uint64_t before = card->device->buffer_bytes();
  card->faults->memory_is_full_from = card->faults->buffers;
  const auto refused = Session::create(model.decoder, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::OutOfMemory);
  EXPECT_NE(refused.error().text().find("activations of 512 tokens: "), std::string::npos) << refused.error().text();
  EXPECT_EQ(card->device->buffer_bytes(), before);
}

}  // namespace
}  // namespace loom::gpu_loss_test
