#pragma once
// Changes of a network that its metacognition layers ask for (engine L-151, L-152).

#include "layers/metacognition/metacognition.h"
#include "network/session/network_session.h"
#include "network/mesh/step_mesh.h"

namespace loom {

struct MetaEvent {
  std::string place;  // of the metacognition layer
  MetaCommand command = MetaCommand::Dense;
  double param = 0;
  std::string refusal;  // why nothing was changed; empty: it was
  std::string target;   // path of the layer that was meant; empty: there is none
  // Returns whether the layer has new weights: it was replaced or reset.
  bool has_new_weights() const { return refusal.empty() && command != MetaCommand::Morph; }
};

// Applies what rules asked for in the session's calls since the last commit, by execution order and rule, between two
// forwards; drivers of training and stepping call it. A layer that a command makes has the shapes of the one it
// replaces and is initialised by seed and path; a command whose target does not fit is refused and changes nothing. If
// anything changed, the network is planned again for `input`, a shape of calls, and the session takes that plan:
// gradients and recurrent states start again, histories and cooldowns stay. InvalidState unless the session runs this
// network; no other session may run it meanwhile, and others refuse to run afterwards.
Result<std::vector<MetaEvent>> commit_meta(Network& network, NetworkSession& session, const Shape& input);

// Like commit_meta() between two ticks: what rules asked for in these states' ticks, in the order of the states, a rule
// that fired in several of them once. If anything changed, the network is planned again for steps and the mesh takes
// that plan (StepMesh::use_new_plan): these are all of its states. InvalidState unless the mesh runs this network and
// no tick is pending.
Result<std::vector<MetaEvent>> commit_meta(Network& network, StepMesh& mesh, std::span<StepState* const> states);

}  // namespace loom
