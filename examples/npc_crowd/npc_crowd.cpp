// Two hundred characters share one network and live in time: every tick each senses something, remembers, and acts.
// Half way the world is rewound, as netcode does when a late message arrives, and played again: the hash at the end
// must be the same, on every machine and with any number of threads.
//   example_npc_crowd [THREADS] [CHARACTERS] [TICKS]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "core/philox.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"

namespace {

// Senses 12 -> perception -> memory (a GRU that goes on from tick to tick) -> mood, which also hears itself -> action
// 4, which perception hears one tick later.
constexpr std::string_view kBrain =
    R"({"id":"npc","depth":1,"rows":1,"cols":1,"layers_per_cell":4,"seed":2026,"layers":[
  {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":16,"output_height":48,"activation":"silu","bias":true,
   "is_remote_link":true,"target_l":3,"link_mode":"feed","link_merge":"concat"},
  {"z":0,"y":0,"x":0,"l":1,"type":"sequential","sequential_layers":[{"type":"reshape","shape":[1,48]},
    {"type":"gru","input_height":48,"output_height":32,"stateful":true},{"type":"reshape","shape":[32]}]},
  {"z":0,"y":0,"x":0,"l":2,"type":"dense","input_height":32,"output_height":32,"activation":"tanh","bias":true,
   "is_remote_link":true,"target_l":2,"link_mode":"feed","link_merge":"add"},
  {"z":0,"y":0,"x":0,"l":3,"type":"dense","input_height":32,"output_height":4,"activation":"tanh"}]})";

class Crowd {
 public:
  static loom::Result<Crowd> create(std::size_t characters, int threads) {
    Crowd crowd;
    LOOM_TRY(loom::SpecResult spec, loom::network_from_json(kBrain));
    crowd.network_ = std::make_unique<loom::Network>(std::move(spec.network));
    LOOM_TRY(crowd.mesh_, loom::StepMesh::create(*crowd.network_, loom::Shape::of({1, kSenses}),
                                                 {.threads = threads, .history_capacity = 0}));
    for (std::size_t n = 0; n < characters; ++n) {
      LOOM_TRY(loom::StepState state, crowd.mesh_->create_state());
      crowd.states_.push_back(std::move(state));
    }
    for (loom::StepState& state : crowd.states_) crowd.members_.push_back(&state);
    return crowd;
  }

  loom::Result<void> tick() {
    std::array<float, kSenses> senses{};
    for (std::size_t n = 0; n < states_.size(); ++n) {
      const loom::RandomStream world{.seed = 1,
                                     .step = static_cast<std::uint32_t>(states_[n].step_count()),
                                     .site = static_cast<std::uint32_t>(n)};
      for (std::size_t i = 0; i < kSenses; ++i) senses[i] = 2 * world.uniform(i) - 1;
      LOOM_TRY_VOID(states_[n].set_input({senses.data(), loom::Shape::of({1, kSenses})}));
    }
    LOOM_TRY_VOID(mesh_->step(members_));
    return {};
  }
  std::uint64_t now() const { return states_.front().step_count(); }
  std::string hash() const {
    loom::Sha256 all;
    for (const loom::StepState& state : states_) {
      const loom::Digest one = state.hash();
      all.update(std::as_bytes(std::span(one)));
    }
    return loom::to_hex(all.finish());
  }
  loom::Result<std::vector<loom::StepState>> save() const {
    std::vector<loom::StepState> saved;
    for (const loom::StepState& state : states_) {
      LOOM_TRY(loom::StepState copy, state.fork());
      saved.push_back(std::move(copy));
    }
    return saved;
  }
  loom::Result<void> rewind(const std::vector<loom::StepState>& saved) {
    for (std::size_t n = 0; n < states_.size(); ++n) LOOM_TRY_VOID(states_[n].restore(saved[n]));
    return {};
  }

 private:
  static constexpr std::size_t kSenses = 12;
  std::unique_ptr<loom::Network> network_;
  std::unique_ptr<loom::StepMesh> mesh_;
  std::vector<loom::StepState> states_;
  std::vector<loom::StepState*> members_;
};

loom::Result<bool> live(int threads, std::size_t characters, std::uint64_t ticks) {
  LOOM_TRY(Crowd crowd, Crowd::create(characters, threads));
  std::vector<loom::StepState> saved;
  std::vector<double> times;
  while (crowd.now() < ticks) {
    if (crowd.now() == ticks / 2) {
      LOOM_TRY(saved, crowd.save());
    }
    const auto start = std::chrono::steady_clock::now();
    LOOM_TRY_VOID(crowd.tick());
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  const std::string first = crowd.hash();
  LOOM_TRY_VOID(crowd.rewind(saved));
  while (crowd.now() < ticks) LOOM_TRY_VOID(crowd.tick());
  const std::string again = crowd.hash();
  std::ranges::sort(times);
  std::printf("%zu characters, %llu ticks, median %.2f ms a tick\nhash %s\nrewound to tick %llu and played again: %s\n",
              characters, static_cast<unsigned long long>(ticks), times[times.size() / 2], first.c_str(),
              static_cast<unsigned long long>(ticks / 2), first == again ? "the same" : "DIFFERENT");
  return first == again;
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int i, long fallback) {
    return count > i ? std::max(1L, std::strtol(arguments[i], nullptr, 10)) : fallback;
  };
  const auto same = live(static_cast<int>(number(1, 1)), static_cast<std::size_t>(number(2, 200)),
                         static_cast<std::uint64_t>(number(3, 600)));
  if (!same) return std::fprintf(stderr, "%s\n", same.error().text().c_str()), 1;
  return *same ? 0 : 1;
}
