// The model as its file describes it: one struct per message of the ONNX schema, values by name,
// independent of protobuf. Export, fingerprints, combination and preparation work on this form.
// Copies share tensors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ondine/tensor.h>

#include "core/special_members.h"
#include "graph/ir/boxed.h"
#include "graph/ir/devices.h"
#include "graph/ir/dim.h"
#include "graph/ir/type.h"

namespace ondine::graph {

struct GraphDef;

struct TypeDef {
  TypeKind kind = TypeKind::unknown;
  DType dtype = DType::undefined;  // element type, or key type of a map
  std::optional<std::vector<DimDef>> dims;
  std::shared_ptr<const TypeDef> element;
  Boxed<std::string> denotation;
  Boxed<std::vector<std::string>> dim_denotations;  // empty, or one for each dim
  // Domain and name of an opaque type; its kind is unknown.
  Boxed<std::optional<std::pair<std::string, std::string>>> opaque;

  ONDINE_DECLARE_SPECIAL_MEMBERS(TypeDef);
};

struct SparseTensorDef {
  std::string name;
  Tensor values;   // [nnz]
  Tensor indices;  // int64 [nnz] or [nnz, rank]
  Shape dims;
};
// Throws Error(invalid_model) unless shapes fit and the indices ascend within dims.
void check(const SparseTensorDef& sparse);
// The dense tensor. Throws Error(invalid_model) for indices that do not fit.
Tensor densify(const SparseTensorDef& sparse);

// In the order of the alternatives of Attribute::Data.
enum class AttributeKind : std::uint8_t {
  undefined,
  real,
  integer,
  string,
  tensor,
  graph,
  sparse_tensor,
  type,
  reals,
  integers,
  strings,
  tensors,
  graphs,
  sparse_tensors,
  types,
};
// The standard's spelling: "FLOAT", "INTS", ...
const char* to_string(AttributeKind kind) noexcept;

struct Attribute {
  // The larger alternatives lie elsewhere: most attributes are numbers.
  using Data = std::variant<std::monostate, float, std::int64_t, std::string, Boxed<Tensor>,
                            std::shared_ptr<const GraphDef>, Boxed<SparseTensorDef>, Boxed<TypeDef>,
                            std::vector<float>, std::vector<std::int64_t>, std::vector<std::string>,
                            std::vector<Tensor>, std::vector<std::shared_ptr<const GraphDef>>,
                            std::vector<SparseTensorDef>, std::vector<TypeDef>>;

  std::string name;
  AttributeKind kind = AttributeKind::undefined;
  Data data;
  Boxed<std::string> ref;  // in a function: the function's attribute that supplies the value
  Boxed<std::string> doc;

  ONDINE_DECLARE_SPECIAL_MEMBERS(Attribute);
  // The kind follows from the data.
  Attribute(std::string attribute_name, Data value);
  // The usual kinds by themselves: callers need not compile how Data is made.
  Attribute(std::string attribute_name, float value);
  Attribute(std::string attribute_name, std::int64_t value);
  Attribute(std::string attribute_name, std::string value);
  Attribute(std::string attribute_name, Tensor value);
  Attribute(std::string attribute_name, std::vector<float> value);
  Attribute(std::string attribute_name, std::vector<std::int64_t> value);
  Attribute(std::string attribute_name, std::vector<std::string> value);
};
using Attributes = std::vector<Attribute>;
const Attribute* find(const Attributes& attributes, std::string_view name) noexcept;
// The tensor; nullptr where the attribute is something else.
const Tensor* tensor_of(const Attribute& attribute) noexcept;

using Properties = std::vector<std::pair<std::string, std::string>>;

struct NodeDef {
  std::string op;
  std::string domain;  // "" for ai.onnx, also where the file spells it out
  Boxed<std::string> overload;
  std::string name;
  std::vector<std::string> inputs;   // "" where omitted
  std::vector<std::string> outputs;  // "" where omitted
  Attributes attributes;
  Boxed<std::string> doc;
  Properties metadata;
  Boxed<std::vector<NodeDevicesDef>> devices;

  ONDINE_DECLARE_SPECIAL_MEMBERS(NodeDef);
};

struct ValueDef {
  std::string name;
  TypeDef type;
  Boxed<std::string> doc;
  Properties metadata;
};

struct InitializerDef {
  std::string name;
  Tensor value;
  Boxed<std::string> doc;
  Properties metadata;
};

struct QuantizationDef {
  std::string tensor;
  Properties parameters;
};

struct GraphDef {
  std::string name;
  std::vector<NodeDef> nodes;
  std::vector<InitializerDef> initializers;
  std::vector<SparseTensorDef> sparse_initializers;
  std::vector<ValueDef> inputs;
  std::vector<ValueDef> outputs;
  std::vector<ValueDef> value_infos;
  std::vector<QuantizationDef> quantization;
  std::string doc;
  Properties metadata;

  ONDINE_DECLARE_SPECIAL_MEMBERS(GraphDef);
};

struct OpsetImport {
  std::string domain;  // "" for ai.onnx, also where the file spells it out
  std::int64_t version = 0;
};

struct FunctionDef {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;  // without default
  Attributes defaults;                  // with default
  std::vector<NodeDef> nodes;
  std::vector<OpsetImport> opsets;
  std::vector<ValueDef> value_infos;
  std::string doc;
  Properties metadata;

  ONDINE_DECLARE_SPECIAL_MEMBERS(FunctionDef);
};

struct TrainingInfoDef {
  std::optional<GraphDef> initialization;
  std::optional<GraphDef> algorithm;
  Properties initialization_binding;  // state variable <- output
  Properties update_binding;

  ONDINE_DECLARE_SPECIAL_MEMBERS(TrainingInfoDef);
};

struct ModelDef {
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opsets;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::int64_t model_version = 0;
  std::string doc;
  GraphDef graph;
  std::vector<TrainingInfoDef> training;
  std::vector<FunctionDef> functions;
  std::vector<DeviceConfigurationDef> device_configurations;
  Properties metadata;

  ONDINE_DECLARE_SPECIAL_MEMBERS(ModelDef);
};

}  // namespace ondine::graph
