#include "ondine/shapes.h"

#include <algorithm>
#include <map>

#include <ondine/printable.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

Shape parse_dims(const std::string& text, const std::string& option) {
  std::vector<std::int64_t> dims;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const std::string dim = text.substr(at, end - at);
    const bool digits = !dim.empty() && dim.size() <= 18 &&
                        dim.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) {
      throw Error(
          ErrorCode::mismatch,
          "--shape needs INPUT=DIMxDIMx..., as in input=1x3x224x224; found '" + option + "'");
    }
    dims.push_back(std::stoll(dim));
    at = end + 1;
  }
  return Shape(std::span<const std::int64_t>(dims));
}

// The dims of "tensor(float)[N, 3]" as text; empty where names of dims contain separators.
std::vector<std::string> dim_names(const PortInfo& port) {
  std::vector<std::string> names;
  const std::size_t open = port.type.find('[');
  if (open == std::string::npos || port.type.back() != ']') return {};
  const std::string list = port.type.substr(open + 1, port.type.size() - open - 2);
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(", ", at), list.size());
    names.push_back(list.substr(at, end - at));
    at = end + 2;
  }
  return names.size() == port.dims->size() ? names : std::vector<std::string>();
}

const Shape* find(const NamedShapes& shapes, const std::string& name) {
  const auto found = std::find_if(shapes.begin(), shapes.end(),
                                  [&](const auto& shape) { return shape.first == name; });
  return found == shapes.end() ? nullptr : &found->second;
}

void require_fit(const PortInfo& port, const Shape& shape) {
  bool fits = shape.rank() == port.dims->size();
  for (std::size_t i = 0; fits && i < shape.rank(); ++i) {
    fits = (*port.dims)[i] < 0 || (*port.dims)[i] == shape[i];
  }
  if (fits) return;
  throw Error(ErrorCode::mismatch, "input '" + printable(port.name) + "' must be a " + port.type +
                                       ", not of shape " + shape.to_string());
}

void require_inputs(const std::vector<PortInfo>& inputs, const NamedShapes& given) {
  for (const auto& [name, shape] : given) {
    const bool known =
        std::any_of(inputs.begin(), inputs.end(),
                    [&, &wanted = name](const PortInfo& port) { return port.name == wanted; });
    if (known) continue;
    std::string names;
    for (const PortInfo& port : inputs) names += " '" + printable(port.name) + "'";
    throw Error(ErrorCode::mismatch,
                "there is no input '" + printable(name) + "'; inputs are" + names);
  }
}

}  // namespace

NamedShapes parse_shapes(const std::vector<std::string>& texts,
                         const std::vector<PortInfo>& inputs) {
  NamedShapes shapes;
  for (const std::string& text : texts) {
    const auto [input, dims] = split_pair(text, "--shape", inputs);
    shapes.emplace_back(input, parse_dims(dims, text));
  }
  return shapes;
}

NamedShapes complete_shapes(const std::vector<PortInfo>& inputs, const NamedShapes& given,
                            std::int64_t dim) {
  require_inputs(inputs, given);
  std::map<std::string, std::int64_t> sizes;
  for (const PortInfo& port : inputs) {
    const Shape* shape = find(given, port.name);
    if (shape == nullptr || !port.dims) continue;
    require_fit(port, *shape);
    const auto names = dim_names(port);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((*port.dims)[i] < 0 && names[i] != "?") sizes.emplace(names[i], (*shape)[i]);
    }
  }
  NamedShapes result;
  for (const PortInfo& port : inputs) {
    const Shape* shape = find(given, port.name);
    if (shape != nullptr) {
      result.emplace_back(port.name, *shape);
    } else if (!port.has_default && port.dims) {
      const auto names = dim_names(port);
      Shape completed;
      for (std::size_t i = 0; i < port.dims->size(); ++i) {
        const auto known = names.empty() ? sizes.end() : sizes.find(names[i]);
        const std::int64_t declared = (*port.dims)[i];
        completed.push_back(declared >= 0 ? declared : known == sizes.end() ? dim : known->second);
      }
      result.emplace_back(port.name, completed);
    }
  }
  return result;
}

}  // namespace ondine::cli
