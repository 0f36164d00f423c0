// The pieces from which both printed forms are made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// As it is when it is a plain word, else quoted and escaped.
std::string printed_name(std::string_view name);
std::string printed_type(const TypeDef& type);                       // empty when nothing is known
std::string printed_type(const Type& type, const Symbols* symbols);  // "?" when nothing is known
std::string printed_dims(const std::vector<DimDef>& dims);           // "[N, 3, ?]"
// "tensor(float)[3] {1, 2, 3}"; of large ones the first elements.
std::string printed_tensor(const Tensor& tensor);
// "alpha = 0.5"
std::string printed_attribute(const Attribute& attribute);
// "(a, b, , d)"-like lists: what `text` says of each, separated by commas.
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

// Lines below each other, indented by level.
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
