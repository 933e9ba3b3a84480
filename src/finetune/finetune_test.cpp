#include "finetune/finetune.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/file.h"
#include "core/philox.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "lm/session.h"
#include "support/adapters.h"
#include "support/divided.h"
#include "support/faulty_driver.h"
#include "support/paths.h"

namespace loom {
namespace {

const std::string kModel = test::source_path("tests/golden/models/llama2_untied");

DecoderModel open_model(const DecoderOptions& options = {}) {
  const auto pool = ThreadPool::create(1).value();
  const auto read = read_model(kModel);
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  auto model = build_decoder(read->source, *pool, options);
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return std::move(*model);
}

std::unique_ptr<TokenWindows> windows(const DecoderModel& model, std::size_t count = 2000) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>(i * i % 7 * 3 % static_cast<std::size_t>(model.config.vocab_size)));
  return TokenWindows::create(std::move(ids), 16, static_cast<std::size_t>(model.config.vocab_size), "pattern").value();
}

FinetuneConfig small_config(int threads = 2) {
  FinetuneConfig config;
  config.adapter.rank = 4;
  config.batch_size = 8, config.micro_batch = 4, config.steps = 12, config.schedule.learning_rate = 0.02,
  config.schedule.warmup_steps = 2;
  config.session.threads = threads;
  return config;
}

std::vector<float> logits(const std::shared_ptr<const DecoderModel>& shared) {
  SessionOptions options;
  options.threads = 1, options.context_tokens = 32;
  const auto session = Session::create(shared, options).value();
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7};
  const auto out = session->feed(ids).value();
  return {out.begin(), out.end()};
}
std::vector<float> logits(DecoderModel model) { return logits(std::make_shared<const DecoderModel>(std::move(model))); }

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "loom_finetune_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

// Beyond the narrower side of a matrix a rank adds memory alone: 65536 took tens of gigabytes of a small model.
TEST(Finetune, a_rank_beyond_the_matrices_is_refused) {  // L-140
  DecoderModel model = open_model();
  const auto done = add_peft(model, {.name = "x", .rank = 65536}, 1);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::InvalidArgument);
  EXPECT_NE(done.error().text().find("rank 65536 for a matrix of"), std::string::npos) << done.error().text();
}

TEST(Finetune, learns_a_text_with_the_same_bits_whatever_runs_it) {  // L-141
  std::optional<Digest> first;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 3}) {
      const test::ExpectDivided divided(threads);
      DecoderModel model = open_model();
      FinetuneConfig config = small_config(threads);
      config.session.isa = isa;
      const auto result = finetune(model, *windows(model), config);
      ASSERT_TRUE(result) << result.error().text();
      EXPECT_EQ(result->steps, 12u);
      EXPECT_LT(result->validation_after, 0.8 * result->validation_before);
      EXPECT_NEAR(result->validation_before, std::log(static_cast<double>(model.config.vocab_size)), 1.5);
      if (!first) first = result->hash;
      EXPECT_EQ(result->hash, *first) << name(isa) << " " << threads;
    }
}

// Inputs of quantised matrices are rounded to int16 by both. To int8 the logits are some 0.02 apart.
TEST(Finetune, learns_what_sessions_compute) {  // L-141
  DecoderOptions options;
  options.dtype = DType::int4;
  const auto model = std::make_shared<const DecoderModel>(open_model(options));
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7};
  const std::vector<float> wanted = logits(model), x(ids.begin(), ids.end());
  const auto session = NetworkSession::create(model->network, model->plan, {1, best_isa(), false}).value();
  const auto out = session->forward({x.data(), Shape::of({1, ids.size()})}).value();
  ASSERT_EQ(out.shape.cols(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(wanted[i], ConstTensor(out).row(ids.size() - 1)[i], 1e-4) << i;
}

TEST(GpuFinetune, adapters_and_journal_are_those_of_the_cpu) {  // L-141
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const char* const dtype : {"", "int8", "bfloat16"}) {
    SCOPED_TRACE(dtype);
    std::vector<std::string> journals[2];
    Digest hashes[2];
    for (const bool there : {false, true}) {
      DecoderOptions options;
      if (*dtype != '\0') options.dtype = dtype_from_name(dtype).value();
      DecoderModel model = open_model(options);
      FinetuneConfig config = small_config();
      config.steps = 6, config.hash_steps = 3;
      if (there) config.session.device = device;
      FinetuneRecord record;
      record.on_journal = [&](const Json& line) -> Result<void> {
        journals[there].push_back(line.dump());
        return {};
      };
      const auto result = finetune(model, *windows(model, 400), config, nullptr, record);
      ASSERT_TRUE(result) << result.error().text();
      hashes[there] = result->hash;
    }
    EXPECT_EQ(journals[1], journals[0]);
    EXPECT_EQ(hashes[1], hashes[0]);
  }
}

