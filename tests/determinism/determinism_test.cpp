// The promise itself: the golden set gives the digests of hashes.tsv on every instruction set, thread count, chunking,
// batch and through a snapshot, whatever floating-point environment the caller has set.

#include <cstdlib>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "core/file.h"
#include "verify/golden_layers.h"
#include "verify/golden_models.h"
#include "support/divided.h"
#include "support/paths.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace loom {
namespace {

struct Model {
  std::string name, digest;
  std::shared_ptr<const DecoderModel> model;
  Activations activations;
  DType kv_dtype;
};

const std::string& hashes() {
  static const std::string text =
      read_text_file(test::source_path("tests/determinism/hashes.tsv"), 1 << 20).value_or("");
  return text;
}

const std::vector<Model>& models() {
  static const std::vector<Model> all = [] {
    std::map<std::string, std::string> digests;
    std::istringstream lines(hashes());
    for (std::string line; std::getline(lines, line);)
      if (const std::size_t tab = line.find('\t'); tab != line.npos && line.starts_with("decoder "))
        digests[line.substr(0, tab)] = line.substr(tab + 1);
    std::vector<Model> out;
    for (const GoldenCase& c : golden_cases())
      out.push_back({c.name, digests[c.name], golden_model(c).value(), c.activations, c.kv_dtype});
    EXPECT_EQ(digests.size(), out.size());
    return out;
  }();
  return all;
}

void expect_digests(GoldenOptions run) {
  for (const Model& m : models()) {
    run.activations = m.activations, run.kv_dtype = m.kv_dtype;
    const auto digest = golden_digest(m.model, run);
    ASSERT_TRUE(digest) << m.name << ": " << digest.error().text();
    EXPECT_EQ(*digest, m.digest) << m.name;
  }
}

TEST(Determinism, the_table_is_the_one_that_verify_knows) { EXPECT_EQ(digest_of_text(hashes()), kGoldenDigest); }

TEST(Determinism, every_instruction_set) {
  for (const Isa isa : usable_isas()) {
    SCOPED_TRACE(std::string(name(isa)));
    expect_digests({.isa = isa});
  }
}

// The thread sanitizer looks for races: one count above one shows them on one instruction set.
#if defined(__SANITIZE_THREAD__)
const std::vector<int> kThreads = {3};
const std::vector<Isa> kLayerIsas = {best_isa()};
#else
const std::vector<int> kThreads = {2, 3, 7};
const std::vector<Isa> kLayerIsas = usable_isas();
#endif

TEST(Determinism, every_number_of_threads) {
  for (const int threads : kThreads) {
    SCOPED_TRACE(threads);
    const test::ExpectDivided divided(threads);
    expect_digests({.isa = std::nullopt, .threads = threads});
  }
}

// Single layers come after the models in the table.
TEST(Determinism, every_layer_kind_and_type_on_every_instruction_set_and_number_of_threads) {
  for (const Isa isa : kLayerIsas)
    for (const int threads : {1, 3}) {
      const test::ExpectDivided divided(threads);
      const auto table = layer_golden_table(isa, threads);
      ASSERT_TRUE(table) << table.error().text();
      EXPECT_GT(table->size(), 100 * 64u);
      EXPECT_TRUE(hashes().ends_with("\n" + *table)) << name(isa) << ", " << threads << " threads";
    }
}

TEST(Determinism, every_chunking_of_the_prompt) {
  for (const std::size_t chunk : {1, 7, 64}) {
    SCOPED_TRACE(chunk);
    for (const Isa isa : {usable_isas().front(), best_isa()})
      expect_digests({.isa = isa, .threads = 2, .chunk = chunk});
  }
}

TEST(Determinism, alone_and_in_a_batch_of_five) {
  for (const std::size_t chunk : {0, 7}) {
    SCOPED_TRACE(chunk);
    for (const int threads : {1, 3}) {
      const test::ExpectDivided divided(threads);
      expect_digests({.isa = std::nullopt, .threads = threads, .chunk = chunk, .neighbours = 4});
    }
  }
}

TEST(Determinism, saved_and_restored) {
  GoldenOptions run;
  run.through_snapshot = true;
  expect_digests(run);
  run.neighbours = 2;
  expect_digests(run);
}

#if defined(__SSE2__)
TEST(Determinism, the_callers_floating_point_environment_does_not_matter_and_is_restored) {  // N-02
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {0x8040u, 0x6000u, 0x2000u}) {  // flush to zero and denormals are zero; toward zero; down
    const unsigned set = (before & ~0x6000u) | mode;
    _mm_setcsr(set);
    GoldenOptions run;
    run.threads = 2;
    const auto digest = golden_digest(models()[0].model, run);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    ASSERT_TRUE(digest);
    EXPECT_EQ(*digest, models()[0].digest) << std::hex << mode;
    EXPECT_EQ(after & 0xffc0u, set & 0xffc0u) << "restored";
  }
}
#endif

}  // namespace
}  // namespace loom
