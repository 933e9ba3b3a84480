// Precision fast: a graphics card that need not be exact is close to the one that is, stands beside it in a process,
// and is never taken for it.

#include <gtest/gtest.h>

#include <cmath>

#include "host/device.h"
#include "host/run_network.h"
#include "host/train.h"
#include "lm/kv_file.h"
#include "lm/language_model.h"
#include "support/faulty_driver.h"
#include "training/checkpoint.h"
#include "training/training_test.h"

namespace loom::precision_test {
namespace {

// f32 sums of a few hundred terms in another order, and functions that are estimated, of values about 1.
constexpr double kClose = 1e-4;

double largest(std::span<const float> x) {
  double most = 0;
  for (const float v : x) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}
// The largest difference, in parts of the largest number.
double distance(std::span<const float> x, std::span<const float> wanted) {
  EXPECT_EQ(x.size(), wanted.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(x.size(), wanted.size()); ++i) {
    EXPECT_TRUE(std::isfinite(x[i])) << i;
    most = std::max(most, std::abs(static_cast<double>(x[i]) - static_cast<double>(wanted[i])));
  }
  return most / largest(wanted);
}

TEST(Precision, names_of_fast_devices) {  // N-10
  EXPECT_EQ(*with_precision("gpu", "fast"), "gpu:fast");
  EXPECT_EQ(*with_precision("gpu:1", "fast"), "gpu:1:fast");
  EXPECT_EQ(*with_precision("gpu:1:fast", "fast"), "gpu:1:fast");
  EXPECT_EQ(*with_precision("gpu:1", "strict"), "gpu:1");
  EXPECT_EQ(with_precision("gpu:fast", "strict").error().code, Code::InvalidArgument);
  EXPECT_EQ(with_precision("gpu", "exact").error().code, Code::InvalidArgument);
  EXPECT_TRUE(is_fast_name("auto:fast"));
  EXPECT_FALSE(is_fast_name("gpu"));
  for (const char* const name : {":fast", "gpu::fast", "gpu:fast:1", "gpu:x:fast", "tpu:fast"})
    EXPECT_EQ(device_from_name(name).error().code, Code::InvalidArgument) << name;
  NetworkSessionOptions options;
  const Error refused = name_device("cpu:fast", options).error();
  EXPECT_EQ(refused.code, Code::InvalidArgument);
  EXPECT_NE(refused.text().find("the CPU is always exact"), std::string::npos) << refused.text();
  EXPECT_EQ(refused.text().find('\n'), std::string::npos);
}

TEST(Precision, auto_that_takes_the_cpu_says_that_it_is_exact) {
  const char* const library = std::getenv("LOOM_WEBGPU_LIB");
  const std::string before = library == nullptr ? "" : library;
  setenv("LOOM_WEBGPU_LIB", "/nowhere/lib.so", 1);
  Network network =
      training_test::network_of({{"layers", {{{"type", "dense"}, {"input_height", 4}, {"output_height", 3}}}}});
  std::string told;
  NetworkSessionOptions options;
  ASSERT_TRUE(name_device("auto:fast", options, 10, [&](const Device* chosen, const std::string& line) {
    EXPECT_EQ(chosen, nullptr);
    told = line;
  }));
  ASSERT_TRUE(NetworkSession::create(network, Shape::of({2, 4}), options));
  EXPECT_TRUE(told.ends_with("the CPU is always exact")) << told;
  before.empty() ? unsetenv("LOOM_WEBGPU_LIB") : setenv("LOOM_WEBGPU_LIB", before.c_str(), 1);
}

// Shaders of the last device that was made with keep_text().
std::vector<std::string>& texts() {
  static auto& all = *new std::vector<std::string>;
  return all;
}
std::string keep_text(std::string_view text) {
  texts().emplace_back(text);
  return texts().back();
}

// A network with sums, functions that are traced, a norm, a softmax and recurrence.
Json mixed_spec() {
  const auto dense = [](int from, int to, const char* activation) {
    return Json{
        {"type", "dense"}, {"input_height", from}, {"output_height", to}, {"bias", true}, {"activation", activation}};
  };
  return {{"seed", 7},
          {"input_shape", {6, 40}},
          {"layers",
           {dense(40, 130, "tanh"),
            dense(130, 64, "gelu"),
            {{"type", "rmsnorm"}, {"input_height", 64}},
            {{"type", "lstm"}, {"input_height", 64}, {"output_height", 32}},
            dense(32, 33, "softplus"),
            {{"type", "softmax"}}}}};
}

std::vector<float> output_of(const Json& spec, Device* device) {
  auto read = network_from_json(spec);
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  if (!read) return {};
  const auto input = drawn_input(read->network, 3, 11, std::uint64_t{1} << 30);
  EXPECT_TRUE(input) << (input ? "" : input.error().text());
  NetworkRunOptions options;
  options.threads = 1, options.device = device;
  const auto out = run_network(read->network, *input, options);
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  if (!out) return {};
  EXPECT_EQ(out->precision, precision_of(device));
  const auto* const values = out->view().as<float>();
  return {values, values + out->shape.elements()};
}

TEST(GpuPrecision, a_fast_device_is_close_and_its_shaders_have_plain_operators) {  // N-10
  LOOM_NEEDS_GPU_DEVICE(unused);
  (void)unused;
  const test::TempFolder folder;
  texts().clear();
  gpu::GpuOptions options;
  options.precision = Precision::Fast, options.passes = folder / "passes", options.alter = &keep_text;
  const auto device = test::make_gpu_device(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(precision_of(device.get()), Precision::Fast);
  const auto fast = output_of(mixed_spec(), device.get()), again = output_of(mixed_spec(), device.get());
  EXPECT_LT(distance(fast, output_of(mixed_spec(), nullptr)), kClose);
  EXPECT_EQ(fast, again);
  // Nothing was proved or kept.
  EXPECT_EQ(device->prover().report().trials, 0u);
  EXPECT_EQ(device->prover().report().calls_on_host, 0u);
  EXPECT_EQ(test::refused_kernels(*device), "");
  EXPECT_FALSE(is_file(folder / "passes"));
  EXPECT_GT(device->counters().pipelines, 5u);
  ASSERT_FALSE(texts().empty());
  for (const std::string& text : texts()) {
    EXPECT_NE(text.find("fn add(a: f32, b: f32) -> f32 { return a + b; }"), text.npos);
    EXPECT_NE(text.find("fn div(a: f32, b: f32) -> f32 { return a / b; }"), text.npos);
    EXPECT_EQ(text.find("keep(a + b)"), text.npos);
    EXPECT_EQ(text.find("fn canary("), text.npos);
  }
}

TEST(GpuPrecision, a_strict_and_a_fast_session_stand_beside_each_other) {
  LOOM_NEEDS_GPU_DEVICE(unused);
  (void)unused;
  Device *const strict = device_from_name("gpu").value(), *const fast = device_from_name("gpu:fast").value();
  EXPECT_NE(strict, fast);
  EXPECT_EQ(device_from_name("gpu:0:fast").value(), fast);
  EXPECT_EQ(device_from_name("gpu:0").value(), strict);
  EXPECT_EQ(strict->precision(), Precision::Strict);
  EXPECT_EQ(fast->precision(), Precision::Fast);
  EXPECT_EQ(gpu_use(*strict)["precision"], "strict");
  EXPECT_EQ(gpu_use(*fast)["precision"], "fast");
  const auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
  ASSERT_TRUE(model) << model.error().text();
  const auto session_on = [&](Device* device) {
    SessionOptions options;
    options.threads = 1, options.context_tokens = 64, options.device = device;
    return Session::create(model->decoder, options).value();
  };
  const auto here = session_on(nullptr), exact = session_on(strict), free = session_on(fast);
  EXPECT_EQ(free->precision(), Precision::Fast);
  EXPECT_EQ(exact->precision(), Precision::Strict);
  for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{1, 5, 9, 2, 7}, {3}, {8}}) {
    const auto row = [&](Session& session) {
      const std::span<const float> logits = session.feed(ids).value();
      return std::vector<float>(logits.begin(), logits.end());
    };
    const std::vector<float> wanted = row(*here), near = row(*free);
    EXPECT_EQ(row(*exact), wanted);
    EXPECT_LT(distance(near, wanted), kClose);
  }
  const test::TempFolder folder;
  const auto kept = save_kv(*free, folder / "kept.entity");
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::Unsupported);
  EXPECT_TRUE(save_kv(*exact, folder / "kept.entity"));
  EXPECT_FALSE(exact->restore(free->snapshot().value()));  // nor do they come to an exact session so
  EXPECT_TRUE(here->restore(exact->snapshot().value()));
}

