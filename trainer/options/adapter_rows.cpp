// PrepareOptions: adapters, which train in place of the model's parameters.
#include "trainer/options/prepare_parts.h"

namespace ondine::options {
namespace {

void add_low_rank(Rows<PrepareTarget>& rows) {
  rows.integer("lora", "RANK", "Train low-rank adapters of this rank beside frozen linear layers",
               [](PrepareTarget& to, std::int64_t value) { to.options.lora = Lora{.rank = value}; })
      .from(1)
      .excludes("only-biases");
  rows.real("lora-alpha", "NUMBER", "Adapters count alpha / rank times",
            [](PrepareTarget& to, double value) {
              to.options.lora->alpha = static_cast<float>(value);
            })
      .by_default("16")
      .needs({"lora"});
  rows.text(
          "lora-targets", "PATTERN",
          "Layers with adapters, by names of weights or modules, or @N,M by numbers of nodes that "
          "info --layers prints; all-linear (the default) is every linear layer but the last",
          [](PrepareTarget& to, const Given& given) { to.options.lora->targets = given.texts(); })
      .several()
      .needs({"lora"});
  rows.real("lora-dropout", "PART", "Part of an adapter's input to drop in training",
            [](PrepareTarget& to, double value) {
              to.options.lora->dropout = static_cast<float>(value);
            })
      .within(0, 1)
      .needs({"lora"})
      .excludes("no-training-mode");
  rows.flag("rslora", "Adapters count alpha / sqrt(rank) times",
            [](PrepareTarget& to, bool value) { to.options.lora->rank_stabilized = value; })
      .needs({"lora"});
  rows.flag("dora", "Train the lengths of the weights of each output too, apart from directions",
            [](PrepareTarget& to, bool value) { to.options.lora->dora = value; })
      .needs({"lora"})
      .excludes("quantize-frozen");
  rows.choice<LoraInit>(
          "lora-init", {{"random", LoraInit::random}, {"pissa", LoraInit::pissa}},
          "What adapters start from: random and zeros, or the largest singular values (pissa)",
          [](PrepareTarget& to, LoraInit value) { to.options.lora->init = value; })
      .by_default("random")
      .needs({"lora"});
}

void add_others(Rows<PrepareTarget>& rows) {
  const auto factors = [](PrepareTarget& to) -> Ia3& {
    if (!to.options.ia3) to.options.ia3.emplace();
    return *to.options.ia3;
  };
  rows.text(
          "ia3", "PATTERN",
          "Train factors of the outputs of these layers, such as keys and values; patterns as of "
          "lora-targets",
          [factors](PrepareTarget& to, const Given& given) { factors(to).targets = given.texts(); })
      .several()
      .excludes("lora")
      .excludes("only-biases");
  rows.text("ia3-feedforward", "PATTERN",
            "Train factors of the inputs of these layers, such as the last ones of feed-forward "
            "parts",
            [factors](PrepareTarget& to, const Given& given) {
              factors(to).feedforward = given.texts();
            })
      .several()
      .excludes("lora")
      .excludes("only-biases");
  rows.integer("prompt-tokens", "N", "Train the embeddings of N tokens in front of every text",
               [](PrepareTarget& to, std::int64_t value) {
                 to.options.prompt = PromptTuning{.tokens = value};
               })
      .from(1)
      .excludes("lora")
      .excludes("ia3")
      .excludes("ia3-feedforward")
      .excludes("only-biases");
}

}  // namespace

void add_adapters(Rows<PrepareTarget>& rows) {
  rows.heading("Adapters");
  add_low_rank(rows);
  add_others(rows);
}

}  // namespace ondine::options
