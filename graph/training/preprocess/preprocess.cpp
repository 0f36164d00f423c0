#include "graph/training/preprocess/preprocess.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/message.h"
#include "core/scalar.h"
#include "graph/contract/opsets.h"
#include "graph/record/record.h"
#include "graph/training/prepare/writer.h"
#include "graph/training/preprocess/log_mel.h"
#include "graph/training/preprocess/raw_input.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_antialias = 18;  // ai.onnx whose Resize can widen its filter

// Channels first or last. As data sets do, takes 1 and 3 for numbers of channels.
Layout layout_of(const ValueDef& input) {
  const auto is_channels = [&](std::size_t axis) {
    const auto size = size_of_dim(input, axis);
    return size == 1 || size == 3;
  };
  if (is_channels(1)) return Layout::nchw;
  if (is_channels(3)) return Layout::nhwc;
  if (size_of_dim(input, 1) && !size_of_dim(input, 3)) return Layout::nchw;
  if (size_of_dim(input, 3) && !size_of_dim(input, 1)) return Layout::nhwc;
  fail(ErrorCode::mismatch, "preprocessing needs to know which axis of input ",
       describe_input(input), " has the channels: axis 1 or 3 must have size 1 or 3");
}

std::vector<std::int64_t> permutation(Layout from, Layout to) {
  if (from == to) return {};
  return from == Layout::nhwc ? std::vector<std::int64_t>{0, 3, 1, 2}
                              : std::vector<std::int64_t>{0, 2, 3, 1};
}