TEST(GpuPrecision, a_shader_that_does_not_compile_is_computed_on_host) {
  auto driver = test::open_gpu_driver();
  if (driver == nullptr) GTEST_SKIP() << "no graphics card";
  const auto faults = std::make_shared<test::Faults>();
  gpu::GpuOptions options;
  options.precision = Precision::Fast;
  const auto device = gpu::GpuDevice::create(std::make_unique<test::FaultyDriver>(std::move(driver), faults), options);
  ASSERT_TRUE(device) << device.error().text();
  const auto before = output_of(mixed_spec(), device->get());
  const auto wanted = output_of(mixed_spec(), nullptr);
  EXPECT_LT(distance(before, wanted), kClose);
  EXPECT_EQ(test::refused_kernels(**device), "");
  auto other = test::open_gpu_driver();
  faults->broken_pipeline = "softmax";
  const auto broken = gpu::GpuDevice::create(std::make_unique<test::FaultyDriver>(std::move(other), faults), options);
  ASSERT_TRUE(broken) << broken.error().text();
  for (int again = 0; again < 2; ++again)
    EXPECT_LT(distance(output_of(mixed_spec(), broken->get()), wanted), kClose) << again;
  EXPECT_EQ(test::refused_kernels(**broken), "softmax ");
  EXPECT_EQ((*broken)->prover().report().trials, 0u);
  EXPECT_GT((*broken)->prover().report().calls_on_host, 0u);
}

