// Everything but <ondine/eigen.h>, which needs Eigen.
#pragma once

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/dataset.h>
#include <ondine/doctor.h>
#include <ondine/dtype.h>
#include <ondine/error.h>
#include <ondine/external_data.h>
#include <ondine/fusion.h>
#include <ondine/gradcheck.h>
#include <ondine/layers.h>
#include <ondine/limits.h>
#include <ondine/lower.h>
#include <ondine/model.h>
#include <ondine/operators.h>
#include <ondine/plan.h>
#include <ondine/precision.h>
#include <ondine/prepare.h>
#include <ondine/results.h>
#include <ondine/shape.h>
#include <ondine/tensor.h>
#include <ondine/trainer.h>
#include <ondine/value.h>
#include <ondine/version.h>
#include <ondine/weights.h>
