#pragma once

#include <functional>

#include "graph/contract/signature.h"
#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

// A value of the kind that `spec` wants; a word that it may know where it is text.
graph::Attribute any_attribute(Choices& choices, const graph::AttributeSpec& spec,
                               const Shape& usual);
// Some value of the kind, for an attribute with this name.
graph::Attribute::Data any_data(Choices& choices, graph::AttributeKind kind, std::string_view name,
                                const Shape& usual);

}  // namespace ondine::test
