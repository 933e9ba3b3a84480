#pragma once
// A network is a place: a grid of cells addressed (z, y, x, l), flat index ((z * rows + y) * cols + x) *
// layers_per_cell + l. Cells are visited in ascending index; empty and disabled cells pass their input through.
// It holds the topology, settings and weights and is constant for every session. Shapes, resolved links and needs for
// state are in plans (network/plan): a network may have any number of them, knows none, and each holds until an edit.

#include <cstdint>
#include <memory>
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
  Share share;  // the link's keys; runs where the link shares, and stands for the cell in hooks
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
  // For a plain forward pass: whether the cell reads another cell's output, and the layer that runs.
  bool is_fed() const { return link != nullptr && link->feeds(); }
  Layer* operation() const { return link != nullptr && !link->feeds() ? &link->share : layer.get(); }
};

// The place of a cell in errors: "/layers/3" in a plain list, "/layers/0,1,0,2" in a grid.
Steps steps_of(const GridSize& size, std::size_t index);

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
  // Like place(); returns the cell that was replaced. Other plans follow.
  Cell exchange(std::size_t index, Cell cell);
  // Call this before a change of layers or links: ties end, and sessions of the plans made so far refuse to run.
  void edit();
  // Call this after a change of types or of what learns: plans stay, and sessions created before refuse to run.
  void count_edit() { edits_ = next_number(); }
  // One number for the layers and links as they are, another for each edit; no two networks have equal ones.
  std::uint64_t structure() const { return structure_; }
  std::uint64_t edits() const { return edits_; }
  std::span<const Cell> cells() const { return cells_; }
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
  // Like morph_all(), for one layer and all below it (morph_layer()).
  Result<void> morph(std::string_view path, DType dtype);
  void release_masters();
  // Types and what learns as they are. Until put_back() the network keeps its layers and values: an operation
  // that fails halfway leaves no trace.
  struct Kept;
  std::shared_ptr<const Kept> kept() const;
  void put_back(const Kept& kept);
  // Adds every enabled adapter to its matrix's master and removes it (engine L-141). This is an edit, so other
  // plans follow. InvalidState for weights without values and those that are tied.
  Result<void> merge_adapters();
  // Shares the tables that `tied_to` asks for (engine L-102); settle() does so too. NotFound, LinkToEmpty, OutOfRange,
  // InvalidConfig when the target is no embedding, ShapeMismatch; the message begins with the layer's path.
  Result<void> resolve_ties();
  // Shares tables and gives layers their random sites, which plans expect after an edit. Errors of resolve_ties().
  Result<void> settle();
  bool is_settled() const { return is_settled_; }

  // visit(3, "layers.3.sequential_layers.0", layer), ascending; a cell's link comes before the cell's own layer, at the
  // same path.
  void each_layer(const std::function<void(std::size_t, const std::string&, Layer&)>& visit) const;
  // visit("layers.3.sequential_layers.0.weight", weight, its layer), ascending; every weight once, ties left out.
  void visit_weights(const std::function<void(const std::string&, Weight&, Layer&)>& visit) const;
  // The weights that visit_weights() visits, in its order.
  std::vector<const Weight*> weights() const;
  std::size_t resident_bytes() const;
  static std::string path(std::size_t index) { return fmt::format("layers.{}", index); }
  // The place of a cell in errors: "/layers/3" in a plain list, "/layers/0,1,0,2" in a grid; and of a layer inside one,
  // by its path.
  Steps steps(std::size_t index) const { return steps_of(size_, index); }
  Steps steps(std::string_view path) const;
  // "cell (0,0,1,2)"
  std::string place_text(std::size_t index) const;

 private:
  static std::uint64_t next_number();
  GridSize size_;
  std::vector<Cell> cells_;
  std::vector<Weight*> ties_;  // weights that share a table
  bool is_settled_ = false;
  std::uint64_t structure_ = next_number(), edits_ = structure_;
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
