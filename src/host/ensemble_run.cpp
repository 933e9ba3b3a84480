#include "host/ensemble_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "core/json.h"
#include "core/little_endian.h"
#include "evolution/ensemble/ensemble.h"
#include "host/right_answers.h"

namespace loom {
namespace {

// Outputs of the members, row by row.
struct MemberOutputs {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::int32_t>> classes;
  std::size_t rows = 0, cols = 0;
};

struct Combined {
  std::vector<double> mean;
  std::vector<std::int32_t> classes;
};

Result<void> check_weights(const std::vector<double>& weights, std::size_t members) {
  if (weights.empty()) return {};
  if (weights.size() != members)
    return fail(Code::InvalidArgument, "{} weights for {} members", weights.size(), members);
  for (const double w : weights)
    if (!(w >= 0) || !std::isfinite(w))
      return fail(Code::InvalidArgument, "a weight is {}: expected a finite number, 0 or more", w);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sum <= 0) return fail(Code::InvalidArgument, "all weights are 0: expected one above 0");
  if (!(sum >= 1e-300 && sum <= 1e300))
    return fail(Code::InvalidArgument, "the weights add up to {}: expected 1e-300 to 1e300", sum);
  return {};
}

Combined mean_of(const MemberOutputs& all, std::span<const std::size_t> which, std::span<const double> weights) {
  Combined out;
  out.mean.assign(all.rows * all.cols, 0.0);
  double total = 0;
  for (const std::size_t m : which) total += weights[m];
  for (std::size_t i = 0; i < out.mean.size(); ++i) {
    double sum = 0;
    for (const std::size_t m : which) sum += weights[m] * all.values[m][i];
    out.mean[i] = total > 0 ? sum / total : 0;
  }
  out.classes = row_classes(out.mean, all.cols);
  return out;
}

Result<Combined> vote_of(const MemberOutputs& all, std::span<const std::size_t> which,
                         std::span<const double> weights) {
  Combined out;
  std::vector<std::int32_t> votes(which.size());
  std::vector<double> counts(which.size());
  for (std::size_t i = 0; i < which.size(); ++i) counts[i] = weights[which[i]];
  for (std::size_t row = 0; row < all.rows; ++row) {
    for (std::size_t i = 0; i < which.size(); ++i) votes[i] = all.classes[which[i]][row];
    LOOM_TRY(const std::int32_t one, weighted_vote(votes, counts));
    out.classes.push_back(one);
  }
  return out;
}

Result<Combined> combine(const MemberOutputs& all, std::span<const std::size_t> which, std::span<const double> weights,
                         EnsembleMode mode) {
  if (mode == EnsembleMode::Vote) return vote_of(all, which, weights);
  return mean_of(all, which, weights);
}

ModelPerformance performance_of(const std::string& name, std::span<const std::int32_t> classes,
                                std::span<const std::int32_t> right) {
  ModelPerformance out{name, {}};
  for (std::size_t i = 0; i < classes.size(); ++i) out.mask.push_back(classes[i] == right[i]);
  return out;
}
double share_of(const ModelPerformance& p) {
  return static_cast<double>(std::ranges::count(p.mask, true)) / static_cast<double>(p.mask.size());
}

Result<MemberOutputs> run_members(std::span<const EnsembleInput> members, const TensorValues& inputs,
                                  const EnsembleOptions& o, EnsembleResult& result) {
  MemberOutputs all;
  for (const EnsembleInput& member : members) {
    auto y = run_network(*member.network, inputs, o.run);
    if (!y) return at(member.name, std::move(y).error());
    if (y->non_finite)
      return fail(Code::NonFinite, "{}: element {} of the output is not finite", member.name, *y->non_finite);
    if (!all.values.empty() && !(y->shape == result.output_shape))
      return fail(Code::ShapeMismatch, "{}: outputs of the shape {}, {} has {}: expected equal ones", member.name,
                  y->shape.text(), members[0].name, result.output_shape.text());
    result.input_shape = y->input_shape, result.output_shape = y->shape;
    all.rows = y->shape.rows(), all.cols = y->shape.cols();
    const ConstView view = y->view();
    std::vector<double> values(y->shape.elements());
    with_element(view.element, [&]<class T>() { std::copy_n(view.as<T>(), values.size(), values.begin()); });
    all.classes.push_back(row_classes(values, all.cols));
    all.values.push_back(std::move(values));
    result.members.push_back({member.name, y->hash, {}});
  }
  return all;
}

Result<void> judge(const MemberOutputs& all, const TensorValues& targets, const EnsembleOptions& o,
                   std::span<const double> weights, EnsembleResult& result) {
  const auto classes = target_classes(targets, all.rows, all.cols);
  if (!classes) return at(o.targets_name, classes.error());
  const std::vector<std::int32_t>& right = *classes;
  std::vector<ModelPerformance> masks;
  for (std::size_t m = 0; m < all.classes.size(); ++m) {
    masks.push_back(performance_of(result.members[m].name, all.classes[m], right));
    result.members[m].accuracy = share_of(masks[m]);
  }
  result.accuracy = share_of(performance_of({}, result.classes, right));
  LOOM_TRY(const auto matches, find_complementary_matches(masks, o.min_coverage));
  for (const ComplementaryMatch& match : matches) {
    const std::size_t both[] = {match.a, match.b};
    LOOM_TRY(const Combined pair, combine(all, both, weights, o.mode));
    result.matches.push_back({match.a, match.b, match.coverage, match.overlap,
                              performance_similarity(masks[match.a], masks[match.b]),
                              share_of(performance_of({}, pair.classes, right))});
  }
  return {};
}

Digest digest_of_ensemble(const EnsembleResult& result) {
  Sha256 hash;
  std::array<std::byte, 8> bytes;
  for (const double v : result.mean) {
    store_le(bytes.data(), std::bit_cast<std::uint64_t>(v));
    hash.update(bytes);
  }
  if (result.mean.empty())
    for (const std::int32_t id : result.classes) hash.update_u32(static_cast<std::uint32_t>(id));
  return hash.finish();
}

}  // namespace

