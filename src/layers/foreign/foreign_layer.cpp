#include "layers/foreign/foreign_layer.h"

#include <algorithm>
#include <memory>

#include "backend/rehearsal.h"
#include "core/checked.h"
#include "layers/foreign/foreign_pass.h"
#include "layers/lengths.h"

namespace loom {
namespace {

// Shapes whose recordings a layer keeps; the one that was recorded first goes.
constexpr std::size_t kMostPlans = 32;

// A lone row counts as a batch of one.
Shape batch_of(const Shape& x) { return x.rank() > 1 ? x : Shape::of({1, x[0]}); }

// The shape without the axis that batch_of() added.
Result<Shape> without_batch(const Shape& y) { return Shape::create(y.extents().subspan(1)); }

// A table of views for one pass, in the arena's host scratch, which a rehearsal plans but cannot write.
template <class V>
class Table {
 public:
  Table(const Run& run, std::size_t size) : items_(run.note<V>(size)) {
    if (run.rehearsal()) {
      own_.resize(size);
      items_ = own_.data();
    } else
      std::uninitialized_default_construct_n(items_, size);
  }
  Table(Table&&) = default;
  V& operator[](std::size_t i) { return items_[i]; }
  V* data() { return items_; }

 private:
  V* items_;
  std::vector<V> own_;
};

Table<View> tensors_of(const Run& run, const Recording& recording, Element element) {
  Table<View> tensors(run, recording.shapes.size());
  for (std::size_t i = 0; i < recording.shapes.size(); ++i) tensors[i] = {nullptr, recording.shapes[i], element};
  return tensors;
}

}  // namespace

ForeignLayer::ForeignLayer(const ForeignKind& kind) : kind_(kind), alive_(count_layer(kind)) {
  for (const ForeignSetting& s : kind.description.settings) values_.push_back(s.standard);
}

ForeignLayer::~ForeignLayer() {
  if (alive_) --kind_.layers;
}

void ForeignLayer::fields(FieldVisitor& visit) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ForeignSetting& s = kind_.description.settings[i];
    const Key key(std::string_view(s.key), s.help);
    switch (s.type) {
      case ForeignSetting::Type::Integer: visit(key, values_[i].whole, s.sizes); break;
      case ForeignSetting::Type::Number: visit(key, values_[i].number, s.numbers); break;
      case ForeignSetting::Type::Boolean: visit(key, values_[i].flag); break;
      case ForeignSetting::Type::Choice: visit.choice(key, values_[i].whole, kind_.choices[i]); break;
      case ForeignSetting::Type::Activation: visit(key, values_[i].activation); break;
    }
  }
}

Error ForeignLayer::of_callback(Error error, std::string_view callback) const {
  error.message = fmt::format("{}: {}: {}", kind_.name, callback, error.message);
  return error;
}

Result<void> ForeignLayer::build() {
  if (!alive_) return fail(Code::InvalidState, "kind {} is not registered any more", kind_.name);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ForeignSetting& s = kind_.description.settings[i];
    if (s.type == ForeignSetting::Type::Integer && (values_[i].whole < s.sizes.min || values_[i].whole > s.sizes.max))
      return fail(Code::InvalidConfig, "{}: {} is {}, expected an integer from {} to {}", kind_.name, s.key,
                  values_[i].whole, s.sizes.min, s.sizes.max);
    if (s.type == ForeignSetting::Type::Number &&
        !(values_[i].number >= s.numbers.min && values_[i].number <= s.numbers.max))
      return fail(Code::InvalidConfig, "{}: {} is {}, expected a number from {} to {}", kind_.name, s.key,
                  values_[i].number, s.numbers.min, s.numbers.max);
  }
  weights_.clear(), plans_.clear();
  if (!kind_.callbacks.declare) return {};
  ForeignPass pass(*this, weights_);
  if (auto done = pass.call(kind_.callbacks.declare); !done)
    return tl::make_unexpected(of_callback(std::move(done).error(), "declare"));
  return pass.declare_all();
}

void ForeignLayer::visit_weights(const std::function<void(Weight&)>& visit) {
  for (const auto& weight : weights_) visit(*weight);
}

Result<std::shared_ptr<const Recording>> ForeignLayer::record(const Shape& input, Pass pass) const {
  std::shared_ptr<const Recording> forward;
  if (pass == &Plan::backward) {
    if (!kind_.callbacks.backward) return fail(Code::Unsupported, "{}: the kind has no backward pass", kind_.name);
    LOOM_TRY(forward, recorded(input, &Plan::forward));
  }
  ForeignPass recorder(*this, input, forward.get());
  auto done = recorder.call(forward ? kind_.callbacks.backward : kind_.callbacks.forward);
  if (done) done = recorder.finish();
  if (!done) return tl::make_unexpected(of_callback(std::move(done).error(), forward ? "backward" : "forward"));
  return std::make_shared<const Recording>(recorder.take());
}

