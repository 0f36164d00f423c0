#include "trainer/finetune/read_column.h"

#include <algorithm>

namespace ondine::tune {

bool read_column(const Dataset& data, const ColumnRead& read,
                 const std::function<void(const Tensor&)>& take) {
  const ArrayMap map{{read.input.name, read.column}};
  FeedRoles roles;
  if (read.is_target) roles.targets = {read.input.name};
  Feeder feeder(std::span(&read.input, 1), data, map, roles);
  const std::uint64_t rows = std::min(feeder.size(), data.rows());
  const std::uint64_t count = read.most_rows == 0 ? rows : std::min(rows, read.most_rows);
  constexpr std::uint64_t batch = 64;
  std::vector<std::uint64_t> picked;
  for (std::uint64_t done = 0; done < count; done += picked.size()) {
    picked.clear();
    const std::uint64_t size = feeder.has_own_sizes() ? 1 : batch;
    for (std::uint64_t i = done; i < std::min(count, done + size); ++i) {
      picked.push_back(i * rows / count);
    }
    take(feeder.take(picked)[0].second.tensor());
  }
  return !feeder.scaled().empty();
}

PortInfo port_of(std::string name, DType dtype, std::span<const std::int64_t> row) {
  PortInfo port;
  port.name = std::move(name);
  port.dtype = dtype;
  port.dims.emplace(1, -1);
  port.dims->insert(port.dims->end(), row.begin(), row.end());
  return port;
}

}  // namespace ondine::tune
