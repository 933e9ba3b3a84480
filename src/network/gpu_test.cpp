// Networks of every kind of layer, in every type that a graphics card computes in, have the bits of the CPU there. What
// has no form yet is listed, and the list can only become shorter.

#include <set>

#include "network/golden.h"
#include "network/network_session.h"
#include "support/gpu.h"

namespace loom {
namespace {

// Kinds with an operation that has no form.
const std::set<std::string_view> kNoForm = {
    "adapters",  "batchnorm",          "batchnorm2", "embedding", "groupnorm", "gru",           "instancenorm",
    "kmeans",    "layernorm",          "lora",       "lora cnn2", "lstm",      "metacognition", "mha",
    "mha plain", "position_embedding", "rnn"};
// Types whose weights, or whose activations, no card computes with.
const std::set<DType> kNoType = {DType::float64, DType::int64, DType::uint64, DType::int32,
                                 DType::uint32,  DType::int16, DType::uint16, DType::fp4};

bool has_no_form(std::string_view layer, DType dtype) {
  if (kNoForm.contains(layer)) return true;
  // Convolutions meet halves as floats, and nothing decodes a whole matrix there yet; the table of rope is the host's.
  if (layer == "parallel concat") return dtype == DType::float32;
  return layer.starts_with("c") && (dtype == DType::float16 || dtype == DType::bfloat16);
}

struct Outcome {
  std::vector<std::uint32_t> bits;  // of two calls, the second of which finds the states of the first
  std::optional<Error> error;
};

Outcome run_on(Device* device, const GoldenLayer& layer, DType dtype) {
  Outcome out;
  auto network = golden_network(layer, dtype);
  EXPECT_TRUE(network) << network.error().text();
  NetworkSessionOptions options;
  options.threads = 2, options.device = device;
  auto session = NetworkSession::create(*network, options);
  if (!session) {
    out.error = std::move(session).error();
    return out;
  }
  const std::vector<float> x = golden_input(layer);
  Memory input = Memory::create(device, x.size() * 4).value();
  input.write(0, std::as_bytes(std::span(x)));
  for (std::uint32_t call = 0; call < 2; ++call) {
    PassExtras extras;
    extras.training = layer.training, extras.step = call;
    (*session)->carry_states();
    auto y = (*session)->forward({input.data(), Shape::create(layer.input).value()}, extras);
    if (!y) {
      out.error = std::move(y).error();
      return out;
    }
    std::vector<std::uint32_t> bits(y->shape.elements());
    const std::span to = std::as_writable_bytes(std::span(bits));
    if (device != nullptr) {
      device->read(static_cast<const std::byte*>(y->data), to);
      if (auto checked = device->check(); !checked) out.error = std::move(checked).error();
    } else {
      std::copy_n(static_cast<const std::byte*>(y->data), to.size(), to.data());
    }
    out.bits.insert(out.bits.end(), bits.begin(), bits.end());
  }
  return out;
}

TEST(GpuNetworks, every_kind_in_every_type_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const GoldenLayer& layer : golden_layers())
    for (const DTypeInfo& type : kDTypes) {
      if (is_block_format(type.dtype) || (!layer.typed && type.dtype != DType::float32)) continue;
      if (kNoType.contains(type.dtype)) continue;
      SCOPED_TRACE(fmt::format("{} {}", layer.name, type.name));
      const Outcome got = run_on(device, layer, type.dtype);
      if (has_no_form(layer.name, type.dtype)) {
        EXPECT_TRUE(got.error) << "has a form now: off the list";
        continue;
      }
      EXPECT_FALSE(got.error) << got.error->text();
      if (!got.error) {
        EXPECT_EQ(got.bits, run_on(nullptr, layer, type.dtype).bits);
      }
    }
}

}  // namespace
}  // namespace loom
