#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_codec.py LANEPACK_BENCH: lanepack-bench codec on small made files, without a look at speed.

Checks the shape of its JSON, that its picture is well-formed XML with every label on its page, its
Markdown, and the exit codes of --bars: 0 where all is reached, 1 where one is missed on purpose.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

FIGURES = {"how": str, "payload_bytes": int, "meta_bytes": int, "index_bytes": int,
           "stored_bytes": int, "wire_bytes": int, "records": int, "payload_saving": float,
           "index_align_bytes_per_record": float}


def write_npy(path, values, shape):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * ((54 - len(head) - 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack("<%df" % len(values), *values))


def bench(program, *args, expect=0):
    env = {k: v for k, v in os.environ.items() if not k.startswith("LANEPACK_BENCH")}
    done = subprocess.run([program, "codec", *args], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL if expect else None, text=True, check=False)
    assert done.returncode == expect, (args, done.returncode, done.stdout[-2000:])
    return done.stdout


def check_json(text, timed):
    root = json.loads(text)
    assert root["bench"] == "codec"
    assert {"cpu", "processors", "llc_bytes", "tiers", "tier"} == set(root["machine"])
    (result,) = [r for r in root["results"] if r["dtype"] == "bf16"]
    assert result["whole_file"] is True and result["file"] == "dense.npy"
    assert {"auto", "raw", "ibp", "lane"} <= set(result["codecs"])
    for codec in result["codecs"].values():
        for key, kind in FIGURES.items():
            assert isinstance(codec[key], kind), (key, codec)
        assert ("decode_gbps" in codec) == timed
    assert 0.2 < result["codecs"]["lane"]["payload_saving"] < result["bound_saving"] < 0.4
    assert result["codecs"]["raw"]["payload_saving"] == 0
    for peer in result["peers"]:
        assert peer["state"] in ("measured", "waived"), peer
        assert ("why" in peer) == (peer["state"] == "waived"), peer
    return root


def check_svg(path):
    root = ET.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg"
    width, height = float(root.get("width")), float(root.get("height"))
    texts = list(root.iter(space + "text"))
    assert "lane" in [text.text for text in texts]
    for text in texts:
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


def main():
    program = sys.argv[1]
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        dense, sparse = os.path.join(folder, "dense.npy"), os.path.join(folder, "cora.npy")
        svg, markdown = os.path.join(folder, "a.svg"), os.path.join(folder, "a.md")
        write_npy(dense, [rng.gauss(0, 0.02) for _ in range(16 * 4096)], (16, 4096))
        # As sparse as the set of that name, but no two values alike: its bar cannot be reached.
        few = [rng.random() if rng.random() < 0.013 else 0.0 for _ in range(16 * 1433)]
        write_npy(sparse, few, (16, 1433))
        check_json(bench(program, dense, "--as", "bf16", "--no-speed", "--json"), False)
        check_json(bench(program, dense, "--as", "bf16", "--runs", "1", "--bytes", "200000",
                         "--json", "--svg", svg, "--markdown", markdown), True)
        check_svg(svg)
        with open(markdown, encoding="utf-8") as file:
            assert "| dense.npy | bf16 |" in file.read()
        reached = json.loads(bench(program, dense, "--as", "bf16", "--no-speed", "--bars",
                                   "--json"))["bars"]
        assert reached and all(bar["verdict"] in ("pass", "waived") for bar in reached), reached
        missed = json.loads(bench(program, sparse, "--no-speed", "--bars", "--json",
                                  expect=1))["bars"]
        (bad,) = [bar for bar in missed if "stored ratio" in bar["what"]]
        assert bad["verdict"] == "FAIL" and math.isclose(bad["bound"], 159), bad
        bench(program, os.path.join(folder, "none.npy"), expect=1)
        bench(program, "--as", "f64", dense, expect=2)
        bench(program, "--ci", dense, expect=2)
        bench(program, "--bytes", "0", dense, expect=2)
    print("lanepack-bench codec tells what it should")


if __name__ == "__main__":
    main()
