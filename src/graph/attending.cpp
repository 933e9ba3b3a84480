// Attention as one operation (Vaswani et al. 2017; grouped heads: Ainslie et al. 2023) and what belongs to it: rotary
// positions (Su et al. 2021), gated units (Shazeer 2020) and caches that are written in place. Products go through
// ops/gemm; scores become probabilities in f64, in one chain, and are rounded once.

#include <algorithm>
#include <array>

#include "graph/operation.h"
#include "ops/for_rows.h"
#include "ops/gemm/gemm.h"
#include "simd/math64.h"

namespace loom::graph {
namespace {

constexpr double kInfinity = __builtin_huge_val();

// Rows of one head in a tensor [batch, heads, rows, size], or, where it is flat, [batch, rows, heads * size].
struct Heads {
  std::size_t heads = 0, rows = 0, size = 0;
  bool is_flat = false;
  std::size_t first(std::size_t b, std::size_t h) const {
    return is_flat ? b * rows * heads * size + h * size : (b * heads + h) * rows * size;
  }
  std::size_t stride() const { return is_flat ? heads * size : size; }
};

Result<Heads> heads_of(const Op& op, std::size_t i, std::string_view key) {
  const Value& x = op.in(i);
  if (x.type != op.in(0).type || !is_float(x.type)) return op.refuse(Code::Unsupported, "of {}", name_of(x.type));
  if (x.rank() == 4) return Heads{x.dims[1], x.dims[2], x.dims[3], false};
  const std::int64_t n = op.integer(key, 0);
  if (x.rank() != 3 || n < 1 || x.dims[2] % static_cast<std::size_t>(n) != 0)
    return op.refuse(Code::ShapeMismatch,
                     "input {} of {} with {} {}; expected 4 axes, or 3 and heads that divide the last", i,
                     text_of(x.dims), key, n);
  const auto heads = static_cast<std::size_t>(n);
  return Heads{heads, x.dims[1], x.dims[2] / heads, true};
}

enum class Exposed : std::uint8_t { scores, capped, biased, probabilities };

struct Attending {
  std::size_t batch = 0, past = 0, keys = 0;  // keys: those of the past and the fresh ones
  Heads q, k, v;
  double root = 1, cap = 0;  // of the scale, by which queries and keys are multiplied; 0: no cap
  bool is_causal = false;
  std::int64_t left = -1, right = -1;  // of a window; -1: open
  Exposed exposed = Exposed::scores;
  Type precision = Type::none;            // of the softmax
  std::vector<std::size_t> mask_strides;  // by sample, head and query

