#include "graph/fusing.h"

#include <algorithm>
#include <array>

#include "graph/formulas.h"
#include "graph/products.h"
#include "ops/non_finite.h"
#include "simd/orders.h"

namespace loom::graph {
namespace {

class Fuser {
 public:
  Fuser(Plan& plan, int opset, const Exec& like, FoldedWeights& folded)
      : plan_(plan), opset_(opset), like_(like), folded_(folded) {
    readers_.resize(plan.values.size()), is_output_.resize(plan.values.size());
    writer_.resize(plan.values.size(), kNowhere);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      for (const int in : plan.steps[s].ins)
        if (in >= 0) readers_[root(in)].push_back(s);
      for (const int out : plan.steps[s].outs)
        if (out >= 0) writer_[root(out)] = s;
    }
    for (const std::size_t out : plan.outputs) is_output_[plan.roots[out]] = true;
    gone_.resize(plan.steps.size());
  }

  Result<void> run() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) LOOM_TRY_VOID(fold_into_convolution(s));
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) add_row_to_product(s);
    for (std::size_t s = plan_.steps.size(); s-- > 0;) join_formulas(s);
    std::vector<Step> kept;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      if (!gone_[s]) kept.push_back(std::move(plan_.steps[s]));
    plan_.steps = std::move(kept);
    for (Step& step : plan_.steps) LOOM_TRY_VOID(choose_convolution(step));
    return {};
  }

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  std::size_t root(int slot) const { return plan_.roots[static_cast<std::size_t>(slot)]; }
  const Value& value(int slot) const { return plan_.values[static_cast<std::size_t>(slot)]; }
  static bool is_f32(const Value& v) { return v.type == Type::f32 && v.elements() != 0; }
  bool is_constant(int slot) const { return slot >= 0 && value(slot).constant && is_f32(value(slot)); }

  int add(Value fresh) {
    plan_.values.push_back(std::move(fresh));
    plan_.roots.push_back(plan_.values.size() - 1);
    readers_.emplace_back(), is_output_.push_back(false), writer_.push_back(kNowhere);
    return static_cast<int>(plan_.values.size() - 1);
  }

  // The one step that reads the one output of step s, as it is.
  std::size_t only_reader(std::size_t s) const {
    const Step& step = plan_.steps[s];
    if (step.outs.size() != 1 || step.outs[0] < 0 || is_output_[root(step.outs[0])]) return kNowhere;
    const auto& readers = readers_[root(step.outs[0])];
    if (readers.size() != 1 || gone_[readers[0]]) return kNowhere;
    return std::ranges::count(plan_.steps[readers[0]].ins, step.outs[0]) == 1 ? readers[0] : kNowhere;
  }
  // Step s gives what `last` gave, which is no more.
  void take_over(std::size_t s, std::size_t last) {
    plan_.steps[s].outs = plan_.steps[last].outs;
    writer_[root(plan_.steps[s].outs[0])] = s;
    gone_[last] = true;
  }

  // ---- constants into the weight of a convolution ----

  struct Scaling {
    std::vector<double> factors, shifts;  // of the channels
    bool scales = false;
  };

  // One number, or one for each channel, of a tensor [N, C, ...].
  bool is_by_channel(int slot, const Dims& dims) const {
    if (!is_constant(slot) || value(slot).rank() > dims.size()) return false;
    if (value(slot).elements() == 1) return true;
    const std::size_t skipped = dims.size() - value(slot).rank();
    return skipped < 2 && value(slot).elements() == dims[1] && value(slot).dims[1 - skipped] == dims[1];
  }
  double by_channel(int slot, std::size_t c) const { return value(slot).number(value(slot).elements() == 1 ? 0 : c); }

  // y = given * factor + shift, followed by the step. False where the step is nothing of the kind.
  bool follow(const Step& step, int given, const Dims& dims, Scaling& scaling) const {
    if (step.outs.size() != 1 || step.outs[0] < 0 || value(step.outs[0]).dims != dims || !is_f32(value(step.outs[0])))
      return false;
    const std::string& op = step.node->op;
    const std::size_t channels = dims[1];
    if (op == "BatchNormalization") {
      if (step.ins.size() != 5 || step.ins[0] != given) return false;
      for (std::size_t i = 1; i < 5; ++i)
        if (!is_constant(step.ins[i]) || value(step.ins[i]).elements() != channels) return false;
      const Attribute* const eps = step.node->find("epsilon");
      for (std::size_t c = 0; c < channels; ++c) {
        const auto number = [&](std::size_t i) { return value(step.ins[i]).number(c); };
        const double factor = number(1) / __builtin_sqrt(number(4) + (eps != nullptr ? eps->number : 1e-5));
        scaling.factors[c] *= factor;
        scaling.shifts[c] = (scaling.shifts[c] - number(3)) * factor + number(2);
      }
      return scaling.scales = true;
    }
    if (step.ins.size() != 2) return false;
    const bool is_first = step.ins[0] == given;
    const int other = step.ins[is_first ? 1 : 0];
    if (!is_by_channel(other, dims)) return false;
    if (op == "Add" || (op == "Sub" && is_first)) {
      for (std::size_t c = 0; c < channels; ++c) scaling.shifts[c] += (op == "Add" ? 1 : -1) * by_channel(other, c);
      return true;
    }
    if (op != "Mul" && !(op == "Div" && is_first)) return false;
    for (std::size_t c = 0; c < channels; ++c) {
      const double factor = op == "Mul" ? by_channel(other, c) : 1 / by_channel(other, c);
      scaling.factors[c] *= factor, scaling.shifts[c] *= factor;
    }
    return scaling.scales = true;
  }

  Result<void> fold_into_convolution(std::size_t s) {
    Step& conv = plan_.steps[s];
    const bool turned = conv.node->op == "ConvTranspose";
    if ((!turned && conv.node->op != "Conv") || conv.packed == nullptr || !is_constant(conv.ins[1])) return {};
    const bool has_bias = conv.ins.size() > 2 && conv.ins[2] >= 0;
    if ((has_bias && !is_constant(conv.ins[2])) || !is_f32(value(conv.outs[0]))) return {};
    const Dims& dims = value(conv.outs[0]).dims;
    Scaling scaling{std::vector<double>(dims[1], 1.0), std::vector<double>(dims[1], 0.0)};
    if (has_bias)
      for (std::size_t c = 0; c < dims[1]; ++c) scaling.shifts[c] = value(conv.ins[2]).number(c);
    std::vector<const Node*> nodes;
    std::vector<std::size_t> followed{s};
    for (std::size_t next = only_reader(s); next != kNowhere; next = only_reader(next)) {
      Scaling further = scaling;
      if (!follow(plan_.steps[next], plan_.steps[followed.back()].outs[0], dims, further) || !is_finite(further)) break;
      scaling = std::move(further);
      followed.push_back(next), nodes.push_back(plan_.steps[next].node);
    }
    if (nodes.empty()) return {};
    FoldedWeight& folded = folded_[conv.node];
    if (folded.nodes != nodes) {
      LOOM_TRY(const bool fits, scale(value(conv.ins[1]), turned, scaling, nodes, folded));
      if (!fits) return {};
    }
    conv.ins.resize(3, -1);
    conv.ins[1] = add(folded.weight), conv.ins[2] = add(folded.bias);
    for (const std::size_t t : followed) gone_[t] = t != s;
    take_over(s, followed.back());
    return {};
  }

  static bool is_finite(const Scaling& scaling) {
    const auto fits = [](double x) { return loom::is_finite(x) && x < 0x1p100 && x > -0x1p100; };
    return std::ranges::all_of(scaling.factors, fits) && std::ranges::all_of(scaling.shifts, fits);
  }

  // The weight [C, ...] with its channels scaled; that of a transposed convolution is [in, C / groups, ...]. False
  // where a product is beyond f32.
  static Result<bool> scale(const Value& weight, bool turned, const Scaling& scaling,
                            const std::vector<const Node*>& nodes, FoldedWeight& to) {
    const std::size_t channels = scaling.factors.size();
    LOOM_TRY(Value bias, Value::create(Type::f32, {channels}));
    Value scaled = weight;
    if (scaling.scales) {
      LOOM_TRY(scaled, Value::create(Type::f32, weight.dims));
      const std::size_t taps = count(std::span(weight.dims).subspan(2)), of_group = weight.dims[1];
      const std::size_t groups = turned ? channels / of_group : 1, ins = weight.dims[0] / groups;
      for (std::size_t i = 0; i < weight.elements(); ++i) {
        const std::size_t row = i / (taps * of_group);
        const std::size_t c = turned ? row / ins * of_group + i / taps % of_group : row;
        const float w = snap(static_cast<float>(weight.number(i) * scaling.factors[c]));
        if (!loom::is_finite(w)) return false;
        scaled.as<float>()[i] = w;
      }
    }
    for (std::size_t c = 0; c < channels; ++c) bias.as<float>()[c] = snap(static_cast<float>(scaling.shifts[c]));
    scaled.known = scaled.constant = bias.known = bias.constant = true;
    to = {nodes, std::move(scaled), std::move(bias)};
    return true;
  }

  // ---- convolutions of few positions ----

  Result<void> choose_convolution(Step& step) {
    constexpr std::size_t kFewPositions = 10;  // of the sixteen lanes that they would fill
    if (step.node->op != "Conv" || step.packed == nullptr || !is_constant(step.ins[1]) || !is_f32(value(step.outs[0])))
      return {};
    const Attribute* const groups = step.node->find("group");
    const Dims& dims = value(step.outs[0]).dims;
    if ((groups != nullptr && groups->integer != 1) || count(std::span(dims).subspan(2)) > kFewPositions) return {};
    // Another plan may have put other constants into the weight.
    step.own_packed = std::make_shared<std::shared_ptr<void>>();
    step.packed = step.own_packed.get();
    step.run = conv_by_matrix;
    return measure(step);
  }

  // The scratch memory of a step that is run in another way than it was planned.
  Result<void> measure(const Step& step) {
    Arena arena = Arena::measuring();
    const Exec exec{like_.pool, like_.kernels, arena, nullptr, like_.activations};
    Op op(*step.node, opset_, exec);
    for (const int in : step.ins) op.ins.push_back(in < 0 ? nullptr : &value(in));
    std::vector<Value> outs;
    op.outs = &outs, op.packed = step.packed;
    LOOM_TRY_VOID(step.run(op));
    plan_.scratch = plan_.scratch.max(arena.peak());
    return {};
  }

  // ---- a row added to a product ----

  void add_row_to_product(std::size_t s) {
    Step& product = plan_.steps[s];
    if (product.node->op != "MatMul" || product.packed == nullptr || *product.packed == nullptr) return;
    const std::size_t next = only_reader(s);
    if (next == kNowhere || plan_.steps[next].node->op != "Add" || plan_.steps[next].ins.size() != 2) return;
    const Step& sum = plan_.steps[next];
    const int row = sum.ins[sum.ins[0] == product.outs[0] ? 1 : 0];
    const Dims& dims = value(product.outs[0]).dims;
    if (!is_constant(row) || !is_f32(value(product.outs[0])) || value(sum.outs[0]).dims != dims || dims.empty() ||
        value(row).rank() == 0 || value(row).elements() != dims.back() || value(row).dims.back() != dims.back())
      return;
    product.ins = {product.ins[0], product.ins[1], row};
    product.run = product_and_row;
    take_over(s, next);
  }

  // ---- formulas ----

  std::optional<FormulaStep> formula_step(std::size_t s) const {
    const Step& step = plan_.steps[s];
    if (gone_[s] || step.fused || step.outs.size() != 1 || step.outs[0] < 0 || !is_f32(value(step.outs[0])))
      return std::nullopt;
    std::vector<const Value*> ins;
    ins.reserve(step.ins.size());
    for (const int in : step.ins) ins.push_back(in < 0 ? nullptr : &value(in));
    return step_of(*step.node, opset_, ins);
  }

  struct Joined {
    std::vector<std::size_t> steps;  // ascending
    std::vector<int> ins;
    std::optional<Formula> formula;
  };

  Joined joined(std::vector<std::size_t> steps) const {
    Joined j{std::move(steps), {}, {}};
    std::vector<FormulaStep> list;
    for (const std::size_t s : j.steps) {
      FormulaStep step = *formula_step(s);
      const auto operand = [&](std::size_t i) -> std::uint8_t {
        const int slot = plan_.steps[s].ins[i];
        for (std::size_t k = 0; k < list.size(); ++k)
          if (plan_.steps[j.steps[k]].outs[0] == slot) return static_cast<std::uint8_t>(kFormulaInputs + k);
        const auto found = std::ranges::find(j.ins, slot);
        if (found == j.ins.end()) j.ins.push_back(slot);
        return static_cast<std::uint8_t>(std::ranges::find(j.ins, slot) - j.ins.begin());
      };
      step.a = operand(0);
      if (has_two_operands(step.kind)) step.b = operand(1);
      list.push_back(step);
    }
    if (j.ins.size() <= kFormulaInputs) j.formula = Formula::create(list);
    return j;
  }

  // Step s and all before it whose results it alone needs.
  void join_formulas(std::size_t s) {
    if (!formula_step(s)) return;
    const int out = plan_.steps[s].outs[0];
    Joined all = joined({s});
    for (bool grows = true; grows;) {
      grows = false;
      for (const int in : std::vector<int>(all.ins)) {
        const std::size_t before = writer_[root(in)];
        if (before == kNowhere || is_output_[root(in)] || !formula_step(before) || plan_.steps[before].outs[0] != in ||
            value(in).dims != value(out).dims || !std::ranges::all_of(readers_[root(in)], [&](std::size_t r) {
              return gone_[r] || std::ranges::find(all.steps, r) != all.steps.end();
            }))
          continue;
        std::vector<std::size_t> more = all.steps;
        more.insert(std::ranges::lower_bound(more, before), before);
        Joined wider = joined(std::move(more));
        if (!wider.formula) continue;
        all = std::move(wider), grows = true;
        break;
      }
    }
    if (all.steps.size() == 1) return;
    Step& step = plan_.steps[s];
    step.fused = std::make_shared<Fused>(Fused{*all.formula, value(out).type, value(out).dims});
    step.run = fused_op, step.ins = all.ins;
    for (const int in : all.ins) readers_[root(in)].push_back(s);
    for (const std::size_t member : all.steps) gone_[member] = member != s;
  }

  Plan& plan_;
  int opset_;
  const Exec& like_;
  FoldedWeights& folded_;
  std::vector<std::vector<std::size_t>> readers_;  // of roots: steps
  std::vector<bool> is_output_;
  std::vector<std::size_t> writer_;
  std::vector<bool> gone_;
};

}  // namespace

Result<void> fuse(Plan& plan, int opset, const Exec& like, FoldedWeights& folded) {
  return Fuser(plan, opset, like, folded).run();
}

}  // namespace loom::graph
