#include "host/device.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/json.h"
#include "host/device_choice.h"
#include "network/spec/spec.h"
#include "support/faulty_driver.h"

namespace loom {
namespace {

// About those of an H100 and of 16 threads beside it.
constexpr DeviceRates kCard{.multiply_adds = 5e12, .bytes = 1.5e12, .step_s = 7e-6, .pass_s = 1e-4, .start_s = 1},
    kHere{.multiply_adds = 3e11, .bytes = 1e11, .step_s = 2e-6};

bool takes_the_card(const PassWork& work) { return choose_device(work, kHere, kCard, "a card").is_card; }

TEST(Device, auto_takes_a_card_where_that_is_expected_to_take_less_time) {
  const PassWork transformer{.multiply_adds = 4e10,
                             .weight_bytes = 4e7,
                             .activation_bytes = 2e9,
                             .layers = 60,
                             .kernels = 400,
                             .passes = 1000},
      mlp{.multiply_adds = 1e8,
          .weight_bytes = 6e6,
          .activation_bytes = 2e7,
          .layers = 12,
          .kernels = 60,
          .passes = 1000},
      lstm{.multiply_adds = 1e8,
           .weight_bytes = 1e6,
           .activation_bytes = 5e6,
           .layers = 3,
           .kernels = 900,
           .passes = 1000},
      token{.multiply_adds = 1.35e8, .weight_bytes = 9e7, .layers = 183, .kernels = 306, .passes = 1000};
  EXPECT_TRUE(takes_the_card(transformer));
  EXPECT_FALSE(takes_the_card(mlp));
  EXPECT_FALSE(takes_the_card(lstm));
  EXPECT_FALSE(takes_the_card(token));
  PassWork once = transformer;
  once.passes = 1;  // the time of compilation counts whole
  EXPECT_FALSE(takes_the_card(once));
  const DeviceChoice choice = choose_device(transformer, kHere, kCard, "a card");
  EXPECT_NEAR(choice.here_s, 60 * 2e-6 + 4e10 / 3e11 + 0.02, 1e-9);
  EXPECT_NEAR(choice.card_s, 1e-3 + 1e-4 + 400 * 7e-6 + 4e10 / 5e12 + 2e9 / 1.5e12, 1e-9);
  EXPECT_EQ(choice.reason, "about 153 ms a pass on the CPU, 13.2 ms on a card");
  PassWork large = token;  // a model of 7 billion weights is read from the card's own memory
  large.weight_bytes = 4e9, large.multiply_adds = 7e9;
  EXPECT_TRUE(takes_the_card(large));
}

TEST(Device, rates_of_this_computer_are_measured_once) {
  const auto rates = measured_rates(nullptr, 1), again = measured_rates(nullptr, 1);
  ASSERT_TRUE(rates && again);
  EXPECT_GT(rates->multiply_adds, 1e7);
  EXPECT_GT(rates->bytes, 1e7);
  EXPECT_GT(rates->step_s, 0);
  EXPECT_EQ(rates->multiply_adds, again->multiply_adds);
}

TEST(Device, names_that_are_none_are_told) {
  NetworkSessionOptions options;
  for (const char* const name : {"", "tpu", "gpu:", "gpu:-1", "gpu:1x", "auto "})
    EXPECT_EQ(name_device(name, options).error().code, Code::InvalidArgument) << name;
  EXPECT_TRUE(name_device("cpu", options));
  EXPECT_EQ(options.device, nullptr);
  EXPECT_EQ(options.choose_device, nullptr);
}

TEST(Device, AnUnknownFormOfDotsIsRefusedByName) {
  const char* const before = std::getenv("LOOM_GPU_DOTS");
  const std::string kept = before == nullptr ? "" : before;
  setenv("LOOM_GPU_DOTS", "fastest", 1);
  for (const char* const name : {"gpu:99", "gpu:99:fast"}) {
    const auto device = device_from_name(name);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, Code::InvalidArgument);
    EXPECT_EQ(device.error().text(), "LOOM_GPU_DOTS is \"fastest\": expected packed, integers, floats");
  }
  setenv("LOOM_GPU_DOTS", kept.c_str(), 1);
  if (before == nullptr) unsetenv("LOOM_GPU_DOTS");
}

Network network_of(const Json& layers) {
  auto read = network_from_json({{"seed", 1}, {"layers", layers}});
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  return std::move(read->network);
}

// Where no card can be opened auto is this computer, and says why in one line.
TEST(Device, auto_without_a_card_is_this_computer) {
  const char* const library = std::getenv("LOOM_WEBGPU_LIB");
  const std::string before = library == nullptr ? "" : library;
  setenv("LOOM_WEBGPU_LIB", "/nowhere/lib.so", 1);
  const Network network = network_of({{{"type", "dense"}, {"input_height", 4}, {"output_height", 3}}});
  std::vector<std::string> lines;
  NetworkSessionOptions options;
  ASSERT_TRUE(name_device("auto", options, 10, [&](const Device*, const std::string& line) { lines.push_back(line); }));
  const auto session = NetworkSession::create(network, Shape::of({2, 4}), options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->device(), nullptr);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("device auto: cpu: ")) << lines[0];
  EXPECT_NE(lines[0].find("/nowhere/lib.so"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find('\n'), std::string::npos);
  before.empty() ? unsetenv("LOOM_WEBGPU_LIB") : setenv("LOOM_WEBGPU_LIB", before.c_str(), 1);
}

TEST(GpuDevices, work_is_counted_by_a_rehearsal) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto work = [&](const Network& network, const Shape& input, const NetworkSessionOptions& options) {
    return work_of(network, ForwardPlan::create(network, input).value(), options, *device);
  };
  const Network mlp = network_of({{{"type", "dense"}, {"input_height", 70}, {"output_height", 130}},
                                  {{"type", "dense"}, {"input_height", 130}, {"output_height", 5}}});
  const Shape rows = Shape::of({67, 70});
  const auto pass = work(mlp, rows, {.threads = 1});
  ASSERT_TRUE(pass) << pass.error().text();
  EXPECT_EQ(pass->multiply_adds, 67 * (70 * 130 + 130 * 5));
  EXPECT_EQ(pass->activation_bytes, 67 * (130 + 5) * 4);
  EXPECT_EQ(pass->layers, 2);
  EXPECT_GE(pass->kernels, 2);
  const auto step = work(mlp, rows, {.threads = 1, .backward = true});
  ASSERT_TRUE(step) << step.error().text();
  EXPECT_EQ(step->multiply_adds, 3 * pass->multiply_adds);
  EXPECT_GT(step->kernels, pass->kernels + 12);  // and the update of two weights

