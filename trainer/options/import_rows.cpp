// ImportHuggingFaceOptions.
#include "trainer/options/groups.h"

namespace ondine::options {
namespace {

using Import = Rows<ImportHuggingFaceOptions>;

Import make_import_rows() {
  Import rows(OptionGroup::import_);
  rows.heading("Inputs");
  rows.flag("cache", "The decoder takes and gives keys and values of earlier tokens, for generate",
            [](ImportHuggingFaceOptions& to, bool value) { to.cache = value; });
  rows.flag("ids-only",
            "The encoder takes ids alone, as data of texts have them: padding is not seen, and all "
            "tokens have the first type",
            [](ImportHuggingFaceOptions& to, bool value) { to.ids_only = value; })
      .excludes("cache");
  rows.flag("pairs",
            "The encoder of sentences reads two texts for each row and gives an embedding of each, "
            "for prepare --in-batch",
            [](ImportHuggingFaceOptions& to, bool value) { to.pairs = value; })
      .excludes("cache");
  rows.heading("Files");
  rows.bytes(
      "external-data-from", export_rows().at("external-data-from").info.help,
      [](ImportHuggingFaceOptions& to, std::uint64_t value) { to.external_data_from = value; });
  return rows;
}

}  // namespace

const Rows<ImportHuggingFaceOptions>& import_rows() {
  static const Import rows = make_import_rows();
  return rows;
}

}  // namespace ondine::options
