// Files, maps, locks, pages, stacks and cores of Windows (10 or newer). Paths become UTF-16. Files are opened so that
// others may remove and replace them meanwhile, as everywhere else, and then carry the descriptors of the C library.
// Virus scanners and indexers open new files for a moment: calls that meet one are repeated for a second.

#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cwchar>
#include <string_view>

#include "core/file_stamp.h"
#include "core/system.h"

namespace loom::os {
namespace {

constexpr int kPathUnits = 4096;

// A path in UTF-16, on the stack: remove() may be called when memory has run out. Empty for a text that is no UTF-8 or
// too long, which no call takes for a path. Windows refuses paths of more than 259 units, and folders of more than 247,
// unless they are written in full after "\\?\".
struct WidePath {
  explicit WidePath(const char* path) {
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text, kPathUnits) == 0) text[0] = 0;
    if (text[0] != 0 && !starts_with(text, L"\\\\?\\")) lengthen();
  }
  wchar_t text[kPathUnits];

 private:
  static bool starts_with(const wchar_t* path, std::wstring_view start) {
    return std::wstring_view(path, wcsnlen(path, start.size())) == start;
  }
  // A relative path is short though its folder may be deep, so every path is completed.
  void lengthen() {
    constexpr DWORD kShort = 240;
    wchar_t full[kPathUnits];
    const DWORD units = GetFullPathNameW(text, kPathUnits, full, nullptr);
    const bool is_share = starts_with(full, L"\\\\");
    const std::wstring_view start =
        is_share ? L"\\\\?\\UNC" : L"\\\\?\\";  // \\server\share becomes \\?\UNC\server\share
    if (units < kShort || units + start.size() >= kPathUnits || starts_with(full, L"\\\\.\\")) return;
    const wchar_t* const rest = is_share ? full + 1 : full;
    std::copy_n(rest, wcslen(rest) + 1, std::ranges::copy(start, text).out);
  }
};

std::string narrow(const wchar_t* text) {
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<std::size_t>(std::max(bytes, 1)), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, out.data(), bytes, nullptr, nullptr);
  out.pop_back();  // the closing zero
  return out;
}

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH: return ENOENT;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_ACCESS_DENIED: return EACCES;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_USER_MAPPED_FILE: return ETXTBSY;
    case ERROR_WRITE_PROTECT: return EROFS;
    case ERROR_FILENAME_EXCED_RANGE: return ENAMETOOLONG;
    case ERROR_CANT_RESOLVE_FILENAME: return ELOOP;  // links in a circle
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT: return ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    default: return EIO;
  }
}

// Returns the result of a call of Windows and sets errno where it failed.
bool told(BOOL done) {
  if (done == 0) errno = errno_of(GetLastError());
  return done != 0;
}

// Calls `call`, which returns whether it is done, again after 1, 2, 4 ... 512 ms while its error says that another
// program has the file.
template <class Call, class IsMomentary>
bool patiently(Call call, IsMomentary is_momentary) {
  for (DWORD pause = 1;; pause *= 2) {
    if (call()) return true;
    const DWORD error = GetLastError();
    if (pause > 512 || !is_momentary(error)) {
      errno = errno_of(error);
      return false;
    }
    Sleep(pause);
  }
}
bool is_shared(DWORD error) { return error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION; }
// Windows denies access to a file that it is about to remove, and the replacement of one that is open or mapped.
bool is_in_use(DWORD error) {
  return is_shared(error) || error == ERROR_ACCESS_DENIED || error == ERROR_USER_MAPPED_FILE;
}

bool is_read_only(const WidePath& path) {
  const DWORD attributes = GetFileAttributesW(path.text);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY) != 0;
}
bool move(const WidePath& from, const WidePath& to, DWORD how) {
  return MoveFileExW(from.text, to.text, how | MOVEFILE_WRITE_THROUGH) != 0;
}

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file)); }

