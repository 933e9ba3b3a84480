// The golden set on machines that the test runner is not built for (AArch64 under qemu, wasm32).
//
//   verify_golden                        the best target gives the whole of both tables; the weaker ones, slow when
//                                        they are emulated, every training, every layer in every type and every third
//                                        model
//   verify_golden --row                  one JSON object: target, compiler, instruction set, digest of the golden set,
//                                        hash of 500 training steps; a row of tools/digest_matrix
//   verify_golden --sample N FOLDER      every N-th line of FOLDER/hashes.tsv and FOLDER/training.tsv, others on each
//                                        target

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "core/build_info.h"
#include "core/file.h"
#include "core/numerics_version.h"
#include "verify/golden_models.h"
#include "verify/golden_layers.h"
#include "verify/golden_training_steps.h"
#include "verify/golden_trainings.h"

namespace {

using namespace loom;

// A target runs a share of the golden set: one case in so many, counted from a place that is another for each target.
struct Share {
  std::size_t models = 1, layers = 1, trainings = 1, from = 0;

  bool has(std::size_t index, std::size_t one_in) const { return (index + from) % one_in == 0; }
};

struct Tables {
  std::string answers, trainings;  // texts of hashes.tsv and training.tsv
};

// Runs a share of the golden set on one target and holds each line against the tables.
class Verification {
 public:
  Verification(const Tables& tables, Isa isa, const Share& share) : tables_(tables), isa_(isa), share_(share) {}

  // Returns how many lines the target gave; an error names the first that differs.
  Result<std::size_t> run() {
    const std::vector<GoldenCase> models = golden_cases();
    for (std::size_t i = 0; i < models.size(); ++i)
      if (share_.has(i, share_.models)) LOOM_TRY_VOID(answer(models[i]));
    std::size_t cell = 0;
    for (const GoldenLayer& layer : golden_layers())
      for (std::size_t t = 0; t < golden_types(layer); ++t)
        if (share_.has(cell++, share_.layers)) {
          LOOM_TRY(const std::string lines, layer_golden_lines(layer, static_cast<DType>(t), isa_, 1));
          LOOM_TRY_VOID(compare(lines, tables_.answers));
        }
    const std::vector<GoldenTraining>& trainings = golden_trainings();
    for (std::size_t i = 0; i < trainings.size(); ++i)
      if (share_.has(i, share_.trainings)) {
        LOOM_TRY(const std::string digest, training_digest(trainings[i], {.isa = isa_}));
        LOOM_TRY_VOID(compare(trainings[i].name + "\t" + digest + "\n", tables_.trainings));
      }
    return lines_;
  }

 private:
  Result<void> answer(const GoldenCase& c) {
    LOOM_TRY(const auto model, golden_model(c));
    LOOM_TRY(const std::string digest,
             golden_digest(model, {.isa = isa_, .activations = c.activations, .kv_dtype = c.kv_dtype}));
    return compare(c.name + "\t" + digest + "\n", tables_.answers);
  }

  Result<void> compare(const std::string& lines, const std::string& table) {
    if (table.find(lines) == table.npos)
      return fail(Code::CorruptData, "{} differs from the table: {}", name(isa_), lines);
    lines_ += static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
    return {};
  }

  const Tables& tables_;
  Isa isa_;
  Share share_;
  std::size_t lines_ = 0;
};

Result<std::size_t> verify_whole() {
  Tables tables;
  LOOM_TRY(tables.answers, golden_table({.isa = best_isa()}));
  if (digest_of_text(tables.answers) != kGoldenDigest)
    return fail(Code::CorruptData, "{}:\n{}", name(best_isa()), tables.answers);
  LOOM_TRY(tables.trainings, training_table({.isa = best_isa()}));
  if (digest_of_text(tables.trainings) != kTrainingDigest)
    return fail(Code::CorruptData, "{}:\n{}", name(best_isa()), tables.trainings);
  std::size_t lines = static_cast<std::size_t>(std::count(tables.answers.begin(), tables.answers.end(), '\n')) +
                      golden_trainings().size();
  for (const Isa isa : usable_isas())
    if (isa != best_isa()) {
      LOOM_TRY(const std::size_t same, Verification(tables, isa, {.models = 3}).run());
      lines += same;
    }
  return lines;
}

Result<std::size_t> verify_sample(std::size_t one_in, const std::string& folder) {
  Tables tables;
  LOOM_TRY(tables.answers, read_text_file(folder + "/hashes.tsv"));
  LOOM_TRY(tables.trainings, read_text_file(folder + "/training.tsv"));
  if (digest_of_text(tables.answers) != kGoldenDigest || digest_of_text(tables.trainings) != kTrainingDigest)
    return fail(Code::CorruptData, "{}: not the tables of this program", folder);
  std::size_t lines = 0, from = 0;
  for (const Isa isa : usable_isas()) {
    LOOM_TRY(const std::size_t same, Verification(tables, isa, {one_in, one_in, one_in, from++}).run());
    lines += same;
  }
  return lines;
}

Result<bool> print_row() {
  LOOM_TRY(const std::string table, golden_table({.isa = best_isa()}));
  LOOM_TRY(const std::string steps, training_steps_digest(best_isa(), 1));
  const std::string digest = digest_of_text(table);
  const bool pass = digest == kGoldenDigest && steps == kTrainingStepsDigest;
  std::printf(
      "{\"version\": \"%s\", \"numerics_version\": %u, \"target\": \"%s\", \"compiler\": \"%s\", \"isa\": \"%s\", "
      "\"threads\": 1, \"digest\": \"%s\", \"training_steps\": \"%s\", \"pass\": %s}\n",
      LOOM_VERSION, kNumericsVersion, target_name().c_str(), compiler_name().c_str(),
      std::string(name(best_isa())).c_str(), digest.c_str(), steps.c_str(), pass ? "true" : "false");
  return pass;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--row") == 0) {
    const auto pass = print_row();
    if (!pass) std::fprintf(stderr, "verify_golden: %s\n", pass.error().text().c_str());
    return pass && *pass ? 0 : 1;
  }
  std::size_t one_in = 0;
  const bool sample = argc == 4 && std::strcmp(argv[1], "--sample") == 0 &&
                      std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), one_in).ec == std::errc{} && one_in > 0;
  if (argc > 1 && !sample) {
    std::fprintf(stderr, "usage: verify_golden [--row | --sample N FOLDER]\n");
    return 2;
  }
  const auto lines = sample ? verify_sample(one_in, argv[3]) : verify_whole();
  if (lines)
    std::printf("PASS  %zu lines\n", *lines);
  else
    std::printf("FAIL  %s\n", lines.error().text().c_str());
  return lines && *lines > 0 ? 0 : 1;
}
