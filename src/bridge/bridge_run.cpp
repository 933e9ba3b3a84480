#include "bridge/bridge_run.h"

#include <algorithm>
#include <map>

#include "network/session/network_session.h"

namespace loom {
namespace {

class CellOutputs final : public PassWatch {
 public:
  CellOutputs(const Network& network, std::span<const std::size_t> cells, BridgeRun& run) : run_(run) {
    for (std::size_t i = 0; i < cells.size(); ++i) index_[network.cell(cells[i]).operation()] = i;
    run_.layers.resize(cells.size());
    run_.shapes.resize(cells.size());
  }
  void begin(PassKind, std::uint64_t, const Wiring&) override {}
  void after_forward(const Layer& layer, const ConstView&, const ConstView& y) override {
    const auto found = index_.find(&layer);
    if (found == index_.end()) return;
    std::vector<double>& to = run_.layers[found->second];
    with_element(y.element, [&]<class T>() { to.assign(y.as<T>(), y.as<T>() + y.shape.elements()); });
    if (const auto shape = Shape::create(y.shape.extents().subspan(1))) run_.shapes[found->second] = *shape;
  }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}

 private:
  std::map<const Layer*, std::size_t> index_;
  BridgeRun& run_;
};

// The samples as the network's elements.
struct Tensors {
  std::vector<float> narrow, narrow_external;
  ConstView x, external;
};

Tensors tensors_of(const Network& network, const BridgeSamples& samples, const Shape& input) {
  Tensors t;
  t.x = {samples.rows.data(), input, Element::f64}, t.external = {samples.external.data(), input, Element::f64};
  if (network.settings.activations == Element::f64) return t;
  const auto narrow = [](const std::vector<double>& from, std::vector<float>& to) {
    to.resize(from.size());
    std::ranges::transform(from, to.begin(), [](double v) { return static_cast<float>(v); });
  };
  narrow(samples.rows, t.narrow);
  narrow(samples.external, t.narrow_external);
  t.x = {t.narrow.data(), input}, t.external = {t.narrow_external.data(), input};
  return t;
}

}  // namespace

Result<BridgeRun> run_samples(Network& network, const BridgeSamples& samples, const BridgeNetwork& bridge,
                              std::span<const std::size_t> cells, const StreamOptions& options) {
  const Shape input = Network::with_batch(bridge.sample, samples.count);
  LOOM_TRY(const auto plan, ForwardPlan::create(network, input));
  std::size_t kept = 0;
  for (const std::size_t cell : cells) kept += plan->shape_after(cell).elements();
  if (kept > options.max_bytes / sizeof(double))
    return fail(Code::OutOfMemory, "the outputs of all layers have {} numbers: without a certificate fewer are kept",
                kept);
  NetworkSessionOptions session_options;
  session_options.threads = options.threads, session_options.isa = options.isa;
  session_options.max_bytes = options.max_bytes;
  LOOM_TRY(const auto session, NetworkSession::create(network, plan, session_options));
  BridgeRun run;
  CellOutputs watch(network, cells, run);
  if (!cells.empty()) session->observe(&watch);
  const Tensors tensors = tensors_of(network, samples, input);
  PassExtras extras;
  if (!samples.external.empty()) extras.external = &tensors.external;
  extras.cancel = options.cancel;
  LOOM_TRY(const ConstView y, session->forward(tensors.x, extras));
  run.width = y.shape.elements() / samples.count;
  with_element(y.element, [&]<class T>() { run.outputs.assign(y.as<T>(), y.as<T>() + y.shape.elements()); });
  return run;
}

}  // namespace loom
