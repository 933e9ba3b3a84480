#include "telemetry/audit.h"

#include "backend/cpu/isa.h"
#include "core/json.h"
#include "core/system.h"
#include "core/system_lines.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace loom {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  const std::vector<std::string> lines = system_lines(path);
  std::string line = lines.empty() ? "" : lines.front();
  while (!line.empty() && (line.back() == ' ' || line.back() == '\n')) line.pop_back();
  return line;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    all.push_back(it->path());
  std::ranges::sort(all);
  return all;
}

std::optional<std::uint64_t> as_count(const std::string& text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end != text.data() ? std::optional(n) : std::nullopt;
}

std::string cpu_name() {
  for (const std::string& line : system_lines("/proc/cpuinfo"))
    if (const auto colon = line.find(": "); line.starts_with("model name") && colon != line.npos)
      return line.substr(colon + 2);
  return "";
}

Json caches() {
  Json all = Json::array();
  for (const fs::path& index : entries("/sys/devices/system/cpu/cpu0/cache"))
    if (const std::string level = first_line(index / "level"); !level.empty())
      all.push_back(Json{{"level", level}, {"type", first_line(index / "type")}, {"size", first_line(index / "size")}});
  return all;
}

// Bytes after "Name:" in /proc/meminfo, which counts in units of 1024.
std::optional<std::uint64_t> memory_bytes(std::string_view name) {
  for (const std::string& line : system_lines("/proc/meminfo")) {
    if (!line.starts_with(name)) continue;
    const auto digit = line.find_first_of("0123456789");
    const auto n = digit == line.npos ? std::nullopt : as_count(line.substr(digit));
    return n ? std::optional(*n * 1024) : std::nullopt;
  }
  return std::nullopt;
}

Json gpus() {
  Json all = Json::array();
  for (const fs::path& gpu : entries("/proc/driver/nvidia/gpus")) {
    for (const std::string& line : system_lines(gpu / "information"))
      if (line.starts_with("Model:"))
        all.push_back(Json{{"name", line.substr(std::min(line.find_first_not_of(" \t", 6), line.size()))}});
  }
  if (!all.empty()) return all;
  for (const fs::path& card : entries("/sys/class/drm")) {
    const std::string name = card.filename().string();
    if (!name.starts_with("card") || name.find('-') != name.npos) continue;
    if (const std::string vendor = first_line(card / "device/vendor"); !vendor.empty())
      all.push_back(Json{{"vendor", vendor}, {"device", first_line(card / "device/device")}});
  }
  return all;
}

Json disks() {
  Json all = Json::array();
  for (const fs::path& disk : entries("/sys/block")) {
    const std::string name = disk.filename().string();
    const auto sectors = as_count(first_line(disk / "size"));  // of 512 bytes whatever the disk's own are
    if (!sectors || *sectors == 0 || name.starts_with("loop") || name.starts_with("ram")) continue;
    all.push_back(
        Json{{"name", name}, {"bytes", *sectors * 512}, {"rotational", first_line(disk / "queue/rotational") == "1"}});
  }
  return all;
}

Json network() {
  Json all = Json::array();
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return all;
  std::vector<std::string> names;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) names.emplace_back(i->ifa_name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    Json addresses = Json::array();
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
      if (name != i->ifa_name || i->ifa_addr == nullptr) continue;
      char text[INET6_ADDRSTRLEN] = {};
      const int family = i->ifa_addr->sa_family;
      const void* address = nullptr;
      if (family == AF_INET) address = &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
      if (family == AF_INET6) address = &reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
      if (address != nullptr && inet_ntop(family, address, text, sizeof text) != nullptr) addresses.push_back(text);
    }
    all.push_back(Json{{"name", name},
                       {"mac", first_line("/sys/class/net/" + name + "/address")},
                       {"addresses", std::move(addresses)}});
  }
  freeifaddrs(list);
  return all;
}

}  // namespace

Json system_audit(const AuditOptions& options) {
  Json isas = Json::array();
  for (const Isa isa : usable_isas()) isas.push_back(name(isa));
  Json cpu{{"physical_cores", os::physical_cores()}};
  if (std::string model = cpu_name(); !model.empty()) cpu["name"] = std::move(model);
  if (const long cores = sysconf(_SC_NPROCESSORS_ONLN); cores > 0) cpu["logical_cores"] = cores;
  Json memory = Json::object(), os = Json::object();
  if (const auto bytes = memory_bytes("MemTotal:")) memory["total_bytes"] = *bytes;
  if (const auto bytes = memory_bytes("MemAvailable:")) memory["available_bytes"] = *bytes;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (!memory.contains("total_bytes") && pages > 0 && page > 0)
    memory["total_bytes"] = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  utsname system{};
  if (uname(&system) == 0)
    os = Json{{"name", system.sysname}, {"release", system.release}, {"machine", system.machine}};
  Json out{{"os", std::move(os)}, {"cpu", std::move(cpu)}, {"caches", caches()},     {"memory", std::move(memory)},
           {"gpus", gpus()},      {"disks", disks()},      {"isas", std::move(isas)}};
  if (options.include_network) out["network"] = network();
  return out;
}

}  // namespace loom
