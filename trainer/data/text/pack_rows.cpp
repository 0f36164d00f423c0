#include "trainer/data/text/pack_rows.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/stop.h"

namespace ondine::data {
namespace {

using Rows = std::vector<std::uint64_t>;

// Which texts each row has, in their order.
std::vector<Rows> place(const MarkedRows& rows, std::uint64_t room) {
  Rows order(rows.ids.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const auto ids = [&](std::uint64_t row) { return size_of(rows.ids[row]); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return ids(a) > ids(b); });
  std::vector<Rows> packs;
  std::multimap<std::uint64_t, std::size_t> free;  // ids for which a pack has room
  for (const std::uint64_t row : order) {
    checkpoint(64);
    auto fullest = free.lower_bound(ids(row));
    std::size_t pack = packs.size();
    std::uint64_t left = room;
    if (fullest == free.end()) {
      packs.emplace_back();
    } else {
      left = fullest->first;
      pack = fullest->second;
      free.erase(fullest);
    }
    packs[pack].push_back(row);
    free.emplace(left - std::min<std::uint64_t>(left, ids(row)), pack);
  }
  for (Rows& pack : packs) std::sort(pack.begin(), pack.end());
  std::sort(packs.begin(), packs.end(),
            [](const Rows& a, const Rows& b) { return a.front() < b.front(); });
  return packs;
}

}  // namespace

MarkedRows pack_rows(const MarkedRows& rows, std::int64_t length) {
  MarkedRows packed(rows.ids.encoding());
  for (const Rows& pack : place(rows, static_cast<std::uint64_t>(length) + 1)) {
    std::vector<std::int64_t> ids;
    std::vector<bool> marks;
    std::vector<std::uint64_t>& texts = packed.texts.emplace_back();
    for (const std::uint64_t row : pack) {
      std::visit([&](auto all) { ids.insert(ids.end(), all.begin(), all.end()); }, rows.ids[row]);
      const std::size_t first = marks.size();
      const std::uint64_t from = rows.ids.first(row);
      for (std::uint64_t i = from; marks.size() < ids.size(); ++i) marks.push_back(rows.counts[i]);
      marks[first] = false;
      texts.push_back(ids.size() - first);
    }
    packed.add(ids, marks);
  }
  return packed;
}

}  // namespace ondine::data
