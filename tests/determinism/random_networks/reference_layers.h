#pragma once
// The kinds by themselves (reference.h): each a few loops over its equation.

#include "core/json.h"
#include "reference.h"

namespace loom::test {

inline Tensor ref_dense(const Settings& s, Layer& l, const Tensor& x) {
  Tensor y = linear(l, "weight", "bias", x);
  for (Num& v : y.v) v = activated(s, v);
  return y;
}

inline Tensor ref_swiglu(const Settings& s, Layer& l, const Tensor& x) {
  const double floor = s.flag("inner_norm") ? 1e-5 : 0;
  const Tensor gate = linear(l, "gate.weight", "gate.bias", x, floor), up = linear(l, "up.weight", "up.bias", x, floor);
  Tensor h = gate;
  for (std::size_t i = 0; i < h.v.size(); ++i) h.v[i] = activated(s, gate.v[i], "silu") * up.v[i];
  if (floor > 0) {
    const std::vector<double> gain = values_of(l, "inner_norm");
    for (std::size_t r = 0; r < h.rows(); ++r)
      rms_row(h.row(r), h.cols(), gain, s.number("rms_norm_eps", 1e-6), 0, h.row(r));
  }
  return linear(l, "down.weight", "down.bias", h, floor);
}

inline Tensor ref_rmsnorm(const Settings& s, Layer& l, const Tensor& x) {
  Tensor y = x;
  const std::vector<double> gain = values_of(l, "gamma");
  for (std::size_t r = 0; r < x.rows(); ++r)
    rms_row(x.row(r), x.cols(), gain, s.number("rms_norm_eps", 1e-6), s.number("weight_offset", 0), y.row(r));
  return y;
}

// (x - mean) / sqrt(variance + eps) over the places that `at` lists.
inline void normalise(Tensor& y, const Tensor& x, const std::vector<std::size_t>& at, double eps) {
  const Num n = exactly(static_cast<double>(at.size()));
  Sum sum, squares;
  for (const std::size_t i : at) sum.add(x.v[i]);
  const Num mean = sum.value() / n;
  for (const std::size_t i : at) {
    const Num d = x.v[i] - mean;
    squares.add(d, d);
  }
  const Num sd = root(squares.value() / n + rounded(eps, 0));
  for (const std::size_t i : at) y.v[i] = (x.v[i] - mean) / sd;
}

inline Tensor ref_layernorm(const Settings& s, Layer& l, const Tensor& x) {
  Tensor y = x;
  const std::vector<double> gamma = values_of(l, "gamma"), beta = values_of(l, "beta");
  const std::size_t n = x.cols();
  for (std::size_t r = 0; r < x.rows(); ++r) {
    std::vector<std::size_t> at(n);
    for (std::size_t i = 0; i < n; ++i) at[i] = r * n + i;
    normalise(y, x, at, s.number("eps", 1e-5));
    for (std::size_t i = 0; i < n; ++i) {
      y.row(r)[i] = y.row(r)[i] * value_in_element(gamma[i]);
      if (!beta.empty()) y.row(r)[i] = y.row(r)[i] + value_in_element(beta[i]);
    }
  }
  return y;
}

inline Tensor ref_instancenorm(const Settings& s, Layer& l, const Tensor& x) {
  Tensor y = x;
  const std::size_t channels = x.shape[1], positions = x.v.size() / (x.shape[0] * channels);
  for (std::size_t plane = 0; plane < x.shape[0] * channels; ++plane) {
    std::vector<std::size_t> at(positions);
    for (std::size_t i = 0; i < positions; ++i) at[i] = plane * positions + i;
    normalise(y, x, at, s.number("eps", 1e-5));
  }
  if (!s.flag("affine")) return y;
  const std::vector<double> gamma = values_of(l, "gamma"), beta = values_of(l, "beta");
  for (std::size_t i = 0; i < y.v.size(); ++i) {
    const std::size_t c = i / positions % channels;
    y.v[i] = y.v[i] * value_in_element(gamma[c]) + value_in_element(beta[c]);
  }
  return y;
}

inline Tensor ref_groupnorm(const Settings& s, Layer& l, const Tensor& x) {
  Tensor y = x;
  const std::vector<double> gamma = values_of(l, "gamma"), beta = values_of(l, "beta");
  const std::size_t channels = x.shape[1], groups = s.size("num_groups", 1),
                    inner = x.v.size() / (x.shape[0] * channels), per = channels / groups * inner;
  for (std::size_t g = 0; g < x.shape[0] * groups; ++g) {
    std::vector<std::size_t> at(per);
    for (std::size_t i = 0; i < per; ++i) at[i] = g * per + i;
    normalise(y, x, at, s.number("eps", 1e-5));
  }
  for (std::size_t i = 0; i < y.v.size(); ++i) {
    const std::size_t c = i / inner % channels;
    y.v[i] = y.v[i] * value_in_element(gamma[c]) + value_in_element(beta[c]);
  }
  return y;
}

// Inference: by the running values.
inline Tensor ref_batchnorm(const Settings& s, Layer& l, const Tensor& x) {
  Tensor y = x;
  const std::vector<double> gamma = values_of(l, "gamma"), beta = values_of(l, "beta"),
                            mean = values_of(l, "running_mean"), var = values_of(l, "running_var");
  const std::size_t channels = x.shape[1], inner = x.v.size() / (x.shape[0] * channels);
  for (std::size_t i = 0; i < y.v.size(); ++i) {
    const std::size_t c = i / inner % channels;
    const Num sd = root(value_in_element(var[c]) + rounded(s.number("eps", 1e-5), 0));
    y.v[i] = (x.v[i] - value_in_element(mean[c])) / sd * value_in_element(gamma[c]) + value_in_element(beta[c]);
  }
  return y;
}

struct Window {
  std::vector<std::size_t> in, out, kernel, stride, padding, dilation;
  std::size_t taps() const { return product(kernel); }
  // Coordinates of flat index i in extents.
  static std::vector<long> at(std::size_t i, const std::vector<std::size_t>& extents) {
    std::vector<long> c(extents.size());
    for (std::size_t a = extents.size(); a-- > 0;) c[a] = static_cast<long>(i % extents[a]), i /= extents[a];
    return c;
  }
  // The input under tap k of output o; nothing outside.
  std::optional<std::size_t> input(std::size_t o, std::size_t k) const {
    const auto co = at(o, out), ck = at(k, kernel);
    std::size_t flat = 0;
    for (std::size_t a = 0; a < in.size(); ++a) {
      const long i =
          co[a] * static_cast<long>(stride[a]) + ck[a] * static_cast<long>(dilation[a]) - static_cast<long>(padding[a]);
      if (i < 0 || i >= static_cast<long>(in[a])) return std::nullopt;
      flat = flat * in[a] + static_cast<std::size_t>(i);
    }
    return flat;
  }
};

inline Tensor ref_conv(const Settings& s, Layer& l, const Tensor& x, bool transposed) {
  const std::size_t axes = x.shape.size() - 2, batch = x.shape[0], channels = x.shape[1],
                    filters = s.size("filters", 1), groups = s.size("groups", 1);
  const std::size_t per_in = channels / groups, per_out = filters / groups;
  Window w{{x.shape.begin() + 2, x.shape.end()}, {},
           s.axes("kernel_size", axes, 1),       s.axes("stride", axes, 1),
           s.axes("padding", axes, 0),           s.axes("dilation", axes, 1)};
  const std::vector<std::size_t> extra = s.axes("output_padding", axes, 0);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t reach = w.dilation[a] * (w.kernel[a] - 1);
    w.out.push_back(transposed ? (w.in[a] - 1) * w.stride[a] + reach + extra[a] + 1 - 2 * w.padding[a]
                               : (w.in[a] + 2 * w.padding[a] - reach - 1) / w.stride[a] + 1);
  }
  const std::size_t in = product(w.in), out = product(w.out), taps = w.taps();
  Tensor y{{batch, filters}, {}};
  y.shape.insert(y.shape.end(), w.out.begin(), w.out.end());
  y.v.resize(product(y.shape));
  const std::vector<Num> values = adapted_values(l, "weight");
  const std::vector<double> bias = values_of(l, "bias");
  const Weight& weight = *find_weight(l, "weight");
  // Output o meets input i under tap k; a transposed convolution turns the roles round.
  Window turned = w;
  std::swap(turned.in, turned.out);
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> meets(out);  // by output: input, tap
  for (std::size_t k = 0; k < taps; ++k)
    for (std::size_t o = 0; o < (transposed ? in : out); ++o)
      if (const auto i = (transposed ? turned : w).input(o, k))
        transposed ? meets[*i].push_back({o, k}) : meets[o].push_back({*i, k});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t g = 0; g < groups; ++g) {
      const Num* patch = x.v.data() + (b * channels + g * per_in) * in;
      const double step = input_step(weight, patch, per_in * in);
      for (std::size_t f = g * per_out; f < (g + 1) * per_out; ++f)
        for (std::size_t o = 0; o < out; ++o) {
          Sum sum;
          for (const auto& [i, k] : meets[o])
            for (std::size_t c = 0; c < per_in; ++c)
              sum.add(values[(f * per_in + c) * taps + k], {patch[c * in + i].v, patch[c * in + i].e + step});
          Num v = sum.value();
          v.e += 4 * unit * sum.size;
          if (!bias.empty()) v = v + value_in_element(bias[f]);
          y.v[(b * filters + f) * out + o] = activated(s, v);
        }
    }
  return y;
}

