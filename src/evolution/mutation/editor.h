#pragma once
// Changes of a network that are taken back when the network no longer fits together.

#include "core/philox.h"
#include "evolution/mutation/mutation.h"

namespace loom {

// Where a layer stands: a cell of the grid, or a place inside a container.
struct LayerPlace {
  std::size_t cell = 0;
  std::string path;
  Layer* parent = nullptr;    // null: the cell itself
  LayerPtr* slot = nullptr;   // in the parent
};

class Editor {
 public:
  // Prepares the network: the output's shape is kept from here on.
  static Result<Editor> create(Network& network, const Shape& input, std::size_t max_operations);

  Network& network() const { return *network_; }
  Layer* at(const LayerPlace& place) const { return place.slot != nullptr ? place.slot->get() : network_->cell(place.cell).layer.get(); }
  // Shape in front of a cell.
  Shape before(std::size_t cell) const { return cell == 0 ? input_ : network_->shape_after(cell - 1); }

  // Layers that run in one sweep, each use of a shared one counted, stay within max_operations or what the network began with.
  // The network is prepared after each of these, changed or not; false: the change did not fit and was taken back. A null layer empties a
  // cell.
  bool replace(const LayerPlace& place, LayerPtr layer);
  bool toggle(Layer& layer);
  bool append(Layer& container, std::vector<LayerPtr>& children, LayerPtr child);
  bool remove(Layer& container, std::vector<LayerPtr>& children, std::size_t child);
  // The cell's layer becomes the first branch of `parallel`, which holds a null there.
  bool wrap(std::size_t cell, LayerPtr parallel);
  // The first branch of the container takes the container's place.
  bool unwrap(const LayerPlace& place, std::vector<LayerPtr>& branches);

 private:
  Editor(Network& network, const Shape& input) : network_(&network), input_(input), output_(input) {}
  bool fits(Layer* parent);
  void restore(Layer* parent);
  Network* network_;
  Shape input_, output_;
  std::size_t max_operations_ = 0;
};

// Draws one after the other from one stream.
class Draws {
 public:
  Draws(std::uint64_t seed, const MutationKey& key, std::string_view path, std::string_view what)
      : stream_{seed, RandomDomain::Mutate, key.generation, site(key.individual, path, what)} {}
  bool chance(double rate) { return static_cast<double>(stream_.uniform(next_++)) < rate; }
  std::size_t below(std::size_t n) { return stream_.below(next_++, static_cast<std::uint32_t>(n)); }
  std::uint64_t seed() {
    const std::uint64_t high = stream_.word(next_), low = stream_.word(next_ + 1);
    next_ += 2;
    return high << 32 | low;
  }
  const RandomStream& stream() const { return stream_; }

 private:
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
};

// Adds or removes one path from a cell through another one's operation (engine E-23). False when no place allowed it.
bool add_connection(Editor& editor, const MutationConfig& config, Draws& draws);
bool drop_connection(Editor& editor, Draws& draws);

}  // namespace loom
