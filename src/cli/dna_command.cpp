// dna: two networks compared layer by layer, or what a training did to its own.

#include <cstdio>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "evolution/dna/dna.h"
#include "host/dna.h"
#include "host/dna_recorder.h"
#include "io/network_file.h"

namespace loom::cli {
namespace {

struct DnaFlags {
  CommonOptions common;
  std::string a, b, svg, journal;
  std::vector<std::string> more;
  bool nested = false, lenient = false, overwrite = false;
};

Result<Dna> dna_of_file(const std::string& path, const DnaFlags& o) {
  LOOM_TRY(const SpecResult loaded, load_network(path, {.strict = !o.lenient, .max_bytes = o.common.max_memory}));
  auto dna = extract_dna(loaded.network, {.nested = o.nested});
  if (!dna) return at(path, std::move(dna).error());
  return dna;
}

const Signature* find_signature(const Dna& dna, const std::string& key) {
  for (const Signature& s : dna.signatures)
    if (s.key() == key) return &s;
  return nullptr;
}

void print_table(const Dna& a, const Dna& b, const DnaComparison& c) {
  std::size_t widest = 5;
  for (const auto& layer : c.layers) widest = std::max(widest, layer.key.size());
  for (const std::string& key : c.unmatched) widest = std::max(widest, key.size());
  const int width = static_cast<int>(widest);
  std::printf("%-*s  %-18s %10s  %-9s %-9s  %s\n", width, "layer", "kind", "weights", "type A", "type B", "similarity");
  for (const auto& layer : c.layers) {
    const Signature *x = find_signature(a, layer.key), *y = find_signature(b, layer.key);
    const std::string kind = x->type == y->type ? x->type : x->type + "/" + y->type;
    std::printf("%-*s  %-18s %10zu  %-9s %-9s  %+.6f\n", width, terminal_text(layer.key).c_str(),
                terminal_text(kind).c_str(), x->has_weights ? x->weights.size() : 0,
                std::string(name(x->dtype)).c_str(), std::string(name(y->dtype)).c_str(), layer.overlap);
  }
  for (const std::string& key : c.unmatched)
    std::printf("%-*s  only in %s\n", width, terminal_text(key).c_str(), find_signature(a, key) != nullptr ? "A" : "B");
  for (const LogicShift& s : c.shifts)
    std::printf("logic shift: %s of A is %s of B (%.6f)\n", terminal_text(s.source).c_str(),
                terminal_text(s.target).c_str(), s.overlap);
  std::printf("overall %.6f, structural %.6f, %zu logic shifts, %zu unmatched\n", c.overall, c.structural,
              c.shifts.size(), c.unmatched.size());
}

// Prints how far every layer has turned over a sequence of networks.
Result<int> run_drift(const DnaFlags& o) {
  std::vector<std::string> paths = {o.a, o.b};
  paths.insert(paths.end(), o.more.begin(), o.more.end());
  std::vector<Dna> sequence;
  for (const std::string& path : paths) {
    LOOM_TRY(Dna dna, dna_of_file(path, o));
    sequence.push_back(std::move(dna));
  }
  const DnaDrift drift = drift_of(sequence, o.nested);
  if (o.common.json) {
    print_json(to_json(drift, paths));
    return kOk;
  }
  std::size_t widest = 5;
  for (const std::string& key : drift.keys) widest = std::max(widest, key.size());
  std::printf("1 - similarity to the first network (to the one before)\n%-*s", static_cast<int>(widest), "layer");
  for (std::size_t n = 0; n < paths.size(); ++n) std::printf("  %19zu", n + 1);
  std::printf("\n");
  for (std::size_t k = 0; k < drift.keys.size(); ++k) {
    std::printf("%-*s", static_cast<int>(widest), terminal_text(drift.keys[k]).c_str());
    for (std::size_t n = 0; n < paths.size(); ++n)
      std::printf("  %.6f (%.6f)", drift.from_first[n][k], drift.from_previous[n][k]);
    std::printf("\n");
  }
  return kOk;
}

// Epochs that a table of so many columns shows: the first, the last, and evenly spaced ones between.
std::vector<std::size_t> shown_epochs(std::size_t epochs) {
  constexpr std::size_t kColumns = 8;
  std::vector<std::size_t> out;
  const std::size_t n = std::min(epochs, kColumns);
  out.reserve(n);
  for (std::size_t c = 0; c < n; ++c) out.push_back(n == 1 ? epochs : 1 + c * (epochs - 1) / (n - 1));
  return out;
}

// Prints logic shifts: all since the epoch before; those since the start only in the epoch in which they begin.
void print_events(const DriftRecord& record) {
  for (std::size_t e = 1; e < record.since_previous.size(); ++e) {
    for (const LogicShift& s : record.since_previous[e])
      std::printf("epoch %zu: logic shift: %s is now what %s was an epoch before (%.6f)\n", e,
                  terminal_text(s.target).c_str(), terminal_text(s.source).c_str(), s.overlap);
    for (const LogicShift& s : record.since_first[e]) {
      const auto& before = record.since_first[e - 1];
      const bool is_new = std::ranges::none_of(
          before, [&](const LogicShift& old) { return old.source == s.source && old.target == s.target; });
      if (is_new)
        std::printf("epoch %zu: logic shift: %s is now what %s was at the start (%.6f)\n", e,
                    terminal_text(s.target).c_str(), terminal_text(s.source).c_str(), s.overlap);
    }
  }
}

Result<int> run_journal(const DnaFlags& o) {
  LOOM_TRY(const DriftRecord record, read_drift(o.journal));
  const DnaDrift& drift = record.drift;
  const std::size_t epochs = drift.from_first.size() - 1;
  if (!o.svg.empty()) {
    LOOM_TRY(const std::string picture, drift_map_svg(record, o.journal));
    LOOM_TRY_VOID(write_file_atomically(o.svg, std::as_bytes(std::span(picture))));
  }
  if (o.common.json) {
    print_json(to_json(record, o.journal));
    return kOk;
  }
  if (epochs == 0) {
    std::printf("no epoch has ended yet\n");
    return kOk;
  }
  std::size_t widest = 5, kinds = 4, shifts = 0;
  for (const std::string& key : drift.keys) widest = std::max(widest, key.size());
  for (const std::string& kind : record.kinds) kinds = std::max(kinds, kind.size());
  for (const auto& all : record.since_previous) shifts += all.size();
  std::printf("1 - similarity to the epoch before; in all: to the start\n%-*s  %-*s", static_cast<int>(widest), "layer",
              static_cast<int>(kinds), "kind");
  const auto shown = shown_epochs(epochs);
  for (const std::size_t e : shown) std::printf("  %9s", fmt::format("epoch {}", e).c_str());
  std::printf("  %9s\n", "in all");
  for (std::size_t k = 0; k < drift.keys.size(); ++k) {
    std::printf("%-*s  %-*s", static_cast<int>(widest), terminal_text(drift.keys[k]).c_str(), static_cast<int>(kinds),
                terminal_text(record.kinds[k]).c_str());
    for (const std::size_t e : shown) std::printf("  %9.2e", drift.from_previous[e][k]);
    std::printf("  %9.2e\n", drift.from_first[epochs][k]);
  }
  print_events(record);
  std::printf("%zu epochs, %zu layers, %zu logic shifts from one epoch to the next\n", epochs, drift.keys.size(),
              shifts);
  return kOk;
}

Result<int> run_dna(const DnaFlags& o) {
  LOOM_TRY_VOID(check_output(o.svg, OutputKind::svg, o.overwrite));
  if (!o.journal.empty()) {
    if (!o.a.empty())
      return fail(Code::InvalidArgument, "--journal reads a run's own record: no other networks beside it");
    return run_journal(o);
  }
  if (o.b.empty()) return fail(Code::InvalidArgument, "two networks, or --journal RUN, expected");
  if (!o.more.empty()) {
    if (!o.svg.empty())
      return fail(Code::InvalidArgument, "--svg draws two networks, {} were given", o.more.size() + 2);
    return run_drift(o);
  }
  LOOM_TRY(const Dna a, dna_of_file(o.a, o));
  LOOM_TRY(const Dna b, dna_of_file(o.b, o));
  const DnaComparison comparison = compare_dna(a, b, o.nested);
  if (!o.svg.empty()) {
    LOOM_TRY(const std::string picture, heat_map_svg(a, b, comparison, o.a, o.b, o.nested));
    LOOM_TRY_VOID(write_file_atomically(o.svg, std::as_bytes(std::span(picture))));
  }
  if (o.common.json)
    print_json(to_json(comparison));
  else
    print_table(a, b, comparison);
  return kOk;
}

// Refuses options that would have no effect.
Result<void> check_options(const CLI::App& app, const DnaFlags& o) {
  for (const char* name : {"--nested", "--lenient", "--max-memory"})
    if (!o.journal.empty() && app.get_option(name)->count() > 0)
      return fail(Code::InvalidArgument,
                  "{} has no effect with --journal, which reads what the run recorded of its cells; leave it out",
                  name);
  return {};
}

}  // namespace

Run dna_command(CLI::App& app) {
  auto o = std::make_shared<DnaFlags>();
  add_path(app, "A", o->a, "JSON spec, JSON checkpoint or .entity");
  add_path(app, "B", o->b, "The other");
  add_path(app, "MORE", o->more,
           "Further ones, as a training left them: how far each layer moves from the first and from the one before");
  add_path(app, "--journal", o->journal,
           "Folder of a training: how each layer drifts from epoch to epoch, and layers that become what others were");
  add_path(app, "-o,--output,--svg", o->svg,
           "A picture to write: all similarities, or with --journal layers by epochs");
  add_overwrite(app, o->overwrite);
  app.add_flag("--nested", o->nested, "Layers inside containers too, each by its path");
  app.add_flag("--lenient", o->lenient, "Unknown keys are warnings");
  add_max_memory(app, o->common);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o, &app] {
    auto checked = check_options(app, *o);
    return finish(checked ? run_dna(*o) : Result<int>(tl::make_unexpected(std::move(checked).error())));
  };
}

}  // namespace loom::cli
