#include "core/secure/entropy.h"

#include <atomic>

#include "core/message.h"
#include "core/secure/ask_system.h"

namespace ondine {
namespace {

std::atomic<EntropySource> present_source{ask_system};

}  // namespace

void fill_with_entropy(std::span<std::byte> bytes) {
  if (present_source.load()(bytes)) return;
  fail(ErrorCode::unsupported,
       "the system gives no random bytes fit for cryptography (getrandom, getentropy)");
}

EntropySource replace_entropy_source(EntropySource source) noexcept {
  return present_source.exchange(source);
}

}  // namespace ondine