TEST(GpuFinetune, a_run_whose_card_is_lost_goes_on_from_its_checkpoint) {
  FinetuneConfig config = small_config();
  config.steps = 5;
  DecoderModel whole = open_model();
  const auto expected = finetune(whole, *windows(whole, 400), config);
  ASSERT_TRUE(expected) << expected.error().text();
  const Folder folder;
  FinetuneRecord record;
  record.folder = folder.path + "/run", record.checkpoint_pause = {};
  const auto card = test::open_faulty_card();
  ASSERT_TRUE(card) << card.error().text();
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  DecoderModel lost = open_model();
  config.session.device = card->device.get();
  const auto ended = finetune(
      lost, *windows(lost, 400), config,
      [&](const FinetuneProgress& p) -> Result<Continue> {
        if (p.step == 3) card->faults->lost_at_submit = card->faults->submits + 5;
        return Continue::yes;
      },
      record);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::DeviceLost);
  EXPECT_NE(ended.error().text().find("--resume goes on"), std::string::npos) << ended.error().text();
  DecoderModel model = open_model();
  config.session.device = nullptr, record.start = RunStart::resume;
  const auto resumed = finetune(model, *windows(model, 400), config, nullptr, record);
  ASSERT_TRUE(resumed) << resumed.error().text();
  EXPECT_EQ(resumed->hash, expected->hash);
  EXPECT_EQ(resumed->losses, expected->losses);
}

TEST(Finetune, fresh_adapters_leave_every_answer_as_it_was) {  // L-141
  DecoderModel model = open_model();
  const std::vector<float> before = logits(open_model());
  ASSERT_TRUE(add_peft(model, {}, 7));
  EXPECT_EQ(logits(std::move(model)), before);
}

TEST(Finetune, adapters_survive_their_files_and_can_be_switched) {  // L-141
  DecoderModel model = open_model();
  FinetuneConfig config = small_config();
  config.steps = 3;
  ASSERT_TRUE(finetune(model, *windows(model), config));
  const Folder folder;
  const auto saved = save_peft(model, config.adapter, folder.path, kModel);
  ASSERT_TRUE(saved) << saved.error().text();
  DecoderModel again = open_model(), off = open_model();
  const auto read = load_peft(again, folder.path, "x");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->rank, 4u);
  EXPECT_EQ(read->targets, config.adapter.targets);
  const std::vector<float> base = logits(open_model()), tuned = logits(std::move(model));
  EXPECT_NE(tuned, base);
  EXPECT_EQ(logits(std::move(again)), tuned);
  ASSERT_TRUE(load_peft(off, folder.path, "x"));
  ASSERT_GT(test::enable_adapters(off, "x", false), 0u);
  EXPECT_EQ(logits(std::move(off)), base);
  ModelOptions options;
  options.adapters = {folder.path};
  const auto loaded = load_language_model(kModel, options);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().text());
}

