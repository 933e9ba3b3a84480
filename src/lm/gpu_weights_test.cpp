// The host's copies of weights leave once a graphics card has its own, and are made again from the model's file for
// whoever reads them on the host, with the same bits.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/system.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "lm/peft.h"
#include "lm/session.h"
#include "support/faulty_driver.h"
#include "support/files.h"
#include "support/small_model.h"

namespace loom::gpu_weights_test {
namespace {

using Ids = std::vector<std::int32_t>;
using Bits = std::vector<std::uint32_t>;

LanguageModel loaded(const std::string& path, const char* dtype = "") {
  ModelOptions options;
  options.threads = 2;
  if (*dtype != '\0') options.decoder.dtype = dtype_from_name(dtype).value();
  auto model = load_language_model(path, options);
  EXPECT_TRUE(model) << model.error().text();
  return model ? *std::move(model) : LanguageModel();
}

Ids some_ids(std::size_t n) {
  Ids ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>((i * 37 + i * i * 11 + 5) % 997);
  return ids;
}

Result<std::unique_ptr<Session>> open(const LanguageModel& model, Device* device,
                                      std::vector<std::string>* lines = nullptr) {
  SessionOptions options;
  options.threads = 2, options.context_tokens = 96, options.chunk_rows = 32, options.device = device;
  if (lines != nullptr) options.on_loss = [lines](const std::string& line) { lines->push_back(line); };
  return Session::create(model.decoder, options);
}
std::unique_ptr<Session> session_on(const LanguageModel& model, Device* device,
                                    std::vector<std::string>* lines = nullptr) {
  auto made = open(model, device, lines);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : nullptr;
}

Bits fed(Session& session, std::span<const std::int32_t> ids) {
  const auto row = session.feed(ids);
  EXPECT_TRUE(row) << row.error().text();
  if (!row) return {};
  const auto* const bits = reinterpret_cast<const std::uint32_t*>(row->data());
  return {bits, bits + row->size()};
}

// A prompt of 20 ids, then one at a time: the logits after each of these passes.
constexpr std::size_t kPrompt = 20, kPasses = 6;
std::span<const std::int32_t> of_pass(const Ids& ids, std::size_t pass) {
  return pass == 0 ? std::span(ids).first(kPrompt) : std::span(ids).subspan(kPrompt + pass - 1, 1);
}
std::vector<Bits> passes(Session& session, const Ids& ids, std::size_t count = kPasses) {
  std::vector<Bits> all;
  for (std::size_t pass = 0; pass < count; ++pass) all.push_back(fed(session, of_pass(ids, pass)));
  return all;
}

std::size_t bytes_that_may_leave(const LanguageModel& model) {
  std::size_t bytes = 0;
  const void* table = nullptr;
  model.decoder->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (w.role() != WeightRole::Matrix || w.matrix()->pages() == nullptr || w.matrix().get() == table) return;
    if (w.name() == "table") table = w.matrix().get();
    bytes += w.matrix()->panels() * w.matrix()->panel_bytes();
  });
  return bytes;
}

class GpuWeights : public testing::Test {
 protected:
  void SetUp() override {
    if (os::page_bytes() == 0) GTEST_SKIP() << "weights stay on this system";
    device_ = test::gpu_device();
    if (device_ == nullptr) GTEST_SKIP() << "no graphics card";
    const auto written = test::write_small_model(path());
    ASSERT_TRUE(written) << written.error().text();
    const LanguageModel reference = loaded(path());
    const auto session = session_on(reference, nullptr);
    expected_ = passes(*session, ids_);
    snapshot_ = session->snapshot().value();
  }
  std::string path() const { return folder_ / "model.gguf"; }

  // A session on a card, after passes that have let all weights of the host leave.
  std::unique_ptr<Session> after_leaving(const LanguageModel& model, Device* device,
                                         std::vector<std::string>* lines = nullptr) {
    auto session = session_on(model, device, lines);
    EXPECT_EQ(session->weight_bytes_on_host(), bytes_that_may_leave(model));
    EXPECT_EQ(passes(*session, ids_), expected_);
    EXPECT_EQ(session->weight_bytes_on_host(), 0u);
    return session;
  }
  // In place, so that a map of the file shows it.
  void change_file() {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4096, std::ios::end);
    file.write(std::string(4000, '\x11').c_str(), 4000);
  }

  test::TempFolder folder_;
  gpu::GpuDevice* device_ = nullptr;
  const Ids ids_ = some_ids(kPrompt + 40);
  std::vector<Bits> expected_;
  std::vector<std::byte> snapshot_;
};

