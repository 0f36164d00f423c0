// Commands that prepare, train and evaluate models.
#include "trainer/options/commands/command_rows.h"

namespace ondine::options {
namespace {

void add_start(CommandRows& rows) {
  rows.heading("Start and result");
  rows.flag("initialize", "Start from the model's initialization instead of its initializers");
  rows.text("weights", "FILE", "Weights to start from, in .safetensors").excludes("resume");
  rows.output("FILE", "Trained inference model to write, or its weights as .safetensors");
  rows.text("metrics-file", "FILE", "File for one line of JSON with the metrics of each epoch");
  rows.quiet();
  rows.flag("dry-run",
            "Try every output, print data, plan, memory and the time of three steps, and write "
            "nothing")
      .excludes("resume")
      .excludes("resume-if-exists")
      .excludes("folds");
  rows.integer("seeds", "N",
               "Train with N seeds from --seed on and print mean and standard deviation of the "
               "metrics; writes no files")
      .from(1)
      .by_default("1")
      .excludes("dry-run")
      .excludes("folds");
}

// --data and what needs it: columns of a table, a budget and balanced weights of classes.
void add_training_rows(CommandRows& rows) {
  rows.heading("Data of --class-weights balanced, of columns of a table and of a budget");
  CommandRow& data = rows.data(false).with("class-weights", {"balanced"});
  for (const char* const name : {"one-hot", "embed", "standardize", "impute", "train-budget"}) {
    data.needs({name});
  }
  for (const char* const name : {"one-hot", "embed", "standardize", "impute", "train-budget"}) {
    rows.at(name).needs({"data"});
  }
  rows.real("validation-split", "FRACTION",
            "Fraction of the rows that `train` sets apart with the same --seed")
      .above(0)
      .below(1)
      .needs({"data"});
  rows.use(OptionGroup::load, {"seed"});
  rows.at("seed").needs({"data"});
}

}  // namespace

CommandRows prepare_command_rows() {
  CommandRows rows;
  rows.model("Inference model");
  rows.output("FILE", "Training model to write").required();
  rows.use(OptionGroup::prepare);
  rows.use(OptionGroup::table);
  rows.use(OptionGroup::budget);
  add_training_rows(rows);
  rows.use(OptionGroup::load, {"deadline", "operator-set"});
  rows.job_file();
  return rows;
}

CommandRows train_command_rows() {
  CommandRows rows;
  rows.model("Training model");
  rows.heading("Data");
  rows.data(false, true);
  rows.use(OptionGroup::train);
  rows.validation_data("Folder or files to evaluate on after each epoch").needs({"data"});
  for (const char* const name : {"validation-split", "folds", "augment", "map"}) {
    rows.at(name).needs({"data"});
  }
  add_start(rows);
  rows.loading();
  rows.use(OptionGroup::load, {"seed"});
  rows.job_file();
  return rows;
}

CommandRows finetune_command_rows() {
  CommandRows rows;
  rows.model("Inference model; if absent a new network (see the command new)").info.required =
      false;
  rows.data(true, true);
  rows.output("FILE", "Tuned inference model to write").required();
  rows.use(OptionGroup::finetune);
  rows.at("network").excludes("model");
  rows.validation_data("Folder or files to evaluate on");
  rows.quiet();
  rows.loading();
  rows.use(OptionGroup::load, {"seed"});
  rows.job_file();
  return rows;
}

CommandRows new_rows() {
  CommandRows rows;
  CommandRow& kind = rows.argument("kind", "mlp, cnn, unet, text or audio");
  kind.info.kind = OptionKind::choice;
  kind.info.choices = {"mlp", "cnn", "unet", "text", "audio"};
  rows.data(true);
  rows.use(OptionGroup::network, {"targets", "seed"});
  rows.output("FILE", "Inference model to write").required();
  rows.use(OptionGroup::load, {"deadline"});
  return rows;
}

CommandRows federate_command_rows() {
  CommandRows rows;
  rows.text("model", "FILE", "Training model").required();
  rows.heading("Data");
  rows.data(true, true);
  rows.use(OptionGroup::federate);
  rows.at("superlink").required();
  rows.use(OptionGroup::train, {"epochs", "batch-size", "learning-rate", "validation-split",
                                "augment", "max-time", "max-steps", "accumulate", "algorithm",
                                "map", "set", "metrics", "class-axis", "on-nan"});
  rows.heading("Result");
  rows.output("FILE",
              "Inference model with the weights of the last message to write, or these as "
              ".safetensors");
  rows.quiet("errors, notes and warnings");
  rows.loading();
  rows.use(OptionGroup::load, {"seed"});
  rows.job_file();
  return rows;
}

CommandRows eval_rows() {
  CommandRows rows;
  rows.model();
  rows.data(true);
  rows.use(OptionGroup::evaluate);
  rows.checkpoint();
  rows.flag("averaged", "Use the averages of the parameters");
  rows.use(OptionGroup::load, {"threads", "precision", "deadline", "operator-set"});
  rows.json();
  rows.job_file();
  return rows;
}

}  // namespace ondine::options