// Beside the weights of an .entity: the answers of model and folder, by session, also after a rewrite of parts.
TEST(Finetune, adapters_live_beside_the_weights_of_an_entity) {  // L-141, F-31
  DecoderModel model = open_model();
  const FinetuneConfig config = small_config();
  ASSERT_TRUE(finetune(model, *windows(model), config));
  const Folder folder;
  ASSERT_TRUE(save_peft(model, config.adapter, folder.path, kModel));
  const std::vector<float> base = logits(open_model()), tuned = logits(std::move(model));
  const auto contents = read_model(kModel);
  ASSERT_TRUE(contents);
  std::vector<PeftDelta> beside(2, PeftDelta::read(folder.path, contents->source.config).value());
  ASSERT_TRUE(beside[0].rename("wheel"));
  ASSERT_TRUE(beside[1].rename("second-1"));
  for (const char* name : {"", "a/b", "a b"})
    EXPECT_EQ(beside[1].rename(name).error().code, Code::InvalidConfig) << name;
  const std::string one = folder.path + "/one.entity", two = folder.path + "/two.entity";
  ASSERT_TRUE(write_model_entity(one, *contents, {.beside = std::span(beside).first(1)}));
  const auto loaded = load_language_model(one);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(logits(loaded->decoder), tuned);
  const auto again = read_model(one);
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_TRUE(write_model_entity(two, *again, {.beside = std::span(beside).last(1)}));
  const auto both = load_language_model(two);
  ASSERT_TRUE(both) << both.error().text();
  const std::vector<PeftInfo> known = list_peft(*both->decoder);
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].name, "wheel");
  EXPECT_EQ(known[0].alpha, config.adapter.alpha);
  EXPECT_EQ(known[1].name, "second-1");
  const std::vector<std::int32_t> ids = {1, 2, 3, 4};
  for (const auto& [names, expected] :
       {std::pair(std::vector<std::string>(), &base), std::pair(std::vector<std::string>{"wheel"}, &tuned),
        std::pair(std::vector<std::string>{"second-1"}, &tuned)}) {
    DecoderModel alone = open_model();
    if (!names.empty()) {
      ASSERT_TRUE(load_peft(alone, beside[0]));
    }
    const auto wanted = Session::create(std::make_shared<const DecoderModel>(std::move(alone)), {.threads = 1}).value();
    const auto session = Session::create(both->decoder, {.threads = 1, .adapters = names}).value();
    const auto x = session->feed(ids), y = wanted->feed(ids);
    ASSERT_TRUE(x && y);
    EXPECT_TRUE(std::ranges::equal(*x, *y)) << fmt::format("{}", fmt::join(names, " "));
  }
  // Older programs must not run it without: the sections are mandatory. Twice the same name is none.
  EXPECT_EQ(EntityReader::open(two)->find("adapter", 1)->flags, kSectionMandatory);
  ASSERT_TRUE(write_model_entity(two, *again, {.beside = std::span(beside).first(1)}));
  EXPECT_EQ(load_language_model(two).error().code, Code::InvalidConfig);
}

TEST(Finetune, a_section_of_an_adapter_is_read_with_care) {  // F-01
  DecoderModel model = open_model();
  ASSERT_TRUE(add_peft(model, small_config().adapter, 3));
  const Folder folder;
  ASSERT_TRUE(save_peft(model, small_config().adapter, folder.path, kModel));
  const ModelConfig config = read_model(kModel)->source.config;
  PeftDelta delta = PeftDelta::read(folder.path, config).value();
  ASSERT_TRUE(delta.rename("x"));
  const std::vector<std::byte> good = delta.to_bytes().value();
  const auto back = PeftDelta::parse(good, config);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->config().name, "x");
  EXPECT_EQ(back->to_bytes().value(), good);
  for (std::size_t n = 0; n < good.size(); n += 97) EXPECT_FALSE(PeftDelta::parse(std::span(good).first(n), config));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text(reinterpret_cast<const char*>(good.data()), good.size());
    text.replace(text.find(from), from.size(), to);
    return PeftDelta::parse(std::as_bytes(std::span(text)), config);
  };
  EXPECT_EQ(with("\"name\":\"x\"", "\"name\":\"/\"").error().code, Code::CorruptData);
  EXPECT_EQ(with("\"lora_alpha\"", "\"lora_alpho\"").error().code, Code::CorruptData);
  EXPECT_EQ(with("\"r\":\"4\"", "\"r\":\"0\"").error().code, Code::CorruptData);
  EXPECT_EQ(with("\"r\":\"4\"", "\"r\":\"5\"").error().code, Code::ShapeMismatch);
}

