// Device configurations: they are carried along and never acted on, but must refer to what is
// there.
#include <algorithm>

#include "graph/check/rules.h"

namespace ondine::graph {

void check_device_configurations(CheckContext& context) {
  std::set<std::string_view> seen;
  for (const auto& configuration : context.model.device_configurations) {
    const auto reject = [&](const auto&... parts) {
      context.findings.add(ErrorCode::invalid_model, "device configuration ",
                           quoted(configuration.name), " ", parts...);
    };
    if (configuration.name.empty()) reject("has no name");
    if (!seen.insert(configuration.name).second) reject("is defined twice");
    if (configuration.devices < 1) reject("has ", configuration.devices, " devices");
    const auto& names = configuration.device_names;
    if (!names.empty() && std::cmp_not_equal(names.size(), configuration.devices)) {
      reject("has ", configuration.devices, " devices and ", names.size(), " names of devices");
    }
    context.device_configurations.insert(configuration.name);
  }
}

void check_devices(const NodeDef& node, const Site& site) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& devices : *node.devices) {
    if (!site.context.device_configurations.contains(devices.configuration)) {
      site.reject(node, "is placed by device configuration ", quoted(devices.configuration),
                  ", which the model does not have");
    }
    for (const auto& sharding : devices.shardings) {
      if (!sharding.tensor.empty() &&
          (has(node.inputs, sharding.tensor) || has(node.outputs, sharding.tensor))) {
        continue;
      }
      site.reject(node, "shards ", quoted(sharding.tensor),
                  ", which is none of its inputs and outputs");
    }
  }
}

}  // namespace ondine::graph
