// Multi-device annotations of the standard. Kept for export, otherwise ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/dim.h"

namespace ondine::graph {

struct DeviceConfigurationDef {
  std::string name;
  std::int32_t devices = 0;
  std::vector<std::string> device_names;
  friend bool operator==(const DeviceConfigurationDef&, const DeviceConfigurationDef&) = default;
};

struct ShardedDimDef {
  struct Part {
    DimDef size;
    std::int64_t shards = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::int64_t axis = 0;
  std::vector<Part> parts;
  friend bool operator==(const ShardedDimDef&, const ShardedDimDef&) = default;
};

struct ShardingDef {
  std::string tensor;
  std::vector<std::int64_t> devices;
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> groups;  // index -> devices
  std::vector<ShardedDimDef> dims;
  friend bool operator==(const ShardingDef&, const ShardingDef&) = default;
};

struct NodeDevicesDef {
  std::string configuration;
  std::vector<ShardingDef> shardings;
  std::optional<std::int32_t> pipeline_stage;
  friend bool operator==(const NodeDevicesDef&, const NodeDevicesDef&) = default;
};

}  // namespace ondine::graph
