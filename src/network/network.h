#pragma once
// A network is a place: a grid of cells addressed (z, y, x, l), flat index ((z * rows + y) * cols + x) *
// layers_per_cell + l. Cells are visited in ascending index; empty and disabled cells pass their input through.
// Immutable while sessions run it.

#include <cstdint>
#include <map>
#include <vector>

#include "layers/layer.h"
#include "layers/share/share.h"
#include "network/settings.h"

namespace loom {

struct GridSize {
  std::size_t depth = 1, rows = 1, cols = 1, layers_per_cell = 1;
};

struct Address {
  std::size_t z = 0, y = 0, x = 0, l = 0;
};

// A remote link of a cell (engine 1.3): what the cell reads of another one, or whose operation it runs.
struct Link {
  static constexpr std::size_t kNone = ~std::size_t{0};
  Share share;               // the link's keys; runs where the link shares, and stands for the cell in hooks
  std::size_t slot = kNone;  // of Call::cells: the output that feeds the cell, given at prepare()
  bool feeds() const { return share.mode() == Share::Mode::Feed; }
};

struct Cell {
  LayerPtr layer;              // its own operation; null: what it reads passes through
  std::unique_ptr<Link> link;  // null: it reads its predecessor

  Cell() = default;
  Cell(LayerPtr own, std::unique_ptr<Link> from = nullptr) : layer(std::move(own)), link(std::move(from)) {}
  bool is_empty() const { return layer == nullptr && link == nullptr; }
  // The layer by which hooks, reports and rules know the cell: that of its link, else its own; null in an empty cell.
  Layer* front() const { return link != nullptr ? &link->share : layer.get(); }
  // The cell must not be empty. The settings are those of its own layer, or else of its link: beside an operation a
  // link has none.
  CommonSettings& settings() const { return layer != nullptr ? layer->common : link->share.common; }
  bool runs() const { return !is_empty() && !settings().is_disabled; }
  // In the plain sweep: whether another cell's output comes in, and what runs.
  bool is_fed() const { return link != nullptr && link->feeds(); }
  Layer* operation() const { return link != nullptr && !link->feeds() ? &link->share : layer.get(); }
  // Returns whether rows of its output are probabilities.
  bool gives_distribution() const {
    return operation() != nullptr && operation()->last_operation().kind_row().gives_distribution;
  }
};

// A cell as the step mesh runs it (engine section 8): what it reads, and what it does with that.
struct StepCell {
  static constexpr std::size_t kNone = ~std::size_t{0};
  const Layer* operation = nullptr;  // null: its input passes through, one tick later
  std::size_t link = kNone;          // the cell whose last output is fed in
  Merge feed = Merge::None;          // how that joins what the predecessor left
  bool starts = false;               // data reaches it; shapes are known only then
  Shape source, input, output;       // the predecessor's output, what the operation reads, what it makes
  std::size_t cost = 0;              // of one tick, in multiplications or so
};

class Network {
 public:
  // InvalidConfig unless every extent is 1..65536 and the product at most 2^24.
  static Result<Network> create(const GridSize& size);

  const GridSize& size() const { return size_; }
  std::size_t num_cells() const { return cells_.size(); }
  // OutOfRange when a coordinate leaves its own extent.
  Result<std::size_t> index_of(const Address& address) const;
  Address address_of(std::size_t index) const;
  Result<void> place(const Address& address, LayerPtr layer);
  // The same, and what stood there comes back; prepare() follows.
  Cell exchange(std::size_t index, Cell cell);
  // Links and ties forget their targets, which are about to change.
  void unresolve();
  const Cell& cell(std::size_t index) const {
    LOOM_ASSERT(index < cells_.size());
    return cells_[index];
  }
  // The cell that a link names, whatever that cell does; OutOfRange.
  Result<std::size_t> target_of(const Share& share) const;
  // The layer of a cell, that of its link where it has none of its own; OutOfRange outside the grid, NotFound for an
  // empty cell.
  Result<Layer*> layer(const Address& address);
  Result<Layer*> layer_at(std::size_t index);
  // The layer at a path such as "layers.3.sequential_layers.0"; NotFound.
  Result<Layer*> layer_at(std::string_view path);

