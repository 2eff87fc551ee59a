#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Change the kernels' source, one place at a time, and see whether a test notices.

    tools/mutate_kernels.py --list                 every change there is
    tools/mutate_kernels.py --sample 100 --seed 1  a hundred of them
    tools/mutate_kernels.py --kinds barrier,wait   all of some kinds

A mutant is cuda/*.cuh with one wait, barrier, mask, shuffle distance, bound or shift changed, in a
copy under --build. Only the object with the kernels is compiled anew, with some of those kernels
that the changed file reaches, and `test_gather quick` runs, with lanes in random order. What passes
is tried with all of these kernels, then under AddressSanitizer and UndefinedBehaviorSanitizer; what
orders lanes is last seen by ThreadSanitizer, one lane a thread. Outcomes: killed (and where),
survived, equal (the compiler makes the same code of it), not compiled.

Results go to --out as they come, and what stands there is not run again. Survivors that
tests/simt/mutants.txt explains are named so. Ends with 1 when more than 5 % of what was killed or
survived has survived, or a survivor is not explained.
"""
import argparse
import collections
import concurrent.futures
import csv
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("wait", "barrier", "mask", "shuffle", "bound", "shift")
ORDER = {"wait", "barrier", "mask", "shuffle"}  # kinds that say which lane may go when
SURVIVORS_MAX = 0.05


def kernel(name, codec):
    return f"LP_GATHER_KERNEL({name}, {codec})"


def sizes(name, codec, which):
    return [kernel(f"lp_gather_{name}_{n}", f"{codec}<{n}>") for n in which]


RAW = [kernel("lp_gather_raw_any", "lp_gather_raw")]
IBP = [kernel("lp_gather_ibp_any", "lp_gather_ibp")]
COUNTS = [kernel("lp_gather_sparse_counts", "lp_gather_counts")]
BF16 = ["LP_GATHER_LEVELS(bf16, 223, 2, 2, 3)"]
LANE = [f"LP_GATHER_LANE({n})" for n in (1, 2, 4, 8)] + [
    "LP_GATHER_LEVELS(bf16, 2223, 2, 2, 2, 3)", "LP_GATHER_LEVELS(f16, 33, 3, 3)"]
DICT = sizes("dict", "lp_gather_dict_values", (1, 2, 4, 8))
SPARSE = sizes("sparse", "lp_gather_sparse_values", (1, 2, 4, 8))
# Kernels that a change of the file can reach, but for those that would show nothing new; the first
# few are enough for most changes.
FEW = 2
REACHED = {
    "gather_kernel.cuh": IBP + LANE[1:2] + RAW + BF16 + DICT[2:3],
    "decode_dev.cuh": RAW + IBP + DICT[1:2],
    "bits_dev.cuh": LANE[1:2] + SPARSE[2:3] + IBP + BF16 + DICT,
    "lane_dev.cuh": LANE[1:2] + LANE[4:5] + LANE[0:1] + LANE[2:4] + LANE[5:],
    "lane_split_dev.cuh": LANE[1:3] + LANE[0:1] + LANE[3:],
    "dict_dev.cuh": DICT[1:3] + SPARSE[2:3],
    "sparse_dev.cuh": SPARSE[1:3] + SPARSE[0:1] + SPARSE[3:],
    "counts_dev.cuh": COUNTS,
}


# --- what can be changed -------------------------------------------------------------------------

FUNCTION = re.compile(r"^ *(?:template <.*> )?LP_DEVICE\b[^(;]*?(\w+)\(", re.M)


class Mutant:
    def __init__(self, file, text, kind, begin, end, after):
        line_begin = text.rfind("\n", 0, begin) + 1
        line_end = text.find("\n", end)
        self.file, self.kind, self.after = file, kind, after
        self.begin, self.end, self.before = begin, end, text[begin:end]
        self.line = text.count("\n", 0, begin) + 1
        self.old = " ".join(text[line_begin:line_end].split())
        self.new = " ".join((text[line_begin:begin] + after + text[end:line_end]).split())

        before = FUNCTION.findall(text, 0, begin)
        self.function = before[-1] if before else ""
        self.number = 1  # among those that look the same

    def key(self):
        place = f"{self.function} {self.number}" if self.number > 1 else self.function
        return (f"cuda/{self.file}, {place}", self.old, self.new)

    def __str__(self):
        return f"cuda/{self.file}:{self.line}: {self.kind}: {self.old}  =>  {self.new}"


def blank(text, pattern):
    """The same text with spaces where the pattern is, so that places stay."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)


def code_of(text):
    code = blank(text, r"/\*.*?\*/")
    code = blank(code, r"^#(?:[^\n]*\\\n)*[^\n]*$")
    return blank(code, r"static_assert\(.*?\);")


