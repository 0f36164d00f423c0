#include <ondine/prepare.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/training/prepare.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/assemble.h"

namespace ondine {

PrepareReport prepare(const std::filesystem::path& input, const std::filesystem::path& output,
                      const PrepareOptions& options, const Limits& limits) {
  return guard_memory("prepare the model", [&] {
    graph::ModelDef model = load_model(input, limits);
    return with_context(
        [&] {
          PrepareReport report = graph::prepare(model, options);
          // A step is put together as it will be when it is loaded: an operator without a
          // derivative is found before anything is written.
          LoadOptions load;
          load.limits = limits;
          trainer::assemble(model, load);
          save_model(model, output, options.external_data_from);
          return report;
        },
        [&] { return "model " + quoted(input.string()); });
  });
}

}  // namespace ondine