Result<std::shared_ptr<const Recording>> ForeignLayer::recorded(const Shape& input, Pass pass) const {
  const auto plan_of = [&] {
    return std::ranges::find_if(plans_, [&](const Plan& p) { return p.input == input && p.values == values_; });
  };
  {
    const Mutex::Guard guard(lock_);
    if (const auto plan = plan_of(); plan != plans_.end() && *plan.*pass) return *plan.*pass;
  }
  // Without the lock, since the host may call again; of two threads that do the same the first one counts.
  LOOM_TRY(auto made, record(input, pass));
  const Mutex::Guard guard(lock_);
  auto plan = plan_of();
  if (plan == plans_.end()) {
    if (plans_.size() == kMostPlans) plans_.erase(plans_.begin());
    plan = plans_.insert(plans_.end(), Plan{input, values_, nullptr, nullptr});
  }
  if (!(*plan.*pass)) *plan.*pass = std::move(made);
  return *plan.*pass;
}

Result<Shape> ForeignLayer::output_shape(const Shape& input) const {
  LOOM_TRY(const auto forward, recorded(batch_of(input), &Plan::forward));
  const Shape& y = forward->shapes[forward->result];
  return input.rank() > 1 ? y : without_batch(y);
}

// Runs a pass, unless it takes more than its session has planned: then the layer had forgotten the recording that the
// plan was made with, and the host answered otherwise when it was asked again.
template <class F>
void ForeignLayer::run_planned(const Recording& recording, const Run& run, Element element, bool whole,
                               const F& pass) const {
  if (run.rehearsal()) {
    pass(run);
    const Mutex::Guard guard(lock_);
    recording.room = {};  // types of weights may have changed
    return;
  }
  Recording::Room room{&run.exec.kernels,       run.exec.pool.threads(), run.exec.activations, element, whole,
                       run.gradients != nullptr};
  bool is_known = false;
  {
    const Mutex::Guard guard(lock_);
    is_known = recording.room.is_of(room);
    if (is_known) room.mark = recording.room.mark;
  }
  if (!is_known) {
    const auto needed = rehearse(run.exec, [&](const Exec& exec) {
      Tape tape;
      Run rehearsal(exec, run);
      if (run.keeps()) rehearsal.tape = &tape;
      pass(rehearsal);
    });
    if (!needed) return run.fail(needed.error());
    room.mark = *needed;
    const Mutex::Guard guard(lock_);
    recording.room = room;
  }
  const Arena::Mark used = run.arena().mark();
  const auto end = [](std::size_t from, std::size_t more) {
    return more == 0 ? from : round_up(from, Buffer::kAlignment) + more;  // every piece begins at such a multiple
  };
  if (!run.arena().holds({end(used.tensors, room.mark.tensors), end(used.notes, room.mark.notes)}))
    return run.fail(
        {Code::InvalidState, fmt::format("{}: a callback asks for more than when the pass was planned", kind_.name)});
  pass(run);
}

void ForeignLayer::forward(const Run& run, const ConstView& x, const View& y) const {
  const auto found = recorded(batch_of(x.shape), &Plan::forward);
  if (!found) return run.fail(found.error());
  const Recording& recording = **found;
  if (recording.joins_rows && refuses_lengths(run, kind())) return;
  if (recording.shapes[recording.result].elements() != y.shape.elements())
    return run.fail({Code::InvalidState, fmt::format("{}: forward gave another shape before", kind_.name)});
  run_planned(recording, run, x.element, run.keeps(), [&](const Run& on) { run_forward(recording, on, x, y); });
}

void ForeignLayer::run_forward(const Recording& recording, const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  Table<View> tensors = tensors_of(run, recording, x.element);
  tensors[0].data = const_cast<void*>(x.data);
  tensors[recording.result].data = y.data;
  recording.run(run, tensors.data(), run.keeps());
  for (const Recording::Index k : recording.kept) run.save(tensors[k]);
  // How many were kept: a host may answer otherwise when it is asked again.
  run.save(ConstView{x.data, recording.shapes[0], x.element},
           ConstView{nullptr, Shape::of({recording.kept.size() + 1}), x.element});
}

void ForeignLayer::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, mark] = run.saved<2>();
  const std::size_t saved = mark.shape[0] - 1;
  Table<ConstView> kept(run, saved);
  for (std::size_t k = saved; k-- > 0;) kept[k] = run.saved();
  const auto found = recorded(x.shape, &Plan::backward);
  if (!found) return run.fail(found.error());
  const Recording& recording = **found;
  bool fits = recording.kept.size() == saved && recording.shapes[0].elements() == dy.shape.elements();
  for (std::size_t k = 0; fits && k < saved; ++k) fits = recording.shapes[recording.kept[k]] == kept[k].shape;
  if (!fits) return run.fail({Code::InvalidState, fmt::format("{}: forward did something else before", kind_.name)});
  run_planned(recording, run, dy.element, dx.data != nullptr, [&](const Run& on) {
    Table<View> tensors = tensors_of(on, recording, dy.element);
    tensors[0].data = const_cast<void*>(dy.data);
    for (std::size_t k = 0; k < saved; ++k) tensors[recording.kept[k]].data = const_cast<void*>(kept[k].data);
    tensors[recording.result].data = dx.data;
    recording.run(on, tensors.data(), dx.data != nullptr);
  });
}

}  // namespace loom
