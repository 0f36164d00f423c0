#include "core/secure/chacha.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace ondine {
namespace {

void quarter_round(ChaChaBlock& x, std::size_t a, std::size_t b, std::size_t c,
                   std::size_t d) noexcept {
  x[a] += x[b];
  x[d] = std::rotl(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = std::rotl(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = std::rotl(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = std::rotl(x[b] ^ x[c], 7);
}

}  // namespace

ChaChaBlock chacha_block(const ChaChaKey& key, std::uint32_t counter,
                         const ChaChaNonce& nonce) noexcept {
  ChaChaBlock start{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::copy(key.begin(), key.end(), start.begin() + 4);
  start[12] = counter;
  std::copy(nonce.begin(), nonce.end(), start.begin() + 13);
  ChaChaBlock x = start;
  for (int pair = 0; pair < 10; ++pair) {
    for (std::size_t i = 0; i < 4; ++i) quarter_round(x, i, 4 + i, 8 + i, 12 + i);
    for (std::size_t i = 0; i < 4; ++i) {
      quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += start[i];
  return x;
}

}  // namespace ondine
