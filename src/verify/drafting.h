#pragma once
// Parts of drawing a trial: what to do with a network that was drawn.

#include "verify/random_network.h"

namespace loom {

struct Drafting {
  Draw& draw;
  Trial& trial;
  Shape output;
};

Json patch(const char* key, Json value);
// Returns whether parts of the batch give the bits of the whole.
bool splits(const Drafting& d, bool training);
// Returns whether forward may keep the inputs of some cells alone and run the others again.
bool recomputes(const Drafting& d);
// Steps on one batch after another; the JSON of a training without its network and data.
void draft_training(Drafting& d, bool tween);
// Puts a layer of the grid under the watch of a metacognition layer that acts on it.
void watch_a_layer(Draw& draw, Json& network);
// Returns whether the engine builds this network for this input.
bool is_accepted(const Json& spec, const Shape& input, bool mesh);

}  // namespace loom
