#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the fuzz targets one after the other, until time is over or coverage stands still.

    cmake --preset fuzz && cmake --build build/fuzz
    tools/fuzz.py                     # every target, 10 minutes each, containers 30
    tools/fuzz.py --seconds 60 lane   # one of them, a minute

Starts from the stored corpus and leaves it alone: new inputs go to --work. --keep adds to it what
reaches code that it does not, one input for each new edge at most. Prints a table for
docs/TESTING.md; ends with 1 when an input was found that breaks something, and says where it is.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
CONTAINERS = {"lpk", "lpk_file", "table"}
SECONDS, SECONDS_CONTAINER, STALL = 600, 1800, 300
PULSE = re.compile(r"#(\d+)\s+(\S+)\s+cov: (\d+) ft: (\d+) corp: (\d+)")


class Run:
    """One target at work: what libFuzzer last said."""

    def __init__(self, binary, work, seconds, stall):
        self.name = binary.name.removeprefix("fuzz_")
        self.fresh = work / self.name
        self.fresh.mkdir(parents=True, exist_ok=True)
        self.runs = self.coverage = self.features = self.inputs = 0
        self.stall, self.started = stall, time.monotonic()
        self.grown = self.started
        stored = CORPUS / self.name
        self.tail = []
        self.process = subprocess.Popen(
            [str(binary), f"-max_total_time={seconds}", "-print_final_stats=1",
             f"-artifact_prefix={self.fresh.parent}/{self.name}-", str(self.fresh)]
            + ([str(stored)] if stored.is_dir() else []),
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace")
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.tail = (self.tail + [line])[-40:]
            found = PULSE.match(line)
            if found is None:
                continue
            self.runs = int(found[1])
            if int(found[3]) > self.coverage or int(found[4]) > self.features:
                self.grown = time.monotonic()
            self.coverage, self.features = int(found[3]), int(found[4])
            self.inputs = int(found[5])

    def wait(self):
        """How it ended: "time", "stands still" or "FOUND"."""
        stopped = False
        while self.process.poll() is None:
            time.sleep(1)
            if not stopped and time.monotonic() - self.grown > self.stall:
                self.process.terminate()
                stopped = True
        self.reader.join()
        self.seconds = time.monotonic() - self.started
        if stopped:
            return "stands still"
        return "time" if self.process.returncode == 0 else "FOUND"


def keep(binary, run):
    stored = CORPUS / run.name
    stored.mkdir(exist_ok=True)
    before = len(list(stored.iterdir()))
    subprocess.run([str(binary), "-merge=1", "-use_counters=0", str(stored), str(run.fresh)],
                   check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print(f"{run.name}: {len(list(stored.iterdir())) - before} inputs kept", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("target", nargs="*", help="names without fuzz_; default: all")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "fuzz-work")
    parser.add_argument("--seconds", type=int, help="of each target")
    parser.add_argument("--stall", type=int, default=STALL,
                        help="seconds without new coverage that end a target")
    parser.add_argument("--keep", action="store_true", help="add what was learned to the corpus")
    args = parser.parse_args()
    binaries = sorted((args.build / "bin").glob("fuzz_*"))
    if args.target:
        binaries = [b for b in binaries if b.name.removeprefix("fuzz_") in args.target]
    if not binaries:
        sys.exit(f"no such targets in {args.build}/bin: cmake --preset fuzz, then build")
    bad = 0
    print("| target | seconds | inputs tried | edges | features | ended by |")
    print("|---|---|---|---|---|---|")
    for binary in binaries:
        name = binary.name.removeprefix("fuzz_")
        seconds = args.seconds or (SECONDS_CONTAINER if name in CONTAINERS else SECONDS)
        run = Run(binary, args.work, seconds, args.stall)
        ended = run.wait()
        print(f"| {name} | {run.seconds:.0f} | {run.runs:,} | {run.coverage} | {run.features} |"
              f" {ended} |", flush=True)
        if ended == "FOUND":
            bad += 1
            sys.stderr.write("".join(run.tail))
        elif args.keep:
            keep(binary, run)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
