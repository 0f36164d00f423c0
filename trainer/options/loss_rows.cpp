// The loss, and options that only some losses read.
#include <ondine/error.h>
#include <ondine/losses.h>

#include "graph/training/prepare/losses/table.h"
#include "trainer/options/parse.h"
#include "trainer/options/prepare_parts.h"

namespace ondine::options {
namespace {

using graph::LossSetting;
using graph::LossTraits;
using graph::names_of_losses;

// Soft labels are an option of softmax cross entropy, not a choice.
std::vector<std::pair<std::string, Loss>> choices() {
  std::vector<std::pair<std::string, Loss>> result;
  for (const std::string& name : names_of_losses([](const LossTraits&) { return true; })) {
    result.emplace_back(name, find_loss(name)->loss);
  }
  return result;
}

bool has_class_axis(const LossTraits& loss) { return loss.has_class_axis(); }

void set_class_weights(PrepareTarget& to, const Given& given) {
  if (given.text() == "balanced") {
    throw Error(ErrorCode::invalid_option,
                given.option() +
                    " balanced is for the command prepare, which computes the weights "
                    "from --data; give a number for each class");
  }
  for (const std::string& part : split(given.text(), ',')) {
    const auto weight = number(part);
    if (!weight)
      refuse(given.option(), "numbers with commas between them, or balanced", given.text());
    to.options.class_weights.push_back(static_cast<float>(*weight));
  }
}

void set_in_batch(PrepareTarget& to, const Given& given) {
  const std::vector<std::string> parts = split(given.text(), ',');
  const auto temperature = parts.size() == 3 ? number(parts[2]) : std::optional<double>();
  if (parts.empty() || parts.size() > 3 || (parts.size() == 3 && !temperature)) {
    refuse(given.option(), "FIRST,SECOND or FIRST,SECOND,TEMPERATURE or SCORES", given.text());
  }
  if (parts.size() == 1) {
    to.options.loss_model = in_batch_loss(parts[0]);
  } else if (temperature) {
    to.options.loss_model = in_batch_loss(parts[0], parts[1], static_cast<float>(*temperature));
  } else {
    to.options.loss_model = in_batch_loss(parts[0], parts[1]);
  }
}

void add_choice(Rows<PrepareTarget>& rows) {
  rows.heading("Loss");
  rows.choice<Loss>("loss", choices(),
                    "Loss that the steps lower; nll and bce-probabilities are those of "
                    "probabilities",
                    [](PrepareTarget& to, Loss value) { to.options.loss = value; })
      .synonym("cross-entropy", "softmax-cross-entropy")
      .synonym("bce-with-logits", "bce")
      .letter('l');
  rows.text("loss-model", "FILE",
            "ONNX model of the loss, whose inputs are values of the model or new labels",
            [](PrepareTarget& to, const Given& given) {
              to.options.loss_model = std::filesystem::path(given.text());
            })
      .excludes("loss");
  rows.text("in-batch", "VALUES",
            "Loss of pairs, told from the other rows of the batch: FIRST,SECOND or "
            "FIRST,SECOND,TEMPERATURE, embeddings [N, D], or SCORES [N, N]; there are no labels",
            set_in_batch)
      .excludes("loss")
      .excludes("loss-model");
  rows.text("loss-output", "VALUE", "Output or inner value that the loss reads",
            [](PrepareTarget& to, const Given& given) { to.options.output = given.text(); })
      .needs({"loss"});
  rows.text("label", "NAME", "Name of the new label input",
            [](PrepareTarget& to, const Given& given) { to.options.label = given.text(); })
      .by_default("label")
      .needs({"loss"});
}

void add_cross_entropy(Rows<PrepareTarget>& rows) {
  rows.real("label-smoothing", "PART", "Part of a label that all classes share",
            [](PrepareTarget& to, double value) {
              to.options.label_smoothing = static_cast<float>(value);
            })
      .with("loss", names_of_losses(LossSetting::label_smoothing));
  rows.integer("ignore-index", "LABEL", "Label that does not count",
               [](PrepareTarget& to, std::int64_t value) { to.options.ignore_index = value; })
      .with("loss", names_of_losses(LossSetting::ignore_index));
  rows.text("class-weights", "WEIGHTS",
            "Weight of each class, such as 1,0.5,2, or balanced: in inverse proportion to its "
            "rows",
            set_class_weights)
      .with("loss", names_of_losses(LossSetting::class_weights));
  rows.flag("soft-labels", "Labels are probabilities of the classes",
            [](PrepareTarget& to, bool value) { to.options.soft_labels = value; })
      .with("loss", names_of_losses(LossSetting::soft_labels));
  rows.flag("no-accuracy", "Do not add an accuracy output",
            [](PrepareTarget& to, bool value) { to.options.accuracy = !value; })
      .with("loss", names_of_losses(has_class_axis));
  rows.flag("accuracy", "Add an accuracy output, also where there are more than 1,000 classes",
            [](PrepareTarget& to, bool value) { to.options.accuracy = value; })
      .with("loss", names_of_losses(has_class_axis))
      .excludes("no-accuracy");
  rows.integer("class-axis", "AXIS",
               "Axis of what the loss reads with an entry for each class, if the model does not "
               "say it",
               [](PrepareTarget& to, std::int64_t value) { to.options.class_axis = value; })
      .with("loss", names_of_losses(has_class_axis))
      .rare();
}

void add_other_losses(Rows<PrepareTarget>& rows) {
  const auto real = [&](const char* name, const char* help, float PrepareOptions::*member,
                        LossSetting setting, const char* present) {
    rows.real(name, "NUMBER", help,
              [member](PrepareTarget& to, double value) {
                to.options.*member = static_cast<float>(value);
              })
        .with("loss", names_of_losses(setting))
        .by_default(present);
  };
  real("focal-gamma", "Exponent of the focal loss", &PrepareOptions::focal_gamma,
       LossSetting::focal_gamma, "2");
  real("margin", "Margin of the triplet and contrastive losses", &PrepareOptions::margin,
       LossSetting::margin, "1");
  real("huber-delta", "Error at which the Huber loss becomes linear", &PrepareOptions::huber_delta,
       LossSetting::huber_delta, "1");
  rows.flag("row-weights",
            "The loss takes a weight for each row, which the data give (weight-column)",
            [](PrepareTarget& to, bool value) { to.options.row_weights = value; })
      .with("loss", names_of_losses([](const LossTraits& loss) { return !loss.compares_rows(); }));
  rows.integer("ctc-blank", "CLASS", "Class that stands for no label in ctc",
               [](PrepareTarget& to, std::int64_t value) { to.options.ctc_blank = value; })
      .with("loss", names_of_losses(LossSetting::ctc_blank))
      .by_default("0");
}

}  // namespace

void add_losses(Rows<PrepareTarget>& rows) {
  add_choice(rows);
  add_cross_entropy(rows);
  add_other_losses(rows);
}

}  // namespace ondine::options
