// Arrays of Flower: .npy files in chunks, with their type and shape beside them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ondine/limits.h>
#include <ondine/model.h>

#include "core/budget.h"
#include "trainer/federated/objects.h"

namespace ondine::federated {

// The variables that a federation averages: the weights that a step of training updates.
std::vector<StateInfo> exchanged(const Model& model);

// The name that NumPy has for the type; empty where it has none.
std::string numpy_name(DType dtype);

// Limits of an array that is read, and the budget that it is charged to.
struct ArrayReading {
  Limits limits = {};
  std::shared_ptr<MemoryBudget> budget;
};

// The array of an Array object. Error(mismatch) unless it has the type and shape of `wanted` and
// only finite numbers, Error(corrupt) for damaged bytes. Type and shape are compared before any
// chunk is fetched.
Tensor read_array(const std::string& id, const StateInfo& wanted, const FetchObject& fetch,
                  const ArrayReading& reading);

// Error(mismatch) that names the first array of `wanted` that is missing, or one that is none of
// them.
void require_names(const std::vector<StateInfo>& wanted, std::set<std::string> names);

// Error(mismatch) unless the array has the type and shape of `wanted`, Error(not_finite) for
// numbers that are not.
void require_array(const Value& array, const StateInfo& wanted);

// Error(not_finite) that names the array unless all numbers are finite.
void require_finite(const Tensor& array, const std::string& name);

// Adds the array and its chunks.
fleet::Tree add_array(ObjectStore& to, const Tensor& array);

}  // namespace ondine::federated
