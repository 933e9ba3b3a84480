// The numbers of curl_abi.h are those of curl.h.

#include "pull/curl_abi.h"

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace loom::curl {
namespace {

TEST(CurlAbi, NumbersAreThoseOfTheHeader) {
  const std::pair<int, int> pairs[] = {{kLowSpeedLimit, CURLOPT_LOW_SPEED_LIMIT},
                                       {kLowSpeedTime, CURLOPT_LOW_SPEED_TIME},
                                       {kProgressOff, CURLOPT_NOPROGRESS},
                                       {kNoBody, CURLOPT_NOBODY},
                                       {kFollowLocation, CURLOPT_FOLLOWLOCATION},
                                       {kConnectTimeout, CURLOPT_CONNECTTIMEOUT},
                                       {kHttpGet, CURLOPT_HTTPGET},
                                       {kBufferSize, CURLOPT_BUFFERSIZE},
                                       {kNoSignal, CURLOPT_NOSIGNAL},
                                       {kTcpKeepAlive, CURLOPT_TCP_KEEPALIVE},
                                       {kWriteData, CURLOPT_WRITEDATA},
                                       {kUrl, CURLOPT_URL},
                                       {kErrorBuffer, CURLOPT_ERRORBUFFER},
                                       {kUserAgent, CURLOPT_USERAGENT},
                                       {kHttpHeader, CURLOPT_HTTPHEADER},
                                       {kHeaderData, CURLOPT_HEADERDATA},
                                       {kProgressData, CURLOPT_XFERINFODATA},
                                       {kCaFile, CURLOPT_CAINFO},
                                       {kCaFolder, CURLOPT_CAPATH},
                                       {kWriteFunction, CURLOPT_WRITEFUNCTION},
                                       {kHeaderFunction, CURLOPT_HEADERFUNCTION},
                                       {kProgressFunction, CURLOPT_XFERINFOFUNCTION},
                                       {kRedirectUrl, CURLINFO_REDIRECT_URL},
                                       {kResponseCode, CURLINFO_RESPONSE_CODE},
                                       {kGlobalDefault, CURL_GLOBAL_DEFAULT},
                                       {kHttp, CURLPROTO_HTTP},
                                       {kHttps, CURLPROTO_HTTPS},
                                       {kErrorBytes, CURL_ERROR_SIZE},
                                       {kOk, CURLE_OK},
                                       {kUnsupportedProtocol, CURLE_UNSUPPORTED_PROTOCOL},
                                       {kBadUrl, CURLE_URL_MALFORMAT},
                                       {kNoProxy, CURLE_COULDNT_RESOLVE_PROXY},
                                       {kNoHost, CURLE_COULDNT_RESOLVE_HOST},
                                       {kNoConnection, CURLE_COULDNT_CONNECT},
                                       {kPartialFile, CURLE_PARTIAL_FILE},
                                       {kWriteError, CURLE_WRITE_ERROR},
                                       {kTimeout, CURLE_OPERATION_TIMEDOUT},
                                       {kTlsConnect, CURLE_SSL_CONNECT_ERROR},
                                       {kAborted, CURLE_ABORTED_BY_CALLBACK},
                                       {kGotNothing, CURLE_GOT_NOTHING},
                                       {kSendError, CURLE_SEND_ERROR},
                                       {kReceiveError, CURLE_RECV_ERROR},
                                       {kBadCertificate, CURLE_PEER_FAILED_VERIFICATION},
                                       {kBadCaFile, CURLE_SSL_CACERT_BADFILE},
                                       {kHttp2, CURLE_HTTP2},
                                       {kHttp2Stream, CURLE_HTTP2_STREAM}};
  for (const auto& [ours, theirs] : pairs) EXPECT_EQ(ours, theirs);
  EXPECT_EQ(kProtocols, 181);  // CURLOPT_PROTOCOLS, which newer headers mark as deprecated
  static_assert(sizeof(Code) == sizeof(CURLcode) && sizeof(Option) == sizeof(CURLoption));
  static_assert(std::is_same_v<std::int64_t, curl_off_t> || sizeof(curl_off_t) == 8);
}

}  // namespace
}  // namespace loom::curl
