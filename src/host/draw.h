#pragma once
// A network for people to look at.

#include <string>
#include <string_view>

#include "network/network.h"

namespace loom {

// The grid as SVG: cells coloured by type, disabled ones hatched, links drawn. An empty title: the network's name.
// LimitExceeded for more than 4096 cells.
Result<std::string> draw_network(const Network& network, std::string_view title = {});

}  // namespace loom