inline Tensor ref_pool(const Settings& s, const Tensor& x, bool average) {
  const std::size_t axes = x.shape.size() - 2;
  Window w{{x.shape.begin() + 2, x.shape.end()}, {}, s.axes("kernel_size", axes, 1), {}, s.axes("padding", axes, 0),
           s.axes("dilation", axes, 1)};
  w.stride = s.has("stride") ? s.axes("stride", axes, 1) : w.kernel;
  if (s.flag("global")) w.kernel = w.stride = w.in, w.padding.assign(axes, 0), w.dilation.assign(axes, 1);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t span = w.in[a] + 2 * w.padding[a] - w.dilation[a] * (w.kernel[a] - 1) - 1;
    std::size_t out = span / w.stride[a] + 1;
    // A last window that leaves the padded input counts when it starts inside the input or the padding in front.
    if (s.flag("ceil_mode") && span % w.stride[a] != 0 && out * w.stride[a] < w.in[a] + w.padding[a]) ++out;
    w.out.push_back(out);
  }
  const std::size_t in = product(w.in), out = product(w.out);
  Tensor y{{x.shape[0], x.shape[1]}, {}};
  y.shape.insert(y.shape.end(), w.out.begin(), w.out.end());
  y.v.resize(product(y.shape));
  for (std::size_t plane = 0; plane < x.v.size() / in; ++plane)
    for (std::size_t o = 0; o < out; ++o) {
      Sum sum;
      std::optional<Num> most;
      // The divisor: places of the window inside the padded input, or those with a value.
      std::size_t padded = 1, inside = 0;
      const auto co = Window::at(o, w.out);
      for (std::size_t a = 0; a < axes; ++a) {
        const long begin = co[a] * static_cast<long>(w.stride[a]) - static_cast<long>(w.padding[a]);
        padded *= static_cast<std::size_t>(
            std::min(begin + static_cast<long>(w.kernel[a]), static_cast<long>(w.in[a] + w.padding[a])) - begin);
      }
      for (std::size_t k = 0; k < w.taps(); ++k)
        if (const auto i = w.input(o, k)) {
          const Num v = x.v[plane * in + *i];
          sum.add(v), ++inside;
          most = most ? larger(*most, v) : v;
        }
      const double count = static_cast<double>(s.flag("count_include_pad", true) ? padded : inside);
      y.v[plane * out + o] = average ? sum.value() / exactly(count) : *most;
    }
  return y;
}

