// Connectionist temporal classification: the probability of a sequence of labels summed over all
// its alignments with the steps, by the forward algorithm in the log domain (Graves et al. 2006).
// States s = 0 ... 2 L are the labels with a blank before, between and after them; a step goes on
// from s, s - 1, or s - 2 where the labels there differ:
//   a'(s) = log(e^a(s) + e^a(s - 1) + e^a(s - 2)) + log p(state s)
// `impossible` stands for the logarithm of 0, so that differences of logarithms are numbers.
#include "core/message.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

constexpr double impossible = -1e30;

class Ctc {
 public:
  Ctc(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options)
      : writer_(&writer), options_(&options), dtype_(prediction.dtype), label_(options.label) {
    write_inputs(prediction, options.ctc_blank);
    x_ = prediction.value;
    low_ = writer.scalar("loss.impossible", impossible, dtype_);
    blank_ = integer(writer, "loss.blank", options.ctc_blank);
  }

  LossValues write() {
    const std::string count = unsqueeze(*writer_, lengths_, 1, "loss.counts");
    write_states(count);
    const std::string scores = scan();
    const auto [log_p, has_labels] = final_score(scores, count);
    return {mean_over_labels(log_p, has_labels), {}, dtype_};
  }

 private:
  void write_inputs(const Prediction& prediction, std::int64_t blank) {
    DimDef first;
    if (prediction.dims) {
      if (prediction.dims->size() != 3) {
        fail(ErrorCode::mismatch, "CTC needs logits [batch, steps, classes], found rank ",
             prediction.dims->size(), " in ", quoted(prediction.value));
      }
      first = prediction.dims->front();
      const auto* classes = std::get_if<std::int64_t>(&prediction.dims->back());
      if (classes != nullptr && blank >= *classes) {
        fail(ErrorCode::mismatch, "the CTC blank ", blank, " is none of the ", *classes,
             " classes of ", quoted(prediction.value));
      }
    }
    write_label(*writer_, label_, DType::int64, std::vector<DimDef>{first, std::monostate()});
    lengths_ = label_ + "_lengths";
    input_lengths_ = label_ + "_input_lengths";
    write_label(*writer_, lengths_, DType::int64, std::vector<DimDef>{first});
    write_label(*writer_, input_lengths_, DType::int64, std::vector<DimDef>{first});
  }

  std::string node(const std::string& op, std::vector<std::string> inputs, const std::string& hint,
                   Attributes attributes = {}) {
    return writer_->node(op, std::move(inputs), hint, std::move(attributes));
  }
  std::string concat(std::vector<std::string> inputs, std::int64_t axis, const std::string& hint) {
    return node("Concat", std::move(inputs), hint, {{"axis", axis}});
  }
  // Without the last `count` columns.
  static std::string drop_last(GraphWriter& writer, const std::string& value, std::int64_t count,
                               const std::string& hint) {
    return writer.node(
        "Slice",
        {value, integers(writer, hint + ".from", {0}), integers(writer, hint + ".to", {-count}),
         integers(writer, hint + ".axis", {1})},
        hint);
  }

  // The classes of the states [N, S], and where a step may skip a blank.
  void write_states(const std::string& count) {
    const std::string at = counted(*writer_, size_of(*writer_, label_, 1), "loss.at");
    const std::string inside = node("Less", {at, count}, "loss.inside");
    const std::string labels = node("Where", {inside, label_, blank_}, "loss.labels");
    const std::string blanks =
        node("Add", {node("Sub", {labels, labels}, "loss.zeros"), blank_}, "loss.blanks");
    const std::string pairs = concat({unsqueeze(*writer_, blanks, 2, "loss.before"),
                                      unsqueeze(*writer_, labels, 2, "loss.after")},
                                     2, "loss.pairs");
    const std::string flat =
        node("Reshape", {pairs, integers(*writer_, "loss.flat", {0, -1})}, "loss.pair_states");
    const std::string none = node("Sub", {count, count}, "loss.none");
    const std::string last = node("Add", {none, blank_}, "loss.last_blank");
    states_ = concat({flat, last}, 1, "loss.states");
    const std::string two_before =
        concat({last, last, drop_last(*writer_, states_, 2, "loss.earlier")}, 1, "loss.two_before");
    skips_ = node("Not", {node("Equal", {states_, two_before}, "loss.is_repeated")}, "loss.skips");
    low_column_ =
        node("Add", {writer_->cast(none, dtype_, "loss.zero_column"), low_}, "loss.low_column");
  }

