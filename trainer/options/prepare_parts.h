// Parts of the options of prepare that have files of their own.
#pragma once

#include "trainer/options/groups.h"

namespace ondine::options {

void add_adapters(Rows<PrepareTarget>& rows);
void add_losses(Rows<PrepareTarget>& rows);
void add_optimizers(Rows<PrepareTarget>& rows);
void add_privacy(Rows<PrepareTarget>& rows);

// Once all options are set: the noise that the goal asks for, if there is one.
// Error(invalid_option) for a goal that lacks something, Error(mismatch) for one that no noise
// reaches.
void reach_privacy_goal(PrepareTarget& target, OptionSpelling spelling);

}  // namespace ondine::options
