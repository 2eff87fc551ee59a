#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_golden.py FOLDER: the slow decoder over the golden files.

Every valid/<name>.lpk must give the bytes of valid/<name>.raw, and every invalid/<case>/input the
code in invalid/<case>/error; cases that only a hash can tell need the module xxhash and are counted
as waived without it. Ends with 0 when all agree.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lpk_reference  # noqa: E402  (found beside this file, whatever the current folder)

# Broken only in bytes that nothing but a hash covers.
HASH_ONLY = {"table_header_hash", "meta_hash", "index_hash", "record_check", "record_raw_check",
             "table_check_blocks_shifted"}


def code_of(data):
    """The code that reading all of a file ends with."""
    try:
        for _, table in lpk_reference.read_file(data):
            table.decode()
    except lpk_reference.Corrupt as error:
        return error.code
    return "LP_OK"


def check_valid(path):
    try:
        tables = lpk_reference.read_file(path.read_bytes())
        elements = b"".join(table.decode() for _, table in tables)
    except lpk_reference.Corrupt as error:
        return f"{path.name}: {error}"
    if elements != path.with_suffix(".raw").read_bytes():
        return f"{path.name}: elements differ"
    return None


def check_invalid(folder):
    expected = (folder / "error").read_text(encoding="utf-8").strip()
    found = code_of((folder / "input").read_bytes())
    return None if found == expected else f"{folder.name}: expected {expected}, got {found}"


def main(root):
    findings, good, waived = [], 0, 0
    for path in sorted((root / "valid").glob("*.lpk")):
        findings.append(check_valid(path))
    for folder in sorted((root / "invalid").iterdir()):
        if folder.name in HASH_ONLY and not lpk_reference.HASHES:
            waived += 1
        else:
            findings.append(check_invalid(folder))
    good = findings.count(None)
    for finding in findings:
        if finding is not None:
            print(finding, file=sys.stderr)
    if not lpk_reference.HASHES:
        print(f"waived: {waived} (hashes are not compared: no Python module xxhash)")
    print(f"{good} good, {len(findings) - good} bad")
    return 0 if good == len(findings) and good > 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check_golden.py FOLDER")
    sys.exit(main(pathlib.Path(sys.argv[1])))
