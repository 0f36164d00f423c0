#include "trainer/federated/node_key.h"

#include "core/message.h"
#include "trainer/federated/missing.h"

#ifdef ONDINE_FLOWER
#include <fcntl.h>
#include <openssl/core_names.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <ondine/replace_file.h>

#include "core/text/base64.h"
#include "trainer/federated/open_ssl.h"
#endif

namespace ondine::federated {

#ifdef ONDINE_FLOWER

namespace {

using Memory = std::unique_ptr<BIO, int (*)(BIO*)>;

const OpenSsl& ssl() { return OpenSsl::instance(); }

void free_key(void* key) { ssl().free_key(static_cast<EVP_PKEY*>(key)); }

EVP_PKEY* key_of(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

[[noreturn]] void fail_openssl(const char* what) {
  std::array<char, 256> text{};
  ssl().error_text(ssl().error(), text.data(), text.size());
  ssl().clear_errors();
  fail(ErrorCode::internal, "OpenSSL cannot ", what, ": ", text.data());
}

Memory memory(std::string_view bytes = {}) {
  BIO* const made = bytes.empty() ? ssl().new_bio(ssl().memory_method())
                                  : ssl().new_buffer(bytes.data(), static_cast<int>(bytes.size()));
  if (made == nullptr) throw std::bad_alloc();
  return {made, ssl().free_bio};
}

std::string text_of(BIO* from) {
  char* data = nullptr;
  const long size = ssl().control(from, BIO_CTRL_INFO, 0, &data);
  return {data, static_cast<std::size_t>(size)};
}

// Says that there is no password, where OpenSSL would ask at the terminal.
int no_password(char*, int, int, void*) { return -1; }

// The name that OpenSSH has for the curve; empty for other keys.
std::string curve_of(EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  if (ssl().base_id(key) != EVP_PKEY_EC ||
      ssl().text_parameter(key, OSSL_PKEY_PARAM_GROUP_NAME, name.data(), name.size(), &size) != 1) {
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
  if (ssl().write_public(text.get(), key_of(key_)) != 1) fail_openssl("write the public key");
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
  std::shared_ptr<void> key(ssl().read_private(bytes.get(), nullptr, no_password, nullptr),
                            free_key);
  ssl().clear_errors();
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
  std::shared_ptr<void> key(ssl().make_key(nullptr, nullptr, "EC", "P-384"), free_key);
  if (key == nullptr) fail_openssl("make a key");
  return NodeKey(std::move(key));
}

std::string NodeKey::private_pem() const {
  const Memory text = memory();
  if (ssl().write_private(text.get(), key_of(key_), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    fail_openssl("write the key");
  }
  return text_of(text.get());
}

// RFC 5656, section 3.1.
std::string NodeKey::public_line() const {
  std::array<unsigned char, 256> point{};
  std::size_t size = 0;
  if (ssl().bytes_parameter(key_of(key_), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(),
                            &size) != 1) {
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
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(ssl().new_digest(),
                                                                   ssl().free_digest);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (context == nullptr ||
      ssl().begin_signature(context.get(), nullptr, ssl().sha256(), nullptr, key_of(key_)) != 1 ||
      ssl().sign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    fail_openssl("sign");
  }
  std::string signature(size, '\0');
  auto* const to = reinterpret_cast<unsigned char*>(signature.data());
  if (ssl().sign(context.get(), to, &size, bytes, text.size()) != 1) fail_openssl("sign");
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
