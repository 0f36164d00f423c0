#include "trainer/finetune/opened.h"

#include <algorithm>
#include <cmath>

#include <ondine/data_record.h>

#include "core/message.h"
#include "graph/training/preprocess/table.h"
#include "trainer/data/column.h"
#include "trainer/data/images/channels.h"
#include "trainer/finetune/choices.h"
#include "trainer/finetune/table_columns.h"
#include "trainer/fit/folds.h"
#include "trainer/networks/fresh.h"
#include "trainer/networks/kinds.h"

namespace ondine::tune {
namespace {

using Places = std::vector<std::filesystem::path>;

using data::has_channels_last;
using data::is_channels;

// The input of images, where there is exactly one.
std::optional<PortInfo> image_input(const Model& model) {
  std::optional<PortInfo> found;
  for (const PortInfo& input : model.inputs()) {
    if (input.has_default || !input.dims || input.dims->size() != 4) continue;
    if (found) return {};
    found = input;
  }
  return found;
}

bool holds_all(const std::vector<std::string>& names, const std::vector<std::string>& some) {
  return std::all_of(some.begin(), some.end(), [&](const std::string& one) {
    return std::find(names.begin(), names.end(), one) != names.end();
  });
}

class Opener {
 public:
  explicit Opener(const FinetuneOptions& options) : options_(&options) {}

  Opened open(const FinetuneModel& model, const FinetuneData& data) {
    open_model(model);
    open_data(data);
    opened_.facts = look_at(data_, network_options(), inputs());
    split();
    add_notes(data_);
    plan_columns();
    if (!opened_.has_model()) draw_network();
    return std::move(opened_);
  }

 private:
  void open_model(const FinetuneModel& model) {
    if (const auto* file = std::get_if<std::filesystem::path>(&model.value)) {
      own(Model::load(*file, options_->load));
    } else if (const auto* bytes = std::get_if<std::vector<std::byte>>(&model.value)) {
      own(Model::load(*bytes, options_->load));
    } else if (const auto* loaded = std::get_if<const Model*>(&model.value)) {
      opened_.given = *loaded;
    }
    if (!opened_.has_model()) return;
    if (options_->network) {
      fail(ErrorCode::mismatch, "a kind of network is for runs without a model");
    }
    if (opened_.model().algorithm_count() != 0) {
      fail(ErrorCode::mismatch,
           "the model has training information already; train it as it is "
           "(ondine train), or export it for inference first");
    }
    opened_.is_fresh = !networks::fresh_network(opened_.model().metadata()).empty();
  }

  void own(Model model) { opened_.owned.emplace(std::move(model)); }

  std::vector<PortInfo> inputs() const {
    return opened_.has_model() ? opened_.model().inputs() : std::vector<PortInfo>();
  }

  NetworkOptions network_options() const {
    NetworkOptions result;
    result.target = options_->data.target;
    result.targets = options_->targets;
    result.image_size = options_->data.image_size;
    result.text_length = options_->data.text.length;
    result.seconds = options_->data.audio.seconds;
    result.seed = options_->load.seed;
    return result;
  }

  void open_data(const FinetuneData& data) {
    if (const auto* given = std::get_if<Dataset>(&data.value)) {
      data_ = *given;
      return;
    }
    const auto* places = std::get_if<Places>(&data.value);
    if (places == nullptr || places->empty()) {
      fail(ErrorCode::mismatch, "there are no data to learn from (--data)");
    }
    reading_ = options_->data;
    reading_.use = DataUse::training;
    if (opened_.has_model()) {
      reading_ = merged(reading_, recorded_options(opened_.model()));
    }
    if (auto raw = raw_columns(*places, reading_, options_->table, !opened_.has_model())) {
      reading_.raw = std::move(raw);
    }
    data_ = Dataset::open(*places, reading_);
    if (needs_other_reading()) data_ = Dataset::open(*places, reading_);
  }

  // Changes how the data are read where they, or the model, ask for it.
  bool needs_other_reading() { return take_model_classes() | take_layout() | take_image_size(); }

  // Labels are positions among the model's classes where it has all of the data's.
  bool take_model_classes() {
    if (!opened_.has_model() || !reading_.classes.empty()) return false;
    const std::vector<std::string> known = class_names(opened_.model());
    const std::vector<std::string>& found = data_.classes();
    if (known.empty() || found.empty() || known == found || !holds_all(known, found)) return false;
    if (options_->head == HeadChoice::replace) return false;
    reading_.classes = known;
    return true;
  }

