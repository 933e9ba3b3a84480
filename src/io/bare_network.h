#pragma once
// A network from tensors that come without a spec, as a state_dict of PyTorch or an .npz: kinds and sizes follow from
// names and shapes, hints say the rest and win (engine F-50).

#include <span>
#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "io/mount.h"
#include "network/spec/spec.h"

namespace loom {

struct BareNetwork {
  Network network;
  LoadReport report;
  Plans plans{};  // as of SpecResult
};

// `hints`, null or an object, has any of these keys; other keys of a spec (input_shape, id ...) are handed on:
//   "rename"  {"prefix": "its replacement"}, applied first; a prefix that matches nothing is an error
//   "ignore"  ["prefix"] of tensors that have no place; likewise
//   "layers"  the layers in their order. {"tensors": "conv1", "stride": 2} takes conv1.weight and conv1.bias, its kind
//             and sizes from their shapes, other keys as they are; a layer without "tensors" is as in any spec
// Without "layers" every module of the file is a layer, in the order of their names (numbers by their size).
//
// Shapes determine the kind of a module: weight_ih of 4, 3 or 1 times the columns of weight_hh is an lstm, gru or rnn
// (PyTorch's order of gates, of which both biases are added up); in_proj_weight, or q, k, v and o beside each other, an
// mha; gate, up and down a swiglu; running_mean a batchnorm; another vector a layernorm, without a bias an rmsnorm;
// three to five axes a convolution; a table named emb or with more than ten times as many rows as columns and no bias
// an embedding; any other matrix a dense. InvalidConfig for settings that no shape determines (num_heads of an mha),
// errors of mount_tensors().
Result<BareNetwork> network_from_bare(std::vector<BareTensor> tensors, const Json& hints,
                                      const SpecOptions& options = {});

}  // namespace loom