TEST_F(GpuWeights, LeaveTheHostAndAnswersStay) {
  const LanguageModel model = loaded(path());
  EXPECT_GT(bytes_that_may_leave(model), std::size_t{16} << 20);
  const Network& network = model.decoder->network;
  EXPECT_EQ(bytes_on_host(network), network.resident_bytes());
  const auto session = after_leaving(model, device_);
  EXPECT_EQ(bytes_on_host(network), network.resident_bytes() - bytes_that_may_leave(model));
  EXPECT_TRUE(session->snapshot().value() == snapshot_);
  EXPECT_EQ(session->weight_bytes_on_host(), 0u);  // a snapshot names the model by bytes that were kept
  // Chunks of other sizes have other shaders, whose trials read the host's weights.
  const auto card = session_on(model, device_);
  const LanguageModel reference = loaded(path());
  const auto cpu = session_on(reference, nullptr);
  for (const std::size_t n : {33, 7, 2, 1, 1, 1})
    EXPECT_EQ(fed(*card, std::span(ids_).subspan(card->length(), n)),
              fed(*cpu, std::span(ids_).subspan(cpu->length(), n)));
  EXPECT_EQ(card->weight_bytes_on_host(), 0u);
}

TEST_F(GpuWeights, ConvertedAndPackedWeightsComeBackWithTheSameBits) {
  const std::string entity = folder_ / "model.entity";
  const auto contents = read_model(path());
  ASSERT_TRUE(contents) << contents.error().text();
  ModelEntityOptions options;
  options.dtype = DType::int4;
  const auto written = write_model_entity(entity, *contents, options);
  ASSERT_TRUE(written) << written.error().text();
  for (const auto& [file, dtype] : {std::pair(path(), "int8"), {path(), "q8_0"}, {entity, ""}}) {
    SCOPED_TRACE(file + " " + dtype);
    const LanguageModel reference = loaded(file, dtype), model = loaded(file, dtype);
    const auto card = session_on(model, device_);
    const std::vector<Bits> wanted = passes(*session_on(reference, nullptr), ids_, 4);
    EXPECT_EQ(passes(*card, ids_, 4), wanted);
    EXPECT_EQ(card->weight_bytes_on_host(), 0u);
    const auto cpu = session_on(model, nullptr);
    EXPECT_EQ(cpu->weight_bytes_on_host(), bytes_that_may_leave(model));
    EXPECT_EQ(passes(*cpu, ids_, 4), wanted);
    reference.decoder->network.visit_weights([&](const std::string& name, const Weight& w, const Layer&) {
      if (w.role() != WeightRole::Matrix) return;
      model.decoder->network.visit_weights([&](const std::string& other, const Weight& again, const Layer&) {
        if (other != name) return;
        const std::span one(w.matrix()->panel(0), w.matrix()->panels() * w.matrix()->panel_bytes()),
            two(again.matrix()->panel(0), again.matrix()->panels() * again.matrix()->panel_bytes());
        EXPECT_TRUE(std::ranges::equal(one, two)) << name;
      });
    });
  }
}

TEST_F(GpuWeights, AreHeldByASessionOnTheCpu) {
  const LanguageModel model = loaded(path());
  const auto card = after_leaving(model, device_);
  {
    const auto cpu = session_on(model, nullptr);
    EXPECT_EQ(cpu->weight_bytes_on_host(), bytes_that_may_leave(model));
    EXPECT_EQ(passes(*cpu, ids_), expected_);
    for (std::size_t pass = kPasses; pass < kPasses + 4; ++pass)
      EXPECT_EQ(fed(*card, of_pass(ids_, pass)), fed(*cpu, of_pass(ids_, pass)));
    EXPECT_EQ(card->weight_bytes_on_host(), bytes_that_may_leave(model));
  }
  for (std::size_t pass = kPasses + 4; pass < kPasses + 7; ++pass) fed(*card, of_pass(ids_, pass));
  EXPECT_EQ(card->weight_bytes_on_host(), 0u);
}

TEST_F(GpuWeights, ComeBackForASessionThatLosesItsCard) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card && card->device != nullptr);
  const LanguageModel model = loaded(path());
  std::vector<std::string> lines;
  const auto session = after_leaving(model, card->device.get(), &lines);
  const LanguageModel reference = loaded(path());
  const auto cpu = session_on(reference, nullptr);
  passes(*cpu, ids_);
  card->faults->lost_at_submit = card->faults->submits;
  for (std::size_t pass = kPasses; pass < kPasses + 3; ++pass)
    EXPECT_EQ(fed(*session, of_pass(ids_, pass)), fed(*cpu, of_pass(ids_, pass)));
  EXPECT_EQ(session->device(), nullptr);
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_EQ(session->weight_bytes_on_host(), bytes_that_may_leave(model));
}

