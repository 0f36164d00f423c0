#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

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

// Source of the library's rows; lives as long as something uses the data set.
struct Source {
  nb::object call;                 // (row) -> list of bytes, one for each column
  std::vector<std::size_t> sizes;  // of an entry in bytes
};

int read_row(void* user, std::uint64_t row, void* const* entries) {
  const auto& source = *static_cast<Source*>(user);
  raised_by_source().clear();
  const bool good = raised_by_source().guard([&] {
    const auto made = nb::cast<nb::list>(source.call(row));
    for (std::size_t i = 0; i < source.sizes.size(); ++i) {
      const auto entry = nb::cast<nb::bytes>(made[i]);
      if (entry.size() != source.sizes[i]) throw nb::value_error("an entry has another size");
      std::memcpy(entries[i], entry.c_str(), entry.size());
    }
  });
  return good ? 0 : 1;
}

void release(void* user) {
  if (!Py_IsInitialized()) return;
  const nb::gil_scoped_acquire acquired;
  delete static_cast<Source*>(user);
}

using SourceColumn = std::tuple<std::string, int, std::vector<std::int64_t>, std::size_t>;

// Columns are name, element type, dims and bytes of an entry.
DatasetHandle from_source(const std::vector<SourceColumn>& columns, std::uint64_t rows,
                          nb::object call, const Pairs& pairs) {
  const Options options(pairs);
  auto source = std::make_unique<Source>();
  source->call = std::move(call);
  std::vector<ondine_column> given;
  for (const auto& [name, dtype, dims, bytes] : columns) {
    given.push_back({name.c_str(), dtype, dims.size(), dims.data()});
    source->sizes.push_back(bytes);
  }
  ondine_dataset* made = nullptr;
  void* const user = source.release();
  run([&] {
    return ondine_dataset_from_rows(given.data(), given.size(), rows, read_row, release, user,
                                    options.list(), &made);
  });
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
  module.def("dataset_from_source", from_source);
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