inline Tensor ref_recurrent(const Settings& s, Layer& l, const Tensor& x, const std::string& kind) {
  const std::size_t batch = x.shape[0], steps = x.shape[1], width = x.shape[2], units = s.size("output_height");
  const std::size_t directions = s.flag("bidirectional") ? 2 : 1;
  const bool sequence = s.flag("return_sequence", true);
  Tensor y{sequence ? std::vector<std::size_t>{batch, steps, directions * units}
                    : std::vector<std::size_t>{batch, directions * units},
           {}};
  y.v.resize(product(y.shape));
  const std::vector<std::string> gates = kind == "rnn"    ? std::vector<std::string>{""}
                                         : kind == "lstm" ? std::vector<std::string>{"i.", "f.", "g.", "o."}
                                                          : std::vector<std::string>{"r.", "z.", "n."};
  for (std::size_t d = 0; d < directions; ++d)
    for (std::size_t b = 0; b < batch; ++b) {
      Tensor h{{1, units}, std::vector<Num>(units)}, c = h;
      for (std::size_t n = 0; n < steps; ++n) {
        const std::size_t t = d == 0 ? n : steps - 1 - n;
        Tensor now{{1, width},
                   {x.v.begin() + static_cast<long>((b * steps + t) * width),
                    x.v.begin() + static_cast<long>((b * steps + t + 1) * width)}};
        std::vector<Tensor> from_x, from_h;
        for (const std::string& gate : gates) {
          const std::string name = (d == 0 ? "" : "reverse.") + gate;
          from_x.push_back(linear(l, name + "weight_ih", name + "bias", now));
          from_h.push_back(linear(l, name + "weight_hh", name + "bias_hh", h));
        }
        for (std::size_t u = 0; u < units; ++u) {
          const auto both = [&](std::size_t g) { return from_x[g].v[u] + from_h[g].v[u]; };
          const auto tanh_of = [](Num a) { return apply(a, [](double v) { return std::tanh(v); }, 8, 1); };
          const auto sigmoid_of = [](Num a) { return apply(a, logistic, 8); };
          if (kind == "rnn") {
            h.v[u] = s.text("activation", "tanh") == "relu" ? apply(both(0), [](double v) { return std::max(0.0, v); })
                                                            : tanh_of(both(0));
          } else if (kind == "lstm") {
            c.v[u] = sigmoid_of(both(1)) * c.v[u] + sigmoid_of(both(0)) * tanh_of(both(2));
            h.v[u] = sigmoid_of(both(3)) * tanh_of(c.v[u]);
          } else {
            const Num r = sigmoid_of(both(0)), z = sigmoid_of(both(1)),
                      cand = tanh_of(from_x[2].v[u] + r * from_h[2].v[u]);
            h.v[u] = (exactly(1) - z) * cand + z * h.v[u];
          }
        }
        if (sequence)
          for (std::size_t u = 0; u < units; ++u) y.v[(b * steps + t) * directions * units + d * units + u] = h.v[u];
      }
      if (!sequence)
        for (std::size_t u = 0; u < units; ++u) y.v[b * directions * units + d * units + u] = h.v[u];
    }
  return y;
}

