// AdamW (Loshchilov and Hutter 2019) with moments of a byte for each element and a scale for each
// block of neighbours, after Dettmers et al. 2022, 8-bit Optimizers via Block-wise Quantization.
// The codes are not theirs: m is s c |c| with c from -127 to 127, v is s c^4 with c from 0 to 255,
// so that m and the root of v have the same small levels near 0. A value between two levels goes to
// the upper one where the part of the way is more than 1 - u, u = fraction(t * golden ratio) in
// step t: over many steps moments keep their means, although each step changes v by less than the
// distance of two levels.
#include <cmath>

#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_opset = 9;
constexpr double golden = 0.61803398874989485;
constexpr double smallest_scale = 1e-37;
constexpr double most_signed = 127;
constexpr double most_unsigned = 255;

struct Moment {
  std::string codes;   // state
  std::string scales;  // state
  std::string value;   // what they stand for
  Tensor no_codes;
  Tensor no_scales;
};

class BlockWriter {
 public:
  BlockWriter(StepWriter& writer, const ParameterStep& step, const AdamW8& settings,
              std::int64_t block)
      : writer_(&writer),
        step_(&step),
        settings_(&settings),
        dtype_(step.dtype),
        x_(step.x),
        blocks_(static_cast<std::int64_t>(step.shape().size()) / block),
        block_(block) {
    require_opset(writer.writer(), first_opset, "8-bit AdamW");
  }

  std::string write() {
    const std::string g = writer_->reshape(step_->g, {blocks_, block_}, x_ + ".gradient_blocks");
    Moment m = read(".mean", DType::int8);
    Moment v = read(".squares", DType::uint8);
    m.value = writer_->blend(m.value, g, settings_->beta1, dtype_, x_ + ".mean");
    const std::string square = writer_->mul(g, g, x_ + ".gradient_square");
    v.value = writer_->blend(v.value, square, settings_->beta2, dtype_, x_ + ".squares");
    keep_mean(m);
    keep_squares(v);
    const Shape& shape = step_->shape();
    const std::string change =
        writer_->reshape(change_of(m.value, v.value), {shape.begin(), shape.end()}, x_ + ".change");
    const bool decays = step_->decay != 0;
    const std::string stepped = writer_->sub(x_, change, decays ? x_ + ".undecayed" : step_->next);
    return decays ? writer_->decayed(*step_, stepped, x_) : stepped;
  }

 private:
  Moment read(const char* suffix, DType type) {
    Moment moment;
    const std::string name = step_->parameter->name + suffix;
    moment.no_codes = Tensor(type, Shape{blocks_, block_});
    moment.no_scales = Tensor(dtype_, Shape{blocks_, 1});
    moment.codes = writer_->state(name + ".codes", moment.no_codes);
    moment.scales = writer_->state(name + ".scales", moment.no_scales);
    const std::string c = writer_->writer().cast(moment.codes, dtype_, name + ".levels");
    std::string value;
    if (type == DType::int8) {
      value = writer_->mul(writer_->apply("Abs", c, name + ".size"), c, name + ".square");
    } else {
      const std::string square = writer_->mul(c, c, name + ".square");
      value = writer_->mul(square, square, name + ".fourth");
    }
    moment.value = writer_->mul(value, moment.scales, name + ".old");
    return moment;
  }

  // rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
  std::string change_of(const std::string& m, const std::string& v) {
    ScalarValue& rate = writer_->once({"adamw8.rate", 0, step_->rate}, [&] {
      return writer_->div(step_->rate->name, writer_->correction(settings_->beta1).name,
                          "rate.step");
    });
    const std::string update =
        writer_->adam_direction(*step_, m, v, settings_->beta2, settings_->epsilon);
    return writer_->mul(update, rate.as(writer_->writer(), dtype_), x_ + ".block_change");
  }

  // The scale that gives the largest value of each block the largest code, `power` of it.
  std::string scales_of(const std::string& size, double power, const std::string& hint) {
    const std::string largest =
        reduce(writer_->writer(), "ReduceMax", size, {1}, true, hint + ".largest");
    const std::string scale =
        writer_->mul(largest, writer_->number("scale.share", 1 / power, dtype_), hint + ".scales");
    return writer_->writer().node(
        "Max", {scale, writer_->number("scale.smallest", smallest_scale, dtype_)},
        hint + ".scales.next");
  }

