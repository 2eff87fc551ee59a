# SPDX-License-Identifier: Apache-2.0
"""A slow reader of .lpk files, written from docs/FORMAT.md alone; shares no code with the library.

The codecs are in lpk_codecs.py.

It keeps to the order of that document and to its words, so that both can be read side by side, and
uses nothing but Python's standard library. Hashes are compared where the module xxhash can be
imported, and not otherwise; HASHES says which.
"""
import struct

from lpk_codecs import CODECS, DTYPES, Corrupt, Shape, ceil_div, must, round_up

try:
    import xxhash
    HASHES = True
except ImportError:
    xxhash = None
    HASHES = False

RAW = 1
PACKED, SLOTTED = 1, 2


class UnknownVersion(Corrupt):
    """LP_EVERSION."""

    code = "LP_EVERSION"


def check_hash(data, expected, what):
    if HASHES:
        must(xxhash.xxh3_64_intdigest(data) == expected, f"hash of {what}")


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
        if version != 1:
            raise UnknownVersion(f"version {version}")
        check_hash(table[:184], header_hash, "the header")
        must(header_bytes == 192 and flags == 0, "header_bytes and flags")
        self.check_shape(ndim)
        self.check_layout()
        self.derive()
        self.take_sections(table, meta_hash, index_hash, checks_hash)
        self.places = [] if self.codec == RAW else self.read_index()
        self.check_sums()
        if self.codec != RAW:
            shape = Shape(self.dtype, self.n_elements, self.record_elements)
            self.decoder = CODECS[self.codec](self.meta, shape)

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
        must(self.codec == RAW or self.codec in CODECS, "codec")
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
        elements, size = self.decoder.decode(stored, n, record * self.record_elements)
        must(round_up(size, self.align_bytes) == len(stored), "codec's size")
        must(not any(stored[size:]), "padding of a record")
        return elements

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
    """Section 10: [(name, Table)] of a whole file."""
    must(len(data) >= 64, "a file has a header of 64 bytes")
    (magic, version, header_bytes, n_tensors, directory_offset, directory_bytes, file_bytes,
     directory_hash, zero, header_hash) = struct.unpack_from("<8sHHIQQQQQQ", data)
    must(magic == b"LANEPACK", "magic")
    if version != 1:
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