inline Tensor ref_s6(const Settings& s, Layer& l, const Tensor& x) {
  const std::size_t steps = x.shape[1], width = x.shape[2], states = s.size("state_size", 16);
  const Tensor pre = linear(l, "dt.weight", "dt.bias", linear(l, "dt_in.weight", "", x));
  const Tensor b = linear(l, "b.weight", "", x), c = linear(l, "c.weight", "", x);
  const std::vector<double> a_log = values_of(l, "a_log"), skip = values_of(l, "d_skip");
  Tensor y = x;
  for (std::size_t d = 0; d < width; ++d)
    for (std::size_t sample = 0; sample < x.shape[0]; ++sample) {
      std::vector<Num> h(states);
      for (std::size_t r = sample * steps; r < (sample + 1) * steps; ++r) {
        const Num dt = activated(s, pre.row(r)[d], "softplus"), in = x.row(r)[d];
        Sum sum;
        for (std::size_t n = 0; n < states; ++n) {
          const Num rate = exactly(0) - exponential(value_in_element(a_log[d * states + n]));
          h[n] = exponential(dt * rate) * h[n] + dt * in * b.row(r)[n];
          sum.add(c.row(r)[n], h[n]);
        }
        y.row(r)[d] = sum.value() + value_in_element(skip[d]) * in;
      }
    }
  return y;
}

