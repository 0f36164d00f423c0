// The messages of the schema that conversions take and fill.
#pragma once

namespace ondine::onnx {

class AttributeProto;
class DeviceConfigurationProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeDeviceConfigurationProto;
class NodeProto;
class OperatorSetProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
class ValueInfoProto;

}  // namespace ondine::onnx
