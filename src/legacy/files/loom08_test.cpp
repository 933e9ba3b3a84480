#include "legacy/files/loom08.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/base64.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "io/hostile_test.h"
#include "io/network_file.h"
#include "layers/all.h"
#include "network/session/network_session.h"
#include "support/paths.h"

namespace loom::loom08::loom08_test {
namespace {

Json cases() { return parse_json(read_text_file(test::source_path("tests/golden/loom08.json")).value()).value(); }

Json case_of(std::string_view name) {
  for (const Json& c : cases())
    if (*as_string(c["name"]) == name) return c;
  ADD_FAILURE() << name;
  return {};
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& v : list) out.push_back(as_number(v).value());
  return out;
}

std::vector<std::byte> entity_of(const Json& c) { return base64_decode(*as_string(c["entity"])).value(); }

Result<SpecResult> load(const std::string& name, std::span<const std::byte> bytes) {
  return load_network(write_test_file(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}
Result<SpecResult> load_text(const std::string& text) { return load("old.json", std::as_bytes(std::span(text))); }

std::vector<float> output_of(Network& network, const Json& c) {
  std::vector<std::size_t> extents;
  for (const double extent : numbers(c["shape"])) extents.push_back(static_cast<std::size_t>(extent));
  const Shape shape = Shape::create(extents).value();
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false});
  EXPECT_TRUE(session) << session.error().text();
  if (!session) return {};
  const std::vector<double> given = numbers(c["input"]);
  const std::vector<float> x(given.begin(), given.end());
  const auto y = (*session)->forward({x.data(), shape});
  EXPECT_TRUE(y) << y.error().text();
  return y ? std::vector<float>(y->as(), y->as() + y->shape.elements()) : std::vector<float>{};
}

std::vector<float> values_of(Network& network) {
  std::vector<float> all;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    const std::size_t begin = all.size();
    all.resize(begin + w.elements());
    w.decode(0, w.elements(), all.data() + begin);
  });
  return all;
}

// The old program's output from the same file. It multiplies decoded weights in other orders of sums and prints seven
// digits; the test decodes types of few bits too, since the old program does not round inputs.
void expect_outputs(Network& network, const Json& c, const char* key) {
  network.visit_weights([](const std::string&, Weight& w, Layer&) { ASSERT_TRUE(w.ensure_master()); });
  ASSERT_TRUE(network.morph_all(DType::float32));
  const std::vector<float> y = output_of(network, c);
  const std::vector<double> expected = numbers(c[key]);
  ASSERT_EQ(y.size(), expected.size());
  double largest = 0;
  for (const double v : expected) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(static_cast<double>(y[i]), expected[i], 2e-6 * largest) << key << " " << i;
}

TEST(Loom08, files_give_the_outputs_that_0_8x_computes_from_them) {  // D-40, F-11, F-20, G-54
  for (const Json& c : cases()) {
    SCOPED_TRACE(*as_string(c["name"]));
    auto checkpoint = load_text(*as_string(c["checkpoint"]));
    ASSERT_TRUE(checkpoint) << checkpoint.error().text();
    EXPECT_TRUE(checkpoint->warnings.empty()) << checkpoint->warnings[0];
    expect_outputs(checkpoint->network, c, "from_checkpoint");
    auto entity = load("old.entity", entity_of(c));
    ASSERT_TRUE(entity) << entity.error().text();
    EXPECT_TRUE(entity->warnings.empty()) << entity->warnings[0];
    expect_outputs(entity->network, c, "from_entity");
  }
}

// A network that was read computes in its type, and comes back from today's files with the same values.
TEST(Loom08, old_networks_are_saved_as_new_ones) {  // D-40, F-04
  for (const Json& c : cases()) {
    SCOPED_TRACE(*as_string(c["name"]));
    auto old = load("old.entity", entity_of(c));
    ASSERT_TRUE(old) << old.error().text();
    const std::vector<float> values = values_of(old->network), y = output_of(old->network, c);
    auto entity = loom::network_from_entity(network_to_entity(old->network).value());
    ASSERT_TRUE(entity) << entity.error().text();
    EXPECT_EQ(values_of(entity->network), values);
    EXPECT_EQ(output_of(entity->network, c), y);
    auto json = load_text(network_to_checkpoint(old->network).value());
    ASSERT_TRUE(json) << json.error().text();
    EXPECT_EQ(values_of(json->network), values);
    EXPECT_EQ(output_of(json->network, c), y);
  }
}

