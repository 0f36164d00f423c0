// LoadOptions and ExportOptions.
#include <algorithm>
#include <thread>

#include <ondine/fusion.h>

#include "trainer/options/groups.h"
#include "trainer/options/parse.h"

namespace ondine::options {
namespace {

constexpr std::int64_t most_threads = 1024;

void set_threads(LoadOptions& to, const Given& given) {
  if (given.text() == "auto") {
    to.threads = static_cast<int>(
        std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, most_threads));
    return;
  }
  const auto threads = integer(given.text());
  if (!threads || *threads < 1 || *threads > most_threads) {
    refuse(given.option(), "auto or a whole number from 1 to 1024", given.text());
  }
  to.threads = static_cast<int>(*threads);
}

Rows<LoadOptions> make_load_rows() {
  Rows<LoadOptions> rows(OptionGroup::load);
  rows.heading("Execution");
  rows.text("threads", "N", "Threads, or auto: one for each processor. Results do not depend on it",
            set_threads)
      .by_default("1")
      .letter('t');
  rows.choice<Precision>("precision",
                         {{"float32", Precision::float32},
                          {"bf16", Precision::bfloat16},
                          {"int8", Precision::int8}},
                         "Precision of products: float32; bf16 to round their factors if the "
                         "processor can; int8: bf16, and frozen matrices in 8 bits",
                         [](LoadOptions& to, Precision value) { to.precision = value; })
      .by_default("float32");
  rows.bytes("memory-budget",
             "Memory for values, state and constants; cheap values are computed again to stay "
             "below it",
             [](LoadOptions& to, std::uint64_t value) { to.memory_budget = value; });
  rows.duration("deadline", "Time that loading, opening data, each batch and each run may take",
                [](LoadOptions& to, std::chrono::milliseconds value) { to.deadline = value; });
  rows.integer(
          "seed", "N", "Seed of random operators and of the order of rows",
          [](LoadOptions& to, std::int64_t value) { to.seed = static_cast<std::uint64_t>(value); })
      .by_default("0");
  rows.choice<UpdatePolicy>(
          "updates", {{"atomic", UpdatePolicy::atomic}, {"immediate", UpdatePolicy::immediate}},
          "atomic: commit all updates together; immediate: write each update in place",
          [](LoadOptions& to, UpdatePolicy value) { to.updates = value; })
      .by_default("atomic")
      .rare();
  rows.text("no-fusion", "NAME", "Fusions to disable, or all",
            [](LoadOptions& to, const Given& given) {
              to.no_fusion.clear();
              for (const std::string& name : given.texts()) {
                for (const Fusion fusion : fusions_from_name(name)) to.no_fusion.push_back(fusion);
              }
            })
      .several()
      .rare();
  rows.flag("strict", "Treat warnings about the model as errors",
            [](LoadOptions& to, bool value) { to.strict = value; })
      .rare();
  rows.text("operator-set", "FILE", "Operator-set document whose functions the model may call",
            [](LoadOptions& to, const Given& given) {
              to.operator_sets.assign(given.texts().begin(), given.texts().end());
            })
      .repeats()
      .rare();
  return rows;
}

Rows<ExportOptions> make_export_rows() {
  Rows<ExportOptions> rows(OptionGroup::export_);
  rows.heading("Files");
  rows.bytes("external-data-from", "Write tensors of at least this size to a separate data file",
             [](ExportOptions& to, std::uint64_t value) { to.external_data_from = value; })
      .rare();
  return rows;
}

}  // namespace

const Rows<LoadOptions>& load_rows() {
  static const Rows<LoadOptions> rows = make_load_rows();
  return rows;
}

const Rows<ExportOptions>& export_rows() {
  static const Rows<ExportOptions> rows = make_export_rows();
  return rows;
}

}  // namespace ondine::options
