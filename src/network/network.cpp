#include "network/network.h"

#include <algorithm>
#include <optional>

#include "layers/adapter.h"
#include "layers/graph/folding_budget.h"
#include "layers/lora/lora.h"
#include "layers/tween.h"
#include "network/merge.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

Result<Network> Network::create(const GridSize& s) {
  for (const std::size_t extent : {s.depth, s.rows, s.cols, s.layers_per_cell})
    if (extent < 1 || extent > 65536)
      return fail(Code::InvalidConfig, "grid {} x {} x {} x {}: every extent must be 1..65536", s.depth, s.rows, s.cols,
                  s.layers_per_cell);
  // at most 2^64 - 1: four factors of at most 2^16
  const std::size_t cells = s.depth * s.rows * s.cols * s.layers_per_cell;
  if (s.depth * s.rows > (std::size_t{1} << 24) || cells > (std::size_t{1} << 24))
    return fail(Code::InvalidConfig, "grid {} x {} x {} x {} has more than 2^24 cells", s.depth, s.rows, s.cols,
                s.layers_per_cell);
  Network n;
  n.size_ = s;
  n.cells_.resize(cells);
  return n;
}

Result<std::size_t> Network::index_of(const Address& a) const {
  if (a.z >= size_.depth || a.y >= size_.rows || a.x >= size_.cols || a.l >= size_.layers_per_cell)
    return fail(Code::OutOfRange, "cell ({},{},{},{}) is outside the grid {} x {} x {} x {}", a.z, a.y, a.x, a.l,
                size_.depth, size_.rows, size_.cols, size_.layers_per_cell);
  return ((a.z * size_.rows + a.y) * size_.cols + a.x) * size_.layers_per_cell + a.l;
}

Address Network::address_of(std::size_t index) const {
  Address a;
  a.l = index % size_.layers_per_cell, index /= size_.layers_per_cell;
  a.x = index % size_.cols, index /= size_.cols;
  a.y = index % size_.rows, a.z = index / size_.rows;
  return a;
}

Result<void> Network::place(const Address& address, LayerPtr layer) {
  LOOM_TRY(const std::size_t index, index_of(address));
  exchange(index, std::move(layer));
  return {};
}

void Network::unresolve() {
  step_cells_.clear();
  for (Share* share : shares_) share->unresolve();  // their targets may be what is replaced
  for (Link* link : fed_) link->slot = Link::kNone;
  shares_.clear(), fed_.clear(), skips_.clear();
  for (Weight* w : ties_) w->untie();
  ties_.clear();
}

Cell Network::exchange(std::size_t index, Cell cell) {
  unresolve();
  std::swap(cells_[index], cell);
  return cell;
}

Result<std::size_t> Network::target_of(const Share& share) const {
  const auto& [z, y, x, l] = share.address();
  return index_of({z, y, x, l});
}

Result<Layer*> Network::layer(const Address& address) {
  LOOM_TRY(const std::size_t index, index_of(address));
  const Cell& cell = cells_[index];
  if (cell.is_empty()) return fail(Code::NotFound, "{} is empty", place_text(index));
  return cell.layer ? cell.layer.get() : cell.front();
}

std::string Network::place_text(std::size_t index) const {
  const Address a = address_of(index);
  return fmt::format("cell ({},{},{},{})", a.z, a.y, a.x, a.l);
}

Steps Network::steps(std::size_t index) const {
  const Address a = address_of(index);
  const bool is_list = size_.depth * size_.rows * size_.cols == 1;
  return {"layers", is_list ? std::to_string(index) : fmt::format("{},{},{},{}", a.z, a.y, a.x, a.l)};
}

Steps Network::steps(std::string_view path) const {
  Steps all = path_steps(path);
  all[1] = steps(static_cast<std::size_t>(std::stoull(all[1])))[1];
  return all;
}

Shape Network::with_batch(const Shape& sample, std::size_t samples) {
  std::vector<std::size_t> extents{samples};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  auto shape = Shape::create(extents);
  return shape ? *shape : sample;
}

Result<void> Network::initialise() {
  LOOM_TRY_VOID(resolve_ties());
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].layer) {
      LOOM_TRY_VOID(initialise_weights(path(i), *cells_[i].layer, settings.seed));
    }
  return {};
}

Result<Layer*> Network::layer_at(std::size_t index) {
  if (index >= cells_.size()) return fail(Code::OutOfRange, "cell {} is outside the grid of {}", index, cells_.size());
  return layer(address_of(index));
}

Result<Layer*> Network::layer_at(std::string_view path) {
  Layer* found = nullptr;
  each_layer([&](std::size_t, const std::string& place, Layer& layer) {
    if (place == path) found = &layer;
  });
  if (found == nullptr) return fail(Code::NotFound, "there is no layer at \"{}\"", path.substr(0, 80));
  return found;
}

