// The functions that export the parts of a model. Each fills an empty message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/deferred.h"
#include "graph/ir/document.h"
#include "proto/messages.h"

namespace ondine {

// State of one export.
struct Exporter {
  struct External {
    Tensor value;
    onnx::TensorProto* message;
  };
  std::optional<std::uint64_t> external_from;  // tensors of at least this many bytes are external
  std::vector<External> external;
  std::uint64_t inline_bytes = 0;
};

// Throws Error(limit) when the tensors in the message reach 2 GiB, which the format cannot hold.
void export_tensor(const std::string& name, const Tensor& tensor, Exporter& exporter,
                   onnx::TensorProto& out);
void export_sparse(const graph::SparseTensorDef& sparse, Exporter& exporter,
                   onnx::SparseTensorProto& out);
void export_type(const graph::TypeDef& type, onnx::TypeProto& out);
void export_value_info(const graph::ValueDef& value, onnx::ValueInfoProto& out);
void export_attribute(const graph::Attribute& attribute, Exporter& exporter,
                      onnx::AttributeProto& out);
void export_node(const graph::NodeDef& node, Exporter& exporter, onnx::NodeProto& out);
void export_graph(const graph::GraphDef& graph, Exporter& exporter, onnx::GraphProto& out);
void export_node_devices(const graph::NodeDevicesDef& devices,
                         onnx::NodeDeviceConfigurationProto& out);
void export_device_configuration(const graph::DeviceConfigurationDef& configuration,
                                 onnx::DeviceConfigurationProto& out);
void export_model(const graph::ModelDef& model, Exporter& exporter, onnx::ModelProto& out);

// The elements in their stored form: a view of the tensor where that has the form, else of
// `storage`. Elements that are computed when they are read (core/deferred.h) are in memory while
// this lives.
class FileForm {
 public:
  FileForm(const Tensor& tensor, std::vector<std::byte>& storage);
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::optional<HeldElements> held_;
  std::span<const std::byte> bytes_;
};

template <class Field>
void put_all(const std::vector<std::string>& texts, Field* field) {
  for (const auto& text : texts) *field->Add() = text;
}

template <class Entries>
void put_properties(const graph::Properties& properties, Entries* entries) {
  for (const auto& [key, value] : properties) {
    auto* entry = entries->Add();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// Calls put(item, more..., message) with a new message of the repeated field for each item.
template <class Items, class Messages, class Put, class... More>
void put_each(const Items& items, Messages* messages, Put put_one, More&... more) {
  for (const auto& item : items) put_one(item, more..., *messages->Add());
}

}  // namespace ondine