// The bytes 81 6d 7f 69 e1 d0 as welvet 0.80.0 wrote them.
std::string dense(std::string_view dtype, std::string_view weights, std::string_view scale,
                  std::string_view more = "") {
  return fmt::format(
      R"({{"id":"network","depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{{"z":0,"y":0,"x":0,"l":0,
      "type":"Dense","activation":"ReLU","dtype":"{}","input_height":3,"output_height":2,"seq_length":1,
      "softmax_type":"Standard","weights":"{}","native":true,"scale":{}{}}}]}})",
      dtype, weights, scale, more);
}

TEST(Loom08, a_checkpoint_by_hand) {  // D-40
  auto read = load_text(dense("int8", "gW1/aeHQ", "0.5"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(values_of(read->network), (std::vector<float>{-63.5f, 54.5f, 63.5f, 52.5f, -15.5f, -24}));
  EXPECT_EQ(network_to_json(read->network)["layers"][0]["dtype"], "int8");
  // the next encoding is today's: each row has a scale of its own
  read->network.visit_weights([](const std::string&, Weight& w, Layer&) {
    EXPECT_EQ(w.quantized()->scales, (std::vector<double>{0.5, 0.5}));
    ASSERT_TRUE(w.ensure_master());
    const std::vector<float> master(w.master().begin(), w.master().end());
    ASSERT_TRUE(w.set(std::span<const float>(master)));
    EXPECT_EQ(w.quantized()->scales, (std::vector<double>{0.5, static_cast<double>(52.5f / 127)}));
  });
}

TEST(Loom08, masters_of_older_checkpoints_keep_their_values) {                // F-11
  std::string text = dense("int8", "AACAPwAAAEAAAEBAAACAQAAAoEAAAMBA", "1");  // 1 2 3 4 5 6
  text.replace(text.find(R"("native":true,)"), 14, "");
  auto read = load_text(text);
  ASSERT_TRUE(read) << read.error().text();
  read->network.visit_weights([](const std::string&, Weight& w, Layer&) {
    EXPECT_EQ(w.dtype(), DType::int8);
    EXPECT_EQ(std::vector<float>(w.master().begin(), w.master().end()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  });
}

TEST(Loom08, errors_name_the_place) {  // D-40, F-01, J-22
  const auto error = [](const std::string& text) {
    const auto read = load_text(text);
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().text().substr(read.error().text().find("old.json: ") + 10);
  };
  EXPECT_EQ(error(dense("int8", "gW1/aeE=", "0.5")),
            "/layers/0/weights: expected 6 bytes for 6 weights of int8, got 5");
  EXPECT_EQ(error(dense("int4", "gW1/aeHQ", "0.5")),
            "/layers/0/weights: expected 3 bytes for 6 weights of int4, got 6");
  EXPECT_EQ(error(dense("int8", "gW1/aeHQ", "0")),
            "/layers/0/weights: expected a normal scale above 0 and below 2^64, got 0");
  EXPECT_EQ(error(dense("fp4", "EBZA", "1")), "/layers/0/weights: weight 3: fp4 code 6 stands for no finite number");
  EXPECT_TRUE(error(dense("int8", "gW1/ae!Q", "1")).starts_with("/layers/0/weights: "));
  EXPECT_TRUE(error(dense("int9", "gW1/aeHQ", "1")).starts_with("/layers/0/dtype: "));
  EXPECT_TRUE(error(dense("int8", "gW1/aeHQ", R"(1,"type":"Dense")")).find("type") != std::string::npos);
  std::string outside = dense("int8", "gW1/aeHQ", "1");
  outside.replace(outside.find(R"("l":0)"), 5, R"("l":1)");
  EXPECT_EQ(error(outside), "/layers/0: expected z, y, x and l inside of the grid of the network");
  // half a network: the second layer brought no weights
  std::string half = dense("int8", "gW1/aeHQ", "1");
  half.replace(half.find(R"("layers_per_cell":1)"), 19, R"("layers_per_cell":2)");
  half.insert(half.size() - 2,
              R"(,{"z":0,"y":0,"x":0,"l":1,"type":"Dense","dtype":"int8","input_height":2,"output_height":2})");
  EXPECT_EQ(error(half), "/layers/1: the file holds no values for weight");
}

// A key that nothing reads is no reason to refuse an old file (engine J-21); an unknown name is.
TEST(Loom08, old_keys_warn_and_unknown_names_fail) {  // F-11, J-21
  const auto read = load_text(dense("int8", "gW1/aeHQ", "1", R"(,"d_model":4)"));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_NE(read->warnings[0].find("/layers/0/d_model"), std::string::npos);
  std::string unknown = dense("int8", "gW1/aeHQ", "1");
  unknown.replace(unknown.find("Dense"), 5, "Dance");
  EXPECT_EQ(load_text(unknown).error().code, Code::UnknownName);
}

// 0.8x writes cells that nobody gave a layer as dense layers without sizes.
TEST(Loom08, empty_cells_are_empty) {  // F-11, V-05
  std::string text = dense("int8", "gW1/aeHQ", "1");
  text.replace(text.find(R"("layers_per_cell":1)"), 19, R"("layers_per_cell":2)");
  text.insert(
      text.size() - 2,
      R"(,{"z":0,"y":0,"x":0,"l":1,"type":"Dense","activation":"ReLU","dtype":"float32","softmax_type":"Standard"})");
  const auto read = load_text(text);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_FALSE(read->network.cell(0).is_empty());
  EXPECT_TRUE(read->network.cell(1).is_empty());
}

// A cell that the step mesh feeds keeps its own weights beside its link.
TEST(Loom08, a_linked_cell_has_its_weights) {  // V-26, F-11
  std::string text = dense("int8", "gW1/aeHQ", "1");
  text.replace(text.find(R"("layers_per_cell":1)"), 19, R"("layers_per_cell":2)");
  const std::string layer = text.substr(text.find("{\"z\""), text.size() - 2 - text.find("{\"z\""));
  std::string second = layer;
  second.replace(second.find(R"("l":0)"), 5, R"("l":1,"is_remote_link":true,"target_l":0)");
  text.insert(text.size() - 2, "," + second);
  auto linked = load_text(text);
  ASSERT_TRUE(linked) << linked.error().text();
  EXPECT_EQ(values_of(linked->network).size(), 12u);
}

// Loom 0.8x computed some layers in ways that its files do not mention (engine 10.2): the reader writes them out as
// settings.
TEST(Loom08, compatibility_values_are_set) {  // F-11
  const auto layer = [](const char* text) {
    Json document = parse_json(fmt::format(
                                   R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":2,"layers":[
        {{"z":0,"y":0,"x":0,"l":0,"type":"RMSNorm","dtype":"float32","input_height":1,"weights":"AACAPw==","native":true}},
        {{"z":0,"y":0,"x":0,"l":1,{}}}]}})",
                                   text))
                        .value();
    const auto read = network_from_checkpoint(std::move(document));
    EXPECT_TRUE(read) << read.error().text();
    return read ? network_to_json(read->network)["layers"][1] : Json();
  };
  EXPECT_EQ(layer(R"("type":"Parallel","combine_mode":"concat","parallel_branches":[{"type":"Residual"}])")["flatten"],
            true);
  EXPECT_EQ(layer(R"("type":"Residual","activation":"Linear")")["skip_from"], "none");
  EXPECT_EQ(layer(R"("type":"Softmax","input_height":4,"softmax_type":"Entmax")")["entmax_mode"], "blend");
  EXPECT_EQ(layer(R"("type":"Metacognition","activation":"Linear")")["type"], "sequential");
  const Json meta = layer(
      R"("type":"Metacognition","meta_observed_layer":{"type":"Residual"},"meta_rules":[
         {"Condition":8,"Threshold":0.05,"Command":101,"Param":0,"Cooldown":3,"SelfOnly":true}])");
  EXPECT_EQ(meta["meta_rules"][0]["condition"], "gain_drift");
  EXPECT_EQ(meta["meta_rules"][0]["command"], "reset");
  EXPECT_EQ(meta["meta_rules"][0]["cooldown"], 3);
}

