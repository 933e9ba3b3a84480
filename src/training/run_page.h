#pragma once
// A run as one page for people: curves, confusion matrix, layers, gaps, hashes, config, machine. It needs nothing but
// itself: no script, no file, no address, and it says so in its Content-Security-Policy.

#include <string>

#include "core/error.h"

namespace loom {

// From a run folder: journal.jsonl; timings.jsonl, model.entity or checkpoint.entity and cells lines where they exist.
// Works while a run goes on and for one that was stopped. NotFound, CorruptData for the journal; the page names the
// faults of the other files.
Result<std::string> report_html(const std::string& folder);

// Writes it to `path`, or to report.html of the folder. DiskFull, IoError.
Result<void> write_report(const std::string& folder, const std::string& path = {});

}  // namespace loom
