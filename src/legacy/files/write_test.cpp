#include "legacy/files/write.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base64.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "dtypes/packing.h"
#include "io/byte_reader.h"
#include "io/hostile_test.h"
#include "io/network_file.h"
#include "network/session/network_session.h"
#include "support/paths.h"

namespace loom::loom08::write_test {
namespace {

Json goldens(const char* name) {
  return parse_json(read_text_file(test::source_path(std::string("tests/golden/") + name)).value()).value();
}

std::vector<std::byte> entity_of(const Json& c) { return base64_decode(*as_string(c["entity"])).value(); }

Json header_of(std::span<const std::byte> bytes) {
  const auto length = static_cast<std::size_t>(load_le<std::uint64_t>(bytes.data() + 12));
  return parse_json(as_text(bytes.subspan(20, length))).value();
}

// {path: {dtype, native, scale, bytes}}
Json blobs_of(std::span<const std::byte> bytes) {
  const Json header = header_of(bytes);
  const auto payload = bytes.subspan(20 + static_cast<std::size_t>(load_le<std::uint64_t>(bytes.data() + 12)));
  Json out = Json::object();
  for (Json blob : header["blobs"]) {
    const auto part = payload.subspan(static_cast<std::size_t>(*as_int(blob["offset"])),
                                      static_cast<std::size_t>(*as_int(blob["length"])));
    blob["bytes"] = base64_encode(part);
    blob.erase("offset");
    if (!has_scales(dtype_from_name(*as_string(blob["dtype"])).value())) blob.erase("scale");
    out[*as_string(blob["path"])] = blob;
  }
  return out;
}

// Activations that no kind reads, and the lengths of the lists that 0.8x leaves at 1.
Json without_unread(Json layer) {
  const std::string kind = *as_string(layer["type"]);
  if (kind != "Dense" && !kind.starts_with("C")) layer.erase("activation");
  if (kind != "RNN" && kind != "LSTM") layer.erase("seq_length");
  if (kind == "RMSNorm") layer.erase("dtype");  // its blob is float32 whatever dtype says
  if (kind == "MultiHeadAttention" || kind == "Residual") layer.erase("input_height"), layer.erase("output_height");
  if (find(layer, "combine_mode") && *as_string(layer["combine_mode"]) == "grid_scatter")
    layer["combine_mode"] = "concat";
  if (find(layer, "padding") && as_int(layer["padding"]) == 0) layer.erase("padding");
  for (const char* key : {"sequential_layers", "parallel_branches"})
    if (find(layer, key))
      for (Json& child : layer[key]) child = without_unread(child);
  return layer;
}

Json sorted(const Json& json) { return parse_json(dump_canonical(json).value()).value(); }

Result<Network> network_of(std::string_view layers, std::string_view more = "") {
  LOOM_TRY(SpecResult made,
           network_from_json(fmt::format(
               R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"seed":3{},"layers":[{}]}})", more, layers)));
  return std::move(made.network);
}

TEST(WriteLoom08, networks_of_0_8x_are_written_as_it_wrote_them) {  // F-24
  for (const Json& c : goldens("loom08.json")) {
    SCOPED_TRACE(*as_string(c["name"]));
    const std::vector<std::byte> old = entity_of(c);
    const Network network = loom::network_from_entity(old).value().network;
    const auto written = write_entity(network, {.allow_loss = true});
    ASSERT_TRUE(written) << written.error().text();
    for (const std::string& loss : written->losses) ADD_FAILURE() << loss;
    EXPECT_EQ(written->bytes, write_entity(network).value().bytes);
    const Json ours = header_of(written->bytes), theirs = header_of(old);
    ASSERT_EQ(ours["network"]["layers"].size(), theirs["network"]["layers"].size());
    for (std::size_t i = 0; i < theirs["network"]["layers"].size(); ++i)
      EXPECT_EQ(dump_canonical(without_unread(ours["network"]["layers"][i])).value(),
                dump_canonical(without_unread(theirs["network"]["layers"][i])).value());
    EXPECT_EQ(sorted(blobs_of(written->bytes)), sorted(blobs_of(old)));
  }
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& v : list) out.push_back(as_number(v).value());
  return out;
}

// As in loom08_test.cpp: 0.8x multiplies decoded weights in other orders of sums and prints seven digits; the test
// decodes types of few bits too, since 0.8x does not round inputs.
TEST(WriteLoom08, loom_0_8x_computes_the_same_from_what_is_written) {  // F-24
  for (const Json& c : goldens("loom08_written.json")) {
    SCOPED_TRACE(*as_string(c["name"]));
    Network network = network_from_json(c["spec"]).value().network;
    const auto written = write_entity(network, {.allow_loss = true});
    ASSERT_TRUE(written) << written.error().text();
    Sha256 hash;
    hash.update(written->bytes);
    EXPECT_EQ(to_hex(hash.finish()), *as_string(c["sha256"]));
    // Without one scale for all of a layer the file holds floats, with which 0.8x computes.
    const bool is_native = *as_bool(header_of(written->bytes)["blobs"][0]["native"]);
    network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      if (is_native) w.release_master();
      ASSERT_TRUE(w.ensure_master());
    });
    ASSERT_TRUE(network.morph_all(DType::float32));
    std::vector<std::size_t> extents;
    for (const double extent : numbers(c["shape"])) extents.push_back(static_cast<std::size_t>(extent));
    const Shape shape = Shape::create(extents).value();
    const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false}).value();
    const std::vector<double> given = numbers(c["input"]), expected = numbers(c["output"]);
    const std::vector<float> x(given.begin(), given.end());
    const auto y = session->forward({x.data(), shape});
    ASSERT_TRUE(y) << y.error().text();
    ASSERT_EQ(y->shape.elements(), expected.size());
    double largest = 0;
    for (const double v : expected) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(static_cast<double>(y->as()[i]), expected[i], 2e-6 * largest) << i;
  }
}

