#include "learning/tween/tween_feedback.h"

#include "learning/tween/tween.h"
#include "network/spec.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/scalar_sums.h"
#include "simd/normal.h"

namespace loom {
namespace {

// The spec of the inverse of a dense layer or convolution that turns `x` into `y`; null for other kinds.
Json inverse_of(const Layer& layer, const Shape& x, const Shape& y, Element element) {
  const std::string_view kind = layer.kind();
  const bool transposed = kind.starts_with("convtransposed"), convolves = transposed || kind.starts_with("cnn");
  if (kind != "dense" && !convolves) return {};
  Json spec = layer_to_json(layer), out = Json::object();
  const auto keep = [&](const char* key) {
    if (const Json* value = find(spec, key)) out[key] = *value;
  };
  for (const char* key : {"activation", "leaky_slope", "elu_alpha", "ste"}) keep(key);
  out["bias"] = true, out["dtype"] = element == Element::f64 ? "float64" : "float32";
  if (!convolves) {
    out["type"] = "dense", out["input_height"] = y.cols(), out["output_height"] = x.cols();
    return out;
  }
  for (const char* key : {"kernel_size", "stride", "padding", "dilation", "groups"}) keep(key);
  const std::size_t axes = static_cast<std::size_t>(kind.back() - '0');
  out["type"] = (transposed ? "cnn" : "convtransposed") + std::to_string(axes);
  out["input_channels"] = y[y.rank() - axes - 1], out["filters"] = x[x.rank() - axes - 1];
  if (transposed) return out;
  // What the stride left over at the end of each axis.
  const auto at = [&](const char* key, std::size_t axis, std::size_t fallback) {
    const Json* value = find(spec, key);
    if (value == nullptr) return fallback;
    return static_cast<std::size_t>(as_number(value->is_array() ? (*value)[value->size() == 1 ? 0 : axis] : *value).value_or(0));
  };
  Json padding = Json::array();
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t in = x[x.rank() - axes + a], made = y[y.rank() - axes + a];
    const std::size_t least = (made - 1) * at("stride", a, 1) + at("dilation", a, 1) * (at("kernel_size", a, 1) - 1) + 1;
    const std::size_t wanted = in + 2 * at("padding", a, 0);
    padding.push_back(wanted > least ? wanted - least : 0);
  }
  out["output_padding"] = padding;
  return out;
}

}  // namespace

struct TweenFeedback::Map {
  const Layer* layer = nullptr;
  LayerPtr inverse;  // null: the kind has none
  std::vector<Weight*> weights;
  Gradients gradients;
  Arena arena;       // of a feedback phase for inputs of `planned`
  std::optional<Shape> planned;
};

TweenFeedback::TweenFeedback(const TweenConfig& config, std::uint64_t seed, Element element, std::map<const Layer*, std::string> paths, Finder find)
    : repeats_(config.feedback_steps), noise_(config.feedback_noise), rate_(config.feedback_learning_rate), seed_(seed), element_(element),
      paths_(std::move(paths)), find_(std::move(find)) {}
TweenFeedback::~TweenFeedback() = default;

// Made in the first rehearsal that meets the layer.
TweenFeedback::Map* TweenFeedback::map_of(const Exec& exec, const Layer& layer, const Shape& x, const Shape& y) {
  const auto path = paths_.find(&layer);
  if (path == paths_.end()) return nullptr;
  std::unique_ptr<Map>& map = maps_[path->second];
  if (map != nullptr) return map->inverse ? map.get() : nullptr;
  map = std::make_unique<Map>();
  map->layer = &layer;
  const Json spec = inverse_of(layer, x, y, element_);
  if (spec.is_null()) return nullptr;
  const auto make = [&]() -> Result<void> {
    LOOM_TRY(map->inverse, layer_from_json(spec));
    LOOM_TRY_VOID(initialise_weights(path->second + ".feedback", *map->inverse, seed_));
    LOOM_TRY(const Shape back, map->inverse->output_shape(y));
    if (!(back == x)) return fail(Code::ShapeMismatch, "{}: its inverse makes {} of {}, the input has {}", path->second, back.text(), y.text(), x.text());
    std::vector<std::size_t> sizes;
    map->inverse->visit_all_weights([&](Weight& w) {
      w.set_slot(sizes.size()), sizes.push_back(w.elements()), map->weights.push_back(&w);
    });
    map->inverse->site = random_site(path->second + ".feedback");
    LOOM_TRY(map->gradients, Gradients::create(sizes, element_));
    return {};
  };
  if (auto made = make(); !made) {
    map->inverse = nullptr;
    if (!exec.status) exec.status = std::move(made).error();
  }
  return map->inverse ? map.get() : nullptr;
}

