#include "network/auto_morph.h"

#include <gtest/gtest.h>

#include "core/philox.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/divided.h"
#include "support/gpu.h"

namespace loom {
namespace {

constexpr const char* kSpec =
    R"({"id":"m","depth":1,"rows":1,"cols":3,"layers_per_cell":1,"input_shape":[24],"seed":5,"layers":[
  {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":24,"output_height":64,"activation":"gelu","bias":true},
  {"z":0,"y":0,"x":1,"l":0,"type":"sequential","residual":true,"sequential_layers":[
    {"type":"rmsnorm","input_height":64},{"type":"dense","input_height":64,"output_height":64,"activation":"silu"}]},
  {"z":0,"y":0,"x":2,"l":0,"type":"dense","input_height":64,"output_height":5}]})";

Network network() { return std::move(network_from_json(kSpec).value().network); }

AutoMorphData data(std::size_t samples = 20, std::size_t targets = 0) {
  const RandomStream stream{1, RandomDomain::Noise, 0, 9};
  AutoMorphData d;
  d.input_shape = Shape::of({samples, 24});
  for (std::size_t i = 0; i < samples * 24; ++i) d.inputs.push_back(2.0 * static_cast<double>(stream.uniform(i)) - 1);
  for (std::size_t i = 0; i < targets; ++i) d.targets.push_back(static_cast<double>(i * 7 % 5));
  return d;
}

AutoMorphOptions within(std::size_t bytes) {
  AutoMorphOptions o;
  o.max_bytes = bytes, o.threads = 1;
  return o;
}

AutoMorphOptions at_most(double loss) {
  AutoMorphOptions o;
  o.max_loss = loss, o.threads = 1;
  return o;
}

std::vector<DType> types_of(const AutoMorphReport& r) {
  std::vector<DType> types;
  for (const AutoMorphRow& row : r.rows) types.push_back(row.dtype);
  return types;
}

TEST(AutoMorph, reaches_every_budget_of_bytes_and_names_the_smallest) {  // D-21
  Network n = network();
  const auto impossible = auto_morph(n, data(), within(10));
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().code, Code::InvalidArgument);
  const std::string& message = impossible.error().text();
  const std::size_t at = message.find("can be is ");
  ASSERT_NE(at, message.npos) << message;
  const std::size_t least = std::stoul(message.substr(at + 10));
  double before = 1e9;
  for (const std::size_t budget : {least, least + 1, least + 500, least * 2, least * 4, std::size_t{1} << 20}) {
    Network m = network();
    const auto report = auto_morph(m, data(), within(budget));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_LE(report->bytes, budget);
    EXPECT_LT(least * 4, report->bytes_before) << "the smallest has few bits";
    m.release_masters();
    EXPECT_EQ(m.resident_bytes(), report->bytes);
    EXPECT_LT(report->loss, before * 1.5) << "more room, not much more loss";
    before = std::max(report->loss, 1e-6);
    EXPECT_EQ(report->rows.size(), 4u);
  }
  Network m = network();
  EXPECT_FALSE(auto_morph(m, data(), within(least - 1)));
}

// The network names samples of another extent than the data's: the data's count.
TEST(AutoMorph, samples_are_those_of_the_data) {  // D-21
  const auto chosen = [](const Shape& named) {
    Network m = network();
    m.settings.input_shape = named;
    AutoMorphData d = data(40);
    d.input_shape = Shape::of({10, 4, 24});
    std::fill_n(d.inputs.begin(), 480, 0.0);
    const auto report = auto_morph(m, d, at_most(0.02));
    EXPECT_TRUE(report) << (report ? "" : report.error().text());
    return report ? std::pair(types_of(*report), report->loss) : std::pair<std::vector<DType>, double>();
  };
  EXPECT_EQ(chosen(Shape::of({1, 24})), chosen(Shape::of({4, 24})));
  EXPECT_EQ(chosen(Shape::of({4000, 24})), chosen(Shape::of({4, 24})));
}

TEST(AutoMorph, a_call_beyond_the_limit_of_memory_is_refused) {  // J-23
  Network m = network();
  AutoMorphOptions options = within(std::size_t{1} << 20);
  options.max_session_bytes = 1000;
  EXPECT_EQ(auto_morph(m, data(), options).error().code, Code::OutOfMemory);
}

