// Convolutions and pools.

#include <array>

#include "io/onnx_writer/emitter.h"

namespace loom::onnx_out {
namespace {

using Axes = std::vector<std::int64_t>;

// Begins, then ends.
Axes both_ends(const Axes& begin, const Axes& end) {
  Axes pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  return pads;
}

// ONNX keeps the filters of transposed convolutions by input channel: [C, F / groups, kernel...].
std::string by_input_channel(Emitter& emit, const Weight& w, std::size_t groups) {
  const std::vector<float> own = emit.values_of(w);
  const std::size_t filters = w.shape()[0] / groups, channels = w.shape()[1],
                    taps = w.elements() / (w.shape()[0] * channels);
  std::vector<float> values(own.size());
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t f = 0; f < filters; ++f)
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t t = 0; t < taps; ++t)
          values[((g * channels + c) * filters + f) * taps + t] = own[((g * filters + f) * channels + c) * taps + t];
  std::vector<std::size_t> extents(w.shape().extents().begin(), w.shape().extents().end());
  extents[0] = channels * groups, extents[1] = filters;
  return emit.graph.floats(emit.name_of(w) + ".by_channel", extents, values);
}

}  // namespace

Result<Value> emit_conv(Emitter& emit, const Part& part, const Value& x) {
  const Settings& s = part.settings;
  const std::string kind(part.layer.kind());
  const bool transposed = kind.starts_with("convtransposed");
  const std::size_t axes = static_cast<std::size_t>(kind.back() - '0');
  if (x.shape.rank() != axes + 2) return unsupported(part.path, kind + " without an axis of the batch");
  const Weight& w = weight_of(part, "weight");
  for (const Adapter& adapter : w.adapters())
    if (adapter.enabled) return unsupported(part.path, "adapters of a convolution; merge them first");
  LOOM_TRY_VOID(emit.check_matrix(w));
  const std::size_t groups = s.size("groups");
  std::vector<std::string> inputs{x.name, ""};
  if (transposed) {
    inputs[1] = by_input_channel(emit, w, groups);
  } else {
    LOOM_TRY(inputs[1], emit.weight(w));
  }
  if (const Weight* bias = optional_weight(part, "bias")) {
    LOOM_TRY(inputs.emplace_back(), emit.weight(*bias));
  }
  const Axes kernel = s.axes("kernel_size", axes, 1), stride = s.axes("stride", axes, 1),
             padding = s.axes("padding", axes, 0), dilation = s.axes("dilation", axes, 1),
             more = s.axes("output_padding", axes, 0);
  Attributes attributes{{"kernel_shape", kernel},
                        {"strides", stride},
                        {"pads", both_ends(padding, padding)},
                        {"dilations", dilation},
                        {"group", static_cast<std::int64_t>(groups)}};
  if (transposed) attributes.emplace_back("output_padding", more);
  LOOM_TRY(const Shape out, part.layer.output_shape(x.shape));
  Shape whole = out;
  for (std::size_t a = 0; a < axes; ++a) {
    const auto in = static_cast<std::int64_t>(x.shape[a + 2]), reach = dilation[a] * (kernel[a] - 1);
    const std::int64_t n = transposed ? (in - 1) * stride[a] - 2 * padding[a] + reach + more[a] + 1
                                      : (in + 2 * padding[a] - reach - 1) / stride[a] + 1;
    whole = with_extent(whole, a + 2, static_cast<std::size_t>(n));
  }
  Value y = emit.op(part.path, transposed ? "ConvTranspose" : "Conv", whole, inputs, attributes);
  for (std::size_t a = 2; a < axes + 2; ++a) {  // a declared smaller output
    LOOM_TRY(y, emit.slice(part.path, y, a, 0, out[a]));
  }
  return emit.activation(part.path, s.activation(), y);
}

Result<Value> emit_pool(Emitter& emit, const Part& part, const Value& x) {
  const Settings& s = part.settings;
  const bool average = part.layer.kind() == "avgpool";
  const std::string kind(part.layer.kind());
  const std::vector<std::size_t> named = s.sizes("kernel_size");
  const std::size_t axes = named.size() > 1 ? named.size() : x.shape.rank() < 3 ? 1 : x.shape.rank() - 2;
  if (x.shape.rank() != axes + 2) return unsupported(part.path, kind + " without an axis of the batch");
  LOOM_TRY(const Shape out, part.layer.output_shape(x.shape));
  if (s.flag("global")) return emit.op(part.path, average ? "GlobalAveragePool" : "GlobalMaxPool", out, {x.name});
  const Axes kernel = s.axes("kernel_size", axes, 1), padding = s.axes("padding", axes, 0),
             dilation = s.axes("dilation", axes, 1);
  const Axes stride = s.sizes("stride").empty() ? kernel : s.axes("stride", axes, 1);
  Axes end = padding;
  bool reaches_on = false, is_padded = false;
  for (std::size_t a = 0; a < axes; ++a) {  // a last window that only ceil_mode counts: padding that it needs
    const std::int64_t last = (static_cast<std::int64_t>(out[a + 2]) - 1) * stride[a] + dilation[a] * (kernel[a] - 1) +
                              1 - static_cast<std::int64_t>(x.shape[a + 2]) - padding[a];
    if (last > padding[a]) end[a] = last, reaches_on = true;
    is_padded |= padding[a] != 0;
  }
  bool counts_padding = s.flag("count_include_pad");
  if (average && reaches_on && counts_padding) {
    if (is_padded) return unsupported(part.path, "avgpool with ceil_mode beside padding that counts");
    counts_padding = false;
  }
  Attributes attributes{{"kernel_shape", kernel}, {"strides", stride}, {"pads", both_ends(padding, end)}};
  if (average)
    attributes.emplace_back("count_include_pad", std::int64_t{counts_padding});
  else
    attributes.emplace_back("dilations", dilation);
  return emit.op(part.path, average ? "AveragePool" : "MaxPool", out, {x.name}, attributes);
}

}  // namespace loom::onnx_out