HANDLE open_handle(const char* path, DWORD access, DWORD creation, bool waits = true) {
  constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const WidePath wide(path);
  HANDLE handle = INVALID_HANDLE_VALUE;
  patiently(
      [&] {
        // folders open too
        handle = CreateFileW(wide.text, access, kShared, nullptr, creation, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
        return handle != INVALID_HANDLE_VALUE;
      },
      [&](DWORD error) { return waits && is_shared(error); });
  return handle;
}

std::optional<FileInfo> info_of(HANDLE handle) {
  if (GetFileType(handle) != FILE_TYPE_DISK) return FileInfo{};
  BY_HANDLE_FILE_INFORMATION told_of{};
  if (!told(GetFileInformationByHandle(handle, &told_of))) return std::nullopt;
  const bool folder = (told_of.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  return FileInfo{!folder, folder, std::uint64_t{told_of.nFileSizeHigh} << 32 | told_of.nFileSizeLow};
}

// The C library counts in int.
unsigned clamped(std::size_t bytes) { return static_cast<unsigned>(std::min<std::size_t>(bytes, INT_MAX)); }

// Locks of Windows keep others from reading the locked bytes: this one is at an offset where no file has bytes.
constexpr DWORD kLockAt = 0x40000000;

}  // namespace

const std::string_view kSeparators = "/\\";
const std::string_view kNotInNames = "\\:";

bool is_disk_full(int error) { return error == ENOSPC; }

namespace {
int open_file(const std::string& path, Access access, bool waits) {
  DWORD rights = GENERIC_READ, creation = OPEN_EXISTING;
  int flags = _O_RDONLY;
  switch (access) {
    case Access::read: break;
    case Access::create: rights = GENERIC_WRITE, creation = CREATE_NEW, flags = _O_WRONLY; break;
    case Access::append: rights = GENERIC_WRITE, flags = _O_WRONLY | _O_APPEND; break;
    case Access::append_anew: rights = GENERIC_WRITE, creation = CREATE_ALWAYS, flags = _O_WRONLY | _O_APPEND; break;
    case Access::lock: rights = GENERIC_READ | GENERIC_WRITE, creation = OPEN_ALWAYS, flags = _O_RDWR; break;
  }
  const HANDLE handle = open_handle(path.c_str(), rights, creation, waits);
  if (handle == INVALID_HANDLE_VALUE) return -1;
  const int file = _open_osfhandle(reinterpret_cast<std::intptr_t>(handle), flags | _O_BINARY | _O_NOINHERIT);
  if (file < 0) CloseHandle(handle);
  return file;
}
}  // namespace

int open(const std::string& path, Access access, unsigned) { return open_file(path, access, true); }
void close(int file) { _close(file); }

std::int64_t read(int file, std::span<std::byte> to) { return _read(file, to.data(), clamped(to.size())); }
std::int64_t write(int file, std::span<const std::byte> from) {
  return _write(file, from.data(), clamped(from.size()));
}
std::int64_t write_at(int file, std::uint64_t offset, std::span<const std::byte> from) {
  const std::int64_t behind = _telli64(file);
  if (behind < 0 || _lseeki64(file, static_cast<std::int64_t>(offset), SEEK_SET) < 0) return -1;
  const int put = _write(file, from.data(), clamped(from.size()));
  return _lseeki64(file, behind, SEEK_SET) < 0 ? -1 : put;
}
bool truncate(int file, std::uint64_t bytes) { return _chsize_s(file, static_cast<std::int64_t>(bytes)) == 0; }
bool flush(int file) { return _commit(file) == 0; }
bool flush_folder(const std::string&) { return true; }  // rename() writes through

std::optional<FileInfo> info(int file) { return info_of(handle_of(file)); }
std::optional<FileInfo> info(const std::string& path) {
  const HANDLE handle = open_handle(path.c_str(), 0, OPEN_EXISTING);
  if (handle == INVALID_HANDLE_VALUE) return std::nullopt;
  const auto out = info_of(handle);
  CloseHandle(handle);
  return out;
}
std::optional<FileStamp> stamp(const std::string& path) {
  const HANDLE handle = open_handle(path.c_str(), 0, OPEN_EXISTING);
  if (handle == INVALID_HANDLE_VALUE) return std::nullopt;
  BY_HANDLE_FILE_INFORMATION of{};
  const bool known = told(GetFileInformationByHandle(handle, &of));
  CloseHandle(handle);
  if (!known) return std::nullopt;
  const auto wide = [](DWORD high, DWORD low) { return std::uint64_t{high} << 32 | low; };
  // in steps of 100 ns
  const auto written =
      static_cast<std::int64_t>(wide(of.ftLastWriteTime.dwHighDateTime, of.ftLastWriteTime.dwLowDateTime) * 100);
  return FileStamp{wide(of.nFileSizeHigh, of.nFileSizeLow), wide(of.nFileIndexHigh, of.nFileIndexLow), written,
                   written};
}
bool is_there(const std::string& path) {
  return GetFileAttributesW(WidePath(path.c_str()).text) != INVALID_FILE_ATTRIBUTES;
}
bool is_same_file(const std::string& a, const std::string& b) {
  // Both stay open while they are compared: the number of a file that is gone passes to another one.
  const HANDLE handles[] = {open_handle(a.c_str(), 0, OPEN_EXISTING), open_handle(b.c_str(), 0, OPEN_EXISTING)};
  BY_HANDLE_FILE_INFORMATION of[2]{};
  bool known = true;
  for (int i = 0; i < 2; ++i) known = known && GetFileInformationByHandle(handles[i], &of[i]) != 0;
  for (const HANDLE handle : handles)
    if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
  return known && of[0].dwVolumeSerialNumber == of[1].dwVolumeSerialNumber &&
         of[0].nFileIndexHigh == of[1].nFileIndexHigh && of[0].nFileIndexLow == of[1].nFileIndexLow;
}

std::string resolved(const std::string& path) {
  const HANDLE handle = open_handle(path.c_str(), 0, OPEN_EXISTING);
  if (handle == INVALID_HANDLE_VALUE) return {};
  wchar_t text[kPathUnits];
  const DWORD units = GetFinalPathNameByHandleW(handle, text, kPathUnits, FILE_NAME_NORMALIZED);
  CloseHandle(handle);
  if (units == 0 || units >= kPathUnits) return {};
  std::string out = narrow(text);
  std::ranges::replace(out, '\\', '/');
  return out;
}

std::optional<std::vector<std::string>> names_in(const std::string& folder) {
  WIN32_FIND_DATAW entry;
  const HANDLE search = FindFirstFileW(WidePath((folder + "/*").c_str()).text, &entry);
  if (search == INVALID_HANDLE_VALUE) {
    errno = errno_of(GetLastError());
    return std::nullopt;
  }
  std::vector<std::string> names;
  do {
    std::string name = narrow(entry.cFileName);
    if (name != "." && name != "..") names.push_back(std::move(name));
  } while (FindNextFileW(search, &entry) != 0);
  const DWORD end = GetLastError();
  FindClose(search);
  if (end == ERROR_NO_MORE_FILES) return names;
  errno = errno_of(end);
  return std::nullopt;
}

bool make_folder(const std::string& path) { return told(CreateDirectoryW(WidePath(path.c_str()).text, nullptr)); }
bool rename(const std::string& from, const std::string& to) {
  const WidePath source(from.c_str()), target(to.c_str());
  return patiently([&] { return move(source, target, MOVEFILE_REPLACE_EXISTING); }, is_shared);
}
// A file that is open or mapped cannot be replaced, but it can be renamed, and whoever has it keeps it. For a moment
// there is no file at `to`. If the new one cannot take its place, the old one returns.
bool replace(const std::string& from, const std::string& to, const std::string& aside) {
  const WidePath source(from.c_str()), target(to.c_str()), away(aside.c_str());
  const auto go_aside = [&] {
    if (!move(target, away, 0)) return false;
    const bool done = move(source, target, 0);
    const DWORD error = GetLastError();
    if (done)
      DeleteFileW(away.text);  // a mapped one stays until a later save
    else
      move(away, target, 0);
    SetLastError(error);
    return done;
  };
  return patiently(
      [&] {
        if (move(source, target, MOVEFILE_REPLACE_EXISTING)) return true;
        const DWORD error = GetLastError();
        if (is_in_use(error) && !is_read_only(target) && go_aside()) return true;
        SetLastError(error);
        return false;
      },
      [&](DWORD error) { return is_in_use(error) && !is_read_only(target); });
}
bool remove(const char* path) noexcept {
  const WidePath wide(path);
  return patiently([&] { return DeleteFileW(wide.text) != 0; }, is_shared);
}

Lock lock(int file) {
  OVERLAPPED where{};
  where.OffsetHigh = kLockAt;
  if (LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where) != 0)
    return Lock::taken;
  const DWORD error = GetLastError();
  errno = errno_of(error);
  return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? Lock::busy : Lock::failed;
}

