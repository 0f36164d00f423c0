// cast_map.cpp — the values of a map by ascending key, cast; SPARSE: at the positions given by the
// keys, of max_map elements. The shape is [1, n], or [n] where the model declares that.
#include <algorithm>
#include <map>

#include "kernels/cast/number_text.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/common/saturate.h"
#include "kernels/ml/map_entries.h"
#include "kernels/ml/post_transform.h"

namespace ondine::kernels::ops {
namespace {

DType target_of(const NodeView& node) {
  const std::string to = node.attr_string("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return DType::float32;
  if (to == "TO_INT64") return DType::int64;
  if (to == "TO_STRING") return DType::string;
  fail(ErrorCode::invalid_model, "attribute 'cast_to' is ", quoted(to),
       ", not TO_FLOAT, TO_STRING or TO_INT64");
}

bool sparse(const NodeView& node) {
  const std::string form = node.attr_string("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE") {
    fail(ErrorCode::invalid_model, "attribute 'map_form' is ", quoted(form),
         ", not DENSE or SPARSE");
  }
  return form == "SPARSE";
}

void infer(InferContext& context) {
  const MapTypes types(context.input(0));
  if (types.key != DType::int64) context.reject("the map has keys of ", types.key, ", not int64");
  if (sparse(context) && context.attr_int("max_map", 1) < 1) {
    fail(ErrorCode::invalid_model, "attribute 'max_map' is ", context.attr_int("max_map", 1));
  }
  context.set_output(0, target_of(context), std::nullopt);
}

template <class T>
T convert(const Tensor& value) {
  if (value.dtype() == DType::string) {
    const std::string& text = value.values<std::string>()[0];
    if constexpr (std::is_same_v<T, std::string>) {
      return text;
    } else {
      return std::visit([](auto number) { return saturate<T>(static_cast<double>(number)); },
                        parse_number(text));
    }
  }
  const float number = value.values<float>()[0];
  if constexpr (std::is_same_v<T, std::string>) {
    return format_number(number, DType::float32);
  } else {
    return saturate<T>(number);
  }
}

Kernel bind(BindContext& context) {
  const MapTypes types(context.input_type(0));
  const bool is_sparse = sparse(context);
  const std::int64_t max_map = context.attr_int("max_map", 1);
  const RowShape row(context, true);
  using Targets = Types<float, std::int64_t, std::string>;
  return visit(target_of(context), Targets{}, [&]<class T>() -> Kernel {
    return [=, output = Output(context, 0)](KernelContext& call) {
      const MapEntries entries(call, types);
      std::map<std::int64_t, const Tensor*> sorted;
      const auto keys = entries.keys.values<std::int64_t>();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (is_sparse && (keys[i] < 0 || keys[i] >= max_map)) {
          fail(ErrorCode::mismatch, "the map has key ", keys[i], ", needed: 0 to ", max_map - 1);
        }
        sorted[keys[i]] = &entries.values[i];
      }
      const std::int64_t n = is_sparse ? max_map : static_cast<std::int64_t>(sorted.size());
      T* y = output.memory<T>(call, row.of(n));
      if (y == nullptr) return;
      if (is_sparse) std::fill_n(y, n, T{});
      std::int64_t next = 0;
      for (const auto& [key, value] : sorted) y[is_sparse ? key : next++] = convert<T>(*value);
    };
  });
}

}  // namespace

extern const OpDef cast_map{.name = "CastMap", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
