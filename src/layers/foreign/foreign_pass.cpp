#include "layers/foreign/foreign_pass.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "core/nearest.h"

namespace loom {
namespace {

constexpr std::size_t kMostOps = 4096, kMostWeights = 256, kLongestWeightName = 60;

std::uint32_t next_serial() {
  static std::atomic<std::uint32_t> serial{0};
  return ++serial;
}

}  // namespace

ForeignPass::ForeignPass(const ForeignLayer& layer, Weights& weights)
    : layer_(layer), stage_(Stage::Declare), serial_(next_serial()), declared_(&weights) {}

ForeignPass::ForeignPass(const ForeignLayer& layer, const Shape& input, const Recording* forward)
    : layer_(layer),
      stage_(forward == nullptr ? Stage::Forward : Stage::Backward),
      serial_(next_serial()),
      samples_(input[0]) {
  if (forward == nullptr) {
    grow(input, From::Outside);
    return;
  }
  wanted_ = input;
  grow(forward->shapes[forward->result], From::Outside);
  for (const Index k : forward->kept) recording_.kept.push_back(grow(forward->shapes[k], From::Outside));
  untaken_ = recording_.kept.size();
}

Result<void> ForeignPass::call(const ForeignCallbacks::Callback& callback) {
  auto done = callback(*this);
  if (error_) return tl::make_unexpected(*error_);
  return done;
}

Result<void> ForeignPass::finish() {
  if (!has_result_) return fail(Code::InvalidState, "no tensor was named as the result");
  if (untaken_ != 0) return fail(Code::InvalidState, "{} kept tensors were not asked for", untaken_);
  // The result gets memory from outside, so it must be what an op writes.
  if (from_[recording_.result] != From::Op) {
    const Index x = recording_.result;
    LOOM_TRY(const Ref y, emit({x}, at(x), [x](const Run& run, View* t, const View& to) { copy(run, t[x], to); }));
    LOOM_TRY(recording_.result, index(y));
  }
  recording_.settle(stage_ == Stage::Forward);
  return {};
}

Result<void> ForeignPass::declare_all() {
  const bool has_matrix =
      std::ranges::any_of(*declared_, [](const auto& w) { return w->role() == WeightRole::Matrix; });
  if (has_matrix) return {};
  for (auto& w : *declared_) {
    const std::array extents{w->elements()};
    LOOM_TRY_VOID(w->declare(std::string(w->name()), WeightRole::TypedVector, extents, WeightInit(w->initial())));
  }
  return {};
}

Result<void> ForeignPass::need(Stage stage, std::string_view what) const {
  if (stage_ == stage) return {};
  return fail(Code::InvalidState, "{} is for {} alone", what,
              stage == Stage::Declare   ? "declare"
              : stage == Stage::Forward ? "forward"
                                        : "backward");
}

Result<void> ForeignPass::need_pass() const {
  if (stage_ != Stage::Declare) return {};
  return fail(Code::InvalidState, "declare has no tensors");
}

Result<ForeignPass::Index> ForeignPass::index(Ref ref) const {
  LOOM_TRY_VOID(need_pass());
  const auto i = static_cast<Index>(ref);
  if (ref >> 32 != serial_ || i == 0 || i > recording_.shapes.size())
    return fail(Code::InvalidArgument, "{:#x} is no tensor of this call", ref);
  return i - 1;
}

ForeignPass::Index ForeignPass::grow(const Shape& shape, From from) {
  recording_.shapes.push_back(shape);
  from_.push_back(from);
  return static_cast<Index>(recording_.shapes.size() - 1);
}

Result<const ForeignSetting*> ForeignPass::find_setting(std::string_view key, const ForeignValue*& value) const {
  const auto& settings = layer_.foreign().description.settings;
  const auto found = std::ranges::find(settings, key, &ForeignSetting::key);
  if (found == settings.end()) return fail(Code::UnknownKey, "no setting \"{}\"", printable(key));
  value = &layer_.values()[static_cast<std::size_t>(found - settings.begin())];
  return &*found;
}

Result<double> ForeignPass::setting(std::string_view key) {
  return settled([&]() -> Result<double> {
    const ForeignValue* value = nullptr;
    LOOM_TRY(const ForeignSetting* const s, find_setting(key, value));
    switch (s->type) {
      case ForeignSetting::Type::Integer:
      case ForeignSetting::Type::Choice: return static_cast<double>(value->whole);
      case ForeignSetting::Type::Number: return value->number;
      case ForeignSetting::Type::Boolean: return value->flag ? 1 : 0;
      case ForeignSetting::Type::Activation: break;
    }
    return fail(Code::InvalidArgument, "the setting {} is an activation: ops take its key", s->key);
  });
}

Result<ActivationFn> ForeignPass::activation_of(std::string_view name) const {
  const ForeignValue* value = nullptr;
  if (const auto s = find_setting(name, value); s && (*s)->type == ForeignSetting::Type::Activation)
    return ActivationFn(value->activation);
  if (const auto found = activation_from_name(name)) return ActivationFn(*found);
  return fail(Code::UnknownName, "activation \"{}\" is neither a setting nor a name", printable(name));
}

namespace {

Result<WeightInit> rule_of(std::string_view name, std::size_t rows, std::size_t cols, bool is_matrix, double size) {
  using Rule = WeightInit::Rule;
  constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"zeros", Rule::Zeros},     {"ones", Rule::Ones},     {"glorot", Rule::Glorot},    {"he", Rule::He},
      {"uniform", Rule::Uniform}, {"normal", Rule::Normal}, {"identity", Rule::Identity}};
  WeightInit init{is_matrix ? Rule::Glorot : Rule::Zeros, cols, rows, 0};
  if (!(size >= 0 && size <= 1e6)) return fail(Code::OutOfRange, "init size {}, expected 0 to 1000000", size);
  if (!name.empty()) {
    const auto found = std::ranges::find(kRules, name, &std::pair<std::string_view, Rule>::first);
    if (found == std::end(kRules)) return fail(Code::UnknownName, "init \"{}\" is unknown", printable(name));
    init.rule = found->second;
  }
  if (!is_matrix && init.rule == Rule::Identity) return fail(Code::InvalidArgument, "identity is for matrices");
  if (init.rule == Rule::Uniform) init.size = size > 0 ? size : 0.1;
  if (init.rule == Rule::Normal) init.size = size > 0 ? size : 0.02;
  return init;
}

