#pragma once
// Activations and their exact derivatives (engine 3.2) over lanes of f32 or f64. Inner products are snapped where they
// would be subnormal: squares and cubes of small x, exp of far negative x.

#include "ops/elementwise/elementwise.h"
#include "simd/math.h"
#include "simd/simd64.h"

namespace loom::inline LOOM_TARGET {

// Calls visit(value, slope), two functions of sixteen lanes, chosen once per call.
template <class T, class Visit>
LOOM_INLINE void with_activation(const ActivationFn& fn, Visit&& visit) {
  using V = Lanes<T>;
  const auto c = [](double x) { return splat(static_cast<T>(x)); };
  const V zero = zeros<T>(), one = splat(T{1}), half = splat(T(0.5));
  const auto between = [=](const V& x, double low, double high, const V& inside) {
    return select(x > c(low), select(x < c(high), inside, zero), zero);
  };
  const auto clamp = [=](const V& x, double low, double high) { return min(max(x, c(low)), c(high)); };
  const auto softplus = [=](const V& x) { return select(x > c(20), x, snap(log1p(snap(exp(min(x, c(20))))))); };
  const auto rest = [=](const V& t) { return snap(one - snap(t * t)); };  // 1 - t^2
  const auto silu_slope = [=](const V& x, const V& s, const V& factor) {
    return s * snap(one + snap(snap(factor * x) * snap(one - s)));
  };
  switch (fn.kind) {
    case Activation::Linear: return visit([=](const V& x) { return x; }, [=](const V&) { return one; });
    case Activation::Relu:
      return visit([=](const V& x) { return max(x, zero); }, [=](const V& x) { return select(x > zero, one, zero); });
    case Activation::Silu:
      return visit([=](const V& x) { return x * snap(sigmoid(x)); },
                   [=](const V& x) { return silu_slope(x, snap(sigmoid(x)), one); });
    case Activation::Gelu: {
      const auto inner = [=](const V& x) {
        return tanh(snap(c(0.7978845608028654) * snap(x + c(0.044715) * snap(snap(x * x) * x))));
      };
      return visit([=](const V& x) { return half * x * (one + inner(x)); },
                   [=](const V& x) {
                     const V t = inner(x), u = rest(snap(t));
                     const V steep =
                         snap(half * snap(x * u)) * snap(c(0.7978845608028654) * (one + c(0.134145) * snap(x * x)));
                     return half * (one + t) + select(u == zero, zero, snap(steep));
                   });
    }
    case Activation::Tanh:
      return visit([=](const V& x) { return tanh(x); }, [=](const V& x) { return rest(snap(tanh(x))); });
    case Activation::Sigmoid:
      return visit([=](const V& x) { return sigmoid(x); },
                   [=](const V& x) {
                     const V s = snap(sigmoid(x));
                     return s * snap(one - s);
                   });
    case Activation::LeakyRelu: {
      const V slope = c(fn.leaky_slope);
      return visit([=](const V& x) { return select(x > zero, x, slope * x); },
                   [=](const V& x) { return select(x > zero, one, slope); });
    }
    case Activation::Relu2:
      return visit([=](const V& x) { return max(x, zero) * max(x, zero); },
                   [=](const V& x) { return c(2) * max(x, zero); });
    case Activation::GeluExact: {
      const auto inner = [=](const V& x) { return erf(snap(x * c(0.7071067811865476))); };
      return visit([=](const V& x) { return half * x * (one + inner(x)); },
                   [=](const V& x) {
                     const V e = snap(exp(c(-0.5) * snap(x * x)));
                     return half * (one + inner(x)) + snap(snap(x * e) * c(0.3989422804014327));
                   });
    }
    case Activation::Softplus: return visit(softplus, [=](const V& x) { return sigmoid(x); });
    case Activation::Mish:
      return visit([=](const V& x) { return x * snap(tanh(softplus(x))); },
                   [=](const V& x) {
                     const V w = snap(tanh(softplus(x)));
                     return w + snap(snap(x * rest(w)) * snap(sigmoid(x)));
                   });
    case Activation::HardSigmoid:
      return visit([=](const V& x) { return clamp(x / c(6) + half, 0, 1); },
                   [=](const V& x) { return between(x, -3, 3, one / c(6)); });
    case Activation::HardSwish:
      return visit([=](const V& x) { return x * snap(clamp(x / c(6) + half, 0, 1)); },
                   [=](const V& x) { return select(x <= c(-3), zero, select(x >= c(3), one, x / c(3) + half)); });
    case Activation::HardTanh:
      return visit([=](const V& x) { return clamp(x, -1, 1); }, [=](const V& x) { return between(x, -1, 1, one); });
    case Activation::Elu:
    case Activation::Selu: {
      const bool selu = fn.kind == Activation::Selu;
      const V outer = c(selu ? 1.0507009873554805 : 1.0), alpha = c(selu ? 1.6732632423543772 : fn.elu_alpha);
      return visit([=](const V& x) { return outer * select(x > zero, x, snap(alpha * snap(expm1(min(x, zero))))); },
                   [=](const V& x) { return outer * select(x > zero, one, snap(alpha * snap(exp(min(x, zero))))); });
    }
    case Activation::Relu6:
      return visit([=](const V& x) { return clamp(x, 0, 6); }, [=](const V& x) { return between(x, 0, 6, one); });
    case Activation::Softsign:
      return visit([=](const V& x) { return x / (one + abs(x)); },
                   [=](const V& x) {
                     const V q = snap(one / (one + abs(x)));
                     return q * q;
                   });
    case Activation::QuickGelu: {
      const V factor = c(1.702);
      return visit([=](const V& x) { return x * snap(sigmoid(snap(factor * x))); },
                   [=](const V& x) { return silu_slope(x, snap(sigmoid(snap(factor * x))), factor); });
    }
    case Activation::Sign:
    case Activation::Step: {
      const V low = fn.kind == Activation::Sign ? c(-1) : zero, inside = fn.ste ? one : zero;
      return visit([=](const V& x) { return select(x >= zero, one, low); },
                   [=](const V& x) { return select(abs(x) < one, inside, zero); });
    }
  }
}

}  // namespace loom::inline LOOM_TARGET
