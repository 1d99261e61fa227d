#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Starts the program of an unpacked archive.
exec "$(dirname "$(readlink -f "$0")")/lib/kvlab_gui/bin/kvlab" "$@"
