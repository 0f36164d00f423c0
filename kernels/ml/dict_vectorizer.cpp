// dict_vectorizer.cpp — y[i] = the map's value for vocabulary entry i, 0 or "" where the map has
// none. Each key must be in the vocabulary. The standard gives y the shape [n]; it is [1, n] where
// the model declares that.
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/ml/key_value_table.h"
#include "kernels/ml/map_entries.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

ClassLabels vocabulary_of(const NodeView& node) {
  return {node, "int64_vocabulary", "string_vocabulary"};
}

void infer(InferContext& context) {
  const MapTypes types(context.input(0));
  const ClassLabels vocabulary = vocabulary_of(context);
  if (vocabulary.dtype() != types.key) {
    context.reject("the map has keys of ", types.key, ", the vocabulary has ", vocabulary.dtype());
  }
  context.set_output(0, types.value, std::nullopt);
}

Kernel bind(BindContext& context) {
  const MapTypes types(context.input_type(0));
  const ClassLabels vocabulary = vocabulary_of(context);
  const KeyIndex index(vocabulary.tensor(), KeyIndex::Repeated::first);
  const auto n = static_cast<std::int64_t>(vocabulary.count());
  const Shape shape = RowShape(context, false).of(n);
  using Values = Types<float, double, std::int64_t, std::string>;
  return visit(types.value, Values{}, [&]<class T>() -> Kernel {
    return [=, output = Output(context, 0)](KernelContext& call) {
      const MapEntries entries(call, types);
      T* y = output.memory<T>(call, shape);
      if (y == nullptr) return;
      std::fill_n(y, n, T{});
      std::vector<std::int64_t> positions(entries.values.size());
      index.find(entries.keys.data(), std::ssize(positions), positions.data());
      for (std::size_t i = 0; i < positions.size(); ++i) {
        if (positions[i] < 0) fail(ErrorCode::mismatch, "key ", i, " is not in the vocabulary");
        y[positions[i]] = entries.values[i].values<T>()[0];
      }
    };
  });
}

}  // namespace

extern const OpDef dict_vectorizer{
    .name = "DictVectorizer", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
