// Data record: facts that training learns of its data and that later uses must agree with.
#pragma once

#include <string>
#include <vector>

#include <ondine/data_record.h>
#include <ondine/trainer.h>

namespace ondine::fit {

// Writes facts of the training data into the model's record. `inputs`: inputs of the training
// algorithm, among them the targets. Errors as require_recorded().
void remember_data(Model& model, const Dataset& training, std::span<const PortInfo> inputs,
                   const ArrayMap& map, const std::vector<std::string>& targets);

// Error(mismatch) where the data are not as the record says: names or order of classes and columns,
// encoding of texts, sample rate.
void require_recorded(const DataRecord& record, const Dataset& data);

// Error(mismatch) where only one of both has weights of rows: the inputs of the training algorithm,
// or the data.
void require_weights(const DataRecord& record, std::span<const PortInfo> inputs,
                     const Dataset& data);

// Differences that may be intended, one sentence each: inputs whose elements have another type or
// scale than in training.
std::vector<std::string> input_notes(const DataRecord& record, std::span<const PortInfo> inputs,
                                     const Dataset& data, const ArrayMap& map);

// Warning that the plan of the model's table was made from other rows; empty otherwise.
std::string other_statistics(const DataRecord& record, const Dataset& training);
// Columns with categories that have no code of their own, a sentence each.
std::vector<std::string> unknown_categories(const DataRecord& record, const Dataset& data);
// How the training data differ from those of the record; empty where they are the same, or the
// record does not say.
std::string other_data(const DataRecord& record, const Dataset& training);

// `map` and, for inputs that it leaves out, the columns that fed them in training, where the data
// have these.
ArrayMap recorded_map(const DataRecord& record, std::span<const PortInfo> inputs,
                      const Dataset& data, const ArrayMap& map);

// Feeds inputs with the columns of recorded_map(), scaled as in training where the record says.
// `targets`: those among the inputs.
Feeder make_feeder(const DataRecord& record, std::span<const PortInfo> inputs, const Dataset& data,
                   const ArrayMap& map, std::vector<std::string> targets = {});

}  // namespace ondine::fit
