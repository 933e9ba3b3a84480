// Changes of the base model before an adapter's pairs count: tensors in the place of others, biases, DoRA, and the
// start of PiSSA and OLoRA.

#include <bit>
#include <cmath>

#include "core/little_endian.h"
#include "lm/peft.h"
#include "lm/singular_vectors.h"

namespace loom {
namespace {

using Pair = PeftDelta::Pair;

// Orthonormal rows [rank, rows] that span the first `rank` columns of w, as its QR decomposition has them.
Result<std::vector<double>> first_columns(std::span<const float> w, std::size_t rows, std::size_t cols,
                                          std::size_t rank) {
  if (rank > std::min(rows, cols))
    return fail(Code::ShapeMismatch, "olora of rank {} for a {} x {} matrix", rank, rows, cols);
  std::vector<double> q(rank * rows);
  for (std::size_t k = 0; k < rank; ++k) {
    double* const v = q.data() + k * rows;
    double before = 0, after = 0;
    for (std::size_t r = 0; r < rows; ++r) v[r] = static_cast<double>(w[r * cols + k]), before += v[r] * v[r];
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < k; ++j) {
        const double* const u = q.data() + j * rows;
        double part = 0;
        for (std::size_t r = 0; r < rows; ++r) part += u[r] * v[r];
        for (std::size_t r = 0; r < rows; ++r) v[r] -= part * u[r];
      }
    for (std::size_t r = 0; r < rows; ++r) after += v[r] * v[r];
    if (!(after > 1e-12 * before))
      return fail(Code::Unsupported, "olora of a matrix whose column {} depends on those before it", k);
    for (std::size_t r = 0; r < rows; ++r) v[r] /= std::sqrt(after);
  }
  return q;
}

// Adds a pair of the same rank and scale that takes the start away: -U (U^T W) for orthonormal columns U. PiSSA's start
// is that product in all, OLoRA's is scaled as the adapter is.
Result<void> add_start(Pair& pair, std::span<const float> w) {
  if (w.size() != pair.rows * pair.cols)
    return fail(Code::ShapeMismatch, "{}: the start of an adapter for {} x {}", hf_name(pair.place), pair.rows,
                pair.cols);
  const std::size_t rank = pair.rank;
  auto u = pair.start == LoraStart::Pissa ? left_singular_vectors(w, pair.rows, pair.cols, rank)
                                          : first_columns(w, pair.rows, pair.cols, rank);
  if (!u) return at(hf_name(pair.place), std::move(u).error());
  const double factor = pair.start == LoraStart::Pissa ? -1 / pair.scale() : -1;
  std::vector<float> b(pair.rows * rank * 2);
  for (std::size_t r = 0; r < pair.rows; ++r)
    for (std::size_t k = 0; k < rank; ++k) {
      b[r * 2 * rank + k] = pair.b[r * rank + k];
      b[(r * 2 + 1) * rank + k] = static_cast<float>(factor * (*u)[k * pair.rows + r]);
    }
  std::vector<double> product(pair.cols);
  for (std::size_t k = 0; k < rank; ++k) {
    std::ranges::fill(product, 0.0);
    for (std::size_t r = 0; r < pair.rows; ++r)
      for (std::size_t c = 0; c < pair.cols; ++c)
        product[c] += (*u)[k * pair.rows + r] * static_cast<double>(w[r * pair.cols + c]);
    for (const double x : product) pair.a.push_back(static_cast<float>(x));
  }
  pair.b = std::move(b);
  pair.rank = 2 * rank, pair.alpha *= 2;  // the same scale
  pair.start = LoraStart::None;
  return {};
}

// DoRA (Liu et al. 2024): W + s B A with its rows (of a table of tokens: columns) stretched to the magnitudes.
std::vector<float> dora_matrix(const Pair& pair, std::span<const float> w) {
  const std::size_t rows = pair.rows, cols = pair.cols;
  const bool by_column = pair.place.role == TensorRole::Embedding;
  std::vector<double> sum(rows * cols), squares(by_column ? cols : rows, 0.0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) {
      double product = 0;
      for (std::size_t k = 0; k < pair.rank; ++k)
        product += static_cast<double>(pair.b[r * pair.rank + k]) * static_cast<double>(pair.a[k * cols + c]);
      const double value = static_cast<double>(w[r * cols + c]) + pair.scale() * product;
      sum[r * cols + c] = value, squares[by_column ? c : r] += value * value;
    }
  std::vector<float> out(sum.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t line = by_column ? c : r;
      out[r * cols + c] =
          static_cast<float>(sum[r * cols + c] * static_cast<double>(pair.magnitude[line]) / std::sqrt(squares[line]));
    }
  return out;
}

constexpr TensorPlace kTable{TensorRole::Embedding, -1}, kHead{TensorRole::Head, -1};

SourceTensor* tensor_at(DecoderSource& source, const TensorPlace& place) {
  const auto found = std::ranges::find(source.tensors, place, &SourceTensor::place);
  return found == source.tensors.end() ? nullptr : &*found;
}

// Puts f32 values in the place of a tensor, or where the model has none.
void replace(DecoderSource& source, const TensorPlace& place, std::span<const float> values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i)
    store_le(bytes->data() + i * 4, std::bit_cast<std::uint32_t>(values[i]));
  SourceTensor t{hf_name(place), place, DType::float32, expected_shape(source.config, place.role), *bytes, nullptr};
  t.replaced = std::move(bytes);
  SourceTensor* const old = tensor_at(source, place);
  if (old != nullptr)
    *old = std::move(t);
  else
    source.tensors.push_back(std::move(t));
}

