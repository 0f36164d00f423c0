// Instruction that a message of the SuperLink gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ondine/trainer.h>

#include "trainer/federated/arrays.h"

namespace ondine::federated {

enum class Task : std::uint8_t { train, evaluate, query };

struct Instruction {
  Task task = Task::query;
  std::string arrays_name;  // of the record
  NamedValues arrays;       // one for each exchanged variable; none for a query
  fleet::Record config;
};

// Error(unsupported) for a type or an action that a node does not have.
Task task_of(const std::string& type);

// Reads the objects of a message. Throws Error where they are damaged, do not belong to `metadata`
// or do not fit the model; its text names the array.
Instruction read_instruction(const fleet::Metadata& metadata, const std::vector<StateInfo>& wanted,
                             const FetchObject& fetch, const ArrayReading& reading);

// How a message wants a round to be.
struct RoundSettings {
  std::uint64_t round = 0;  // "server-round"; 0: not said
  std::optional<std::uint64_t> epochs = {};
  std::optional<std::uint64_t> batch_size = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<float> learning_rate = {};
  double proximal = 0;                    // mu of FedProx
  std::vector<std::string> unknown = {};  // keys that have no effect
};

// Error(mismatch) for a value of another kind or out of range.
RoundSettings read_settings(const fleet::Record& config);

}  // namespace ondine::federated
