#include "io/bare_network.h"

#include <cmath>
#include <numbers>

#include "core/json.h"
#include "network/session/network_session.h"
#include "support/files.h"

namespace loom::bare_network_test {
namespace {

std::string golden(const std::string& name) { return test::source_path("tests/golden/bare/" + name); }

Result<BareNetwork> made(const std::string& file, const Json& hints) {
  LOOM_TRY(std::vector<BareTensor> tensors, read_bare_tensors(file));
  return network_from_bare(std::move(tensors), hints);
}

// A network with the session that runs it; the answer of a call.
struct Running {
  BareNetwork bare;
  std::unique_ptr<NetworkSession> session;

  static std::unique_ptr<Running> of(Result<BareNetwork> bare, const Shape& input) {
    if (!bare) {
      ADD_FAILURE() << bare.error().text();
      return nullptr;
    }
    auto running = std::make_unique<Running>(Running{std::move(*bare), nullptr});
    running->session = NetworkSession::create(running->bare.network, input, {.threads = 1}).value();
    return running;
  }
  std::vector<float> operator()(const std::vector<float>& x, const Shape& shape) {
    const auto y = session->forward({x.data(), shape});
    EXPECT_TRUE(y) << y.error().text();
    return y ? std::vector<float>(y->as(), y->as() + y->shape.elements()) : std::vector<float>{};
  }
};

Shape shape_of(const Json& list) {
  std::vector<std::size_t> extents;
  for (const Json& d : list) extents.push_back(static_cast<std::size_t>(*as_int(d)));
  return Shape::create(extents).value();
}

TEST(BareNetwork, state_dicts_of_torch_give_its_answers) {  // F-50
  const Json cases = test::read_json(golden("cases.json"));
  ASSERT_EQ(cases["cases"].size(), 9u);
  for (const Json& one : cases["cases"]) {
    const std::string name = *as_string(one["name"]);
    SCOPED_TRACE(name);
    const Shape shape = shape_of(one["x_shape"]);
    const auto network = Running::of(made(golden(name + ".safetensors"), one["hints"]), shape);
    ASSERT_NE(network, nullptr);
    std::vector<float> x;
    for (const double v : test::numbers_of(one["x"])) x.push_back(static_cast<float>(v));
    const std::vector<float> y = (*network)(x, shape);
    const std::vector<double> wanted = test::numbers_of(one["y"]);
    ASSERT_EQ(y.size(), wanted.size());
    // f32 sums in another order
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(static_cast<double>(y[i]), wanted[i], 2e-6) << i;
  }
}

TEST(BareNetwork, the_report_says_what_became_of_every_tensor) {  // F-51
  const auto network =
      made(golden("conv.safetensors"), parse_json(R"({"layers":[{"tensors":"0","groups":2},{"tensors":"1"},
           {"tensors":"3","type":"convtransposed2","groups":2}]})")
                                           .value());
  ASSERT_TRUE(network) << network.error().text();
  std::map<std::string, std::string> places;
  for (const TensorReport& t : network->report.tensors)
    places[t.name] = t.reason.empty() ? fmt::format("{}", fmt::join(t.paths, ",")) : "(" + t.reason + ")";
  EXPECT_EQ(places.size(), 9u);
  EXPECT_EQ(places["0.weight"], "layers.0.weight");
  EXPECT_EQ(places["1.running_var"], "layers.1.running_var");
  EXPECT_EQ(places["1.num_batches_tracked"], "(a count that only training reads)");
  EXPECT_EQ(places["3.bias"], "layers.2.bias");
}