// The head becomes a matrix of its own.
void untie(DecoderSource& source) {
  const SourceTensor* const table = tensor_at(source, kTable);
  if (!source.config.tie_word_embeddings || table == nullptr) return;
  SourceTensor head = *table;
  head.name = hf_name(kHead), head.place = kHead;
  source.tensors.push_back(std::move(head));
  source.config.tie_word_embeddings = false;
}

// Returns a matrix or vector of the model; of a tied head that of the table.
Result<std::vector<float>> values_at(DecoderSource& source, const TensorPlace& place) {
  const bool is_tied = place == kHead && source.config.tie_word_embeddings;
  const SourceTensor* const t = tensor_at(source, is_tied ? kTable : place);
  if (t == nullptr) return fail(Code::NotFound, "the model has no tensor {}", hf_name(place));
  return source_values(source, *t);
}

// Biases that no adapter gave are zero where a layer of their kind must have them.
void complete_biases(DecoderSource& source) {
  ModelConfig& c = source.config;
  for (const SourceTensor& t : source.tensors) {
    using R = TensorRole;
    const auto is = [&](std::initializer_list<R> roles) {
      return std::ranges::find(roles, t.place.role) != roles.end();
    };
    c.qkv_bias = c.qkv_bias || is({R::QBias, R::KBias, R::VBias});
    c.o_bias = c.o_bias || is({R::OBias});
    c.mlp_bias = c.mlp_bias || is({R::GateBias, R::UpBias, R::DownBias});
  }
  for (const TensorPlace& place : expected_tensors(c)) {
    const std::vector<std::size_t> shape = expected_shape(c, place.role);
    if (!is_matrix(place.role) && hf_name(place).ends_with(".bias") && tensor_at(source, place) == nullptr)
      replace(source, place, std::vector<float>(shape[0], 0.0f));
  }
}

}  // namespace

class PeftSettler {
 public:
  PeftSettler(PeftDelta& delta, DecoderSource& source) : delta_(delta), source_(source) {}

  Result<void> run() {
    LOOM_TRY_VOID(own_bytes());
    for (const auto& change : delta_.changes_)
      if (change.is_base) LOOM_TRY_VOID(apply(change));
    LOOM_TRY_VOID(delta_.take_start([&](const TensorPlace& place) { return values_at(source_, place); }, true));
    for (const auto& change : delta_.changes_)
      if (!change.is_base) LOOM_TRY_VOID(apply(change));
    for (const Pair& pair : delta_.pairs_) {
      if (pair.magnitude.empty()) continue;
      if (pair.place == kTable || pair.place == kHead) untie(source_);
      LOOM_TRY(const std::vector<float> base, values_at(source_, pair.place));
      replace(source_, pair.place, dora_matrix(pair, base));
    }
    std::erase_if(delta_.pairs_, [](const Pair& pair) { return !pair.magnitude.empty(); });
    delta_.changes_.clear();
    complete_biases(source_);
    return {};
  }

