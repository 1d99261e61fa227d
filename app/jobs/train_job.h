// SPDX-License-Identifier: GPL-3.0-or-later
// A training (`kvlab train`) as a job: a process of its own, so that the window works on and the training may take
// hours. It belongs to the list of jobs; the end of the list stops it. GUI thread.
#pragma once
#include <QStringList>

#include "widgets/base/job_list.h"

namespace kvlab {

struct TrainingChoice {
  QString what;             // gates, gists or lens
  QString model;            // as a manifest names it
  QString text;             // the file to train from
  QString out = {};         // empty = beside the model
  QString work = {};        // folder of recordings and checkpoints; empty = one in the data folder
  QString python = {};      // empty = python3
  bool recordOnly = false;  // without PyTorch; a later training goes on
};

/// The arguments of the program. Without a folder of its own the work lies in one for each model, kind and text, so
/// that a training that was stopped goes on.
QStringList trainingArguments(const TrainingChoice& choice);

/// Starts `program` with these arguments. Returns the job's number.
int beginTraining(JobList& jobs, const QString& program, const TrainingChoice& choice);

}  // namespace kvlab