bool has_name(int file) {
  FILE_STANDARD_INFO now{};
  return GetFileInformationByHandleEx(handle_of(file), FileStandardInfo, &now, sizeof now) == 0 ||
         now.DeletePending == 0;
}

bool keep_permissions(int, const std::string&) { return true; }  // a new file has those of its folder

void remove_left_over(const std::string& path) {
  const int file = open_file(path, Access::append, false);
  if (file < 0) return;
  if (const auto now = info(file); now && now->is_file && lock(file) == Lock::taken)
    DeleteFileW(WidePath(path.c_str()).text);
  close(file);
}

const std::byte* map(int file, std::size_t) {
  const HANDLE mapping = CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (!told(mapping != nullptr)) return nullptr;
  const void* const begin = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  told(begin != nullptr);
  CloseHandle(mapping);  // the view keeps it
  return static_cast<const std::byte*>(begin);
}
void unmap(const std::byte* begin, std::size_t) noexcept { UnmapViewOfFile(begin); }
// Pages that are not locked leave the working set, though the call then says that it failed.
void release_pages(const std::byte* begin, std::size_t bytes) { VirtualUnlock(const_cast<std::byte*>(begin), bytes); }

std::byte* take_pages(std::size_t bytes, bool) {
  return static_cast<std::byte*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}