  std::size_t group() const { return q.heads / k.heads; }
};

Result<void> read_settings(const Op& op, Attending& a) {
  const double scale = op.number("scale", 1 / __builtin_sqrt(static_cast<double>(a.q.size)));
  if (!(scale >= 0) || scale == kInfinity) return op.refuse(Code::InvalidConfig, "scale {}", scale);
  a.root = __builtin_sqrt(scale);
  if (op.in(0).type != Type::f64) a.root = static_cast<double>(rounded(op.in(0).type, static_cast<float>(a.root)));
  a.cap = op.number("softcap", 0);
  if (!(a.cap >= 0)) return op.refuse(Code::InvalidConfig, "softcap {}", a.cap);
  a.is_causal = op.integer("is_causal", 0) != 0;
  a.left = op.integer("left_window_size", -1), a.right = op.integer("right_window_size", -1);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (a.left < -1 || a.right < -1 || a.left > kMost || a.right > kMost)
    return op.refuse(Code::InvalidConfig, "a window of {} to {}", a.left, a.right);
  const std::int64_t mode = op.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return op.refuse(Code::InvalidConfig, "qk_matmul_output_mode {}", mode);
  a.exposed = static_cast<Exposed>(mode);
  const std::int64_t precision = op.integer("softmax_precision", 0);
  a.precision = precision > 0 && precision < 256 ? static_cast<Type>(precision) : Type::none;
  constexpr std::array kPrecisions{Type::f32, Type::f16, Type::f64, Type::bf16};
  if (op.has_attribute("softmax_precision") && std::ranges::find(kPrecisions, a.precision) == kPrecisions.end())
    return op.refuse(Code::InvalidConfig, "softmax_precision {}", precision);
  return {};
}

Result<void> check_cache(const Op& op, Attending& a) {
  if (op.has(4) != op.has(5)) return op.refuse(Code::CorruptData, "past_key and past_value come together");
  if (op.has(6) && (op.has(4) || op.in(6).type != Type::i64 || op.in(6).elements() != a.batch))
    return op.refuse(Code::ShapeMismatch, "nonpad_kv_seqlen of {}", text_of(op.in(6).dims));
  if (op.has(4)) {
    const Value &key = op.in(4), &value = op.in(5);
    a.past = key.rank() == 4 ? key.dims[2] : 0;
    if (key.dims != Dims{a.batch, a.k.heads, a.past, a.k.size} ||
        value.dims != Dims{a.batch, a.v.heads, a.past, a.v.size} || key.type != op.in(0).type ||
        value.type != op.in(0).type)
      return op.refuse(Code::ShapeMismatch, "a past of {} and {}", text_of(key.dims), text_of(value.dims));
  }
  a.keys = a.past + a.k.rows;
  return {};
}

// A mask stretches to [batch, heads, queries], and its last axis may be shorter than the keys.
Result<void> check_mask(const Op& op, Attending& a) {
  if (!op.has(3)) return {};
  const Value& mask = op.in(3);
  const Dims wanted{a.batch, a.q.heads, a.q.rows};
  if ((mask.type != Type::boolean && mask.type != op.in(0).type) || mask.rank() == 0 || mask.rank() > 4 ||
      mask.dims.back() > a.keys)
    return op.refuse(Code::ShapeMismatch, "a mask of {} {}", name_of(mask.type), text_of(mask.dims));
  const Dims lead(mask.dims.begin(), mask.dims.end() - 1);
  LOOM_TRY(const Dims both, broadcast(lead, wanted));
  if (both != wanted) return op.refuse(Code::ShapeMismatch, "a mask of {}", text_of(mask.dims));
  a.mask_strides = stretched_strides(lead, wanted);
  for (std::size_t& stride : a.mask_strides) stride *= mask.dims.back();
  return {};
}

Result<Attending> attending_of(const Op& op) {
  Attending a;
  LOOM_TRY(a.q, heads_of(op, 0, "q_num_heads"));
  LOOM_TRY(a.k, heads_of(op, 1, "kv_num_heads"));
  LOOM_TRY(a.v, heads_of(op, 2, "kv_num_heads"));
  a.batch = op.in(0).dims[0];
  if (op.in(1).dims[0] != a.batch || op.in(2).dims[0] != a.batch || a.k.rows != a.v.rows || a.k.heads != a.v.heads ||
      a.k.heads == 0 || a.q.heads % a.k.heads != 0 || a.q.size != a.k.size || a.q.size == 0 ||
      a.q.is_flat != a.k.is_flat || a.q.is_flat != a.v.is_flat)
    return op.refuse(Code::ShapeMismatch, "queries {}, keys {} and values {}", text_of(op.in(0).dims),
                     text_of(op.in(1).dims), text_of(op.in(2).dims));
  LOOM_TRY_VOID(read_settings(op, a));
  LOOM_TRY_VOID(check_cache(op, a));
  LOOM_TRY_VOID(check_mask(op, a));
  return a;
}

// Returns the term that is added to the score of a query and a key; minus infinity: the key is not seen.
double bias_of(const Op& op, const Attending& a, std::size_t b, std::size_t h, std::size_t query, std::size_t key) {
  auto offset = static_cast<std::int64_t>(a.past);
  if (op.has(6)) {
    const std::int64_t seen = op.in(6).as<std::int64_t>()[b];
    if (static_cast<std::int64_t>(key) >= seen) return -kInfinity;
    offset = seen - static_cast<std::int64_t>(a.q.rows);
  }
  const std::int64_t ahead = static_cast<std::int64_t>(key) - static_cast<std::int64_t>(query) - offset;
  if ((a.is_causal && ahead > 0) || (a.left >= 0 && -ahead > a.left) || (a.right >= 0 && ahead > a.right))
    return -kInfinity;
  if (!op.has(3)) return 0;
  const Value& mask = op.in(3);
  if (key >= mask.dims.back()) return -kInfinity;
  const double v = mask.number(b * a.mask_strides[0] + h * a.mask_strides[1] + query * a.mask_strides[2] + key);
  return mask.type == Type::boolean ? (v != 0 ? 0 : -kInfinity) : v;
}

// A number as the type holds it.
double as_type(Type type, double v) {
  return type == Type::f64 ? v : static_cast<double>(rounded(type, static_cast<float>(v)));
}

template <class T>
class AttentionRun {
 public:
  AttentionRun(Op& op, const Attending& a) : op_(op), a_(a), type_(op.in(0).type) {}

