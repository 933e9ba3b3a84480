#pragma once
// Description of this machine (engine E-45), read from system files and calls: no program is run. Facts that a system
// does not report are absent.

#include "core/json_fwd.h"

namespace loom {

struct AuditOptions {
  bool include_network = false;  // names, MAC and IP addresses of the network interfaces
};

// Members: os {name, release, machine}, cpu {name, logical_cores, physical_cores}, caches [{level, type, size}], memory
// {total_bytes, available_bytes}, gpus [{name or vendor and device}], disks [{name, bytes, rotational}], isas, and
// network [{name, mac, addresses}] where it was asked for.
Json system_audit(const AuditOptions& options = {});

}  // namespace loom
