#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.h"

namespace ondine::python {
namespace {

// The handle of a model, or 0.
const ondine_model* model_at(std::uintptr_t address) {
  return reinterpret_cast<const ondine_model*>(address);
}

DatasetHandle open(const std::vector<std::string>& places, std::uintptr_t model, int use,
                   const Pairs& pairs) {
  const Options options(pairs);
  const Names names(places);
  ondine_dataset* made = nullptr;
  run([&] {
    return ondine_dataset_open(names.list(), model_at(model), use, options.list(), &made);
  });
  return DatasetHandle(made);
}

DatasetHandle from_arrays(const Dict& training, const Dict& validation, const Pairs& pairs) {
  const Options options(pairs);
  const Values rows = to_lasting_values(training);
  const Values others = to_lasting_values(validation);
  ondine_dataset* made = nullptr;
  run([&] { return ondine_dataset_from_values(rows.get(), others.get(), options.list(), &made); });
  return DatasetHandle(made);
}

std::optional<Dict> next_batch(const BatchesHandle& self) {
  ondine_values* made = nullptr;
  run([&] { return ondine_batches_next(self.get(), &made); });
  if (made == nullptr) return {};
  return to_dict(Values(made).get());
}

}  // namespace

void bind_data(nb::module_& module) {
  nb::class_<DatasetHandle> dataset(module, "Dataset");
  nb::class_<BatchesHandle> batches(module, "Batches");
  module.def("open_dataset", open);
  module.def("dataset_from_arrays", from_arrays);
  dataset.def("describe", [](const DatasetHandle& self) {
    return text([&](char** to) { return ondine_dataset_describe(self.get(), to); });
  });
  dataset.def("rows", [](const DatasetHandle& self) {
    std::uint64_t rows = 0;
    check(ondine_dataset_rows(self.get(), &rows));
    return rows;
  });
  dataset.def("training", [](const DatasetHandle& self) {
    ondine_dataset* made = nullptr;
    check(ondine_dataset_training(self.get(), &made));
    return DatasetHandle(made);
  });
  dataset.def("validation", [](const DatasetHandle& self) {
    ondine_dataset* made = nullptr;
    check(ondine_dataset_validation(self.get(), &made));
    return DatasetHandle(made);
  });
  dataset.def(
      "split",
      [](const DatasetHandle& self, double fraction,
         std::uint64_t seed) -> nb::typed<nb::tuple, DatasetHandle, DatasetHandle> {
        ondine_dataset* first = nullptr;
        ondine_dataset* second = nullptr;
        run([&] { return ondine_dataset_split(self.get(), fraction, seed, &first, &second); });
        return nb::make_tuple(DatasetHandle(first), DatasetHandle(second));
      });
  dataset.def("batches",
              [](const DatasetHandle& self, std::uint64_t size, std::uint64_t seed,
                 std::uint64_t epoch, bool shuffle, std::uintptr_t model, std::int64_t algorithm) {
                ondine_batches* made = nullptr;
                run([&] {
                  return ondine_batches_new(self.get(), size, seed, epoch, shuffle ? 1 : 0,
                                            model_at(model), algorithm, &made);
                });
                return BatchesHandle(made);
              });
  dataset.def("close", [](DatasetHandle& self) { self.close(); });
  batches.def("next", next_batch);
  batches.def("count", [](const BatchesHandle& self) {
    std::uint64_t count = 0;
    check(ondine_batches_count(self.get(), &count));
    return count;
  });
  module.def("evaluate", [](std::uintptr_t model, const DatasetHandle& data, const Pairs& pairs) {
    const Options options(pairs);
    return text([&](char** to) {
      return ondine_evaluate(model_at(model), data.get(), options.list(), to);
    });
  });
}

}  // namespace ondine::python
