#pragma once
// One call of a host program's callback: its requests while it declares weights, or while a pass is recorded. Tensors
// are references with shapes; callbacks never see a value. Each op gives a new tensor, so that none is ever written
// twice. After the first error every request returns that error, and so does the call.
//
// Axis 0 of the input counts samples, and so does axis 0 of every tensor that follows from it. Ops keep that axis in
// its place and never combine samples, so that a part of a batch gives the same bits as in the whole batch.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "layers/foreign/foreign_layer.h"

namespace loom {

class ForeignPass {
 public:
  using Ref = std::uint64_t;  // of a tensor of this call alone
  using Weights = std::vector<std::unique_ptr<Weight>>;

  // For declare(), which fills `weights`; and for a pass with an input of that shape, backward where there is the
  // recording of forward.
  ForeignPass(const ForeignLayer& layer, Weights& weights);
  ForeignPass(const ForeignLayer& layer, const Shape& input, const Recording* forward);

  // Runs the callback; the first error of what it asked is its error too.
  Result<void> call(const ForeignCallbacks::Callback& callback);
  // InvalidState for a pass without a result, or with tensors kept that nobody took.
  Result<void> finish();
  Recording take() { return std::move(recording_); }
  // Gives the declared weights their roles: beside a matrix vectors are no types of their own (engine L-03).
  Result<void> declare_all();

  // An integer, a number, 0 or 1, the index of a choice. UnknownKey; InvalidArgument for an activation.
  Result<double> setting(std::string_view key);
  // A vector or, with two extents, a matrix; `init` names a rule: zeros ones glorot he uniform normal identity, "" for
  // the usual one, with `size` as half width of uniform, deviation of normal (0: theirs).
  Result<void> declare_weight(std::string_view name, std::span<const std::size_t> extents, std::string_view init,
                              double size);

  // x, or the gradient of y; and what goes out: y, or the gradient of x.
  Result<Ref> input();
  Result<void> result(Ref tensor);
  // forward keeps a tensor, backward takes the one that was kept last.
  Result<void> keep(Ref tensor);
  Result<Ref> kept();
  Result<Shape> shape(Ref tensor);

  // y = W x + b; `bias` may be "". The gradient adds to those of W and b and gives W^T dy.
  Result<Ref> matmul(Ref x, std::string_view weight, std::string_view bias);
  Result<Ref> matmul_gradient(Ref x, Ref dy, std::string_view weight, std::string_view bias);
  // a b over the last two axes, either transposed; the axes before must be equal.
  Result<Ref> product(Ref a, bool transpose_a, Ref b, bool transpose_b);
  Result<Ref> add(Ref a, Ref b);
  Result<Ref> multiply(Ref a, Ref b);
  Result<Ref> scale(Ref x, double factor);
  Result<Ref> fill(Ref like, double value);
  // Activations: a setting of that type, or a name.
  Result<Ref> activate(Ref x, std::string_view activation);
  Result<Ref> activate_gradient(Ref x, Ref dy, std::string_view activation);
  // activation(gate) * up, and the gradients of both.
  Result<Ref> gated(Ref gate, Ref up, std::string_view activation);
  Result<std::pair<Ref, Ref>> gated_gradient(Ref gate, Ref up, Ref dy, std::string_view activation);
  // Along the last axis; the gradient from what softmax gave.
  Result<Ref> softmax(Ref x, double temperature);
  Result<Ref> softmax_gradient(Ref p, Ref dy, double temperature);
  // Along the last axis; `gamma` and `beta` may be "". Gradients add to theirs.
  Result<Ref> rms_norm(Ref x, std::string_view gamma, double eps);
  Result<Ref> rms_norm_gradient(Ref x, Ref dy, std::string_view gamma, double eps);
  Result<Ref> layer_norm(Ref x, std::string_view gamma, std::string_view beta, double eps);
  Result<Ref> layer_norm_gradient(Ref x, Ref dy, std::string_view gamma, std::string_view beta, double eps);
  Result<Ref> permute(Ref x, std::span<const std::size_t> axes);
  Result<Ref> reshape(Ref x, std::span<const std::size_t> extents);
  // [first, first + count) of an axis; and x at `first` of an axis of `extent`, zeros elsewhere.
  Result<Ref> slice(Ref x, std::size_t axis, std::size_t first, std::size_t count);
  Result<Ref> pad(Ref x, std::size_t axis, std::size_t first, std::size_t extent);
  // An axis of 1 made `times` long; and an axis of any length made 1, its mean by chain64.
  Result<Ref> repeat(Ref x, std::size_t axis, std::size_t times);
  Result<Ref> mean(Ref x, std::size_t axis);
  // Drops elements in training, else gives x itself; `which` separates the dropouts of one layer. The gradient is the
  // same call on dy.
  Result<Ref> dropout(Ref x, double rate, std::uint32_t which);
  // Repeats a weight's values until they fill the shape of `like`; add_gradient() adds the sum of such pieces, sample
  // by sample, to its gradient.
  Result<Ref> weight(std::string_view name, Ref like);
  Result<void> add_gradient(std::string_view name, Ref tensor);

