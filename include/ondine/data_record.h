// The data record: what a model knows about the data that it was trained with, one entry of its
// metadata. docs/data.md defines the format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/data.h>
#include <ondine/dataset.h>
#include <ondine/dtype.h>
#include <ondine/export.h>
#include <ondine/model.h>
#include <ondine/table.h>

namespace ondine {

// Meaning of the elements of the predicted output.
enum class OutputMeaning : std::uint8_t {
  unknown,
  logits,             // of classes, or of labels 0 and 1 where the loss is binary
  probabilities,      // the same after a softmax or a sigmoid
  log_probabilities,  // of classes
  margins,            // above 0 for label 1
  numbers,            // estimates of the target
  embedding,          // a vector whose distances or angles count
  sequence,           // scores of classes at each time step, for CTC
  reconstruction,     // an estimate of the input itself
  next_token,         // scores of the next token at each position
};
ONDINE_API const char* to_string(OutputMeaning meaning) noexcept;

// How files of images became rows. Not within DataRecord, whose std::optional needs the defaults of
// its members before the end of the class.
struct RecordedImages {
  std::optional<ImageSize> size = {};  // that the reader resized to
  ImageFit fit = ImageFit::crop;
  Layout layout = Layout::nchw;  // of arrays of rank 4 in the data
  bool upright = true;           // orientation tags were obeyed
};

struct DataRecord {
  struct Prediction {
    std::string output;  // of the main graph; empty where none follows from what the loss reads
    std::string value;   // of the main graph: what the loss reads
    OutputMeaning meaning = OutputMeaning::unknown;  // of `output`
    std::string loss;                                // as `ondine prepare --loss` names it
    std::string label;    // input of the training algorithm that takes the labels
    std::string weights;  // and the one that takes the weights of rows; empty: rows count alike
    // The axis with an entry for each class, from 0, and the output or value that has it.
    std::optional<std::int64_t> class_axis = {};
    std::string class_axis_of;
    std::optional<std::int64_t> ignored_label = {};
    std::int64_t ctc_blank = 0;
  };
  // How rows became an input of the model or of its training algorithm.
  struct Input {
    std::string name;
    std::string column;              // of the data set
    DType dtype = DType::undefined;  // of the elements as stored
    double scale = 1;                // stored elements were multiplied by it
  };
  using Images = RecordedImages;
  struct Audio {
    std::int64_t rate = 0;  // samples a second; 0: unknown
    double seconds = 0;     // of a row, where the model leaves its length open; 0 elsewhere
  };
  // A length that files of the model name, in tokens of a text.
  struct Context {
    std::int64_t tokens = 0;  // 0: none is known
    std::string source;       // for messages: "'n_positions' of config.json"
    // Longer texts are refused. Else the model was trained with shorter ones, and a note says so.
    bool is_limit = true;
  };
  struct Text {
    Context context;    // of what the model reads
    Context generated;  // where a text that is generated ends at the latest, prompt included
    std::string column;
    std::string encoding;     // TextEncoding::name(); empty: the model takes no texts
    std::string pieces;       // content of a SentencePiece model or of a tokenizer.json
    std::int64_t length = 0;  // ids in a row; 0: as the model's input says
    // Rows of .jsonl files for models of the next token, where there were any.
    std::optional<NextTokenRows> rows = {};
    std::string prompt;  // names of members; empty: the usual ones
    std::string completion;
    std::string messages;
    std::optional<LossOn> loss_on = {};
    std::string chat_template;
  };
  // Operators in front of an input of the main graph that prepare wrote.
  struct Preprocessing {
    std::string input;
    std::string description;               // for people
    std::optional<ImageSize> resize = {};  // pictures of any size become this one
    bool antialias = false;                // its filter widens when pictures shrink
  };
  // Size and fingerprint of the training part.
  struct Data {
    std::uint64_t rows = 0;   // 0: unknown
    std::string fingerprint;  // of names, types and a sample of the rows
  };

  Prediction prediction;
  std::uint64_t class_count = 0;     // of a new head; 0: unknown
  std::vector<std::string> classes;  // names in the order of the outputs
  std::vector<Input> inputs;
  std::optional<TableColumns> table = {};
  std::optional<Images> images = {};
  Audio audio;
  Text text;
  std::vector<Preprocessing> preprocessing;
  std::optional<TablePlan> table_plan = {};  // operators that take the columns of a table
  Data data;
  // The entry that this was read from, whose unknown members a writer keeps.
  std::string source;

  // How rows became the input; nullptr where the record does not say.
  ONDINE_API const Input* find_input(std::string_view name) const noexcept;
};

// The record of a model; what its metadata does not say is empty. Models that earlier versions
// prepared or trained have separate entries instead, which are read as well. Error(corrupt) naming
// the entry where it is no record, Error(unsupported) for a later version of the format.
ONDINE_API DataRecord data_record(const Model& model);

// The prediction as the record says, for `output`; empty: the recorded output, else that whose
// class axis is recorded, else the one that the loss reads, else the first. The loss tells the
// meaning of any other output than the recorded one. Error(mismatch) for a model without outputs
// and for an output that it does not have.
ONDINE_API DataRecord::Prediction find_prediction(const Model& model,
                                                  const std::string& output = {});

// Options for opening data as the model takes it: its columns by their names, target, classes,
// texts, sample rate, size and layout of pictures. What the record does not say has its default.
ONDINE_API DatasetOptions recorded_options(const Model& model, DataUse use = DataUse::training);

struct RecordedFeeder {
  Feeder feeder;
  // Inputs whose elements have another type or scale than in training, a sentence each.
  std::vector<std::string> notes;
};
// Feeds inputs of the model with the columns that fed them in training, where `map` names no others
// and the data have these. Errors as those of Feeder, and Error(mismatch) where the data have
// other classes, columns, sample rates or encodings of texts than the record says.
ONDINE_API RecordedFeeder recorded_feeder(const Model& model, std::span<const PortInfo> inputs,
                                          const Dataset& data, const ArrayMap& map = {});

}  // namespace ondine