TEST_F(GpuWeights, AreNotReadFromAFileThatHasChanged) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card && card->device != nullptr);
  const LanguageModel model = loaded(path());
  const auto session = after_leaving(model, card->device.get());
  change_file();
  const auto cpu = open(model, nullptr);
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().code, Code::CorruptData);
  EXPECT_NE(cpu.error().text().find(path()), std::string::npos) << cpu.error().text();
  EXPECT_NE(cpu.error().text().find("has changed"), std::string::npos) << cpu.error().text();
  // The card has weights of its own.
  fed(*session, of_pass(ids_, kPasses));
  card->faults->lost_at_submit = card->faults->submits;
  for (int call = 0; call < 2; ++call) {
    const auto row = session->feed(of_pass(ids_, kPasses + 1));
    ASSERT_FALSE(row);
    EXPECT_NE(row.error().text().find(path()), std::string::npos) << row.error().text();
    EXPECT_NE(row.error().text().find("cannot continue on the CPU"), std::string::npos) << row.error().text();
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  const auto cut = open(model, nullptr);
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().text().find(path()), std::string::npos) << cut.error().text();
}

TEST_F(GpuWeights, ComeFromTheFileThatWasLoadedAfterAnotherTookItsName) {
  const LanguageModel model = loaded(path());
  const auto session = after_leaving(model, device_);
  test::write_all(folder_ / "other.gguf", "no model");
  std::filesystem::rename(folder_ / "other.gguf", path());
  EXPECT_EQ(passes(*session_on(model, nullptr), ids_), expected_);
  std::filesystem::remove(path());
  EXPECT_EQ(passes(*session_on(model, nullptr), ids_), expected_);
}

TEST_F(GpuWeights, ServeSessionsOfSeveralThreads) {
  const LanguageModel model = loaded(path());
  const auto card = after_leaving(model, device_);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 4; ++i) {
        auto cpu = open(model, nullptr);
        if (!cpu || passes(**cpu, ids_, 2) != std::vector(expected_.begin(), expected_.begin() + 2)) ++wrong;
      }
    });
  std::thread on_card([&] {
    while (!stop) {
      if (card->length() > 90 && !card->truncate(kPrompt)) ++wrong;
      fed(*card, Ids{5});
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  on_card.join();
  EXPECT_EQ(wrong, 0);
  ASSERT_TRUE(card->truncate(0));
  EXPECT_EQ(passes(*card, ids_), expected_);
  EXPECT_EQ(card->weight_bytes_on_host(), 0u);
}

TEST_F(GpuWeights, LeaveBesideAdapters) {
  LanguageModel model = loaded(path()), reference = loaded(path());
  for (const LanguageModel* one : {&model, &reference}) {
    auto& decoder = const_cast<DecoderModel&>(*one->decoder);
    ASSERT_TRUE(add_peft(decoder, {.name = "x", .rank = 4}, 1));
    decoder.network.visit_weights([](const std::string&, Weight& w, Layer&) {
      for (Adapter& adapter : w.adapters()) {
        std::vector<float> values(adapter.b.elements());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.01f;
        ASSERT_TRUE(adapter.b.set(std::span<const float>(values)));
      }
    });
  }
  const auto card = session_on(model, device_), cpu = session_on(reference, nullptr);
  const std::vector<Bits> with_adapter = passes(*cpu, ids_, 4);
  EXPECT_NE(with_adapter[0], expected_[0]);
  EXPECT_EQ(passes(*card, ids_, 4), with_adapter);
  EXPECT_EQ(card->weight_bytes_on_host(), 0u);
  ASSERT_TRUE(card->choose_adapters(std::vector<std::string>{}));
  EXPECT_EQ(passes(*card, ids_), expected_);
  EXPECT_EQ(card->weight_bytes_on_host(), 0u);
}

TEST_F(GpuWeights, OfAModelFromMemoryStay) {
  const std::string bytes = test::read_all(path());
  const auto model = load_language_model(ByteSource::memory("model", test::bytes_of(bytes)));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(bytes_that_may_leave(*model), 0u);
  EXPECT_EQ(passes(*session_on(*model, device_), ids_), expected_);
}

}  // namespace
}  // namespace loom::gpu_weights_test
