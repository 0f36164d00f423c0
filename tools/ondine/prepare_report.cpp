#include "ondine/prepare_report.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <variant>
#include <vector>

#include <ondine/printable.h>

namespace ondine::cli {
namespace {

std::string name_of(WeightInit init) { return init == WeightInit::keep ? "keep" : "he-uniform"; }

void print_precision(const PrepareReport& report) {
  if (!report.masters.empty()) {
    std::cout << "  master  " << report.masters.size()
              << " parameters of low precision are updated in float32: '"
              << printable(report.masters.front()) << "'"
              << (report.masters.size() > 1 ? ", ..." : "") << '\n';
  }
  if (const auto* dynamic = std::get_if<DynamicLossScale>(&report.loss_scale)) {
    std::cout << "  scale   of the loss, dynamic from " << dynamic->initial;
  } else if (const auto* fixed = std::get_if<StaticLossScale>(&report.loss_scale)) {
    std::cout << "  scale   of the loss, " << fixed->scale;
  } else {
    return;
  }
  std::cout << (report.loss_scale_reason.empty() ? "" : ", because " + report.loss_scale_reason)
            << '\n';
}

void print_quantized(const std::vector<QuantizedWeight>& quantized) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  const QuantizedWeight* worst = nullptr;
  for (const QuantizedWeight& one : quantized) {
    before += one.bytes_before;
    after += one.bytes_after;
    if (worst == nullptr || one.error > worst->error) worst = &one;
  }
  constexpr double megabyte = 1e6;
  std::cout << "  quantized " << quantized.size() << " frozen weights";
  if (worst == nullptr) {
    std::cout << ": products and lookups read no frozen matrix of 1,024 elements and more";
  } else {
    std::cout << ", " << static_cast<double>(before) / megabyte << " to "
              << static_cast<double>(after) / megabyte << " MB; largest relative error "
              << worst->error << ", of '" << printable(worst->name) << '\'';
  }
  std::cout << '\n';
}

}  // namespace

void print_report(const std::string& file, const PrepareReport& report, bool quantizes) {
  std::cout << printable(file) << ": loss '" << printable(report.loss) << "', trains "
            << report.trained.size() << " parameters, " << report.frozen.size() << " frozen\n"
            << "  loss    reads '" << printable(report.prediction)
            << "': " << report.prediction_reason << '\n';
  if (!report.head.empty()) {
    std::cout << "  head    '" << printable(report.head) << "', reads '" << printable(report.cut)
              << "'\n";
  }
  if (!report.init_reason.empty()) {
    std::cout << "  init    " << name_of(report.init) << ", because " << report.init_reason << '\n';
  }
  if (!report.schedule.empty()) std::cout << "  rate    " << report.schedule << '\n';
  if (!report.weight_decay.empty()) {
    const std::string& reason = report.weight_decay_reason;
    std::cout << "  decay   " << report.weight_decay << (reason.empty() ? "" : ": " + reason)
              << '\n';
  }
  if (!report.rules.empty()) std::cout << "  rules   " << report.rules << '\n';
  print_precision(report);
  if (quantizes) print_quantized(report.quantized);
  if (report.quantized_layers > 0) {
    std::cout << "  qat     rounds weights and activations of " << report.quantized_layers
              << " layers to 8 bits; the first steps find the ranges of activations\n";
  }
  for (const std::string& note : report.notes) std::cout << "  note    " << note << '\n';
  std::size_t name_width = 0;
  std::size_t shape_width = 0;
  for (const ParameterInfo& one : report.parameters) {
    name_width = std::max(name_width, printable(one.name).size());
    shape_width = std::max(shape_width, one.shape.to_string().size());
  }
  for (const bool trained : {true, false}) {
    for (const ParameterInfo& one : report.parameters) {
      if (one.trained != trained) continue;
      std::cout << (trained ? "  train   " : "  freeze  ") << std::left
                << std::setw(static_cast<int>(name_width)) << printable(one.name) << "  "
                << std::setw(static_cast<int>(shape_width)) << one.shape.to_string() << "  "
                << one.reason << '\n';
    }
  }
}

}  // namespace ondine::cli
