#pragma once
// Calls of the operating system beyond C++: files, maps, locks, pages, stacks, cores. Each system has its files in
// core/system/ (posix.cpp and with it wasi.cpp, or unix.cpp and linux.cpp or macos.cpp; windows.cpp alone), and CMake
// compiles those of the system that it builds for.
// Paths are UTF-8. A call that fails returns -1, false or null and sets errno, on Windows too.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom::os {

// Between the folders of a path.
extern const std::string_view kSeparators;
// Characters that a name from a file must not hold, since on some system it could lead out of its folder.
extern const std::string_view kNotInNames;

// The error that errno describes, in the words of the system: "path: what: words", or "path: words" for an empty
// `what`. NotFound, DiskFull, OutOfMemory, IoError.
tl::unexpected<Error> error(const std::string& path, std::string_view what = {});
bool is_disk_full(int error);  // of an errno

enum class Access {
  read,         // an existing file; never waits, not for the writer of a pipe either
  create,       // a new file to write; EEXIST where the name is taken
  append,       // an existing file, to write after its end
  append_anew,  // the same, emptied, or new
  lock,         // a file to be locked, made where it is missing
};
int open(const std::string& path, Access access, unsigned mode = 0644);
void close(int file);
std::int64_t read(int file, std::span<std::byte> to);           // bytes that came, 0 at the end
std::int64_t write(int file, std::span<const std::byte> from);  // bytes that went
std::int64_t write_at(int file, std::uint64_t offset, std::span<const std::byte> from);
bool truncate(int file, std::uint64_t bytes);
bool flush(int file);                          // to the disk
bool flush_folder(const std::string& folder);  // new and renamed entries; true where a system has nothing to do

struct FileInfo {
  bool is_file = false, is_folder = false;  // neither: a pipe, a device
  std::uint64_t bytes = 0;
};
std::optional<FileInfo> info(int file);
std::optional<FileInfo> info(const std::string& path);          // of what a link leads to
bool is_there(const std::string& path);                         // a link that leads nowhere too
bool is_same_file(const std::string& a, const std::string& b);  // false where one is missing
std::string resolved(const std::string& path);  // without links, by '/'; empty where that cannot be known
std::optional<std::vector<std::string>> names_in(const std::string& folder);  // in no order; without "." and ".."
bool make_folder(const std::string& path);
bool rename(const std::string& from, const std::string& to);  // replaces an existing `to`
// Like rename(), for a `to` that programs may have open or mapped. `aside` is a free name in the same folder that
// Windows gives the old file meanwhile; the file keeps it for as long as somebody has it mapped.
bool replace(const std::string& from, const std::string& to, const std::string& aside);
bool remove(const char* path) noexcept;  // may be called by a signal handler

// A lock of a whole file against other processes, until it is closed; one that dies gives it up. Taken where a system
// has no locks.
enum class Lock { taken, busy, failed };
Lock lock(int file);
bool has_name(int file);  // nobody has removed it meanwhile
// Gives a new file the permissions of the one that it is to replace, and its owner as far as that is allowed.
bool keep_permissions(int file, const std::string& of);
// Removes a file of this user that nobody has locked.
void remove_left_over(const std::string& path);

// The bytes of a file, read-only, as long as it stays open or longer. Null when that fails.
const std::byte* map(int file, std::size_t bytes);
void unmap(const std::byte* begin, std::size_t bytes) noexcept;
// Whole pages that a map reads again on the next touch.
void release_pages(const std::byte* begin, std::size_t bytes);

// Zeros, in pages that cost memory once they are written, where a system has such; huge pages are wished for, not
// promised. At least 2 MiB. Null when there is no memory.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
std::byte* take_pages(std::size_t bytes, bool huge);
void give_pages_back(std::byte* begin, std::size_t bytes) noexcept;
// Memory nodes that the process's processors belong to and that it may take memory from, where there are several. Empty
// too where the process was started with a memory policy, as by numactl.
std::vector<int> memory_nodes();
// Distributes pages that nobody has touched over these nodes. False where the system refuses.
bool interleave_pages(std::byte* begin, std::size_t bytes, std::span<const int> nodes);
// Memory of any size at a multiple of `alignment`. Null when there is none.
std::byte* take_aligned(std::size_t bytes, std::size_t alignment);
void give_aligned_back(std::byte* begin) noexcept;

// Reserves addresses without memory: a read or write of them ends the process, where a system can do that. Null when
// there are none left.
std::byte* reserve_addresses(std::size_t bytes);
void give_addresses_back(std::byte* begin, std::size_t bytes) noexcept;
// Backs a part of them with zeroed memory until it is removed again. Whole pieces of kAddressPiece bytes. False where
// there is no memory, or the system cannot do this.
constexpr std::size_t kAddressPiece = std::size_t{1} << 16;
bool fill_addresses(std::byte* begin, std::size_t bytes);
void empty_addresses(std::byte* begin, std::size_t bytes) noexcept;
// The size of the pieces in which empty_addresses() and fill_addresses() also take memory of take_pages() away and give
// it back, with any content. 0 where they do not, and where a program that maps a file keeps others from replacing it.
std::size_t page_bytes();

// A shared library, and what it exports by name; null where it or the name is not found. A library stays open.
void* open_library(const char* path);
bool can_open_libraries();  // false in a program that is linked statically
void* symbol_of(void* library, const char* name);
std::string file_of_symbol(void* symbol);  // the library's; empty where that cannot be known

struct Stack {
  std::uintptr_t low = 0, high = 0;  // both 0: not known
};
Stack stack_of_thread();
int physical_cores();     // that this process may use, at least 1; 1 where that is not known
int performance_cores();  // those of them that are not slow by design, as the small cores of laptops and phones are

// Calls of a fork(): before it, and after it in the parent and in the child; null for none. False where nothing forks.
bool watch_forks(void (*before)(), void (*parent)(), void (*child)());

}  // namespace loom::os
