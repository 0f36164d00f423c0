// Values of attributes, of which the file says what kind they are.
#pragma once

#include <string_view>
#include <variant>

#include "core/message.h"
#include "graph/ir/document.h"

namespace ondine::graph {

// The value of an attribute of an operator `op`. Throws Error(invalid_model) where it is of another
// kind, as one that refers to an attribute of its function is.
template <class T>
const T& value_of(const Attribute& attribute, std::string_view op) {
  if (const T* value = std::get_if<T>(&attribute.data)) return *value;
  fail(ErrorCode::invalid_model, "attribute ", quoted(attribute.name), " of ", quoted(op), " is ",
       attribute.ref->empty()
           ? to_string(static_cast<AttributeKind>(attribute.data.index()))
           : cat("attribute ", quoted(*attribute.ref), " of the function around it"),
       ", needed: ", to_string(Attribute({}, T()).kind));
}

}  // namespace ondine::graph
