// The parameters and buffers of the module that PyTorch's exporter (dynamo=True) lists.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Read from the metadata of the graph, from lines such as "b_norm_scale: BUFFER
// target='norm.scale'". The list has all parameters of the module, also those that the file does
// not have. Empty for other files.
class GraphSignature {
 public:
  explicit GraphSignature(const GraphDef& graph);

  bool has_parameters() const noexcept { return has_parameters_; }
  bool is_parameter(std::string_view name) const;

  struct Entry {
    std::string name;
    bool is_parameter = false;  // or a buffer or constant
  };
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  // The place of a name in the list, or -1.
  std::ptrdiff_t place(std::string_view name) const;

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::ptrdiff_t, std::less<>> places_;
  bool has_parameters_ = false;
};

}  // namespace ondine::graph
