#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compressors that are reached through Python, measured for lanepack-bench, which starts this.

peers_python.py --input FILE --dtype NAME --bytes N --piece N --runs N

FILE holds raw little-endian elements of dtype; they are repeated until there are N bytes and cut
into pieces, as for the peers in C. Prints one JSON object: {"python": version, "peers": [{"name",
"state", ...}]}. state is "measured" (then version, raw_bytes, stored_bytes, encode_seconds and
decode_seconds, medians of this process's CPU time over all pieces), "waived" or "failed" (then
reason). What is decoded is compared, byte for byte. Nothing is installed or fetched here.
"""
import argparse
import importlib
import importlib.metadata
import json
import platform
import sys
import time

SLOW_SECONDS = 1.0  # a first run that takes longer is measured once more only


class Waived(Exception):
    """This peer is not here, or does not take this dtype."""


def load(module: str, *packages: str):
    """The module and the version of the package that brought it, or Waived."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise Waived(f"Python has no module {module}") from None
    for package in packages:
        try:
            return found, importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found, "unknown version"


class OpenZL:
    """Sign and mantissa stored, exponents through one entropy coder; a context per call, as its
    documentation asks. Source: the manual of OpenZL's Python module."""

    def __init__(self, coder: str, dtype: str):
        self.ext, self.version = load("openzl.ext", "openzl")
        ext = self.ext
        nodes = {
            "bf16": (ext.nodes.BFloat16Deconstruct, "u2"),
            "f16": (ext.nodes.Float16Deconstruct, "u2"),
            "f32": (ext.nodes.Float32Deconstruct, "u4"),
        }
        if dtype not in nodes:
            raise Waived(f"no graph for {dtype}")
        node, self.word = nodes[dtype]
        self.compressor = ext.Compressor()
        store = ext.graphs.Store()(self.compressor)
        coded = getattr(ext.graphs, coder)()(self.compressor)
        graph = node()(self.compressor, sign_frac=store, exponent=coded)
        self.compressor.select_starting_graph(graph)

    def prepare(self, piece):
        return piece.view("<" + self.word)

    def encode(self, words):
        context = self.ext.CCtx()
        context.ref_compressor(self.compressor)
        context.set_parameter(self.ext.CParam.FormatVersion, 21)
        return context.compress([self.ext.Input(self.ext.Type.Numeric, words)])

    def decode(self, coded, _piece):
        return self.ext.DCtx().decompress(coded)[0].content.as_bytes()


class OpenZLFse(OpenZL):
    def __init__(self, dtype: str):
        super().__init__("Fse", dtype)


class OpenZLHuffman(OpenZL):
    def __init__(self, dtype: str):
        super().__init__("Huffman", dtype)


class ZipNN:
    """The C extension alone; its package wants a deep-learning framework. Source: zipnn.py."""

    CHUNK = 262144
    HEADER = bytes(32)
    LAYOUT = {"bf16": (2, 1, 10), "f16": (2, 0, 10), "f32": (4, 1, 220)}

    def __init__(self, dtype: str):
        self.core, self.version = load("zipnn_core", "zipnn", "zipnn_core")
        if dtype not in self.LAYOUT:
            raise Waived(f"no layout for {dtype}")
        self.layout = self.LAYOUT[dtype]

    def prepare(self, piece):
        return bytearray(piece.tobytes())  # it reorders bits in place, so each run takes a copy

    def encode(self, piece):
        return self.core.zipnn_core(
            self.HEADER, piece, *self.layout, 0, self.CHUNK, 0.95, 10, 1
        )

    def decode(self, coded, piece):
        body = memoryview(coded)[len(self.HEADER):]
        return self.core.combine_dtype(body, *self.layout, self.CHUNK, len(piece), 1)


class Pcodec:
    """Its standalone format at its own default level; BF16 goes in as 16-bit integers."""

    WORDS = {"bf16": "u2", "f16": "f2", "f32": "f4", "f64": "f8", "i16": "i2", "u16": "u2",
             "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8"}

    def __init__(self, dtype: str):
        self.pcodec, self.version = load("pcodec", "pcodec")
        if dtype not in self.WORDS:
            raise Waived(f"takes no {dtype}")
        self.word = self.WORDS[dtype]
        self.config = self.pcodec.ChunkConfig()

    def prepare(self, piece):
        return piece.view("<" + self.word)

    def encode(self, words):
        return self.pcodec.standalone.simple_compress(words, self.config)

    def decode(self, coded, _piece):
        return self.pcodec.standalone.simple_decompress(coded).view("u1")


PEERS = {
    "OpenZL FSE": OpenZLFse,
    "OpenZL Huffman": OpenZLHuffman,
    "ZipNN": ZipNN,
    "pcodec": Pcodec,
}


def timed(inputs, step):
    """CPU seconds of step over all inputs, and what it gave."""
    start = time.process_time()
    outputs = [step(*item) for item in inputs]
    return time.process_time() - start, outputs


def median(make_inputs, step, runs: int):
    """One run warms up, and tells how many more are worth their time."""
    first, outputs = timed(make_inputs(), step)
    seconds = sorted(
        timed(make_inputs(), step)[0] for _ in range(1 if first > SLOW_SECONDS else runs)
    )
    return seconds[len(seconds) // 2], outputs


def same(got, piece) -> bool:
    return len(memoryview(got).cast("B")) == len(piece) and bytes(got) == piece.tobytes()


def measure(make_peer, dtype: str, pieces, runs: int) -> dict:
    peer = make_peer(dtype)
    encode_seconds, coded = median(
        lambda: [(peer.prepare(piece),) for piece in pieces], peer.encode, runs
    )
    decode_seconds, back = median(lambda: list(zip(coded, pieces)), peer.decode, runs)
    if not all(same(got, piece) for got, piece in zip(back, pieces)):
        return {"state": "failed", "reason": "does not give back what it got"}
    return {
        "state": "measured",
        "version": peer.version,
        "raw_bytes": sum(len(piece) for piece in pieces),
        "stored_bytes": sum(len(one) for one in coded),
        "encode_seconds": encode_seconds,
        "decode_seconds": decode_seconds,
    }


def measure_named(name: str, dtype: str, pieces, runs: int) -> dict:
    try:
        result = measure(PEERS[name], dtype, pieces, runs)
    except Waived as why:
        result = {"state": "waived", "reason": str(why)}
    except Exception as error:  # whatever a peer throws is its own failure, and named
        result = {"state": "failed", "reason": f"{type(error).__name__}: {error}"[:200]}
    return {"name": name, **result}


def read_pieces(path: str, total: int, piece: int):
    """The file's bytes over and over, cut as bench/peers.c cuts them."""
    numpy = importlib.import_module("numpy")
    once = numpy.fromfile(path, dtype="u1")
    if once.size == 0:
        return []
    data = numpy.resize(once, max(total, 1))
    return [data[at:at + piece].copy() for at in range(0, data.size, piece)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--piece", type=int, required=True)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    try:
        pieces = read_pieces(args.input, args.bytes, args.piece)
        peers = [measure_named(name, args.dtype, pieces, args.runs) for name in PEERS]
    except ImportError:
        peers = [
            {"name": name, "state": "waived", "reason": "Python has no module numpy"}
            for name in PEERS
        ]
    json.dump({"python": platform.python_version(), "peers": peers}, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
