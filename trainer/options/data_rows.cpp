// DatasetOptions.
#include <ondine/chat.h>
#include <ondine/error.h>

#include "trainer/options/groups.h"
#include "trainer/options/settings.h"

namespace ondine::options {
namespace {

void set_columns(DataTarget& to, const Given& given) {
  std::vector<std::string> names = names_in(given);
  if (!to.options.features.empty() && to.options.features != names) {
    throw Error(ErrorCode::mismatch,
                given.option() + " has other columns than the model was trained with");
  }
  to.options.features = std::move(names);
}

void set_drop(DataTarget& to, const Given& given) {
  if (!to.options.features.empty()) {
    throw Error(ErrorCode::mismatch,
                given.option() + " has no effect: the model names the columns that it takes");
  }
  to.options.drop = names_in(given);
}

void add_tables(Rows<DataTarget>& rows) {
  rows.heading("Tables");
  rows.text("target", "COLUMN", "Column of a .csv to predict; the last if absent",
            [](DataTarget& to, const Given& given) { to.options.target = given.text(); });
  rows.text("columns", "COLUMN,...",
            "Columns of a .csv that are features; all but the target if absent", set_columns)
      .repeats();
  rows.text("drop", "COLUMN,...", "Columns of a .csv that are no features", set_drop)
      .repeats()
      .excludes("columns");
  rows.text(
      "weight-column", "COLUMN",
      "Column or array with the weight of each row in losses and metrics, which is no feature",
      [](DataTarget& to, const Given& given) {
        to.options.weights = given.text();
        to.options.weights_are_optional = false;
      });
  rows.real("fill", "NUMBER", "Number to use for missing numbers of a .csv",
            [](DataTarget& to, double value) { to.options.fill = value; });
}

void add_images(Rows<DataTarget>& rows) {
  rows.heading("Images");
  rows.text("image-size", "HEIGHTxWIDTH",
            "Size of images, for models with dynamic height and width",
            [](DataTarget& to, const Given& given) {
              to.options.image_size = parse_size(given.text(), given.option());
              // The model itself would stretch them.
              if (to.options.inner_resize) to.options.image_fit = ImageFit::stretch;
            });
  rows.choice<ImageFit>("image-fit", {{"crop", ImageFit::crop}, {"stretch", ImageFit::stretch}},
                        "Images with another aspect ratio: crop to the center or stretch",
                        [](DataTarget& to, ImageFit value) { to.options.image_fit = value; })
      .by_default("crop");
  rows.choice<Layout>("layout", {{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}},
                      "Axes of image arrays; nhwc is transposed to nchw",
                      [](DataTarget& to, Layout value) { to.options.layout = value; })
      .by_default("nchw");
}

void set_tokenizer(DataTarget& to, const Given& given) {
  TextEncoding asked = TextEncoding::open(given.text());
  if (to.has_recorded_text && !(to.recorded_encoding == asked)) {
    throw Error(ErrorCode::mismatch,
                given.option() + " '" + given.text() + "' is not what the model was trained with");
  }
  to.options.text.encoding = std::move(asked);
}

void set_loss_on(DataTarget& to, LossOn value) {
  std::optional<LossOn>& loss_on = to.options.text.next.loss_on;
  if (loss_on && *loss_on != value) {
    throw Error(ErrorCode::mismatch,
                "--loss-on counts other tokens than the model was trained with");
  }
  loss_on = value;
}

void set_chat_template(DataTarget& to, const Given& given) {
  const std::string text = ChatTemplate::open(given.text()).text();
  std::string& known = to.options.text.next.chat_template;
  if (!known.empty() && known != text) {
    throw Error(ErrorCode::mismatch,
                given.option() + " '" + given.text() + "' is not what the model was trained with");
  }
  known = text;
}

void add_next_token(Rows<DataTarget>& rows) {
  const auto member = [&](const char* name, const char* usual, std::string NextTokenOptions::*to) {
    rows.text(name, "NAME", std::string("Member of a .jsonl with ") + usual,
              [to](DataTarget& target, const Given& given) {
                target.options.text.next.*to = given.text();
              });
  };
  member("prompt-column", "the prompt; 'prompt' if absent", &NextTokenOptions::prompt);
  member("completion-column", "the completion; 'completion' if absent",
         &NextTokenOptions::completion);
  member("messages-column", "the messages of a conversation; 'messages' if absent",
         &NextTokenOptions::messages);
  rows.text("chat-template", "NAME|FILE",
            "How messages become text: chatml, llama2, llama3, gemma, phi3, mistral, zephyr, a "
            "tokenizer_config.json or a file of Jinja",
            set_chat_template);
  rows.choice<LossOn>("loss-on", {{"answer", LossOn::answer}, {"all", LossOn::all}},
                      "Tokens of prompts and conversations that are learnt; answers if absent",
                      set_loss_on);
  rows.flag("pack",
            "Put several texts, prompts or conversations into each row of --text-length ids; the "
            "model was prepared with --packing",
            [](DataTarget& to, bool value) { to.options.text.next.pack = value; });
}

void add_texts(Rows<DataTarget>& rows) {
  rows.heading("Texts");
  rows.text("text-column", "COLUMN",
            "Column of texts in a .csv or .jsonl, two as FIRST,SECOND for pairs; 'text' if absent, "
            "and 'text_pair' where there is one",
            [](DataTarget& to, const Given& given) { to.options.text.column = given.text(); });
  rows.integer("text-length", "N",
               "Bytes or pieces of a row of text, for models that leave it open",
               [](DataTarget& to, std::int64_t value) { to.options.text.length = value; })
      .from(1);
  rows.text(
      "tokenizer", "FILE",
      "SentencePiece model (.model) or tokenizer.json that cuts texts; if absent the one that "
      "the model was trained with, else texts are bytes",
      set_tokenizer);
}

void set_rate(DataTarget& to, const Given& given) {
  const std::int64_t rate = given.integer();
  if (rate == 0) return;
  if (to.recorded_rate != 0 && rate != to.recorded_rate) {
    throw Error(ErrorCode::mismatch, given.option() + " is " + given.text() + ", the model takes " +
                                         std::to_string(to.recorded_rate));
  }
  to.options.audio.rate = rate;
}

void add_sounds(Rows<DataTarget>& rows) {
  rows.heading("Recordings");
  rows.named_integer("sample-rate", "HZ",
                     "Samples a second of recordings, others are resampled; if absent or 0 the "
                     "model's, or that of the first recording",
                     set_rate)
      .from(0);
  rows.real("audio-seconds", "SECONDS", "Length of recordings, for models that leave it open",
            [](DataTarget& to, double value) { to.options.audio.seconds = value; })
      .above(0);
  rows.flag("no-resample", "Refuse recordings with another sample rate",
            [](DataTarget& to, bool value) { to.options.audio.resample = !value; });
}

void add_reading(Rows<DataTarget>& rows) {
  rows.heading("Reading");
  rows.flag("skip-broken",
            "Leave out images and recordings that cannot be decoded; decodes all of them once",
            [](DataTarget& to, bool value) { to.options.skip_broken = value; });
  rows.flag("outside-files", "Read files that a .csv list names by absolute paths or '..'",
            [](DataTarget& to, bool value) { to.options.outside_files = value; })
      .rare();
  rows.bytes("cache-bytes",
             "Memory for decoded images and recordings, of training and of validation data each",
             [](DataTarget& to, std::uint64_t value) { to.options.cache_bytes = value; })
      .by_default("256MiB")
      .rare();
}

Rows<DataTarget> make_data_rows() {
  Rows<DataTarget> rows(OptionGroup::data);
  add_tables(rows);
  add_images(rows);
  add_texts(rows);
  add_next_token(rows);
  add_sounds(rows);
  add_reading(rows);
  return rows;
}

}  // namespace

const Rows<DataTarget>& data_rows() {
  static const Rows<DataTarget> rows = make_data_rows();
  return rows;
}

}  // namespace ondine::options
