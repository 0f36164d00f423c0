#include "trainer/cluster/batch_means.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/message.h"

namespace ondine::cluster {
namespace {

constexpr std::size_t most_values = 65'000;  // a wish of agree_on()

}  // namespace

void BatchMeans::mean(std::span<double> values) {
  try {
    agree_on_size(values.size());
  } catch (const AgreedError& error) {
    failure_ = error;
    throw;
  }
  exchange(values);
}

// Ranks tell each other the number of values, for those without rows.
void BatchMeans::agree_on_size(std::size_t size) const {
  const auto count = static_cast<std::uint32_t>(size);
  const std::uint32_t agreed = agree_on(
      *ranks_,
      [&] {
        if (size != 0 && size <= most_values) return;
        fail(ErrorCode::limit, "statistics of a batch for ", size, " channels, possible are 1 to ",
             most_values);
      },
      count);
  agree_on(*ranks_, [&] {
    if (agreed == count) return;
    fail(ErrorCode::internal, "statistics of a batch for ", count, " channels, another rank has ",
         agreed);
  });
}

void BatchMeans::exchange(std::span<double> values) {
  std::vector<double> all(values.size() * ranks_->size());
  for (double& value : values) value *= weight_;
  ranks_->all_gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
  std::fill(values.begin(), values.end(), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) values[i % values.size()] += all[i];
}

void BatchMeans::finish() {
  if (agree_on(*ranks_, [] {}) == 0) return;
  fail(ErrorCode::internal, "another rank computes more statistics of the batch");
}

void BatchMeans::join() {
  while (const std::uint32_t count = agree_on(*ranks_, [] {})) {
    agree_on(*ranks_, [] {});
    std::vector<double> nothing(count);
    exchange(nothing);
  }
}

}  // namespace ondine::cluster