TEST(Finetune, a_merged_adapter_answers_as_the_two_apart) {  // L-141
  DecoderModel model = open_model();
  FinetuneConfig config = small_config();
  config.adapter.targets = {"q_proj", "k_proj", "o_proj", "down_proj"};
  ASSERT_TRUE(finetune(model, *windows(model), config));
  const Folder folder;
  ASSERT_TRUE(save_peft(model, config.adapter, folder.path, kModel));
  const std::vector<float> base = logits(open_model()), apart = logits(std::move(model));
  const auto contents = read_model(kModel);
  ASSERT_TRUE(contents);
  auto delta = PeftDelta::read(folder.path, contents->source.config);
  ASSERT_TRUE(delta) << delta.error().text();
  for (const auto& [dtype, bound] : {std::pair{DType::float32, 2e-5f}, std::pair{DType::int16, 2e-3f}}) {
    const std::string path = folder.path + "/merged.entity";
    const auto written =
        write_model_entity(path, *contents, {.threads = 2, .dtype = dtype, .adapter = &*delta, .progress = {}});
    ASSERT_TRUE(written) << written.error().text();
    const auto merged = load_language_model(path);
    ASSERT_TRUE(merged) << merged.error().text();
    const std::vector<float> together = logits(merged->decoder);
    float largest = 0, moved = 0, apart_by = 0;
    for (std::size_t i = 0; i < base.size(); ++i) {
      largest = std::max(largest, std::fabs(apart[i])), moved = std::max(moved, std::fabs(apart[i] - base[i]));
      apart_by = std::max(apart_by, std::fabs(together[i] - apart[i]));
    }
    EXPECT_LT(apart_by, bound * largest) << name(dtype);
    EXPECT_GT(moved, 0.1f * largest);
  }
  ModelConfig other = contents->source.config;
  other.num_hidden_layers = 1;
  EXPECT_EQ(PeftDelta::read(folder.path, other).error().code, Code::Unsupported);
}

// A run on the pattern whose checkpoints come after every step; `cut`: the step at which it dies, as a crash does:
// nothing more is written.
Result<FinetuneResult> record_run(const std::string& folder, FinetuneConfig config, std::uint64_t cut = 0,
                                  std::uint64_t stop = 0, double pause = 0) {
  DecoderModel model = open_model();
  FinetuneRecord record;
  record.folder = folder, record.start = RunStart::resume,
  record.checkpoint_pause = std::chrono::duration<double>(pause);
  return finetune(
      model, *windows(model), config,
      [&](const FinetuneProgress& p) -> Result<Continue> {
        if (cut != 0 && p.step == cut && !p.validation_loss) return fail(Code::Cancelled, "power cut");
        return stop != 0 && p.step == stop ? Continue::stop : Continue::yes;
      },
      record);
}

// 112 windows to train in batches of 8: 14 steps are an epoch.
FinetuneConfig two_epochs() {
  FinetuneConfig config = small_config();
  config.steps = 31, config.hash_steps = 4;
  return config;
}

TEST(Finetune, a_run_cut_off_or_stopped_anywhere_and_resumed_ends_with_the_same_bits_and_journal) {  // T-60
  const Folder folder;
  const auto whole = record_run(folder.path + "/whole", two_epochs());
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->losses.size(), 31u);
  const auto journal = read_text_file(folder.path + "/whole/journal.jsonl");
  ASSERT_TRUE(journal);
  const std::vector<Isa> isas = usable_isas();
  int run = 0;
  for (const bool crash : {true, false})
    for (const std::uint64_t cut : {1u, 4u, 9u, 14u, 15u, 30u, 31u}) {
      const std::string at = fmt::format("{}/cut{}{}", folder.path, crash, cut);
      FinetuneConfig first = two_epochs(), second = two_epochs();
      first.session.threads = 1 + run % 3, second.session.threads = 3 - run % 3;
      first.session.isa = isas[static_cast<std::size_t>(run) % isas.size()],
      second.session.isa = isas[static_cast<std::size_t>(run + 1) % isas.size()];
      ++run;
      const auto part = record_run(at, first, crash ? cut : 0, crash ? 0 : cut);
      ASSERT_EQ(part.has_value(), !crash);
      EXPECT_TRUE(crash || part->stopped);
      const auto resumed = record_run(at, second);
      ASSERT_TRUE(resumed) << resumed.error().text();
      EXPECT_EQ(resumed->hash, whole->hash) << cut;
      EXPECT_EQ(resumed->losses, whole->losses) << cut;
      EXPECT_EQ(resumed->tokens, whole->tokens) << cut;
      EXPECT_EQ(resumed->validation_before, whole->validation_before);
      EXPECT_EQ(resumed->validation_after, whole->validation_after);
      EXPECT_EQ(resumed->new_steps, 31 - (crash ? cut - 1 : cut));
      EXPECT_EQ(*read_text_file(at + "/journal.jsonl"), *journal) << cut;
      // Once more, when there is nothing left to do.
      EXPECT_EQ(record_run(at, second)->hash, whole->hash);
      EXPECT_EQ(*read_text_file(at + "/journal.jsonl"), *journal) << cut;
    }
  // A run that writes no files has the same bits.
  DecoderModel model = open_model();
  EXPECT_EQ(finetune(model, *windows(model), two_epochs())->hash, whole->hash);
}

