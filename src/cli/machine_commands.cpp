// verify, audit.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/verify_report.h"
#include "core/file.h"
#include "core/numerics_version.h"
#include "core/system.h"
#include "core/weight_memory.h"
#include "host/machine.h"
#include "verify/golden_models.h"
#include "telemetry/audit.h"
#include "verify/trial.h"

namespace loom::cli {
namespace {

struct VerifyOptions {
  CommonOptions common;
  bool table = false;
  std::uint32_t random = 0, first = 0;
  std::uint64_t seed = 1;
  std::string kept;
  bool plenty = false, combinations = false;
  bool report = false;
  std::string model;
};

// Prints how many cases a card has no form for, and the reasons with their counts.
void print_refused(const std::map<std::string, std::size_t>& refused) {
  std::size_t all = 0;
  for (const auto& [why, count] : refused) all += count;
  if (all > 0) std::printf("%zu cases have no form on the card, in part or whole:\n", all);
  for (const auto& [why, count] : refused) std::printf("%8zu  %s\n", count, why.c_str());
}

// Random networks in every way that must give the same bits (docs/internals/numerics.md), or on a card beside this
// computer.
Result<int> run_random(const VerifyOptions& o) {
  if (o.random > 0 && (o.common.threads > 0 || !o.common.isa.empty()))
    return fail(Code::InvalidArgument,
                "--random takes its own instruction sets and threads; {} is for the reference bits",
                o.common.isa.empty() ? "--threads" : "--isa");
  LOOM_TRY(Device* const device, open_device(o.common));
  std::vector<Trial> kept;
  if (!o.kept.empty()) {
    LOOM_TRY(const std::string text, read_text_file(o.kept));
    auto json = parse_json(text);
    if (!json) return at(o.kept, json.error());
    auto trial = trial_from_json(*json);
    if (!trial) return at(o.kept, trial.error());
    kept.push_back(*std::move(trial));
  }
  const std::uint32_t count = kept.empty() ? o.random : 1;
  Sha256 all;
  std::map<std::string, std::size_t> refused;
  Progress progress("verifying", o.common.quiet || o.common.json);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (interrupted()) return kInterrupted;
    progress.update(static_cast<double>(i) / count, fmt::format("case {}", o.first + i));
    const Trial trial = !kept.empty()    ? kept[0]
                        : o.combinations ? random_rule_trial(o.seed, o.first + i)
                                         : random_trial(o.seed, o.first + i);
    const std::vector<TrialWay> ways = device != nullptr ? device_ways(trial, o.first + i, *device)
                                                         : trial_ways(trial, o.first + i, o.plenty || !kept.empty());
    const TrialVerdict verdict = check_trial(trial, ways);
    if (verdict.stopped) return tl::make_unexpected(*verdict.stopped);
    if (!verdict.refused.empty()) ++refused[verdict.refused];
    if (verdict.passed()) {
      all.update(std::as_bytes(std::span(verdict.digest)));
      if (o.table)
        std::printf("%u\t%s\t%s%s%s\n", o.first + i, std::string(name(trial.mode)).c_str(), verdict.digest.c_str(),
                    verdict.refused.empty() ? "" : "\t", verdict.refused.c_str());
      continue;
    }
    const Json small = trial_to_json(shrink_trial(trial, ways));
    if (o.common.json) {
      print_json(Json{{"pass", false},
                      {"seed", o.seed},
                      {"case", o.first + i},
                      {"difference", verdict.difference},
                      {"trial", small}});
    } else {
      std::printf("FAIL  case %u of seed %llu (%s)\n%s\n", o.first + i, static_cast<unsigned long long>(o.seed),
                  std::string(name(trial.mode)).c_str(), verdict.difference.c_str());
      const std::string where = device != nullptr ? " --device " + o.common.device : std::string();
      std::printf(
          "again: loom verify --random 1 --seed %llu --case %u%s%s\nor keep this as FILE for loom verify --trial "
          "FILE%s:\n%s\n",
          static_cast<unsigned long long>(o.seed), o.first + i, o.combinations ? " --combinations" : "", where.c_str(),
          where.c_str(), dump_json(small).c_str());
    }
    return kFailed;
  }
  const std::string digest = to_hex(all.finish());
  const std::string adapter = std::string(device != nullptr ? device->adapter_name() : "");
  if (o.common.json) {
    Json out{
        {"pass", true}, {"seed", o.seed}, {"cases", count}, {"digest", digest}, {"numerics_version", kNumericsVersion}};
    if (device != nullptr) out["device"] = o.common.device, out["adapter"] = adapter, out["refused"] = refused;
    print_json(out);
    return kOk;
  }
  std::printf("PASS  %s  (%u random cases, %snumerics version %u)\n", digest.c_str(), count,
              device != nullptr ? (adapter + " beside this computer, ").c_str() : "", kNumericsVersion);
  print_refused(refused);
  return kOk;
}

// The golden set on a graphics card, line by line beside this computer's, whose digest is known.
Result<int> run_on_device(const VerifyOptions& o, GoldenOptions run) {
  LOOM_TRY(const std::string here, golden_table({.isa = run.isa, .threads = run.threads}));
  if (digest_of_text(here) != kGoldenDigest)
    return fail(Code::InvalidState, "the CPU fails the check: run loom verify without --device for details");
  std::vector<std::string> refused, differ;
  run.refused = &refused;
  LOOM_TRY(const std::string there, golden_table(run));
  const auto lines = [](const std::string& table) {
    std::vector<std::string> out;
    std::istringstream in(table);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  };
  const std::vector<std::string> wanted = lines(here), got = lines(there);
  std::size_t next = 0;  // both tables have one order
  for (const std::string& line : got) {
    const std::string_view name = std::string_view(line).substr(0, line.find('\t') + 1);
    while (!wanted[next].starts_with(name)) ++next;
    if (wanted[next] != line) differ.emplace_back(name.substr(0, name.size() - 1));
  }
  if (o.common.json) {
    print_json(Json{{"pass", differ.empty()},
                    {"device", o.common.device},
                    {"adapter", run.device->adapter_name()},
                    {"precision", name(run.device->precision())},
                    {"lines", got.size()},
                    {"differ", differ},
                    {"refused", refused},
                    {"numerics_version", kNumericsVersion}});
  } else if (o.table) {
    std::printf("%s", there.c_str());
  } else {
    std::printf("%s  %zu lines as on this computer, %zu differ  (%s, numerics version %u)\n",
                differ.empty() ? "PASS" : "FAIL", got.size() - differ.size(), differ.size(),
                std::string(run.device->adapter_name()).c_str(), kNumericsVersion);
    for (const std::string& name : differ) std::printf("differs: %s\n", name.c_str());
    std::set<std::string> kinds;  // by type, where a case has that alone
    for (const std::string& name : refused) {
      const std::string type = name.substr(name.rfind(' ') + 1);
      kinds.insert(dtype_from_name(type) ? type : name);
    }
    std::printf("%zu cases have no form: %s\n", refused.size(), fmt::format("{}", fmt::join(kinds, ", ")).c_str());
  }
  return differ.empty() ? kOk : kFailed;
}

Result<int> run_verify(const VerifyOptions& o) {
  LOOM_TRY_VOID(need_exact(o.common, "verify"));
  if (o.report && (o.table || o.random > 0 || !o.kept.empty()))
    return fail(Code::InvalidArgument, "--report prints a row of its own: leave --table, --random and --trial out");
  if (o.random > 0 || !o.kept.empty()) return run_random(o);
  GoldenOptions run;
  run.threads = o.common.threads > 0 ? o.common.threads : ThreadPool::default_threads();
  if (!o.common.isa.empty()) {
    LOOM_TRY(run.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY(run.device, open_device(o.common));
  if (o.report && run.device != nullptr)
    return fail(Code::InvalidArgument, "--report describes this computer's processor; leave --device out");
  if (o.report) return naming({o.model}, print_verify_report(o.common, o.model, run));
  if (run.device != nullptr) return run_on_device(o, run);
  LOOM_TRY(const std::string table, golden_table(run));
  const std::string digest = digest_of_text(table);
  const bool pass = digest == kGoldenDigest;
  if (o.common.json) {
    Json out{{"digest", digest},       {"expected", kGoldenDigest},
             {"pass", pass},           {"isa", name(run.isa.value_or(best_isa()))},
             {"threads", run.threads}, {"numerics_version", kNumericsVersion}};
    if (o.table) out["table"] = table;
    print_json(out);
  } else if (o.table)
    std::printf("%s", table.c_str());
  else
    std::printf("%s  %s  (%s, %d threads, numerics version %u)\n", pass ? "PASS" : "FAIL", digest.c_str(),
                std::string(name(run.isa.value_or(best_isa()))).c_str(), run.threads, kNumericsVersion);
  if (!pass && !o.common.json)
    std::fprintf(
        stderr,
        "loom: expected %s; loom verify --table prints every case: compare it with tests/determinism/hashes.tsv\n",
        kGoldenDigest);
  return pass ? kOk : kFailed;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// How weights are placed on the machine's memory nodes, tried with a small piece: "interleaved", "refused" by the
// system (as in containers that forbid mbind), or "local" where there is one node or numactl has set a policy.
std::string weight_placement() {
  const WeightPieces before = weight_pieces();
  const auto piece = create_weight_buffer(os::kHugePage);
  const WeightPieces after = weight_pieces();
  return after.interleaved > before.interleaved ? "interleaved" : after.refused > before.refused ? "refused" : "local";
}

struct AuditCommand {
  CommonOptions common;
  AuditOptions audit;
};

Result<int> run_audit(const AuditCommand& o) {
  const Json system = system_audit(o.audit);
  const Json* const bytes = find(system["memory"], "total_bytes");
  const double memory = bytes == nullptr ? 0 : as_number(*bytes).value_or(0) / 1e6;
  const std::size_t nodes = std::max<std::size_t>(1, os::memory_nodes().size());
  const std::string placement = weight_placement();
  Json out{{"cpu", cpu_name()},
           {"physical_cores", os::physical_cores()},
           {"memory_mb", memory},
           {"memory_nodes", nodes},
           {"weight_pages", placement},
           {"chosen_isa", name(best_isa())},
           {"tiles",
            Json{{"panel_rows", kPanelRows}, {"block_columns", kBlockCols}, {"cache_block_positions", kCacheBlock}}},
           {"huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
           {"version", LOOM_VERSION},
           {"numerics_version", kNumericsVersion}};
  for (const char* key : {"os", "caches", "isas", "memory", "gpus", "disks", "network"})
    if (const Json* part = find(system, key)) out[key] = *part;
  if (const Json* cores = find(system["cpu"], "logical_cores")) out["logical_cores"] = *cores;
  if (o.common.json) {
    print_json(out);
    return kOk;
  }
  std::printf("%s, %d physical cores, %.0f MB of memory\n", cpu_name().c_str(), os::physical_cores(), memory);
  for (const Json& c : out["caches"])
    std::printf("  L%s %s %s\n", as_string(c["level"])->c_str(), as_string(c["type"])->c_str(),
                as_string(c["size"])->c_str());
  for (const Json& g : out["gpus"]) std::printf("GPU: %s\n", dump_json(g).c_str());
  for (const Json& d : out["disks"])
    std::printf("disk %s: %.1f GB\n", as_string(d["name"])->c_str(), as_number(d["bytes"]).value_or(0) / 1e9);
  if (const Json* network = find(out, "network"))
    for (const Json& i : *network) std::printf("network: %s\n", dump_json(i).c_str());
  std::printf("instruction sets:");
  for (const Isa isa : usable_isas()) std::printf(" %s", std::string(name(isa)).c_str());
  std::printf("; %s is used\n", std::string(name(best_isa())).c_str());
  std::printf("panels of %zu rows, blocks of %zu columns, cache blocks of %zu positions\n", kPanelRows, kBlockCols,
              kCacheBlock);
  if (nodes > 1) std::printf("%zu memory nodes, pages of weights: %s\n", nodes, placement.c_str());
  std::printf("huge pages: %s\nloom %s, numerics version %u\n",
              first_line("/sys/kernel/mm/transparent_hugepage/enabled").c_str(), LOOM_VERSION, kNumericsVersion);
  return kOk;
}

}  // namespace

Run verify_command(CLI::App& app) {
  auto o = std::make_shared<VerifyOptions>();
  app.add_flag("--table", o->table, "Print the digest of every case");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  auto* const random =
      app.add_option("--random", o->random, "Run so many random networks in every way that must give the same bits")
          ->check(whole_number(1));
  app.add_option("--seed", o->seed, "Seed of the random networks (1)")->check(whole_number())->needs(random);
  app.add_option("--case", o->first, "Number of the first of them (0)")->check(whole_number())->needs(random);
  app.add_flag("--all-ways", o->plenty,
               "Every instruction set with every number of threads, not a handful that rotates")
      ->needs(random);
  app.add_flag(
         "--combinations", o->combinations,
         "Networks and rules in which two features meet: float64 and resuming, metacognition and targets, graphs, "
         "masks, lengths")
      ->needs(random);
  add_path(app, "--trial", o->kept, "A case from a file, as a failing one is printed, in all ways")->excludes(random);
  auto* const report = app.add_flag("--report", o->report,
                                    "Print one row about this machine to send to others: build, processor, digest, "
                                    "hash of 500 training steps");
  add_path(app, "-m,--model", o->model, "With --report: SmolLM2 of the README, for the hash of its answer")
      ->needs(report);
  add_device(app, o->common);
  add_common(app, o->common, false);
  return [o] { return finish(run_verify(*o)); };
}

Run audit_command(CLI::App& app) {
  auto o = std::make_shared<AuditCommand>();
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  app.add_flag("--include-network", o->audit.include_network, "MAC and IP addresses too");
  add_quiet(app, o->common);
  return [o] { return finish(run_audit(*o)); };
}

}  // namespace loom::cli
