// Reads any bytes as a snapshot of a step mesh, after a checksum that fits: they are refused, or give a state that
// steps on and writes the same bytes again.

#include "core/sha256.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"

namespace {

constexpr std::string_view kSpec = R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":3,"seed":5,"layers":[
  {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":5,"output_height":3,"is_remote_link":true,"target_l":2,"link_mode":"feed","link_merge":"concat"},
  {"z":0,"y":0,"x":0,"l":1,"type":"sequential","sequential_layers":[{"type":"reshape","shape":[1,3]},
    {"type":"lstm","input_height":3,"output_height":2,"stateful":true},{"type":"reshape","shape":[2]}]},
  {"z":0,"y":0,"x":0,"l":2,"type":"metacognition","meta_observed_layer":{"type":"dense","input_height":2,"output_height":2},
   "meta_rules":[{"condition":"std_above","threshold":1,"command":"reset"}]}]})";

struct Fixture {
  loom::Network network = std::move(loom::network_from_json(kSpec)->network);
  std::unique_ptr<loom::StepMesh> mesh;
  explicit Fixture(bool keep_inputs) {
    mesh = loom::StepMesh::create(network, loom::Shape::of({1, 3}),
                                  {.threads = 1, .history_capacity = 2, .keep_inputs = keep_inputs})
               .value();
  }
};

void restore_and_step(const Fixture& fixture, loom::StepState& state, const std::uint8_t* data, std::size_t size) {
  static_cast<void>(state.restore(std::as_bytes(std::span(data, size))));
  state.reset();
  std::vector<std::byte> bytes = state.snapshot();
  bytes.resize(8 + 8 + sizeof(loom::Digest));  // magic, version, mesh
  bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(data), reinterpret_cast<const std::byte*>(data) + size);
  loom::Sha256 hash;
  hash.update(bytes);
  for (const std::uint8_t b : hash.finish()) bytes.push_back(std::byte{b});
  if (!state.restore(bytes)) return;
  LOOM_ASSERT(state.snapshot() == bytes);
  static_cast<void>(state.pending() ? fixture.mesh->commit(state) : loom::Result<void>());
  static_cast<void>(fixture.mesh->step(state, {.capture = true}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fixture plain(false), keeping(true);
  static loom::StepState state = plain.mesh->create_state().value(), kept = keeping.mesh->create_state().value();
  restore_and_step(plain, state, data, size);
  restore_and_step(keeping, kept, data, size);
  return 0;
}
