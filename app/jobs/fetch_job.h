// SPDX-License-Identifier: GPL-3.0-or-later
// The download of a model as a job. It belongs to the list of jobs, so that it goes on when the window that began it is
// closed; the end of the list stops it and waits until it has cleaned up. GUI thread.
#pragma once
#include "core/model/named_models.h"
#include "widgets/base/job_list.h"

namespace kvlab {

/// Returns the job's number.
int beginFetch(JobList& jobs, const NamedModel& model, const QString& python);
/// The newest job that fetches this model; null if there is none.
const Job* fetchJob(const JobList& jobs, const QString& model);

}  // namespace kvlab
