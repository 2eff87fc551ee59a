#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What numpy reads, the loader must give: compare_numpy.py LOAD_DUMP.

Arrays of every dtype, order, rank and header version that numpy writes; the real files of the data
folder (LANEPACK_DATA, or shared/data in or beside the checkout) and the word table of
python3-jieba. Each is read, packed, verified and unpacked again. Exit 77, aloud, without numpy.
"""

import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    print("waived: no numpy to compare with")
    sys.exit(77)

DTYPES = "f8 f4 f2 i1 u1 i2 u2 i4 u4 i8 u8 b1 c8".split()
SHAPES = [(), (0,), (1,), (7,), (3, 4), (0, 5), (5, 0), (2, 3, 4), (300, 70), (70, 300),
          (2, 3, 1, 2, 2, 1, 3, 2)]
SAFE = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
OURS = {"f8": "f64", "f4": "f32", "f2": "f16", "b1": "bool", "c8": "c64"}


def run(*args):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True).stdout


def tensors(output):
    """(name, dtype, dims, bytes) for each tensor of load_dump's output."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        name, dtype, dims, size = output[at:end].decode().split("\t")
        at = end + 1 + int(size)
        yield (name, dtype, tuple(int(d) for d in dims.split(",") if d),
               output[end + 1:at])


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def random_array(rng, dtype, shape):
    raw = rng.integers(0, 256, size=int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize,
                       dtype=np.uint8)
    if dtype == "b1":
        raw &= 1
    return raw.view(dtype).reshape(shape)


def check_back(dump, source, scratch, arrays, *options):
    """Pack and unpack: numpy must read the same bits from what comes back."""
    out = scratch / "out.lpk"
    run(dump, "--pack", out, *options, source)
    for i, array in enumerate(arrays):
        back = np.load(f"{out}.{i}.npy", allow_pickle=False)
        assert back.shape == array.shape and bits(back) == bits(array), (source, i)


def check_generated(dump, scratch):
    rng = np.random.default_rng(5)
    paths, wanted = [], []
    for dtype, shape, order in itertools.product(DTYPES, SHAPES, "CF"):
        array = np.asarray(random_array(rng, dtype, shape), order=order)
        version = [(1, 0), (2, 0), (3, 0)][len(paths) % 3]
        paths.append(scratch / f"a{len(paths)}.npy")
        with open(paths[-1], "wb") as file:
            np.lib.format.write_array(file, array, version=version, allow_pickle=False)
        kind = OURS.get(dtype, f"{dtype[0]}{int(dtype[1]) * 8}")
        wanted.append((paths[-1].stem, kind, shape, bits(array)))
        if shape == (300, 70):
            check_back(dump, paths[-1], scratch, [array])
    for step in ([], ["--step", "97"]):
        for got, want in zip(tensors(run(dump, *step, *paths)), wanted, strict=True):
            assert got == want, (want[:3], got[:3])
    return len(paths)


def check_refused(dump, scratch):
    """What numpy writes and we do not take is refused by name."""
    path = scratch / "bad.npy"
    count = 0
    for array, word in [
            (np.zeros(3, ">f4"), "big-endian"), (np.zeros(3, ">i2"), "big-endian"),
            (np.zeros(3, "c16"), "complex"), (np.array(["a", "bc"]), "string"),
            (np.array([b"a"]), "byte string"), (np.zeros(2, "M8[s]"), "datetime"),
            (np.zeros(2, "m8[s]"), "timedelta"), (np.zeros(2, "V2"), "bfloat16"),
            (np.zeros(2, [("a", "f4")]), "structured"), (np.zeros(2, np.longdouble), "this size"),
            (np.zeros((1,) * 9), "9 dimensions")]:
        np.save(path, array, allow_pickle=False)
        done = subprocess.run([dump, path], capture_output=True, check=False)
        assert done.returncode == 1 and word in done.stderr.decode(), (word, done.stderr)
        count += 1
    return count


class Pipe:
    """A file that cannot go back: zipfile then writes sizes and checksums behind each member."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def npz_matches(dump, path, *options):
    """numpy's reading of an .npz, name by name; returns its arrays."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    got = list(tensors(run(dump, *options, path)))
    assert [t[0] for t in got] == list(arrays), path
    for (name, _, dims, data), array in zip(got, arrays.values(), strict=True):
        assert dims == array.shape and data == bits(array), (path, name)
    return list(arrays.values())


