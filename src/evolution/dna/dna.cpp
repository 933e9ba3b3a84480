#include "evolution/dna/dna.h"

#include "evolution/sums.h"

namespace loom {
namespace {

constexpr int kMaxDepth = 256;  // containers and links, one inside the other

void normalise(std::vector<double>& v) {
  const double length = std::sqrt(dot(v, v));
  if (length > 0)
    for (double& x : v) x /= length;
}

// W + sum of scale B A, in f64.
std::vector<double> effective_values(const Weight& w) {
  std::vector<double> values(w.elements());
  w.decode(0, w.elements(), values.data());
  for (const Adapter& adapter : w.adapters()) {
    if (!adapter.enabled || !adapter.a.has_value() || !adapter.b.has_value()) continue;
    const std::size_t rank = adapter.a.rows();
    std::vector<double> a(adapter.a.elements()), b(adapter.b.elements());
    adapter.a.decode(0, a.size(), a.data());
    adapter.b.decode(0, b.size(), b.data());
    for (std::size_t o = 0; o < w.rows(); ++o)
      for (std::size_t i = 0; i < w.cols(); ++i) {
        double sum = 0;
        for (std::size_t r = 0; r < rank; ++r) sum += b[o * rank + r] * a[r * w.cols() + i];
        values[o * w.cols() + i] += adapter.scale * sum;
      }
  }
  return values;
}

class Extractor {
 public:
  Extractor(const Network& network, const DnaOptions& options) : network_(network), options_(options) {}

  Result<void> cell(std::size_t index) {
    Signature s;
    s.address = network_.address_of(index), s.path = Network::path(index);
    return add(std::move(s), *network_.cell(index).front(), values_of_cell(index, 0));
  }

  Dna dna;

 private:
  struct Values {
    std::string type;
    DType dtype = DType::float32;
    std::vector<double> values;
    bool has_weights = false;
  };

  Result<void> add(Signature s, Layer& layer, Result<Values> values) {
    LOOM_TRY(Values own, std::move(values));
    s.type = own.type, s.dtype = own.dtype, s.weights = std::move(own.values), s.has_weights = own.has_weights;
    const Address address = s.address;
    const std::string path = s.path;
    dna.signatures.push_back(std::move(s));
    if (!options_.nested) return {};
    Result<void> done;
    layer.visit_children([&](const std::string& below, Layer& child) {
      if (!done) return;
      Signature nested;
      nested.address = address, nested.path = path + "." + below, nested.is_cell = false;
      done = add(std::move(nested), child, values_of(child, 0));
    });
    return done;
  }

  // Returns the values of the operation that a cell runs. A cell without one passes another cell's output through, and
  // its signature is of the type "link".
  Result<Values> values_of_cell(std::size_t index, int depth) {
    const Cell& cell = network_.cell(index);
    if (cell.operation() != nullptr) return values_of(*cell.operation(), depth + cell.is_fed());
    return Values{"link", DType::float32, {1}, false};
  }

  Result<Values> values_of(Layer& layer, int depth) {
    if (depth > kMaxDepth)
      return fail(Code::NestingTooDeep, "dna: links and containers nest deeper than {}", kMaxDepth);
    if (const Share* share = layer_as<Share>(layer)) {  // it is what its target is
      LOOM_TRY(const std::size_t target, network_.target_of(*share));
      if (network_.cell(target).is_empty())
        return fail(Code::LinkToEmpty, "dna: a link leads to {}, which is empty", network_.place_text(target));
      return values_of_cell(target, depth + 1);
    }
    Values out;
    out.type = std::string(layer.kind()), out.dtype = layer.common.encoding.dtype;
    Result<void> done;
    layer.visit_children([&](const std::string&, Layer& child) {
      if (!done) return;
      auto inner = values_of(child, depth + 1);
      if (!inner) return void(done = tl::make_unexpected(std::move(inner).error()));
      out.has_weights = out.has_weights || inner->has_weights;
      out.values.insert(out.values.end(), inner->values.begin(), inner->values.end());
    });
    if (!done) return tl::make_unexpected(std::move(done).error());
    layer.visit_weights([&](Weight& w) {
      if (!done) return;
      if (!w.has_value()) return void(done = fail(Code::InvalidState, "dna: {} has no value yet", w.name()));
      if (!out.has_weights || w.role() == WeightRole::Matrix) out.dtype = w.dtype();
      out.has_weights = true;
      const std::vector<double> values = effective_values(w);
      out.values.insert(out.values.end(), values.begin(), values.end());
    });
    if (!done) return tl::make_unexpected(std::move(done).error());
    if (out.values.empty()) out.values = {1};
    normalise(out.values);
    total_ += out.values.size();
    if (total_ > options_.max_values)
      return fail(Code::LimitExceeded, "dna: more than {} values in all", options_.max_values);
    return out;
  }

  const Network& network_;
  DnaOptions options_;
  std::size_t total_ = 0;
};

}  // namespace

std::string Signature::key() const {
  return is_cell ? fmt::format("{},{},{},{}", address.z, address.y, address.x, address.l) : path;
}

Result<Dna> extract_dna(const Network& network, const DnaOptions& options) {
  Extractor extractor(network, options);
  for (std::size_t i = 0; i < network.num_cells(); ++i)
    if (!network.cell(i).is_empty()) {
      if (auto done = extractor.cell(i); !done) return at(network.place_text(i), std::move(done).error());
    }
  return std::move(extractor.dna);
}

double similarity(const Signature& a, const Signature& b) {
  if (a.type != b.type || a.weights.size() != b.weights.size()) return 0;
  return cosine_similarity(a.weights, b.weights);
}

}  // namespace loom
