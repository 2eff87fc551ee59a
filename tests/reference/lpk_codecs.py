# SPDX-License-Identifier: Apache-2.0
"""The codecs of docs/FORMAT.md, sections 4 to 8, one class each, written from that page alone.

A codec is made from its metadata, and decodes one record: bytes in, the bytes of n elements and the
codec's size out. Slow and plain: each section's numbered parts stand in its order.
"""
import struct


class Corrupt(Exception):
    """A rule that the document calls a must is broken: LP_ECORRUPT."""

    code = "LP_ECORRUPT"


def must(condition, text):
    if not condition:
        raise Corrupt(text)


def round_up(x, a):
    return -(-x // a) * a


def ceil_div(a, b):
    return -(-a // b)


def bit(data, i):
    """Bit i of a bit string: bit i % 8 of byte i / 8, counted from the least significant."""
    return data[i // 8] >> (i % 8) & 1


def number(data, at, size, what):
    must(at + size <= len(data), what)
    return int.from_bytes(data[at:at + size], "little")


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
F32, BF16, I8, U8 = 2, 4, 7, 8


class Shape:
    """What a codec may know of its table."""

    def __init__(self, dtype, n_elements, record_elements):
        self.dtype = dtype
        self.elem_bytes = DTYPES[dtype][1]
        self.n_elements = n_elements
        self.record_elements = record_elements


class Bits:
    """A bit string that is read from its front, and the bytes that follow it."""

    def __init__(self, data, at):
        self.data, self.position = data, 8 * at

    def take(self, n):
        must(self.position + n <= 8 * len(self.data), "bit string")
        bits = [bit(self.data, self.position + i) for i in range(n)]
        self.position += n
        return bits

    def take_number(self, width):
        return sum(b << i for i, b in enumerate(self.take(width)))

    def end(self):
        """Zeros up to a whole byte; where the bytes go on."""
        while self.position % 8 != 0:
            must(self.take(1) == [0], "padding of the bit string")
        return self.position // 8


def read_levels(meta, what, width_max):
    must(1 <= meta[0] <= 5, f"{what} levels")
    widths = list(meta[1:1 + meta[0]])
    must(all(1 <= w <= width_max for w in widths) and not any(meta[1 + meta[0]:6]),
         f"{what} widths")
    return widths


def symbols_of(widths):
    return sum((1 << w) - 1 for w in widths)


def take_cascade(bits, n, widths):
    """Part 3 of section 5: the symbol of each element, None for those that no level has coded."""
    symbols, left, first_symbol = [None] * n, list(range(n)), 0
    for width in widths:
        planes = [bits.take(len(left)) for _ in range(width)]
        escaped = []
        for k, i in enumerate(left):
            code = sum(planes[b][k] << b for b in range(width))
            if code == 0:
                escaped.append(i)
            else:
                symbols[i] = first_symbol + code - 1
        first_symbol += (1 << width) - 1
        left = escaped
    return symbols


class Raw:
    """As they are: the values of codec sparse."""

    def __init__(self, shape):
        self.elem_bytes = shape.elem_bytes

    def decode(self, stored, n, _first):
        must(n * self.elem_bytes <= len(stored), "raw elements")
        return stored[:n * self.elem_bytes], n * self.elem_bytes


class Ibp:
    """Section 4."""

    def __init__(self, meta, shape):
        self.elem_bytes = shape.elem_bytes
        must(len(meta) >= 16, "ibp metadata")
        self.s, self.groups, zeros, n_words, _, zero = struct.unpack_from("<BB2sIII", meta)
        must(self.s in (4, 8) and not any(zeros) and zero == 0, "ibp metadata")
        must(self.groups == 0 or 2 <= self.groups <= 16, "groups of ibp")
        must(n_words * self.s == shape.record_elements * shape.elem_bytes, "n_words")
        must(len(meta) == 16 + max(self.groups, 1) * 2 * n_words * self.s, "ibp metadata")
        words = [int.from_bytes(meta[i:i + self.s], "little")
                 for i in range(16, len(meta), self.s)]
        self.sets = [(words[i:i + n_words], words[i + n_words:i + 2 * n_words])
                     for i in range(0, len(words), 2 * n_words)]
        must(all(v & ~m == 0 for masks, values in self.sets for m, v in zip(masks, values)),
             "ibp value outside mask")

    def decode(self, stored, n_elements, _first):
        s, w = self.s, 8 * self.s
        must(n_elements * self.elem_bytes % s == 0, "a record that is no words must be raw")
        n = n_elements * self.elem_bytes // s
        head, masks, values = self.read_head(stored, n)
        # Words from their most significant bit on: one string of characters 0 and 1.
        string = "".join(f"{int.from_bytes(stored[i:i + s], 'little'):0{w}b}"
                         for i in range(head, len(stored) - s + 1, s))
        at, elements = 0, []
        for j in range(n):
            mask = masks[j] if bit(stored, j) else 0
            x = values[j] if bit(stored, j) else 0
            for b in reversed(range(w)):
                if not mask >> b & 1:
                    must(at < len(string), "bit string")
                    x |= int(string[at]) << b
                    at += 1
            elements.append(x.to_bytes(s, "little"))
        end = round_up(at, w)
        must("1" not in string[at:end], "padding of the bit string")
        return b"".join(elements), head + end // 8

    def read_head(self, stored, n):
        """Part 1: its size, and the masks and values of the record's group."""
        end = ceil_div(n, 8)
        head = round_up(end + (self.groups > 0), self.s)
        must(head <= len(stored), "participation bits")
        must(not any(bit(stored, i) for i in range(n, 8 * end)), "bits behind the last word")
        group = 0
        if self.groups > 0:
            group = stored[end]
            must(group < self.groups, "group")
            end += 1
        must(not any(stored[end:head]), "participation padding")
        masks, values = self.sets[group]
        return head, masks, values


class Lane:
    """Section 5."""

    def __init__(self, meta, shape):
        self.elem_bytes = shape.elem_bytes
        _, _, exponent_bits, self.mantissa_bits = DTYPES[shape.dtype]
        must(len(meta) >= 24, "lane metadata")
        self.widths = read_levels(meta, "lane", 3)
        (self.window, sign, self.exponent_bits, self.trailing_bits, zero, self.period,
         self.span) = struct.unpack_from("<BBBBHIQ", meta, 6)
        must(self.window in (0, 1, 2) and sign in (0, 1, 2) and zero == 0, "lane metadata")
        if shape.dtype in (I8, U8):
            must(3 <= self.exponent_bits <= 6 and sign == 0, "field of one-byte integers")
            self.mantissa_bits = 8 - self.exponent_bits
        else:
            must(exponent_bits > 0, "dtype of lane")
            must(self.exponent_bits == exponent_bits, "exponent_bits")
        must(self.trailing_bits <= self.mantissa_bits, "trailing_bits")
        self.sign_stored = sign == 0 and shape.dtype not in (I8, U8)
        self.sign = 1 if sign == 2 else 0
        self.size = 1 if self.exponent_bits <= 8 else 2
        n_symbols = symbols_of(self.widths)
        n_columns = self.check_columns(shape)
        must(len(meta) == 24 + (n_symbols + n_columns) * self.size, "lane metadata")
        numbers = [number(meta, i, self.size, "lane metadata")
                   for i in range(24, len(meta), self.size)]
        must(all(x < 1 << self.exponent_bits for x in numbers), "rank or column")
        self.ranks, self.columns = numbers[:n_symbols], numbers[n_symbols:]
        must(len(set(self.ranks)) == n_symbols, "ranks differ")

    def check_columns(self, shape):
        """How many columns there are."""
        if self.window != 2:
            must(self.period == 0 and self.span == 0, "columns without their window")
            return 0
        must(self.period >= 1, "column_period")
        groups = 1
        if self.span != 0:
            must(self.span % self.period == 0 and
                 shape.record_elements <= self.span < shape.n_elements, "column_span")
            groups = ceil_div(shape.n_elements, self.span)
        must(groups * self.period <= 65536, "number of columns")
        return groups * self.period

    def column(self, i):
        if self.window != 2:
            return 0
        group = i // self.span if self.span != 0 else 0
        return self.columns[group * self.period + i % self.period]

    def decode(self, stored, n, first):
        modulus = 1 << self.exponent_bits
        other_bits = self.sign_stored + self.mantissa_bits - self.trailing_bits
        others, at, low = [0] * n, 0, 0
        # 1. Bytes of the other bits, in arrays of 4, 2 and 1 bytes that add up to them.
        for size in (4, 2, 1):
            if not other_bits // 8 & size:
                continue
            must(at + n * size <= len(stored), "bytes of the other bits")
            for i in range(n):
                others[i] |= number(stored, at + i * size, size, "other bits") << low
            at += n * size
            low += 8 * size
        # 2. Base.
        base = 0
        if self.window == 1:
            base = number(stored, at, self.size, "base")
            must(base < modulus, "base")
            at += self.size
        # 3. Bit string.
        bits = Bits(stored, at)
        for b in range(low, other_bits):
            for i, value in enumerate(bits.take(n)):
                others[i] |= value << b
        symbols = take_cascade(bits, n, self.widths)
        at = bits.end()
        # 4. Raw exponents.
        elements = []
        for i, symbol in enumerate(symbols):
            if symbol is None:
                x = number(stored, at, self.size, "raw exponents")
                must(x < modulus, "raw exponent")
                at += self.size
            else:
                x = (base + self.ranks[symbol]) % modulus
            elements.append(self.join((x + self.column(first + i)) % modulus, others[i]))
        return b"".join(elements), at

    def join(self, field, other):
        kept = self.mantissa_bits - self.trailing_bits
        sign = other >> kept if self.sign_stored else self.sign
        mantissa = (other & (1 << kept) - 1) << self.trailing_bits
        # One-byte integers have no sign of their own: theirs is 0, and nothing is put there.
        word = sign << (8 * self.elem_bytes - 1) | field << self.mantissa_bits | mantissa
        return word.to_bytes(self.elem_bytes, "little")


class Zip7:
    """Section 6: codec lane with metadata that follow from one number."""

    def __init__(self, meta, shape):
        must(shape.dtype == BF16, "zip7 is for bf16")
        must(len(meta) == 8 and meta[0] <= 249 and not any(meta[1:]), "zip7 metadata")
        fixed = struct.pack("<B5sBBBBHIQ", 1, b"\3", 0, 0, 8, 0, 0, 0, 0)
        self.lane = Lane(fixed + bytes(meta[0] + i for i in range(7)), shape)

    def decode(self, stored, n, first):
        return self.lane.decode(stored, n, first)


class Dict:
    """Section 7."""

    def __init__(self, meta, shape):
        self.elem_bytes = shape.elem_bytes
        must(self.elem_bytes in (1, 2, 4, 8), "elements of dict")
        must(len(meta) >= 16, "dict metadata")
        self.widths = read_levels(meta, "dict", 8)
        zero, n_values, zero_too = struct.unpack_from("<HII", meta, 6)
        must(zero == 0 and zero_too == 0, "dict metadata")
        must(1 <= n_values <= symbols_of(self.widths), "n_values")
        must(n_values > symbols_of(self.widths[:-1]), "a level without values")
        must(len(meta) == 16 + n_values * self.elem_bytes, "dict metadata")
        self.values = [meta[16 + i * self.elem_bytes:16 + (i + 1) * self.elem_bytes]
                       for i in range(n_values)]
        must(len(set(self.values)) == n_values, "values differ")

    def decode(self, stored, n, _first):
        # 1. Bit string.
        bits = Bits(stored, 0)
        symbols = take_cascade(bits, n, self.widths)
        at, elements = bits.end(), []
        # 2. Raw elements.
        for symbol in symbols:
            if symbol is None:
                must(at + self.elem_bytes <= len(stored), "raw elements")
                elements.append(stored[at:at + self.elem_bytes])
                at += self.elem_bytes
            else:
                must(symbol < len(self.values), "symbol")
                elements.append(self.values[symbol])
        return b"".join(elements), at


class OneValue:
    """The values of codec sparse that are all the same."""

    def __init__(self, meta, shape):
        must(len(meta) == 8 and not any(meta[shape.elem_bytes:]), "the one value")
        self.value = meta[:shape.elem_bytes]

    def decode(self, _stored, n, _first):
        return self.value * n, 0


def f32_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def f32_bits(x):
    """Of a number that f64 holds exactly, as it does the product of two f32: rounded once."""
    return struct.unpack("<I", struct.pack("<f", x))[0]


def read_scale(data, at):
    bits = number(data, at, 4, "scale")
    must(77 <= bits >> 23 <= 177, "scale")
    return f32_of(bits)


class Counts:
    """The values of codec sparse that are counts, scaled by row and by column."""

    def __init__(self, meta, shape):
        must(shape.dtype == F32, "dtype of counts")
        columns_bytes = 4 * shape.record_elements
        must(columns_bytes <= len(meta), "scales of columns")
        self.columns = [read_scale(meta, i) for i in range(0, columns_bytes, 4)]
        self.symbols = Dict(meta[columns_bytes:], shape)

    def decode(self, stored, places):
        row = read_scale(stored, 0)
        symbols, size = self.symbols.decode(stored[4:], len(places), 0)
        elements = [self.element(number(symbols, 4 * i, 4, "symbol"), row, self.columns[place])
                    for i, place in enumerate(places)]
        return b"".join(e.to_bytes(4, "little") for e in elements), 4 + size

    @staticmethod
    def element(symbol, row, column):
        if symbol >= 1 << 20:
            return symbol
        scaled = f32_of(f32_bits((symbol // 16 + 1) * row))
        return (f32_bits(scaled * column) + symbol % 16 - 8) % (1 << 32)


class Sparse:
    """Section 8."""

    def __init__(self, meta, shape):
        self.elem_bytes = shape.elem_bytes
        must(self.elem_bytes in (1, 2, 4, 8), "elements of sparse")
        must(shape.record_elements <= 32768, "record_elements of sparse")
        must(len(meta) >= 8 and not any(meta[1:8]), "sparse metadata")
        kind, rest = meta[0], meta[8:]
        must(kind in (0, 1, 3, 5, 128), "values of sparse")
        self.raw = Raw(shape)
        if kind == 0:
            self.values = OneValue(rest, shape)
        elif kind == 1:
            must(len(rest) == 0, "metadata of raw values")
            self.values = None
        elif kind == 3:
            self.values = Lane(rest, shape)
            must(self.values.window == 0, "window of the values")
        elif kind == 5:
            self.values = Dict(rest, shape)
        else:
            self.values = Counts(rest, shape)

    def decode(self, stored, n, _first):
        # 1. Head.
        head = number(stored, 0, 2, "head of a sparse record")
        m, as_they_are = head & 0x7fff, head >> 15
        must(m <= n, "non-zero elements")
        must(not as_they_are or (m > 0 and self.values is not None), "bit 15 of the head")
        if m == 0:
            return bytes(n * self.elem_bytes), 2
        # 2. Places.
        bits = Bits(stored, 2)
        places = self.take_places(bits, n, m)
        at = bits.end()
        # 3. Values.
        codec = self.raw if as_they_are or self.values is None else self.values
        if isinstance(codec, Counts):
            values, size = codec.decode(stored[at:], places)
        else:
            values, size = codec.decode(stored[at:], m, 0)
        elements = bytearray(n * self.elem_bytes)
        for i, place in enumerate(places):
            elements[place * self.elem_bytes:(place + 1) * self.elem_bytes] = \
                values[i * self.elem_bytes:(i + 1) * self.elem_bytes]
        return bytes(elements), at + size

    @staticmethod
    def take_places(bits, n, m):
        low_bits = 0
        while m << (low_bits + 1) <= n:
            low_bits += 1
        upper_bits = m + ((n - 1) >> low_bits)
        if m * low_bits + upper_bits < n:
            lows = [bits.take_number(low_bits) for _ in range(m)]
            ones = [i for i, b in enumerate(bits.take(upper_bits)) if b]
            must(len(ones) == m, "places listed")
            places = [(one - i) << low_bits | low for i, (one, low) in enumerate(zip(ones, lows))]
        else:
            places = [i for i, b in enumerate(bits.take(n)) if b]
            must(len(places) == m, "places on the map")
        must(all(a < b for a, b in zip(places, places[1:])) and places[-1] < n, "places rise")
        return places


CODECS = {2: Ibp, 3: Lane, 4: Zip7, 5: Dict, 6: Sparse}
