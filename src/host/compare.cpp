#include "host/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/json.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

WeightDifference compare_weight(const std::string& path, const Weight& a, const Weight& b) {
  WeightDifference d{path, {}, std::string(name(a.dtype())), std::string(name(b.dtype()))};
  if (!(a.shape() == b.shape())) {
    d.note = fmt::format("shapes {} and {}", a.shape().text(), b.shape().text()), d.equal = false;
    return d;
  }
  std::vector<double> x(a.elements()), y(a.elements());
  a.decode(0, x.size(), x.data());
  b.decode(0, y.size(), y.data());
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    d.largest = std::max(d.largest, std::abs(x[i] - y[i]));
    xx += x[i] * x[i], yy += y[i] * y[i], xy += x[i] * y[i];
  }
  d.cosine = xx == 0 || yy == 0 ? (xx == yy ? 1 : 0) : xy / std::sqrt(xx * yy);
  d.equal = d.largest == 0 && a.dtype() == b.dtype();
  return d;
}

}  // namespace

NetworkComparison compare_networks(const Network& a, const Network& b) {
  std::map<std::string, const Weight*> in_b;
  b.visit_weights([&](const std::string& path, const Weight& w, const Layer&) { in_b[path] = &w; });
  NetworkComparison out;
  a.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    const auto found = in_b.find(path);
    if (found == in_b.end()) {
      out.weights.push_back({path, "only in the first", {}, {}, 0, 1, false});
    } else {
      out.weights.push_back(compare_weight(path, w, *found->second));
      in_b.erase(found);
    }
  });
  for (const auto& [path, w] : in_b) out.weights.push_back({path, "only in the second", {}, {}, 0, 1, false});
  out.equal = network_to_json(a) == network_to_json(b) && std::ranges::all_of(out.weights, &WeightDifference::equal);
  return out;
}

Json to_json(const WeightDifference& d) {
  Json out{{"path", d.path}, {"equal", d.equal}};
  if (!d.note.empty()) {
    out["note"] = d.note;
  } else {
    out["dtype_a"] = d.dtype_a, out["dtype_b"] = d.dtype_b, out["largest_difference"] = d.largest,
    out["cosine"] = d.cosine;
  }
  return out;
}

Json to_json(const NetworkComparison& comparison) {
  Json weights = Json::array();
  for (const WeightDifference& d : comparison.weights) weights.push_back(to_json(d));
  return {{"equal", comparison.equal}, {"weights", std::move(weights)}};
}

}  // namespace loom
