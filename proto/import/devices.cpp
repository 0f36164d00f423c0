#include "onnx_schema.pb.h"
#include "proto/import/parts.h"

namespace ondine {
namespace {

graph::ShardedDimDef::Part import_part(const onnx::SimpleShardedDimProto& proto) {
  graph::ShardedDimDef::Part out;
  if (proto.has_dim_value()) out.size = std::int64_t{proto.dim_value()};
  if (proto.has_dim_param()) out.size = proto.dim_param();
  out.shards = proto.num_shards();
  return out;
}

graph::ShardedDimDef import_dim(onnx::ShardedDimProto& proto) {
  return {proto.axis(), take_all(proto.mutable_simple_sharding(), import_part)};
}

graph::ShardingDef import_sharding(onnx::ShardingSpecProto& proto) {
  graph::ShardingDef out;
  out.tensor = proto.tensor_name();
  out.devices.assign(proto.device().begin(), proto.device().end());
  for (const auto& entry : proto.index_to_device_group_map()) {
    out.groups.emplace_back(entry.key(),
                            std::vector<std::int64_t>(entry.value().begin(), entry.value().end()));
  }
  out.dims = take_all(proto.mutable_sharded_dim(), import_dim);
  return out;
}

}  // namespace

graph::NodeDevicesDef import_node_devices(onnx::NodeDeviceConfigurationProto& proto) {
  graph::NodeDevicesDef out;
  out.configuration = proto.configuration_id();
  out.shardings = take_all(proto.mutable_sharding_spec(), import_sharding);
  if (proto.has_pipeline_stage()) out.pipeline_stage = proto.pipeline_stage();
  return out;
}

graph::DeviceConfigurationDef import_device_configuration(onnx::DeviceConfigurationProto& proto) {
  return {proto.name(), proto.num_devices(), take_strings(proto.mutable_device())};
}

}  // namespace ondine