  void run() {
    for (std::size_t b = 0; b < a_.batch; ++b)
      for (std::size_t g = 0; g < a_.k.heads; ++g) {
        if (op_.measures() && (b != 0 || g != 0)) return;  // every head takes the same memory
        const ArenaScope scope(op_.exec.arena);
        T* const key = gather(a_.k, 1, 4, b, g, a_.root, a_.keys);
        T* const value = gather(a_.v, 2, 5, b, g, 1, a_.keys);
        present(1, a_.k, 1, 4, b, g), present(2, a_.v, 2, 5, b, g);
        for (std::size_t h = g * a_.group(); h < (g + 1) * a_.group(); ++h) attend(b, h, key, value);
      }
  }

 private:
  // Rows of one head after those of the past, times a factor.
  T* gather(const Heads& heads, std::size_t in, std::size_t past_in, std::size_t b, std::size_t h, double factor,
            std::size_t rows) {
    T* const to = op_.exec.arena.take<T>(rows * heads.size);
    const std::size_t past = in == 0 ? 0 : a_.past;
    const auto by = static_cast<T>(factor);
    for_rows(op_.exec, rows, heads.size, [&](std::size_t r) {
      const T* const from = r < past ? op_.in(past_in).as<T>() + ((b * heads.heads + h) * past + r) * heads.size
                                     : op_.in(in).as<T>() + heads.first(b, h) + (r - past) * heads.stride();
      for (std::size_t i = 0; i < heads.size; ++i)
        to[r * heads.size + i] = factor == 1 ? from[i] : typed(snap(from[i] * by));
    });
    return to;
  }
  T typed(T v) const { return static_cast<T>(as_type(type_, static_cast<double>(v))); }

  void present(std::size_t out, const Heads& heads, std::size_t in, std::size_t past_in, std::size_t b, std::size_t h) {
    if (!op_.wants(out) || op_.measures()) return;
    const ArenaScope scope(op_.exec.arena);
    const T* const rows = gather(heads, in, past_in, b, h, 1, a_.keys);
    std::copy_n(rows, a_.keys * heads.size,
                (*op_.outs)[out].template as<T>() + (b * heads.heads + h) * a_.keys * heads.size);
  }

  void attend(std::size_t b, std::size_t h, const T* key, const T* value) {
    const ArenaScope scope(op_.exec.arena);
    const std::size_t rows = a_.q.rows, keys = a_.keys, size = a_.v.size;
    const T* const query = gather(a_.q, 0, 0, b, h, a_.root, rows);
    T* const scores = op_.exec.arena.take<T>(rows * keys);
    T* const mixed = op_.exec.arena.take<T>(rows * size);
    if (rows == 0 || size == 0) return;
    if (keys != 0)
      gemm(op_.exec, {query, a_.q.size, 1}, {key, 1, a_.k.size}, a_.q.size, {scores, rows, keys, element_of<T>});
    for_rows(op_.exec, rows, keys * 16, [&](std::size_t r) { probabilities(b, h, r, scores + r * keys); });
    if (keys != 0) gemm(op_.exec, {scores, keys, 1}, {value, size, 1}, keys, {mixed, rows, size, element_of<T>});
    const Heads to{a_.q.heads, rows, size, a_.q.is_flat};
    for_rows(op_.exec, rows, size, [&](std::size_t r) {
      T* const into = (*op_.outs)[0].template as<T>() + to.first(b, h) + r * to.stride();
      for (std::size_t i = 0; i < size; ++i) into[i] = keys == 0 ? T{} : mixed[r * size + i];
    });
  }

