#include <ondine/fusion.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/message.h"

namespace ondine {
namespace {

using Named = std::pair<std::string_view, Fusion>;

constexpr std::array names{
    Named{"recognize_layer_normalization", Fusion::recognize_layer_normalization},
    Named{"recognize_gelu", Fusion::recognize_gelu},
    Named{"recognize_swish", Fusion::recognize_swish},
    Named{"recognize_cross_entropy", Fusion::recognize_cross_entropy},
    Named{"recognize_attention", Fusion::recognize_attention},
    Named{"fuse_quantized", Fusion::fuse_quantized},
    Named{"fuse_activation_gradient", Fusion::fuse_activation_gradient},
    Named{"fold_normalization", Fusion::fold_normalization},
    Named{"fuse_normalization_gradient", Fusion::fuse_normalization_gradient},
    Named{"move_relu_gradient", Fusion::move_relu_gradient},
    Named{"fuse_normalization", Fusion::fuse_normalization},
    Named{"fuse_depthwise_gradient", Fusion::fuse_depthwise_gradient},
    Named{"fuse_depthwise", Fusion::fuse_depthwise},
    Named{"fuse_normalized_pointwise", Fusion::fuse_normalized_pointwise},
    Named{"fuse_pointwise_gradient", Fusion::fuse_pointwise_gradient},
    Named{"fuse_activation", Fusion::fuse_activation},
    Named{"fuse_pointwise", Fusion::fuse_pointwise},
    Named{"fuse_gather_gradient", Fusion::fuse_gather_gradient},
    Named{"fuse_sgd_update", Fusion::fuse_sgd_update},
    Named{"fuse_gemm_sgd_update", Fusion::fuse_gemm_sgd_update},
    Named{"fuse_gemm_adam", Fusion::fuse_gemm_adam},
    Named{"fuse_elementwise", Fusion::fuse_elementwise},
};

constexpr std::array former_names{
    Named{"fuse_descent", Fusion::fuse_sgd_update},
    Named{"fuse_gemm_descent", Fusion::fuse_gemm_sgd_update},
    Named{"fuse_formula", Fusion::fuse_elementwise},
};

}  // namespace

const char* to_string(Fusion fusion) noexcept {
  for (const auto& [name, value] : names) {
    if (value == fusion) return name.data();
  }
  return "unknown fusion";
}

std::span<const Fusion> all_fusions() noexcept {
  static constexpr auto all = [] {
    std::array<Fusion, names.size()> result{};
    std::transform(names.begin(), names.end(), result.begin(),
                   [](const Named& named) { return named.second; });
    return result;
  }();
  return all;
}

std::vector<Fusion> fusions_from_name(std::string_view name) {
  if (name == "all") return {all_fusions().begin(), all_fusions().end()};
  for (const auto known : {std::span<const Named>(names), std::span<const Named>(former_names)}) {
    for (const auto& [each, fusion] : known) {
      if (each == name) return {fusion};
    }
  }
  std::string list;
  for (const auto& [each, fusion] : names) list += cat(" ", each);
  fail(ErrorCode::not_found, "there is no fusion ", quoted(name), "; fusions are", list,
       " and all");
}

}  // namespace ondine
