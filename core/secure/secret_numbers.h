// Random numbers of a key that nobody knows and that is never stored: ChaCha20 with 256 bits of the
// system's entropy.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "core/secure/chacha.h"

namespace ondine {

// The numbers of one purpose, each a pure function of (key, call, stream, index), so that any
// thread may compute any part. Wipes its key.
class SecretStream {
 public:
  // `call` and `stream` make the nonce: no two purposes of a key may have the same.
  SecretStream(const ChaChaKey& key, std::uint64_t call, std::uint32_t stream) noexcept;
  SecretStream(const SecretStream&) noexcept = default;
  SecretStream& operator=(const SecretStream&) = delete;
  ~SecretStream();

  // The numbers of a stream.
  static constexpr std::uint64_t uniforms = std::uint64_t{8} << 32;
  static constexpr std::uint64_t normals = std::uint64_t{2} << 32;

  // Elements 8 i to 8 i + 7 of a sequence of 53 random bits each, in [0, 1).
  std::array<double, 8> uniform_eight(std::uint64_t i) const noexcept;
  // Elements 2 i and 2 i + 1 of a standard normal sequence. Each is half the sum of four numbers of
  // Box and Muller, from 53 bits for each radius and angle (Holohan and Braghin 2021).
  std::array<double, 2> normal_pair(std::uint64_t i) const noexcept;

 private:
  ChaChaKey key_;
  ChaChaNonce nonce_;
};

// A key whose calls are counted, so that none draws what another one drew. Safe in several threads.
// A process that was forked gets another key.
class SecretKey {
 public:
  // Throws Error(unsupported) where the system has no entropy.
  SecretKey();
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey();

 private:
  friend class SecretScope;
  void renew();

  std::mutex mutex_;
  ChaChaKey key_{};
  std::uint64_t calls_ = 0;
  std::int64_t process_ = 0;
};

// One call: while it lives, SecretScope::stream() on this thread draws by the key. With nullptr
// nothing changes. The innermost counts.
class SecretScope {
 public:
  explicit SecretScope(SecretKey* key);
  ~SecretScope();
  SecretScope(const SecretScope&) = delete;
  SecretScope& operator=(const SecretScope&) = delete;

  // Throws Error(internal) outside of any.
  static SecretStream stream(std::uint32_t stream);

 private:
  ChaChaKey key_{};
  std::uint64_t call_ = 0;
  bool draws_ = false;
  const SecretScope* outer_ = nullptr;
};

}  // namespace ondine
