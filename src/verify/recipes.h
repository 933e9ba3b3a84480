#pragma once
// A recipe makes a random layer of one kind; the table of src/layers/all.cpp asks for one per kind.

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/shape.h"
#include "dtypes/dtype.h"
#include "verify/draw.h"

namespace loom {

// A cell that links may share: what it reads and makes.
struct LinkTarget {
  std::array<std::size_t, 4> address{};
  Shape input, output;
};

// Place for a random layer.
struct Site {
  Draw& draw;
  Shape input;              // with the batch in front
  std::size_t ids = 0;      // above 0: the input is integers below this
  std::size_t budget = 0;   // multiplications of one forward
  std::size_t nesting = 0;  // containers around it
  const std::vector<LinkTarget>* targets = nullptr;
};

struct RandomLayer {
  Json spec;
  Shape output;
};

struct Recipe {
  std::string_view kind;
  std::size_t axes;  // of a sample, that the kind reads; 0: any number
  // Nothing when this input is not for the kind, or the budget too small.
  std::optional<RandomLayer> (*make)(Site& site);
};

std::span<const Recipe> recipes();
// Null for a kind without one: a test asks for every kind of layer_kinds().
const Recipe* recipe_of(std::string_view kind);

// A layer of any kind, after a reshape where the kind reads another number of axes. Sometimes a link stands for a
// layer.
RandomLayer random_layer(Site& site);

// Shape that a layer without links makes; nothing when it refuses the input.
std::optional<Shape> shape_behind(const Json& spec, const Shape& input);

// Pieces of the recipes.
Json layer_of(std::string_view kind);
void add_activation(Site& site, Json& spec, std::size_t percent = 70);
// Type, scales, adapters, flags: what every layer may have.
void add_common(Site& site, Json& spec);
std::optional<RandomLayer> finished(Site& site, Json spec);
// A dense layer on the last axis, that makes rows of `cols`.
Json dense_to(Site& site, const Shape& from, std::size_t cols);

std::optional<RandomLayer> make_parallel(Site& site);
std::optional<RandomLayer> make_sequential(Site& site);
std::optional<RandomLayer> make_metacognition(Site& site);
std::optional<RandomLayer> make_lora(Site& site);
std::optional<RandomLayer> make_residual(Site& site);

}  // namespace loom
