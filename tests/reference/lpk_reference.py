# SPDX-License-Identifier: Apache-2.0
"""A slow reader of .lpk files, written from docs/FORMAT.md alone; shares no code with the library.

It keeps to the order of that document and to its words, so that both can be read side by side, and
uses nothing but Python's standard library. Hashes are compared where the module xxhash can be
imported, and not otherwise; HASHES says which.
"""
import struct

try:
    import xxhash
    HASHES = True
except ImportError:
    xxhash = None
    HASHES = False

RAW, IBP, LANE = 1, 2, 3
PACKED, SLOTTED = 1, 2

# Section 3: name, bytes, exponent bits, mantissa bits (0, 0 where it is no float).
DTYPES = {
    1: ("f64", 8, 11, 52), 2: ("f32", 4, 8, 23), 3: ("f16", 2, 5, 10), 4: ("bf16", 2, 8, 7),
    5: ("f8_e4m3", 1, 4, 3), 6: ("f8_e5m2", 1, 5, 2), 7: ("i8", 1, 0, 0), 8: ("u8", 1, 0, 0),
    9: ("i16", 2, 0, 0), 10: ("u16", 2, 0, 0), 11: ("i32", 4, 0, 0), 12: ("u32", 4, 0, 0),
    13: ("i64", 8, 0, 0), 14: ("u64", 8, 0, 0), 15: ("bool", 1, 0, 0),
    16: ("f4_x2", 1, 0, 0), 17: ("f6_e2m3_x4", 3, 0, 0), 18: ("f6_e3m2_x4", 3, 0, 0),
    19: ("f8_e8m0", 1, 0, 0), 20: ("f8_e4m3fnuz", 1, 0, 0), 21: ("f8_e5m2fnuz", 1, 0, 0),
    22: ("c64", 8, 0, 0),
}


class Corrupt(Exception):
    """A rule that the document calls a must is broken: LP_ECORRUPT."""

    code = "LP_ECORRUPT"


class UnknownVersion(Corrupt):
    """LP_EVERSION."""

    code = "LP_EVERSION"


def must(condition, text):
    if not condition:
        raise Corrupt(text)