namespace {

struct LayerAt {
  std::string path;
  Layer* layer;
};

// All masters first: what fails, fails before anything changes.
Result<void> morph_layers(std::span<const LayerAt> layers, DType dtype) {
  if (static_cast<std::size_t>(dtype) >= kNumTypes)
    return fail(Code::InvalidArgument, "type {} is none of the {} that networks can be morphed to",
                static_cast<int>(dtype), kNumTypes);
  std::optional<Error> error;
  const auto each = [&](auto&& change) {
    for (const LayerAt& at : layers)
      visit_weights(at.path, *at.layer, [&](const std::string& path, Weight& w, Layer& layer) {
        if (error || w.is_tied()) return;
        if (auto done = change(w, layer); !done) error = std::move(done.error().in_source(path));
      });
  };
  each([](Weight& w, Layer&) { return w.ensure_master(); });
  each([&](Weight& w, Layer& layer) {
    Encoding encoding = layer.common.encoding;
    encoding.dtype = dtype;
    return w.morph(encoding);
  });
  if (error) return tl::make_unexpected(*std::move(error));
  for (const LayerAt& at : layers)
    visit_layers(at.path, *at.layer, [&](const std::string&, Layer& layer) { layer.common.encoding.dtype = dtype; });
  return {};
}

}  // namespace

Result<void> morph_layer(const std::string& path, Layer& layer, DType dtype) {
  const LayerAt at{path, &layer};
  return morph_layers(std::span(&at, 1), dtype);
}

Result<void> Network::morph_all(DType dtype) {
  std::vector<LayerAt> layers;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].link) layers.push_back({path(i), cells_[i].front()});
    if (cells_[i].layer) layers.push_back({path(i), cells_[i].layer.get()});
  }
  return morph_layers(layers, dtype);
}

Result<void> Network::morph(std::string_view path, DType dtype) {
  LOOM_TRY(Layer* const layer, layer_at(path));
  return morph_layer(std::string(path), *layer, dtype);
}

void Network::release_masters() {
  visit_weights([](const std::string&, Weight& w, Layer&) {
    w.trim_versions();
    w.release_master();
  });
}

Result<void> Network::merge_adapters() {
  std::optional<Error> error;
  each_layer([&](std::size_t, const std::string& place, Layer& layer) {
    if (error) return;
    if (Lora* lora = layer_as<Lora>(layer)) lora->drop_adapters();
    if (auto merged = loom::merge_adapters(layer); !merged) error = std::move(merged.error().in_source(place));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return {};
}

Result<void> Network::prepare(const Shape& input) {
  const graph::FoldingBudget folding;  // one for the graphs of all layers
  sweep_ = Sweep::Plain;
  prepared_input_ = input;
  shape_after_.clear(), step_cells_.clear();
  LOOM_TRY_VOID(resolve_ties());
  LOOM_TRY_VOID(resolve_links());
  auto done = infer(input);
  for (CellSource* skip : skips_) skip->shape.reset();  // sessions may give other lengths
  return done;
}

Result<void> Network::infer(const Shape& input) {
  std::vector<ConstView> outputs(sources_.size());
  Shape shape = input;
  std::size_t next_source = 0, next_skip = 0;
  std::string disabled;  // the last cell that passed its input through although it holds a layer
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].is_empty() && cells_[i].settings().is_disabled) disabled = place_text(i);
    if (cells_[i].runs()) {
      auto out = shape_behind(i, shape, outputs);
      if (!out) {
        if (!disabled.empty())
          out.error().message += fmt::format(" ({} is disabled and passes its input through)", disabled);
        return under(steps(i), std::move(out).error());
      }
      shape = *out;
    }
    if (is_source(i, next_source)) {
      for (; next_skip < skips_.size() && skips_[next_skip]->slot == next_source; ++next_skip)
        skips_[next_skip]->shape = shape;
      outputs[next_source++].shape = shape;
    }
    shape_after_.push_back(shape);
  }
  return {};
}

Result<Shape> Network::fed_shape(std::size_t cell, const Shape& input, const Shape& fed) const {
  LOOM_TRY(const Shape merged, merged_shape(cells_[cell].link->share.merge(), input, fed));
  return cells_[cell].layer ? cells_[cell].layer->output_shape(merged) : Result<Shape>(merged);
}

constexpr std::string_view kNoTarget = "link: its target is not at hand; Network::prepare() resolves links";

Result<Shape> Network::shape_behind(std::size_t cell, const Shape& input, std::span<const ConstView> outputs) const {
  if (!cells_[cell].is_fed()) return cells_[cell].operation()->output_shape(input);
  const std::size_t slot = cells_[cell].link->slot;
  if (slot >= outputs.size()) return fail(Code::InvalidState, "{}", kNoTarget);
  return fed_shape(cell, input, outputs[slot].shape);
}