bool is_weight_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestWeightName && name.front() != '.' && name.back() != '.' &&
         std::ranges::all_of(
             name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; });
}

}  // namespace

Result<void> ForeignPass::declare_weight(std::string_view name, std::span<const std::size_t> extents,
                                         std::string_view init, double size) {
  return settled([&]() -> Result<void> {
    LOOM_TRY_VOID(need(Stage::Declare, "a weight"));
    if (!is_weight_name(name))
      return fail(Code::InvalidArgument, "a weight \"{}\": expected small letters, digits, '_' and '.'",
                  printable(name));
    if (std::ranges::any_of(*declared_, [&](const auto& w) { return w->name() == name; }))
      return fail(Code::InvalidArgument, "the weight {} is declared twice", name);
    if (declared_->size() == kMostWeights) return fail(Code::LimitExceeded, "more than {} weights", kMostWeights);
    if (extents.empty() || extents.size() > 2)
      return fail(Code::ShapeMismatch, "{}: {} extents, expected 1 or 2", name, extents.size());
    const bool is_matrix = extents.size() == 2;
    LOOM_TRY(const WeightInit rule, rule_of(init, extents.front(), extents.back(), is_matrix, size));
    auto made = std::make_unique<Weight>();
    LOOM_TRY_VOID(made->declare(std::string(name), is_matrix ? WeightRole::Matrix : WeightRole::Vector, extents, rule));
    declared_->push_back(std::move(made));
    return {};
  });
}