TEST(AutoMorph, never_exceeds_the_loss_that_is_allowed) {  // D-21
  for (const std::size_t targets : {0u, 20u, 100u}) {      // distance, classes, values
    for (const double allowed : {0.0, 0.001, 0.03, 0.5, 30.0}) {
      Network m = network();
      const auto d = data(20, targets);
      const auto report = auto_morph(m, d, at_most(allowed));
      if (!report) {
        EXPECT_EQ(report.error().code, Code::InvalidArgument) << report.error().text();
        EXPECT_GT(targets, 0u) << "the distance of float32 from itself is 0";
        continue;
      }
      EXPECT_LE(report->loss, allowed);
      EXPECT_LE(report->bytes, report->bytes_before);
      if (allowed >= 0.03) {
        EXPECT_LT(report->bytes, report->bytes_before / 2) << report->loss_name;
      }
      // The reported loss is that of the network as it was left.
      Network same = network();
      const auto again = auto_morph(same, d, at_most(allowed));
      EXPECT_EQ(again->loss, report->loss);
    }
  }
}

TEST(AutoMorph, the_choice_does_not_depend_on_threads_or_instruction_sets) {  // N-01
  Network first = network();
  const auto expected = auto_morph(first, data(300, 300), at_most(2.0));
  ASSERT_TRUE(expected) << expected.error().text();
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 3}) {
      const test::ExpectDivided divided(threads);
      Network m = network();
      AutoMorphOptions o = at_most(2.0);
      o.threads = threads, o.isa = isa;
      const auto report = auto_morph(m, data(300, 300), o);
      ASSERT_TRUE(report);
      EXPECT_EQ(types_of(*report), types_of(*expected));
      EXPECT_EQ(report->loss, expected->loss);
      EXPECT_EQ(report->loss_name, "cross_entropy");
    }
}

// Some of the 21 types have no kernels on the card.
TEST(GpuAutoMorph, the_choice_on_a_card_is_that_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::size_t targets : {0u, 20u}) {
    Network here = network(), there = network();
    AutoMorphOptions options = within(9000);
    const auto wanted = auto_morph(here, data(20, targets), options);
    const std::uint64_t before = device->counters().dispatches;
    options.device = device;
    const auto got = auto_morph(there, data(20, targets), options);
    ASSERT_TRUE(wanted && got) << (got ? wanted.error().text() : got.error().text());
    EXPECT_EQ(types_of(*got), types_of(*wanted));
    for (std::size_t i = 0; i < wanted->rows.size(); ++i)
      EXPECT_EQ(got->rows[i].loss_increase, wanted->rows[i].loss_increase) << i;
    EXPECT_EQ(got->loss, wanted->loss);
    EXPECT_EQ(got->measurements, wanted->measurements);
    EXPECT_GT(device->counters().dispatches, before + 20);
  }
}

TEST(AutoMorph, chooses_among_the_types_it_is_given) {  // D-21
  Network m = network();
  AutoMorphOptions o = at_most(100);
  o.types = {DType::int8, DType::float16};
  const auto report = auto_morph(m, data(), o);
  ASSERT_TRUE(report);
  for (const DType t : types_of(*report))
    EXPECT_TRUE(t == DType::int8 || t == DType::float16 || t == DType::float32) << name(t);
  Network block = network();
  o.types = {DType::q4_0};
  EXPECT_EQ(auto_morph(block, data(), o).error().code, Code::InvalidArgument);
}

TEST(AutoMorph, data_that_does_not_fit_is_an_error) {  // J-23
  Network m = network();
  EXPECT_EQ(auto_morph(m, data(), {}).error().code, Code::InvalidArgument);
  AutoMorphData wide = data();
  wide.input_shape = Shape::of({10, 48});
  EXPECT_EQ(auto_morph(m, wide, at_most(1)).error().code, Code::ShapeMismatch);
  EXPECT_EQ(auto_morph(m, data(20, 3), at_most(1)).error().code, Code::ShapeMismatch);
  AutoMorphData classes = data(20, 20);
  classes.targets[7] = 5;
  EXPECT_EQ(auto_morph(m, classes, at_most(1)).error().code, Code::IndexOutOfRange);
  AutoMorphData infinite = data();
  infinite.inputs[3] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(auto_morph(m, infinite, at_most(1)).error().code, Code::NonFinite);
  AutoMorphOptions cancelled = at_most(1);
  cancelled.progress = [](std::size_t done, std::size_t) { return done < 4; };
  EXPECT_EQ(auto_morph(m, data(), cancelled).error().code, Code::Cancelled);
}

}  // namespace
}  // namespace loom
