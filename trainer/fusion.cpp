#include <ondine/fusion.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/message.h"
#include "graph/passes/pass.h"

namespace ondine {
namespace {

using Renamed = std::pair<std::string_view, std::string_view>;

constexpr std::array former_names{Renamed{"fuse_descent", "fuse_sgd_update"},
                                  Renamed{"fuse_gemm_descent", "fuse_gemm_sgd_update"},
                                  Renamed{"fuse_formula", "fuse_elementwise"},
                                  Renamed{"fuse_gemm_adam", "fuse_gemm_update"},
                                  Renamed{"fuse_depthwise", "fuse_normalized_conv"},
                                  Renamed{"fuse_normalized_pointwise", "fuse_normalized_conv"}};

std::string_view present_name(std::string_view name) {
  const auto renamed = std::ranges::find(former_names, name, &Renamed::first);
  return renamed == former_names.end() ? name : renamed->second;
}

}  // namespace

const char* to_string(Fusion fusion) noexcept { return fusion.name(); }

std::span<const Fusion> all_fusions() {
  static const std::vector<Fusion> all = [] {
    std::vector<Fusion> fusions;
    for (const graph::Step& step : graph::pipeline()) {
      if (step.optional) fusions.push_back(Fusion(step.pass->name.data()));
    }
    return fusions;
  }();
  return all;
}

std::vector<Fusion> fusions_from_name(std::string_view name) {
  const auto all = all_fusions();
  if (name == "all") return {all.begin(), all.end()};
  const auto found = std::ranges::find(all, present_name(name), &Fusion::name);
  if (found != all.end()) return {*found};
  std::string list;
  for (const Fusion fusion : all) list += cat(" ", fusion.name());
  fail(ErrorCode::not_found, "there is no fusion ", quoted(name), "; fusions are", list,
       " and all");
}

}  // namespace ondine
