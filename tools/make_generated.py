# SPDX-License-Identifier: Apache-2.0
"""Write rows x columns float32 numbers drawn from N(0, 0.02), little-endian, seeded.

Usage: make_generated.py FILE ROWS COLUMNS. Standard library only.
"""
import array
import random
import sys


def main() -> None:
    path, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    source = random.Random(1)
    values = array.array("f", (source.gauss(0, 0.02) for _ in range(rows * columns)))
    if sys.byteorder == "big":
        values.byteswap()
    with open(path, "wb") as file:
        values.tofile(file)


if __name__ == "__main__":
    main()
