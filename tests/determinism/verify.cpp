// The golden set on machines that the loom program is not built for (wasm32): prints tests/determinism/hashes.tsv, one target per
// argument, each under its name.

#include <cstdio>

#include "lm/golden.h"

int main() {
  for (const loom::Isa isa : loom::usable_isas()) {
    loom::GoldenRun run;
    run.isa = isa;
    const auto table = loom::golden_table(run);
    if (!table) {
      std::fprintf(stderr, "%s\n", table.error().message.c_str());
      return 1;
    }
    const bool pass = loom::digest_of_text(*table) == loom::kGoldenDigest;
    std::printf("%s  %s  %s\n", pass ? "PASS" : "FAIL", loom::digest_of_text(*table).c_str(), std::string(loom::name(isa)).c_str());
    if (!pass) {
      std::printf("%s", table->c_str());
      return 1;
    }
  }
  return 0;
}