TEST(BareNetwork, what_has_no_place_or_no_tensor_is_an_error_that_names_it) {  // F-51
  const auto message = [](const std::string& file, const std::string& hints) {
    const auto network = made(golden(file), parse_json(hints).value());
    return network ? std::string("no error") : network.error().text();
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(message("mlp.safetensors", R"({"layers":[{"tensors":"0"}]})"), "2.bias");
  expect(message("mlp.safetensors", R"({"layers":[{"tensors":"4"}]})"), "no module \"4\"");
  expect(message("mlp.safetensors", R"({"ignore":["head."]})"), "\"head.\"");
  expect(message("mlp.safetensors", R"({"rename":{"model.":""}})"), "\"model.\"");
  expect(message("mlp.safetensors", R"({"rename":{"0.":"2."}})"), "two tensors come to this name");
  expect(
      message("mlp.safetensors", R"({"layers":[{"tensors":"0","output_height":9},{"tensors":"2"},{"tensors":"3"}]})"),
      "0.weight: shape [8, 6]");
  expect(
      message(
          "mlp.safetensors",
          R"({"layers":[{"tensors":"0"},{"tensors":"2"},{"tensors":"3"},{"type":"dense","input_height":3,"output_height":3}]})"),
      "layers.3.weight: no tensor");
  expect(message("mlp.safetensors", R"({"layers":[{"tensors":"0"},{"tensors":"0"},{"tensors":"2"},{"tensors":"3"}]})"),
         "no error");  // one tensor may be two layers' weights
  expect(message("attention.safetensors", "null"), "num_heads");
  expect(message("mlp.safetensors", R"({"layers":{}})"), "a list expected");
  expect(message("mlp.safetensors", "[]"), "an object expected");
}

TEST(BareNetwork, the_same_tensor_is_no_weight_twice) {  // F-51
  auto tensors = read_bare_tensors(golden("mlp.safetensors"));
  ASSERT_TRUE(tensors);
  auto spec = network_from_json(R"({"layers":[{"type":"dense","input_height":6,"output_height":8}]})");
  ASSERT_TRUE(spec);
  const std::vector<Mount> twice{{"0.weight", "layers.0.weight"}, {"0.weight", "layers.0.weight"}};
  const auto report = mount_tensors(spec->network, *tensors, twice, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::InvalidArgument);
}

// A vowel of 120 Hz with three formants for samples 1024 to 5119 (voice() in tools/golden/plain_weights.py).
double voice(std::size_t t) {
  if (t < 1024 || t >= 5120) return 0;
  constexpr std::array<std::pair<double, double>, 3> kFormants = {{{700, 130}, {1220, 150}, {2600, 200}}};
  double sum = 0;
  for (int harmonic = 1; harmonic < 30; ++harmonic) {
    const double f = 120.0 * harmonic;
    double gain = 0.02;
    for (const auto& [centre, width] : kFormants) gain += std::exp(-std::pow((f - centre) / width, 2));
    sum += gain * std::sin(2 * std::numbers::pi * f * static_cast<double>(t) / 16000.0);
  }
  return 0.15 * sum;
}

Json example(const std::string& name) { return test::read_json(test::source_path("examples/hints/" + name)); }

// Silero's network reads the magnitudes of a Fourier transform: one network computes real and imaginary parts, the test
// takes the roots, and another network, which has a state, finds the voice.
TEST(BareNetwork, silero_from_plain_weights_hears_what_torch_hears) {  // F-50
  const std::string weights = test::data_path("vad/silero_vad_16k.safetensors");
  const auto stft = Running::of(made(weights, example("silero_stft.json")), Shape::of({1, 1, 640}));
  const auto vad = Running::of(made(weights, example("silero_vad.json")), Shape::of({1, 129, 4}));
  ASSERT_TRUE(stft != nullptr && vad != nullptr);
  const Json wanted = test::read_json(golden("silero.json"))["probabilities"];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::vector<float> chunk;  // 64 samples of the chunk before, 512 new ones, 64 mirrored
    for (std::size_t t = 0; t < 576; ++t)
      chunk.push_back(i == 0 && t < 64 ? 0.0f : static_cast<float>(voice(512 * i + t - 64)));
    for (std::size_t t = 0; t < 64; ++t) chunk.push_back(chunk[574 - t]);
    const std::vector<float> parts = (*stft)(chunk, Shape::of({1, 1, 640}));
    ASSERT_EQ(parts.size(), 258u * 4);
    std::vector<float> sizes(std::size_t{129} * 4);
    for (std::size_t k = 0; k < sizes.size(); ++k) sizes[k] = std::hypot(parts[k], parts[k + sizes.size()]);
    const std::vector<float> probability = (*vad)(sizes, Shape::of({1, 129, 4}));
    ASSERT_EQ(probability.size(), 1u);
    EXPECT_NEAR(static_cast<double>(probability[0]), *as_number(wanted[i]), 2e-6) << "chunk " << i;
  }
}

// The greedy phonemes of a word: the encoder's last state is where the decoder begins.
std::vector<std::string> phonemes_of(const std::string& word, Running& encoder, Running& decoder, const Json& names) {
  std::vector<float> letters;
  for (const char c : word) letters.push_back(static_cast<float>(c - 'a' + 3));
  letters.push_back(2);
  const std::vector<float> last = encoder(letters, Shape::of({1, letters.size()}));
  EXPECT_TRUE(decoder.session->prepare(Shape::of({1, 1})));
  decoder.session->reset();
  EXPECT_TRUE(decoder.session->set_state(0, {last.data(), Shape::of({1, 1, last.size()})}));
  std::vector<std::string> out;
  float phoneme = 2;
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> logits = decoder({phoneme}, Shape::of({1, 1}));
    const auto best = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
    if (best == 3) break;
    out.push_back(*as_string(names[best]));
    phoneme = static_cast<float>(best);
  }
  return out;
}

TEST(BareNetwork, g2p_en_from_an_npz_says_what_the_package_says) {  // F-50
  const std::string weights = test::data_path("rnn/g2p_en_gru.npz");
  const auto encoder = Running::of(made(weights, example("g2p_encoder.json")), Shape::of({1, 5}));
  const auto decoder = Running::of(made(weights, example("g2p_decoder.json")), Shape::of({1, 1}));
  ASSERT_TRUE(encoder != nullptr && decoder != nullptr);
  const Json wanted = test::read_json(golden("g2p.json"));
  ASSERT_EQ(wanted["words"].size(), 9u);
  for (const auto& [word, phonemes] : wanted["words"].items()) {
    std::vector<std::string> expected;
    for (const Json& p : phonemes) expected.push_back(*as_string(p));
    EXPECT_EQ(phonemes_of(word, *encoder, *decoder, wanted["phonemes"]), expected) << word;
  }
}

}  // namespace
}  // namespace loom::bare_network_test