Result<Shape> Network::output_shape(const Shape& input, std::size_t begin, std::size_t end) const {
  if (only_steps_)
    return fail(Code::InvalidState,
                "the network was prepared for the step mesh and has links that the plain sweep reads otherwise");
  std::vector<ConstView> outputs(sources_.size());
  Shape shape = input;
  std::size_t next_source = 0;
  while (next_source < sources_.size() && sources_[next_source] < begin) ++next_source;
  for (std::size_t i = begin; i < end; ++i) {
    if (cells_[i].runs()) {
      auto out = shape_behind(i, shape, outputs);
      if (!out) return under(steps(i), std::move(out).error());
      shape = *out;
    }
    if (is_source(i, next_source)) outputs[next_source++].shape = shape;
  }
  return shape;
}

// Elements of the largest tensor behind a cell of [begin, end). Shapes were checked at prepare().
std::size_t Network::widest_output(const Shape& input, std::span<ConstView> outputs, std::size_t begin,
                                   std::size_t end) const {
  std::size_t widest = 0, next_source = 0;
  while (next_source < sources_.size() && sources_[next_source] < begin) ++next_source;
  Shape shape = input;
  for (std::size_t i = begin; i < end; ++i) {
    if (cells_[i].runs()) {
      shape = *shape_behind(i, shape, outputs);
      widest = std::max(widest, shape.elements());
    }
    if (is_source(i, next_source)) outputs[next_source++].shape = shape;
  }
  return widest;
}

// Returns whether the call ends here; it is asked between cells.
static bool is_cancelled(const Run& run) {
  if (run.exec.cancel != nullptr && run.exec.cancel->load(std::memory_order_relaxed))
    run.fail({Code::Cancelled, "cancelled by the caller"});
  return run.exec.status.has_value();
}

// Runs a cell; a link that feeds it brings in the output of another cell, which has run.
void Network::forward_cell(const Run& run, std::size_t i, const ConstView& x, const View& y) const {
  const Cell& cell = cells_[i];
  if (!cell.is_fed()) return run_forward(*cell.operation(), run, x, y);
  if (cell.link->slot >= run.cells.outputs.size() || run.cells.outputs[cell.link->slot].data == nullptr)
    return run.fail({Code::InvalidState, std::string(kNoTarget)});
  const ArenaScope scope(run.arena(), run.keeps());
  const Merge merge = cell.link->share.merge();
  const ConstView& fed = run.cells.outputs[cell.link->slot];
  ConstView in = fed;
  if (merge != Merge::Replace) {
    const View both = run.view(*merged_shape(merge, x.shape, fed.shape), x.element);  // checked at prepare()
    merge_inputs(run, merge, x, fed, both);
    in = both;
  }
  cell.layer ? run_forward(*cell.layer, run, in, y) : copy(run, in, y);
  run.save(in);
  ran_forward(cell.link->share, run, x, y);
}

void Network::backward_cell(const Run& run, std::size_t i, const Shape& input, const ConstView& dy, const View& dx,
                            const TweenRules* rules) const {
  const Cell& cell = cells_[i];
  if (!cell.is_fed()) return run_backward(*cell.operation(), run, dy, dx, rules);
  if (cell.link->slot >= run.cells.gradients.size()) return run.fail({Code::InvalidState, std::string(kNoTarget)});
  const ArenaScope scope(run.arena());
  const Merge merge = cell.link->share.merge();
  const ConstView in = run.saved();
  ConstView din = dy;
  if (cell.layer) {
    const View inner = run.view(in.shape, dy.element);
    run_backward(*cell.layer, run, dy, inner, rules);
    din = inner;
  }
  if (merge == Merge::Replace && dx.data != nullptr) fill_zero(run, dx);
  const auto to_input = [&](const ConstTensor& d) {
    if (dx.data != nullptr) copy(run, d, dx);
  };
  const View& to = run.cells.gradients[cell.link->slot];
  split_gradient(run, merge, din, input.cols(), to_input, [&](const ConstTensor& d) { add(run, to, d, to); });
  ran_backward(cell.link->share, run, dy, dx, rules);
}

