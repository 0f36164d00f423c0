#include <algorithm>

#include <ondine/build.h>

#include "core/hidden.h"
#include "core/out_of_memory.h"
#include "graph/ir/document.h"
#include "proto/export.h"

namespace ondine {
namespace {

constexpr std::int64_t ir_version = 8;
constexpr const char* build_failure = "write the model";

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

struct ONDINE_HIDDEN ModelBuilder::Impl {
  graph::ModelDef model;
  std::size_t unnamed = 0;
};

ModelBuilder::ModelBuilder(std::string name, std::int64_t opset) {
  guard_memory(build_failure, [&] {
    impl_ = std::make_unique<Impl>();
    impl_->model.ir_version = ir_version;
    impl_->model.producer_name = "ondine";
    impl_->model.opsets = {{"", opset}};
    impl_->model.graph.name = std::move(name);
  });
}

ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;
ModelBuilder& ModelBuilder::operator=(ModelBuilder&&) noexcept = default;
ModelBuilder::~ModelBuilder() = default;

// Each function builds its additions before it changes the model.

std::string ModelBuilder::input(std::string name, DType dtype, std::vector<Dim> dims) {
  guard_memory(build_failure, [&] {
    impl_->model.graph.inputs.push_back(value_def(name, dtype, std::move(dims)));
  });
  return name;
}

void ModelBuilder::output(std::string name, DType dtype, std::vector<Dim> dims) {
  guard_memory(build_failure, [&] {
    impl_->model.graph.outputs.push_back(value_def(std::move(name), dtype, std::move(dims)));
  });
}

std::string ModelBuilder::initializer(std::string name, Tensor value) {
  guard_memory(build_failure, [&] {
    impl_->model.graph.initializers.push_back({name, std::move(value), {}, {}});
  });
  return name;
}

std::string ModelBuilder::node(std::string op, std::vector<std::string> inputs,
                               Attributes attributes, std::string output) {
  guard_memory(build_failure, [&] {
    const bool unnamed = output.empty();
    if (unnamed) output = op + "_" + std::to_string(impl_->unnamed + 1);
    node(std::move(op), "", std::move(inputs), {output}, std::move(attributes));
    if (unnamed) ++impl_->unnamed;
  });
  return output;
}

void ModelBuilder::node(std::string op, std::string domain, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, Attributes attributes) {
  guard_memory(build_failure, [&] {
    auto& opsets = impl_->model.opsets;
    const bool imported =
        std::any_of(opsets.begin(), opsets.end(),
                    [&](const graph::OpsetImport& one) { return one.domain == domain; });
    graph::OpsetImport import{domain, 1};
    opsets.reserve(opsets.size() + 1);
    graph::NodeDef added;
    added.op = std::move(op);
    added.domain = std::move(domain);
    added.inputs = std::move(inputs);
    added.outputs = std::move(outputs);
    for (auto& [name, value] : attributes) {
      std::visit(
          [&, &key = name](auto& data) { added.attributes.emplace_back(key, std::move(data)); },
          value);
    }
    impl_->model.graph.nodes.push_back(std::move(added));
    if (!imported) opsets.push_back(std::move(import));
  });
}

void ModelBuilder::save(const std::filesystem::path& file) const {
  guard_memory(build_failure, [&] { save_model(impl_->model, file); });
}

std::vector<std::byte> ModelBuilder::bytes() const {
  return guard_memory(build_failure, [&] { return export_model(impl_->model); });
}

}  // namespace ondine