def arguments(code, at):
    """Begin and end of each argument of a call whose parenthesis opens at `at`."""
    depth, begin, found = 0, at + 1, []
    for i in range(at, len(code)):
        if code[i] in "([{":
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and code[i] == ","):
            found.append((begin, i))
            begin = i + 1
        if depth == 0:
            return found
    raise ValueError("a call without an end")


OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def find_mutants(file, text):
    code = code_of(text)
    found = []

    def add(kind, begin, end, after):
        found.append(Mutant(file, text, kind, begin, end, after))

    for m in re.finditer(r"__pipeline_wait_prior\((\d+)\)", code):
        add("wait", m.start(1), m.end(1), str(int(m[1]) + 1))
    for m in re.finditer(r"__pipeline_(?:wait_prior\(\d+\)|commit\(\));", code):
        add("wait", m.start(), m.end(), ";")
    for m in re.finditer(r"__sync(?:warp|threads)\(\);", code):
        add("barrier", m.start(), m.end(), ";")
    for m in re.finditer(r"\b0x([0-9a-f]+)(?=u?l?l?\b)", code):
        value = int(m[1], 16)
        if value != 0:
            add("mask", m.start(1), m.end(1), f"{value & (value - 1):0{len(m[1])}x}")
    for m in re.finditer(r"& ~?(\d+)(?=u?\b)(?!\.)", code):
        add("mask", m.start(1), m.end(1), str(int(m[1]) // 2))
    for m in re.finditer(r"__shfl_sync\(", code):
        begin, end = arguments(code, m.end() - 1)[2]
        add("shuffle", begin, end, f" ({text[begin:end].strip()}) ^ 1")
    for m in re.finditer(r"(?<=[\w)\]] )([<>]=?|[=!]=)(?= )", code):
        add("bound", m.start(), m.end(), OTHER[m[1]])
    for m in re.finditer(r"(?<=[\w)\]] )([<>]=?|[=!]=)(?=\n)", code):
        add("bound", m.start(), m.end(), OTHER[m[1]])
    for m in re.finditer(r"\b(min|max)\(", code):
        add("bound", m.start(1), m.end(1), "max" if m[1] == "min" else "min")
    for m in re.finditer(r"(?<= [+-] )1\b(?!u?ll)", code):
        add("bound", m.start(), m.end(), "2" if code[m.start() - 2] == "+" else "0")
    for m in re.finditer(r" (<<|>>) | (<<|>>)(?=\n)", code):
        add("shift", m.start(), m.end(), f"{m[0]}1 {m[0].strip()} ")
    for m in re.finditer(r"(<<|>>)= ", code):
        add("shift", m.end(), m.end(), "1 + ")
    found.sort(key=lambda x: x.begin)
    seen = collections.Counter()
    for mutant in found:
        seen[mutant.function, mutant.old, mutant.new] += 1
        mutant.number = seen[mutant.function, mutant.old, mutant.new]
    return found


def all_mutants():
    return [m for file in sorted(REACHED)
            for m in find_mutants(file, (ROOT / "cuda" / file).read_text())]


# --- building and running ------------------------------------------------------------------------

class Stage:
    """One way to build and run: a build folder, and the commands that it would use."""

    def __init__(self, name, sanitize, every, few, build):
        self.name, self.every, self.folder = name, every, build / name
        self.sanitize, self.few = sanitize, few
        self.seconds, self.bytes = {}, {}  # of the unchanged kernels, by file
        self.ready = False

    def kernels(self, file):
        return REACHED[file][:FEW] if self.few else REACHED[file]

    def prepare(self):
        print(f"# building {self.folder}", flush=True)
        subprocess.run(
            ["cmake", "-S", str(ROOT), "-B", str(self.folder), "-G", "Ninja", "-DLP_CUDA=OFF",
             f"-DLP_SANITIZE={self.sanitize}", "-DCMAKE_BUILD_TYPE=Debug",
             "-DCMAKE_C_FLAGS_DEBUG=-O2", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"],
            check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", str(self.folder), "-j", "2", "test_gather"], check=True,
                       stdout=subprocess.DEVNULL)
        commands = subprocess.run(["ninja", "-C", str(self.folder), "-t", "commands",
                                   "test_gather"], check=True, capture_output=True, text=True
                                  ).stdout.splitlines()
        compiling = [c for c in commands if "entry.cu.o -c " in c]
        self.compile = self.compile_command(shlex.split(compiling[-1]))
        self.link = [w for w in shlex.split(commands[-1]) if w not in (":", "&&")]
        self.object = next(w for w in self.link if w.endswith("entry.cu.o"))
        self.ready = True

    @staticmethod
    def compile_command(words):
        """For a copy in the current folder: the object's bytes then depend on the source alone."""
        kept, skip = [], False
        for word in words:
            if not skip and word not in ("-MD", "-MF", "-MT", "-o", "-c", "-g"):
                kept.append(word)
            skip = word in ("-MF", "-MT", "-o", "-c")
        at = next(i for i, w in enumerate(kept) if w.startswith("-I"))
        return kept[:at] + ["-I."] + kept[at:] + ["-w", "-c", "cuda/entry.cu", "-o", "entry.o"]

    def build(self, copy):
        """True, or False where it does not compile."""
        if subprocess.run(self.compile, cwd=copy, capture_output=True).returncode != 0:
            return False
        words = [str(copy / "entry.o") if w == self.object else w for w in self.link]
        words[words.index("-o") + 1] = str(copy / "test")
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True)
        return True

    def run(self, copy, file):
        """What went wrong, or None."""
        environment = dict(os.environ, LANEPACK_SIMT_ORDER="random", LANEPACK_SIMT_SEED="3",
                           LANEPACK_SIMT_FILL="165", LANEPACK_SIMT_EXIT_ON_FAILURE="1",
                           TSAN_OPTIONS="halt_on_error=1 exitcode=66",
                           ASAN_OPTIONS="detect_leaks=0")
        limit = 60 + 10 * self.seconds[file] if file in self.seconds else 3600
        try:
            done = subprocess.run([str(copy / "test"), "quick", str(ROOT / "tests" / "golden"),
                                   str(self.every)], env=environment, timeout=limit,
                                  capture_output=True, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return "no end"
        if done.returncode == 0:
            return None
        lines = [x for x in done.stderr.splitlines() if x.strip() and not x.startswith("===")]
        return (lines or [f"status {done.returncode}"])[0][:160]


def make_copy(folder, file, text, kernels):
    """The kernels' folder with one file changed, and an entry of the kernels that it reaches."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "cuda", folder / "cuda")
    (folder / "cuda" / file).write_text(text)
    entry = (ROOT / "cuda" / "entry.cu").read_text()
    entry = re.sub(r"^LP_GATHER_\w+\(.*\)$", "", entry, flags=re.M)
    (folder / "cuda" / "entry.cu").write_text(entry + "\n".join(kernels) + "\n")


class Bench:
    def __init__(self, build):
        self.build = build
        self.lock = threading.Lock()
        self.stages = [Stage("plain", "", 1, True, build), Stage("plain", "", 1, False, build),
                       Stage("address", "address;undefined", 2, False, build),
                       Stage("thread", "thread", 6, False, build)]

    def measure(self, stage, file, copy):
        """The unchanged kernels pass, in so many seconds; their object is what others equal."""
        if not stage.ready:
            stage.prepare()
        if file in stage.seconds:
            return
        make_copy(copy, file, (ROOT / "cuda" / file).read_text(), stage.kernels(file))
        if not stage.build(copy):
            raise RuntimeError(f"{file}: the unchanged kernels do not compile")
        started = time.monotonic()
        wrong = stage.run(copy, file)
        if wrong is not None:
            raise RuntimeError(f"{file}: the unchanged kernels fail, {stage.name}: {wrong}")
        stage.seconds[file] = time.monotonic() - started
        stage.bytes[file] = (copy / "entry.o").read_bytes()
        print(f"# {file}, {stage.name}: {stage.seconds[file]:.0f} s unchanged", flush=True)

    def try_mutant(self, mutant, stage):
        """Outcome and what a test said; None: nothing noticed it here."""
        if stage.name == "thread" and mutant.kind not in ORDER:
            return None
        copy = self.build / f"copy-{os.getpid()}-{threading.get_ident()}"
        text = (ROOT / "cuda" / mutant.file).read_text()
        changed = text[:mutant.begin] + mutant.after + text[mutant.end:]
        with self.lock:
            self.measure(stage, mutant.file, copy)
        make_copy(copy, mutant.file, changed, stage.kernels(mutant.file))
        if not stage.build(copy):
            return "not compiled", ""
        if (copy / "entry.o").read_bytes() == stage.bytes[mutant.file]:
            return None if stage.few else ("equal", "")
        wrong = stage.run(copy, mutant.file)
        return None if wrong is None else (f"killed {stage.name}", wrong)


# --- results -------------------------------------------------------------------------------------

def read_explained():
    """tests/simt/mutants.txt: where, '- old line', '+ new line', why; an empty line between."""
    explained = {}
    for block in (ROOT / "tests" / "simt" / "mutants.txt").read_text().split("\n\n"):
        lines = [x for x in block.splitlines() if not x.startswith("#")]
        if len(lines) >= 4:
            key = (lines[0], lines[1].removeprefix("- "), lines[2].removeprefix("+ "))
            explained[key] = " ".join(x.strip() for x in lines[3:])
    return explained


def read_results(path):
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {tuple(row[2:5]): row for row in csv.reader(file)}


def summarize(mutants, results):
    explained, unexplained = read_explained(), 0
    rows = [results[m.key()] for m in mutants]
    print("\n| kind | killed plain | address | thread | survived | equal | not compiled |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS + ("all",):
        of = [r[0] for r in rows if kind in ("all", r[1])]
        print(f"| {kind} | " + " | ".join(str(of.count(x)) for x in (
            "killed plain", "killed address", "killed thread", "survived", "equal",
            "not compiled")) + " |")
    survivors = [m for m in mutants if results[m.key()][0] == "survived"]
    killed = sum(r[0].startswith("killed") for r in rows)
    for m in survivors:
        place, old, new = m.key()
        why = explained.get(m.key())
        unexplained += why is None
        print(f"\n{place}\n- {old}\n+ {new}\n  {why or 'not explained'}")
    share = len(survivors) / max(1, killed + len(survivors))
    print(f"\n{len(rows)} mutants: {killed} killed, {len(survivors)} survived, {share:.1%}")
    return share > SURVIVORS_MAX or unexplained > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--sample", type=int, help="that many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--files", default=",".join(REACHED))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--out", type=pathlib.Path, help="default: results.csv in --build")
    options = parser.parse_args()
    mutants = [m for m in all_mutants()
               if m.kind in options.kinds.split(",") and m.file in options.files.split(",")]
    if options.sample is not None:
        # A larger sample of the same seed begins with the smaller one.
        mutants = random.Random(options.seed).sample(mutants, len(mutants))[:options.sample]
    if options.list:
        print(*mutants, sep="\n")
        return 0
    build = options.build.resolve()
    out = options.out or build / "results.csv"
    build.mkdir(parents=True, exist_ok=True)
    results, bench = read_results(out), Bench(build)

    def record(m, outcome, said):
        row = [outcome, m.kind, *m.key(), said]
        results[m.key()] = row
        with out.open("a", newline="") as file:
            csv.writer(file).writerow(row)
        print(f"{outcome}: {m}", flush=True)

    left = [m for m in mutants if m.key() not in results]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for stage in bench.stages:
            trying = {pool.submit(bench.try_mutant, m, stage): m for m in left}
            for done in concurrent.futures.as_completed(trying):
                if done.result() is not None:
                    record(trying[done], *done.result())
            left = [m for m in left if m.key() not in results]
            print(f"# {len(left)} left after {stage.name}", flush=True)
    for m in left:
        record(m, "survived", "")
    return summarize(mutants, results)


if __name__ == "__main__":
    sys.exit(main())
