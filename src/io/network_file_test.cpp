#include "io/network_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/file.h"
#include "core/json.h"
#include "layers/all.h"
#include "network/session/network_session.h"

namespace loom {
namespace {

// One network per type: a matrix of odd sizes, biases, a norm of its own type, a container, a convolution in groups.
std::string spec_of(std::string_view dtype) {
  return fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":4,"seed":7,"default_dtype":"{}","input_shape":[4,9],"layers":[
    {{"z":0,"y":0,"x":0,"l":0,"type":"cnn1","input_channels":4,"filters":6,"groups":2,"kernel_size":3,"padding":1,"bias":true,"init":"normal","init_scale":0.3}},
    {{"z":0,"y":0,"x":0,"l":1,"type":"rmsnorm","input_height":9}},
    {{"z":0,"y":0,"x":0,"l":2,"type":"sequential","residual":true,"sequential_layers":[{{"type":"dense","input_height":9,"output_height":9,"bias":true,"activation":"tanh"}}]}},
    {{"z":0,"y":0,"x":0,"l":3,"type":"dense","input_height":9,"output_height":35}}]}})",
      dtype);
}

std::vector<float> output_of(Network& network) {
  const Shape shape = Network::with_batch(*network.settings.input_shape, 3);
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false}).value();
  std::vector<float> x(shape.elements());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 41) - 20) / 16.0f;
  const auto y = session->forward({x.data(), shape});
  EXPECT_TRUE(y) << y.error().text();
  return y ? std::vector<float>(y->as(), y->as() + y->shape.elements()) : std::vector<float>{};
}

TEST(NetworkFile, every_type_comes_back_bit_for_bit_from_entity_and_json) {  // F-04, F-03
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const std::string type(name(static_cast<DType>(t)));
    SCOPED_TRACE(type);
    auto made = network_from_json(spec_of(type));
    ASSERT_TRUE(made) << made.error().text();
    const std::vector<float> expected = output_of(made->network);
    for (const bool keep_master : {false, true}) {
      const auto bytes = network_to_entity(made->network, {keep_master});
      ASSERT_TRUE(bytes) << bytes.error().text();
      auto loaded = network_from_entity(*bytes);
      ASSERT_TRUE(loaded) << loaded.error().text();
      EXPECT_EQ(output_of(loaded->network), expected);
      EXPECT_EQ(network_to_entity(loaded->network, {keep_master}).value(), *bytes) << "save(load(f)) = f";
    }
    const auto text = network_to_checkpoint(made->network);
    ASSERT_TRUE(text) << text.error().text();
    auto loaded = network_from_json(*text);
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(output_of(loaded->network), expected);
    EXPECT_EQ(network_to_checkpoint(loaded->network).value(), *text);
  }
}

// A network that was float64 keeps masters of that width through every other type: a file that keeps masters must not
// narrow them.
TEST(NetworkFile, masters_of_float64_come_back_whole_in_every_type) {  // D-11, F-04
  const auto masters = [](const Network& network) {
    std::vector<double> all;
    network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
      all.insert(all.end(), w.master().begin(), w.master().end());
      all.insert(all.end(), w.master64().begin(), w.master64().end());
    });
    return all;
  };
  for (const DType type : {DType::float64, DType::float32, DType::float16, DType::int8, DType::ternary}) {
    SCOPED_TRACE(name(type));
    auto made = network_from_json(spec_of("float64"));
    ASSERT_TRUE(made) << made.error().text();
    made->network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      std::vector<double> values(w.elements());
      // no float holds these
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<double>(i % 31) - 15.1) / 37;
      ASSERT_TRUE(w.set(std::span<const double>(values)));
    });
    ASSERT_TRUE(made->network.morph_all(type));
    auto loaded = network_from_entity(network_to_entity(made->network, {.keep_master = true}).value());
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(masters(loaded->network), masters(made->network));
    EXPECT_EQ(output_of(loaded->network), output_of(made->network));
    ASSERT_TRUE(made->network.morph_all(DType::float64) && loaded->network.morph_all(DType::float64));
    EXPECT_EQ(output_of(loaded->network), output_of(made->network));
  }
}

