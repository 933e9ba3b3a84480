#pragma once
// Answers of a model hub, which come from outside: the list of a repository's files, heads of downloads, and addresses.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "pull/web.h"

namespace loom::pull {

struct RemoteFile {
  std::string path;  // inside the repository, checked by is_safe_path()
  std::optional<std::uint64_t> bytes;
  std::string hash;  // SHA-256 of a large file, or the SHA-1 of git's blob; empty: not known
};

struct Repository {
  std::string commit;  // 40 hexadecimal digits
  std::vector<RemoteFile> files;
};

// Reads the answer of /api/models/ORG/NAME/revision/REVISION?blobs=true. CorruptData for another form, or a path that
// leads out of a folder.
Result<Repository> read_repository(std::string_view json);

// A file as the head of an answer of /ORG/NAME/resolve/COMMIT/PATH describes it.
struct FileHead {
  std::string etag;  // without quotes: the name of the file's blob
  std::optional<std::uint64_t> bytes;
};
// CorruptData without an ETag that can be the name of a file, or with a size that is no number.
Result<FileHead> read_file_head(const WebAnswer& answer);

// "bytes 100-199/200" of an answer with status 206; nothing for another form.
struct ContentRange {
  std::uint64_t first = 0, last = 0, all = 0;
};
std::optional<ContentRange> read_content_range(std::string_view text);

std::optional<std::uint64_t> read_count(std::string_view digits);
bool is_hex(std::string_view text, std::size_t digits);  // lower case
// A relative path without "..", empty or hidden parts, backslashes and control characters.
bool is_safe_path(std::string_view path);
// The name of a branch, tag or commit has letters, digits and -._/ without "..".
bool is_revision(std::string_view text);

// "https://host:port" in lower case of an address, with the usual port left out; empty where it is no such address.
std::string origin_of(std::string_view url);
// Returns whether a token may be sent to an origin: over https, or to this computer.
bool is_private_origin(std::string_view origin);
// Bytes as %XX but for letters, digits and -._~ and, with `keep_slashes`, '/'.
std::string url_encoded(std::string_view text, bool keep_slashes);

}  // namespace loom::pull
