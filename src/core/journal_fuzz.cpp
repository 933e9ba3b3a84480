// Any text as a journal, a record of timings or a lineage: lines that come back as they were written, or an Error;
// resuming never keeps more than whole lines.

#include <unistd.h>

#include "core/file.h"
#include "core/journal.h"
#include "core/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  static const std::string path = fmt::format("/tmp/loom_journal_fuzz_{}.jsonl", ::getpid());
  const std::span text(reinterpret_cast<const std::byte*>(data), size);
  const auto put = [&] { LOOM_ASSERT(write_file_atomically(path, text).has_value()); };
  put();
  auto reader = JournalReader::open(path);
  LOOM_ASSERT(reader.has_value());
  std::uint64_t lines = 0;
  for (;; ++lines) {
    const auto line = reader->next();
    if (!line || !*line) break;
    LOOM_ASSERT((*line)->is_object());
  }
  LOOM_ASSERT(reader->lines() == lines && reader->bytes() <= size);
  static_cast<void>(read_journal_start(path));
  if (auto proof = JournalProof::open(path)) {
    const Json start = proof->start();
    LOOM_ASSERT(proof->compare(start).has_value() == (proof->compared() == 1));
    static_cast<void>(proof->compare({{"event", "end"}}));
    static_cast<void>(proof->finish());
  }
  if (auto resumed = Journal::resume(path, size % 100)) {
    LOOM_ASSERT(resumed->write({{"event", "steps"}, {"step", 1}}).has_value());
  }
  put();
  const std::size_t kept = size == 0 ? 0 : data[0] % (size + 1);
  Sha256 hash;
  hash.update(text.first(kept));
  LOOM_ASSERT(Journal::resume(path, JournalMark{kept, to_hex(hash.finish())}).has_value());
  LOOM_ASSERT(read_text_file(path, size).value().size() == kept);
  LOOM_ASSERT(!Journal::resume(path, JournalMark{kept + 1, {}}).has_value());
  ::unlink(path.c_str());
  return 0;
}
