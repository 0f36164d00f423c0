// Error of builds without the libraries of federations.
#pragma once

#include "core/message.h"

namespace ondine::federated {

[[noreturn]] inline void fail_without_flower() {
  fail(ErrorCode::unsupported,
       "federations need libcurl and OpenSSL, which this build is without (ONDINE_WITH_FLOWER)");
}

}  // namespace ondine::federated
