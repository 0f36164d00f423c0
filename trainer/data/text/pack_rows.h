// Several texts in one row.
#pragma once

#include "trainer/data/text/next_columns.h"

namespace ondine::data {

// The texts of `rows` in rows of at most `length` ids and the last label. The first id of a text
// that follows another one is no label. The longest texts are placed first, each into the fullest
// row that has room, and rows are in the order of their first texts.
MarkedRows pack_rows(const MarkedRows& rows, std::int64_t length);

}  // namespace ondine::data