// Frequencies and the factor of sines and cosines (engine L-72, L-73).
inline std::pair<std::vector<double>, double> rope_frequencies(const Settings& s, std::size_t rotated) {
  const double theta = s.number("rope_theta", 10000);
  std::vector<double> f(rotated / 2);
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotated));
  const Json* scaling = find(s.json(), "rope_scaling");
  if (scaling == nullptr) return {f, 1};
  const Settings r(*scaling);
  const double factor = r.number("factor", 1), n = r.number("original_max_position_embeddings", 8192);
  if (r.text("type") == "linear")
    for (double& v : f) v /= factor;
  if (r.text("type") == "llama3") {
    const double low = r.number("low_freq_factor", 1), high = r.number("high_freq_factor", 4);
    for (double& v : f) {
      const double wl = 2 * M_PI / v;
      if (wl < n / high) continue;
      const double m = (n / wl - low) / (high - low);
      v = wl > n / low ? v / factor : (1 - m) * v / factor + m * v;
    }
  }
  if (r.text("type") != "yarn") return {f, 1};
  const auto dim = [&](double turns) {
    return static_cast<double>(rotated) * std::log(n / (2 * M_PI * turns)) / (2 * std::log(theta));
  };
  const double low = std::max(std::floor(dim(r.number("beta_fast", 32))), 0.0);
  const double high = std::min(std::ceil(dim(r.number("beta_slow", 1))), static_cast<double>(rotated) - 1);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / std::max(high - low, 0.001), 0.0, 1.0);
    f[i] = f[i] / factor * ramp + f[i] * (1 - ramp);
  }
  return {f, 0.1 * std::log(factor) + 1};
}

inline void rotate(const Settings& s, std::size_t rotated, std::size_t position, Num* x) {
  const auto [f, amplitude] = rope_frequencies(s, rotated);
  const bool interleaved = s.text("rope_style") == "interleaved";
  for (std::size_t i = 0; i < f.size(); ++i) {
    Num &a = x[interleaved ? 2 * i : i], &b = x[interleaved ? 2 * i + 1 : i + f.size()];
    const double angle = static_cast<double>(position) * f[i];
    // Tables hold f32 in every network.
    const Num c{amplitude * std::cos(angle), 0x1p-23}, sn{amplitude * std::sin(angle), 0x1p-23};
    const Num x0 = a, y0 = b;
    a = x0 * c - y0 * sn, b = y0 * c + x0 * sn;
  }
}

