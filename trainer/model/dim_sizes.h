// The sizes of dimension variables in one call: each has one value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/value.h>

#include "graph/ir/graph.h"
#include "graph/resolve/dim_classes.h"

namespace ondine::trainer {

// Refers to its arguments. Allocates nothing for models of few variables.
class DimSizes {
 public:
  DimSizes(const graph::Symbols& symbols, const graph::DimClasses& classes) noexcept;

  // Throw Error(mismatch) naming the value, by `what` ("input", "value") and name, when a variable
  // of the declared type has another size already, and when the value has not the declared rank or
  // fixed dims. What optionals hold counts too.
  void check(std::string_view what, const std::string& name, const Value& value,
             const graph::Type& declared);
  void check(std::string_view what, const std::string& name, const graph::Type& actual,
             const graph::Type& declared);
  // Checks the elements of sequences likewise: they must have the sizes that tensors give to the
  // variables. Elements give no sizes: in cases of the standard they differ if no tensor says
  // otherwise.
  void check_elements(std::string_view what, const std::string& name, const Value& value,
                      const graph::Type& declared);

 private:
  enum class Given { gives, compares };  // whether a value gives sizes or only has them

  void check_tensor(std::string_view what, const std::string& name, const Shape& shape,
                    const graph::Type& declared, Given given);
  void check_dim(std::string_view what, const std::string& name, std::size_t axis,
                 graph::Dim declared, std::int64_t actual, Given given);
  std::int64_t& size_of(std::size_t symbol);

  const graph::Symbols* symbols_;
  const graph::DimClasses* classes_;
  std::array<std::int64_t, 32> few_;
  std::vector<std::int64_t> more_;
};

}  // namespace ondine::trainer
