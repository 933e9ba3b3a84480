#include "training/metrics.h"

#include "core/json.h"

#include <cmath>

namespace loom {

template <class T>
void Metrics::add_rows(const ConstView& output, const Samples& samples) {
  const std::size_t classes = output.shape.cols(), rows = output.shape.rows();
  if (!samples.classes.empty()) {
    if (samples.classes.size() != rows) return;
    if (classes_ == 0 && classes <= kMostConfused) confusion_.assign(classes * classes, 0);
    classes_ = classes;
    for (std::size_t r = 0; r < rows; ++r) {
      const T* const o = output.as<T>() + r * classes;
      const auto wanted = static_cast<std::size_t>(samples.classes[r]);
      if (samples.classes[r] < 0 || wanted >= classes || samples.classes[r] == ignored_) continue;
      std::size_t best = 0, above = 0;
      for (std::size_t k = 1; k < classes; ++k)
        if (o[k] > o[best]) best = k;
      for (std::size_t k = 0; k < classes; ++k) above += o[k] > o[wanted] || (o[k] == o[wanted] && k < wanted);
      ++rows_, right_ += best == wanted, right_of_5_ += above < 5;
      if (!confusion_.empty()) ++confusion_[wanted * classes + best];
    }
    return;
  }
  const std::size_t columns = output.shape.cols();
  sums_.resize(columns), squares_.resize(columns);
  for (std::size_t i = 0; i < output.shape.elements(); ++i) {
    const auto o = static_cast<double>(output.as<T>()[i]);
    const double t = samples.values.element == Element::f64 ? samples.values.as<double>()[i]
                                                            : static_cast<double>(samples.values.as<float>()[i]);
    absolute_ += std::abs(o - t), residual_ += (o - t) * (o - t), squares_[i % columns] += t * t,
        sums_[i % columns] += t, values_ += 1;
  }
}

void Metrics::add(const ConstView& output, const Samples& samples, const LossValue& loss) {
  loss_ += loss.value * loss.count, count_ += loss.count;
  with_element(output.element, [&]<class T>() { add_rows<T>(output, samples); });
}

double Metrics::r2() const {
  const double rows = sums_.empty() ? 0 : values_ / static_cast<double>(sums_.size());
  double total = 0;
  for (std::size_t c = 0; c < sums_.size() && rows > 0; ++c) total += squares_[c] - sums_[c] * sums_[c] / rows;
  return total > 0 ? 1 - residual_ / total : 0;
}

double Metrics::value(Metric metric) const {
  switch (metric) {
    case Metric::Loss: return loss();
    case Metric::Accuracy: return accuracy();
    case Metric::Top5: return top_5();
    case Metric::Mae: return mae();
    case Metric::R2: return r2();
  }
  return loss();
}

Json Metrics::to_json() const {
  Json out = Json::object();
  out["loss"] = std::isfinite(loss()) ? Json(loss()) : Json();
  if (rows_ > 0) {
    out["accuracy"] = accuracy();
    if (classes_ > 5) out["top_5"] = top_5();
  } else if (values_ > 0) {
    out["mae"] = std::isfinite(mae()) ? Json(mae()) : Json();
    out["r2"] = std::isfinite(r2()) ? Json(r2()) : Json();
  }
  return out;
}

}  // namespace loom
