#pragma once
// Changes of a network that are taken back when the network no longer fits together.

#include <algorithm>
#include <optional>
#include <span>

#include "core/philox.h"
#include "evolution/mutation/mutation.h"
#include "evolution/weight_values.h"
#include "layers/lora/lora.h"

namespace loom {

// A layer stands in a cell of the grid or in a place inside a container.
struct LayerPlace {
  std::size_t cell = 0;
  std::string path;
  Layer* parent = nullptr;   // null: the cell itself
  LayerPtr* slot = nullptr;  // in the parent
  // inside a lora: its adapters were trained for these matrices, so that no other layer may take their place
  bool is_adapted = false;

  LayerPlace child(const std::string& below, Layer& holder, LayerPtr& in) const {
    return {cell, path + "." + below, &holder, &in, is_adapted || layer_as<Lora>(holder) != nullptr};
  }
};

class Editor {
 public:
  // Plans the network, whose output shape no later edit changes.
  static Result<Editor> create(Network& network, const Shape& input, std::size_t max_operations);

  Network& network() const { return *network_; }
  // The plan of the network as it is now, for `input`.
  const std::shared_ptr<const ForwardPlan>& plan() const { return plan_; }
  // Returns a layer; in a cell that has a link, that link's share, which has neither weights nor children: a mutation
  // does not change the target of a link.
  Layer* at(const LayerPlace& place) const {
    return place.slot != nullptr ? place.slot->get() : network_->cell(place.cell).front();
  }
  // Shape in front of a cell.
  Shape before(std::size_t cell) const { return cell == 0 ? input_ : plan_->shape_after(cell - 1); }

  // Layers that run in one forward pass, each use of a shared one counted, stay within max_operations or what the
  // network began with. The network is planned again after each of these, changed or not; false: the change did not fit
  // and was taken back. A null layer empties a cell.
  bool replace(const LayerPlace& place, LayerPtr layer);
  bool toggle(const LayerPlace& place);
  bool append(Layer& container, std::vector<LayerPtr>& children, LayerPtr child);
  bool remove(Layer& container, std::vector<LayerPtr>& children, std::size_t child);
  // Moves the layer of a cell without a link into the first branch of `parallel`, which must be null.
  bool wrap(std::size_t cell, LayerPtr parallel);
  // The first branch of the container takes the container's place.
  bool unwrap(const LayerPlace& place, std::vector<LayerPtr>& branches);

 private:
  Editor(Network& network, const Shape& input) : network_(&network), input_(input), output_(input) {}
  bool replan();
  bool fits(Layer* parent);
  void restore(Layer* parent);
  Network* network_;
  std::shared_ptr<const ForwardPlan> plan_;
  Shape input_, output_;
  std::size_t max_operations_ = 0;
};

// Draws one after the other from one stream.
class Draws {
 public:
  Draws(std::uint64_t seed, const MutationKey& key, std::string_view path, std::string_view what)
      : stream_{seed, RandomDomain::Mutate, key.generation, site(key.individual, path, what)} {}
  bool chance(double rate) { return static_cast<double>(uniform_of(word())) < rate; }
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>((std::uint64_t{word()} * static_cast<std::uint32_t>(n)) >> 32);
  }
  std::uint64_t seed() {
    const std::uint64_t high = word();
    return high << 32 | word();
  }
  const RandomStream& stream() const { return stream_; }

 private:
  std::uint32_t word() {
    if (next_ % 4 == 0) block_ = stream_.block(next_ / 4);
    return block_[next_++ % 4];
  }
  // FNV-1a of the individual's number, the path and what is drawn, with a zero between them.
  static std::uint32_t site(std::uint32_t individual, std::string_view path, std::string_view what) {
    std::uint32_t h = 2166136261u;
    const auto feed = [&h](unsigned char c) { h = (h ^ c) * 16777619u; };
    for (int shift = 0; shift < 32; shift += 8) feed(static_cast<unsigned char>(individual >> shift));
    for (const char c : path) feed(static_cast<unsigned char>(c));
    feed(0);
    for (const char c : what) feed(static_cast<unsigned char>(c));
    return h;
  }
  RandomStream stream_;
  std::uint64_t next_ = 0;
  PhiloxBlock block_{};
};

// Random decisions about a layer (engine E-21), drawn in this order.
struct LayerDraws {
  bool perturbs, other_kind, toggles;
  std::optional<std::size_t> activation;

  LayerDraws(const MutationConfig& config, const MutationKey& key, std::string_view path) {
    Draws d(config.seed, key, path, "layer");
    perturbs = d.chance(config.weight_perturb_rate);
    if (d.chance(config.activation_rate)) activation = d.below(config.activations.size());
    other_kind = d.chance(config.node_rate);
    toggles = d.chance(config.layer_toggle_rate);
  }
  bool changes_structure() const { return activation || other_kind || toggles; }
};

// Random decisions about a network's connections; both streams go on to choose the places.
struct NetworkDraws {
  Draws add, drop;
  bool adds, drops;

  NetworkDraws(const MutationConfig& config, const MutationKey& key)
      : add(config.seed, key, "", "add"),
        drop(config.seed, key, "", "drop"),
        adds(add.chance(config.connection_add_rate)),
        drops(drop.chance(config.connection_drop_rate)) {}
  bool changes_connections() const { return adds || drops; }
};

// Every value moves by a uniform draw from +-scale, unless it would leave the range of float32.
template <class T>
void perturb_values(const RandomStream& stream, double scale, std::span<T> values) {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const PhiloxBlock words = stream.block(i / 4);
    for (std::size_t j = i; j < std::min(i + 4, values.size()); ++j) {
      const double moved =
          static_cast<double>(values[j]) + (2.0 * static_cast<double>(uniform_of(words[j % 4])) - 1.0) * scale;
      if (is_f32(moved)) values[j] = static_cast<T>(moved);
    }
  }
}

// Adds or removes one path from a cell through another one's operation (engine E-23). False when no place allowed it.
bool add_connection(Editor& editor, const MutationConfig& config, Draws& draws);
bool drop_connection(Editor& editor, Draws& draws);

}  // namespace loom
