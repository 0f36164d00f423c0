#include "core/secure/secret_numbers.h"

#include <cmath>
#include <numbers>
#include <span>

#include "core/message.h"
#include "core/random/random.h"
#include "core/secure/entropy.h"

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace ondine {
namespace {

// Also where the compiler sees that nobody reads it.
void wipe(ChaChaKey& key) noexcept {
  volatile std::uint32_t* const words = key.data();
  for (std::size_t i = 0; i < key.size(); ++i) words[i] = 0;
}

std::int64_t present_process() noexcept {
#if __has_include(<unistd.h>)
  return ::getpid();
#else
  return 0;
#endif
}

constinit thread_local const SecretScope* present_scope = nullptr;

}  // namespace

SecretStream::SecretStream(const ChaChaKey& key, std::uint64_t call, std::uint32_t stream) noexcept
    : key_(key),
      nonce_{stream, static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(call >> 32)} {}

SecretStream::~SecretStream() { wipe(key_); }

std::array<double, 8> SecretStream::uniform_eight(std::uint64_t i) const noexcept {
  const ChaChaBlock words = chacha_block(key_, static_cast<std::uint32_t>(i), nonce_);
  std::array<double, 8> numbers;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = uniform_double(words[2 * k], words[2 * k + 1]);
  }
  return numbers;
}

std::array<double, 2> SecretStream::normal_pair(std::uint64_t i) const noexcept {
  const ChaChaBlock words = chacha_block(key_, static_cast<std::uint32_t>(i), nonce_);
  std::array<double, 2> sums{};
  for (std::size_t at = 0; at < words.size(); at += 4) {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform_double(words[at], words[at + 1])));
    const double angle = 2.0 * std::numbers::pi * uniform_double(words[at + 2], words[at + 3]);
    sums[0] += radius * std::cos(angle);
    sums[1] += radius * std::sin(angle);
  }
  return {0.5 * sums[0], 0.5 * sums[1]};
}

SecretKey::SecretKey() { renew(); }

SecretKey::~SecretKey() { wipe(key_); }

void SecretKey::renew() {
  fill_with_entropy(std::as_writable_bytes(std::span(key_)));
  calls_ = 0;
  process_ = present_process();
}

SecretScope::SecretScope(SecretKey* key) : draws_(key != nullptr), outer_(present_scope) {
  if (!draws_) return;
  const std::lock_guard lock(key->mutex_);
  if (key->process_ != present_process()) key->renew();
  key_ = key->key_;
  call_ = key->calls_++;
  present_scope = this;
}

SecretScope::~SecretScope() {
  if (!draws_) return;
  present_scope = outer_;
  wipe(key_);
}

SecretStream SecretScope::stream(std::uint32_t stream) {
  if (present_scope == nullptr) fail(ErrorCode::internal, "secret numbers outside of a call");
  return {present_scope->key_, present_scope->call_, stream};
}

}  // namespace ondine
