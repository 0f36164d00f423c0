// How a model's texts were encoded, from its data record.
#pragma once

#include <ondine/data_record.h>
#include <ondine/text.h>

namespace ondine::text {

// Bytes where the record says nothing. Errors as text_options(model).
TextEncoding encoding_of(const DataRecord::Text& record);

}  // namespace ondine::text
