// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs as the view shows them: a run and a prompt that waits for it, a sweep beside them, and one end of each sort.
#pragma once
#include "widgets/base/job_list.h"

namespace kvlab::fixture {

void addJobs(JobList& jobs);

}  // namespace kvlab::fixture
