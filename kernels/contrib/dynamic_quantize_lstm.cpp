// dynamic_quantize_lstm.cpp — com.microsoft DynamicQuantizeLSTM: the standard's LSTM with quantized
// weights W [directions, input_size, 4 hidden_size] and R [directions, hidden_size, 4 hidden_size],
// whose scales and zero points are per direction or per column. X and, in each step, h are rounded
// to 8 bits (kernels/recurrent/quantized_lstm.h).
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"
#include "kernels/recurrent/quantized_lstm.h"

namespace ondine::kernels::ops {
namespace {

using LstmIn = RecurrentInput;
using In = QuantizedLstmInput;

void infer(InferContext& context) {
  check_call(context, {.required = 0b111100000111,
                       .inputs = In::count,
                       .outputs = 3,
                       .attributes = {"activation_alpha", "activation_beta", "activations", "clip",
                                      "direction", "hidden_size", "input_forget"}});
  require_floats(context, {LstmIn::x, LstmIn::b, LstmIn::initial_h, LstmIn::initial_c, LstmIn::p,
                           In::w_scale, In::r_scale});
  require_quantized(context, LstmIn::w, In::w_scale, In::w_point);
  require_quantized(context, LstmIn::r, In::r_scale, In::r_point);
  infer_quantized_lstm(context);
}

std::vector<Val> expand(ExpandContext& context) {
  std::vector<Val> operands;
  for (std::size_t i = 0; i < context.input_count(); ++i) operands.push_back(context.x(i));
  Attributes attributes = context.node().attributes;
  // onnxruntime keeps h of all steps in Y, with zeros after the end of a sequence, if a node has
  // it.
  if (!context.has_output(0)) attributes.emplace_back("keeps_ended", std::int64_t{1});
  return context.builder().nodes("QuantizedLSTM", operands, attributes, 3, ondine_domain);
}

}  // namespace

extern const OpDef dynamic_quantize_lstm{
    .name = "DynamicQuantizeLSTM", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
