#include "host/run_network.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "core/json.h"
#include "core/philox.h"
#include "host/device.h"

namespace loom {
namespace {

class CellWatch final : public PassWatch {
 public:
  explicit CellWatch(const Network& network) {
    for (std::size_t i = 0; i < network.num_cells(); ++i)
      if (network.cell(i).layer) places_[network.cell(i).layer.get()] = network.place_text(i);
  }
  void begin(PassKind, std::uint64_t, const Wiring&) override { last_ = std::chrono::steady_clock::now(); }
  void after_forward(const Layer& layer, const ConstView&, const ConstView& y) override {
    const auto place = places_.find(&layer);
    if (place == places_.end()) return;
    CellFigures cell{.place = place->second, .kind = std::string(layer.kind()), .shape = y.shape};
    cell.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - last_).count();
    Sha256 hash;
    hash.update(std::span(y.as<std::byte>(), y.shape.elements() * bytes_of(y.element)));
    cell.hash = hash.finish();
    double sum = 0;
    for (std::size_t i = 0; i < y.shape.elements(); ++i) {
      const double v = with_element(y.element, [&]<class T>() { return static_cast<double>(y.as<T>()[i]); });
      cell.least = i == 0 ? v : std::min(cell.least, v), cell.largest = i == 0 ? v : std::max(cell.largest, v);
      sum += v;
    }
    cell.mean = y.shape.elements() == 0 ? 0 : sum / static_cast<double>(y.shape.elements());
    cells.push_back(std::move(cell));
    last_ = std::chrono::steady_clock::now();
  }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}

  std::vector<CellFigures> cells;

 private:
  std::map<const Layer*, std::string> places_;
  std::chrono::steady_clock::time_point last_;
};

template <class T>
Json nested(const T* values, const Shape& shape, std::size_t axis, std::size_t& at) {
  Json list = Json::array();
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    if (axis + 1 < shape.rank()) {
      list.push_back(nested(values, shape, axis + 1, at));
      continue;
    }
    const auto v = static_cast<double>(values[at++]);
    list.push_back(std::isnan(v)   ? Json("NaN")
                   : std::isinf(v) ? Json(v > 0 ? "Infinity" : "-Infinity")
                                   : Json(values[at - 1]));
  }
  return list;
}

std::optional<std::size_t> first_non_finite(const ConstView& y) {
  const std::size_t count = y.shape.elements();
  const std::size_t at = with_element(y.element, [&]<class T>() {
    return static_cast<std::size_t>(std::find_if(y.as<T>(), y.as<T>() + count, [](T v) { return !std::isfinite(v); }) -
                                    y.as<T>());
  });
  return at == count ? std::nullopt : std::optional(at);
}

}  // namespace

Result<TensorValues> drawn_input(const Network& network, std::size_t batch, std::uint64_t seed,
                                 std::uint64_t max_bytes) {
  if (!network.settings.input_shape) return fail(Code::InvalidArgument, "the network names no input_shape");
  TensorValues input{{}, Network::with_batch(*network.settings.input_shape, batch)};
  constexpr std::size_t kBytes = sizeof(double) + sizeof(float);  // as drawn, and as most networks take it
  if (input.shape.elements() > max_bytes / kBytes)
    return fail(Code::OutOfMemory, "input_shape: a batch {} takes {:.1f} GB, at most {:.1f} GB are allowed",
                input.shape.text(), static_cast<double>(input.shape.elements()) * kBytes / 1e9,
                static_cast<double>(max_bytes) / 1e9);
  const RandomStream stream{seed, RandomDomain::Noise, 0, random_site("input")};
  input.values.reserve(input.shape.elements());
  for (std::size_t i = 0; i < input.shape.elements(); ++i)
    input.values.push_back(static_cast<double>(stream.uniform(i)));
  return input;
}

Result<NetworkOutput> run_network(Network& network, const TensorValues& input, const NetworkRunOptions& o) {
  if (input.values.size() != input.shape.elements())
    return fail(Code::ShapeMismatch, "{} values for the shape {}", input.values.size(), input.shape.text());
  if (auto checked = check_input(input.values, input.shape, network.settings.activations); !checked)
    return at(o.input_name, std::move(checked).error());
  LOOM_TRY(const auto plan, ForwardPlan::create(network, input.shape));
  NetworkSessionOptions options;
  options.threads = o.threads, options.isa = o.isa, options.pool = o.pool, options.max_bytes = o.max_bytes;
  options.device = o.device;
  if (!o.cells) options.choose_device = o.choose_device;
  if (o.cells && o.device != nullptr) return fail(Code::Unsupported, "outputs of cells are looked at on the CPU alone");
  LOOM_TRY(const auto session, NetworkSession::create(network, plan, options));
  std::vector<float> narrow;
  ConstView x{input.values.data(), input.shape, Element::f64};
  if (session->element() == Element::f32) {
    narrow.assign(input.values.begin(), input.values.end());
    x = {narrow.data(), input.shape, Element::f32};
  }
  CellWatch watch(network);
  if (o.cells) session->observe(&watch);
  LOOM_TRY(const ConstView y, session->forward_host(x, {.cancel = o.cancel}));
  NetworkOutput out;
  out.input_shape = input.shape, out.shape = y.shape, out.element = y.element;
  out.bytes.assign(y.as<std::byte>(), y.as<std::byte>() + y.shape.elements() * bytes_of(y.element));
  Sha256 hash;
  hash.update(out.bytes);
  out.hash = hash.finish();
  out.non_finite = first_non_finite(out.view());
  out.resident_bytes = network.resident_bytes(), out.scratch_bytes = session->scratch_bytes();
  out.precision = precision_of(session->device());
  out.isa = options.isa.value_or(best_isa()), out.device = device_title(session->device());
  out.threads = session->threads(), out.cells = std::move(watch.cells);
  return out;
}

Json nested_json(const ConstView& view) {
  std::size_t at = 0;
  return with_element(view.element, [&]<class T>() { return nested(view.as<T>(), view.shape, 0, at); });
}

Json to_json(const CellFigures& c) {
  return {{"cell", c.place},  {"type", c.kind}, {"shape", c.shape.extents()}, {"ms", c.ms},
          {"least", c.least}, {"mean", c.mean}, {"largest", c.largest},       {"hash", to_hex(c.hash)}};
}

Json to_json(const NetworkOutput& o, bool with_values, bool with_cells) {
  Json out{{"input_shape", o.input_shape.extents()}, {"shape", o.shape.extents()},       {"hash", to_hex(o.hash)},
           {"resident_bytes", o.resident_bytes},     {"scratch_bytes", o.scratch_bytes}, {"threads", o.threads},
           {"precision", name(o.precision)}};
  if (with_values) out["output"] = nested_json(o.view());
  if (!with_cells) return out;
  out["cells"] = Json::array();
  for (const CellFigures& cell : o.cells) out["cells"].push_back(to_json(cell));
  return out;
}

}  // namespace loom