  // A row of scores becomes one of probabilities: 0 everywhere where no key is seen.
  void probabilities(std::size_t b, std::size_t h, std::size_t r, T* row) {
    const auto expose = [&](Exposed what, std::size_t k, double v) {
      if (op_.wants(3) && a_.exposed == what)
        (*op_.outs)[3].template as<T>()[((b * a_.q.heads + h) * a_.q.rows + r) * a_.keys + k] =
            snap(typed(stored<T>(v)));
    };
    double most = -kInfinity, sum = 0;
    bool sees = false;
    for (std::size_t k = 0; k < a_.keys; ++k) {
      double score = as_type(type_, static_cast<double>(row[k]));
      expose(Exposed::scores, k, score);
      if (a_.cap > 0) score = as_type(type_, a_.cap * tanh64(score / a_.cap));
      expose(Exposed::capped, k, score);
      const double bias = bias_of(op_, a_, b, h, r, k);
      sees |= bias != -kInfinity;
      score = bias == -kInfinity ? bias : as_type(type_, score + bias);
      expose(Exposed::biased, k, score);
      if (a_.precision != Type::none) score = as_type(a_.precision, score);
      row[k] = static_cast<T>(score), most = score > most || score != score ? score : most;
    }
    // Floats of 16 bits are rounded after each operation of the softmax.
    const Type steps = a_.precision != Type::none ? a_.precision : type_;
    const auto narrow = [&](double v) { return steps == Type::f16 || steps == Type::bf16 ? as_type(steps, v) : v; };
    const auto power = [&](T score) { return narrow(exp64(narrow(static_cast<double>(score) - most))); };
    for (std::size_t k = 0; k < a_.keys && sees; ++k) sum += power(row[k]);
    for (std::size_t k = 0; k < a_.keys; ++k) {
      const double p = sees ? power(row[k]) / narrow(sum) : 0;
      row[k] = snap(typed(stored<T>(a_.precision != Type::none ? as_type(a_.precision, p) : p)));
      expose(Exposed::probabilities, k, static_cast<double>(row[k]));
    }
  }