void TweenFeedback::replace(const Exec& exec, const Layer& layer, const ConstView& dy, const View& dx) {
  Map* const map = map_of(exec, layer, dx.shape, dy.shape);
  if (map == nullptr) return;
  const ArenaScope scope(exec.arena);
  const View wanted = exec.arena.view(dy.shape, dy.element), there = exec.arena.view(dx.shape, dx.element), here = exec.arena.view(dx.shape, dx.element);
  ConstView y = dy;
  if (!exec.rehearsal()) {
    const auto seen = find_(layer);
    if (!seen) return;
    y = seen->y;
  }
  add(exec, y, dy, wanted);
  map->inverse->forward(exec, Pass{}, wanted, there);
  map->inverse->forward(exec, Pass{}, y, here);
  scale(exec, here, -1, here);
  add(exec, there, here, dx);
}

Result<void> TweenFeedback::train(const Exec& threads, std::uint32_t step) {
  for (const auto& [path, map] : maps_) {
    if (!map->inverse) continue;
    if (const auto seen = find_(*map->layer)) {
      if (auto done = train_map(threads, *map->layer, *map, *seen, step); !done) return at(path + ".feedback", std::move(done).error());
    }
  }
  return {};
}

Result<void> TweenFeedback::train_map(const Exec& threads, const Layer& layer, Map& map, const Seen& seen, std::uint32_t step) {
  const auto rows = static_cast<double>(seen.x.shape.rows());
  const auto run = [&](const Exec& exec, std::size_t k) {
    exec.arena.rewind(0);
    Tape tape;
    Pass plain, keeping;
    keeping.tape = &tape, keeping.gradients = &map.gradients;
    const View xn = exec.arena.view(seen.x.shape, element_), y = exec.arena.view(seen.y.shape, element_), back = exec.arena.view(seen.x.shape, element_);
    const RandomStream stream{seed_, RandomDomain::Noise, static_cast<std::uint32_t>(step * repeats_ + k), layer.site};
    with_element(element_, [&]<class T>() {
      for_elements(exec, xn.shape.elements(), [&](std::size_t at, std::size_t n) {
        for (std::size_t i = at; i < at + n; ++i) xn.as<T>()[i] = snap_one(seen.x.as<T>()[i] + snap_one(static_cast<T>(noise_ * normal(stream, i))));
      });
    });
    layer.forward(exec, plain, xn, y);
    map.inverse->forward(exec, keeping, y, back);
    const View d = exec.arena.view(seen.x.shape, element_);
    scale(exec, xn, -1, d);
    add(exec, back, d, d);
    scale(exec, d, 2 / rows, d);
    map.gradients.clear();
    map.inverse->backward(exec, keeping, d, View{nullptr, seen.y.shape, element_});
  };
  if (!map.planned || !(*map.planned == seen.x.shape)) {
    map.arena = Arena::measuring();
    run({threads.pool, threads.kernels, map.arena}, 0);
    LOOM_TRY(map.arena, Arena::create(map.arena.peak()));
    map.planned = seen.x.shape;
  }
  for (std::size_t k = 0; k < repeats_; ++k) {
    const Exec exec{threads.pool, threads.kernels, map.arena};
    run(exec, k);
    if (exec.status) return tl::make_unexpected(*exec.status);
    for (Weight* w : map.weights) {
      const auto move = [&]<class T>(std::span<const T> now) -> Result<void> {
        std::vector<T> next(now.begin(), now.end());
        const T* const g = static_cast<const T*>(map.gradients.of(*w));
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = snap_one(next[i] - snap_one(static_cast<T>(rate_) * g[i]));
        return w->set(std::span<const T>(next));
      };
      LOOM_TRY_VOID(element_ == Element::f64 ? move(w->master64()) : move(w->master()));
    }
  }
  return {};
}

void TweenFeedback::visit_weights(const std::function<void(const std::string&, Weight&)>& visit) {
  for (const auto& [path, map] : maps_)
    for (Weight* w : map->weights) visit(path + ".feedback." + w->name(), *w);
}

std::size_t TweenFeedback::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [path, map] : maps_) {
    bytes += map->arena.size() + map->gradients.bytes();
    for (const Weight* w : map->weights) bytes += w->resident_bytes();
  }
  return bytes;
}

}  // namespace loom
