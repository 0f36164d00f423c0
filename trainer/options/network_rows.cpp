// NetworkOptions.
#include "trainer/options/groups.h"

namespace ondine::options {
namespace {

Rows<NetworkTarget> make_network_rows() {
  Rows<NetworkTarget> rows(OptionGroup::network);
  rows.heading("Network");
  rows.choice<TargetKind>("targets",
                          {{"classes", TargetKind::classes},
                           {"labels", TargetKind::labels},
                           {"numbers", TargetKind::numbers}},
                          "What targets are: classes 0 to C - 1, labels 0 or 1, or numbers; the "
                          "values decide if absent",
                          [](NetworkTarget& to, TargetKind value) { to.targets = value; });
  const auto data = [](NetworkTarget& to) -> DataTarget& { return to.data; };
  rows.take(data_rows(), "target", data)
      .says("Column of the targets; the one that the data name if absent");
  rows.take(data_rows(), {"image-size", "text-length", "audio-seconds"}, data);
  rows.take(load_rows(), "seed", [](NetworkTarget& to) -> LoadOptions& { return to.load; })
      .says("Seed of the weights");
  return rows;
}

}  // namespace

const Rows<NetworkTarget>& network_rows() {
  static const Rows<NetworkTarget> rows = make_network_rows();
  return rows;
}

NetworkOptions finished(const NetworkTarget& target) {
  const DatasetOptions& data = target.data.options;
  NetworkOptions result;
  result.target = data.target;
  result.targets = target.targets;
  result.image_size = data.image_size;
  result.text_length = data.text.length;
  result.seconds = data.audio.seconds;
  result.seed = target.load.seed;
  return result;
}

}  // namespace ondine::options
