#!/usr/bin/env bash
# usage: powercut.sh [OPTION of two.sh]... TARGET INITIATOR [ARG...]
# Two machines, the target with an NVDIMM that outlives its power. The
# initiator says "cue kill target" when it holds a completed flush, "cue start
# target" to bring it back with LIFE=2, and somebody compares. The cut is a
# SIGKILL to the emulator: it proves that completions do not come too early,
# not that caches were written back (the emulated memory has none).
set -euo pipefail
exec "$(dirname -- "${BASH_SOURCE[0]}")/two.sh" -p "${NVDIMM:-256M}" "$@"