std::vector<std::byte> container(std::string_view header, std::span<const std::byte> payload) {
  std::vector<std::byte> out(20);
  std::memcpy(out.data(), "ENTITY\0\0\1\0\0\0", 12);
  store_le(out.data() + 12, static_cast<std::uint64_t>(header.size()));
  const auto text = std::as_bytes(std::span(header));
  out.insert(out.end(), text.begin(), text.end());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

std::vector<std::byte> q4_0_blob(std::size_t blocks) {
  std::vector<std::byte> out(8 + blocks * 4 + 512 * 4);
  store_le(out.data(), static_cast<std::uint32_t>(blocks)), store_le(out.data() + 4, std::uint32_t{512});
  for (std::size_t b = 0; b < blocks; ++b) store_le(out.data() + 8 + b * 4, static_cast<float>(b + 1));
  for (std::size_t i = 0; i < blocks * 16; ++i) out[8 + blocks * 4 + i] = std::byte{0x21};  // codes 1 and 2
  return out;
}

// A swiglu whose matrices are blocks of Q4_0 and whose biases follow apart.
std::vector<std::byte> swiglu_in_q4_0(std::size_t width, std::size_t hidden) {
  const std::size_t blocks = (width * hidden + 31) / 32;
  const std::vector<std::byte> matrix = q4_0_blob(blocks);
  std::vector<std::byte> payload;
  std::string blobs;
  const auto add = [&](std::string_view path, std::string_view dtype, const std::vector<std::byte>& bytes) {
    blobs += fmt::format(R"({}{{"path":"layers.0.{}","offset":{},"length":{},"dtype":"{}","native":{}}})",
                         blobs.empty() ? "" : ",", path, payload.size(), bytes.size(), dtype, dtype == "Q4_0");
    payload.insert(payload.end(), bytes.begin(), bytes.end());
  };
  for (const char* path : {"q4_0.100", "q4_0.101", "q4_0.102"}) add(path, "Q4_0", matrix);
  std::vector<std::byte> biases((2 * hidden + width) * 4);
  for (std::size_t i = 0; i < biases.size() / 4; ++i) store_le(biases.data() + i * 4, static_cast<float>(i));
  add("biases", "float32", biases);
  return container(
      fmt::format(
          R"({{"format_version":1,"network":{{"id":"network","depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[
          {{"z":0,"y":0,"x":0,"l":0,"type":"SwiGLU","activation":"Silu","dtype":"int4","input_height":{},
          "output_height":{},"softmax_type":"Standard"}}]}},"blobs":[{}]}})",
          width, hidden, blobs),
      payload);
}