  Op& op_;
  const Attending& a_;
  Type type_;
};

Result<void> attention(Op& op) {
  LOOM_TRY(const Attending a, attending_of(op));
  const Type type = op.in(0).type;
  LOOM_TRY(Value* const y, op.out(0, type,
                                  a.q.is_flat ? Dims{a.batch, a.q.rows, a.q.heads * a.v.size}
                                              : Dims{a.batch, a.q.heads, a.q.rows, a.v.size}));
  if (op.wants(1)) LOOM_TRY_VOID(op.out(1, type, {a.batch, a.k.heads, a.keys, a.k.size}));
  if (op.wants(2)) LOOM_TRY_VOID(op.out(2, type, {a.batch, a.v.heads, a.keys, a.v.size}));
  if (op.wants(3)) LOOM_TRY_VOID(op.out(3, type, {a.batch, a.q.heads, a.q.rows, a.keys}));
  if (store_of(type) == Store::f64)
    AttentionRun<double>(op, a).run();
  else
    AttentionRun<float>(op, a).run();
  if (!op.measures()) round_to_type((*op.outs)[0]);
  static_cast<void>(y);
  return {};
}

// Pairs of a head's first elements turn by the angle of their position: halves of them, or neighbours.
Result<void> rotary_embedding(Op& op) {
  const Value &x = op.in(0), &cosines = op.in(1), &sines = op.in(2);
  LOOM_TRY(const Heads heads, heads_of(op, 0, "num_heads"));
  const std::int64_t given = op.integer("rotary_embedding_dim", 0);
  const std::size_t turned = given == 0 ? heads.size : static_cast<std::size_t>(std::max<std::int64_t>(given, 1));
  const std::size_t half = turned / 2, batch = x.dims[0];
  if (given < 0 || turned > heads.size || turned % 2 != 0 || half == 0)
    return op.refuse(Code::InvalidConfig, "rotary_embedding_dim {} of {}", given, heads.size);
  const bool by_id = op.has(3);
  const Dims wanted = by_id && cosines.rank() == 2 ? Dims{cosines.dims[0], half} : Dims{batch, heads.rows, half};
  if (cosines.dims != wanted || sines.dims != wanted || cosines.type != x.type || sines.type != x.type ||
      (by_id && (cosines.rank() != 2 || op.in(3).dims != Dims{batch, heads.rows} || op.in(3).type != Type::i64)))
    return op.refuse(Code::ShapeMismatch, "caches of {} and {} for {}", text_of(cosines.dims), text_of(sines.dims),
                     text_of(x.dims));
  const bool neighbours = op.integer("interleaved", 0) != 0;
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  for (std::size_t i = 0; by_id && i < op.in(3).elements(); ++i)
    if (const std::int64_t id = op.in(3).as<std::int64_t>()[i];
        id < 0 || id >= static_cast<std::int64_t>(cosines.dims[0]))
      return op.refuse(Code::IndexOutOfRange, "position {} of {}", id, cosines.dims[0]);
  with_store(store_of(x.type), [&]<class T>(T) {
    for_rows(op.exec, batch * heads.heads * heads.rows, heads.size, [&](std::size_t n) {
      const std::size_t b = n / (heads.heads * heads.rows), h = n / heads.rows % heads.heads, r = n % heads.rows;
      const std::size_t first = heads.first(b, h) + r * heads.stride(), place = b * heads.rows + r;
      const std::size_t angle = (by_id ? static_cast<std::size_t>(op.in(3).as<std::int64_t>()[place]) : place) * half;
      std::copy_n(x.as<T>() + first, heads.size, y->as<T>() + first);
      for (std::size_t i = 0; i < half; ++i) {
        const std::size_t one = first + (neighbours ? 2 * i : i), two = first + (neighbours ? 2 * i + 1 : half + i);
        const double c = cosines.number(angle + i), s = sines.number(angle + i), u = x.number(one), v = x.number(two);
        y->as<T>()[one] = snap(stored<T>(c * u - s * v)), y->as<T>()[two] = snap(stored<T>(s * u + c * v));
      }
    });
  });
  round_to_type(*y);
  return {};
}

// y = a sigmoid(alpha a) b.
Result<void> swiglu(Op& op) {
  const Value &a = op.in(0), &b = op.in(1);
  if (a.dims != b.dims || a.type != b.type || !is_float(a.type))
    return op.refuse(Code::ShapeMismatch, "of {} and {}", text_of(a.dims), text_of(b.dims));
  const double alpha = op.number("alpha", 1);
  LOOM_TRY(Value* const y, op.out_like(0, a));
  with_store(store_of(a.type), [&]<class T>(T) {
    for_elements(op.exec, a.elements(), [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i)
        y->as<T>()[i] = snap(stored<T>(a.number(i) * sigmoid64(alpha * a.number(i)) * b.number(i)));
    });
  });
  if (!op.measures()) round_to_type(*y);
  return {};
}

// A cache with rows of an update in it, from each sample's place on.
Result<void> tensor_scatter(Op& op) {
  const Value &cache = op.in(0), &update = op.in(1);
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", -2), cache.rank()));
  Dims wanted = cache.dims;
  if (axis == 0 || update.rank() != cache.rank() || update.dims[axis] > cache.dims[axis] || update.type != cache.type)
    return op.refuse(Code::ShapeMismatch, "{} into {}", text_of(update.dims), text_of(cache.dims));
  wanted[axis] = update.dims[axis];
  if (update.dims != wanted || (op.has(2) && (op.in(2).elements() != cache.dims[0] || op.in(2).type != Type::i64)))
    return op.refuse(Code::ShapeMismatch, "{} into {}", text_of(update.dims), text_of(cache.dims));
  const bool is_circular = op.text("mode", "linear") == "circular";
  LOOM_TRY(Value* const y, op.out_like(0, cache));
  if (op.measures()) return {};
  std::copy_n(cache.as<std::byte>(), cache.bytes(), y->as<std::byte>());
  const std::size_t outer = count(std::span(cache.dims).first(axis)), rows = update.dims[axis], all = cache.dims[axis];
  const std::size_t inner = count(std::span(cache.dims).subspan(axis + 1)) * bytes_of(store_of(cache.type));
  for (std::size_t o = 0; o < outer; ++o) {
    const std::int64_t start = op.has(2) ? op.in(2).as<std::int64_t>()[o / (outer / cache.dims[0])] : 0;
    if (start < 0 || start > static_cast<std::int64_t>(all) ||
        (!is_circular && static_cast<std::size_t>(start) + rows > all))
      return op.refuse(Code::IndexOutOfRange, "{} rows at {} of {}", rows, start, all);
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(update.as<std::byte>() + (o * rows + r) * inner, inner,
                  y->as<std::byte>() + (o * all + (static_cast<std::size_t>(start) + r) % all) * inner);
  }
  return {};
}

}  // namespace

std::span<const OpRow> attention_rows() {
  static constexpr std::array kRows{
      OpRow{"Attention", attention, false, 3},
      OpRow{"RotaryEmbedding", rotary_embedding, false, 3},
      OpRow{"SwiGLU", swiglu, false, 2},
      OpRow{"TensorScatter", tensor_scatter, false, 2},
  };
  return kRows;
}

}  // namespace loom::graph
