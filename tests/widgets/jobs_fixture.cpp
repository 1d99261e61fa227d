// SPDX-License-Identifier: GPL-3.0-or-later
#include "jobs_fixture.h"

namespace kvlab::fixture {

void addJobs(JobList& jobs) {
  static const int kQueue = 0;
  const auto at = [](int second) { return QDateTime({2026, 3, 14}, {9, 26, second}); };
  const auto ended = [&](const char* name, const char* on, const char* view, JobState state, const char* how,
                         int second) {
    const int job = jobs.begin({.name = name, .on = on, .place = {.view = view}});
    jobs.end(job, state, how, at(second));
  };
  ended("Open Session", "demo", "map", JobState::Done, "Opened demo", 2);
  ended("Prompt", "demo", "strip", JobState::Done, "The context took the text at tick 1", 4);
  ended("Run", "demo", "events", JobState::Done, "Stopped at the breakpoint wrap(layer==3) after 42 ticks", 19);
  ended("Run", "demo", "events", JobState::Failed,
        "Stopped after 96 ticks; the cache is full: position 228: layer 0 holds 256 rows, 1 new - 0 leaving make 257, "
        "the limit is 256",
        31);
  ended("Rebuild", "demo", "map", JobState::Stopped, "The rebuild was cancelled; nothing has changed", 35);
  const int fetch = jobs.begin({.name = "Fetch Model", .on = "smollm2-135m", .rank = JobRank::Beside});
  jobs.setPlace(fetch, {.folder = "/home/somebody/.local/share/kvlab/models/smollm2-135m"});
  jobs.end(fetch, JobState::Done, "Saved in /home/somebody/.local/share/kvlab/models/smollm2-135m/model.gguf", at(58));
  const int sweep = jobs.begin({.name = "Sweep smartkv",
                                .on = "resources/sweeps/smartkv.json",
                                .rank = JobRank::Beside,
                                .place = {.view = "sweep"}});
  jobs.report(sweep, "cells", 127, 381);
  const int run = jobs.begin({.name = "Run", .on = "demo", .queue = &kQueue, .place = {.view = "events"}});
  jobs.report(run, "running", 812, 1000);
  jobs.begin({.name = "Prompt", .on = "demo", .queue = &kQueue, .place = {.view = "strip"}});
}

}  // namespace kvlab::fixture
