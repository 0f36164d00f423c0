#include "graph/ir/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/byte_order.h"
#include "core/deferred.h"
#include "core/packed_elements.h"

namespace ondine::graph {
namespace {

using Names = std::set<std::string, std::less<>>;

// Each item is hashed with its length or count, so different models hash different byte strings.
class Hasher {
 public:
  // `measures`: counts the bytes of elements instead of reading them.
  explicit Hasher(const Names& variables, bool measures = false,
                  const std::function<void(const Tensor&)>* done = nullptr)
      : variables_(&variables), measures_(measures), done_(done) {}

  void number(std::uint64_t value) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
    hash_.update(bytes);
  }
  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void number(float value) { number(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  void text(std::string_view value) {
    number(std::uint64_t{value.size()});
    hash_.update(std::as_bytes(std::span(value)));
  }
  template <class T, class Write>
  void list(const std::vector<T>& items, Write write) {
    number(std::uint64_t{items.size()});
    for (const T& item : items) write(item);
  }
  // Items whose order has no meaning, sorted by name.
  template <class T, class Write>
  void by_name(const std::vector<T>& items, Write write) {
    std::vector<const T*> sorted;
    for (const T& item : items) sorted.push_back(&item);
    std::sort(sorted.begin(), sorted.end(),
              [](const T* a, const T* b) { return a->name < b->name; });
    list(sorted, [&](const T* item) { write(*item); });
  }

  void shape(const Shape& dims) {
    number(std::uint64_t{dims.rank()});
    for (const auto size : dims) number(size);
  }

  void tensor(const Tensor& value) {
    number(std::uint64_t(value.dtype()));
    if (!value.defined()) return;
    shape(value.shape());
    if (value.dtype() == DType::string) {
      for (const auto& element : value.values<std::string>()) text(element);
    } else {
      elements(value);
      if (done_ != nullptr && *done_) (*done_)(value);
    }
  }

  void sparse(const SparseTensorDef& value) {
    tensor(value.values);
    tensor(value.indices);
    shape(value.dims);
  }

  void type(const TypeDef& def) {
    number(std::uint64_t(def.kind));
    number(std::uint64_t(def.dtype));
    number(std::uint64_t{def.dims.has_value()});
    if (def.dims) {
      list(*def.dims, [&](const DimDef& dim) {
        number(std::uint64_t{dim.index()});
        if (const auto* size = std::get_if<std::int64_t>(&dim)) number(*size);
        if (const auto* name = std::get_if<DimName>(&dim)) text(*name);
      });
    }
    number(std::uint64_t{def.element != nullptr});
    if (def.element) type(*def.element);
  }

  void value(const ValueDef& def) {
    text(def.name);
    type(def.type);
  }

  void item(float x) { number(x); }
  void item(std::int64_t x) { number(x); }
  void item(const std::string& x) { text(x); }
  void item(const Tensor& x) { tensor(x); }
  void item(const std::shared_ptr<const GraphDef>& x) { graph(*x, false); }
  void item(const SparseTensorDef& x) { sparse(x); }
  void item(const TypeDef& x) { type(x); }
  void item(std::monostate) {}
  template <class T>
  void item(const std::vector<T>& items) {
    list(items, [&](const T& x) { item(x); });
  }

  void attributes(const Attributes& all) {
    by_name(all, [&](const Attribute& attribute) {
      text(attribute.name);
      text(*attribute.ref);
      number(std::uint64_t(attribute.kind));
      std::visit([&](const auto& data) { item(data); }, attribute.data);
    });
  }

  void node(const NodeDef& def) {
    text(def.op);
    text(def.domain == "ai.onnx" ? "" : def.domain);
    text(*def.overload);
    item(def.inputs);
    item(def.outputs);
    attributes(def.attributes);
  }

  void graph(const GraphDef& def, bool with_variables) {
    list(def.inputs, [&](const ValueDef& v) { value(v); });
    list(def.outputs, [&](const ValueDef& v) { value(v); });
    list(def.nodes, [&](const NodeDef& n) { node(n); });
    by_name(def.initializers, [&](const InitializerDef& init) {
      text(init.name);
      if (with_variables && variables_->contains(init.name)) {
        number(std::uint64_t(init.value.dtype()));
        shape(init.value.shape());
      } else {
        tensor(init.value);
      }
    });
    by_name(def.sparse_initializers, [&](const SparseTensorDef& init) {
      text(init.name);
      if (with_variables && variables_->contains(init.name)) {
        number(std::uint64_t(init.values.dtype()));
        shape(init.dims);
      } else {
        sparse(init);
      }
    });
  }

  void opsets(const std::vector<OpsetImport>& imports) {
    list(imports, [&](const OpsetImport& import) {
      text(import.domain == "ai.onnx" ? "" : import.domain);
      number(import.version);
    });
  }

  void function(const FunctionDef& def) {
    text(def.name);
    text(def.domain);
    text(def.overload);
    item(def.inputs);
    item(def.outputs);
    item(def.attributes);
    attributes(def.defaults);
    list(def.nodes, [&](const NodeDef& n) { node(n); });
    opsets(def.opsets);
  }

  void training(const TrainingInfoDef& info) {
    for (const auto* part : {&info.initialization, &info.algorithm}) {
      number(std::uint64_t{part->has_value()});
      if (*part) graph(**part, part == &info.algorithm);
    }
    for (const auto* binding : {&info.initialization_binding, &info.update_binding}) {
      list(*binding, [&](const auto& pair) {
        text(pair.first);
        text(pair.second);
      });
    }
  }

  void model(const ModelDef& def) {
    text("ondine model 1");
    opsets(def.opsets);
    graph(def.graph, true);
    list(def.functions, [&](const FunctionDef& f) { function(f); });
    list(def.training, [&](const TrainingInfoDef& info) { training(info); });
  }

  Sha256Digest finish() { return hash_.finish(); }
  std::uint64_t element_bytes() const noexcept { return element_bytes_; }

 private:
  void elements(const Tensor& value) {
    element_bytes_ += value.bytes();
    if (measures_) return;
    if (const auto packed = packed_elements(value)) return unpacked(value, packed->bytes);
    const HeldElements held(value);
    const std::span bytes(static_cast<const std::byte*>(held.data()), value.bytes());
    if (!other_byte_order) {
      hash_.update(bytes);
      return;
    }
    std::vector<std::byte> swapped(bytes.begin(), bytes.end());
    swap_numbers(swapped, value.dtype());
    hash_.update(swapped);
  }

  // The elements one a byte, without unpacking the tensor.
  void unpacked(const Tensor& value, std::span<const std::byte> packed) {
    std::array<std::byte, 4096> elements{};
    const auto count = static_cast<std::size_t>(value.size());
    const std::size_t in_byte = 8 / packed_bits(value.dtype());
    for (std::size_t at = 0; at < count; at += elements.size()) {
      const auto part = std::span(elements).first(std::min(elements.size(), count - at));
      unpack(value.dtype(), packed.subspan(at / in_byte), part);
      hash_.update(part);
    }
  }

  const Names* variables_;
  bool measures_;
  const std::function<void(const Tensor&)>* done_;
  std::uint64_t element_bytes_ = 0;
  Sha256 hash_;
};

}  // namespace

Sha256Digest fingerprint(const ModelDef& model, const Names& variables,
                         const std::function<void(const Tensor&)>& done) {
  Hasher hasher(variables, false, &done);
  hasher.model(model);
  return hasher.finish();
}

std::uint64_t fingerprint_bytes(const ModelDef& model, const Names& variables) {
  Hasher hasher(variables, true);
  hasher.model(model);
  return hasher.element_bytes();
}

}  // namespace ondine::graph