// The shortest text that reads as the same number.
template <class Number>
std::string shortest(Number number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string fraction_text(double scale) {
  const double inverse = 1 / scale;
  const bool is_fraction = inverse == std::round(inverse) && inverse > 1;
  return is_fraction ? "1/" + shortest(inverse) : shortest(scale);
}

class PreprocessWriter {
 public:
  PreprocessWriter(ModelDef& model, const Preprocess& options)
      : model_(&model),
        options_(&options),
        names_(model),
        opset_(Opsets(model.opsets).version("").value_or(0)),
        input_(&find_raw_input(model.graph, options.input)),
        dtype_(input_->type.dtype),
        is_image_(is_image_input(*input_)),
        layout_(is_image_ ? layout_of(*input_) : Layout::nhwc),
        mel_(options.mel ? std::optional<LogMelWriter>(std::in_place, *options.mel, *input_, opset_)
                         : std::nullopt),
        writer_(front_, names_, opset_) {}

  void write() {
    check();
    const std::string given = input_->name;
    const std::string result = names_.fresh(given + "_preprocessed");
    std::string value = mel_ ? spectrogram(given) : scale(arrange(given), dtype_);
    value = combine("Sub", value, options_->mean, "mean", 0);
    combine("Div", value, options_->deviation, "deviation", 1);
    if (front_.nodes.empty()) {
      fail(ErrorCode::mismatch, "nothing to preprocess in input ", describe_input(*input_));
    }
    front_.nodes.back().outputs = {result};
    record();
    set_type();
    put_in_front(model_->graph, std::move(front_), given, result, std::move(inner_));
  }

 private:
  void check() const {
    const auto is_number = [](double one) { return std::isfinite(one); };
    if (!is_integer(options_->type) && !is_float(options_->type)) {
      fail(ErrorCode::mismatch, "preprocessing takes numbers, not ", options_->type);
    }
    if (!is_number(options_->scale) || options_->scale == 0) {
      fail(ErrorCode::mismatch, "the scale must be a number other than 0, found ", options_->scale);
    }
    for (const float one : options_->mean) {
      if (!is_number(one)) fail(ErrorCode::mismatch, "the mean must be numbers, found ", one);
    }
    for (const float one : options_->deviation) {
      if (is_number(one) && one > 0) continue;
      fail(ErrorCode::mismatch, "standard deviations must be positive numbers, found ", one);
    }
    check_channels(options_->mean, "mean");
    check_channels(options_->deviation, "standard deviation");
    if (options_->resize && !mel_) check_size(*options_->resize);
    require_no_output(model_->graph, *input_);
  }

  void check_channels(const std::vector<float>& numbers, const char* what) const {
    if (numbers.size() < 2) return;
    const auto channels = size_of_dim(*input_, channel_axis());
    if (channels == static_cast<std::int64_t>(numbers.size())) return;
    fail(ErrorCode::mismatch, "the ", what, " has ", numbers.size(), " numbers, input ",
         describe_input(*input_), " has ",
         channels ? std::to_string(*channels) : "an unknown number of", " channels");
  }

  void check_size(ImageSize size) const {
    if (!is_image_) {
      fail(ErrorCode::mismatch, "resizing needs an input of images, [N, C, H, W] or [N, H, W, C], ",
           "not ", describe_input(*input_));
    }
    if (size.height <= 0 || size.width <= 0) {
      fail(ErrorCode::mismatch, "images cannot be resized to ", size.height, "x", size.width);
    }
    const auto height = size_of_dim(*input_, height_axis(layout_));
    const auto width = size_of_dim(*input_, height_axis(layout_) + 1);
    if (height.value_or(size.height) != size.height || width.value_or(size.width) != size.width) {
      fail(ErrorCode::mismatch, "input ", describe_input(*input_), " does not take images of ",
           size.height, "x", size.width);
    }
    if (opset_ < 11) {
      fail(ErrorCode::unsupported, "resizing needs ai.onnx 11 or newer, the model imports ai.onnx ",
           opset_);
    }
  }

  static std::size_t height_axis(Layout layout) { return layout == Layout::nchw ? 2 : 1; }

  std::size_t channel_axis() const {
    if (is_image_) return layout_ == Layout::nchw ? 1 : 3;
    return input_->type.dims && !input_->type.dims->empty() ? input_->type.dims->size() - 1 : 0;
  }

  std::string spectrogram(std::string value) {
    if (options_->mel->type != mel_->dtype()) {
      value = writer_.cast(value, mel_->dtype(), "preprocess.cast");
    }
    return mel_->write(writer_, scale(value, mel_->dtype()));
  }

  // In the layout, type and size of the model.
  std::string arrange(std::string value) {
    const Layout given = is_image_ ? options_->layout : layout_;
    const Layout inner = options_->resize ? Layout::nchw : layout_;
    value = transpose(value, given, inner);
    if (options_->type != dtype_) value = writer_.cast(value, dtype_, "preprocess.cast");
    if (!options_->resize) return value;
    return transpose(resize(value, *options_->resize), Layout::nchw, layout_);
  }

  std::string transpose(const std::string& value, Layout from, Layout to) {
    auto axes = permutation(from, to);
    if (axes.empty()) return value;
    return writer_.node("Transpose", {value}, "preprocess.layout", {{"perm", std::move(axes)}});
  }

  std::string resize(const std::string& value, ImageSize size) {
    const std::string target = writer_.initializer(
        "preprocess.size",
        Tensor::of(Shape{2}, std::vector<std::int64_t>{size.height, size.width}));
    Attributes attributes{{"mode", std::string("linear")}};
    if (opset_ >= first_antialias) {
      attributes.emplace_back("antialias", std::int64_t{1});
      attributes.emplace_back("axes", std::vector<std::int64_t>{2, 3});
      return writer_.node("Resize", {value, "", "", target}, "preprocess.resize",
                          std::move(attributes));
    }
    // Sizes of all axes.
    const auto numbers = [&](std::vector<std::int64_t> one) {
      return writer_.initializer("preprocess.axes", Tensor::of(Shape{1}, one));
    };
    const std::string shape = writer_.node("Shape", {value}, "preprocess.shape");
    const std::string kept =
        writer_.node("Slice", {shape, numbers({0}), numbers({2})}, "preprocess.kept");
    const std::string sizes =
        writer_.node("Concat", {kept, target}, "preprocess.sizes", {{"axis", std::int64_t{0}}});
    const auto none = [&] {
      return opset_ >= 13 ? std::string()
                          : writer_.initializer("preprocess.none", Tensor(DType::float32, {0}));
    };
    return writer_.node("Resize", {value, none(), none(), sizes}, "preprocess.resize",
                        std::move(attributes));
  }

  std::string scale(const std::string& value, DType dtype) {
    if (options_->scale == 1) return value;
    const double inverse = 1 / options_->scale;
    const bool divides = inverse == std::round(inverse);
    return writer_.node(
        divides ? "Div" : "Mul",
        {value, writer_.initializer("preprocess.scale",
                                    scalar_tensor(divides ? inverse : options_->scale, dtype))},
        "preprocess.scaled");
  }

  std::string combine(const char* op, const std::string& value, const std::vector<float>& numbers,
                      const char* what, float neutral) {
    if (std::all_of(numbers.begin(), numbers.end(), [&](float one) { return one == neutral; })) {
      return value;
    }
    return writer_.node(op, {value, writer_.initializer(cat("preprocess.", what), vector(numbers))},
                        cat("preprocess.by_", what));
  }

  // Broadcasts along the channels.
  Tensor vector(const std::vector<float>& numbers) const {
    if (numbers.size() == 1) return scalar_tensor(static_cast<double>(numbers[0]), dtype_);
    const auto channels = static_cast<std::int64_t>(numbers.size());
    Tensor result(dtype_,
                  is_image_ && layout_ == Layout::nchw ? Shape{channels, 1, 1} : Shape{channels});
    auto* to = static_cast<std::byte*>(result.mutable_data());
    for (const float number : numbers) {
      std::memcpy(to, scalar_tensor(static_cast<double>(number), dtype_).data(), size_of(dtype_));
      to += size_of(dtype_);
    }
    return result;
  }

  void set_type() {
    TypeDef& type = input_->type;
    inner_ = *input_;
    type.dtype = options_->mel ? options_->mel->type : options_->type;
    type.denotation = {};
    type.dim_denotations = {};
    if (mel_) {
      type.dims = mel_->sample_dims(names_);
      return;
    }
    if (!is_image_) return;
    const std::vector<DimDef> dims = *type.dims;
    const std::size_t from = height_axis(layout_);
    const std::size_t to = height_axis(options_->layout);
    std::vector<DimDef>& raw = *type.dims;
    raw[to == 2 ? 1 : 3] = dims[channel_axis()];
    raw[to] =
        options_->resize ? DimDef(DimName(names_.fresh(input_->name + "_height"))) : dims[from];
    raw[to + 1] =
        options_->resize ? DimDef(DimName(names_.fresh(input_->name + "_width"))) : dims[from + 1];
  }

  std::string description() const {
    std::string text(to_string(options_->mel ? options_->mel->type : options_->type));
    const auto add = [&](const char* what, const std::vector<float>& numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        text += (i == 0 ? cat(" ", what, " ") : ":") + shortest(numbers[i]);
      }
    };
    if (options_->mel) {
      text += " " + describe_mel(*options_->mel);
    } else if (is_image_) {
      text += options_->layout == Layout::nhwc ? " nhwc" : " nchw";
    }
    if (options_->resize && !mel_) {
      text += cat(" resize ", options_->resize->height, "x", options_->resize->width);
    }
    if (options_->scale != 1) text += " scale " + fraction_text(options_->scale);
    add("mean", options_->mean);
    add("std", options_->deviation);
    return text;
  }

  void record() {
    DataRecord record = read_record(model_->metadata);
    DataRecord::Preprocessing one{input_->name, description(), {}, false};
    if (!mel_ && options_->resize) {
      one.resize = options_->resize;
      one.antialias = opset_ >= first_antialias;
    }
    if (options_->mel) record.audio.rate = options_->mel->rate;
    std::erase_if(record.preprocessing,
                  [&](const auto& before) { return before.input == one.input; });
    record.preprocessing.push_back(std::move(one));
    write_record(model_->metadata, record);
  }

  ModelDef* model_;
  const Preprocess* options_;
  Names names_;
  std::int64_t opset_;
  ValueDef* input_;
  DType dtype_;
  bool is_image_;
  Layout layout_;  // of the model
  std::optional<LogMelWriter> mel_;
  GraphDef front_;
  GraphWriter writer_;
  ValueDef inner_;  // what the model itself reads
};

}  // namespace

void write_preprocess(ModelDef& model, const Preprocess& options) {
  PreprocessWriter(model, options).write();
}

}  // namespace ondine::graph
