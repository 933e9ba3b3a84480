#pragma once
// The part of libcurl's C ABI that web.cpp calls. It is declared by hand, since the library is loaded when a command
// connects and not before: a build needs none of its files, and other commands start without it. The numbers are those
// of curl.h, which keeps them for all versions of libcurl.so.4; curl_abi_test.cpp compares them with that header.

#include <cstddef>
#include <cstdint>

namespace loom::curl {

using Handle = void*;
struct List;  // struct curl_slist

enum Option : int {
  kLowSpeedLimit = 19,
  kLowSpeedTime = 20,
  kProgressOff = 43,  // CURLOPT_NOPROGRESS
  kNoBody = 44,
  kFollowLocation = 52,
  kConnectTimeout = 78,
  kHttpGet = 80,
  kBufferSize = 98,
  kNoSignal = 99,
  kProtocols = 181,
  kTcpKeepAlive = 213,
  kWriteData = 10001,
  kUrl = 10002,
  kErrorBuffer = 10010,
  kUserAgent = 10018,
  kHttpHeader = 10023,
  kHeaderData = 10029,
  kProgressData = 10057,
  kCaFile = 10065,
  kCaFolder = 10097,
  kWriteFunction = 20011,
  kHeaderFunction = 20079,
  kProgressFunction = 20219,  // CURLOPT_XFERINFOFUNCTION
};
enum Info : int { kRedirectUrl = 0x10001f, kResponseCode = 0x200002 };
inline constexpr long kGlobalDefault = 3;
inline constexpr long kHttp = 1, kHttps = 2;     // bits of kProtocols
inline constexpr std::size_t kErrorBytes = 256;  // CURL_ERROR_SIZE
enum Code : int {
  kOk = 0,
  kUnsupportedProtocol = 1,
  kBadUrl = 3,
  kNoProxy = 5,
  kNoHost = 6,
  kNoConnection = 7,
  kPartialFile = 18,
  kWriteError = 23,
  kTimeout = 28,
  kTlsConnect = 35,
  kAborted = 42,
  kGotNothing = 52,
  kSendError = 55,
  kReceiveError = 56,
  kBadCertificate = 60,
  kBadCaFile = 77,
  kHttp2 = 16,
  kHttp2Stream = 92,
};

using WriteCallback = std::size_t (*)(char* bytes, std::size_t size, std::size_t count, void* user);
using ProgressCallback = int (*)(void* user, std::int64_t down_all, std::int64_t down, std::int64_t up_all,
                                 std::int64_t up);

// Every function that is called: name without "curl_", result, arguments.
#define LOOM_CURL_FUNCTIONS(f)                                                                        \
  f(global_init, Code, (long flags)) f(easy_init, Handle, ()) f(easy_cleanup, void, (Handle))         \
      f(easy_reset, void, (Handle)) f(easy_setopt, Code, (Handle, Option, ...))                       \
          f(easy_getinfo, Code, (Handle, Info, ...)) f(easy_perform, Code, (Handle))                  \
              f(easy_strerror, const char*, (Code)) f(slist_append, List*, (List*, const char* text)) \
                  f(slist_free_all, void, (List*))

struct Functions {
#define LOOM_DECLARE(name, result, arguments) result(*name) arguments = nullptr;
  LOOM_CURL_FUNCTIONS(LOOM_DECLARE)
#undef LOOM_DECLARE
};

}  // namespace loom::curl
