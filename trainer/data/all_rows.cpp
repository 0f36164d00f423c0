#include <ondine/all_rows.h>

#include <algorithm>
#include <numeric>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/batch_reader.h"

namespace ondine {
namespace {

data::BatchOrder order_of(const Feeder& feeder, std::uint64_t size) {
  data::BatchOrder order;
  order.size = feeder.has_own_sizes() ? 1 : feeder.fixed_batch().value_or(size);
  if (order.size == 0) fail(ErrorCode::mismatch, "a batch needs at least one row");
  const std::uint64_t rows = feeder.size();
  order.rows.resize(rows);
  std::iota(order.rows.begin(), order.rows.end(), std::uint64_t{0});
  if (feeder.fixed_batch() && rows > 0) {
    order.rows.resize(rows + (order.size - rows % order.size) % order.size, rows - 1);
  }
  return order;
}

}  // namespace

void for_all_rows(Feeder& feeder, std::uint64_t size, const UseRows& use) {
  return guard_memory("take the rows", [&] {
    data::BatchOrder order = order_of(feeder, size);
    const std::vector<std::uint64_t> rows = order.rows;
    const std::uint64_t each = order.size;
    data::BatchReader reader(feeder, std::move(order));
    for (std::uint64_t first = 0; first < feeder.size(); first += each) {
      const std::uint64_t count = std::min(each, feeder.size() - first);
      use(reader.next(), std::span(rows).subspan(first, count));
    }
  });
}

}  // namespace ondine
