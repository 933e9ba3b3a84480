#include "layers/mha/mha.h"

#include <algorithm>

#include "core/checked.h"
#include "layers/lengths.h"
#include "layers/mha/positions.h"
#include "ops/attention/sequence_attention.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/norm/norm.h"

namespace loom {

constinit const LayerKind Mha::kKind{
    .id = 1,
    .name = "mha",
    .aliases = "attention|multiheadattention",
    .help = "y = Wo o + bo, o = softmax(attn_scale q k) v in each head; q, k and v are products of x",
    .shapes = "[B, T, d_model] -> [B, T, output_dim]",
    .make = make_layer<Mha>,
    .width_key = "d_model",
    .fit = fit};

LayerPtr Mha::fit(const FitRequest& r) {
  const std::size_t width = r.width();
  std::size_t heads = width < 4 ? 1 : std::max<std::size_t>(r.num_heads, 1);
  while (width % heads != 0) --heads;
  return std::make_unique<Mha>(MhaConfig{.d_model = width,
                                         .num_heads = heads,
                                         .output_dim = r.wanted_width(),
                                         .uses_rope = width / heads % 2 == 0,
                                         .max_seq_len = std::max<std::size_t>(2048, r.in[0])});
}
namespace {

void give_up(const Exec& exec, Error error) {
  if (!exec.status) exec.status = std::move(error);
}

}  // namespace

AttentionConfig Mha::attention_config() const {
  const MhaConfig& c = config_;
  return {c.num_heads, c.num_kv_heads, c.head_dim, c.sliding_window, c.attn_scale, c.logit_softcap, c.causal};
}

Result<Shape> Mha::output_shape(const Shape& input) const {
  if (input.rank() < 2) return fail(Code::ShapeMismatch, "mha: input {}, [B, T, d] or [T, d] expected", input.text());
  if (input.cols() != config_.d_model)
    return fail(Code::ShapeMismatch, "mha: {} input features, Wq has {}", input.cols(), config_.d_model);
  if (positions_of(input) > config_.max_seq_len && config_.sliding_window == 0)
    return fail(Code::ContextFull, "mha: {} positions, max_seq_len is {}", positions_of(input), config_.max_seq_len);
  return input.with_cols(config_.output_dim);
}

std::optional<StateNeeds> Mha::state_needs() const {
  StateNeeds needs;
  if (config_.cross) return needs;  // its keys come with every call
  needs.attention = attention_config();
  needs.max_positions = config_.sliding_window == 0 ? config_.max_seq_len : 0;
  needs.rope = config_.rope, needs.uses_rope = config_.uses_rope;
  return needs;
}

const ConstView* Mha::key_source(const Run& run, const ConstView& x) const {
  const ConstView* source = config_.cross ? run.inputs.external : &x;
  if (source == nullptr) {
    give_up(run, {Code::InvalidArgument, "mha: cross-attention needs an external input for its keys and values"});
    return nullptr;
  }
  const Shape& s = source->shape;
  const bool fits = s.cols() == config_.d_model && source->element == x.element && s.rank() == x.shape.rank() &&
                    std::equal(s.extents().begin(), s.extents().end() - std::min<std::size_t>(2, s.rank()),
                               x.shape.extents().begin());
  if (!fits)
    return give_up(run,
                   {Code::ShapeMismatch,
                    fmt::format("mha: an external input of shape {}, the input has {} and {} features are expected",
                                s.text(), x.shape.text(), config_.d_model)}),
           nullptr;
  const std::size_t keys = s.rows();
  if (run.inputs.mask != nullptr &&
      (run.inputs.mask->shape.elements() != keys || run.inputs.mask->element != x.element))
    return give_up(run,
                   {Code::ShapeMismatch, fmt::format("mha: a mask of shape {}, one entry for each of {} keys expected",
                                                     run.inputs.mask->shape.text(), keys)}),
           nullptr;
  return source;
}

Mha::RopeTablePtr Mha::rope_table(const Exec& exec, std::size_t positions) const {
  const Mutex::Guard lock(rope_lock_);
  if (rope_table_ != nullptr && rope_table_->filled() >= positions) return rope_table_;
  std::size_t wanted = 64;
  while (wanted < positions) wanted *= 2;
  auto table = RopeTable::create(config_.rope, wanted);
  if (!table) {
    give_up(exec, std::move(table).error());
    return nullptr;
  }
  table->fill(wanted);
  rope_table_ = std::make_shared<const RopeTable>(std::move(*table));  // sessions that use the old one keep it
  return rope_table_;
}

void Mha::norm(const Exec& exec, ConstTensor x, const Weight& gain, Tensor y) const {
  const std::size_t width = gain.elements(), rows = x.rows * x.cols / width;
  with_element(x.element, [&]<class T>() {
    const ArenaScope scope(exec.arena);
    rms_norm(exec, {x.data, rows, width, x.element}, gain.values<T>(exec), config_.rms_norm_eps,
             {y.data, rows, width, y.element});
  });
}

// Takes in d the gradient of the norm's output and writes that of its input to `before`; `block` counts rows of whole
// heads.
void Mha::norm_backward(const Run& run, ConstTensor x, const Weight& gain, ConstTensor d, Tensor before,
                        std::size_t block) const {
  const std::size_t width = gain.elements(), rows = x.rows * x.cols / width;
  with_element(x.element, [&]<class T>() {
    const ArenaScope scope(run.arena());
    rms_norm_gradient(run, {x.data, rows, width, x.element}, gain.values<T>(run), config_.rms_norm_eps,
                      {d.data, rows, width, d.element}, {before.data, rows, width, before.element}, run.gradient(gain),
                      block * (x.cols / width));
  });
}

// The rows of x as those of sequences: named by the call, or one per sample, which goes on where it stopped.
Mha::CachedRows Mha::cached_rows(const Run& run, const Shape& x) const {
  if (!run.inputs.sequences.empty()) return {run.inputs.sequences, run.inputs.positions};
  AttentionState& state = *run.state_of(*this, run.states.attention);
  const std::size_t steps = positions_of(x), samples = x.rows() / steps;
  SequenceRows* const sequences = run.note<SequenceRows>(samples);
  std::uint32_t* const positions = run.note<std::uint32_t>(x.rows());
  if (run.rehearsal()) {
    state.samples = samples;
    state.rehearsed = {0, steps, state.limit - std::min(steps, state.limit), 0};
    return {{&state.rehearsed, 1}, {}};
  }
  for (std::size_t s = 0; s < samples; ++s) sequences[s] = {s * steps, steps, state.length, s};
  for (std::size_t r = 0; r < x.rows(); ++r) positions[r] = static_cast<std::uint32_t>(state.length + r % steps);
  return {{sequences, samples}, {positions, x.rows()}};
}

void Mha::forward_cached(const Run& run, const ConstView& input, const View& y) const {
  const ArenaScope scope(run.arena());
  if (!config_.causal) return give_up(run, {Code::Unsupported, "mha: only causal attention reads a cache"});
  if (run.inputs.mask != nullptr || !run.inputs.lengths.empty())
    return give_up(run, {Code::Unsupported, "mha: a mask or lengths of samples beside a cache"});
  AttentionState& state = *run.state_of(*this, run.states.attention);
  const auto [sequences, positions] = cached_rows(run, input.shape);
  const ConstTensor x = input;
  const Tensor q = run.tensor(x.rows, q_.rows());
  const Tensor k = run.tensor(x.rows, k_.rows());
  const Tensor v = run.tensor(x.rows, v_.rows());
  const Tensor o = run.tensor(x.rows, q_.rows());
  const float floor = input_floor();
  linear(run, x,
         std::array{LinearJob{&q_, &q_bias_, q, 0, floor}, LinearJob{&k_, &k_bias_, k, 0, floor},
                    LinearJob{&v_, &v_bias_, v, 0, floor}});
  // A single row goes from one place to another: a device may then make it in the kernel that reads it. A rehearsal of
  // many rows stands for one too.
  const auto place_for = [&](const Tensor& rows) {
    const bool is_apart = rows.rows == 1 || run.rehearsal();
    const Tensor apart = is_apart ? run.tensor(1, rows.cols) : rows;
    return rows.rows == 1 ? apart : rows;
  };
  Tensor queries = q, keys = k;
  if (config_.qk_norm != QkNorm::None) {
    queries = place_for(q), keys = place_for(k);
    norm(run, q, q_norm_, queries);
    norm(run, k, k_norm_, keys);
  }
  if (config_.uses_rope) {
    const Tensor turned_queries = place_for(queries), turned_keys = place_for(keys);
    rope(run, *state.rope, positions, config_.head_dim, queries, turned_queries);
    rope(run, *state.rope, positions, config_.head_dim, keys, turned_keys);
    queries = turned_queries, keys = turned_keys;
  }
  attention(run, attention_config(), queries, keys, v, sequences, state.caches, o);
  if (config_.inner_norm) norm(run, o, inner_norm_, o);
  linear(run, o, o_, o_bias_, y, floor);
}

namespace {

// Returns whether lengths are valid and usable. Steps after the valid ones of a sample affect none of them where
// attention is causal or keys come from another tensor; a mask itself decides which keys count.
bool takes_lengths(const Run& run, const MhaConfig& config, const Shape& x) {
  const std::size_t steps = positions_of(x);
  const std::size_t* lengths = nullptr;
  if (!lengths_of(run, Mha::kKind.name, x.rows() / steps, steps, lengths)) return false;
  const bool leaves_out = config.causal || config.cross || run.inputs.mask != nullptr;
  return leaves_out || !refuses_lengths(run, Mha::kKind.name);
}

}  // namespace

void Mha::forward(const Run& run, const ConstView& x, const View& y) const {
  if (!run.states.attention.empty() && !config_.cross) return forward_cached(run, x, y);
  if (!takes_lengths(run, config_, x.shape)) return;
  const ConstView* const source = key_source(run, x);
  if (source == nullptr) return;
  const ArenaScope scope(run.arena(), run.keeps());
  const std::size_t steps = positions_of(x.shape), keys = positions_of(source->shape), samples = x.shape.rows() / steps;
  const auto taken = [&](const Shape& like, std::size_t cols) {
    return run.view(like.with_cols(cols).value(), x.element);
  };
  const View q = taken(x.shape, q_.rows()), k = taken(source->shape, k_.rows()), v = taken(source->shape, v_.rows()),
             o = taken(x.shape, q_.rows());
  const float floor = input_floor();
  linear(run, x, q_, q_bias_, q, floor);
  linear(run, *source, std::array{LinearJob{&k_, &k_bias_, k, 0, floor}, LinearJob{&v_, &v_bias_, v, 0, floor}});
  // Backward needs the inputs of the norms, so they are not overwritten when values are kept.
  View normed_q = q, normed_k = k, normed_o = o;
  const bool kept = run.keeps();
  if (config_.qk_norm != QkNorm::None) {
    if (kept) normed_q = taken(x.shape, q_.rows()), normed_k = taken(source->shape, k_.rows());
    norm(run, q, q_norm_, normed_q);
    norm(run, k, k_norm_, normed_k);
  }
  if (config_.uses_rope) {
    const RopeTablePtr table = rope_table(run, std::max(steps, keys));
    if (table == nullptr) return;
    rope_sequences(run, *table, steps, config_.head_dim, normed_q);
    rope_sequences(run, *table, keys, config_.head_dim, normed_k);
  }
  const void* const mask = run.inputs.mask == nullptr ? nullptr : run.inputs.mask->data;
  sequence_attention(run, attention_config(), samples, {normed_q, normed_k, v, mask}, o);
  if (config_.inner_norm) {
    if (kept) normed_o = taken(x.shape, q_.rows());
    norm(run, o, inner_norm_, normed_o);
  }
  linear(run, normed_o, o_, o_bias_, y, floor);
  run.save(x, *source, run.inputs.mask == nullptr ? ConstView{} : *run.inputs.mask, q, k, v, o, normed_q, normed_k,
           normed_o);
}

void Mha::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, source, mask, q, k, v, o, normed_q, normed_k, normed_o] = run.saved<10>();
  const std::size_t steps = positions_of(x.shape), keys = positions_of(source.shape), samples = x.shape.rows() / steps;
  const std::size_t block = block_of(x.shape), key_block = block_of(source.shape);
  const View d_o = run.view(o.shape, x.element);
  linear_backward(run, normed_o, o_, o_bias_, dy, d_o, block);
  if (config_.inner_norm) norm_backward(run, o, inner_norm_, d_o, d_o, block);
  const View dq = run.view(q.shape, x.element), dk = run.view(k.shape, x.element), dv = run.view(v.shape, x.element);
  sequence_attention_backward(run, attention_config(), samples, {normed_q, normed_k, v, mask.data}, d_o, {dq, dk, dv});
  if (config_.uses_rope) {
    const RopeTablePtr table = rope_table(run, std::max(steps, keys));
    if (table == nullptr) return;
    rope_sequences(run, *table, steps, config_.head_dim, dq, true);
    rope_sequences(run, *table, keys, config_.head_dim, dk, true);
  }
  if (config_.qk_norm != QkNorm::None) {
    norm_backward(run, q, q_norm_, dq, dq, block);
    norm_backward(run, k, k_norm_, dk, dk, key_block);
  }
  linear_backward(run, x, q_, q_bias_, dq, dx, block);
  // The gradient of keys and values goes to x, or to the second input where its gradient is requested (a plan always
  // counts it).
  View d_source = dx;
  if (config_.cross) {
    d_source = {nullptr, source.shape, x.element};
    if (run.d_external != nullptr)
      d_source = *run.d_external;
    else if (run.rehearsal())
      d_source = run.view(source.shape, x.element);
  }
  linear_backward(run, source, k_, k_bias_, dk, d_source, key_block, true);
  linear_backward(run, source, v_, v_bias_, dv, d_source, key_block, true);
}

}  // namespace loom