TEST(Loom08, layers_in_q4_0) {  // D-41, F-22
  auto read = load("old.entity", swiglu_in_q4_0(32, 64));
  ASSERT_TRUE(read) << read.error().text();
  std::string types;
  read->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    types += fmt::format("{} {} ", w.name(), name(w.quantized()->dtype));
    std::vector<float> values(w.elements());
    w.decode(0, values.size(), values.data());
    if (w.role() != WeightRole::Matrix) return;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], static_cast<float>((i % 2 + 1) * (i / 32 + 1))) << w.name() << " " << i;
  });
  EXPECT_EQ(types,
            "gate.weight int4 up.weight int4 down.weight int4 gate.bias float32 up.bias float32 down.bias float32 ");
  std::vector<float> biases;
  read->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (w.role() == WeightRole::Vector) biases.push_back(w.master()[0]);
  });
  EXPECT_EQ(biases, (std::vector<float>{0, 64, 128}));

  // 48 columns hold a block and a half: the layer keeps the decoded values
  read = load("old.entity", swiglu_in_q4_0(48, 64));
  ASSERT_TRUE(read) << read.error().text();
  read->network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    EXPECT_EQ(w.dtype(), DType::float32);
    if (w.role() == WeightRole::Matrix) {
      EXPECT_EQ(w.master()[33], 4.0f);
    }
  });
}

Code code_of_header(std::string_view header, std::size_t payload = 24) {
  const auto read = network_from_entity(container(header, std::vector<std::byte>(payload)));
  return read ? Code{} : read.error().code;
}

constexpr std::string_view kNetwork =
    R"("network":{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":0,"y":0,"x":0,"l":0,"type":"Dense",
    "dtype":"float32","input_height":3,"output_height":2}]})";

std::string with_blobs(std::string_view blobs) { return fmt::format("{{{},\"blobs\":[{}]}}", kNetwork, blobs); }
std::string blob(std::string_view path, std::int64_t offset, std::int64_t length) {
  return fmt::format(R"({{"path":"{}","offset":{},"length":{},"dtype":"float32","scale":1,"native":true}})", path,
                     offset, length);
}