inline Tensor ref_mha(const Settings& s, Layer& l, const Tensor& x) {
  const std::size_t heads = s.size("num_heads"), kv = s.size("num_kv_heads", heads),
                    width = s.size("head_dim", x.cols() / std::max<std::size_t>(1, heads));
  const std::size_t steps = x.shape[x.shape.size() - 2], batch = x.rows() / steps;
  const double floor = s.flag("inner_norm") ? 1e-5 : 0, eps = s.number("rms_norm_eps", 1e-6);
  Tensor q = linear(l, "q.weight", "q.bias", x, floor), k = linear(l, "k.weight", "k.bias", x, floor);
  const Tensor v = linear(l, "v.weight", "v.bias", x, floor);
  const std::string norm = s.text("qk_norm", "none");
  const std::vector<double> q_gain = values_of(l, "q_norm"), k_gain = values_of(l, "k_norm");
  const std::size_t rotated =
      s.flag("rope", true) ? static_cast<std::size_t>(static_cast<double>(width) * s.number("partial_rotary_factor", 1))
                           : 0;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    if (norm == "full")
      rms_row(q.row(r), q.cols(), q_gain, eps, 0, q.row(r)), rms_row(k.row(r), k.cols(), k_gain, eps, 0, k.row(r));
    for (std::size_t h = 0; h < heads; ++h) {
      if (norm == "head") rms_row(q.row(r) + h * width, width, q_gain, eps, 0, q.row(r) + h * width);
      if (rotated > 0) rotate(s, rotated, r % steps, q.row(r) + h * width);
    }
    for (std::size_t h = 0; h < kv; ++h) {
      if (norm == "head") rms_row(k.row(r) + h * width, width, k_gain, eps, 0, k.row(r) + h * width);
      if (rotated > 0) rotate(s, rotated, r % steps, k.row(r) + h * width);
    }
  }
  const Num scale = s.has("attn_scale") ? rounded(s.number("attn_scale", 1), 0)
                                        : rounded(1 / std::sqrt(static_cast<double>(width)), 0);
  const double cap = s.number("logit_softcap", 0);
  const std::size_t window = s.size("sliding_window");
  Tensor o = like(x, heads * width);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < steps; ++t)
      for (std::size_t h = 0; h < heads; ++h) {
        std::vector<Num> scores;
        std::vector<std::size_t> at;
        for (std::size_t j = 0; j < steps; ++j) {
          if (s.flag("causal", true) && j > t) continue;
          if (window > 0 && j + window <= t) continue;
          Sum dot;
          for (std::size_t i = 0; i < width; ++i)
            dot.add(q.row(b * steps + t)[h * width + i], k.row(b * steps + j)[h / (heads / kv) * width + i]);
          Num z = scale * dot.value();
          if (cap > 0) z = rounded(cap, 0) * apply(z / rounded(cap, 0), [](double a) { return std::tanh(a); }, 8, 1);
          scores.push_back(z), at.push_back(j);
        }
        std::vector<Num> p(scores.size());
        softmax_row(scores, p.data());
        for (std::size_t i = 0; i < width; ++i) {
          Sum sum;
          for (std::size_t n = 0; n < at.size(); ++n)
            sum.add(p[n], v.row(b * steps + at[n])[h / (heads / kv) * width + i]);
          o.row(b * steps + t)[h * width + i] = sum.value();
        }
      }
  if (floor > 0) {
    const std::vector<double> gain = values_of(l, "inner_norm");
    for (std::size_t r = 0; r < o.rows(); ++r) rms_row(o.row(r), o.cols(), gain, eps, 0, o.row(r));
  }
  return linear(l, "o.weight", "o.bias", o, floor);
}

inline Tensor ref_kmeans(const Settings& s, Layer& l, const Tensor& x) {
  const std::vector<Num> c = adapted_values(l, "centers");
  const std::size_t clusters = s.size("num_clusters"), n = x.cols();
  const bool features = s.text("output_mode") == "features";
  const double temperature = s.number("kmeans_temperature", 1);
  Tensor y = like(x, features ? n : clusters);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    std::vector<Num> logits(clusters), a(clusters);
    for (std::size_t k = 0; k < clusters; ++k) {
      Sum sum;
      for (std::size_t i = 0; i < n; ++i) {
        const Num d = x.row(r)[i] - c[k * n + i];
        sum.add(d, d);
      }
      logits[k] = exactly(-1) * sum.value() / rounded(2 * temperature * temperature, 0);
    }
    softmax_row(logits, a.data());
    for (std::size_t i = 0; i < y.cols(); ++i) {
      Num v = a[std::min(i, clusters - 1)];
      if (features) {
        Sum sum;
        for (std::size_t k = 0; k < clusters; ++k) sum.add(a[k], c[k * n + i]);
        v = sum.value();
      }
      y.row(r)[i] = activated(s, v);
    }
  }
  return y;
}

// Ids outside the table are none of our cases.
inline Tensor ref_embedding(const Settings& s, Layer& l, const Tensor& x) {
  const std::vector<double> table = values_of(l, "table");
  const std::size_t width = s.size("embedding_dim");
  Tensor y{x.shape, {}};
  y.shape.push_back(width);
  for (const Num& id : x.v)
    for (std::size_t i = 0; i < width; ++i)
      y.v.push_back(activated(
          s, rounded(table[static_cast<std::size_t>(id.v) * width + i], 0) * rounded(s.number("embed_scale", 1), 0)));
  return y;
}

