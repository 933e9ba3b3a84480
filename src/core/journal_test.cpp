// Records of runs: lines that come back, marks that later bytes do not move, and proofs that end at the first
// difference.

#include "core/journal.h"

#include "core/numerics_version.h"
#include "support/files.h"

namespace loom {
namespace {

const Json kStart = {{"event", "start"}, {"numerics_version", kNumericsVersion}, {"folder", "a"}};

Json step(int n) { return {{"event", "steps"}, {"step", n}}; }

std::string journal_of(const std::vector<Json>& lines) {
  std::string text;
  for (const Json& line : lines) text += dump_json(line) + "\n";
  return text;
}

TEST(Journal, lines_come_back_and_one_without_an_end_is_left_out) {
  const test::TempFolder folder;
  const std::string path = folder / "journal.jsonl";
  {
    Journal journal = Journal::create(path).value();
    for (const Json& line : {kStart, step(1), step(2)}) ASSERT_TRUE(journal.write(line));
  }
  test::write_all(path, test::read_all(path) + "{\"event\":\"st");
  EXPECT_EQ(read_journal(path).value(), (std::vector<Json>{kStart, step(1), step(2)}));
}

TEST(Journal, a_run_goes_on_behind_what_its_checkpoint_counts_on) {
  const test::TempFolder folder;
  const std::string path = folder / "journal.jsonl";
  JournalMark mark;
  {
    Journal journal = Journal::create(path).value();
    ASSERT_TRUE(journal.write(kStart));
    mark = journal.sync().value();
    ASSERT_TRUE(journal.write(step(1)));
  }
  ASSERT_TRUE(Journal::resume(path, mark).value().write(step(7)));
  EXPECT_EQ(test::read_all(path), journal_of({kStart, step(7)}));
  ++mark.bytes;
  EXPECT_EQ(Journal::resume(path, mark).error().code, Code::CorruptData);
  mark.bytes = 1000;
  EXPECT_EQ(Journal::resume(path, mark).error().code, Code::CorruptData);
}

TEST(Journal, a_proof_meets_every_line_wherever_things_lie) {
  const test::TempFolder folder;
  const std::string path = folder / "journal.jsonl";
  test::write_all(path, journal_of({kStart, step(1)}));
  JournalProof proof = JournalProof::open(path).value();
  Json elsewhere = kStart;
  elsewhere["folder"] = "b";
  EXPECT_TRUE(proof.compare(elsewhere));
  EXPECT_FALSE(proof.finish());
  EXPECT_TRUE(proof.compare(step(1)));
  EXPECT_TRUE(proof.finish());
  EXPECT_TRUE(proof.compare(step(2)));
  EXPECT_FALSE(proof.finish()) << "the run goes on beyond its journal";
}

TEST(Journal, a_proof_that_failed_fails_again) {
  const test::TempFolder folder;
  const std::string path = folder / "journal.jsonl";
  test::write_all(path, journal_of({kStart}) + "{\"event\"\n");
  JournalProof broken = JournalProof::open(path).value();
  for (const Json& line : {kStart, kStart, step(1)}) EXPECT_EQ(broken.compare(line).error().code, Code::CorruptData);
  EXPECT_FALSE(broken.finish());

  test::write_all(path, journal_of({kStart, step(1)}));
  JournalProof other = JournalProof::open(path).value();
  ASSERT_TRUE(other.compare(kStart));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(other.compare(step(2)).error().code, Code::CorruptData);
  EXPECT_FALSE(other.finish());
}

}  // namespace
}  // namespace loom