  // Arrays [N, H, W, C] for networks of channels first.
  bool take_layout() {
    if (reading_.layout == Layout::nhwc) return false;
    if (opened_.has_model()) {
      const auto input = image_input(opened_.model());
      if (!input || !is_channels((*input->dims)[1])) return false;
    }
    const std::vector<PortInfo> columns = data_.columns();
    const bool is_last = std::any_of(columns.begin(), columns.end(), [](const PortInfo& one) {
      return one.dims && one.dims->size() == 4 &&
             has_channels_last(std::span(*one.dims).subspan(1));
    });
    if (!is_last) return false;
    reading_.layout = Layout::nhwc;
    opened_.size_chosen = "axes of image arrays are [N, H, W, C]";
    return true;
  }

  // Chooses an image size for files, if the model takes floating point images of any size.
  bool take_image_size() {
    if (!opened_.has_model() || reading_.image_size || reading_.inner_resize) return false;
    const auto input = image_input(opened_.model());
    if (!input) return false;
    const bool is_last = has_channels_last(std::span(*input->dims).subspan(1));
    if ((*input->dims)[is_last ? 1 : 2] >= 0 || (*input->dims)[is_last ? 2 : 3] >= 0) return false;
    const Facts facts = look_at_rows(data_, network_options(), inputs());
    if (!facts.are_files) return false;
    constexpr std::int64_t most = 224;
    constexpr std::int64_t step = 32;
    reading_.image_size = networks::image_size_of({data_, facts, network_options()}, most, step);
    opened_.size_chosen =
        cat("images resized to ", reading_.image_size->height, "x", reading_.image_size->width);
    return true;
  }

  void split() {
    if (options_->trainer.folds != 0) {
      fit::require_folds(options_->trainer, data_);
      opened_.training = data_.train();
    } else if (const auto* given = std::get_if<Dataset>(&options_->validation.value)) {
      opened_.training = data_.train();
      opened_.validation = *given;
    } else if (const auto* places = std::get_if<Places>(&options_->validation.value)) {
      opened_.training = data_.train();
      const Dataset other = Dataset::open(*places, options_like(opened_.training, reading_));
      add_notes(other);
      opened_.validation = other.has_validation() ? other.validation() : other;
    } else if (data_.has_validation() && !options_->validation_split) {
      opened_.training = data_.train();
      opened_.validation = data_.validation();
      opened_.split = "the validation part of the data";
    } else {
      split_rows();
    }
    if (opened_.facts.target.kind == TargetKind::numbers) {
      opened_.facts.target.scales =
          look_at(opened_.training, network_options(), inputs()).target.scales;
    }
  }

  void split_rows() {
    if (data_.rows() < 2) {
      fail(ErrorCode::mismatch, "the data have ", data_.rows(),
           " rows; training and validation "
           "need at least one each");
    }
    const double fraction = options_->validation_split.value_or(validation_fraction(data_.rows()));
    std::tie(opened_.training, opened_.validation) = data_.split(fraction, options_->load.seed);
    opened_.whole = data_.train();
    if (options_->validation_split) return;
    const bool has_labels = !data_.class_counts().empty();
    opened_.split = cat(std::lround(100 * fraction), " % of the rows",
                        has_labels ? ", stratified" : "", ", seed ", options_->load.seed);
  }

  void add_notes(const Dataset& data) {
    const auto add = [&](std::string note) {
      auto& notes = opened_.notes;
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    };
    for (const std::string& note : data.notes()) add(note);
    for (const std::string& file : data.skipped()) add("left out: " + file);
  }

  // A given model may take columns by their names already.
  void plan_columns() {
    const bool is_raw = data::PartAccess::of(opened_.training).raw.has_value();
    if (options_->table.is_empty() && (opened_.has_model() || !is_raw)) return;
    opened_.table = plan_table(opened_.training, complete_table(opened_.training, options_->table));
    for (const std::string& note : opened_.table->notes) opened_.notes.push_back(note);
  }

  // Facts about the rows that a new network reads.
  Facts network_facts() const {
    Facts facts = opened_.facts;
    if (!opened_.table) return facts;
    facts.rows = "features";
    facts.are_encoded = true;
    facts.row = {0};
    for (const TableColumn& column : opened_.table->columns)
      facts.row[0] += graph::width_of(column);
    return facts;
  }

  void draw_network() {
    NewNetwork made =
        networks::make(options_->network, opened_.training, network_facts(), network_options());
    opened_.network = std::move(made.description);
    own(Model::load(made.model, options_->load));
    opened_.is_fresh = true;
  }

  const FinetuneOptions* options_;
  DatasetOptions reading_;
  Dataset data_;
  Opened opened_;
};

}  // namespace

Opened open_all(const FinetuneModel& model, const FinetuneData& data,
                const FinetuneOptions& options) {
  return Opener(options).open(model, data);
}

}  // namespace ondine::tune