TEST(WriteLoom08, what_version_1_cannot_hold_stands_beside_it) {  // F-24
  // Scales by row, in a type whose estimates come back from the floats: nothing is lost.
  const auto same = write_entity(
      *network_of(R"({"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":40,"output_height":5,"dtype":"int8"})"));
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->losses.empty());
  EXPECT_EQ(blobs_of(same->bytes)["layers.0"]["native"], false);
  // Codes without the floats that they were made of, whose scales come from elsewhere.
  Network frozen =
      *network_of(R"({"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":2,"output_height":2,"dtype":"int8"})");
  frozen.visit_weights([](const std::string&, Weight& w, Layer& layer) {
    QuantizedMatrix q = *w.quantized();
    for (std::size_t i = 0; i < q.codes.size(); ++i) q.codes[i] = static_cast<std::byte>(i + 1);
    q.scales = {0.5, 0.25};
    ASSERT_TRUE(w.restore(q, layer.common.encoding));
  });
  const auto written = write_entity(frozen);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_TRUE(written->losses.empty());
  EXPECT_EQ(header_of(written->bytes)["ext"], Json({{"tensors", "network.ext.tensors"}}));
  EXPECT_EQ(blobs_of(written->bytes)["layers.0"]["native"], false) << "what 0.8x computes with";
  const auto back = loom::network_from_entity(written->bytes);
  ASSERT_TRUE(back) << back.error().text();
  back->network.visit_weights([](const std::string&, const Weight& w, const Layer&) {
    const QuantizedMatrix q = *w.quantized();
    EXPECT_EQ(q.codes, (std::vector{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
    EXPECT_EQ(q.scales, (std::vector{0.5, 0.25}));
    EXPECT_FALSE(w.has_master());
  });
  EXPECT_EQ(write_entity(back->network).value().bytes, written->bytes);
  EXPECT_FALSE(header_of(same->bytes).contains("ext"));
}

// Codes of every type under scales and zero points that nobody estimates, in cells and inside a container: all come
// back as they were, masters too.
TEST(WriteLoom08, weights_of_every_type_come_back_bit_for_bit) {  // F-24, F-04
  for (std::size_t i = 0; i < kNumTypes; ++i) {
    const DType dtype = kDTypes[i].dtype;
    SCOPED_TRACE(name(dtype));
    const std::string cell =
        fmt::format(R"("type":"dense","input_height":64,"output_height":64,"dtype":"{}")", name(dtype));
    Network network = *network_of(fmt::format(
        R"({{"z":0,"y":0,"x":0,"l":0,"type":"sequential","sequential_layers":[{{{0}}},{{{0}}},{{{0}}}]}})", cell));
    int turn = 0;
    network.visit_weights([&](const std::string&, Weight& w, Layer& layer) {
      if (++turn == 2) return;  // one as it was
      QuantizedMatrix q = *w.quantized();
      for (std::size_t i = 0; i < q.scales.size(); ++i) q.scales[i] = 0.25 + 0.5 * static_cast<double>(i);
      for (std::size_t i = 0; i < q.zero_points.size(); ++i) q.zero_points[i] = static_cast<std::int64_t>(i % 2);
      ASSERT_TRUE(w.restore(q, layer.common.encoding));
    });
    const auto written = write_entity(network);
    ASSERT_TRUE(written) << written.error().text();
    const auto back = loom::network_from_entity(written->bytes);
    ASSERT_TRUE(back) << back.error().text();
    back->network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
      network.visit_weights([&](const std::string& other, const Weight& wanted, const Layer&) {
        if (other == path) {
          EXPECT_EQ(dequantize(*w.quantized()), dequantize(*wanted.quantized())) << path;
        }
      });
    });
  }
}