inline Tensor ref_position_embedding(Layer& l, const Tensor& x) {
  Tensor y = x;
  const std::vector<double> table = values_of(l, "table");
  const std::size_t steps = x.shape[x.shape.size() - 2];
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t i = 0; i < x.cols(); ++i) y.row(r)[i] = x.row(r)[i] + rounded(table[r % steps * x.cols() + i], 0);
  return y;
}

// p_i = max(0, (a - 1) z_i - tau)^(1 / (a - 1)) with tau by bisection in double; a = 1 is softmax, 2 sparsemax. The map
// from z to p is Lipschitz with 1 / (a - 1) + 1 up to 2, steeper roots only flatten; engines that bisect stop at 2^-30
// of the range.
inline void entmax_row(const std::vector<Num>& z, double a, bool bisects, Num* p) {
  if (a == 1) return softmax_row(z, p);
  double most = -1e300, error = 0, range = 0;
  for (const Num& v : z) most = std::max(most, v.v), error = std::max(error, v.e + 4 * unit * std::abs(v.v));
  for (const Num& v : z) range = std::max(range, most - v.v);
  double low = (a - 1) * most - 1, high = (a - 1) * most;
  const auto at = [&](double tau, double v) { return std::pow(std::max(0.0, (a - 1) * v - tau), 1 / (a - 1)); };
  for (int i = 0; i < 200; ++i) {
    const double tau = 0.5 * (low + high);
    double sum = 0;
    for (const Num& v : z) sum += at(tau, v.v);
    (sum >= 1 ? low : high) = tau;
  }
  // tau moves by no more than the logits do; both together move (a - 1) z - tau by twice as much.
  const double shift = 2 * std::max(1.0, a - 1) * error + (bisects ? 0x1p-28 : 0) +
                       unit * static_cast<double>(z.size() + 8) * (2 + std::abs(low));
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double v = at(low, z[i].v);
    p[i] = rounded(v, std::max(at(low - shift, z[i].v) - v, v - at(low + shift, z[i].v)) +
                          unit * static_cast<double>(z.size() + 16) * v);
  }
}

