// Turning an inference model into a training model by writing its TrainingInfoProto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>
#include <ondine/optimizers.h>
#include <ondine/preprocess.h>
#include <ondine/privacy.h>
#include <ondine/schedule.h>
#include <ondine/shape.h>
#include <ondine/table.h>

namespace ondine {

enum class Loss : std::uint8_t {
  softmax_cross_entropy,  // logits [N, C, ...], int64 labels [N, ...]
  bce_with_logits,        // logits and labels of one shape, labels in [0, 1]
  mse,
  mae,
  huber,  // 0.5 d^2 below delta, delta (|d| - 0.5 delta) above
  // Losses on probabilities, for models that have no logits. Logarithms are not below -100.
  nll,  // -log p, probabilities or their logarithms [N, C, ...], int64 labels [N, ...]
  bce_probabilities,  // probabilities and labels of one shape, labels in [0, 1]
  // docs/losses.md has the formulas.
  kl,           // KL divergence of softmax from labels, probabilities of the logits' shape
  hinge,        // scores and labels of one shape, labels -1 or 1
  focal,        // logits [N, C, ...], int64 labels [N, ...]
  dice,         // logits (of a sigmoid) [N, C, ...] and labels of one shape, labels in [0, 1]
  cosine,       // vectors along the last axis, labels of the same shape
  triplet,      // embeddings [N, D], int64 labels [N]: all triplets of a batch
  contrastive,  // embeddings [N, D], int64 labels [N]: all pairs of a batch
  // logits [N, T, C], int64 labels [N, L] and inputs "<label>_lengths" and "<label>_input_lengths",
  // int64 [N].
  ctc,
};

// A loss as an ONNX model with one output, a floating point number of rank 0: a file or the bytes
// of one. Its inputs with names of values of the main graph read these, in training mode; the
// others become inputs of the training model.
using LossModel = std::variant<std::monostate, std::filesystem::path, std::vector<std::byte>>;

// The factor on the loss whose derivatives are computed, so that small ones are not rounded to 0 in
// float16; the gradients are divided by it, in float32. With a factor, a step with a gradient that
// is not finite keeps weights, states of the optimizer, its step count and running statistics.
struct NoLossScale {};
struct StaticLossScale {
  float scale = 65536;  // positive
};
// Twice as large after `growth_interval` finite steps in a row, half as large after one that is
// not; from 2^-64 to 2^64.
struct DynamicLossScale {
  float initial = 65536;                // in these bounds
  std::int64_t growth_interval = 2000;  // positive
};
// Nothing: dynamic where derivatives pass through float16 values, else none.
using LossScale = std::variant<std::monostate, NoLossScale, StaticLossScale, DynamicLossScale>;

// The parameters that a pattern matches learn at `scale` times the learning rate, and not before
// `from_step` steps are done. Their moments follow the gradients from the first step on.
struct RateGroup {
  std::string pattern;          // as in PrepareOptions::train
  float scale = 1;              // positive
  std::uint64_t from_step = 0;  // steps of the optimizer
};

// A running average a of every trained parameter w, as state of the optimizer: after step t,
// counted from 1, a += max(1 - decay, 1 / max(1, t - from)) (w - a). take_averages (trainer.h) uses
// it.
struct WeightAverage {
  float decay = 0.999F;    // in [0, 1]; 1 is the mean over all steps after `from`
  std::uint64_t from = 0;  // steps of the optimizer
};

// Initial values that initialize() gives to weights of two or more dims. Biases and the like return
// to their values in the model: zeros stay zeros, ones stay ones, other vectors keep their values.
// Tables of embeddings, read by Gather alone, are drawn from the standard normal distribution.
enum class WeightInit : std::uint8_t {
  keep,  // they go back to the values in the model
  xavier_uniform,
  xavier_normal,
  he_uniform,
  he_normal,
  uniform,
  zeros,
  // keep where the model has been trained, which is when some weight has elements that differ;
  // else he_uniform.
  automatic,
};

// A linear layer, or a 1x1 convolution and the mean over all positions, in the place of the last
// layers. Convolutions that give a score for each position keep doing so.
struct NewHead {
  std::size_t classes = 0;
  // The value that the head reads; empty: the input of the last layer with parameters.
  std::string cut = {};
  // Names of the classes, for the file's metadata; empty, or one for each class.
  std::vector<std::string> names = {};
  // Mean and standard deviation of the numbers x that a linear layer predicts, one of each for
  // every number: its outputs are deviation * x + mean, with constants. Empty: x itself.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
};

// How frozen weights are stored: in a type, or as 4-bit normal floats (nf4), uint4 indices of 16
// levels that are quantiles of the normal distribution.
class FrozenFormat {
 public:
  FrozenFormat(DType dtype) : FrozenFormat(dtype, false) {}  // NOLINT: implicit
  static FrozenFormat nf4() { return {DType::uint4, true}; }

