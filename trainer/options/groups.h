// The rows of each group.
#pragma once

#include <string>
#include <vector>

#include "trainer/options/rows.h"

namespace ondine::options {

struct DataTarget {
  DatasetOptions options;
  // Encoding and sample rate of a model's data record; empty and 0 if there is none.
  TextEncoding recorded_encoding = {};
  bool has_recorded_text = false;
  std::int64_t recorded_rate = 0;
};
// Privacy that a run is to spend, from which its noise is computed.
struct PrivacyGoal {
  std::optional<double> epsilon = {};
  std::optional<double> delta = {};
  std::uint64_t rows = 0;
  std::uint64_t epochs = 0;
};
struct PrepareTarget {
  PrepareOptions options;
  std::optional<Schedule> schedule = {};  // a chosen one
  ModelSchedule lengths = {};             // of the schedule; its own is not used
  std::string cut = {};
  PrivacyGoal privacy_goal = {};
};
struct TrainTarget {
  TrainerOptions options;
  std::span<const PortInfo> inputs = {};
};
struct NetworkTarget {
  std::optional<TargetKind> targets = {};
  // Rows of these groups set them.
  DataTarget data = {};
  LoadOptions load = {};
};
struct FinetuneTarget {
  FinetuneOptions options;
  // Rows of these groups set them.
  NetworkTarget network = {};
  PrepareTarget prepare = {};
  TrainTarget train = {};
};
struct EvaluateTarget {
  EvaluateOptions options;
  std::span<const PortInfo> inputs = {};
};

const Rows<LoadOptions>& load_rows();
const Rows<DataTarget>& data_rows();
const Rows<TableOptions>& table_rows();
const Rows<TrainBudget>& budget_rows();
const Rows<PrepareTarget>& prepare_rows();
const Rows<TrainTarget>& train_rows();
const Rows<EvaluateTarget>& evaluate_rows();
const Rows<ExportOptions>& export_rows();
const Rows<FederatedOptions>& federate_rows();
const Rows<GenerateOptions>& generate_rows();
const Rows<ImportHuggingFaceOptions>& import_rows();
const Rows<NetworkTarget>& network_rows();
const Rows<FinetuneTarget>& finetune_rows();

NetworkOptions finished(const NetworkTarget& target);
// What `values` have, of that which finetune() otherwise decides, goes where it says so.
FinetuneOptions finished(FinetuneTarget target, const OptionValues& values,
                         OptionSpelling spelling);

// "NAME,NAME,..." of each text, apart.
std::vector<std::string> names_in(const Given& given);

}  // namespace ondine::options
