#include "tests/proto/model_difference.h"

#include <bit>
#include <tuple>

#include "core/message.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

// The members of each struct, in order.
auto parts(const TypeDef& d) {
  return std::tie(d.kind, d.dtype, d.dims, d.element, d.denotation, d.dim_denotations, d.opaque);
}
auto parts(const SparseTensorDef& d) { return std::tie(d.name, d.values, d.indices, d.dims); }
auto parts(const Attribute& d) { return std::tie(d.name, d.kind, d.data, d.ref, d.doc); }
auto parts(const NodeDef& d) {
  return std::tie(d.op, d.domain, d.overload, d.name, d.inputs, d.outputs, d.attributes, d.doc,
                  d.metadata, d.devices);
}
auto parts(const ValueDef& d) { return std::tie(d.name, d.type, d.doc, d.metadata); }
auto parts(const InitializerDef& d) { return std::tie(d.name, d.value, d.doc, d.metadata); }
auto parts(const QuantizationDef& d) { return std::tie(d.tensor, d.parameters); }
auto parts(const OpsetImport& d) { return std::tie(d.domain, d.version); }
auto parts(const GraphDef& d) {
  return std::tie(d.name, d.nodes, d.initializers, d.sparse_initializers, d.inputs, d.outputs,
                  d.value_infos, d.quantization, d.doc, d.metadata);
}
auto parts(const FunctionDef& d) {
  return std::tie(d.name, d.domain, d.overload, d.inputs, d.outputs, d.attributes, d.defaults,
                  d.nodes, d.opsets, d.value_infos, d.doc, d.metadata);
}
auto parts(const TrainingInfoDef& d) {
  return std::tie(d.initialization, d.algorithm, d.initialization_binding, d.update_binding);
}
auto parts(const ModelDef& d) {
  return std::tie(d.ir_version, d.opsets, d.producer_name, d.producer_version, d.domain,
                  d.model_version, d.doc, d.graph, d.training, d.functions, d.device_configurations,
                  d.metadata);
}

template <class T>
concept Struct = requires(const T& value) {
  parts(value);
};

struct Difference {
  std::string at(std::size_t index, const std::string& inner) const {
    return inner.empty() ? inner : cat(index, " ", inner);
  }

  template <class T>
  std::string operator()(const T& a, const T& b) const {
    if constexpr (Struct<T>) {
      return members(parts(a), parts(b),
                     std::make_index_sequence<std::tuple_size_v<decltype(parts(a))>>());
    } else {
      return a == b ? "" : "differs";
    }
  }
  std::string operator()(float a, float b) const {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ? "" : "differs";
  }
  std::string operator()(const Tensor& a, const Tensor& b) const {
    return a.identical(b) ? "" : "differs";
  }
  template <class T>
  std::string operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    if (a.size() != b.size()) return cat("has ", a.size(), " and ", b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (const auto inner = (*this)(a[i], b[i]); !inner.empty()) return at(i, inner);
    }
    return "";
  }
  template <class T>
  std::string operator()(const Boxed<T>& a, const Boxed<T>& b) const {
    return (*this)(*a, *b);
  }
  template <class T>
  std::string operator()(const std::shared_ptr<const T>& a,
                         const std::shared_ptr<const T>& b) const {
    if (!a || !b) return a == b ? "" : "is there once";
    return (*this)(*a, *b);
  }
  template <class T>
  std::string operator()(const std::optional<T>& a, const std::optional<T>& b) const {
    if (!a || !b) return a.has_value() == b.has_value() ? "" : "is there once";
    return (*this)(*a, *b);
  }
  std::string operator()(const Attribute::Data& a, const Attribute::Data& b) const {
    if (a.index() != b.index()) return "is of another type";
    return std::visit(
        [&](const auto& value) {
          return (*this)(value, std::get<std::decay_t<decltype(value)>>(b));
        },
        a);
  }

 private:
  template <class Tuple, std::size_t... I>
  std::string members(const Tuple& a, const Tuple& b, std::index_sequence<I...>) const {
    std::string found;
    ((found = found.empty() ? at(I, (*this)(std::get<I>(a), std::get<I>(b))) : found), ...);
    return found;
  }
};

}  // namespace

std::string model_difference(const ModelDef& a, const ModelDef& b) { return Difference()(a, b); }

}  // namespace ondine::test
