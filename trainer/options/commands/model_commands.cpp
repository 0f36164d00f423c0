// Commands that describe, check, time and convert models.
#include "trainer/options/commands/command_rows.h"

namespace ondine::options {

CommandRows info_rows() {
  CommandRows rows;
  rows.model("Model files").several();
  rows.json().excludes("operators");
  rows.flag("fingerprint", "Compute the fingerprint even if many weights must be read for it")
      .excludes("operators")
      .excludes("layers");
  rows.flag("operators",
            "Print the operators that the models need, for the CMake option ONDINE_OPERATORS");
  rows.flag("layers", "Print the layers with parameters, multiply-adds and memory")
      .excludes("operators");
  rows.shape(
          "For --layers: INPUT=DIMxDIMx..., the shape of an input; dynamic dimensions are 1 if "
          "absent")
      .needs({"layers"});
  rows.algorithm().says("For --layers: index of the training algorithm").needs({"layers"});
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows check_rows() {
  CommandRows rows;
  rows.model("Model or operator-set document");
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows inspect_rows() {
  CommandRows rows;
  rows.model();
  rows.choice("stage", {"model", "graph", "training", "gradient", "optimized", "plan"},
              "Stage to print; plan is every node with its implementation and the storage of its "
              "outputs")
      .required();
  rows.algorithm().with("stage", {"training", "gradient", "optimized", "plan"});
  rows.shape("For --stage plan: INPUT=DIMxDIMx..., the shape of an input with dynamic dims")
      .with("stage", {"plan"});
  rows.flag("infer", "For --stage plan: plan inference instead of a training step")
      .with("stage", {"plan"})
      .excludes("algorithm");
  rows.choice("format", {"text", "json"}, "For --stage plan: text or json")
      .by_default("text")
      .with("stage", {"plan"});
  rows.loading();
  // How the model is to run, which no earlier stage shows.
  for (const char* const name : {"threads", "precision", "memory-budget", "updates", "no-fusion"}) {
    rows.at(name).with("stage", {"optimized", "plan"});
  }
  return rows;
}

CommandRows bench_rows() {
  CommandRows rows;
  rows.model();
  rows.dim_size("32");
  rows.shape("INPUT=DIMxDIMx..., the shape of an input with dynamic dimensions");
  rows.loading();
  rows.at("updates").excludes("inference");
  rows.integer("steps", "N", "Number of timed steps").from(1).by_default("50");
  rows.algorithm().excludes("inference");
  rows.flag("inference", "Time inference instead of training");
  rows.json();
  return rows;
}

CommandRows gradcheck_rows() {
  CommandRows rows;
  rows.model("Training model");
  rows.dim_size("3");
  rows.shape("INPUT=DIMxDIMx..., the shape of an input whose shape is not known or dynamic");
  rows.algorithm();
  rows.integer("directions", "N", "Number of random directions for each variable")
      .within(1, 1e6)
      .by_default("2");
  rows.integer("seed", "N", "Seed of the data and directions").by_default("0");
  rows.real("perturb", "SIZE", "Move the variables by random amounts of this relative size first")
      .from(0)
      .by_default("0");
  rows.flag("as-is", "Keep the model's precision instead of float64");
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows doctor_rows() {
  CommandRows rows;
  rows.model("Training model");
  rows.data(false);
  rows.use(OptionGroup::evaluate, {"map"});
  rows.at("map").needs({"data"});
  rows.integer("batch-size", "N", "Rows of the batch").from(1).by_default("32");
  rows.shape("Without --data: INPUT=DIMxDIMx..., the shape of an input with dynamic dimensions")
      .excludes("data");
  rows.flag("initialize", "Examine the model's initialization instead of its initializers");
  rows.use(OptionGroup::load, {"seed"});
  rows.at("seed").says("Seed of the batch and of random operators");
  rows.algorithm();
  rows.json();
  rows.loading();
  return rows;
}

CommandRows export_command_rows() {
  CommandRows rows;
  rows.model("Training model");
  rows.checkpoint().says("Checkpoint whose state to export");
  rows.text("weights", "FILE",
            "Weights in .safetensors, or a folder of adapters; they override the checkpoint");
  rows.output("FILE", "Model to write, or its weights alone as .safetensors");
  rows.text("adapter", "FOLDER", "Folder to write the adapters to, as PEFT reads them");
  rows.flag("training",
            "Keep the training information and its state (.onnx), or all state variables "
            "(.safetensors)")
      .needs({"output"});
  rows.flag("averaged", "Export the averages of the parameters in their place");
  rows.use(OptionGroup::export_);
  rows.at("external-data-from").needs({"output"});
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows lower_rows() {
  CommandRows rows;
  rows.model("Training model");
  rows.output("FILE", "Inference model to write").required();
  rows.algorithm().says("Training information whose step to write (0)");
  rows.integer("initialization-of", "INDEX",
               "Write the initialization of this training information instead")
      .excludes("algorithm")
      .replaces("initialization");
  rows.opset();
  rows.use(OptionGroup::export_);
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows differentiate_rows() {
  CommandRows rows;
  rows.model("Model whose main graph to differentiate");
  rows.output("FILE", "Inference model to write").required();
  rows.text("of", "TENSOR", "Tensor to differentiate; the sum of its elements").required();
  rows.text("by", "TENSOR,...", "Inputs, initializers or other tensors, with commas")
      .several()
      .required();
  rows.flag("forward", "Jacobian-vector product; the vectors are inputs");
  // The name of before, without the random numbers of --seed in it.
  rows.flag("vector-jacobian", "Vector-Jacobian product; the vector is an input")
      .former("seed-input")
      .excludes("forward");
  rows.flag("hessian", "Hessian-vector product; the vectors are inputs")
      .excludes("forward")
      .excludes("vector-jacobian");
  rows.opset();
  rows.use(OptionGroup::export_);
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows import_hf_rows() {
  CommandRows rows;
  rows.argument("folder",
                "Folder with config.json, model.safetensors or its parts, and tokenizer.json; or "
                "one of onnxruntime-genai");
  rows.output("FILE", "Inference model to write").required();
  rows.use(OptionGroup::import_);
  return rows;
}

CommandRows import_ort_rows() {
  CommandRows rows;
  rows.argument("folder",
                "Folder with eval_model.onnx, training_model.onnx, optimizer_model.onnx and "
                "checkpoint");
  rows.output("FILE", "Training model to write").required();
  rows.checkpoint().says(
      "Checkpoint to take parameters and optimizer state from, instead of the folder's");
  rows.text("label", "NAME", "Input that only the loss reads").repeats();
  rows.use(OptionGroup::export_);
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

}  // namespace ondine::options