// The codes beside are hashed: a changed byte is refused, wherever it is, and so are tensors of no weight.
TEST(WriteLoom08, damage_beside_is_refused) {  // F-24, F-01
  Network frozen =
      *network_of(R"({"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":2,"output_height":2,"dtype":"int8"})");
  frozen.visit_weights([](const std::string&, Weight& w, Layer& layer) {
    QuantizedMatrix q = *w.quantized();
    for (std::size_t i = 0; i < q.codes.size(); ++i) q.codes[i] = static_cast<std::byte>(i + 1);
    q.scales = {0.5, 0.25};
    ASSERT_TRUE(w.restore(q, layer.common.encoding));
  });
  const std::vector<std::byte> bytes = write_entity(frozen).value().bytes;
  const Json blob = blobs_of(bytes)["network.ext.tensors"];
  ASSERT_TRUE(blob.is_object());
  const auto length = static_cast<std::size_t>(*as_int(blob["length"]));
  for (std::size_t i = bytes.size() - length; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{4};
    EXPECT_FALSE(loom::network_from_entity(damaged)) << "byte " << i;
  }
}

// The ones of a fresh rmsnorm are -2 times -0.5 in int2, a scale that no file of 0.8x has.
TEST(WriteLoom08, codes_of_a_scale_below_zero_are_written_as_floats) {  // F-24
  const Network network = *network_of(R"({"z":0,"y":0,"x":0,"l":0,"type":"rmsnorm","input_height":32,"dtype":"int2"})");
  const auto written = write_entity(network);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_FALSE(*as_bool(blobs_of(written->bytes)["layers.0"]["native"]));
  const Network back = loom::network_from_entity(written->bytes).value().network;
  const auto gains = [](const Network& of) {
    std::vector<float> values(32);
    of.visit_weights([&](const std::string&, const Weight& w, const Layer&) { w.decode(0, 32, values.data()); });
    return values;
  };
  EXPECT_EQ(gains(network), std::vector<float>(32, 1.0f));
  EXPECT_EQ(gains(back), gains(network));
}