  NetworkSettings settings;

  // `samples` of a shape as one batch.
  static Shape with_batch(const Shape& sample, std::size_t samples);
  // Fills the weights that have no value, by rule and seed (engine J-02).
  Result<void> initialise();
  // Every matrix and typed vector to another type, in containers too (engine D-21). Fails before anything changes when
  // a master is missing. InvalidArgument for a type that is none of the 21.
  Result<void> morph_all(DType dtype);
  // The same for one layer and all below it (morph_layer()).
  Result<void> morph(std::string_view path, DType dtype);
  void release_masters();
  // Adds every enabled adapter to its matrix's master and removes it (engine L-141). Sessions are created anew.
  // InvalidState for weights without values and those that are tied.
  Result<void> merge_adapters();
  // Shares the tables that `tied_to` asks for (engine L-102); prepare() and initialise() do so too. NotFound,
  // LinkToEmpty, OutOfRange, InvalidConfig when the target is no embedding, ShapeMismatch; the message begins with the
  // layer's path.
  Result<void> resolve_ties();
  // Resolves links, infers shapes from the input on, numbers the weights and gives layers their state slots.
  // ShapeMismatch names the cell; OutOfRange, LinkToEmpty, FeedbackLink, LinkCycle with the whole path, NestingTooDeep,
  // LimitExceeded come from links. Later inputs may differ in their leading axes where the layers allow it.
  Result<void> prepare(const Shape& input);
  // The same for the step mesh: links of the grid in mode "auto" feed, and feeds and skips may come from any cell, the
  // own one included, as every cell reads what the others left in the tick before. Widths inside a ring come from
  // declared sizes; ShapeMismatch where they do not. Cells of a ring that can never start are named in step_warnings().
  // Sessions of the plain sweep still run where no link means another thing.
  Result<void> prepare_steps(const Shape& input);
  bool prepared_for_steps() const { return !step_cells_.empty(); }
  const Shape& step_input() const { return step_input_; }
  std::span<const StepCell> step_cells() const { return step_cells_; }
  std::span<const std::string> step_warnings() const { return step_warnings_; }
  // The cell behind a slot of Call::cells.
  std::size_t source_of_slot(std::size_t slot) const { return sources_[slot]; }

  const Shape& prepared_input() const { return prepared_input_; }  // of the last prepare()
  bool is_prepared() const { return shape_after_.size() == cells_.size(); }
  const Shape& shape_after(std::size_t index) const { return shape_after_[index]; }
  const std::vector<StateNeeds>& state_needs() const { return state_needs_; }
  // Counts the cells whose outputs links and skips want: a session gives Call::cells as many entries.
  std::size_t num_cell_sources() const { return sources_.size(); }

  // Shape that cells [begin, end) make of an input, checked anew.
  Result<Shape> output_shape(const Shape& input, std::size_t begin, std::size_t end) const;

  // Runs cells [begin, end); the result lives in the arena (or is x itself when nothing ran) until the caller rewinds
  // it. With a tape every tensor between cells is kept.
  ConstView forward(const Run& run, const ConstView& x, std::size_t begin, std::size_t end) const;
  // The cells of the last forward in descending order; dx may have no data. The tape is empty afterwards. With rules dy
  // and dx are gaps of targets.
  void backward(const Run& run, const ConstView& dy, const View& dx, std::size_t begin, std::size_t end,
                const TweenRules* rules = nullptr) const;

  // visit(3, "layers.3.sequential_layers.0", layer), ascending; a cell's link comes before the cell's own layer, at the
  // same path.
  void each_layer(const std::function<void(std::size_t, const std::string&, Layer&)>& visit) const;
  // visit("layers.3.sequential_layers.0.weight", weight, its layer), ascending; every weight once, ties left out.
  void visit_weights(const std::function<void(const std::string&, Weight&, Layer&)>& visit) const;
  std::size_t resident_bytes() const;
  static std::string path(std::size_t index) { return fmt::format("layers.{}", index); }
  // The place of a cell in errors: "/layers/3" in a plain list, "/layers/0,1,0,2" in a grid; and of a layer inside one,
  // by its path.
  Steps steps(std::size_t index) const;
  Steps steps(std::string_view path) const;
  // "cell (0,0,1,2)"
  std::string place_text(std::size_t index) const;

