// verify, audit.

#include <cstdio>
#include <fstream>

#include "cli/commands.h"
#include "core/numerics_version.h"
#include "lm/golden.h"
#include "telemetry/audit.h"

namespace loom::cli {
namespace {

struct VerifyOptions {
  CommonOptions common;
  bool table = false;
};

Result<int> run_verify(const VerifyOptions& o) {
  GoldenOptions run;
  run.threads = o.common.threads > 0 ? o.common.threads : ThreadPool::default_threads();
  if (!o.common.isa.empty()) {
    LOOM_TRY(run.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY(const std::string table, golden_table(run));
  const std::string digest = digest_of_text(table);
  const bool pass = digest == kGoldenDigest;
  if (o.common.json) {
    Json out{{"digest", digest},
             {"expected", kGoldenDigest},
             {"pass", pass},
             {"isa", name(run.isa.value_or(best_isa()))},
             {"threads", run.threads},
             {"numerics_version", kNumericsVersion}};
    if (o.table) out["table"] = table;
    print_json(out);
  } else if (o.table)
    std::printf("%s", table.c_str());
  else
    std::printf("%s  %s  (%s, %d threads, numerics version %u)\n", pass ? "PASS" : "FAIL", digest.c_str(),
                std::string(name(run.isa.value_or(best_isa()))).c_str(), run.threads, kNumericsVersion);
  if (!pass && !o.common.json)
    std::fprintf(stderr, "loom: expected %s; loom verify --table prints every case: compare it with tests/determinism/hashes.tsv\n", kGoldenDigest);
  return pass ? kOk : kFailed;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct AuditCommand {
  CommonOptions common;
  AuditOptions audit;
};

Result<int> run_audit(const AuditCommand& o) {
  const Json system = system_audit(o.audit);
  const Json* const bytes = find(system["memory"], "total_bytes");
  const double memory = bytes == nullptr ? 0 : as_number(*bytes).value_or(0) / 1e6;
  Json out{{"cpu", cpu_name()},
           {"physical_cores", ThreadPool::default_threads()},
           {"memory_mb", memory},
           {"chosen_isa", name(best_isa())},
           {"tiles", Json{{"panel_rows", kPanelRows}, {"block_columns", kBlockCols}, {"cache_block_positions", kCacheBlock}}},
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
  std::printf("%s, %d physical cores, %.0f MB of memory\n", cpu_name().c_str(), ThreadPool::default_threads(), memory);
  for (const Json& c : out["caches"])
    std::printf("  L%s %s %s\n", as_string(c["level"])->c_str(), as_string(c["type"])->c_str(), as_string(c["size"])->c_str());
  for (const Json& g : out["gpus"]) std::printf("GPU: %s\n", dump_json(g).c_str());
  for (const Json& d : out["disks"])
    std::printf("disk %s: %.1f GB\n", as_string(d["name"])->c_str(), as_number(d["bytes"]).value_or(0) / 1e9);
  if (const Json* network = find(out, "network"))
    for (const Json& i : *network) std::printf("network: %s\n", dump_json(i).c_str());
  std::printf("instruction sets:");
  for (const Isa isa : usable_isas()) std::printf(" %s", std::string(name(isa)).c_str());
  std::printf("; %s is used\n", std::string(name(best_isa())).c_str());
  std::printf("panels of %zu rows, blocks of %zu columns, cache blocks of %zu positions\n", kPanelRows, kBlockCols, kCacheBlock);
  std::printf("huge pages: %s\nloom %s, numerics version %u\n", first_line("/sys/kernel/mm/transparent_hugepage/enabled").c_str(), LOOM_VERSION,
              kNumericsVersion);
  return kOk;
}

}  // namespace

Run verify_command(CLI::App& app) {
  auto o = std::make_shared<VerifyOptions>();
  app.add_flag("--table", o->table, "Print the digest of every case");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] { return finish(run_verify(*o)); };
}

Run audit_command(CLI::App& app) {
  auto o = std::make_shared<AuditCommand>();
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  app.add_flag("--include-network", o->audit.include_network, "MAC and IP addresses too");
  add_common(app, o->common, false);
  return [o] { return finish(run_audit(*o)); };
}

}  // namespace loom::cli