  // Refuses an invalid request: all later requests and the layer return its error.
  void refuse(const Error& error) {
    if (!error_) error_ = error;
  }

 private:
  enum class Stage : std::uint8_t { Declare, Forward, Backward };
  enum class From : std::uint8_t { Outside, Op, Alias };
  using Index = Recording::Index;
  using Indices = std::vector<Index>;

  template <class F>
  auto settled(F&& body) -> decltype(body());
  Result<void> need(Stage stage, std::string_view what) const;
  Result<void> need_pass() const;
  Result<Index> index(Ref ref) const;
  Ref ref(Index i) const { return Ref{serial_} << 32 | (i + 1); }
  const Shape& at(Index i) const { return recording_.shapes[i]; }
  Index grow(const Shape& shape, From from);
  // An op with one output; fn(run, tensors, y).
  template <class F>
  Result<Ref> emit(Indices ins, const Shape& shape, F&& fn, Recording::Effect effect = Recording::Effect::None);
  Result<void> room_for_op() const;
  Result<const ForeignSetting*> find_setting(std::string_view key, const ForeignValue*& value) const;
  Result<ActivationFn> activation_of(std::string_view name) const;
  Result<const Weight*> weight_of(std::string_view name) const;
  // Null for "".
  Result<const Weight*> vector_of(std::string_view name, std::size_t elements) const;
  Result<const Weight*> matrix_of(std::string_view name) const;
  Result<std::pair<Index, Index>> alike(Ref a, Ref b) const;
  // Axis 0 counts the samples and stays as it is.
  Result<void> need_axis(Index x, std::size_t axis) const;
  // Rows that belong to sixteen samples, of a tensor that is cut into pieces of `width`.
  Result<std::size_t> block_of(Index x, std::size_t width) const;
  template <bool centred>
  Result<Ref> norm(Ref x, std::string_view gamma, std::string_view beta, double eps);
  template <bool centred>
  Result<Ref> norm_gradient(Ref x, Ref dy, std::string_view gamma, std::string_view beta, double eps);

  const ForeignLayer& layer_;
  const Stage stage_;
  const std::uint32_t serial_;
  Weights* declared_ = nullptr;
  Recording recording_;
  std::vector<From> from_;
  std::size_t samples_ = 1, untaken_ = 0;
  std::optional<Shape> wanted_;  // of the result of backward
  bool has_result_ = false;
  std::optional<Error> error_;
};

template <class F>
auto ForeignPass::settled(F&& body) -> decltype(body()) {
  if (error_) return tl::make_unexpected(*error_);
  auto done = body();
  if (!done) error_ = done.error();
  return done;
}

template <class F>
Result<ForeignPass::Ref> ForeignPass::emit(Indices ins, const Shape& shape, F&& fn, Recording::Effect effect) {
  LOOM_TRY_VOID(room_for_op());
  const Index y = grow(shape, effect == Recording::Effect::Alias ? From::Alias : From::Op);
  recording_.ops.push_back({effect, std::move(ins), {y}, [y, fn](const Run& run, View* t) { fn(run, t, t[y]); }});
  return ref(y);
}

}  // namespace loom
