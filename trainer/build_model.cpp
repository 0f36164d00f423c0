#include <algorithm>

#include <ondine/build.h>

#include "graph/ir/document.h"
#include "proto/export.h"

namespace ondine {
namespace {

constexpr std::int64_t ir_version = 8;

graph::ValueDef value_def(std::string name, DType dtype, std::vector<ModelBuilder::Dim> dims) {
  graph::ValueDef value;
  value.name = std::move(name);
  value.type.kind = graph::TypeKind::tensor;
  value.type.dtype = dtype;
  auto& out = value.type.dims.emplace();
  for (ModelBuilder::Dim& dim : dims) {
    std::visit([&](auto& one) { out.emplace_back(std::move(one)); }, dim);
  }
  return value;
}

}  // namespace

struct ModelBuilder::Impl {
  graph::ModelDef model;
  std::size_t unnamed = 0;
};

ModelBuilder::ModelBuilder(std::string name, std::int64_t opset) : impl_(std::make_unique<Impl>()) {
  impl_->model.ir_version = ir_version;
  impl_->model.producer_name = "ondine";
  impl_->model.opsets = {{"", opset}};
  impl_->model.graph.name = std::move(name);
}

ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;
ModelBuilder& ModelBuilder::operator=(ModelBuilder&&) noexcept = default;
ModelBuilder::~ModelBuilder() = default;

std::string ModelBuilder::input(std::string name, DType dtype, std::vector<Dim> dims) {
  impl_->model.graph.inputs.push_back(value_def(name, dtype, std::move(dims)));
  return name;
}

void ModelBuilder::output(std::string name, DType dtype, std::vector<Dim> dims) {
  impl_->model.graph.outputs.push_back(value_def(std::move(name), dtype, std::move(dims)));
}

std::string ModelBuilder::initializer(std::string name, Tensor value) {
  graph::InitializerDef& added = impl_->model.graph.initializers.emplace_back();
  added.name = name;
  added.value = std::move(value);
  return name;
}

std::string ModelBuilder::node(std::string op, std::vector<std::string> inputs,
                               Attributes attributes, std::string output) {
  if (output.empty()) output = op + "_" + std::to_string(++impl_->unnamed);
  node(std::move(op), "", std::move(inputs), {output}, std::move(attributes));
  return output;
}

void ModelBuilder::node(std::string op, std::string domain, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, Attributes attributes) {
  auto& opsets = impl_->model.opsets;
  if (std::none_of(opsets.begin(), opsets.end(),
                   [&](const graph::OpsetImport& one) { return one.domain == domain; })) {
    opsets.push_back({domain, 1});
  }
  graph::NodeDef& added = impl_->model.graph.nodes.emplace_back();
  added.op = std::move(op);
  added.domain = std::move(domain);
  added.inputs = std::move(inputs);
  added.outputs = std::move(outputs);
  for (auto& [name, value] : attributes) {
    std::visit(
        [&, &key = name](auto& data) { added.attributes.emplace_back(key, std::move(data)); },
        value);
  }
}

void ModelBuilder::save(const std::filesystem::path& file) const { save_model(impl_->model, file); }

std::vector<std::byte> ModelBuilder::bytes() const { return export_model(impl_->model); }

}  // namespace ondine
