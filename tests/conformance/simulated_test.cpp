// The law of engine D-35: every kind in every type gives, packed, the bits of a plain simulation. The simulation runs
// the same layers with other kernels for products: plain loops (support/plain_product.h) over codes, scales and zero
// points that quantize() makes of the masters, and that never were in a panel. Operations that read weights as
// values (embeddings, norms, distances, gradients of inputs) are compared with the same plain numbers.

#include <gtest/gtest.h>

#include <map>

#include "core/fp_environment.h"
#include "core/json.h"
#include "verify/golden_layers.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "ops/all.h"
#include "ops/matmul/matmul.h"
#include "support/plain_product.h"

namespace loom {
namespace {

struct PlainPart {
  test::PlainMatrix weight;
  test::InputWay way;
  std::size_t first_row = 0;  // of the part in the weight
};
using PlainParts = std::map<const Matrix*, PlainPart>;

const PlainParts* simulated_parts = nullptr;  // of the network that runs
std::size_t simulated_products = 0;

void simulated_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  const auto found = simulated_parts->find(task.weight);
  if (found == simulated_parts->end()) return ADD_FAILURE() << "a product with a matrix that is no weight", void();
  const PlainPart& part = found->second;
  const std::size_t outputs = task.weight->rows(), begin = first * kPanelRows,
                    end = std::min(last * kPanelRows, outputs);
  test::InputWay way = part.way;
  if (task.quantized != nullptr) way.floor = task.quantized->floor;
  for (std::size_t row = 0; row < task.rows; ++row) {
    const std::vector<float> y =
        test::plain_product(part.weight, part.first_row + begin, part.first_row + end, task.x + row * task.cols, way);
    for (std::size_t o = begin; o < end; ++o)
      task.y[row * outputs + o] = task.bias != nullptr ? snapped(y[o - begin] + task.bias[o]) : y[o - begin];
  }
  ++simulated_products;
}

// Panels are never looked at, so inputs need no codes.
void no_codes(const float* /*x*/, std::size_t /*cols*/, std::size_t /*row*/, const QuantizedRows& /*out*/) {}

const KernelTable& simulated_kernels() {
  static const MatmulKernels products = [] {
    MatmulKernels plain{.panels = {},
                        .prefers_words = false,
                        .takes_pairs = false,
                        .tile_rows = 0,
                        .tile_panels = 1,
                        .scratch_bytes = 0,
                        .quantize_row = no_codes};
    for (PanelKernel& kernel : plain.panels) kernel = simulated_panels;
    return plain;
  }();
  static const KernelTable table = with_products(**kernels_for(usable_isas().front()), products);
  return table;
}

// Puts these keys into every layer of a spec, children included.
void set_keys(Json& spec, const Json& keys) {
  if (!spec.is_structured()) return;
  for (Json& inner : spec) set_keys(inner, keys);
  if (spec.is_object() && spec.contains("type")) spec.update(keys);
}

std::vector<float> outcome(const GoldenLayer& c, const Network& network, const NetworkSessionOptions& options) {
  const auto session = NetworkSession::create(network, *Shape::create(c.input), options);
  if (!session) return ADD_FAILURE() << session.error().message, std::vector<float>();
  const std::vector<float> x = golden_input(c);
  PassExtras extras;
  extras.training = c.training, extras.step = 3;
  const auto y = (*session)->forward({x.data(), *Shape::create(c.input)}, extras);
  if (!y) return ADD_FAILURE() << y.error().message, std::vector<float>();
  std::vector<float> out(y->as<float>(), y->as<float>() + y->shape.elements()), dy(out.size());
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(static_cast<int>(i * 29 % 31) - 15) / 8;
  const auto dx = (*session)->backward({dy.data(), y->shape});
  if (!dx) return ADD_FAILURE() << dx.error().message, std::vector<float>();
  out.insert(out.end(), dx->as<float>(), dx->as<float>() + dx->shape.elements());
  return out;
}

// Encodes the master of a weight as its type does.
QuantizedMatrix encoded(const Weight& w) {
  const bool is_matrix = w.role() == WeightRole::Matrix;
  const std::size_t rows = is_matrix ? w.rows() : 1;
  const ScaleSpan span = is_matrix ? w.encoding().span : ScaleSpan{Granularity::Tensor};
  if (w.master64().empty()) {
    auto q = quantize(w.dtype(), w.master(), rows, w.elements() / rows, span);
    if (!q) ADD_FAILURE() << q.error().message;
    return std::move(q).value();
  }
  QuantizedMatrix q;
  q.dtype = DType::float64, q.rows = rows, q.cols = w.elements() / rows, q.span = resolved(q.dtype, span);
  const auto bytes = std::as_bytes(w.master64());
  q.codes.assign(bytes.begin(), bytes.end());
  return q;
}

// The plain numbers of every matrix of the network; each weight's own values must be these.
PlainParts plain_parts(const Network& network) {
  PlainParts parts;
  network.visit_weights([&](const std::string& path, Weight& w, const Layer&) {
    const bool is_matrix = w.role() == WeightRole::Matrix;
    if (!w.has_master() || (!is_matrix && w.role() != WeightRole::TypedVector)) return;
    const Encoding& e = w.encoding();
    const QuantizedMatrix q = encoded(w);
    std::vector<float> decoded(w.elements());
    w.decode(0, decoded.size(), decoded.data());
    EXPECT_EQ(decoded, dequantize(q)) << path;
    if (!is_matrix) return;
    PlainPart part{test::plain_matrix(q), {network.settings.quantized_inputs}, 0};
    if (e.activation_quant == ActivationQuant::Row) part.way.scales = PanelScales::ByRow;
    if (e.activation_quant == ActivationQuant::Group) part.way.scales = PanelScales::ByGroup;
    if (e.activation_quant == ActivationQuant::None && info(e.dtype).compute != ComputeClass::F64) {
      part.weight = test::PlainMatrix{ComputeClass::F32,
                                      {Granularity::Tensor},
                                      w.rows(),
                                      w.cols(),
                                      std::vector<double>(decoded.begin(), decoded.end()),
                                      std::vector<double>(decoded.size(), 1.0)};
    }
    for (std::size_t p = 0; p < w.parts(); ++p) {
      part.first_row = p * (w.rows() / w.parts());
      parts[w.matrix(p).get()] = part;
    }
  });
  return parts;
}

void expect_simulated(const GoldenLayer& given, DType dtype, ScaleSpan span, std::string_view way) {
  constexpr std::string_view kGranularities[] = {"auto", "tensor", "row", "group"};
  const std::string granularity(kGranularities[static_cast<std::size_t>(span.granularity)]);
  Json spec = *parse_json(given.spec);
  set_keys(
      spec,
      {{"scale_granularity", granularity}, {"group_size", span.group_size}, {"activation_quant", std::string(way)}});
  const std::string text = dump_json(spec);
  GoldenLayer c = given;
  c.spec = text;
  SCOPED_TRACE(fmt::format("{} {}, scales {} {}, inputs {}", c.name, name(dtype), granularity, span.group_size, way));
  const auto network = golden_network(c, dtype);
  ASSERT_TRUE(network) << network.error().message;
  const FpEnvironment environment;
  const PlainParts parts = plain_parts(*network);
  simulated_parts = &parts;
  const std::vector<float> expected =
      outcome(c, *network, {.threads = 1, .backward = true, .kernels = &simulated_kernels()});
  for (const Isa isa : usable_isas())
    EXPECT_EQ(outcome(c, *network, {.threads = 1, .isa = isa, .backward = true}), expected) << name(isa);
}

TEST(Simulated, every_kind_in_every_type_and_span_gives_the_bits_of_plain_loops) {  // D-35, G-56
  simulated_products = 0;
  for (const GoldenLayer& c : golden_layers())
    for (std::size_t t = 0; t < golden_types(c); ++t)
      for (const ScaleSpan& span : test::spans_of(static_cast<DType>(t)))
        expect_simulated(c, static_cast<DType>(t), span, "auto");
  EXPECT_GT(simulated_products, 5000u);
}

TEST(Simulated, every_kind_in_every_way_of_inputs_gives_the_bits_of_plain_loops) {  // D-34, D-35
  for (const GoldenLayer& c : golden_layers())
    for (std::size_t t = 0; t < golden_types(c); ++t)
      for (const std::string_view way : {"row", "group", "none"})
        if (const auto dtype = static_cast<DType>(t); info(dtype).compute == ComputeClass::Int)
          expect_simulated(c, dtype, {}, way);
}

}  // namespace
}  // namespace loom