 private:
  struct LinkUse;
  enum class Sweep : std::uint8_t { Plain, Steps };
  // In the sweep that the last prepare was for, where auto may feed.
  bool feeds(const Link& link) const;
  Result<void> resolve_links();
  Result<void> infer_steps();
  Result<void> check_step_shapes();
  void settle_starts();
  Result<std::size_t> final_target(const std::string& place, const Share& share,
                                   std::map<std::size_t, std::size_t>& known) const;
  Result<std::size_t> skip_target(const std::string& place, const std::array<std::size_t, 4>& address) const;
  Result<void> check_order(std::size_t source, std::size_t from, const std::string& place);
  Result<void> find_links(std::vector<LinkUse>& uses, std::map<std::size_t, std::size_t>& latest_skip);
  void forward_cell(const Run& run, std::size_t cell, const ConstView& x, const View& y) const;
  void backward_cell(const Run& run, std::size_t cell, const Shape& input, const ConstView& dy, const View& dx,
                     const TweenRules* rules) const;
  Result<void> check_shared_skips(const std::vector<LinkUse>& uses, const std::vector<std::size_t>& order,
                                  std::map<std::size_t, std::size_t>& latest_skip);
  void count_source_uses();
  Result<void> infer(const Shape& input);
  Result<void> order_uses(std::vector<LinkUse>& uses, std::vector<std::size_t>& order) const;
  Result<void> assign_slots(const std::vector<LinkUse>& uses, const std::vector<std::size_t>& order);
  bool is_source(std::size_t cell, std::size_t& next) const { return next < sources_.size() && sources_[next] == cell; }
  // Whether a weight of cells [begin, end), or one that they share, learns.
  bool learns(std::size_t begin, std::size_t end) const;
  Result<Shape> fed_shape(std::size_t cell, const Shape& input, const Shape& fed) const;
  // Shape behind a cell; `cells` holds the shapes of the outputs wanted so far.
  Result<Shape> shape_behind(std::size_t cell, const Shape& input, std::span<const ConstView> cells) const;
  std::size_t widest_output(const Shape& input, std::span<ConstView> cells, std::size_t begin, std::size_t end) const;
  GridSize size_;
  std::vector<Cell> cells_;
  std::vector<Shape> shape_after_;
  std::vector<StateNeeds> state_needs_;
  std::vector<std::size_t> sources_;      // cells whose outputs others want, ascending; the position is the slot
  std::vector<std::size_t> source_uses_;  // how many links and skips take the output of each
  std::vector<Share*> shares_;      // all that the last prepare() found, those of cells and those inside containers
  std::vector<Link*> fed_;          // those of the cells that are fed
  std::vector<CellSource*> skips_;  // those of the residuals, by slot
  std::vector<Weight*> ties_;       // weights that share a table
  Sweep sweep_ = Sweep::Plain;      // what the last prepare was for
  bool only_steps_ = false;         // that gave links a meaning which the plain sweep does not have
  Shape step_input_, prepared_input_;
  std::vector<StepCell> step_cells_;
  std::vector<std::string> step_warnings_;
};

// Every matrix and typed vector of a layer and of those below it to another type (engine D-21), without a change of the
// graph. `path` begins the messages. InvalidArgument for a type that is none of the 21, and where a master is missing,
// before anything changes.
Result<void> morph_layer(const std::string& path, Layer& layer, DType dtype);

// A network of one parallel cell whose branches are deep copies of cell 0 of each network; branches of a cell 0 that is
// itself parallel are taken over one by one (engine V-39). With `share` the copies stand in the disabled cells 1, 2,
// ... and the branches link to them. LinkToEmpty when a cell 0 is empty; InvalidConfig for an unknown mode.
Result<Network> graft_networks(std::span<const Network* const> networks, std::string_view combine_mode,
                               bool share = false);
// A network whose cell 0 is x + f(x), f a copy of cell 0.
Result<Network> residual_graft(const Network& network);

}  // namespace loom
