#pragma once
// Files of folders as a web site, with the headers that a page needs for shared memory and a strict policy of content.

#include <string>
#include <string_view>
#include <vector>

#include "http/http_message.h"

namespace loom {

// A folder whose files have the paths that begin with `prefix`, "/" or "/js/". A prefix without a slash at its end is
// the path of one file.
struct SiteFolder {
  std::string prefix, path;
};

// Answers GET and HEAD by the first folder that has the file; "/" at the end stands for index.html. 404 without one,
// 405 for other methods.
HttpResponse site_response(const std::vector<SiteFolder>& folders, const HttpRequest& request);

// Answers GET and HEAD by one file, whole or the one range of bytes that the request asks for (RFC 9110, 14): 206, or
// 416 outside the file. Several ranges, and units that are not bytes, get the whole file. 304 for a browser that has
// the file as it is, by its ETag of size and time.
HttpResponse file_response(const std::string& path, const HttpRequest& request);

// Adds the headers of a site: Cross-Origin-Opener-Policy, Cross-Origin-Embedder-Policy, Content-Security-Policy and
// others. Scripts, styles and requests come from the site itself alone.
HttpResponse with_site_headers(HttpResponse response);

// "text/javascript; charset=utf-8" of "a.mjs", by the end of the name.
std::string_view content_type_of(std::string_view name);

}  // namespace loom
