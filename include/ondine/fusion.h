// The graph rewrites that replace several operators by one. Each can be left
// out (LoadOptions::no_fusion), to look for defects or to compare.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <ondine/export.h>

namespace ondine {

// One rewrite, known by its name. all_fusions() lists all there are; a rewrite
// needs no constant below, which are those that had one first.
class Fusion {
 public:
  static const Fusion recognize_layer_normalization;
  static const Fusion recognize_gelu;
  static const Fusion recognize_swish;
  static const Fusion recognize_cross_entropy;
  static const Fusion recognize_attention;
  static const Fusion fuse_quantized;
  static const Fusion fuse_activation_gradient;
  static const Fusion fold_normalization;
  static const Fusion fuse_normalization_gradient;
  static const Fusion move_relu_gradient;
  static const Fusion fuse_normalization;
  static const Fusion fuse_depthwise_gradient;
  static const Fusion fuse_normalized_conv;
  static const Fusion fuse_depthwise;  // former names of fuse_normalized_conv
  static const Fusion fuse_normalized_pointwise;
  static const Fusion fuse_pointwise_gradient;
  static const Fusion fuse_activation;
  static const Fusion fuse_pointwise;
  static const Fusion fuse_gather_gradient;
  static const Fusion fuse_sgd_update;
  static const Fusion fuse_gemm_sgd_update;
  static const Fusion fuse_gemm_update;
  static const Fusion fuse_gemm_adam;  // the former name of fuse_gemm_update
  static const Fusion fuse_elementwise;

  // "fuse_sgd_update" and so on. Static storage.
  constexpr const char* name() const noexcept { return name_; }
  friend constexpr bool operator==(Fusion a, Fusion b) noexcept {
    return std::string_view(a.name_) == b.name_;
  }

 private:
  constexpr explicit Fusion(const char* name) noexcept : name_(name) {}
  friend ONDINE_API std::span<const Fusion> all_fusions();

  const char* name_;
};

inline constexpr Fusion Fusion::recognize_layer_normalization{"recognize_layer_normalization"};
inline constexpr Fusion Fusion::recognize_gelu{"recognize_gelu"};
inline constexpr Fusion Fusion::recognize_swish{"recognize_swish"};
inline constexpr Fusion Fusion::recognize_cross_entropy{"recognize_cross_entropy"};
inline constexpr Fusion Fusion::recognize_attention{"recognize_attention"};
inline constexpr Fusion Fusion::fuse_quantized{"fuse_quantized"};
inline constexpr Fusion Fusion::fuse_activation_gradient{"fuse_activation_gradient"};
inline constexpr Fusion Fusion::fold_normalization{"fold_normalization"};
inline constexpr Fusion Fusion::fuse_normalization_gradient{"fuse_normalization_gradient"};
inline constexpr Fusion Fusion::move_relu_gradient{"move_relu_gradient"};
inline constexpr Fusion Fusion::fuse_normalization{"fuse_normalization"};
inline constexpr Fusion Fusion::fuse_depthwise_gradient{"fuse_depthwise_gradient"};
inline constexpr Fusion Fusion::fuse_normalized_conv{"fuse_normalized_conv"};
inline constexpr Fusion Fusion::fuse_depthwise = Fusion::fuse_normalized_conv;
inline constexpr Fusion Fusion::fuse_normalized_pointwise = Fusion::fuse_normalized_conv;
inline constexpr Fusion Fusion::fuse_pointwise_gradient{"fuse_pointwise_gradient"};
inline constexpr Fusion Fusion::fuse_activation{"fuse_activation"};
inline constexpr Fusion Fusion::fuse_pointwise{"fuse_pointwise"};
inline constexpr Fusion Fusion::fuse_gather_gradient{"fuse_gather_gradient"};
inline constexpr Fusion Fusion::fuse_sgd_update{"fuse_sgd_update"};
inline constexpr Fusion Fusion::fuse_gemm_sgd_update{"fuse_gemm_sgd_update"};
inline constexpr Fusion Fusion::fuse_gemm_update{"fuse_gemm_update"};
inline constexpr Fusion Fusion::fuse_gemm_adam = Fusion::fuse_gemm_update;
inline constexpr Fusion Fusion::fuse_elementwise{"fuse_elementwise"};

ONDINE_API const char* to_string(Fusion fusion) noexcept;
// In the order in which they run. The recognitions run before derivatives are
// made.
ONDINE_API std::span<const Fusion> all_fusions();
// The fusions that a name stands for: one for each name of all_fusions() and
// for the names that earlier versions had, every one for "all".
// Error(not_found) for any other name.
ONDINE_API std::vector<Fusion> fusions_from_name(std::string_view name);

}  // namespace ondine
