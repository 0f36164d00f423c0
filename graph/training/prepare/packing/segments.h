// The values that a packed network reads, made of segment_ids.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "graph/training/prepare/packing/packing.h"

namespace ondine::graph {

class Segments {
 public:
  Segments(Names& names, std::int64_t opset);

  // Boolean [N, 1, T, T]: whether query and key are of one segment.
  const std::string& same();
  // [N, 1, ..., T, T] of this type and rank (4 or more): 0 within a segment, the least number
  // between two.
  const std::string& bias(DType dtype, std::size_t rank);
  // [N, T]: where in the row the segment of each token begins, as int64 or int32.
  const std::string& first(DType dtype);
  // int64 [4] and [3]: N, -1, T, T and -1, T, T.
  const std::string& dims_by_heads();
  const std::string& dims();
  // A constant 0 of int64 or int32.
  std::string zero(DType dtype);

  // Moves all of them. `ids`: the input beside which segment_ids is, of the same dims.
  void finish(PackedNetwork& network, const ValueDef* ids);

 private:
  const std::string& keep(std::string& kept, std::string value);
  // [N, T, T]
  const std::string& pairs();
  // Element `axis` of the shape of segment_ids, [1].
  std::string size(std::int64_t axis);

  GraphDef graph_;
  GraphWriter writer_;
  std::string segments_;
  std::string pairs_, same_, dims_by_heads_, dims_;
  std::map<DType, std::string> first_;
  std::map<std::pair<DType, std::size_t>, std::string> biases_;
  Renaming values_;
};

}  // namespace ondine::graph