  const Network cnn = network_of({{{"type", "cnn2"}, {"input_channels", 3}, {"filters", 18}, {"kernel_size", 3}}});
  const auto convolution = work(cnn, Shape::of({5, 3, 10, 8}), {.threads = 1});
  ASSERT_TRUE(convolution) << convolution.error().text();
  EXPECT_EQ(convolution->multiply_adds, 5 * 18 * 3 * 3 * 3 * (8 * 6));
  const auto steps_of = [&](std::size_t steps) {
    const Network lstm = network_of({{{"type", "lstm"}, {"input_height", 8}, {"output_height", 16}}});
    return work(lstm, Shape::of({4, steps, 8}), {.threads = 1}).value().kernels;
  };
  EXPECT_GT(steps_of(20), 3 * steps_of(5));
}

TEST(GpuDevices, rates_of_a_card_are_measured) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto rates = measured_rates(device, 1);
  ASSERT_TRUE(rates) << rates.error().text();
  EXPECT_GT(rates->multiply_adds, 1e6);
  EXPECT_GT(rates->bytes, 1e6);
  EXPECT_GT(rates->step_s, 0);
  EXPECT_GT(rates->start_s, 0);
}

// Cards that are opened while it stands have these faults.
class CardsWithFaults {
 public:
  CardsWithFaults() {
    wrap_drivers([faults = faults](std::unique_ptr<gpu::Driver> driver) -> std::unique_ptr<gpu::Driver> {
      return std::make_unique<test::FaultyDriver>(std::move(driver), faults);
    });
  }
  ~CardsWithFaults() { wrap_drivers({}); }
  std::shared_ptr<test::Faults> faults = std::make_shared<test::Faults>();
};

TEST(GpuDevices, a_card_that_was_lost_is_opened_anew_and_its_sessions_stay_safe) {
  LOOM_NEEDS_GPU_DEVICE(unused);
  (void)unused;
  const Network network = network_of({{{"type", "dense"}, {"input_height", 40}, {"output_height", 30}}});
  const std::vector<float> x(800, 0.25f);
  const ConstView input{x.data(), Shape::of({20, 40}), Element::f32};
  const auto answer = [&](NetworkSession& session) -> Result<std::vector<float>> {
    LOOM_TRY(const ConstView y, session.forward_host(input));
    return std::vector<float>(y.as<float>(), y.as<float>() + y.shape.elements());
  };
  const auto session_on = [&](Device* device) {
    NetworkSessionOptions options;
    options.threads = 1, options.device = device;
    return NetworkSession::create(network, input.shape, options).value();
  };
  const std::vector<float> expected = *answer(*session_on(nullptr));
  const CardsWithFaults cards;
  Device* const first = device_from_name("gpu").value();
  const auto old = session_on(first);
  EXPECT_EQ(*answer(*old), expected);
  EXPECT_EQ(device_from_name("gpu").value(), first);
  cards.faults->lost_at_submit = 0;
  EXPECT_EQ(answer(*old).error().code, Code::DeviceLost);
  *cards.faults = {};
  Device* const second = device_from_name("gpu:0").value();
  EXPECT_NE(second, first);
  const auto fresh = session_on(second);
  EXPECT_EQ(*answer(*fresh), expected);
  EXPECT_EQ(answer(*old).error().code, Code::DeviceLost);
  NetworkSessionOptions options;
  options.device = first;
  EXPECT_EQ(NetworkSession::create(network, input.shape, options).error().code, Code::DeviceLost);
  EXPECT_EQ(*answer(*fresh), expected);
  EXPECT_EQ(device_from_name("gpu").value(), second);
}

TEST(GpuDevices, auto_takes_no_software_for_a_card) {
  LOOM_NEEDS_GPU_DEVICE(device);
  if (device->adapter().kind != "software") GTEST_SKIP() << "a card";
  const Network network = network_of({{{"type", "dense"}, {"input_height", 400}, {"output_height", 300}}});
  std::string told;
  NetworkSessionOptions options;
  ASSERT_TRUE(name_device("auto", options, kManyPasses, [&](const Device*, const std::string& line) { told = line; }));
  EXPECT_EQ(NetworkSession::create(network, Shape::of({2000, 400}), options).value()->device(), nullptr);
  EXPECT_NE(told.find("software"), std::string::npos) << told;
}

}  // namespace
}  // namespace loom
