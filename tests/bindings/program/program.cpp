// The same program as C++.
#include "program.c"
#include "calls.c"
#include "checks.c"
#include "federated.c"
#include "mistakes.c"
#include "settings.c"
#include "training.c"
#include "values.c"
