// Raw bytes -> load -> export -> load: the same model, and the same bytes again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/export.h"
#include "proto/import.h"
#include "tests/fuzz/try_model.h"
#include "tests/proto/model_difference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondine;
  const Limits limits = test::narrow_options().limits;
  graph::ModelDef model;
  if (test::refuses([&] { model = load_model(std::as_bytes(std::span(data, size)), limits); })) {
    return 0;
  }
  const auto bytes = export_model(model);
  Limits wider = limits;
  wider.parse_bytes *= 2;
  const graph::ModelDef again = load_model(bytes, wider);
  const std::string difference = test::model_difference(model, again);
  if (!difference.empty()) throw test::Fault("changed by export: " + difference);
  if (export_model(again) != bytes) throw test::Fault("exported twice, the bytes differ");
  return 0;
}
