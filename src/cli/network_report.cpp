#include "cli/network_report.h"

#include "core/json.h"

#include <cmath>
#include <map>

namespace loom::cli {

std::vector<LayerRow> layer_rows(const Network& network) {
  std::vector<LayerRow> rows;
  network.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    LayerRow row{path, std::string(layer.kind()), {}, 0, 0, layer.common.is_disabled};
    layer.visit_all_weights([&](Weight& w) {
      if (w.is_tied()) return;
      row.weights += w.elements();
      row.resident_bytes += w.resident_bytes();
      if (row.dtype.empty() || w.role() == WeightRole::Matrix) row.dtype = std::string(name(w.dtype()));
    });
    rows.push_back(std::move(row));
  });
  return rows;
}

std::string WeightDifference::text() const {
  if (!note.empty()) return fmt::format("{:<56} {}", path, note);
  if (equal) return fmt::format("{:<56} {:<9} equal", path, dtype_a);
  return fmt::format("{:<56} {:<9} {:<9} largest difference {:.6g}, cosine {:.9f}", path, dtype_a, dtype_b, largest,
                     cosine);
}

Json WeightDifference::to_json() const {
  Json out{{"path", path}, {"equal", equal}};
  if (!note.empty()) {
    out["note"] = note;
  } else {
    out["dtype_a"] = dtype_a, out["dtype_b"] = dtype_b, out["largest_difference"] = largest, out["cosine"] = cosine;
  }
  return out;
}

namespace {

WeightDifference compare(const std::string& path, const Weight& a, const Weight& b) {
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

std::vector<WeightDifference> compare_weights(const Network& a, const Network& b) {
  std::map<std::string, const Weight*> in_b;
  b.visit_weights([&](const std::string& path, const Weight& w, const Layer&) { in_b[path] = &w; });
  std::vector<WeightDifference> rows;
  a.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    const auto found = in_b.find(path);
    if (found == in_b.end()) {
      rows.push_back({path, "only in the first", {}, {}, 0, 1, false});
    } else {
      rows.push_back(compare(path, w, *found->second));
      in_b.erase(found);
    }
  });
  for (const auto& [path, w] : in_b) rows.push_back({path, "only in the second", {}, {}, 0, 1, false});
  return rows;
}

}  // namespace loom::cli
