// The golden set on machines that the test runner is not built for (AArch64 under qemu, wasm32). The best target must give the whole
// of tests/determinism/hashes.tsv. Emulated, the weaker ones are slow: they must agree with it on every layer kind in every type,
// and on every third model.

#include <cstdio>

#include "network/golden.h"
#include "training/golden.h"
#include "lm/golden.h"

namespace {

using namespace loom;

// The first line of `table`, which is hashes.tsv, that the target does not give; empty: all agree.
Result<std::string> first_difference(Isa isa, const std::string& table) {
  const std::vector<GoldenCase> cases = golden_cases();
  for (std::size_t i = 0; i < cases.size(); i += 3) {
    LOOM_TRY(const auto model, golden_model(cases[i]));
    LOOM_TRY(const std::string digest, golden_digest(model, {.isa = isa, .activations = cases[i].activations}));
    const std::string line = cases[i].name + "\t" + digest + "\n";
    if (table.find(line) == table.npos) return line;
  }
  LOOM_TRY(std::string layers, layer_golden_table(isa, 1));
  return table.ends_with(layers) ? std::string() : std::move(layers);
}

Result<std::string> verify() {
  LOOM_TRY(std::string table, golden_table({.isa = best_isa()}));
  if (digest_of_text(table) != kGoldenDigest) return std::string(name(best_isa())) + ":\n" + table;
  for (const Isa isa : usable_isas()) {
    LOOM_TRY(std::string trainings, training_table({.isa = isa}));
    if (digest_of_text(trainings) != kTrainingDigest) return std::string(name(isa)) + ":\n" + trainings;
  }
  for (const Isa isa : usable_isas())
    if (isa != best_isa()) {
      LOOM_TRY(const std::string difference, first_difference(isa, table));
      if (!difference.empty()) return std::string(name(isa)) + ":\n" + difference;
    }
  return std::string();
}

}  // namespace

int main() {
  const auto difference = verify();
  const bool pass = difference && difference->empty();
  std::printf("%s  %s\n", pass ? "PASS" : "FAIL", difference ? difference->c_str() : difference.error().message.c_str());
  return pass ? 0 : 1;
}
