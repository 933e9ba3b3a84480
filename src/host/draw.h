#pragma once
// A network for people to look at.

#include <string>
#include <string_view>

#include "network/plan/plans.h"

namespace loom {

// The grid as SVG: cells coloured by type, disabled ones hatched, links drawn. An empty title: the network's name.
// Shapes are those of the plans. LimitExceeded for more than 4096 cells.
Result<std::string> draw_network(const Network& network, const Plans& plans, std::string_view title = {});

}  // namespace loom
