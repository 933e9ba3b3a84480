#include "layers/adapter.h"

#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/gather/gather.h"
#include "ops/gemm/gemm.h"

namespace loom {
namespace {

constexpr std::size_t kMaxAdapters = 64;  // of one weight

std::size_t rank_of(const Adapter& adapter) { return adapter.a.shape()[0]; }

// f(adapter, its rank) for those that count; `names` as in counts().
template <class F>
void each_counting(const Weight& weight, const std::vector<std::string>* names, F&& f) {
  for (const Adapter& adapter : weight.adapters())
    if (counts(adapter, names)) f(adapter, rank_of(adapter));
}

// scale * A [rank, in] in the arena.
template <class T>
const T* scaled_a(const Exec& exec, const Adapter& adapter, std::size_t cols) {
  const Tensor to = exec.arena.tensor(rank_of(adapter), cols, element_of<T>);
  scale(exec, {adapter.a.values<T>(exec), to.rows, cols, to.element}, adapter.scale, to);
  return to.as<T>();
}

Tensor gradient_of(const Run& run, const Weight& half, std::size_t rows, std::size_t cols, Element element) {
  return {run.gradient(half), rows, cols, element};
}

}  // namespace

bool is_adapter_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

Result<void> attach_adapter(Weight& matrix, const AdapterConfig& config) {
  std::vector<Adapter>& all = matrix.adapters();
  if (all.size() >= kMaxAdapters)
    return fail(Code::LimitExceeded, "{} has {} adapters, no more are allowed", matrix.name(), all.size());
  if (config.rank == 0) return fail(Code::InvalidConfig, "an adapter of rank 0");
  if (!config.name.empty() && !is_adapter_name(config.name))
    return fail(Code::InvalidConfig,
                "an adapter's name has up to 64 letters, digits, \"_\" and \"-\"; another was given");
  if (!(std::abs(config.alpha) <= 1e6))
    return fail(Code::InvalidConfig, "an adapter's alpha of {}, at most 1e6 expected", config.alpha);
  Adapter adapter;
  adapter.name = config.name.empty() ? fmt::format("lora{}", all.size()) : config.name;
  if (std::ranges::any_of(all, [&](const Adapter& other) { return other.name == adapter.name; }))
    return fail(Code::InvalidConfig, "{} has two adapters named \"{}\"", matrix.name(), adapter.name);
  adapter.scale = config.alpha / static_cast<double>(config.rank), adapter.enabled = config.enabled;
  const std::string name = matrix.name() + "." + adapter.name;
  LOOM_TRY_VOID(adapter.a.declare(name + ".a", WeightRole::Adapter, std::array{config.rank, matrix.cols()},
                                  {WeightInit::Rule::Normal, 1, 1, 0.02}));
  LOOM_TRY_VOID(adapter.b.declare(name + ".b", WeightRole::Adapter, std::array{matrix.rows(), config.rank}));
  all.push_back(std::move(adapter));
  return {};
}

Result<void> attach_adapters(Layer& layer) {
  std::vector<Weight*> matrices;
  layer.visit_weights([&](Weight& w) {
    if (w.role() == WeightRole::Matrix) matrices.push_back(&w);
  });
  for (std::size_t i = 0; i < layer.common.adapters.size(); ++i) {
    const AdapterConfig& config = layer.common.adapters[i];
    const auto wanted = [&](const Weight* w) {
      return config.weight.empty() ? matrices.size() == 1 : w->name() == config.weight;
    };
    const auto found = std::ranges::find_if(matrices, wanted);
    if (found == matrices.end()) {
      std::string known;
      for (const Weight* w : matrices) known += (known.empty() ? "" : ", ") + w->name();
      return fail_at({"adapters", std::to_string(i), "weight"},
                     config.weight.empty() ? Code::InvalidConfig : Code::UnknownName,
                     "{} {} matrices: {}; one of them expected", layer.kind(), matrices.size(), known);
    }
    if (auto attached = attach_adapter(**found, config); !attached)
      return under({"adapters", std::to_string(i)}, std::move(attached).error());
  }
  if (!layer.common.adapters.empty() && layer.common.freeze_base)
    layer.visit_weights([](Weight& w) { w.freeze(true); });
  return {};
}

Result<void> merge_adapters(Layer& layer) {
  std::optional<Error> error;
  const auto merge = [](Weight& w) -> Result<void> {
    if (w.is_tied()) return fail(Code::InvalidState, "{} is tied to a table, which other layers use too", w.name());
    LOOM_TRY_VOID(w.ensure_master());
    std::vector<double> values(w.master().begin(), w.master().end());
    if (!w.master64().empty()) values.assign(w.master64().begin(), w.master64().end());
    const std::size_t cols = w.cols();
    each_counting(w, nullptr, [&](const Adapter& adapter, std::size_t rank) {
      std::vector<double> a(rank * cols), b(w.rows() * rank);
      adapter.a.decode(0, a.size(), a.data());
      adapter.b.decode(0, b.size(), b.data());
      for (std::size_t o = 0; o < w.rows(); ++o)
        for (std::size_t i = 0; i < cols; ++i) {
          double sum = 0;
          for (std::size_t r = 0; r < rank; ++r) sum += b[o * rank + r] * a[r * cols + i];
          values[o * cols + i] += adapter.scale * sum;
        }
    });
    std::erase_if(w.adapters(), [](const Adapter& adapter) { return adapter.enabled; });
    return w.set(std::span<const double>(values));
  };
  layer.visit_weights([&](Weight& w) {
    if (error || !is_adapted(w)) return;
    if (auto merged = merge(w); !merged) error = std::move(merged).error();
  });
  if (error) return tl::make_unexpected(*std::move(error));
  std::erase_if(layer.common.adapters, [](const AdapterConfig& config) { return config.enabled; });
  if (layer.common.adapters.empty()) layer.visit_weights([](Weight& w) { w.freeze(false); });
  return {};
}

void adapt(const Run& run, ConstTensor x, const Weight& weight, std::size_t part, Tensor y) {
  each_counting(weight, run.adapters, [&](const Adapter& adapter, std::size_t rank) {
    const ArenaScope scope(run.arena());
    const Tensor h = run.tensor(x.rows, rank, x.element), u = run.tensor(y.rows, y.cols, x.element);
    with_element(x.element, [&]<class T>() {
      gemm(run, Operand::of(x), {adapter.a.values<T>(run), 1, x.cols}, x.cols, h);
      gemm(run, Operand::of(h), {adapter.b.values<T>(run) + part * y.cols * rank, 1, rank}, rank, u);
    });
    scale(run, u, adapter.scale, u);
    add(run, y, u, y);
  });
}

void adapt_backward(const Run& run, ConstTensor x, const Weight& weight, ConstTensor dy, Tensor dx, std::size_t block) {
  each_counting(weight, run.adapters, [&](const Adapter& adapter, std::size_t rank) {
    const ArenaScope scope(run.arena());
    const Tensor h = run.tensor(x.rows, rank, x.element), dh = run.tensor(x.rows, rank, x.element);
    const Tensor da = gradient_of(run, adapter.a, rank, x.cols, x.element),
                 db = gradient_of(run, adapter.b, dy.cols, rank, x.element);
    with_element(x.element, [&]<class T>() {
      const T *a = adapter.a.values<T>(run), *b = adapter.b.values<T>(run);
      if (db.data != nullptr) {
        gemm(run, Operand::of(x), {a, 1, x.cols}, x.cols, h);
        scale(run, h, adapter.scale, h);
        gemm(run, Operand::transposed(dy), Operand::of(h), x.rows, db, Into::Add, block);
      }
      gemm(run, Operand::of(dy), {b, rank, 1}, dy.cols, dh);
      scale(run, dh, adapter.scale, dh);
      if (da.data != nullptr) gemm(run, Operand::transposed(dh), Operand::of(x), x.rows, da, Into::Add, block);
      if (dx.data != nullptr) gemm(run, Operand::of(dh), {a, x.cols, 1}, rank, dx, Into::Add);
    });
  });
}

namespace {

// h[r] = B[ids[r]] * factor, 0 where there is no row.
template <class T>
Tensor rows_of_b(const Exec& exec, const Adapter& adapter, std::span<const std::int32_t> ids, double factor) {
  const Tensor h = exec.arena.tensor(ids.size(), rank_of(adapter), element_of<T>);
  take_rows(exec, {adapter.b.values<T>(exec), adapter.b.shape()[0], h.cols, h.element}, ids, h);
  scale(exec, h, factor, h);
  return h;
}

}  // namespace

void adapt_rows(const Run& run, const Weight& table, std::span<const std::int32_t> ids, double factor, Tensor y) {
  each_counting(table, run.adapters, [&](const Adapter& adapter, std::size_t rank) {
    const ArenaScope scope(run.arena());
    with_element(y.element, [&]<class T>() {
      const Tensor h = rows_of_b<T>(run, adapter, ids, adapter.scale * factor);
      gemm(run, Operand::of(h), {adapter.a.values<T>(run), y.cols, 1}, rank, y, Into::Add);
    });
  });
}

void adapt_rows_backward(const Run& run, const Weight& table, std::span<const std::int32_t> ids, double factor,
                         ConstTensor dy, std::size_t block) {
  if (run.gradients == nullptr) return;
  each_counting(table, run.adapters, [&](const Adapter& adapter, std::size_t rank) {
    const ArenaScope scope(run.arena());
    const Tensor da = gradient_of(run, adapter.a, rank, dy.cols, dy.element);
    void* const db = run.gradients->of(run, adapter.b);
    with_element(dy.element, [&]<class T>() {
      if (da.data != nullptr) {
        const Tensor h = rows_of_b<T>(run, adapter, ids, adapter.scale * factor);
        gemm(run, Operand::transposed(h), Operand::of(dy), dy.rows, da, Into::Add, block);
      }
      if (db == nullptr) return;
      const Tensor dh = run.tensor(dy.rows, rank, dy.element);
      gemm(run, Operand::of(dy), {adapter.a.values<T>(run), 1, dy.cols}, dy.cols, dh);
      scatter_add_rows(run, ids, adapter.scale * factor, dh, table.rows(), db);
    });
  });
}

template <class T>
const T* adapted_values(const Run& run, const Weight& weight) {
  const T* const own = weight.values<T>(run);
  if (!is_adapted(weight, run.adapters)) return own;
  const Tensor sum = run.tensor(weight.rows(), weight.cols(), element_of<T>);
  copy(run, {own, sum.rows, sum.cols, sum.element}, sum);
  each_counting(weight, run.adapters, [&](const Adapter& adapter, std::size_t rank) {
    const ArenaScope scope(run.arena());
    const T* const a = scaled_a<T>(run, adapter, sum.cols);
    gemm(run, {adapter.b.values<T>(run), rank, 1}, {a, sum.cols, 1}, rank, sum, Into::Add);
  });
  return sum.as<T>();
}
template const float* adapted_values<float>(const Run&, const Weight&);
template const double* adapted_values<double>(const Run&, const Weight&);

void adapter_gradients(const Run& run, const Weight& weight, ConstTensor dw) {
  const std::size_t rows = weight.rows(), cols = weight.cols();
  const Operand d{dw.data, cols, 1};
  each_counting(weight, run.adapters, [&](const Adapter& adapter, std::size_t rank) {
    const ArenaScope scope(run.arena());
    const Tensor da = gradient_of(run, adapter.a, rank, cols, dw.element),
                 db = gradient_of(run, adapter.b, rows, rank, dw.element);
    with_element(dw.element, [&]<class T>() {
      if (db.data != nullptr) gemm(run, d, {scaled_a<T>(run, adapter, cols), 1, cols}, cols, db, Into::Add);
      if (da.data == nullptr) return;
      const Tensor step = run.tensor(rank, cols, dw.element);
      gemm(run, {adapter.b.values<T>(run), 1, rank}, d, rows, step);
      scale(run, step, adapter.scale, step);
      add(run, da, step, da);
    });
  });
}

}  // namespace loom
