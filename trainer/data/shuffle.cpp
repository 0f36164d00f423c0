#include <numeric>

#include <ondine/data.h>

#include "core/checked.h"
#include "core/out_of_memory.h"
#include "core/random/random.h"

namespace ondine {

// Fisher-Yates; the epoch is the random step, the stream is that of no node.
std::vector<std::uint64_t> shuffled(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch) {
  return guard_memory("shuffle", [&] {
    std::vector<std::uint64_t> order(count_in_memory(n, sizeof(n), "an order of rows"));
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    const RandomKey key{seed, epoch, 0xffffffffU};
    for (std::uint64_t i = n; i > 1; --i) {
      const auto block = random_block(key, i);
      const std::uint64_t bits = static_cast<std::uint64_t>(block[0]) << 32 | block[1];
      std::swap(order[i - 1], order[bits % i]);
    }
    return order;
  });
}

}  // namespace ondine
