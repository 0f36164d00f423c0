// Data sets and their batches.
#include <ondine/data_record.h>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"
#include "bindings/c/tensors.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

void give(Dataset made, ondine_dataset** dataset) {
  New<ondine_dataset> handle(std::move(made));
  *dataset = handle.release();
}

DataUse use_of(int use) {
  switch (use) {
    case ONDINE_FOR_TRAINING:
      return DataUse::training;
    case ONDINE_FOR_EVALUATION:
      return DataUse::evaluation;
    case ONDINE_FOR_INFERENCE:
      return DataUse::inference;
    default:
      throw Error(ErrorCode::mismatch, "there is no use of data " + std::to_string(use));
  }
}

DatasetOptions options_of(const ondine_option* given, const ondine_model* model, int use) {
  const OptionValues values = options_in(given);
  const DataUse purpose = use_of(use);
  if (model != nullptr) return dataset_options(values, get(model)->model, purpose);
  DatasetOptions result = dataset_options(values);
  result.use = purpose;
  return result;
}

// The memory of a batch is used again for the next one.
NamedValues copy_of(std::span<const NamedValue> feeds) {
  NamedValues copy;
  for (const auto& [name, value] : feeds) copy.emplace_back(name, value.tensor().clone());
  return copy;
}

BatchOptions options_of(uint64_t seed, uint64_t epoch, int shuffle, const ondine_model* model,
                        int64_t algorithm) {
  BatchOptions options;
  options.seed = seed;
  options.epoch = epoch;
  options.shuffle = shuffle != 0;
  if (model == nullptr) return options;
  const auto object = get(model);
  const Model& taker = object->model;
  const bool infers = algorithm < 0;
  options.inputs =
      infers ? taker.inputs() : taker.algorithm(static_cast<std::size_t>(algorithm)).inputs;
  return options;
}

std::vector<RowColumn> columns_of(const ondine_column* columns, size_t count) {
  std::vector<RowColumn> result;
  for (size_t i = 0; i < count; ++i) {
    const Shape shape = shape_of(columns[i].rank, columns[i].dims);
    result.push_back({text_in(columns[i].name, "the name of a column"),
                      plain_dtype(columns[i].dtype),
                      {shape.begin(), shape.end()}});
  }
  return result;
}

// Data of the caller's functions; released with the last reader.
using User = std::shared_ptr<void>;

RowReader reader_of(const std::vector<RowColumn>& columns, ondine_row_callback read,
                    const User& user) {
  std::vector<std::string> names;
  for (const RowColumn& one : columns) names.push_back(one.name);
  return [names = std::move(names), read, user](std::uint64_t row, const Row& out) {
    std::vector<void*> entries;
    for (const std::string& name : names) entries.push_back(out[name].mutable_data());
    const int failed = read(user.get(), row, entries.data());
    if (failed != 0) {
      throw Error(ErrorCode::cancelled, "the callback returned " + std::to_string(failed));
    }
    for (const std::string& name : names) {
      const Tensor entry = out[name];
      check_elements(entry.dtype(), entry.shape(), entry.data());
    }
  };
}

}  // namespace

ondine_error* ondine_dataset_open(const char* const* places, const ondine_model* model, int use,
                                  const ondine_option* given, ondine_dataset** dataset) {
  return guard([&] {
    require(dataset, "dataset");
    std::vector<std::filesystem::path> paths;
    for (const std::string& place : names_in(places)) paths.emplace_back(place);
    if (paths.empty()) throw Error(ErrorCode::mismatch, "there is no place to open");
    give(Dataset::open(paths, options_of(given, model, use)), dataset);
  });
}

ondine_error* ondine_dataset_from_values(const ondine_values* training,
                                         const ondine_values* validation,
                                         const ondine_option* given, ondine_dataset** dataset) {
  return guard([&] {
    require(dataset, "dataset");
    NamedValues rows = get(training)->copy();
    NamedValues others = validation == nullptr ? NamedValues() : get(validation)->copy();
    give(Dataset::from(std::move(rows), std::move(others), dataset_options(options_in(given))),
         dataset);
  });
}

ondine_error* ondine_dataset_from_rows(const ondine_column* columns, size_t count, uint64_t rows,
                                       ondine_row_callback read, void (*release)(void* user),
                                       void* user, const ondine_option* given,
                                       ondine_dataset** dataset) {
  return guard([&] {
    const User kept(user, [release](void* one) {
      if (release != nullptr) release(one);
    });
    require(dataset, "dataset");
    if (count > 0) require(columns, "columns");
    if (read == nullptr) throw Error(ErrorCode::mismatch, "the callback is NULL");
    give(Dataset::from_rows(columns_of(columns, count), rows,
                            reader_of(columns_of(columns, count), read, kept),
                            dataset_options(options_in(given))),
         dataset);
  });
}

ondine_error* ondine_dataset_describe(const ondine_dataset* dataset, char** json) {
  return guard([&] {
    require(json, "json");
    *json = copy_text(dataset_json(*get(dataset)));
  });
}

ondine_error* ondine_dataset_rows(const ondine_dataset* dataset, uint64_t* rows) {
  return guard([&] {
    require(rows, "rows");
    *rows = get(dataset)->rows();
  });
}

ondine_error* ondine_dataset_training(const ondine_dataset* dataset, ondine_dataset** part) {
  return guard([&] {
    require(part, "part");
    give(get(dataset)->train(), part);
  });
}

ondine_error* ondine_dataset_validation(const ondine_dataset* dataset, ondine_dataset** part) {
  return guard([&] {
    require(part, "part");
    give(get(dataset)->validation(), part);
  });
}

ondine_error* ondine_dataset_split(const ondine_dataset* dataset, double fraction, uint64_t seed,
                                   ondine_dataset** first, ondine_dataset** second) {
  return guard([&] {
    require(first, "first");
    require(second, "second");
    auto [rows, others] = get(dataset)->split(fraction, seed);
    New<ondine_dataset> made_first(std::move(rows));
    New<ondine_dataset> made_second(std::move(others));
    *first = made_first.release();
    *second = made_second.release();
  });
}

void ondine_dataset_free(ondine_dataset* dataset) { close(dataset); }

ondine_error* ondine_batches_new(const ondine_dataset* dataset, uint64_t size, uint64_t seed,
                                 uint64_t epoch, int shuffle, const ondine_model* model,
                                 int64_t algorithm, ondine_batches** batches) {
  return guard([&] {
    require(batches, "batches");
    if (size == 0) throw Error(ErrorCode::mismatch, "a batch needs at least one row");
    const auto data = get(dataset);
    New<ondine_batches> made;
    made->batches.emplace(data->batches(size, options_of(seed, epoch, shuffle, model, algorithm)));
    *batches = made.release();
  });
}

ondine_error* ondine_batches_count(const ondine_batches* batches, uint64_t* count) {
  return guard([&] {
    require(count, "count");
    *count = get(batches)->batches->count();
  });
}

ondine_error* ondine_batches_next(ondine_batches* batches, ondine_values** batch) {
  return guard([&] {
    require(batch, "batch");
    const auto object = get(batches);
    const auto scope = object->calls.begin("batches");
    NewValues made;
    if (!object->next) {
      object->next.emplace(object->batches->begin());
    } else if (*object->next != std::default_sentinel) {
      ++*object->next;
    }
    if (*object->next == std::default_sentinel) {
      *batch = nullptr;
      return;
    }
    made.set(copy_of((*object->next)->feeds()));
    made.give(batch);
  });
}

void ondine_batches_free(ondine_batches* batches) { close(batches); }