def check_npz(dump, scratch):
    rng = np.random.default_rng(6)
    arrays = {f"{dtype}/{shape}{order}": np.asarray(random_array(rng, dtype, shape), order=order)
              for dtype, shape, order in itertools.product(DTYPES, SHAPES, "CF")}
    arrays["large"] = rng.integers(0, 9, size=(1000, 700)).astype("<f4")
    arrays["gew\u00ed"] = np.arange(3)
    paths = [scratch / "stored.npz", scratch / "packed.npz", scratch / "streamed.npz"]
    np.savez(paths[0], **arrays)
    np.savez_compressed(paths[1], **arrays)
    with open(paths[2], "wb") as file, \
            zipfile.ZipFile(Pipe(file), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    for path in paths:
        npz_matches(dump, path)
        wanted = npz_matches(dump, path, "--step", "1009")
    check_back(dump, path, scratch, wanted)
    return len(paths)


def check_npz_refused(dump, scratch):
    path = scratch / "bad.npz"
    count = 0
    for method, array, word in [
            (zipfile.ZIP_LZMA, np.zeros(3), "method 14"),
            (zipfile.ZIP_BZIP2, np.zeros(3), "method 12"),
            (zipfile.ZIP_STORED, np.array(["a", "bc"]), "string"),
            (zipfile.ZIP_DEFLATED, np.array([None, 1]), "object")]:
        with zipfile.ZipFile(path, "w", method) as archive, archive.open("x.npy", "w") as member:
            np.lib.format.write_array(member, array, allow_pickle=True)
        done = subprocess.run([dump, path], capture_output=True, check=False)
        assert done.returncode == 1 and word in done.stderr.decode(), (word, done.stderr)
        assert "member 'x.npy'" in done.stderr.decode(), done.stderr
        count += 1
    return count


def bf16(array):
    """Round to nearest even, in integers; the data has no NaN."""
    wide = array.view("<u4").astype(np.uint64)
    return ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype("<u2")


def check_safetensors(dump, path, scratch):
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + n])
    header.pop("__metadata__", None)
    wanted = []
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        wanted.append((name, entry["dtype"].lower(), tuple(entry["shape"]),
                       raw[8 + n + begin:8 + n + end]))
    assert list(tensors(run(dump, path))) == wanted, path
    check_back(dump, path, scratch,
               [np.frombuffer(data, SAFE[dtype.upper()]).reshape(dims)
                for _, dtype, dims, data in wanted])


def check_npy(dump, path, scratch):
    array = np.load(path, allow_pickle=False)
    (got,) = tensors(run(dump, path))
    assert got[2] == array.shape and got[3] == bits(array), path
    check_back(dump, path, scratch, [array])
    if array.dtype == np.float32:
        (got,) = tensors(run(dump, "--bf16", path))
        assert got[1] == "bf16" and got[3] == bits(bf16(array)), path
        check_back(dump, path, scratch, [bf16(array)], "--bf16")
    turned = scratch / "turned.npy"
    np.save(turned, np.asfortranarray(array))
    (got,) = tensors(run(dump, "--step", "100003", turned))
    assert got[2] == array.shape and got[3] == bits(array), path


def data_folder():
    source = pathlib.Path(os.environ.get("LANEPACK_SOURCE", "."))
    for place in (os.environ.get("LANEPACK_DATA"), source / "shared/data",
                  source.parent / "shared/data"):
        if place and pathlib.Path(place, "MANIFEST.json").is_file():
            return pathlib.Path(place)
    return None


def check_real(dump, scratch):
    folder = data_folder()
    if folder is None:
        print("waived: 1 (no data folder)")
        return 0
    npys = sorted(folder.glob("*.npy"))
    safes = sorted(folder.glob("*.safetensors"))
    npzs = sorted(folder.glob("*.npz"))
    for path in npys:
        check_npy(dump, path, scratch)
    for path in npzs:
        check_back(dump, path, scratch, npz_matches(dump, path))
    for path in safes:
        check_safetensors(dump, path, scratch)
    return len(npys) + len(npzs) + len(safes)


def check_jieba(dump, scratch):
    for place in sys.path + ["/usr/lib/python3/dist-packages"]:
        table = pathlib.Path(place, "jieba/lac_small/model_baseline/word_emb")
        if table.is_file():
            break
    else:
        print("waived: 1 (python3-jieba is not installed)")
        return 0
    array = np.fromfile(table, "<f4", count=20941 * 128, offset=29).reshape(20941, 128)
    raw = ["--raw", "f32:29:20941,128"]
    (got,) = tensors(run(dump, *raw, table))
    assert got == ("word_emb", "f32", array.shape, bits(array)), got[:3]
    check_back(dump, table, scratch, [array], *raw)
    return 1


def scratch_place():
    """Memory where there is plenty: every file that is unpacked is flushed to its disk."""
    shm = "/dev/shm"
    roomy = os.path.isdir(shm) and shutil.disk_usage(shm).free > 1 << 30
    return shm if roomy and os.access(shm, os.W_OK) else None


def main():
    dump = sys.argv[1]
    with tempfile.TemporaryDirectory(dir=scratch_place()) as name:
        scratch = pathlib.Path(name)
        print(check_generated(dump, scratch) + check_npz(dump, scratch), "generated,",
              check_refused(dump, scratch) + check_npz_refused(dump, scratch), "refused,",
              check_real(dump, scratch), "real files,", check_jieba(dump, scratch), "word table")


if __name__ == "__main__":
    main()
