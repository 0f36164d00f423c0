// Initial values of parameters that prepare adds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>

#include <ondine/tensor.h>

namespace ondine::graph {

struct DrawnByUse {};  // uniform in +-1 / sqrt(fan in); rows of a table standard normal
struct DrawnNormal {
  double deviation = 1;
};
struct FilledWith {
  double value = 0;
};
// The last one: what a computation gave when the model was prepared.
using FreshRule = std::variant<DrawnByUse, DrawnNormal, FilledWith, Tensor>;
// Rules by the parameter's name.
using Fresh = std::map<std::string, FreshRule, std::less<>>;

}  // namespace ondine::graph
