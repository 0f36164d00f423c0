// The standard's operator signatures: inputs, outputs, attributes and type constraints of every
// version of every operator. OpDef defines what operators compute.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/ir/document.h"
#include "graph/ir/type.h"

namespace ondine::graph {

// The types that a type constraint allows. Bit d of a mask stands for DType d.
struct TypeSet {
  std::uint32_t tensors = 0;
  std::uint32_t sequences = 0;           // seq(tensor(d))
  std::uint32_t optionals = 0;           // optional(tensor(d))
  std::uint32_t optional_sequences = 0;  // optional(seq(tensor(d)))
  std::uint32_t int64_maps = 0;          // map(int64, d)
  std::uint32_t string_maps = 0;         // map(string, d)
  std::uint32_t int64_map_sequences = 0;
  std::uint32_t string_map_sequences = 0;

  // Unknown parts of the type (kind, dtype or element) count as allowed.
  bool contains(const Type& type) const noexcept;
};
// "tensor(float), tensor(double), seq(tensor(float))"
std::string to_string(const TypeSet& types);

// A type variable: parameters of a node that share it have the same type.
struct TypeConstraint {
  std::string_view name;
  std::uint8_t types_index;

  const TypeSet& types() const noexcept;
};

enum class Option : std::uint8_t { single, optional, variadic };
enum class Differentiation : std::uint8_t { unknown, differentiable, non_differentiable };

// An input or output. Only the last one of a list may be variadic.
struct Parameter {
  std::string_view name;
  std::uint8_t constraint;  // index in Signature::constraints()
  Option option;
  Differentiation differentiation;
  std::uint8_t min_arity;  // variadic only
  bool homogeneous;        // variadic only: all have the same type
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  bool required;
  bool has_default;
  std::string_view default_value;  // as text: "1", "1e-05", "NOTSET", "[0, 2, 3]"
};

struct Signature {
  struct Slice {
    std::uint16_t first;
    std::uint8_t count;
  };
  std::string_view name;
  std::uint8_t domain_index;
  std::uint8_t since_version;
  std::uint8_t flags;
  Slice input_rows, output_rows, attribute_rows, constraint_rows;

  std::string_view domain() const noexcept;  // "" for ai.onnx
  bool deprecated() const noexcept { return (flags & 1U) != 0; }
  bool deterministic() const noexcept { return (flags & 2U) != 0; }
  // The standard defines it as a function of other operators.
  bool is_function() const noexcept { return (flags & 4U) != 0; }
  // Empty for deprecated operators: only their names are kept.
  std::span<const Parameter> inputs() const noexcept;
  std::span<const Parameter> outputs() const noexcept;
  std::span<const AttributeSpec> attributes() const noexcept;
  std::span<const TypeConstraint> constraints() const noexcept;
  const AttributeSpec* attribute(std::string_view attribute_name) const noexcept;
};

// "" for "ai.onnx", every other domain unchanged.
std::string_view canonical_domain(std::string_view domain) noexcept;
// "ai.onnx" for "", for messages.
std::string_view spelled_domain(std::string_view domain) noexcept;

// The newest signature with since_version <= version; nullptr when there is none.
const Signature* find_signature(std::string_view domain, std::string_view name,
                                std::int64_t version) noexcept;
// The newest opset version of a domain of the standard (for ai.onnx a preview); 0 for other
// domains.
std::int64_t newest_version(std::string_view domain) noexcept;
// Sorted by domain, name and version.
std::span<const Signature> all_signatures() noexcept;

}  // namespace ondine::graph
