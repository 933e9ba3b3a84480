// Networks of every kind of layer, in every type that a graphics card computes in, give the same bits on the card and
// on the CPU. Layers without kernels for the card are listed, and the list can only become shorter.

#include <set>

#include "verify/golden_layers.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"
#include "support/gpu.h"

namespace loom {
namespace {

// Kinds with an operation that has no form.
const std::set<std::string_view> kNoForm = {};
// Types whose weights, or whose activations, no card computes with.
const std::set<DType> kNoType = {DType::float64, DType::int64, DType::uint64, DType::int32,
                                 DType::uint32,  DType::int16, DType::uint16};

struct Outcome {
  std::vector<std::uint32_t> bits;  // of two calls, the second of which finds the states of the first
  std::optional<Error> error;

  void add(Device* device, const void* data, std::size_t elements) {
    const std::size_t before = bits.size();
    bits.resize(before + elements);
    const std::span to = std::as_writable_bytes(std::span(bits).subspan(before));
    device != nullptr ? device->read(static_cast<const std::byte*>(data), to)
                      : void(std::copy_n(static_cast<const std::byte*>(data), to.size(), to.data()));
  }
};

std::vector<float> seeded(std::uint32_t site, std::size_t n) {
  const RandomStream stream{20261125, RandomDomain::Init, 0, site};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 2 * stream.uniform(i) - 1;
  return v;
}

Outcome run_on(Device* device, const GoldenLayer& layer, DType dtype, bool backward) {
  Outcome out;
  auto network = golden_network(layer, dtype);
  EXPECT_TRUE(network) << network.error().text();
  NetworkSessionOptions options;
  options.threads = 2, options.device = device, options.backward = backward;
  auto session = NetworkSession::create(*network, Shape::create(layer.input).value(), options);
  if (!session) {
    out.error = std::move(session).error();
    return out;
  }
  const auto placed = [&](const std::vector<float>& values) {
    Memory memory = Memory::create(device, values.size() * 4).value();
    memory.write(0, std::as_bytes(std::span(values)));
    return memory;
  };
  const Memory input = placed(golden_input(layer));
  for (std::uint32_t call = 0; call < 2; ++call) {
    PassExtras extras;
    extras.training = layer.training || backward, extras.step = call;
    if (!backward) (*session)->continue_states();
    auto y = (*session)->forward({input.data(), Shape::create(layer.input).value()}, extras);
    if (y) {
      out.add(device, y->data, y->shape.elements());
      if (backward) {
        const Memory dy = placed(seeded(call, y->shape.elements()));
        auto dx = (*session)->backward({dy.data(), y->shape});
        if (dx) {
          out.add(device, dx->data, dx->shape.elements());
          network->visit_weights([&](const std::string&, const Weight& w, const Layer&) {
            if (const void* const g = (*session)->gradients().of(w)) out.add(device, g, w.elements());
          });
        } else {
          out.error = std::move(dx).error();
        }
      }
    } else {
      out.error = std::move(y).error();
    }
    if (device != nullptr)
      if (auto checked = device->check(); !checked && !out.error) out.error = std::move(checked).error();
    if (out.error) return out;
  }
  return out;
}

void expect_the_bits_of_the_cpu(const std::set<std::string_view>& no_form, bool backward) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const GoldenLayer& layer : golden_layers())
    for (const DTypeInfo& type : kDTypes) {
      if (is_block_format(type.dtype) || (!layer.typed && type.dtype != DType::float32)) continue;
      if (kNoType.contains(type.dtype)) continue;
      SCOPED_TRACE(fmt::format("{} {}", layer.name, type.name));
      const Outcome got = run_on(device, layer, type.dtype, backward);
      if (no_form.contains(layer.name)) {
        EXPECT_TRUE(got.error) << "has a form now: off the list";
        continue;
      }
      EXPECT_FALSE(got.error) << got.error->text();
      if (got.error) continue;
      const std::vector<std::uint32_t> wanted = run_on(nullptr, layer, type.dtype, backward).bits;
      ASSERT_EQ(got.bits.size(), wanted.size());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) wrong += got.bits[i] != wanted[i];
      EXPECT_EQ(wrong, 0u) << "of " << wanted.size();
    }
}

TEST(GpuNetworks, every_kind_in_every_type_has_the_bits_of_the_cpu) { expect_the_bits_of_the_cpu(kNoForm, false); }

TEST(GpuNetworks, gradients_of_every_kind_in_every_type_have_the_bits_of_the_cpu) {
  expect_the_bits_of_the_cpu(kNoForm, true);
}

Network network_of(std::string_view spec) {
  auto read = network_from_json(spec);
  EXPECT_TRUE(read) << read.error().text();
  return std::move(read->network);
}

TEST(GpuNetworks, a_step_mesh_that_computes_in_f64_is_refused_by_name) {
  LOOM_NEEDS_GPU_DEVICE(device);
  Network network = network_of(
      R"({"activations":"float64","default_dtype":"float64","layers":[{"type":"dense","input_height":5,"output_height":4}]})");
  ASSERT_TRUE(network.initialise());
  EXPECT_TRUE(StepMesh::create(network, Shape::of({3, 5}), {.threads = 1}));
  const auto mesh = StepMesh::create(network, Shape::of({3, 5}), {.threads = 1, .device = device});
  ASSERT_FALSE(mesh);
  EXPECT_EQ(mesh.error().code, Code::Unsupported);
  EXPECT_NE(mesh.error().text().find("f64"), std::string::npos) << mesh.error().text();
}

// The card records invalid ids; then the pass ends because of the dtype of the layer after the embedding.
TEST(GpuNetworks, a_pass_that_ends_early_leaves_no_error_for_the_next_one) {
  LOOM_NEEDS_GPU_DEVICE(device);
  Network refused = network_of(
      R"({"layers":[{"type":"embedding","vocab_size":7,"embedding_dim":4},
      {"type":"dense","input_height":4,"output_height":3,"dtype":"int32"}]})");
  Network other = network_of(R"({"layers":[{"type":"dense","input_height":3,"output_height":4}]})");
  const Shape ids = Shape::of({2, 3});
  ASSERT_TRUE(refused.initialise() && other.initialise());
  const auto first = NetworkSession::create(refused, ids, {.threads = 1, .device = device}),
             second = NetworkSession::create(other, ids, {.threads = 1, .device = device});
  ASSERT_TRUE(first && second);
  const std::vector<float> none{1, 2, 900, 3, 4, 5}, x{1, 2, 3, 4, 5, 6};
  const auto ended = (*first)->forward_host({none.data(), ids});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::Unsupported) << ended.error().text();
  const auto next = (*second)->forward_host({x.data(), ids});
  EXPECT_TRUE(next) << next.error().text();
}

}  // namespace
}  // namespace loom
