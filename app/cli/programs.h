// SPDX-License-Identifier: GPL-3.0-or-later
// One function per subcommand that needs no window, which says how it ended, and the functions that subcommands share.
// A function prints for people, unless standard output is for JSON (CommandLine::printsJson): then results go into the
// ending alone. Main thread; interrupted(): any thread.
#pragma once
#include "app/cli/ending.h"

namespace kvlab {

/// Error (no_resources): the program's own files are missing.
Status checkResources();
/// For subcommands that stop in good order: from now on Ctrl+C, SIGTERM and SIGUSR1 only set a flag.
void watchInterrupts();
/// True once one of them has come.
bool interrupted();
/// True if Ctrl+C was not the last of them: a queue stops the work, and wants to go on with it later.
bool queueStops();

Ending printList(const CommandLine& line);
Ending printInfo(const CommandLine& line);
Ending printReplay(const CommandLine& line);
Ending runSweepCommand(const CommandLine& line);
/// kvlab sweep --status.
Ending printSweepStatus(const CommandLine& line);
/// kvlab sweep --cell.
Ending openCellCommand(const CommandLine& line);
/// kvlab sweep --slurm.
Ending submitSweep(const CommandLine& line);
Ending runTrain(const CommandLine& line);
Ending runPerplexity(const CommandLine& line);
Ending runModel(const CommandLine& line);
Ending runClinicCommand(const CommandLine& line);
Ending runCheck(const CommandLine& line);
Ending runCompare(const CommandLine& line);

}  // namespace kvlab