void give_pages_back(std::byte* begin, std::size_t) noexcept { VirtualFree(begin, 0, MEM_RELEASE); }
// Windows has no policy that interleaves: pages are on the node of the thread that touches them first.
std::vector<int> memory_nodes() { return {}; }
bool interleave_pages(std::byte*, std::size_t, std::span<const int>) { return false; }
std::byte* take_aligned(std::size_t bytes, std::size_t alignment) {
  return static_cast<std::byte*>(_aligned_malloc(bytes, alignment));
}
void give_aligned_back(std::byte* begin) noexcept { _aligned_free(begin); }

Stack stack_of_thread() {
  constexpr std::uintptr_t kGuard = 16384;  // the pages at its end that Windows keeps for itself
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  return {low + kGuard, high};
}

namespace {
// Calls `found` with the class of each core that this process may use; a greater one is faster. All are 0 where the
// cores are equal.
template <class Found>
void each_core(Found found) {
  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  std::vector<std::byte> parts(bytes);
  auto* const first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(parts.data());
  if (parts.empty() || GetLogicalProcessorInformationEx(RelationProcessorCore, first, &bytes) == 0) return;
  // Processors come in groups of at most 64. A process of one group may be limited to some of them.
  USHORT groups[64], count = std::size(groups);
  if (GetProcessGroupAffinity(GetCurrentProcess(), &count, groups) == 0) count = 0;
  DWORD_PTR allowed = 0, all = 0;
  if (count != 1 || GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all) == 0 || allowed == 0)
    allowed = ~DWORD_PTR{0};
  for (DWORD at = 0; at < bytes;) {
    const auto& part = *reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(parts.data() + at);
    const GROUP_AFFINITY& place = part.Processor.GroupMask[0];  // a core is in one group
    const bool is_ours = count == 0 || std::find(groups, groups + count, place.Group) != groups + count;
    const BYTE efficiency_class = (&part.Processor.Flags)[1];  // has no name in the headers of MinGW 10
    if (is_ours && (place.Mask & allowed) != 0) found(efficiency_class);
    at += part.Size;
  }
}
}  // namespace

int physical_cores() {
  int cores = 0;
  each_core([&](int) { ++cores; });
  return std::max(cores, 1);
}
// Counts processors above the slowest class: of three classes, as phones have, two are fast.
int performance_cores() {
  int slowest = 256, cores = 0;
  each_core([&](int of) { slowest = std::min(slowest, of); });
  each_core([&](int of) { cores += of > slowest; });
  return cores == 0 ? physical_cores() : cores;
}

std::byte* reserve_addresses(std::size_t bytes) {
  return static_cast<std::byte*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS));
}
void give_addresses_back(std::byte* begin, std::size_t) noexcept { VirtualFree(begin, 0, MEM_RELEASE); }
bool fill_addresses(std::byte* begin, std::size_t bytes) {
  return VirtualAlloc(begin, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}
void empty_addresses(std::byte* begin, std::size_t bytes) noexcept { VirtualFree(begin, bytes, MEM_DECOMMIT); }
std::size_t page_bytes() { return 0; }

bool can_open_libraries() { return true; }
void* open_library(const char* path) { return LoadLibraryW(WidePath(path).text); }
void* symbol_of(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
std::string file_of_symbol(void* symbol) {
  HMODULE module = nullptr;
  wchar_t path[kPathUnits];
  constexpr DWORD kOfAddress = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (GetModuleHandleExW(kOfAddress, static_cast<const wchar_t*>(symbol), &module) == 0) return {};
  const DWORD length = GetModuleFileNameW(module, path, std::size(path));
  return length == 0 || length == std::size(path) ? std::string() : narrow(path);
}

bool watch_forks(void (*)(), void (*)(), void (*)()) { return false; }

}  // namespace loom::os
