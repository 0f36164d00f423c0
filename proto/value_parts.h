// Conversion between the messages of stored values and Value.
#pragma once

#include <ondine/value.h>

#include "proto/export/parts.h"
#include "proto/import/parts.h"

namespace ondine {

namespace onnx {
class MapProto;
class OptionalProto;
class SequenceProto;
}  // namespace onnx

Value import_value(onnx::TensorProto& proto, Importer& importer);
Value import_value(onnx::SparseTensorProto& proto, Importer& importer);
Value import_value(onnx::SequenceProto& proto, Importer& importer);
Value import_value(onnx::MapProto& proto, Importer& importer);
Value import_value(onnx::OptionalProto& proto, Importer& importer);

// The value must have the kind of the message.
void export_value(const Value& value, onnx::TensorProto& out);
void export_value(const Value& value, onnx::SparseTensorProto& out);
void export_value(const Value& value, onnx::SequenceProto& out);
void export_value(const Value& value, onnx::MapProto& out);
void export_value(const Value& value, onnx::OptionalProto& out);

}  // namespace ondine
