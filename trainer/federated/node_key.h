// The key that a node signs its calls with: ECDSA on P-384 or P-256.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace ondine::federated {

class NodeKey {
 public:
  // Loads the key of a file in PEM. Error(mismatch) for a key of another kind, Error(unsupported)
  // for a file that is encrypted or has the form of OpenSSH, and in builds without OpenSSL.
  static NodeKey load(const std::filesystem::path& file);
  // A new key.
  static NodeKey make();
  // The key of the file, which is made where it is not there, with FILE.pub in the form of OpenSSH,
  // by which nodes are registered.
  static NodeKey load_or_make(const std::filesystem::path& file);

  // SubjectPublicKeyInfo in PEM, by which a SuperLink knows the node.
  const std::string& public_pem() const noexcept { return public_pem_; }
  // ECDSA with SHA-256, in DER. Any number of threads may call it.
  std::string sign(std::string_view text) const;

 private:
  explicit NodeKey(std::shared_ptr<void> key);
  std::string private_pem() const;
  std::string public_line() const;

  std::shared_ptr<void> key_;
  std::string public_pem_;
};

}  // namespace ondine::federated
