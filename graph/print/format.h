// Formatting shared by the printed forms of models and graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Quoted and escaped unless it is a plain identifier.
std::string printed_name(std::string_view name);
std::string printed_type(const TypeDef& type);                       // empty when unknown
std::string printed_type(const Type& type, const Symbols* symbols);  // "?" when unknown
std::string printed_dims(const std::vector<DimDef>& dims);           // "[N, 3, ?]"
// "tensor(float)[3] {1, 2, 3}"; large tensors are abbreviated.
std::string printed_tensor(const Tensor& tensor);
// "alpha = 0.5"
std::string printed_attribute(const Attribute& attribute);
// The texts of the items, separated by commas.
template <class Items, class Text>
std::string printed_list(const Items& items, Text text) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    out += text(item);
  }
  return out;
}

// Collects lines, indented by level.
class Lines {
 public:
  void add(int level, std::string_view text) {
    out_.append(static_cast<std::size_t>(level) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace ondine::graph
