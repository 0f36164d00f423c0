#include "kernels/attention/grouped_heads.h"

#include "graph/contract/ops.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

SharedHeads::SharedHeads(Val q, Val k)
    : shared_(!q.ranked() || !k.ranked() || !q.dims()[1].same(k.dims()[1])) {
  if (!shared_) return;
  if (q.ranked()) q_rows_ = q.dims()[2];
  q_heads_ = dim_of(q, 1);
  k_heads_ = dim_of(k, 1);
}

Val SharedHeads::group() const { return q_heads_ / k_heads_; }

Val SharedHeads::split(Val x) const {
  if (!shared_) return x;
  const Val shape[] = {dim_of(x, 0), k_heads_, group(), dim_of(x, 2), dim_of(x, 3)};
  return reshape(x, concat(shape, 0));
}

Val SharedHeads::join(Val x) const {
  if (!shared_) return x;
  const Val shape[] = {dim_of(x, 0), q_heads_, dim_of(x, 3), dim_of(x, 4)};
  return reshape(x, concat(shape, 0));
}

Val SharedHeads::keys(Val x) const { return shared_ ? unsqueeze(x, {2}) : x; }

Val SharedHeads::stack(Val x) const {
  if (!shared_) return x;
  const Val shape[] = {dim_of(x, 0), k_heads_, group() * dim_of(x, 2), dim_of(x, 3)};
  return reshape(x, concat(shape, 0));
}

Val SharedHeads::unstack(Val x) const {
  if (!shared_) return x;
  const Val shape[] = {dim_of(x, 0), q_heads_, dim_of(x, 2) / group(), dim_of(x, 3)};
  return reshape(x, concat(shape, 0));
}

Val SharedHeads::stack_mask(Val mask) const {
  if (!shared_) return mask;
  if (!mask.ranked()) return {};
  for (std::size_t rank = mask.rank(); rank < 4; ++rank) mask = unsqueeze(mask, {0});
  const Dim heads = mask.dims()[1];
  const Dim rows = mask.dims()[2];
  if (!heads.known() || (!rows.known() && !rows.same(q_rows_))) return {};
  if (heads.same(1) && rows.same(1)) return mask;
  if (!heads.same(1)) return rows.same(1) ? Val() : stack(mask);
  const Val one = mask.builder().int64s({1});
  const Val repeats[] = {one, one, group(), one};
  return mask.builder().node("Tile", {mask, concat(repeats, 0)});
}

Val split_heads(Val x, std::int64_t heads) {
  const Val count = x.builder().int64s({heads});
  const Val shape[] = {dim_of(x, 0), dim_of(x, 1), count, dim_of(x, 2) / count};
  return reshape(x, concat(shape, 0));
}

Val join_heads(Val x) {
  const Val shape[] = {dim_of(x, 0), dim_of(x, 1), dim_of(x, 2) * dim_of(x, 3)};
  return reshape(x, concat(shape, 0));
}

}  // namespace ondine::kernels