// Links of every mode, a skip to a cell, a gate and a tie come back from both formats with the outputs they had.
TEST(NetworkFile, links_gates_and_ties_come_back) {  // V-26, G-08, G-15, F-04
  const std::string spec = R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":7,"seed":7,"input_shape":[8],"layers":[
    {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":8,"output_height":8,"activation":"tanh","dtype":"int8"},
    {"z":0,"y":0,"x":0,"l":1,"type":"dense","input_height":8,"output_height":8,"is_disabled":true,"name":"store"},
    {"z":0,"y":0,"x":0,"l":2,"is_remote_link":true,"target_l":1,"link_mode":"share"},
    {"z":0,"y":0,"x":0,"l":3,"type":"dense","input_height":16,"output_height":8,"is_remote_link":true,"target_l":0,"link_mode":"feed","link_merge":"concat"},
    {"z":0,"y":0,"x":0,"l":4,"type":"residual","skip_from":[0,0,0,2]},
    {"z":0,"y":0,"x":0,"l":5,"type":"parallel","combine_mode":"filter","top_k":1,"gate_temperature":0.7,"gate_scope":"sample",
      "filter_gate":{"type":"dense","input_height":8,"output_height":2},"parallel_branches":[
      {"type":"dense","input_height":8,"output_height":8,"dtype":"ternary"},
      {"is_remote_link":true,"target_l":1}]},
    {"z":0,"y":0,"x":0,"l":6,"is_remote_link":true,"target_l":3,"link_mode":"feed","link_merge":"add"}]})";
  auto made = network_from_json(spec);
  ASSERT_TRUE(made) << made.error().text();
  const std::vector<float> expected = output_of(made->network);
  const auto check = [&](Result<SpecResult> loaded) {
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(dump_json(network_to_json(loaded->network)), dump_json(network_to_json(made->network)));
    EXPECT_EQ(output_of(loaded->network), expected);
  };
  check(network_from_entity(network_to_entity(made->network).value()));
  check(network_from_json(network_to_checkpoint(made->network).value()));
  check(network_from_json(network_to_json(made->network)));
}

TEST(NetworkFile, morph_leaves_the_master_and_release_decodes_it) {  // D-21, D-23
  auto made = network_from_json(spec_of("float32"));
  ASSERT_TRUE(made);
  const std::vector<float> exact = output_of(made->network);
  ASSERT_TRUE(made->network.morph_all(DType::int8));
  const std::vector<float> bytes = output_of(made->network);
  EXPECT_NE(bytes, exact);
  ASSERT_TRUE(made->network.morph_all(DType::int4));  // from the master, not from the bytes
  auto direct = network_from_json(spec_of("float32"));
  ASSERT_TRUE(direct->network.morph_all(DType::int4));
  EXPECT_EQ(output_of(made->network), output_of(direct->network));
  ASSERT_TRUE(made->network.morph_all(DType::int8));
  EXPECT_EQ(output_of(made->network), bytes);
  ASSERT_TRUE(made->network.morph_all(DType::float32));
  EXPECT_EQ(output_of(made->network), exact);
  ASSERT_TRUE(made->network.morph_all(DType::int8));
  made->network.release_masters();
  EXPECT_EQ(output_of(made->network), bytes);
}

// A 1024-wide network of two layers: packed files and memory have the sizes that the specification promises.
TEST(NetworkFile, packed_files_and_memory_are_as_small_as_their_bits) {  // D-11
  const auto sizes = [](const char* type) {
    auto made = network_from_json(fmt::format(
        R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":2,"default_dtype":"{}","layers":[
          {{"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":1024,"output_height":1024,"bias":true,"activation":"relu"}},
          {{"z":0,"y":0,"x":0,"l":1,"type":"dense","input_height":1024,"output_height":1024,"bias":true}}]}})",
        type));
    EXPECT_TRUE(made) << made.error().text();
    const std::size_t file = network_to_entity(made->network).value().size();
    made->network.release_masters();
    return std::pair(static_cast<double>(file), static_cast<double>(made->network.resident_bytes()));
  };
  const auto f64 = sizes("float64"), f32 = sizes("float32"), int4 = sizes("int4"), binary = sizes("binary");
  EXPECT_LT(binary.first, f64.first * (1 - 0.983));
  EXPECT_LT(binary.second, f64.second * (1 - 0.983));
  EXPECT_LT(int4.first, f32.first * (1 - 0.84));
  EXPECT_LT(int4.second, f32.second * (1 - 0.84));
}

TEST(NetworkFile, a_file_that_lacks_or_adds_a_tensor_is_refused_by_name) {  // F-32
  auto made = network_from_json(spec_of("int8"));
  ASSERT_TRUE(made);
  auto bytes = network_to_entity(made->network).value();
  for (std::size_t i = 0; i < bytes.size(); i += 97) {
    auto flipped = bytes;
    flipped[i] ^= std::byte{16};
    EXPECT_FALSE(network_from_entity(flipped)) << "byte " << i;
  }
}

}  // namespace
}  // namespace loom
