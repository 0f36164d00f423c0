#include "onnx_schema.pb.h"
#include "proto/export/parts.h"

namespace ondine {
namespace {

void export_part(const graph::ShardedDimDef::Part& part, onnx::SimpleShardedDimProto& out) {
  if (const auto* known = std::get_if<std::int64_t>(&part.size)) out.set_dim_value(*known);
  if (const auto* named = std::get_if<graph::DimName>(&part.size)) out.set_dim_param(*named);
  out.set_num_shards(part.shards);
}

void export_dim(const graph::ShardedDimDef& dim, onnx::ShardedDimProto& out) {
  out.set_axis(dim.axis);
  put_each(dim.parts, out.mutable_simple_sharding(), export_part);
}

void export_sharding(const graph::ShardingDef& sharding, onnx::ShardingSpecProto& out) {
  out.set_tensor_name(sharding.tensor);
  out.mutable_device()->Add(sharding.devices.begin(), sharding.devices.end());
  for (const auto& [index, devices] : sharding.groups) {
    auto& entry = *out.add_index_to_device_group_map();
    entry.set_key(index);
    entry.mutable_value()->Add(devices.begin(), devices.end());
  }
  put_each(sharding.dims, out.mutable_sharded_dim(), export_dim);
}

}  // namespace

void export_node_devices(const graph::NodeDevicesDef& devices,
                         onnx::NodeDeviceConfigurationProto& out) {
  out.set_configuration_id(devices.configuration);
  put_each(devices.shardings, out.mutable_sharding_spec(), export_sharding);
  if (devices.pipeline_stage) out.set_pipeline_stage(*devices.pipeline_stage);
}

void export_device_configuration(const graph::DeviceConfigurationDef& configuration,
                                 onnx::DeviceConfigurationProto& out) {
  out.set_name(configuration.name);
  out.set_num_devices(configuration.devices);
  put_all(configuration.device_names, out.mutable_device());
}

}  // namespace ondine
