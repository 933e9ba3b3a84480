#include "host/dna_recorder.h"

#include <cmath>

#include "core/file.h"
#include "core/path.h"
#include "io/network_file.h"

namespace loom {
namespace {

constexpr DnaOptions kCells{.nested = false};

Result<Dna> dna_of_file(const std::string& path) {
  LOOM_TRY(const SpecResult loaded, load_network(path));
  auto dna = extract_dna(loaded.network, kCells);
  if (!dna) return at(path, std::move(dna).error());
  return dna;
}

Json as_json(std::span<const LogicShift> shifts) {
  Json out = Json::array();
  for (const LogicShift& s : shifts) out.push_back(shift_json(s));
  return out;
}

// Reads one row of a line: an array of n finite numbers, one per cell.
bool read_row(const Json* json, std::size_t n, std::vector<double>& to) {
  if (json == nullptr || !json->is_array() || json->size() != n) return false;
  for (const Json& value : *json) {
    const auto number = as_number(value);
    if (!number || !std::isfinite(*number)) return false;
    to.push_back(*number);
  }
  return true;
}

bool read_shifts(const Json* json, std::vector<LogicShift>& to) {
  if (json == nullptr || !json->is_array()) return false;
  for (const Json& value : *json) {
    if (!value.is_object()) return false;
    const Json *source = find(value, "source"), *target = find(value, "target"), *overlap = find(value, "overlap");
    if (source == nullptr || target == nullptr || overlap == nullptr || as_string(*source) == nullptr ||
        as_string(*target) == nullptr || !as_number(*overlap))
      return false;
    to.push_back({*as_string(*source), *as_string(*target), *as_number(*overlap)});
  }
  return true;
}

}  // namespace

Json shift_json(const LogicShift& s) { return {{"source", s.source}, {"target", s.target}, {"overlap", s.overlap}}; }

void DnaRecorder::observe(const TrainProgress& p) {
  if (!warning_.empty()) return;
  Result<void> done;
  if (p.event == TrainEvent::TrainBegin) done = begin(p);
  if (p.event == TrainEvent::EpochEnd) done = end_epoch(p);
  if (!done) warning_ = "dna.jsonl is not continued: " + done.error().text();
}

Result<void> DnaRecorder::write(Json line) {
  if (journal_.is_open()) LOOM_TRY_VOID(journal_.write(line));
  lines_.push_back(std::move(line));
  return {};
}

Result<void> DnaRecorder::begin(const TrainProgress& p) {
  LOOM_TRY(Dna now, extract_dna(*p.network, kCells));
  if (p.step > 0) {  // of a run that goes on; what its checkpoint does not cover is cut off
    LOOM_TRY(journal_, Journal::resume(file("dna.jsonl"), p.step));
    LOOM_TRY(first_, dna_of_file(file("dna.first.entity")));
    if (p.batch == 0) {
      previous_ = std::move(now);
    } else if (p.epoch == 0) {
      previous_ = first_;
    } else {
      LOOM_TRY(previous_, dna_of_file(file_of_epoch(p.epoch)));
    }
    return {};
  }
  if (!folder_.empty()) {
    LOOM_TRY_VOID(save_network(file("dna.first.entity"), *p.network));
    LOOM_TRY(journal_, Journal::create(file("dna.jsonl")));
  }
  Json cells = Json::array();
  for (const Signature& s : now.signatures)
    cells.push_back({{"key", s.key()}, {"kind", s.type}, {"weights", s.has_weights ? s.weights.size() : 0}});
  first_ = previous_ = std::move(now);
  return write({{"event", "start"}, {"cells", std::move(cells)}});
}

Result<void> DnaRecorder::end_epoch(const TrainProgress& p) {
  LOOM_TRY(Dna now, extract_dna(*p.network, kCells));
  // Before the line, and before the checkpoint that covers it: a run that is cut in between finds the epoch before.
  if (!folder_.empty()) LOOM_TRY_VOID(save_network(file_of_epoch(p.epoch + 1), *p.network));
  const DnaDrift since_first = drift_of(std::array{first_, now}), since_previous = drift_of(std::array{previous_, now});
  Json line{{"event", "epoch"}, {"epoch", p.epoch + 1}, {"step", p.step}};
  line["from_first"] = since_first.from_first[1], line["from_previous"] = since_previous.from_first[1];
  line["since_first"] = as_json(compare_dna(first_, now).shifts),
  line["since_previous"] = as_json(compare_dna(previous_, now).shifts);
  previous_ = std::move(now);
  return write(std::move(line));
}

Result<DriftRecord> read_drift(const std::string& run) {
  const std::filesystem::path given = path_of(run);
  const std::string path = is_directory(run)               ? run + "/dna.jsonl"
                           : given.extension() == ".jsonl" ? text_of(given.parent_path() / "dna.jsonl")
                                                           : run;
  if (!is_file(path))
    return fail(Code::NotFound, "{}: no such file; runs of configs without \"keep_dna\": false leave it", path);
  LOOM_TRY(const std::vector<Json> lines, read_journal(path));
  DriftRecord record;
  const auto bad = [&](std::size_t line, std::string_view what) {
    return fail(Code::CorruptData, "{}: line {}: {}", path, line + 1, what);
  };
  const Json* cells = lines.empty() ? nullptr : find(lines[0], "cells");
  if (cells == nullptr || !cells->is_array() || lines[0].value("event", Json()) != "start")
    return bad(0, "no start of a record with its cells");
  for (const Json& cell : *cells) {
    const Json *key = cell.is_object() ? find(cell, "key") : nullptr,
               *kind = cell.is_object() ? find(cell, "kind") : nullptr;
    if (key == nullptr || kind == nullptr || as_string(*key) == nullptr || as_string(*kind) == nullptr)
      return bad(0, "a cell without key and kind");
    record.drift.keys.push_back(*as_string(*key)), record.kinds.push_back(*as_string(*kind));
  }
  const std::size_t n = record.drift.keys.size();
  record.drift.from_first.emplace_back(n), record.drift.from_previous.emplace_back(n);
  record.since_first.emplace_back(), record.since_previous.emplace_back();
  for (std::size_t l = 1; l < lines.size(); ++l) {
    const Json *event = find(lines[l], "event"), *epoch = find(lines[l], "epoch");
    if (event == nullptr || *event != "epoch" || epoch == nullptr || as_int(*epoch) != static_cast<std::int64_t>(l))
      return bad(l, fmt::format("epoch {} expected", l));
    if (!read_row(find(lines[l], "from_first"), n, record.drift.from_first.emplace_back()) ||
        !read_row(find(lines[l], "from_previous"), n, record.drift.from_previous.emplace_back()))
      return bad(l, fmt::format("from_first and from_previous of {} cells expected", n));
    if (!read_shifts(find(lines[l], "since_first"), record.since_first.emplace_back()) ||
        !read_shifts(find(lines[l], "since_previous"), record.since_previous.emplace_back()))
      return bad(l, "since_first and since_previous with source, target and overlap expected");
  }
  return record;
}

Result<void> check_dna_lines(const std::string& path, const std::vector<Json>& lines) {
  LOOM_TRY(const std::vector<Json> said, read_journal(path));
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (i >= lines.size()) return fail(Code::CorruptData, "{}: line {} has no counterpart in this run", path, i + 1);
    LOOM_TRY(const std::string a, dump_canonical(said[i]));
    LOOM_TRY(const std::string b, dump_canonical(lines[i]));
    if (a != b)
      return fail(Code::CorruptData, "{}: line {}: the record and this run differ at {}", path, i + 1,
                  first_difference(said[i], lines[i]));
  }
  return {};
}

}  // namespace loom