TEST(Finetune, one_run_cut_off_twelve_times_with_checkpoints_far_apart) {  // T-60
  const Folder folder;
  const auto whole = record_run(folder.path + "/whole", two_epochs());
  ASSERT_TRUE(whole) << whole.error().text();
  const RandomStream random{.seed = 60};
  const std::string at = folder.path + "/cut";
  for (std::uint64_t i = 0; i < 12; ++i) {
    // With a pause of an hour the only checkpoint of a run is that of its start, or of a stop.
    const std::uint64_t step = 1 + random.below(2 * i, 30);
    const bool crash = random.below(2 * i + 1, 2) == 0;
    const auto part = record_run(at, two_epochs(), crash ? step : 0, crash ? 0 : step, i % 3 == 0 ? 0 : 3600);
    EXPECT_TRUE(part || part.error().code == Code::Cancelled) << part.error().text();
  }
  const auto resumed = record_run(at, two_epochs());
  ASSERT_TRUE(resumed) << resumed.error().text();
  EXPECT_EQ(resumed->hash, whole->hash);
  EXPECT_EQ(*read_text_file(at + "/journal.jsonl"), *read_text_file(folder.path + "/whole/journal.jsonl"));
}

TEST(Finetune, checkpoints_that_are_torn_or_of_another_run_are_refused_with_the_first_difference) {  // T-60
  const Folder folder;
  ASSERT_TRUE(record_run(folder.path, two_epochs(), 0, 3));
  const std::string path = folder.path + "/checkpoint.entity";
  const std::string bytes = *read_text_file(path);
  const auto put = [&](std::string text) { ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(text)))); };
  for (const std::size_t keep : {bytes.size() - 1, bytes.size() / 2, std::size_t{70}, std::size_t{10}}) {
    put(bytes.substr(0, keep));
    const auto torn = record_run(folder.path, two_epochs());
    ASSERT_FALSE(torn) << keep;
    EXPECT_EQ(torn.error().code, Code::CorruptData) << torn.error().text();
    EXPECT_NE(torn.error().text().find(path), std::string::npos) << torn.error().text();
  }
  for (const std::size_t at : {bytes.size() / 3, bytes.size() - 70}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    put(flipped);
    EXPECT_FALSE(record_run(folder.path, two_epochs()));
  }
  put(bytes);
  const auto refused = [&](auto change, const std::string& named) {
    FinetuneConfig config = two_epochs();
    change(config);
    const auto run = record_run(folder.path, config);
    ASSERT_FALSE(run) << named;
    EXPECT_EQ(run.error().code, Code::InvalidConfig);
    EXPECT_NE(run.error().text().find(named), std::string::npos) << run.error().text();
  };
  refused([](FinetuneConfig& c) { c.adapter.rank = 8; }, "another run: /config/rank: 4 and 8");
  refused([](FinetuneConfig& c) { c.schedule.learning_rate = 0.5; }, "/config/learning_rate: 0.02 and 0.5");
  refused([](FinetuneConfig& c) { c.steps = 32; }, "/config/steps: 31 and 32");
  refused([](FinetuneConfig& c) { c.optimizer.beta1 = 0.8; }, "/config/optimizer");
  DecoderModel model = open_model();
  FinetuneRecord record;
  record.folder = folder.path, record.start = RunStart::resume;
  const auto other_text = finetune(model, *windows(model, 1990), two_epochs(), nullptr, record);
  ASSERT_FALSE(other_text);
  EXPECT_NE(other_text.error().text().find("/text: "), std::string::npos) << other_text.error().text();
  bool changed = false;
  model.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    if (changed || w.role() == WeightRole::Matrix || w.is_tied()) return;
    std::vector<float> values(w.elements());
    w.decode(0, values.size(), values.data());
    values[0] += 1;
    changed = w.set(std::span<const float>(values)).has_value();
  });
  ASSERT_TRUE(changed);
  const auto other_model = finetune(model, *windows(model), two_epochs(), nullptr, record);
  ASSERT_FALSE(other_model);
  EXPECT_NE(other_model.error().text().find("/base: "), std::string::npos) << other_model.error().text();
  EXPECT_TRUE(record_run(folder.path, two_epochs()));
}

