#include "trainer/federated/node_key.h"

#include "core/message.h"
#include "trainer/federated/missing.h"

#ifdef ONDINE_FLOWER
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <ondine/replace_file.h>

#include "core/base64.h"
#endif

namespace ondine::federated {

#ifdef ONDINE_FLOWER

namespace {

using Memory = std::unique_ptr<BIO, int (*)(BIO*)>;

EVP_PKEY* key_of(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

[[noreturn]] void fail_openssl(const char* what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  fail(ErrorCode::internal, "OpenSSL cannot ", what, ": ", text.data());
}

Memory memory(std::string_view bytes = {}) {
  BIO* const made = bytes.empty() ? BIO_new(BIO_s_mem())
                                  : BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size()));
  if (made == nullptr) throw std::bad_alloc();
  return {made, BIO_free};
}

std::string text_of(BIO* from) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(from, &data);
  return {data, static_cast<std::size_t>(size)};
}

// Says that there is no password, where OpenSSL would ask at the terminal.
int no_password(char*, int, int, void*) { return -1; }

// The name that OpenSSH has for the curve; empty for other keys.
std::string curve_of(EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
      EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name.data(), name.size(),
                                     &size) != 1) {
    return {};
  }
  const std::string_view curve(name.data(), size);
  if (curve == "secp384r1") return "nistp384";
  return curve == "prime256v1" ? "nistp256" : "";
}

// A string of RFC 4251, section 5.
std::string with_length(std::string_view text) {
  std::string result;
  for (int shift = 24; shift >= 0; shift -= 8) result += static_cast<char>(text.size() >> shift);
  return result + std::string(text);
}

// A new file that only its owner can read.
void write_private(const std::filesystem::path& file, const std::string& text) {
  const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (to < 0) {
    fail(ErrorCode::io, "cannot write ", quoted(file.string()), ": ", std::strerror(errno));
  }
  const auto written = ::write(to, text.data(), text.size());
  const bool is_whole = written == static_cast<ssize_t>(text.size()) && ::fsync(to) == 0;
  ::close(to);
  if (is_whole) return;
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  fail(ErrorCode::io, "cannot write ", quoted(file.string()));
}

}  // namespace

NodeKey::NodeKey(std::shared_ptr<void> key) : key_(std::move(key)) {
  const Memory text = memory();
  if (PEM_write_bio_PUBKEY(text.get(), key_of(key_)) != 1) fail_openssl("write the public key");
  public_pem_ = text_of(text.get());
}

NodeKey NodeKey::load(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  constexpr std::size_t most = 65'536;
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.empty()) fail(ErrorCode::io, "cannot read the key ", quoted(file.string()));
  if (text.find("BEGIN OPENSSH PRIVATE KEY") != std::string::npos) {
    fail(ErrorCode::unsupported, "key ", quoted(file.string()),
         " has the form of OpenSSH; rewrite it with 'ssh-keygen -p -m PEM -f FILE'");
  }
  const Memory bytes = memory(text);
  std::shared_ptr<void> key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_password, nullptr),
                            [](void* one) { EVP_PKEY_free(static_cast<EVP_PKEY*>(one)); });
  ERR_clear_error();
  if (key == nullptr) {
    fail(ErrorCode::mismatch, quoted(file.string()),
         " is no private key in PEM that can be read without a password");
  }
  if (curve_of(key_of(key)).empty()) {
    fail(ErrorCode::mismatch, "key ", quoted(file.string()),
         " is none of ECDSA on P-384 or P-256, which a SuperLink needs");
  }
  return NodeKey(std::move(key));
}

NodeKey NodeKey::make() {
  std::shared_ptr<void> key(EVP_EC_gen("P-384"),
                            [](void* one) { EVP_PKEY_free(static_cast<EVP_PKEY*>(one)); });
  if (key == nullptr) fail_openssl("make a key");
  return NodeKey(std::move(key));
}

std::string NodeKey::private_pem() const {
  const Memory text = memory();
  if (PEM_write_bio_PKCS8PrivateKey(text.get(), key_of(key_), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1) {
    fail_openssl("write the key");
  }
  return text_of(text.get());
}

// RFC 5656, section 3.1.
std::string NodeKey::public_line() const {
  std::array<unsigned char, 256> point{};
  std::size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key_of(key_), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                      point.size(), &size) != 1) {
    fail_openssl("read the public key");
  }
  const std::string curve = curve_of(key_of(key_));
  const std::string kind = "ecdsa-sha2-" + curve;
  const std::string_view bytes(reinterpret_cast<const char*>(point.data()), size);
  return kind + " " + to_base64(with_length(kind) + with_length(curve) + with_length(bytes)) +
         " ondine\n";
}

// The file gets its name when it is whole, so that a crash leaves none or a key.
NodeKey NodeKey::load_or_make(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    const NodeKey key = make();
    const std::filesystem::path half = file.string() + ".new";
    std::filesystem::remove(half, error);
    write_private(half, key.private_pem());
    replace_file(file.string() + ".pub", [&](std::ostream& out) { out << key.public_line(); });
    std::filesystem::rename(half, file, error);
    if (error) fail(ErrorCode::io, "cannot write ", quoted(file.string()), ": ", error.message());
  }
  return load(file);
}

std::string NodeKey::sign(std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_of(key_)) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    fail_openssl("sign");
  }
  std::string signature(size, '\0');
  auto* const to = reinterpret_cast<unsigned char*>(signature.data());
  if (EVP_DigestSign(context.get(), to, &size, bytes, text.size()) != 1) fail_openssl("sign");
  signature.resize(size);
  return signature;
}

#else

NodeKey NodeKey::load(const std::filesystem::path&) { fail_without_flower(); }
NodeKey NodeKey::make() { fail_without_flower(); }
NodeKey NodeKey::load_or_make(const std::filesystem::path&) { fail_without_flower(); }
std::string NodeKey::sign(std::string_view) const { fail_without_flower(); }

#endif

}  // namespace ondine::federated
