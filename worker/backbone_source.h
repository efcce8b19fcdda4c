#pragma once

#include "models/backbone.h"
#include "worker/job.h"

namespace harness {

/// The backbone that a job asks for, on the job's device (opened here).
BackboneSource backbone_source(const Job& job);

}  // namespace harness