  DType dtype() const noexcept { return static_cast<DType>(code_ % normal); }  // of the elements
  bool is_nf4() const noexcept { return code_ >= normal; }

 private:
  static constexpr unsigned normal = 128;

  FrozenFormat(DType dtype, bool is_normal)
      : code_(static_cast<std::uint8_t>(static_cast<unsigned>(dtype) + (is_normal ? normal : 0))) {}

  std::uint8_t code_;
};

// Initial values of the matrices of low-rank adapters.
enum class LoraInit : std::uint8_t {
  random,  // one is drawn, the other zeros: the network computes at first what it did before
  // The part of the weight with its `rank` largest singular values (PiSSA, Meng et al. 2024); the
  // frozen weight becomes the rest. Only for linear layers whose weight is stored in a floating
  // point type.
  pissa,
};

// Low-rank adapters (Hu et al. 2021): y = x w of a layer becomes y = x w + scale dropout(x) a b,
// with a [in, rank], which initialize() draws uniform in +-1 / sqrt(in), and b [rank, out], zeros.
// They train in place of the other parameters of the model. Layers are nodes of the main graph
// whose weight is of floating point and depends on constants alone:
// - linear: MatMul, Gemm without transA, com.microsoft MatMulNBits;
// - convolutions: Conv of one group; a [rank, in, window...] is convolved like the weight, b
//   [out, rank, 1...] follows;
// - embeddings: Gather along axis 0 of a matrix; a [rows, rank] is zeros and b [rank, dims] drawn
//   from the standard normal distribution, without dropout.
struct Lora {
  std::int64_t rank = 8;  // 1 to 65,536
  float alpha = 16;       // positive; scale is alpha / rank
  // Glob patterns on the names of weights or of PyTorch's modules, whole ("layers.0.fc") or from a
  // dot on ("fc"); or "@3,7", numbers of nodes as Layer::node (layers.h) gives them. Empty, or
  // "all-linear": every linear layer but the last ones, whose results, or what is added to them,
  // are outputs of the model, and but weights that several nodes read.
  std::vector<std::string> targets = {};
  float dropout = 0;             // in [0, 1), of the adapters' input in training
  bool rank_stabilized = false;  // scale is alpha / sqrt(rank) (Kalajdzievski 2023)
  // DoRA (Liu et al. 2024): each output of the layer, its bias aside, is multiplied by m / |w'|,
  // with w' the column of w + scale a b, whose length counts as a constant in derivatives, and m
  // trained, at first |w|. Only for weights that are stored in a floating point type.
  bool dora = false;
  LoraInit init = LoraInit::random;
};

// (IA)3 (Liu et al. 2022): a factor, at first 1, of every output (`targets`) or input
// (`feedforward`) of a linear layer or convolution, bias included. The factors train in place of
// the other parameters. Patterns as in Lora::targets; a layer that both match scales its inputs.
struct Ia3 {
  std::vector<std::string> targets = {};
  std::vector<std::string> feedforward = {};
};

// Prompt tuning (Lester et al. 2021): `tokens` trained rows in front of the embeddings of every
// text, which initialize() draws from the normal distribution with the table's deviation. Outputs
// along the tokens lose those of the new ones, so that labels stay what they are. Masks of the
// texts are 1 there. Error(unsupported) where the model does more with token ids than look them up
// and take their shape.
struct PromptTuning {
  std::int64_t tokens = 20;  // 1 to 65,536
};

struct PrepareOptions {
  Loss loss = Loss::softmax_cross_entropy;
  // The value of the main graph that the loss reads; empty: the only or first floating point
  // output. softmax_cross_entropy and bce_with_logits read the logits of which the model makes it.
  std::string output = {};
  std::string label = "label";
  // The axis of that value with an entry for each class, from the end if negative, where the model
  // does not say it: of softmax_cross_entropy, nll, kl and focal. Error(mismatch) for axis 0, which
  // is the batch, for one that the value does not have, and where its rank is not known.
  std::optional<std::int64_t> class_axis = {};
  float huber_delta = 1;
  // Settings of softmax_cross_entropy, as in PyTorch. A batch without any label that counts has
  // loss 0.
  float label_smoothing = 0;                      // in [0, 1)
  std::optional<std::int64_t> ignore_index = {};  // a label that does not count
  std::vector<float> class_weights = {};          // one for each class, not negative; of focal too
  bool soft_labels = false;                       // labels are probabilities of the logits' shape
  float focal_gamma = 2;                          // not negative
  float margin = 1;                               // of triplet and contrastive, positive
  std::int64_t ctc_blank = 0;                     // the class that stands for no label
  // A new input "<label>_weights", float [N], multiplies the loss of each row before the mean over
  // all rows, and what the row adds to the accuracy. Trainer feeds it with the weights of the data
  // (DatasetOptions::weights). Not of triplet, contrastive and loss models.
  bool row_weights = false;
  LossModel loss_model = {};  // takes the place of `loss` and `output`
  Optimizer optimizer = Sgd{};
  std::optional<float> clip_norm = {};  // bound of the gradients' global norm
  LossScale loss_scale = {};
  // Glob patterns (* and ?) on initializer names. Nothing: every floating point initializer that
  // the loss depends on, but for constants: masks and other tensors with infinite, NaN or huge
  // elements; positions, anchors, frequencies and tables of sines; rank 0, unless its name is that
  // of a parameter (logit_scale); factors and exponents of one element, divisors, what is taken off
  // an input, zeros that recurrent layers start from. Where the file's metadata says what is a
  // parameter and what is not (PyTorch, dynamo=True) that decides, but for masks. A name in `train`
  // overrides all of that; a pattern with wildcards does where it matches constants alone.
  // "WEIGHT@0,8-15" in `train` is no pattern: of the weight of a linear layer, or of a convolution
  // of one group, the part trains that these inputs of the layer multiply, numbers in rising order.
  // The layer adds its product with a weight that begins as zeros (AdapterKind::channels), which
  // Model::export_inference adds to the whole. Error(mismatch) for weights that several nodes read
  // or that are computed. Excludes last_layers, qat, adapters, only_biases and an `init` other than
  // automatic and keep.
  std::vector<std::string> train = {};
  std::vector<std::string> freeze = {};
  // Train only the parameters of the last layers (nodes with parameters, counted from the output).
  std::optional<std::size_t> last_layers = {};
  // Parameters that PyTorch's exporter merged because they were equal train on their own again
  // where the file tells them from tied ones. `untie`: where it does not, too. `tie`: what was
  // written once trains as one; but running statistics never do.
  bool untie = false;
  bool tie = false;
  // Removes what follows a value and trains a new head there, whose weights initialize() draws,
  // uniform in +-1 / sqrt(fan in) unless `init` says otherwise. Its output is the first of the
  // model.
  std::optional<NewHead> head = {};
  WeightInit init = WeightInit::automatic;
  // An output "accuracy", of softmax_cross_entropy, nll, kl and focal. Nothing: unless there are
  // more than 1,000 classes, among which looking for the largest takes time and memory.
  std::optional<bool> accuracy = {};
  // Dropout and BatchNormalization train (statistics bound as state) instead of staying frozen. The
  // main graph infers in either case, also where the file was exported in training mode.
  bool training_mode = true;
  // Tensors of at least this many bytes go to one file beside the output (see ExportOptions);
  // needed from 2 GiB on.
  std::optional<std::uint64_t> external_data_from = {};
  std::optional<float> clip_value = {};  // bound of every element of the gradients, applied first
  // Groups with their own learning rate. If several match a parameter, their scales multiply and
  // the latest step counts.
  std::vector<RateGroup> rate_groups = {};
  std::optional<WeightAverage> average = {};
  // Two algorithms instead of one: number 0 computes the loss and adds rows times gradient to sums,
  // number 1 updates the parameters by the sums over the rows that they hold. The metadata
  // "ondine.accumulate" holds this number, after which Trainer takes a step of algorithm 1. Rows
  // are the first dim of the label, or else of the first input.
  std::optional<std::uint64_t> accumulate = {};
  // One for each input at most.
  std::vector<Preprocess> preprocess = {};
  // An input for each column, [N, 1], float64 or string, takes the place of one input of the model,
  // which must take as many numbers as the columns become: operators of ai.onnx 9 and LabelEncoder
  // of ai.onnx.ml 2 or newer. Embeddings are new parameters "COLUMN.embedding", drawn like a head.
  // Error(mismatch) if the model has a value with the name of a column.
  std::optional<TablePlan> table = {};
  // int8, int4, bfloat16 or nf4. Frozen float32 matrices of 1024 elements and more that only
  // MatMul, Gemm (as the second factor) and Gather read are stored in this format, and steps and
  // inference read them as they are stored. int8 and int4: DequantizeLinear nodes with a scale for
  // 32 neighbours along the dim that is summed over, from ai.onnx 21 on; int8 from 13 on with a
  // scale for each column or row. nf4: the levels that Gather nodes look up times a scale for 64
  // neighbours. bfloat16: Cast nodes. Needs 13; int4 and nf4 raise it to 21 (Error(unsupported)).
  std::optional<FrozenFormat> quantize_frozen = {};
  // int8 or uint8: quantization-aware training. BatchNormalization after a Conv is folded into it,
  // and every Conv, Gemm and MatMul of float32 weights reads weights (a scale for each channel) and
  // activations (one scale; uint8 where they cannot be negative, else int8) through QuantizeLinear
  // and DequantizeLinear. Scales are state: those of activations fit the first batch and follow
  // moving averages, those of weights the largest weight of a channel. Model::export_inference
  // writes integer weights and biases: int8 weights from -64 to 64, or uint8 ones from 1 to 255
  // around 128 (docs/prepare.md). Needs ai.onnx 13.
  std::optional<DType> qat = {};
  // The learning rate of each step as nodes of the algorithm, in float32, so that every runtime
  // that trains the model follows it. They read the optimizer's step count and the input
  // "learning_rate", which is the base rate of the schedule: a feed, Model::set_learning_rate and
  // TrainerOptions::learning_rate set that, and Model::learning_rate returns it. The rate of a step
  // is an output of the algorithm that updates, which the metadata "ondine.scheduled_rate" names;
  // "ondine.schedule" describes the schedule. `rate_groups` scale it. Nothing is written for a
  // constant rate without warm-up.
  std::optional<ModelSchedule> schedule = {};
  // Adapters train, and besides them a new head, embeddings of `table` and what patterns of `train`
  // name; everything else is frozen. Model::export_inference adds them to the weights, but for
  // quantized ones, beside which they stay. Excludes last_layers, qat, an `init` other than
  // automatic and keep, and the others of these four.
  std::optional<Lora> lora = {};
  std::optional<Ia3> ia3 = {};
  std::optional<PromptTuning> prompt = {};  // stays in the exported model
  // Biases alone train (BitFit, Ben Zaken et al. 2022), and besides them the same as with adapters:
  // terms of products along one dim, and biases of convolutions, normalizations and the like.
  bool only_biases = false;
  // Rows may hold several texts (docs/data.md). The new input "segment_ids" of the step, int64
  // [N, T], tells them apart: attention stays within each text, and positions that are looked up in
  // a table begin at 0 in each. The model's inference stays as it is. Error(unsupported) where
  // attention or positions are not recognized, or where scores of rows of several texts differ from
  // those of a row for each, which is tried out.
  bool packing = false;
  // Training with differential privacy (docs/privacy.md): the gradient of each row's loss is
  // clipped to a norm, and noise is added to their sum, by nodes of the algorithm. A new input
  // "<label>_counted", [N] or [1], of the loss's type, is 1 for rows that count and 0 for others;
  // by default all count. The metadata "ondine.privacy" has the settings, and "ondine.counted" that
  // input. Needs ai.onnx 13, a first dim of any size in every input, a catalogue loss that is a
  // mean over rows and parameters of its type, each read by one node. Error(unsupported) naming the
  // first node that mixes rows, or the parameter and operator where the norm of a row's gradient
  // cannot be formed; Error(mismatch) for options that it excludes.
  std::optional<Privacy> privacy = {};
  // Parameters that the optimizer's weight_decay decays: Error(mismatch) for settings here without
  // a weight_decay.
  DecayedParameters decayed = DecayedParameters::automatic;
  std::vector<DecayGroup> decay_groups = {};
};

// A floating point tensor of the model, trained or frozen.
struct ParameterInfo {
  std::string name;
  Shape shape;
  bool trained = false;
  std::string reason;  // why it is trained or frozen
};

// A frozen weight in the format of PrepareOptions::quantize_frozen.
struct QuantizedWeight {
  std::string name;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  double error = 0;  // root of the sum of squared differences over that of squared weights
};

// Contents of the written model, for messages: names of inputs, outputs and trained parameters.
struct PrepareReport {
  std::string loss;
  std::vector<std::string> trained;
  std::vector<std::string> frozen;        // what a derivative reaches of the rest
  std::vector<ParameterInfo> parameters;  // all, in the order of the model
  std::string prediction;                 // the value of the main graph that the loss reads
  std::string prediction_reason;          // and why that one
  std::vector<std::string> masters;       // float32 states of float16 and bfloat16 parameters
  LossScale loss_scale;                   // never nothing
  std::string loss_scale_reason;          // why that one; empty when it was given
  std::string head;  // the output of a new head, and the value that it reads; empty without one
  std::string cut;
  WeightInit init = WeightInit::keep;  // never automatic
  std::string init_reason;             // why automatic chose it; empty when init was given
  // Parameters of PyTorch modules that the exporter merged, renamed or left out.
  std::vector<std::string> notes;
  std::vector<QuantizedWeight> quantized;
  std::size_t quantized_layers = 0;  // of quantization-aware training
  std::string schedule;              // of the learning rate, for people; empty without one
  // Tensors that were frozen for their elements or their name alone, and Model::warnings() of the
  // written model.
  std::vector<std::string> warnings;
  std::string weight_decay;  // of which parameters, for people; empty without one
  // Why PrepareOptions::decayed left some out; empty where it was given or left out none.
  std::string weight_decay_reason;
  // Which parameters an optimizer with several rules treats how, for people; empty with one rule.
  std::string rules;
};

// An inference model with its training information added, ready to train: initialize(load.seed) has
// been called. From a file, from the bytes of one, or from a loaded model with its present weights.
// The model's data record (data_record.h) says the loss (softmax-cross-entropy, soft-cross-entropy,
// bce, mse, mae, huber, nll, bce-probabilities, kl, hinge, focal, dice, cosine, triplet,
// contrastive, ctc or model), the trained output, the label, the class axis, the classes of a new
// head and preprocessing. Its metadata says "ondine.learning_rate" (the input); with averages
// "ondine.averaged" (the parameters, one a line) and "ondine.averages" (their averages, in the same
// order); with ScheduleFree and Mezo "ondine.points" (what a step reads in the place of parameters,
// one a line); with accumulation "ondine.accumulate"; with a schedule "ondine.schedule" (for people
// to read) and "ondine.scheduled_rate" (an output). Throws what Model::load throws,
// Error(unsupported) naming the first operator on the loss's path without a derivative, and
// Error(mismatch) for a pattern that matches nothing, an output that is not there, probabilities
// where the loss needs logits and the model has none, options out of range, preprocessing that does
// not fit its input, and a model that has training information already.
ONDINE_API Model prepare(const std::filesystem::path& model, const PrepareOptions& options = {},
                         const LoadOptions& load = {}, PrepareReport* report = nullptr);
ONDINE_API Model prepare(std::span<const std::byte> model, const PrepareOptions& options = {},
                         const LoadOptions& load = {}, PrepareReport* report = nullptr);
ONDINE_API Model prepare(const Model& model, const PrepareOptions& options = {},
                         const LoadOptions& load = {}, PrepareReport* report = nullptr);

// A float16 or bfloat16 parameter is updated in float32: the algorithm holds "<name>.master", and a
// step sets the parameter to what this rounds to. Where it is no longer that (set_state, a file of
// weights), the step starts from the parameter. The loss is computed from the prediction in
// float32, which is also the type of labels that are compared with it.

// From file to file, without initializing anything; `output` is replaced in one step. Same errors.
ONDINE_API PrepareReport prepare(const std::filesystem::path& input,
                                 const std::filesystem::path& output, const PrepareOptions& options,
                                 const Limits& limits = {});
// Overload with LoadOptions: only `operator_sets` and `limits` count.
ONDINE_API PrepareReport prepare(const std::filesystem::path& input,
                                 const std::filesystem::path& output, const PrepareOptions& options,
                                 const LoadOptions& load);

}  // namespace ondine
