// Reports as JSON; docs/c.md describes them.
#pragma once

#include <string>
#include <vector>

#include <ondine/adapters.h>
#include <ondine/dataset.h>
#include <ondine/federated_worker.h>
#include <ondine/finetune.h>
#include <ondine/generate.h>
#include <ondine/import_hugging_face.h>
#include <ondine/import_ort.h>
#include <ondine/model.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>
#include <ondine/weights.h>

namespace ondine::c {

std::string model_json(const Model& model);
std::string prepare_json(const PrepareReport& report);
std::string artifacts_json(const ImportOrtReport& report);
std::string restore_json(const RestoreReport& report);
std::string weights_json(const WeightReport& report);
std::string plan_json(const PlanInfo& plan);
std::string profile_json(const std::vector<ProfileEntry>& entries);
std::string texts_json(const std::vector<std::string>& texts);
std::string dataset_json(const Dataset& dataset);
std::string step_json(const StepReport& report);
std::string epoch_json(const EpochReport& report);
std::string fit_json(const FitReport& report);
std::string evaluation_json(const Evaluation& evaluation);
std::string finetune_json(const FinetuneReport& report);
std::string adapters_json(const std::vector<AdapterInfo>& adapters);
std::string generate_json(const GenerateReport& report);
std::string import_json(const ImportHuggingFaceReport& report);
std::string federated_json(const FederatedAnswer& answer);

}  // namespace ondine::c