class GpuFastRun : public testing::Test {
 protected:
  void SetUp() override {
    if (test::gpu_device() == nullptr) GTEST_SKIP() << "no graphics card";
    folder_.write("blobs.csv", training_test::blobs(100, 8, 4));
    Json config = training_test::small_config();
    config["epochs"] = 1;
    folder_.write("small.json", dump_json(config));
  }
  Result<TrainOutcome> run(const std::string& device, RunStart start = RunStart::fresh) {
    TrainOptions options;
    options.session.threads = 1, options.start = start, options.epochs = start == RunStart::resume ? 2 : 1;
    LOOM_TRY_VOID(name_device(device, options.session));
    return train_file(folder_.file("small.json"), options);
  }
  Result<ReplayReport> replay_on(const std::string& device) {
    ReplayOptions options;
    options.session.threads = 1;
    LOOM_TRY_VOID(name_device(device, options.session));
    return replay_file(folder_.file("small.run"), options);
  }
  training_test::Folder folder_;
};

TEST_F(GpuFastRun, its_journal_says_so_and_proves_nothing) {  // N-10
  const auto outcome = run("gpu:fast");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(to_json(*outcome)["precision"], "fast");
  EXPECT_EQ(read_journal_start(outcome->folder + "/journal.jsonl").value()["precision"], "fast");
  EXPECT_EQ(read_checkpoint(outcome->folder + "/checkpoint.entity").value().train["precision"], "fast");
  for (const char* const device : {"cpu", "gpu", "gpu:fast"}) {
    const auto replayed = replay_on(device);
    ASSERT_FALSE(replayed) << device;
    EXPECT_EQ(replayed.error().code, Code::Unsupported);
    EXPECT_NE(replayed.error().text().find("precision"), std::string::npos) << replayed.error().text();
  }
  // It goes on as it began.
  for (const char* const device : {"cpu", "gpu"})
    EXPECT_EQ(run(device, RunStart::resume).error().code, Code::InvalidConfig) << device;
  EXPECT_TRUE(run("gpu:fast", RunStart::resume));
}

TEST_F(GpuFastRun, an_exact_journal_is_not_replayed_or_gone_on_with_by_it) {
  const auto outcome = run("cpu");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_FALSE(to_json(*outcome).contains("precision"));
  EXPECT_FALSE(read_journal_start(outcome->folder + "/journal.jsonl").value().contains("precision"));
  EXPECT_FALSE(read_checkpoint(outcome->folder + "/checkpoint.entity").value().train.contains("precision"));
  EXPECT_EQ(replay_on("gpu:fast").error().code, Code::Unsupported);
  EXPECT_EQ(run("gpu:fast", RunStart::resume).error().code, Code::InvalidConfig);
  EXPECT_TRUE(replay_on("gpu"));
}

}  // namespace
}  // namespace loom::precision_test