  // log p(state) of each step: [T, N, S].
  std::string emissions() {
    const std::string log_p = log_softmax(*writer_, x_, 2);
    const std::string one = integers(*writer_, "loss.repeat", {1});
    const std::string steps =
        node("Gather",
             {node("Shape", {x_}, "loss.logits_shape"), integers(*writer_, "loss.step_axis", {1})},
             "loss.steps");
    const std::string spread = concat({one, steps, one}, 0, "loss.spread");
    const std::string index =
        node("Expand", {unsqueeze(*writer_, states_, 1, "loss.state"), spread}, "loss.index");
    const std::string each =
        node("GatherElements", {log_p, index}, "loss.emission", {{"axis", std::int64_t{2}}});
    return node("Transpose", {each}, "loss.emissions",
                {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
  }

  // Whether a step is inside of its sequence: [T, N, 1].
  std::string active_steps() {
    const std::string at = counted(*writer_, size_of(*writer_, x_, 1), "loss.step");
    const std::string is_active = node("Less",
                                       {unsqueeze(*writer_, at, 1, "loss.step_column"),
                                        unsqueeze(*writer_, input_lengths_, 0, "loss.input_row")},
                                       "loss.is_active");
    return unsqueeze(*writer_, is_active, 2, "loss.active");
  }

  // Before the first step: all in state 0, from which the first blank and the first label follow.
  std::string start() {
    const std::string zeros =
        writer_->cast(node("Sub", {states_, states_}, "loss.no_state"), dtype_, "loss.start_zeros");
    const std::string at = counted(*writer_, size_of(*writer_, states_, 1), "loss.state_number");
    const std::string first =
        node("Equal", {at, integer(*writer_, "loss.first_state", 0)}, "loss.is_first");
    const std::string zero = writer_->scalar("loss.certain", 0, dtype_);
    return node("Add", {zeros, node("Where", {first, zero, low_}, "loss.first")}, "loss.start");
  }

  std::string scan() {
    auto body = std::make_shared<GraphDef>();
    body->name = writer_->names().fresh("loss.ctc_step");
    GraphWriter inner(*body, writer_->names(), writer_->opset());
    const auto input = [&](const std::string& hint, DType dtype) {
      ValueDef value;
      value.name = inner.names().fresh(hint);
      value.type = tensor_type(dtype, std::nullopt);
      body->inputs.push_back(value);
      return value.name;
    };
    const std::string before = input("loss.before_step", dtype_);
    const std::string emission = input("loss.step_emission", dtype_);
    const std::string active = input("loss.step_active", DType::boolean);
    inner.output(step(inner, before, emission, active), dtype_, std::nullopt);
    return node("Scan", {start(), emissions(), active_steps()}, "loss.end",
                {{"body", std::shared_ptr<const GraphDef>(std::move(body))},
                 {"num_scan_inputs", std::int64_t{2}}});
  }

  std::string step(GraphWriter& inner, const std::string& before, const std::string& emission,
                   const std::string& active) {
    const Attributes columns{{"axis", std::int64_t{1}}};
    const std::string next =
        inner.node("Concat", {low_column_, drop_last(inner, before, 1, "loss.but_last")},
                   "loss.next", columns);
    const std::string after = inner.node(
        "Concat", {low_column_, low_column_, drop_last(inner, before, 2, "loss.but_two")},
        "loss.after_next", columns);
    const std::string skipped = inner.node("Where", {skips_, after, low_}, "loss.skipped");
    const std::string ways =
        inner.node("Concat",
                   {unsqueeze(inner, before, 2, "loss.stay"), unsqueeze(inner, next, 2, "loss.go"),
                    unsqueeze(inner, skipped, 2, "loss.skip")},
                   "loss.ways", {{"axis", std::int64_t{2}}});
    const std::string total = reduce(inner, "ReduceLogSumExp", ways, {2}, false, "loss.way_sum");
    const std::string score = inner.node("Add", {total, emission}, "loss.score");
    return inner.node("Where", {active, score, before}, "loss.after_step");
  }

  // log p of the labels [N]: of the last blank or the last label, if there is one.
  std::pair<std::string, std::string> final_score(const std::string& scores,
                                                  const std::string& count) {
    const Attributes columns{{"axis", std::int64_t{1}}};
    const std::string zero = integer(*writer_, "loss.no_label", 0);
    const std::string has = node("Less", {zero, lengths_}, "loss.has_labels");
    const std::string last = node("Add", {count, count}, "loss.last");
    const std::string shift = node("Where",
                                   {unsqueeze(*writer_, has, 1, "loss.has_column"),
                                    integer(*writer_, "loss.one_back", 1), zero},
                                   "loss.shift");
    const std::string both =
        concat({last, node("Sub", {last, shift}, "loss.last_label")}, 1, "loss.ends");
    const std::string ends = node("GatherElements", {scores, both}, "loss.end_scores", columns);
    const std::string pair = reduce(*writer_, "ReduceLogSumExp", ends, {1}, false, "loss.pair");
    const std::string blank = node("GatherElements", {scores, last}, "loss.end_blank", columns);
    const std::string alone = reduce(*writer_, "ReduceSum", blank, {1}, false, "loss.blank_score");
    return {node("Where", {has, pair, alone}, "loss.log_probability"), has};
  }

  std::string mean_over_labels(const std::string& log_p, const std::string& has_labels) {
    const std::string bound = writer_->scalar("loss.bound", impossible / 2, dtype_);
    const std::string possible = node("Less", {bound, log_p}, "loss.is_possible");
    const std::string zero = writer_->scalar("loss.zero", 0, dtype_);
    const std::string each =
        node("Where", {possible, node("Neg", {log_p}, "loss.negative"), zero}, "loss.each");
    const std::string one = integer(*writer_, "loss.one_label", 1);
    const std::string count = writer_->cast(
        node("Where", {has_labels, lengths_, one}, "loss.label_count"), dtype_, "loss.divisor");
    return mean(*writer_, *options_, node("Div", {each, count}, "loss.per_label"), dtype_);
  }

  GraphWriter* writer_;
  const PrepareOptions* options_;
  DType dtype_;
  std::string label_;
  std::string lengths_;
  std::string input_lengths_;
  std::string x_;
  std::string low_;
  std::string low_column_;  // [N, 1]
  std::string blank_;
  std::string states_;
  std::string skips_;
};

}  // namespace

LossValues ctc(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  require_opset(writer, 11, "CTC");
  return Ctc(writer, prediction, options).write();
}

}  // namespace ondine::graph