  // u of the step.
  const std::string& offset() {
    ScalarValue& value = writer_->once({"adamw8.offset"}, [&] {
      const std::string turns =
          writer_->mul(writer_->step_number(), writer_->number("golden", golden, DType::float64),
                       "rounding.turns");
      const std::string whole = writer_->apply("Floor", turns, "rounding.whole");
      const std::string part = writer_->sub(turns, whole, "rounding.double");
      return writer_->writer().cast(part, DType::float32, "rounding");
    });
    return value.as(writer_->writer(), dtype_);
  }

  // The code for a value between level k and the next one, `part` of the way.
  std::string rounded(const std::string& k, const std::string& part, double most,
                      const std::string& hint) {
    const std::string way = writer_->add(part, offset(), hint + ".way");
    const std::string step = writer_->apply("Floor", way, hint + ".up");
    const std::string code = writer_->add(k, step, hint + ".unbounded");
    return writer_->writer().node("Min", {code, writer_->number("code.most", most, dtype_)},
                                  hint + ".code");
  }

  void keep_mean(const Moment& m) {
    const std::string& hint = m.codes;
    const std::string size = writer_->apply("Abs", m.value, hint + ".size");
    const std::string scales = scales_of(size, most_signed * most_signed, hint);
    const std::string square = writer_->div(size, scales, hint + ".square");
    const std::string k =
        writer_->apply("Floor", writer_->apply("Sqrt", square, hint + ".root"), hint + ".level");
    const std::string above =
        writer_->sub(square, writer_->mul(k, k, hint + ".low"), hint + ".above");
    const std::string& one = writer_->number("one", 1, dtype_);
    const std::string width =
        writer_->add(writer_->add(k, k, hint + ".twice"), one, hint + ".width");
    const std::string code =
        rounded(k, writer_->div(above, width, hint + ".part"), most_signed, hint);
    const std::string sign = writer_->apply("Sign", m.value, hint + ".sign");
    keep(m, writer_->mul(code, sign, hint + ".signed"), scales);
  }

  void keep_squares(const Moment& v) {
    const std::string& hint = v.codes;
    const std::string scales = scales_of(v.value, std::pow(most_unsigned, 4), hint);
    const std::string fourth = writer_->div(v.value, scales, hint + ".fourth");
    const std::string root =
        writer_->apply("Sqrt", writer_->apply("Sqrt", fourth, hint + ".square"), hint + ".root");
    const std::string k = writer_->apply("Floor", root, hint + ".level");
    const std::string next =
        writer_->add(k, writer_->number("one", 1, dtype_), hint + ".next_level");
    const std::string low = power_of_four(k, hint + ".low");
    const std::string width =
        writer_->sub(power_of_four(next, hint + ".high"), low, hint + ".width");
    const std::string part =
        writer_->div(writer_->sub(fourth, low, hint + ".above"), width, hint + ".part");
    keep(v, rounded(k, part, most_unsigned, hint), scales);
  }

  std::string power_of_four(const std::string& value, const std::string& hint) {
    const std::string square = writer_->mul(value, value, hint + ".square");
    return writer_->mul(square, square, hint);
  }

  void keep(const Moment& moment, const std::string& code, const std::string& scales) {
    const std::string codes =
        writer_->writer().cast(code, moment.no_codes.dtype(), writer_->next_hint(moment.codes));
    writer_->bind(moment.codes, codes, moment.no_codes);
    writer_->bind(moment.scales, scales, moment.no_scales);
  }

  StepWriter* writer_;
  const ParameterStep* step_;
  const AdamW8* settings_;
  DType dtype_;
  std::string x_;
  std::int64_t blocks_;
  std::int64_t block_;
};

}  // namespace

std::string write_adamw8(StepWriter& writer, const ParameterStep& step, const AdamW8& settings,
                         std::int64_t block) {
  return BlockWriter(writer, step, settings, block).write();
}

}  // namespace ondine::graph