def round_up(x, a):
    return -(-x // a) * a


def ceil_div(a, b):
    return -(-a // b)


def check_hash(data, expected, what):
    if HASHES:
        must(xxhash.xxh3_64_intdigest(data) == expected, f"hash of {what}")


def bit(data, i):
    """Bit i of a bit string: bit i % 8 of byte i / 8, counted from the least significant."""
    return data[i // 8] >> (i % 8) & 1


class Table:
    """Section 2: a table's header, metadata and index, checked. data is what follows the head."""

    FIELDS = struct.Struct("<8sHHIBBBBI8QIIQ" + "Q" * 11)

    def __init__(self, table):
        must(len(table) >= 192, "a table has a header of 192 bytes")
        (magic, version, header_bytes, flags, self.dtype, self.codec, self.layout, ndim,
         self.record_elements, *rest) = self.FIELDS.unpack_from(table)
        self.dims = rest[:8]
        (self.align_bytes, self.check_records, self.segment_bytes, self.meta_bytes,
         self.index_bytes, self.checks_bytes, self.data_bytes, self.payload_bytes, self.wire_bytes,
         self.raw_records, meta_hash, index_hash, checks_hash, header_hash) = rest[8:]
        must(magic == b"LPTABLE\0", "magic")
        if version != 0:
            raise UnknownVersion(f"version {version}")
        check_hash(table[:184], header_hash, "the header")
        must(header_bytes == 192 and flags == 0, "header_bytes and flags")
        self.check_shape(ndim)
        self.check_layout()
        self.derive()
        self.take_sections(table, meta_hash, index_hash, checks_hash)
        self.places = [] if self.codec == RAW else self.read_index()
        self.check_sums()
        if self.codec == IBP:
            self.read_ibp_metadata()
        elif self.codec == LANE:
            self.read_lane_metadata()

    def check_shape(self, ndim):
        must(self.dtype in DTYPES, "dtype")
        self.elem_bytes = DTYPES[self.dtype][1]
        must(ndim <= 8 and not any(self.dims[ndim:]), "ndim and dims")
        self.dims = self.dims[:ndim]
        self.n_elements = 1
        for dim in self.dims:
            self.n_elements *= dim
        row_elements = 1
        for dim in self.dims[1:]:
            row_elements *= dim
        self.logical_bytes = self.n_elements * self.elem_bytes
        must(self.logical_bytes < 1 << 62 and row_elements * self.elem_bytes < 1 << 62,
             "the dimensions' product")

    def check_layout(self):
        must(self.codec in (RAW, IBP, LANE), "codec")
        must(self.layout in (PACKED, SLOTTED), "layout")
        if self.codec == RAW:
            must(self.layout == PACKED and self.align_bytes == 1, "layout of raw")
        elif self.layout == PACKED:
            must(self.align_bytes in (4, 32), "align_bytes")
        else:
            must(self.align_bytes == 32, "align_bytes")
        self.record_bytes = self.record_elements * self.elem_bytes
        must(1 <= self.record_elements and self.record_bytes <= 65536, "record_elements")
        must(self.record_elements <= max(self.n_elements, 1), "record_elements")
        must(self.check_records >= 32 and self.check_records % 32 == 0, "check_records")
        must(4 << 20 <= self.segment_bytes <= 1 << 40 and self.segment_bytes % 64 == 0,
             "segment_bytes")

    def derive(self):
        """Sizes that follow from other fields."""
        self.n_records = ceil_div(self.n_elements, self.record_elements)
        self.n_segments = ceil_div(self.data_bytes, self.segment_bytes)
        must(self.n_segments <= 1 << 24, "segments")
        self.stride, self.entry_bytes, self.group_bytes = None, 0, 0
        index_bytes = 0
        if self.codec == RAW:
            self.stride = self.record_bytes
            must(self.meta_bytes == 0, "raw has no metadata")
        elif self.layout == SLOTTED:
            self.stride = round_up(self.record_bytes, 32)
            self.entry_bytes = 1 if self.stride <= 8160 else 2
            index_bytes = self.n_records * self.entry_bytes
        else:
            self.entry_bytes = 2 if self.record_bytes <= 8192 else 4
            self.group_bytes = 8 + 32 * self.entry_bytes
            index_bytes = ceil_div(self.n_records, 32) * self.group_bytes
        must(self.index_bytes == index_bytes, "index_bytes")
        must(self.checks_bytes == 8 * ceil_div(self.n_records, self.check_records), "checks_bytes")

    def take_sections(self, table, meta_hash, index_hash, checks_hash):
        meta_at = 192
        index_at = meta_at + round_up(self.meta_bytes, 8)
        checks_at = index_at + round_up(self.index_bytes, 8)
        head_bytes = round_up(checks_at + self.checks_bytes, 64)
        must(len(table) == head_bytes + self.data_bytes, "the table's size")
        self.meta = table[meta_at:meta_at + self.meta_bytes]
        self.index = table[index_at:index_at + self.index_bytes]
        self.checks = table[checks_at:checks_at + self.checks_bytes]
        check_hash(self.meta, meta_hash, "the metadata")
        check_hash(self.index, index_hash, "the index")
        check_hash(self.checks, checks_hash, "the checks")
        for begin, end in ((meta_at + self.meta_bytes, index_at),
                           (index_at + self.index_bytes, checks_at),
                           (checks_at + self.checks_bytes, head_bytes)):
            must(not any(table[begin:end]), "padding of the head")
        self.data = table[head_bytes:]

    def elements_of(self, record):
        return min(self.record_elements, self.n_elements - record * self.record_elements)

    def raw_length(self, record):
        return round_up(self.elements_of(record) * self.elem_bytes, self.align_bytes)

    # Section 2.1: (segment, offset in it, stored length) of each record.

    def read_index(self):
        places = self.read_slots() if self.layout == SLOTTED else self.read_groups()
        for record, (segment, offset, length) in enumerate(places):
            must(0 < length <= self.raw_length(record), "stored length")
            must(length % self.align_bytes == 0 and offset % self.align_bytes == 0, "alignment")
            must(segment < self.n_segments, "segment")
            in_last = segment == self.n_segments - 1
            size = self.data_bytes - segment * self.segment_bytes if in_last else self.segment_bytes
            must(offset + length <= size, "record past its segment")
        return places

    def read_slots(self):
        per_segment = self.segment_bytes // self.stride
        kind = "<B" if self.entry_bytes == 1 else "<H"
        sectors = [s for (s,) in struct.iter_unpack(kind, self.index)]
        if self.n_records > 0:
            last = self.n_records - 1
            must(self.data_bytes == last // per_segment * self.segment_bytes
                 + last % per_segment * self.stride + self.stride, "data_bytes")
        return [(r // per_segment, r % per_segment * self.stride, 32 * s)
                for r, s in enumerate(sectors)]

    def read_groups(self):
        modulus = 1 << (8 * self.entry_bytes)
        kind = "<32H" if self.entry_bytes == 2 else "<32I"
        places, expected = [], (0, 0)
        for g in range(ceil_div(self.n_records, 32)):
            (base,) = struct.unpack_from("<Q", self.index, g * self.group_bytes)
            ends = struct.unpack_from(kind, self.index, g * self.group_bytes + 8)
            segment, offset = base >> 40, base & (1 << 40) - 1
            n = min(32, self.n_records - 32 * g)
            must(all(end == ends[n - 1] for end in ends[n:]), "tail of the last group")
            lengths = [4 * ((ends[i] - (ends[i - 1] if i else 0)) % modulus) for i in range(n)]
            fits = expected[1] + sum(lengths) <= self.segment_bytes
            must((segment, offset) == (expected if fits else (expected[0] + 1, 0)),
                 "place of a group")
            for length in lengths:
                places.append((segment, offset, length))
                offset += length
            expected = (segment, offset)
        must(self.data_bytes == expected[0] * self.segment_bytes + expected[1], "data_bytes")
        return places

    def check_sums(self):
        """raw_records, wire_bytes and payload_bytes, as far as the index tells them."""
        if self.codec == RAW:
            must(self.raw_records == self.n_records, "raw_records")
            must(self.payload_bytes == self.wire_bytes == self.logical_bytes, "sums")
            per_segment = self.segment_bytes // self.stride
            if self.n_records == 0:
                must(self.data_bytes == 0, "data_bytes")
            else:
                last = self.n_records - 1
                must(self.data_bytes == last // per_segment * self.segment_bytes
                     + last % per_segment * self.stride + self.raw_length(last), "data_bytes")
            return
        raw = wire = least = most = 0
        for record, (_, offset, length) in enumerate(self.places):
            wire += 32 * ((offset + length - 1) // 32 - offset // 32 + 1)
            if length == self.raw_length(record):
                raw += 1
                least += self.elements_of(record) * self.elem_bytes
                most += self.elements_of(record) * self.elem_bytes
            else:
                least += length - self.align_bytes + 1
                most += length
        must(raw == self.raw_records and raw < self.n_records, "raw_records")
        must(wire == self.wire_bytes, "wire_bytes")
        must(least <= self.payload_bytes <= most, "payload_bytes")

    # Sections 4 and 5: metadata.

    def read_ibp_metadata(self):
        must(self.meta_bytes >= 16, "ibp metadata")
        self.s, zeros, n_words, _, zero = struct.unpack_from("<B3sIII", self.meta)
        must(self.s in (4, 8) and not any(zeros) and zero == 0, "ibp metadata")
        must(n_words * self.s == self.record_bytes, "n_words")
        must(self.meta_bytes == 16 + 2 * n_words * self.s, "ibp metadata")
        words = [int.from_bytes(self.meta[i:i + self.s], "little")
                 for i in range(16, self.meta_bytes, self.s)]
        self.masks, self.values = words[:n_words], words[n_words:]
        must(all(v & ~m == 0 for m, v in zip(self.masks, self.values)), "ibp value outside mask")

    def read_lane_metadata(self):
        _, _, self.exponent_bits, self.mantissa_bits = DTYPES[self.dtype]
        must(self.exponent_bits > 0, "lane needs floats")
        must(self.meta_bytes >= 8, "lane metadata")
        n_levels, self.window, zero = self.meta[0], self.meta[6], self.meta[7]
        must(1 <= n_levels <= 5 and self.window in (0, 1) and zero == 0, "lane metadata")
        self.widths = list(self.meta[1:1 + n_levels])
        must(all(1 <= w <= 3 for w in self.widths) and not any(self.meta[1 + n_levels:6]), "widths")
        size = 1 if self.exponent_bits <= 8 else 2
        n_symbols = sum((1 << w) - 1 for w in self.widths)
        must(self.meta_bytes == 8 + n_symbols * size, "lane metadata")
        self.ranks = [int.from_bytes(self.meta[i:i + size], "little")
                      for i in range(8, self.meta_bytes, size)]
        must(all(r < 1 << self.exponent_bits for r in self.ranks), "rank")
        must(len(set(self.ranks)) == n_symbols, "ranks differ")
        self.exponent_bytes = size

    # Records.

    def stored(self, record):
        if self.codec == RAW:
            per_segment = self.segment_bytes // self.stride
            segment, offset = record // per_segment, record % per_segment * self.stride
            length = self.raw_length(record)
        else:
            segment, offset, length = self.places[record]
        begin = segment * self.segment_bytes + offset
        return self.data[begin:begin + length]

    def decode_record(self, record):
        """The bytes of a record's elements."""
        stored, n = self.stored(record), self.elements_of(record)
        raw_bytes = n * self.elem_bytes
        if len(stored) == self.raw_length(record):
            must(not any(stored[raw_bytes:]), "padding of a raw record")
            return stored[:raw_bytes]
        if self.codec == IBP:
            elements, size = self.decode_ibp(stored, raw_bytes)
        else:
            elements, size = self.decode_lane(stored, n)
        must(round_up(size, self.align_bytes) == len(stored), "codec's size")
        must(not any(stored[size:]), "padding of a record")
        return elements

    def decode_ibp(self, stored, raw_bytes):
        s, w = self.s, 8 * self.s
        must(raw_bytes % s == 0, "a record that is no words must be raw")
        n = raw_bytes // s
        head = round_up(ceil_div(n, 8), s)
        must(head <= len(stored), "participation bits")
        must(not any(bit(stored, i) for i in range(n, 8 * head)), "participation padding")
        # Words from their most significant bit on: one string of characters 0 and 1.
        string = "".join(f"{int.from_bytes(stored[i:i + s], 'little'):0{w}b}"
                         for i in range(head, len(stored) - s + 1, s))
        at, elements = 0, []
        for j in range(n):
            mask = self.masks[j] if bit(stored, j) else 0
            x = self.values[j] if bit(stored, j) else 0
            for b in reversed(range(w)):
                if not mask >> b & 1:
                    must(at < len(string), "bit string")
                    x |= int(string[at]) << b
                    at += 1
            elements.append(x.to_bytes(s, "little"))
        end = round_up(at, w)
        must("1" not in string[at:end], "padding of the bit string")
        return b"".join(elements), head + end // 8

    def decode_lane(self, stored, n):
        exponent_bits, mantissa_bits = self.exponent_bits, self.mantissa_bits
        other_bits = 8 * self.elem_bytes - exponent_bits
        others, at = [0] * n, 0
        # 1. Bytes of the other bits, in arrays of the widest parts that fit, wide ones first.
        low = 0
        while other_bits - low >= 8:
            size = max(k for k in (1, 2, 4) if 8 * k <= other_bits - low)
            must(at + n * size <= len(stored), "bytes of the other bits")
            for i in range(n):
                others[i] |= int.from_bytes(stored[at + i * size:at + (i + 1) * size],
                                            "little") << low
            at += n * size
            low += 8 * size
        # 2. Base.
        base = 0
        if self.window == 1:
            must(at + self.exponent_bytes <= len(stored), "base")
            base = int.from_bytes(stored[at:at + self.exponent_bytes], "little")
            must(base < 1 << exponent_bits, "base")
            at += self.exponent_bytes
        # 3. Bit string.
        position = 8 * at

        def plane(m):
            nonlocal position
            must(position + m <= 8 * len(stored), "bit string")
            bits = [bit(stored, position + i) for i in range(m)]
            position += m
            return bits

        for b in range(low, other_bits):
            for i, value in enumerate(plane(n)):
                others[i] |= value << b
        exponents, left, first_symbol = [None] * n, list(range(n)), 0
        for width in self.widths:
            planes = [plane(len(left)) for _ in range(width)]
            escaped = []
            for k, i in enumerate(left):
                code = sum(planes[b][k] << b for b in range(width))
                if code == 0:
                    escaped.append(i)
                else:
                    rank = self.ranks[first_symbol + code - 1]
                    exponents[i] = (base + rank) % (1 << exponent_bits)
            first_symbol += (1 << width) - 1
            left = escaped
        while position % 8 != 0:
            must(bit(stored, position) == 0, "padding of the bit string")
            position += 1
        # 4. Raw exponents.
        at = position // 8
        for i in left:
            must(at + self.exponent_bytes <= len(stored), "raw exponents")
            exponents[i] = int.from_bytes(stored[at:at + self.exponent_bytes], "little")
            must(exponents[i] < 1 << exponent_bits, "raw exponent")
            at += self.exponent_bytes
        elements = b"".join(
            ((other >> mantissa_bits) << (8 * self.elem_bytes - 1)
             | exponent << mantissa_bits
             | other & (1 << mantissa_bits) - 1).to_bytes(self.elem_bytes, "little")
            for other, exponent in zip(others, exponents))
        return elements, at

    def decode(self):
        """The bytes of all elements."""
        self.verify()
        return b"".join(self.decode_record(r) for r in range(self.n_records))

    def verify(self):
        """Section 2.2."""
        for k, (expected,) in enumerate(struct.iter_unpack("<Q", self.checks)):
            end = min((k + 1) * self.check_records, self.n_records)
            stored = b"".join(self.stored(r) for r in range(k * self.check_records, end))
            check_hash(stored, expected, f"check {k}")


def check_name(name):
    must(1 <= len(name) <= 512, "length of a name")
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Corrupt("name is no UTF-8") from error
    must(not any(ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 for c in text), "control character")
    return text


def read_file(data):
    """Section 7: [(name, Table)] of a whole file."""
    must(len(data) >= 64, "a file has a header of 64 bytes")
    (magic, version, header_bytes, n_tensors, directory_offset, directory_bytes, file_bytes,
     directory_hash, zero, header_hash) = struct.unpack_from("<8sHHIQQQQQQ", data)
    must(magic == b"LANEPACK", "magic")
    if version != 0:
        raise UnknownVersion(f"version {version}")
    check_hash(data[:56], header_hash, "the file header")
    must(header_bytes == 64 and zero == 0 and n_tensors <= 1 << 20, "file header")
    must(file_bytes == len(data), "file_bytes")
    must(directory_offset % 8 == 0 and directory_offset >= 64, "directory_offset")
    must(directory_offset + directory_bytes == file_bytes, "the directory must end the file")
    directory = data[directory_offset:]
    check_hash(directory, directory_hash, "the directory")
    tables, names, at, end = [], set(), 0, 64
    for _ in range(n_tensors):
        must(at + 24 <= len(directory), "directory entry")
        offset, size, name_bytes, zero = struct.unpack_from("<QQII", directory, at)
        must(zero == 0 and at + 24 + round_up(name_bytes, 8) <= len(directory), "directory entry")
        name = check_name(directory[at + 24:at + 24 + name_bytes])
        must(not any(directory[at + 24 + name_bytes:at + 24 + round_up(name_bytes, 8)]),
             "padding of a name")
        must(name not in names, "names differ")
        must(offset % 64 == 0 and offset >= end and offset + size <= directory_offset,
             "place of a table")
        names.add(name)
        tables.append((name, offset, size))
        at, end = at + 24 + round_up(name_bytes, 8), offset + size
    must(at == len(directory), "bytes behind the directory's entries")
    return [(name, Table(data[offset:offset + size])) for name, offset, size in tables]
