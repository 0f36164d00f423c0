#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "trainer/federated/loaded_library.h"

namespace ondine::federated {

// The functions of libcrypto that node keys need.
class OpenSsl {
  LoadedLibrary library_{"libcrypto.so.3", "libssl3"};

 public:
  static const OpenSsl& instance() {
    static const OpenSsl loaded;
    return loaded;
  }

  decltype(&::BIO_s_mem) memory_method = library_["BIO_s_mem"];
  decltype(&::BIO_new) new_bio = library_["BIO_new"];
  decltype(&::BIO_new_mem_buf) new_buffer = library_["BIO_new_mem_buf"];
  decltype(&::BIO_ctrl) control = library_["BIO_ctrl"];
  decltype(&::BIO_free) free_bio = library_["BIO_free"];
  decltype(&::ERR_get_error) error = library_["ERR_get_error"];
  decltype(&::ERR_error_string_n) error_text = library_["ERR_error_string_n"];
  decltype(&::ERR_clear_error) clear_errors = library_["ERR_clear_error"];
  decltype(&::EVP_PKEY_get_base_id) base_id = library_["EVP_PKEY_get_base_id"];
  decltype(&::EVP_PKEY_get_utf8_string_param) text_parameter =
      library_["EVP_PKEY_get_utf8_string_param"];
  decltype(&::EVP_PKEY_get_octet_string_param) bytes_parameter =
      library_["EVP_PKEY_get_octet_string_param"];
  decltype(&::EVP_PKEY_Q_keygen) make_key = library_["EVP_PKEY_Q_keygen"];
  decltype(&::EVP_PKEY_free) free_key = library_["EVP_PKEY_free"];
  decltype(&::PEM_write_bio_PUBKEY) write_public = library_["PEM_write_bio_PUBKEY"];
  decltype(&::PEM_write_bio_PKCS8PrivateKey) write_private =
      library_["PEM_write_bio_PKCS8PrivateKey"];
  decltype(&::PEM_read_bio_PrivateKey) read_private = library_["PEM_read_bio_PrivateKey"];
  decltype(&::EVP_MD_CTX_new) new_digest = library_["EVP_MD_CTX_new"];
  decltype(&::EVP_MD_CTX_free) free_digest = library_["EVP_MD_CTX_free"];
  decltype(&::EVP_sha256) sha256 = library_["EVP_sha256"];
  decltype(&::EVP_DigestSignInit) begin_signature = library_["EVP_DigestSignInit"];
  decltype(&::EVP_DigestSign) sign = library_["EVP_DigestSign"];

 private:
  OpenSsl() = default;
};

}  // namespace ondine::federated
