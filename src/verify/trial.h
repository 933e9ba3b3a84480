#pragma once
// Random differential tests: networks of every kind and option that a seed draws, run in every way that the contract
// calls equal (instruction sets, threads, parts of a batch, micro-batches, recomputation, files, resumption), must give
// one digest. `loom verify --random` and tests/determinism/random_networks run them.

#include <cstdint>
#include <functional>
#include <span>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/device.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "network/network.h"

namespace loom {

// The kind of a run. Files and messages have the names.
enum class TrialMode : std::uint8_t {
  Forward,
  Backward,
  Train,
  Tween,
  Mesh,
  MeshTween,
  Files,
  Morph,
  Evolve,
  Population,
  Decoder,
  Finetune,
  Fused,
  Call
};
inline constexpr std::string_view kTrialModes[] = {"forward",    "backward", "train", "tween",  "mesh",
                                                   "mesh tween", "files",    "morph", "evolve", "population",
                                                   "decoder",    "finetune", "fused", "call"};
constexpr std::string_view name(TrialMode mode) { return kTrialModes[static_cast<std::size_t>(mode)]; }
constexpr bool is_mesh(TrialMode mode) { return mode == TrialMode::Mesh || mode == TrialMode::MeshTween; }

// A whole case: nothing else is needed to run it, so that a failing one can be kept as a file.
struct Trial {
  Json network;                    // a spec; the config.json of a language model
  std::vector<std::size_t> input;  // the batch in front
  std::size_t ids = 0;             // above 0: the input is integers below this
  std::uint64_t data = 0;          // seed of inputs, targets and what is added to biases
  std::string inputs = "uniform";  // or "wide", "thresholds", "non-finite"
  TrialMode mode = TrialMode::Forward;
  Json options = Json::object();  // of the mode
  // Patches of the options (JSON merge patches) that promise the same bits.
  std::vector<Json> variants;
};

// Returns whether `network` is a language model's configuration in place of a spec.
bool is_of_language(const Trial& trial);

// The case of that number: the same everywhere. `rejected` counts drafts that the engine refused to build.
Trial random_trial(std::uint64_t seed, std::uint32_t number, std::size_t* rejected = nullptr);

// The case of that number among those where two features meet (rule_trials.cpp), drawn from a stream of their own:
// learning rules with the kinds, types and stops that random_trial() seldom puts together. options["combination"] is
// one of rule_combinations().
Trial random_rule_trial(std::uint64_t seed, std::uint32_t number, std::size_t* rejected = nullptr);
std::vector<std::string> rule_combinations();

Json trial_to_json(const Trial& trial);
Result<Trial> trial_from_json(const Json& json);

// The network of a trial as every run of it begins, and what a call reads ("x0" is the first).
Result<Network> trial_network(const Trial& trial);
std::vector<double> trial_input(const Trial& trial, std::string_view call);

struct TrialWay {
  Isa isa = Isa::scalar;
  int threads = 1;
  std::size_t variant = 0;   // 0: the options as they are; else variants[variant - 1]
  Device* device = nullptr;  // where passes run; null: this computer
  std::string text(const Trial& trial) const;
};

// Outputs of a run, in the order they were recorded.
struct TrialRecord {
  struct Entry {
    std::string name;
    Digest digest;
    bool of_whole_batch = false;  // a sum over all samples in f64 (losses): a function of how the batch was cut
    bool between_steps = false;   // weights before the last step: some runs leave them where they are
  };
  void show(std::string name, std::span<const std::byte> bytes);
  void show(std::string name, double value, bool of_whole_batch = false);
  std::vector<Entry> entries;
  bool in_parts = false;    // the batch was cut
  bool at_the_end = false;  // weights were recorded after the last step only
  std::string unsupported;  // the error of a run that asked for something unsupported
  std::string digest() const;
  // "output 2: 0a1b.. in one run, 3c4d.. in the other"; empty where both agree, or where this one agrees up to the
  // point where it asked for something unsupported (`to_the_end` false).
  std::string difference(const TrialRecord& other, bool to_the_end = true) const;
};

// Errors are those that no way may give: the trial itself is wrong. Errors that follow from values (a step that is not
// finite) are part of the record.
Result<TrialRecord> run_trial(const Trial& trial, const TrialWay& way);

// Plenty: every instruction set with every number of threads and every variant; else a handful that rotates with
// `turn`. The first is what the others are compared with.
std::vector<TrialWay> trial_ways(const Trial& trial, std::size_t turn, bool plenty = false);
// This computer, and the device beside it: as it is, and with a variant.
std::vector<TrialWay> device_ways(const Trial& trial, std::size_t turn, Device& device);

struct TrialVerdict {
  std::string digest;            // of the first way
  std::string difference;        // empty: every way agrees; else the first that does not, or what failed
  std::string refused;           // what a rule says that no device runs; it is no difference
  std::optional<Error> stopped;  // a device was lost or is full: nothing is known of the trial
  bool passed() const { return difference.empty() && !stopped; }
};
TrialVerdict check_trial(const Trial& trial, const std::vector<TrialWay>& ways);

// A smaller trial that fails too: layers, settings, widths, samples and steps go while it does, for at most `seconds`.
// `fails` sees trials that the engine may refuse; a refusal is no failure.
Trial shrink_trial(const Trial& trial, const std::function<bool(const Trial&)>& fails, double seconds = 60);
// Shrinks a trial that check_trial() does not pass.
Trial shrink_trial(const Trial& trial, const std::vector<TrialWay>& ways, double seconds = 60);

}  // namespace loom
