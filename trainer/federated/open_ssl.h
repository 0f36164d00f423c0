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
 public:
  static const OpenSsl& instance() {
    static const OpenSsl loaded;
    return loaded;
  }

  decltype(&::BIO_s_mem) memory_method = nullptr;
  decltype(&::BIO_new) new_bio = nullptr;
  decltype(&::BIO_new_mem_buf) new_buffer = nullptr;
  decltype(&::BIO_ctrl) control = nullptr;
  decltype(&::BIO_free) free_bio = nullptr;
  decltype(&::ERR_get_error) error = nullptr;
  decltype(&::ERR_error_string_n) error_text = nullptr;
  decltype(&::ERR_clear_error) clear_errors = nullptr;
  decltype(&::EVP_PKEY_get_base_id) base_id = nullptr;
  decltype(&::EVP_PKEY_get_utf8_string_param) text_parameter = nullptr;
  decltype(&::EVP_PKEY_get_octet_string_param) bytes_parameter = nullptr;
  decltype(&::EVP_PKEY_Q_keygen) make_key = nullptr;
  decltype(&::EVP_PKEY_free) free_key = nullptr;
  decltype(&::PEM_write_bio_PUBKEY) write_public = nullptr;
  decltype(&::PEM_write_bio_PKCS8PrivateKey) write_private = nullptr;
  decltype(&::PEM_read_bio_PrivateKey) read_private = nullptr;
  decltype(&::EVP_MD_CTX_new) new_digest = nullptr;
  decltype(&::EVP_MD_CTX_free) free_digest = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  decltype(&::EVP_DigestSignInit) begin_signature = nullptr;
  decltype(&::EVP_DigestSign) sign = nullptr;

 private:
  OpenSsl() {
    const LoadedLibrary library("libcrypto.so.3", "libssl3");
    library.find("BIO_s_mem", memory_method);
    library.find("BIO_new", new_bio);
    library.find("BIO_new_mem_buf", new_buffer);
    library.find("BIO_ctrl", control);
    library.find("BIO_free", free_bio);
    library.find("ERR_get_error", error);
    library.find("ERR_error_string_n", error_text);
    library.find("ERR_clear_error", clear_errors);
    library.find("EVP_PKEY_get_base_id", base_id);
    library.find("EVP_PKEY_get_utf8_string_param", text_parameter);
    library.find("EVP_PKEY_get_octet_string_param", bytes_parameter);
    library.find("EVP_PKEY_Q_keygen", make_key);
    library.find("EVP_PKEY_free", free_key);
    library.find("PEM_write_bio_PUBKEY", write_public);
    library.find("PEM_write_bio_PKCS8PrivateKey", write_private);
    library.find("PEM_read_bio_PrivateKey", read_private);
    library.find("EVP_MD_CTX_new", new_digest);
    library.find("EVP_MD_CTX_free", free_digest);
    library.find("EVP_sha256", sha256);
    library.find("EVP_DigestSignInit", begin_signature);
    library.find("EVP_DigestSign", sign);
  }
};

}  // namespace ondine::federated
