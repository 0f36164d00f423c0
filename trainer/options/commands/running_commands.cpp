// Commands that run models, and those about the command line itself.
#include "trainer/options/commands/command_rows.h"

namespace ondine::options {
namespace {

void add_inference_on_data(CommandRows& rows) {
  rows.data(false).excludes("input").excludes("prompt");
  rows.at("tokenizer").needs({"prompt"});
  rows.use(OptionGroup::evaluate, {"map"});
  rows.at("map").needs({"data"});
  rows.integer("top", "K", "With --data: the K best classes of each row").from(1).needs({"data"});
  rows.text("model-output", "NAME",
            "With --data: output to show; the one that was trained if absent")
      .needs({"data"});
  rows.flag("all-outputs", "With --data: show the other outputs too, as they are").needs({"data"});
  rows.text("masks", "FOLDER",
            "With --data of pictures: folder for a .png with the class of each pixel, in the size "
            "of the picture")
      .needs({"data"});
}

void add_sampling(CommandRows& rows) {
  rows.text("prompt", "TEXT", "Text to continue, by a model of the next byte or piece")
      .excludes("input");
  rows.integer("sample", "N", "With --prompt: bytes or pieces to add")
      .by_default("100")
      .needs({"prompt"});
  rows.real("temperature", "T",
            "With --prompt: divides the scores; 0 takes the largest one each time")
      .from(0)
      .by_default("1")
      .needs({"prompt"});
  rows.integer("seed", "N", "With --prompt: seed of the random choice")
      .by_default("0")
      .needs({"prompt"});
}

}  // namespace

CommandRows infer_rows() {
  CommandRows rows;
  rows.model();
  rows.text("input", "NAME=FILE", "NAME=FILE; repeat for each input").several();
  rows.checkpoint();
  rows.adapters();
  rows.output("PATH",
              "Folder to write the outputs to, as NAME.npy; with --data a .csv file, with --prompt "
              "a text");
  add_inference_on_data(rows);
  add_sampling(rows);
  rows.use(OptionGroup::load, {"threads", "precision", "deadline", "operator-set"});
  return rows;
}

CommandRows generate_command_rows() {
  CommandRows rows;
  rows.model("Model file, or a folder of Hugging Face or onnxruntime-genai");
  rows.text("prompt", "TEXT", "Text to continue");
  rows.text("chat", "TEXT",
            "Message of the user to answer; '-' takes each line of the standard input as one")
      .excludes("prompt");
  rows.text("system", "TEXT", "Message of the system, before the others").needs({"chat"});
  rows.checkpoint();
  rows.adapters();
  rows.use(OptionGroup::data, {"tokenizer", "chat-template"});
  rows.at("chat-template").needs({"chat"});
  rows.use(OptionGroup::generate);
  rows.quiet("the text, errors and warnings");
  rows.use(OptionGroup::load, {}, {"seed", "updates"});
  return rows;
}

CommandRows verify_rows() {
  CommandRows rows;
  rows.argument("path", "Cases or folders of cases").several().info.required = false;
  // For a process of its own: the case of one model.
  rows.text("hostile-child", "FOLDER", "Run the case in this process").hidden().excludes("path");
  rows.use(OptionGroup::load, {"threads", "deadline"});
  rows.flag("none-skipped", "Fail when a case is skipped");
  rows.real("refusal-seconds", "SECONDS", "Limit on the processor time of rejecting a model")
      .above(0)
      .by_default("0.2");
  rows.real("refusal-mib", "MIB",
            "Limit on the memory of rejecting a model, in MiB beyond its file")
      .by_default("64");
  rows.flag("run-setup",
            "Run setup.sh of hostile cases, in a copy: only for cases whose author you trust");
  rows.text("emulator", "PROGRAM", "Program that runs the executables of a cross build");
  rows.use(OptionGroup::load, {"operator-set"});
  return rows;
}

CommandRows replay_rows() {
  CommandRows rows;
  rows.argument("case", "Folder with model.onnx and case.json");
  rows.argument("results", "Folder to write to");
  rows.use(OptionGroup::load, {"seed", "operator-set"});
  rows.at("seed").says("Seed of random operators");
  return rows;
}

CommandRows completion_rows() {
  CommandRows rows;
  CommandRow& shell = rows.argument("shell", "bash, zsh or fish");
  shell.info.kind = OptionKind::choice;
  shell.info.choices = {"bash", "zsh", "fish"};
  return rows;
}

CommandRows man_rows() {
  CommandRows rows;
  rows.argument("command", "Command; the whole program if absent").info.required = false;
  rows.flag("markdown", "Print all commands as a page in Markdown").excludes("command");
  return rows;
}

CommandRows options_rows() {
  CommandRows rows;
  rows.json();
  return rows;
}

}  // namespace ondine::options
