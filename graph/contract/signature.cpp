#include "graph/contract/signature.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/message.h"
#include "graph/contract/signature_tables.h"

namespace ondine::graph {
namespace {

bool has(std::uint32_t mask, DType dtype) noexcept {
  return dtype == DType::undefined || (mask >> static_cast<unsigned>(dtype) & 1U) != 0;
}

bool has_map(std::uint32_t int64_keys, std::uint32_t string_keys, const Type& map) noexcept {
  if (map.element && !map.element->is_tensor()) return false;
  const DType value = map.element ? map.element->dtype : DType::undefined;
  return (map.dtype == DType::int64 && int64_keys != 0 && has(int64_keys, value)) ||
         (map.dtype == DType::string && string_keys != 0 && has(string_keys, value));
}

template <class Rows>
auto slice(const Rows& rows, Signature::Slice part) noexcept {
  return rows.subspan(part.first, part.count);
}

}  // namespace

bool TypeSet::contains(const Type& type) const noexcept {
  const Type* element = type.element.get();
  switch (type.kind) {
    case TypeKind::unknown:
      return true;
    case TypeKind::tensor:
      return tensors != 0 && has(tensors, type.dtype);
    case TypeKind::sparse_tensor:
      return false;
    case TypeKind::map:
      return has_map(int64_maps, string_maps, type);
    case TypeKind::sequence:
      if (element == nullptr || element->kind == TypeKind::unknown) {
        return (sequences | int64_map_sequences | string_map_sequences) != 0;
      }
      if (element->kind == TypeKind::map) {
        return has_map(int64_map_sequences, string_map_sequences, *element);
      }
      return element->is_tensor() && sequences != 0 && has(sequences, element->dtype);
    case TypeKind::optional:
      if (element == nullptr || element->kind == TypeKind::unknown) {
        return (optionals | optional_sequences) != 0;
      }
      if (element->kind == TypeKind::sequence) {
        const Type* inner = element->element.get();
        return optional_sequences != 0 &&
               (inner == nullptr || inner->kind == TypeKind::unknown ||
                (inner->is_tensor() && has(optional_sequences, inner->dtype)));
      }
      return element->is_tensor() && optionals != 0 && has(optionals, element->dtype);
  }
  return false;
}

std::string to_string(const TypeSet& types) {
  struct Form {
    std::uint32_t mask;
    std::string_view before, after;
  };
  const std::array forms{
      Form{types.tensors, "tensor(", ")"},
      Form{types.sequences, "seq(tensor(", "))"},
      Form{types.optionals, "optional(tensor(", "))"},
      Form{types.optional_sequences, "optional(seq(tensor(", ")))"},
      Form{types.int64_maps, "map(int64, ", ")"},
      Form{types.string_maps, "map(string, ", ")"},
      Form{types.int64_map_sequences, "seq(map(int64, ", "))"},
      Form{types.string_map_sequences, "seq(map(string, ", "))"},
  };
  std::string out;
  for (const auto& form : forms) {
    for (int i = 1; i < dtype_count; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!has(form.mask, dtype)) continue;
      if (!out.empty()) out += ", ";
      out += cat(form.before, dtype, form.after);
    }
  }
  return out;
}

const TypeSet& TypeConstraint::types() const noexcept { return tables::type_sets[types_index]; }

std::string_view Signature::domain() const noexcept { return tables::domains[domain_index]; }
std::span<const Parameter> Signature::inputs() const noexcept {
  return slice(tables::parameters, input_rows);
}
std::span<const Parameter> Signature::outputs() const noexcept {
  return slice(tables::parameters, output_rows);
}
std::span<const AttributeSpec> Signature::attributes() const noexcept {
  return slice(tables::attributes, attribute_rows);
}
std::span<const TypeConstraint> Signature::constraints() const noexcept {
  return slice(tables::constraints, constraint_rows);
}

const AttributeSpec* Signature::attribute(std::string_view attribute_name) const noexcept {
  for (const auto& spec : attributes()) {
    if (spec.name == attribute_name) return &spec;
  }
  return nullptr;
}

std::string_view canonical_domain(std::string_view domain) noexcept {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string_view spelled_domain(std::string_view domain) noexcept {
  return domain.empty() ? std::string_view("ai.onnx") : domain;
}

const Signature* find_signature(std::string_view domain, std::string_view name,
                                std::int64_t version) noexcept {
  const auto wanted = std::make_tuple(canonical_domain(domain), name, version);
  const auto rows = all_signatures();
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), wanted, [](const auto& key, const Signature& row) {
        return key < std::make_tuple(row.domain(), row.name, std::int64_t{row.since_version});
      });
  if (after == rows.begin()) return nullptr;
  const Signature& found = *(after - 1);
  return found.domain() == std::get<0>(wanted) && found.name == name ? &found : nullptr;
}

std::int64_t newest_version(std::string_view domain) noexcept {
  constexpr std::size_t max_domains = 8;
  static const std::array newest = [] {
    std::array<std::int64_t, max_domains> versions{};
    for (const auto& row : all_signatures()) {
      auto& version = versions.at(row.domain_index);
      version = std::max(version, std::int64_t{row.since_version});
    }
    return versions;
  }();
  const auto found =
      std::find(tables::domains.begin(), tables::domains.end(), canonical_domain(domain));
  return found == tables::domains.end()
             ? 0
             : newest[static_cast<std::size_t>(found - tables::domains.begin())];
}

std::span<const Signature> all_signatures() noexcept { return tables::signatures; }

}  // namespace ondine::graph
