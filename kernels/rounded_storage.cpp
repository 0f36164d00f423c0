#include "kernels/rounded_storage.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "kernels/catalogue.h"
#include "kernels/matmul/rounded_factors.h"

namespace ondine::kernels {
namespace {

struct Entry {
  std::string_view identifier;  // its line in kernels/operators.inc
  RoundedStorage storage;
};

constexpr RoundedStorage product{
    .rounds = [](const graph::BindContext& context) { return ops::rounded_factors(context, 0); }};
constexpr RoundedStorage sgd_product{
    .rounds = [](const graph::BindContext& context) { return ops::rounded_factors(context, 1); }};
constexpr RoundedStorage adam_product{
    .rounds = [](const graph::BindContext& context) { return ops::rounded_factors(context, 5); }};
constexpr RoundedStorage unary{.reads = 0b1, .writes = true};
constexpr RoundedStorage binary{.reads = 0b11, .writes = true};

// In alphabetical order.
constexpr Entry entries[] = {
    {"abs_op", unary},
    {"add_op", binary},
    {"batch_normalization", {.reads = 0b1, .copy = 5}},
    {"batch_normalization_activation", {.reads = 0b1, .copy = 5}},
    {"batch_normalization_activation_grad", {.reads = 0b10}},
    {"batch_normalization_grad", {.reads = 0b10}},
    {"clip_gradient", {.reads = 0b10, .writes = true}},
    {"div_op", binary},
    {"gelu", unary},
    {"gelu_grad", binary},
    {"gemm", product},
    {"gemm_activation", product},
    {"gemm_adam", adam_product},
    {"gemm_sgd_update", sgd_product},
    {"layer_normalization", {.reads = 0b1, .copy = 3}},
    {"layer_normalization_grad", {.reads = 0b10}},
    {"matmul_op", product},
    {"matmul_t", product},
    {"mul_op", binary},
    {"normalize", {.reads = 0b1}},
    {"normalized_depthwise_conv_grad", {.reads = 0b100}},
    {"relu", unary},
    {"relu_gradient", {.reads = 0b10, .writes = true}},
    {"sigmoid", unary},
    {"softmax_grad", {.reads = 0b10}},
    {"sub_op", binary},
    {"tanh_op", unary},
};
static_assert(std::ranges::is_sorted(entries, {}, &Entry::identifier));

}  // namespace

RoundedStorage rounded_storage(const graph::OpDef& op) noexcept {
  const std::string_view name = identifier(op);
  const auto* const entry = std::ranges::lower_bound(entries, name, {}, &Entry::identifier);
  return entry != std::end(entries) && entry->identifier == name ? entry->storage
                                                                 : RoundedStorage{};
}

}  // namespace ondine::kernels
