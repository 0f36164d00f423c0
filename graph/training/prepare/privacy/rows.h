// Which axis of each value counts the rows of the batch, and that no node mixes rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

// Known facts about a value.
struct Tracked {
  enum class Kind : std::uint8_t {
    fixed,  // the same for every batch, but perhaps for the size of its dims
    rows,   // element i of `axis` depends on row i of the batch alone
    sizes,  // integers that depend on the number of rows, and on nothing else of the batch
  };
  // An element of a small vector of integers.
  struct Entry {
    enum class Kind : std::uint8_t { number, batch, fixed, sizes };
    Kind kind = Kind::fixed;
    std::int64_t value = 0;  // of a number
  };

  Kind kind = Kind::fixed;
  std::size_t axis = 0;
  // Whether the axis has one element for each row; else it may have k, those of a row together.
  bool is_exact = true;
  std::optional<std::vector<Entry>> entries = {};  // of integers of rank 0 and 1, where known
  std::string parameter = {};  // the trained parameter that it is computed from; "" for none
  // Whether it consists of elements of that parameter, each at most once.
  bool is_moved = true;
  std::string changed_by = {};  // the operator that made it more than that
};

class RowTracker {
 public:
  // `graph`: where constants are; `types` must tell the ranks of values. Both must outlive it.
  // `batch`: the name of the dim that counts rows.
  RowTracker(const GraphDef& graph, const ValueTypes& types, std::string batch)
      : graph_(&graph), types_(&types), batch_(std::move(batch)) {}

  void set_rows(const std::string& value) { values_[value].kind = Tracked::Kind::rows; }
  void set_parameter(const std::string& value) { values_[value].parameter = value; }

  const GraphDef& graph() const noexcept { return *graph_; }
  const ValueTypes& types() const noexcept { return *types_; }
  const std::string& batch() const noexcept { return batch_; }

  // Derives what the node's outputs are from its inputs. Throws Error(unsupported) naming a node
  // that mixes rows, or of which that is not known.
  void follow(const NodeDef& node);

  const Tracked& of(const std::string& value) const;
  std::size_t rank(const NodeDef& node, const std::string& value) const;
  // The sizes of the dims; nothing for those that are unknown. Error(unsupported) without a rank.
  std::vector<std::optional<std::int64_t>> dims(const NodeDef& node,
                                                const std::string& value) const;

 private:
  const GraphDef* graph_;
  const ValueTypes* types_;
  std::string batch_;
  std::map<std::string, Tracked, std::less<>> values_;
};

// "node 'fc' (Gemm)".
std::string described(const NodeDef& node);

}  // namespace ondine::graph