TEST(Loom08, containers_are_checked) {  // F-20, F-22
  ASSERT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24))), Code{});
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24) + "," + blob("bridge.dense.0.biases", 24, 8)), 32),
            Code{});
  EXPECT_EQ(code_of_header(with_blobs("")), Code::NotFound);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24)), 23), Code::CorruptData);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 1, 24))), Code::CorruptData);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", -1, 24))), Code::CorruptData);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0x7fffffffffffffff, 0x7fffffffffffffff))), Code::CorruptData);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 20))), Code::CorruptData);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24) + "," + blob("layers.0", 24, 24)), 48), Code::CorruptData)
      << "twice";
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24) + "," + blob("bridge.dense.0.biases", 20, 8)), 32),
            Code::CorruptData)
      << "overlap";
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24) + "," + blob("layers.1", 24, 4)), 28), Code::NotFound);
  EXPECT_EQ(code_of_header(with_blobs(blob("layers.0", 0, 24) + "," + blob("layers.0.inner_norm", 24, 4)), 28),
            Code::CorruptData);
  for (const char* path : {"", "layers", "layers.", "layers.x", "layers.-1", "layers.00", "layer.0", "layers.0.weight",
                           "layers.0.q4_0", "layers.0.q4_0.7", "layers.0.bitnet_ternary.10000", "transformer.lm_head"})
    EXPECT_EQ(code_of_header(with_blobs(blob(path, 0, 24))), Code::Unsupported) << path;
  EXPECT_EQ(code_of_header("{}"), Code::CorruptData);
  EXPECT_EQ(code_of_header("[]"), Code::CorruptData);
  EXPECT_EQ(code_of_header(fmt::format("{{{},\"blobs\":3}}", kNetwork)), Code::CorruptData);
  EXPECT_EQ(code_of_header(fmt::format(R"({{{},"transformer":{{}},"blobs":[]}})", kNetwork)), Code::Unsupported);
  auto flagged = container(with_blobs(blob("layers.0", 0, 24)), std::vector<std::byte>(24));
  flagged[10] = std::byte{1};
  EXPECT_EQ(network_from_entity(flagged).error().code, Code::Unsupported);
  auto endless = container("{}", {});
  store_le(endless.data() + 12, ~std::uint64_t{0});
  EXPECT_EQ(network_from_entity(endless).error().code, Code::CorruptData);
}

// A few bytes may announce a network of any size: nothing is allocated before the sizes were compared.
TEST(Loom08, announced_sizes_take_no_memory) {  // F-01
  const std::string huge =
      R"({"network":{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":0,"y":0,"x":0,"l":0,"type":"Dense",
      "dtype":"int8","input_height":100000,"output_height":100000}]},"blobs":[
      {"path":"layers.0","offset":0,"length":24,"dtype":"int8","scale":1,"native":true}]})";
  const std::size_t before = allocated_bytes();
  EXPECT_EQ(code_of_header(huge), Code::CorruptData);
  EXPECT_LE(allocated_bytes() - before, std::size_t{1} << 20);
}

TEST(Loom08, survives_damage) {  // F-01
  const Json c = case_of("parallel_add");
  const auto entity = entity_of(c);
  expect_survives_damage(entity, entity.size() - 24, 40, [](std::span<const std::byte> bytes) {
    return is_entity(bytes) && network_from_entity(bytes).has_value();
  });
  const auto text = std::as_bytes(std::span(*as_string(c["checkpoint"])));
  expect_survives_damage({text.begin(), text.end()}, text.size(), 40, [](std::span<const std::byte> bytes) {
    auto document = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return document && is_checkpoint(*document) && network_from_checkpoint(std::move(*document)).has_value();
  });
}

// A child that 0.8x saved without its link has no sizes and stays an error.
TEST(Loom08, a_lost_link_is_an_error) {  // G-08
  Json document = parse_json(*as_string(case_of("parallel")["checkpoint"])).value();
  Json& branch = document["layers"][0]["parallel_branches"][1];
  for (const char* key : {"weights", "input_height", "output_height"}) branch.erase(key);
  const auto read = network_from_checkpoint(std::move(document));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("/layers/0/parallel_branches/1/in_features"), std::string::npos);
}

}  // namespace
}  // namespace loom::loom08::loom08_test
