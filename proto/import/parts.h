// The functions that import the parts of a model. They consume messages: large payloads are moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ondine/error.h>
#include <ondine/limits.h>

#include "core/message.h"
#include "graph/ir/document.h"
#include "graph/ir/operator_set.h"
#include "proto/messages.h"

namespace ondine {

template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  fail(ErrorCode::invalid_model, parts...);
}

class DetachedModel;
class ExternalData;
class MappedFile;

// State of one import.
struct Importer {
  const Limits& limits;
  ExternalData& external;
  // Where raw_data was not decoded, what it refers to, and its file.
  const DetachedModel* detached = nullptr;
  std::shared_ptr<const MappedFile> file = {};
  std::uint64_t weight_bytes = 0;  // in memory, of all tensors so far
  std::uint64_t nodes = 0;
  int depth = 0;  // number of enclosing graphs
  // Errors of omitted objects so far. Enclosing scopes add their context.
  std::vector<Error> errors = {};
  std::vector<std::string> left_out = {};  // names of omitted objects
  std::vector<Error> tolerable = {};       // what the import passed over; with context
};

// Runs `body` and adds the context `frame()` to the errors it recorded and to the one it throws.
template <class Body, class Frame>
auto within(Importer& importer, Body body, Frame frame) {
  const std::size_t first = importer.errors.size();
  const std::size_t first_tolerable = importer.tolerable.size();
  const auto add_frame = [&] {
    for (std::size_t i = first; i < importer.errors.size(); ++i) {
      importer.errors[i].add_context(frame());
    }
    for (std::size_t i = first_tolerable; i < importer.tolerable.size(); ++i) {
      importer.tolerable[i].add_context(frame());
    }
  };
  try {
    auto result = body();
    add_frame();
    return result;
  } catch (Error& error) {
    add_frame();
    error.add_context(frame());
    throw;
  }
}

// Records a violation that leaves the object usable; the first hundred.
template <class... Parts>
void tolerate(Importer& importer, const Parts&... parts) {
  constexpr std::size_t most = 100;
  if (importer.tolerable.size() >= most) return;
  importer.tolerable.emplace_back(ErrorCode::invalid_model, cat(parts...));
}

// Every function throws Error(invalid_model), Error(limit) or Error(unsupported) with a context
// that names the object.
DType import_dtype(std::int32_t data_type);
Tensor import_tensor(onnx::TensorProto& tensor, Importer& importer);
graph::SparseTensorDef import_sparse(onnx::SparseTensorProto& sparse, Importer& importer);
graph::TypeDef import_type(const onnx::TypeProto& type);
graph::ValueDef import_value_info(onnx::ValueInfoProto& value, Importer& importer);
graph::Attribute import_attribute(onnx::AttributeProto& attribute, Importer& importer);
graph::NodeDef import_node(onnx::NodeProto& node, Importer& importer);
graph::GraphDef import_graph(onnx::GraphProto& graph, Importer& importer);
graph::NodeDevicesDef import_node_devices(onnx::NodeDeviceConfigurationProto& devices);
graph::DeviceConfigurationDef import_device_configuration(onnx::DeviceConfigurationProto& proto);
graph::FunctionDef import_function(onnx::FunctionProto& proto, Importer& importer);
graph::ModelDef import_model(onnx::ModelProto& model, Importer& importer);
graph::OperatorSetDef import_operator_set(onnx::OperatorSetProto& set, Importer& importer);

// "" for both spellings of the default domain.
std::string import_domain(std::string domain);

// Moves out a repeated field of strings.
template <class Strings>
std::vector<std::string> take_strings(Strings* strings) {
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(strings->size()));
  for (auto& text : *strings) out.push_back(std::move(text));
  return out;
}

// Moves out a repeated StringStringEntryProto.
template <class Entries>
graph::Properties take_properties(Entries* entries) {
  graph::Properties out;
  out.reserve(static_cast<std::size_t>(entries->size()));
  for (auto& entry : *entries) {
    out.emplace_back(std::move(*entry.mutable_key()), std::move(*entry.mutable_value()));
  }
  return out;
}

// Calls import(message) for each message of a repeated field.
template <class Messages, class Import>
auto take_all(Messages* messages, Import import) {
  std::vector<decltype(import(*messages->begin()))> out;
  out.reserve(static_cast<std::size_t>(messages->size()));
  for (auto& message : *messages) out.push_back(import(message));
  return out;
}

// The names by which other objects may refer to a message.
template <class Message>
void note_names(const Message& message, std::vector<std::string>& names) {
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.push_back(name);
  };
  if constexpr (requires { message.name(); }) add(message.name());
  if constexpr (requires { message.values().name(); }) add(message.values().name());
  if constexpr (requires { std::string(message.output(0)); }) {
    for (const auto& output : message.output()) add(output);
  }
}

// take_all that omits invalid objects and keeps their errors, so that one import finds many. Errors
// about limits or from the system propagate.
template <class Messages, class Import>
auto take_all(Messages* messages, Import import, Importer& importer) {
  constexpr std::size_t most_errors = 100;
  std::vector<decltype(import(*messages->begin(), importer))> out;
  out.reserve(static_cast<std::size_t>(messages->size()));
  for (auto& message : *messages) {
    try {
      out.push_back(import(message, importer));
    } catch (const Error& error) {
      const bool of_object =
          error.code() == ErrorCode::invalid_model || error.code() == ErrorCode::unsupported;
      if (!of_object || importer.errors.size() >= most_errors) throw;
      importer.errors.push_back(error);
      note_names(message, importer.left_out);
    }
  }
  return out;
}

}  // namespace ondine
