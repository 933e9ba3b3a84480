/* CoreCLR 3.1, which hashes by OpenSSL, looks for three functions that OpenSSL 3 has under other names. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#undef ERR_put_error
#undef EVP_MD_size
#undef SSL_get_peer_certificate

void ERR_put_error(int library, int function, int reason, const char* file, int line) {
  (void)function;
  ERR_new();
  ERR_set_debug(file, line, NULL);
  ERR_set_error(library, reason, NULL);
}

int EVP_MD_size(const EVP_MD* digest) { return EVP_MD_get_size(digest); }

X509* SSL_get_peer_certificate(const SSL* connection) { return SSL_get1_peer_certificate(connection); }