inline std::optional<Tensor> ref_softmax(const Settings& s, Layer& l, const Tensor& x, std::uint64_t seed,
                                         std::uint32_t step) {
  const std::string type = s.text("softmax_type", "standard");
  const double t = s.number("temperature", 1) == 0 ? 1 : s.number("temperature", 1);
  const std::size_t n = x.cols();
  Tensor z = x;
  if (type == "gumbel" && s.flag("gumbel_noise", true)) {
    const RandomStream stream{seed, RandomDomain::Gumbel, step, l.site};
    for (std::size_t i = 0; i < z.v.size(); ++i) {
      const double u = std::max(1e-10, static_cast<double>(stream.uniform(i)));
      // The inner logarithm of a u near 1 is small and rounded in the element type.
      const double inner = -std::log(u);
      z.v[i] = z.v[i] + Num{-std::log(inner), unit * 8 * (1 + std::abs(std::log(inner)))};
    }
  }
  if (t != 1)
    for (Num& v : z.v) v = v / rounded(t, 0);
  Tensor y = z;
  const auto runs = [&](const Num* from, Num* to, std::size_t width, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) softmax_row({from + k * width, from + (k + 1) * width}, to + k * width);
  };
  const double alpha = s.number("entmax_alpha", 1.5) == 0 ? 1.5 : s.number("entmax_alpha", 1.5);
  const std::vector<std::size_t> levels = s.list("hierarchy_levels"), cutoffs = s.list("adaptive_cutoffs");
  const bool tree = type == "hierarchical" && s.text("hierarchy_mode") == "tree" && !levels.empty();
  const std::size_t mixtures = type == "mixture" ? s.size("mixture_count") : 0;
  if (tree) y = like(x, product(levels));
  if (type == "adaptive" && !cutoffs.empty()) y = like(x, cutoffs.back());
  if (mixtures > 1) y = like(x, (n - mixtures) / mixtures);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const Num* from = z.row(r);
    Num* to = y.row(r);
    const std::vector<Num> row(from, from + n);
    if (type == "grid" && s.size("softmax_cols") > 0) {
      runs(from, to, s.size("softmax_cols"), n / s.size("softmax_cols"));
    } else if (tree) {
      std::vector<Num> above{exactly(1)}, next;
      for (const std::size_t children : levels) {
        std::vector<Num> p(above.size() * children);
        runs(from, p.data(), children, above.size());
        next.clear();
        for (std::size_t i = 0; i < p.size(); ++i) next.push_back(above[i / children] * p[i]);
        from += p.size(), above = next;
      }
      std::copy(above.begin(), above.end(), to);
    } else if (type == "hierarchical" && !levels.empty()) {
      runs(from, to, levels.back(), n / levels.back());
    } else if (type == "masked") {
      const Json* mask = find(s.json(), "mask");
      std::vector<Num> kept;
      std::vector<std::size_t> at;
      for (std::size_t i = 0; i < n; ++i)
        if (mask == nullptr || i >= mask->size() || as_bool((*mask)[i]).value_or(true))
          kept.push_back(from[i]), at.push_back(i);
      std::fill(to, to + n, exactly(0));
      std::vector<Num> p(kept.size());
      if (!kept.empty()) softmax_row(kept, p.data());
      for (std::size_t i = 0; i < at.size(); ++i) to[at[i]] = p[i];
    } else if (type == "sparse") {
      entmax_row(row, 2, false, to);
    } else if (type == "adaptive" && !cutoffs.empty()) {
      const std::size_t head = cutoffs[0] + cutoffs.size() - 1;
      std::vector<Num> p(head);
      runs(from, p.data(), head, 1);
      for (std::size_t i = 0; i < cutoffs[0]; ++i) to[i] = p[i];
      from += head;
      for (std::size_t k = 1; k < cutoffs.size(); ++k) {
        const std::size_t width = cutoffs[k] - cutoffs[k - 1];
        std::vector<Num> tail(width);
        runs(from, tail.data(), width, 1);
        for (std::size_t i = 0; i < width; ++i) to[cutoffs[k - 1] + i] = p[cutoffs[0] + k - 1] * tail[i];
        from += width;
      }
    } else if (mixtures > 1) {
      const std::size_t width = y.cols();
      std::vector<Num> weights(mixtures), p(mixtures * width);
      runs(from, weights.data(), mixtures, 1);
      runs(from + mixtures, p.data(), width, mixtures);
      for (std::size_t i = 0; i < width; ++i) {
        Sum sum;
        for (std::size_t m = 0; m < mixtures; ++m) sum.add(weights[m], p[m * width + i]);
        to[i] = sum.value();
      }
    } else if (type == "entmax" && s.text("entmax_mode") == "blend") {
      const double a = std::clamp(alpha, 1.0, 2.0);
      std::vector<Num> soft(n), sparse(n);
      softmax_row(row, soft.data());
      entmax_row(row, 2, false, sparse.data());
      for (std::size_t i = 0; i < n; ++i) to[i] = rounded(2 - a, 0) * soft[i] + rounded(a - 1, 0) * sparse[i];
    } else if (type == "entmax") {
      entmax_row(row, alpha, alpha != 1.5, to);
    } else {
      softmax_row(row, to);
    }
    if (type == "gumbel" && s.flag("gumbel_hard")) {
      const std::size_t best =
          static_cast<std::size_t>(std::max_element(to, to + n, [](Num a, Num b) { return a.v < b.v; }) - to);
      for (std::size_t i = 0; i < n; ++i)
        if (i != best && to[i].v + to[i].e >= to[best].v - to[best].e) return std::nullopt;  // too close to call
      for (std::size_t i = 0; i < n; ++i) to[i] = exactly(i == best ? 1 : 0);
    }
  }
  return y;
}

}  // namespace loom::test