 private:
  // The hashes of an .entity cover its tensors in one piece: they are checked before some are replaced.
  Result<void> own_bytes() {
    for (SourceTensor& t : source_.tensors) {
      if (t.entity == nullptr) continue;
      LOOM_TRY_VOID(t.entity->verify());
      break;
    }
    for (SourceTensor& t : source_.tensors) t.entity = nullptr;
    return {};
  }

  Result<void> apply(const PeftDelta::Change& change) {
    if (change.is_saved && (change.place == kTable || change.place == kHead)) untie(source_);
    const TensorPlace place = change.place == kHead && source_.config.tie_word_embeddings ? kTable : change.place;
    if (!change.adds && change.rows.empty()) {
      replace(source_, place, change.values);
      return {};
    }
    std::vector<float> whole(change.shape[0] * (change.shape.size() > 1 ? change.shape[1] : 1), 0.0f);
    if (tensor_at(source_, place) != nullptr) {
      LOOM_TRY(whole, values_at(source_, place));
    }
    if (change.adds)
      for (std::size_t i = 0; i < whole.size(); ++i) whole[i] += change.values[i];
    for (std::size_t i = 0; i < change.rows.size(); ++i) {
      const std::size_t cols = change.shape[1];
      std::ranges::copy(std::span(change.values).subspan(i * cols, cols),
                        whole.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(change.rows[i]) * cols));
    }
    replace(source_, place, whole);
    return {};
  }

  PeftDelta& delta_;
  DecoderSource& source_;
};

bool PeftDelta::is_fixed() const {
  return !changes_.empty() || std::ranges::any_of(pairs_, [](const Pair& pair) { return !pair.magnitude.empty(); });
}

std::vector<TensorPlace> PeftDelta::places() const {
  std::vector<TensorPlace> all;
  all.reserve(changes_.size() + pairs_.size());
  for (const Change& change : changes_) all.push_back(change.place);
  for (const Pair& pair : pairs_) all.push_back(pair.place);
  return all;
}

Result<void> PeftDelta::take_start(const BaseMatrix& base, bool settles) {
  if (is_fixed() && !settles)
    return fail(
        Code::Unsupported,
        "the adapter changes the model's own tensors ({}): give it when the model is loaded (--adapter FOLDER), "
        "or merge it (loom convert MODEL OUT.entity --adapter FOLDER)",
        hf_name(places()[0]));
  for (Pair& pair : pairs_) {
    if (pair.start == LoraStart::None) continue;
    const auto is_given = [&](const Change& change) { return change.is_base && change.place == pair.place; };
    if (std::ranges::any_of(changes_, is_given)) {
      pair.start = LoraStart::None;  // PEFT puts the stored matrix over the one that it took the start from
      continue;
    }
    LOOM_TRY(const std::vector<float> w, base(pair.place));
    LOOM_TRY_VOID(add_start(pair, w));
  }
  return {};
}

Result<void> PeftDelta::settle(DecoderSource& source) {
  auto settled = is_fixed() ? PeftSettler(*this, source).run()
                            : take_start([&](const TensorPlace& place) { return values_at(source, place); });
  if (!settled) return settled;
  if (find(kHead) != nullptr) untie(source);  // a head that is the table has no adapters of its own
  return {};
}

Result<void> PeftDelta::settle_to_merge(DecoderSource& source) {
  LOOM_TRY_VOID(settle(source));
  if (find(kTable) != nullptr) untie(source);  // the pair changes the table alone
  return {};
}

Result<void> settle_all(DecoderSource& source, std::span<PeftDelta> adapters) {
  const auto is_plain = [](const PeftDelta& delta) {
    return !delta.is_fixed() &&
           std::ranges::all_of(delta.pairs(), [](const Pair& p) { return p.start == LoraStart::None; });
  };
  for (std::size_t i = 0; i < adapters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (is_plain(adapters[i]) && is_plain(adapters[j])) continue;
      const std::vector<TensorPlace> before = adapters[j].places();
      for (const TensorPlace& place : adapters[i].places())
        if (std::ranges::find(before, place) != before.end())
          return fail(Code::Unsupported,
                      "adapters {} and {} both change {}, one of them in the base model; merge one first (loom convert "
                      "MODEL OUT.entity --adapter FOLDER)",
                      j, i, hf_name(place));
    }
  for (PeftDelta& delta : adapters) LOOM_TRY_VOID(delta.settle(source));
  return {};
}

}  // namespace loom