ConstView Network::forward(const Run& run, const ConstView& x, std::size_t begin, std::size_t end) const {
  if (run.cells.outputs.size() < sources_.size()) {
    run.fail({Code::InvalidState, "the network has links or skips between cells, which this session does not keep"});
    return x;
  }
  for (ConstView& output : run.cells.outputs) output.data = nullptr;
  // Two buffers take turns: a cell reads one and writes the other. With a tape every cell has its own.
  std::byte* buffers[2] = {};
  if (!run.keeps())
    for (std::byte*& buffer : buffers)
      buffer = run.take<std::byte>(widest_output(x.shape, run.cells.outputs, begin, end) * bytes_of(x.element));
  ConstView current = x;
  std::size_t turn = 0, next_source = 0;
  while (next_source < sources_.size() && sources_[next_source] < begin) ++next_source;
  for (std::size_t i = begin; i < end; ++i) {
    if (cells_[i].runs()) {
      if (is_cancelled(run)) break;
      View y{buffers[turn], *shape_behind(i, current.shape, run.cells.outputs), x.element};
      if (run.keeps()) y = run.view(y.shape, x.element);
      turn ^= 1;
      forward_cell(run, i, current, y);
      round_activations(run, y, run.mixed);
      run.save(current);
      if (run.exec.status) run.exec.status->under(steps(i));
      current = y;
    }
    if (!is_source(i, next_source)) continue;
    ConstView& output = run.cells.outputs[next_source++];
    output = current;
    if (run.keeps() || current.data == x.data) continue;
    const View own = run.view(current.shape, current.element);
    copy(run, current, own);
    output = own;
  }
  return current;
}

bool Network::learns(std::size_t begin, std::size_t end) const {
  bool any = false;
  for (std::size_t i = begin; i < end && !any; ++i)
    if (cells_[i].runs() && cells_[i].operation() != nullptr)
      visit_running(*cells_[i].operation(), [&](Layer& layer) {
        layer.visit_all_weights([&](const Weight& w) { any = any || !w.is_frozen(); });
      });
  return any;
}

void Network::backward(const Run& run, const ConstView& dy, const View& dx, std::size_t begin, std::size_t end,
                       const TweenRules* rules) const {
  ConstView gradient = dy;
  std::size_t first = begin, turn = 0, next_source = sources_.size();
  while (first < end && !cells_[first].runs()) ++first;
  const std::size_t widest =
      std::max(widest_output(dx.shape, run.cells.outputs, begin, end), dx.shape.elements()) * bytes_of(dy.element);
  std::byte* const buffers[2] = {run.take<std::byte>(widest), run.take<std::byte>(widest)};
  for (std::size_t s = 0; s < sources_.size() && s < run.cells.gradients.size(); ++s) {
    run.cells.gradients[s] = run.view(run.cells.outputs[s].shape, dy.element);
    fill_zero(run, run.cells.gradients[s]);
  }
  while (next_source > 0 && sources_[next_source - 1] >= end) --next_source;
  const bool direct = sources_.empty() || sources_.front() >= first;
  for (std::size_t i = end; i-- > begin;) {
    if (next_source > 0 && sources_[next_source - 1] == i && --next_source < run.cells.gradients.size() &&
        gradient.data != nullptr) {
      const View sum = run.view(gradient.shape, gradient.element);
      add(run, gradient, run.cells.gradients[next_source], sum);
      gradient = mean_target(run, rules, sum, source_uses_[next_source] + 1);
    }
    if (!cells_[i].runs()) continue;
    if (is_cancelled(run)) return;
    if (cells_[i].layer && cells_[i].layer->kind_row().forward_only) {
      if (dx.data == nullptr && !learns(begin, i)) return run.tape->clear();  // nothing before it wants a gradient
      run.fail(no_backward(*cells_[i].layer));
      return void(run.exec.status->under(steps(i)));
    }
    const ConstView input = run.saved();
    const View next =
        i == first && (direct || dx.data == nullptr) ? dx : View{buffers[turn ^= 1], input.shape, dy.element};
    backward_cell(run, i, input.shape, gradient, next, rules);
    if (next.data != nullptr) round_gradients(run, next, run.mixed);
    if (run.exec.status) run.exec.status->under(steps(i));
    gradient = next;
  }
  if (dx.data != nullptr && gradient.data != dx.data) copy(run, gradient, dx);
}

void Network::each_layer(const std::function<void(std::size_t, const std::string&, Layer&)>& visit) const {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto visit_place = [&](const std::string& place, Layer& layer) { visit(i, place, layer); };
    if (cells_[i].link) visit_place(path(i), cells_[i].link->share);
    if (cells_[i].layer) visit_layers(path(i), *cells_[i].layer, visit_place);
  }
}

void Network::visit_weights(const std::function<void(const std::string&, Weight&, Layer&)>& visit) const {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].layer)
      loom::visit_weights(path(i), *cells_[i].layer, [&](const std::string& name, Weight& w, Layer& layer) {
        if (!w.is_tied()) visit(name, w, layer);
      });
}

std::size_t Network::resident_bytes() const {
  std::size_t bytes = 0;
  visit_weights([&](const std::string&, Weight& w, Layer&) { bytes += w.resident_bytes(); });
  return bytes;
}

}  // namespace loom