Result<ForeignPass::Ref> ForeignPass::input() {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY_VOID(need_pass());
    return ref(0);
  });
}

Result<void> ForeignPass::result(Ref tensor) {
  return settled([&]() -> Result<void> {
    LOOM_TRY(const Index y, index(tensor));
    if (has_result_) return fail(Code::InvalidState, "the result was named before");
    if (wanted_ && !(at(y) == *wanted_))
      return fail(Code::ShapeMismatch, "a gradient {} of an input {}", at(y).text(), wanted_->text());
    if (at(y)[0] != samples_) return fail(Code::ShapeMismatch, "a result {} for {} samples", at(y).text(), samples_);
    recording_.result = y, has_result_ = true;
    return {};
  });
}

Result<void> ForeignPass::keep(Ref tensor) {
  return settled([&]() -> Result<void> {
    LOOM_TRY_VOID(need(Stage::Forward, "keep"));
    LOOM_TRY(const Index x, index(tensor));
    LOOM_TRY_VOID(room_for_op());
    recording_.kept.push_back(x);
    return {};
  });
}

Result<ForeignPass::Ref> ForeignPass::kept() {
  return settled([&]() -> Result<Ref> {
    LOOM_TRY_VOID(need(Stage::Backward, "kept"));
    if (untaken_ == 0) return fail(Code::InvalidState, "forward kept no more tensors");
    return ref(recording_.kept[--untaken_]);
  });
}

Result<Shape> ForeignPass::shape(Ref tensor) {
  return settled([&]() -> Result<Shape> {
    LOOM_TRY(const Index x, index(tensor));
    return at(x);
  });
}

Result<void> ForeignPass::room_for_op() const {
  if (recording_.ops.size() < kMostOps && recording_.kept.size() < kMostOps) return {};
  return fail(Code::LimitExceeded, "more than {} ops in one pass", kMostOps);
}

Result<const Weight*> ForeignPass::weight_of(std::string_view name) const {
  LOOM_TRY_VOID(need_pass());
  for (const auto& w : layer_.weights())
    if (w->name() == name) return w.get();
  return fail(Code::UnknownName, "no weight \"{}\" was declared", printable(name));
}

Result<const Weight*> ForeignPass::vector_of(std::string_view name, std::size_t elements) const {
  if (name.empty()) return nullptr;
  LOOM_TRY(const Weight* const w, weight_of(name));
  if (w->shape().rank() == 1 && w->elements() == elements) return w;
  return fail(Code::ShapeMismatch, "{} {}, expected a vector of {}", name, w->shape().text(), elements);
}

Result<const Weight*> ForeignPass::matrix_of(std::string_view name) const {
  LOOM_TRY(const Weight* const w, weight_of(name));
  if (w->role() == WeightRole::Matrix) return w;
  return fail(Code::ShapeMismatch, "{} {}, expected a matrix", name, w->shape().text());
}

Result<std::pair<ForeignPass::Index, ForeignPass::Index>> ForeignPass::alike(Ref a, Ref b) const {
  LOOM_TRY(const Index i, index(a));
  LOOM_TRY(const Index j, index(b));
  if (at(i) == at(j)) return std::pair(i, j);
  return fail(Code::ShapeMismatch, "tensors {} and {}, expected equal shapes", at(i).text(), at(j).text());
}

Result<void> ForeignPass::need_axis(Index x, std::size_t axis) const {
  if (axis >= at(x).rank()) return fail(Code::OutOfRange, "axis {} of a tensor {}", axis, at(x).text());
  if (axis == 0) return fail(Code::InvalidArgument, "axis 0 is that of the samples");
  return {};
}

Result<std::size_t> ForeignPass::block_of(Index x, std::size_t width) const {
  const Shape& s = at(x);
  if ((s.elements() / s[0]) % width != 0)
    return fail(Code::ShapeMismatch, "a gradient of {} elements from samples of a tensor {}", width, s.text());
  return 16 * (s.elements() / s[0] / width);
}

}  // namespace loom
