// Parts of the options of prepare that have files of their own.
#pragma once

#include "trainer/options/groups.h"

namespace ondine::options {

void add_adapters(Rows<PrepareTarget>& rows);
void add_losses(Rows<PrepareTarget>& rows);
void add_optimizers(Rows<PrepareTarget>& rows);

}  // namespace ondine::options