TEST(Finetune, a_config_survives_its_json) {  // T-60
  FinetuneConfig config = two_epochs();
  config.optimizer.beta2 = 0.95, config.schedule.milestones = {3, 9}, config.adapter.targets = {"up_proj"},
  config.adapter.alpha = 1.0 / 3;
  const Json json = finetune_config_json(config);
  const auto again = finetune_config_from_json(json);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(finetune_config_json(*again), json);
  Json unknown = json;
  unknown["ranks"] = 3;
  EXPECT_EQ(finetune_config_from_json(unknown).error().code, Code::UnknownKey);
}

// A window is as long as the model's context lets it be, not as a layer's default.
TEST(Finetune, windows_are_as_long_as_the_context_of_the_model) {  // L-141
  const auto pool = ThreadPool::create(1).value();
  DecoderSource source = read_model(kModel).value().source;
  source.config.max_position_embeddings = 3000;
  DecoderModel model = build_decoder(source, *pool, {}).value();
  const std::vector<float> answer = logits(build_decoder(source, *pool, {}).value());
  EXPECT_EQ(answer, logits(open_model()));
  FinetuneConfig config = small_config(1);
  config.batch_size = config.micro_batch = config.steps = 1, config.validation_split = 0;
  const auto text = TokenWindows::create(std::vector<std::int32_t>(3001, 7), 3000,
                                         static_cast<std::size_t>(model.config.vocab_size), "pattern")
                        .value();
  const auto result = finetune(model, *text, config);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->steps, 1u);
  EXPECT_EQ(ForwardPlan::create(model.network, Shape::of({1, 3001})).error().code, Code::ContextFull);
  // beyond the 256 that it was trained for, as in a session
  EXPECT_TRUE(ForwardPlan::create(open_model().network, Shape::of({1, 2048})));
}

TEST(Finetune, what_does_not_fit_is_an_error) {  // L-141
  DecoderModel model = open_model();
  EXPECT_EQ(add_peft(model, {.targets = {"lm_head"}}, 0).error().code, Code::UnknownName);
  const Folder folder;
  EXPECT_FALSE(load_peft(model, folder.path, "x"));
  EXPECT_EQ(drop_peft(model, "nobody").error().code, Code::NotFound);
  EXPECT_EQ(save_peft(model, {}, folder.path).error().code, Code::NotFound);
  EXPECT_EQ(TokenWindows::create({1, 2, 3}, 3, 10, "short").error().code, Code::ShapeMismatch);
  EXPECT_EQ(TokenWindows::create({1, 2, 30}, 2, 10, "wide").error().code, Code::IndexOutOfRange);
}

TEST(Ties, a_frozen_table_stays_frozen_for_those_tied_to_it) {  // L-102
  Weight table, head;
  ASSERT_TRUE(table.declare("table", WeightRole::Matrix, std::array<std::size_t, 2>{4, 3}));
  ASSERT_TRUE(head.declare("weight", WeightRole::Matrix, std::array<std::size_t, 2>{4, 3}));
  ASSERT_TRUE(head.tie(table));
  table.freeze(true);
  EXPECT_TRUE(head.is_frozen());
}

}  // namespace
}  // namespace loom