Result<EnsembleResult> run_ensemble(std::span<const EnsembleInput> members, const Examples& data,
                                    const EnsembleOptions& options) {
  if (members.size() < 2) return fail(Code::InvalidArgument, "{} member: an ensemble has two or more", members.size());
  LOOM_TRY_VOID(check_weights(options.weights, members.size()));
  const std::vector<double> weights =
      options.weights.empty() ? std::vector<double>(members.size(), 1) : options.weights;
  EnsembleResult result;
  result.mode = options.mode;
  LOOM_TRY(const MemberOutputs all, run_members(members, data.inputs, options, result));
  std::vector<std::size_t> everyone(members.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  LOOM_TRY(Combined combined, combine(all, everyone, weights, options.mode));
  result.mean = std::move(combined.mean), result.classes = std::move(combined.classes);
  result.hash = digest_of_ensemble(result);
  if (data.has_targets) LOOM_TRY_VOID(judge(all, data.targets, options, weights, result));
  return result;
}

std::string_view name(EnsembleMode mode) { return kEnsembleModes[static_cast<std::size_t>(mode)]; }

Json to_json(const EnsembleResult& r, bool with_output) {
  Json members = Json::array(), matches = Json::array();
  for (const EnsembleMember& m : r.members) {
    members.push_back({{"network", m.name}, {"hash", to_hex(m.hash)}});
    if (m.accuracy) members.back()["accuracy"] = *m.accuracy;
  }
  for (const EnsembleMatch& m : r.matches)
    matches.push_back({{"a", m.a},
                       {"b", m.b},
                       {"coverage", m.coverage},
                       {"overlap", m.overlap},
                       {"cosine", m.cosine},
                       {"combined", m.combined}});
  Json out{{"mode", name(r.mode)},
           {"input_shape", r.input_shape.extents()},
           {"output_shape", r.output_shape.extents()},
           {"members", std::move(members)}};
  if (r.accuracy) out["accuracy"] = *r.accuracy, out["matches"] = std::move(matches);
  if (with_output && r.mode == EnsembleMode::Mean)
    out["output"] = nested_json({r.mean.data(), r.output_shape, Element::f64});
  if (with_output) out["classes"] = r.classes;
  out["hash"] = to_hex(r.hash);
  return out;
}

}  // namespace loom