TEST(WriteLoom08, a_bias_that_0_8x_passes_over_is_a_loss) {  // F-24
  const Network network = *network_of(R"({"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":2,"output_height":2,
      "bias":true,"weights":{"weight":[1,0,0,1],"bias":[10,20]}})");
  const auto refused = write_entity(network);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::LossySave);
  const auto allowed = write_entity(network, {.allow_loss = true});
  ASSERT_TRUE(allowed) << allowed.error().text();
  const Network back = loom::network_from_entity(allowed->bytes).value().network;
  back.visit_weights([](const std::string& path, const Weight& w, const Layer&) {
    EXPECT_EQ(w.master()[1], path == "layers.0.bias" ? 20.0f : 0.0f);
  });
}

TEST(WriteLoom08, what_0_8x_does_not_have_is_refused_with_its_place) {  // F-43
  const auto refusal = [](std::string_view layer, std::string_view more = "") {
    const auto network = network_of(layer, more);
    if (!network) return "no network: " + network.error().text();
    const auto written = write_entity(*network, {.allow_loss = true});
    if (written) return std::string("written");
    EXPECT_EQ(written.error().code, Code::Unsupported) << written.error().text();
    return written.error().text();
  };
  const auto layer = [](std::string_view keys) { return fmt::format(R"({{"z":0,"y":0,"x":0,"l":0,{}}})", keys); };
  const auto expect = [&](std::string_view keys, std::string_view place, std::string_view more = "") {
    const std::string text = refusal(layer(keys), more);
    EXPECT_TRUE(text.starts_with(place)) << keys << ": " << text;
  };
  expect(R"("type":"gru","input_height":2,"output_height":2)", "/layers/0/type: Loom 0.8x has no \"gru\"");
  expect(R"("type":"dense","input_height":2,"output_height":2,"activation":"mish")", "/layers/0/activation");
  expect(R"("type":"dense","input_height":2,"output_height":2,"is_disabled":true)", "/layers/0/is_disabled");
  expect(R"("type":"sequential","residual":true,"sequential_layers":[])", "/layers/0/residual");
  expect(R"("type":"sequential","sequential_layers":[{"type":"dense","input_height":2,"output_height":2,"bias":true}])",
         "/layers/0/sequential_layers/0/bias");
  expect(R"("type":"rnn","input_height":2,"output_height":2)", "/layers/0/seq_length");
  expect(R"("type":"softmax","softmax_type":"mixture","mixture_count":2,"input_height":4)", "/layers/0/softmax_type");
  expect(R"("type":"cnn1","input_height":4,"kernel_size":3,"dilation":2)", "/layers/0/dilation");
  expect(R"("type":"parallel","parallel_branches":[{"type":"dense","input_height":2,"output_height":2}])",
         "/layers/0/flatten");
  expect(R"("type":"residual")", "/layers/0/skip_from");
  expect(R"("type":"dense","input_height":2,"output_height":2)", "/activations", R"(,"activations":"float64")");
}

TEST(WriteLoom08, biases_of_attention_are_there_and_those_of_dense_have_their_blob) {  // F-24
  for (const char* keys :
       {R"("type":"mha","d_model":8,"num_heads":2)", R"("type":"mha","d_model":8,"num_heads":2,"qkv_bias":true)",
        R"("type":"mha","d_model":8,"num_heads":2,"qkv_bias":true,"out_bias":true,"qk_norm":"head")",
        R"("type":"mha","d_model":8,"num_heads":2,"dtype":"bfloat16","qk_norm":"full")",
        R"("type":"swiglu","input_height":4,"output_height":6,"dtype":"int4")",
        R"("type":"dense","input_height":4,"output_height":6,"bias":true,"dtype":"float64")"}) {
    const auto network = network_of(fmt::format(R"({{"z":0,"y":0,"x":0,"l":0,{}}})", keys));
    ASSERT_TRUE(network) << network.error().text();
    const auto written = write_entity(*network);
    ASSERT_TRUE(written) << keys << ": " << written.error().text();
    EXPECT_TRUE(written->losses.empty());
  }
}

}  // namespace
}  // namespace loom::loom08::write_test
