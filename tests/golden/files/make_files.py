#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tensor files beside it: valid/<name>, and invalid/<case>/{input.*, error}.

Plain bytes, no numpy: the files are what the formats' descriptions say, not what one program
happens to write. `error` holds the code that every reader must give and, on a second line, a part
of the sentence that names the byte or key. What is in unreadable/ opens, and fails so when its
elements are read. Run it again after a change; nothing else makes files.
"""

import json
import pathlib
import shutil
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent


def npy(header, data=b"", version=(1, 0), magic=b"\x93NUMPY", length=None):
    """One .npy file. header: text, padded here to 64; bytes: taken as they are."""
    if isinstance(header, str):
        width = 2 if version[0] == 1 else 4
        used = len(magic) + 2 + width + len(header) + 1
        header = (header + " " * (-used % 64) + "\n").encode("latin-1")
    n = len(header) if length is None else length
    packed = struct.pack("<H", n) if version[0] == 1 else struct.pack("<I", n)
    return magic + bytes(version) + packed + header + data


def numbers(descr, shape, order="False"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


def safetensors(header, data=b"", length=None):
    """One .safetensors file. header: a dict, or its text."""
    text = header if isinstance(header, (bytes, str)) else json.dumps(header)
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def tensor(dtype, shape, begin, end, **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


class Member:
    """One member of a zip archive; what is given beyond name and data is a lie."""

    def __init__(self, name, data, method=0, **lies):
        self.name = name if isinstance(name, bytes) else name.encode()
        self.method = method
        self.packed = data
        if method == 8:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            self.packed = packer.compress(data) + packer.flush()
        self.packed = lies.get("packed", self.packed)
        self.crc = lies.get("crc", zlib.crc32(data))
        self.size = lies.get("size", len(data))
        self.packed_size = lies.get("packed_size", len(self.packed))
        self.flags = lies.get("flags", 0 if self.name.isascii() else 1 << 11)
        self.zip64 = lies.get("zip64", self.size > 0xFFFFFFFF)
        self.local_name = lies.get("local_name", self.name)

    def head(self):
        """What local header and directory have in common, and the extra field."""
        sizes = (self.packed_size, self.size)
        extra = struct.pack("<HHQQ", 1, 16, self.size, self.packed_size) if self.zip64 else b""
        if self.zip64:
            sizes = (0xFFFFFFFF, 0xFFFFFFFF)
        return (struct.pack("<HHHHHIII", 45 if self.zip64 else 20, self.flags, self.method, 0, 33,
                            self.crc, *sizes), extra)

    def local(self):
        head, extra = self.head()
        descriptor = b""
        if self.flags & 8:
            head = head[:10] + bytes(12)
            descriptor = struct.pack("<4sIII", b"PK\7\x08", self.crc, self.packed_size, self.size)
        return (b"PK\3\4" + head + struct.pack("<HH", len(self.local_name), len(extra))
                + self.local_name + extra + self.packed + descriptor)

    def entry(self, offset):
        head, extra = self.head()
        return (b"PK\1\2" + struct.pack("<H", 20) + head
                + struct.pack("<HHHHHII", len(self.name), len(extra), 0, 0, 0, 0, offset)
                + self.name + extra)


def npz(*members, count=None, disk=0, comment=b"", zip64_count=None):
    """A zip archive of these members."""
    body, entries = b"", b""
    for member in members:
        entries += member.entry(len(body))
        body += member.local()
    n = len(members) if count is None else count
    end = b""
    if zip64_count is not None:
        at = len(body) + len(entries)
        end = (struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, zip64_count, zip64_count,
                           len(entries), len(body)) + struct.pack("<4sIQI", b"PK\6\7", 0, at, 1))
        n = 0xFFFF
    return body + entries + end + struct.pack("<4sHHHHIIH", b"PK\5\6", disk, disk, n, n,
                                              len(entries), len(body), len(comment)) + comment


F32 = struct.pack("<6f", 0.0, -0.0, 1.5, -2.25, 3e38, 1e-40)
A = tensor("F32", [2, 3], 0, 24)
NPY = npy(numbers("<f4", "(2, 3)"), F32)
TURNED = npy(numbers("<f4", "(2, 3)", "True"), F32)
CLAIM = 17 << 30
CLAIM_NPY = npy(numbers("|u1", f"({CLAIM - 128},)"))

VALID = {
    "f32_2x3.npy": npy(numbers("<f4", "(2, 3)"), F32),
    "f32_2x3_fortran.npy": npy(numbers("<f4", "(2, 3)", "True"), F32),
    "f32_v2.npy": npy(numbers("<f4", "(2, 3)"), F32, version=(2, 0)),
    "f32_v3.npy": npy(numbers("<f4", "(2, 3)"), F32, version=(3, 0)),
    "f32_scalar.npy": npy(numbers("<f4", "()"), F32[:4]),
    "f32_one_dim.npy": npy(numbers("<f4", "(6,)"), F32),
    "f32_empty.npy": npy(numbers("<f4", "(0, 3)")),
    "f32_unpadded.npy": npy(b"{'descr':'<f4','fortran_order':False,'shape':(6,)}\n", F32),
    "f32_keys_turned.npy": npy('{"shape": (6L,), "fortran_order": False, "descr": "<f4"}', F32),
    "i8_three_dims.npy": npy(numbers("|i1", "(2, 2, 2)", "True"), bytes(range(8))),
    "bool.npy": npy(numbers("|b1", "(3,)"), b"\0\1\1"),
    "stored.npz": npz(Member("a.npy", NPY), Member("b/c.npy", TURNED),
                      Member("none.npy", npy(numbers("<f4", "(0, 3)"))),
                      Member("one.npy", npy(numbers("|u1", "()"), b"7"))),
    "deflated.npz": npz(Member("a.npy", NPY, 8), Member("b/c.npy", TURNED, 8),
                        Member("none.npy", npy(numbers("<f4", "(0, 3)")), 8)),
    "mixed.npz": npz(Member("a.npy", NPY, 8), Member("b.npy", NPY), comment=b"two kinds"),
    "zip64.npz": npz(Member("a.npy", NPY, zip64=True), Member("b.npy", NPY, 8, zip64=True),
                     zip64_count=2),
    "streamed.npz": npz(Member("a.npy", NPY, 8, flags=8)),
    "utf8_name.npz": npz(Member("gew\u00ed\U0001f600.npy", NPY)),
    "no_arrays.npz": npz(),
    "f32_2x3.safetensors": safetensors({"a": A}, F32),
    "two_out_of_order.safetensors": safetensors(
        {"late": tensor("F16", [2], 24, 28), "early": A}, F32 + b"\0\x3c\0\xbc"),
    "metadata_and_padding.safetensors": safetensors(
        json.dumps({"__metadata__": {"format": "pt", "empty": ""}, "a": A}) + "    ", F32),
    "no_tensors.safetensors": safetensors({}),
    "empty_and_scalar.safetensors": safetensors(
        {"none": tensor("I64", [0, 4], 0, 0), "one": tensor("F8_E4M3", [], 0, 1)}, b"\x38"),
    "odd_address.safetensors": safetensors(json.dumps({"odd": A}).replace(" ", ""), F32),
    "small_values.safetensors": safetensors(
        {"f4": tensor("F4", [2, 6], 0, 6), "e2m3": tensor("F6_E2M3", [2, 4], 6, 12),
         "e3m2": tensor("F6_E3M2", [1, 4], 12, 15), "e8m0": tensor("F8_E8M0", [1], 15, 16),
         "c64": tensor("C64", [], 16, 24)}, F32),
    "utf8_name.safetensors": safetensors('{"gew\\u00ed\\ud83d\\ude00":'
                                         + json.dumps(A) + "}", F32),
}

# case: (ending, bytes, code, part of the sentence)
INVALID = {
    # npy: preamble
    "npy_no_bytes": ("npy", b"", "LP_ECORRUPT", "byte 0"),
    "npy_cut_in_magic": ("npy", b"\x93NUM", "LP_ECORRUPT", "byte 4"),
    "npy_wrong_magic": ("npy", npy(numbers("<f4", "(6,)"), F32, magic=b"\x93NUMPX"),
                        "LP_ECORRUPT", "byte 0"),
    "npy_version_4": ("npy", npy(numbers("<f4", "(6,)"), F32, version=(4, 0)),
                      "LP_ENOTSUP", "byte 6"),
    "npy_version_1_1": ("npy", npy(numbers("<f4", "(6,)"), F32, version=(1, 1)),
                        "LP_ENOTSUP", "version 1.1"),
    "npy_header_past_end": ("npy", npy(numbers("<f4", "(6,)"), length=65000),
                            "LP_ECORRUPT", "byte 8"),
    "npy_header_huge": ("npy", npy(numbers("<f4", "(6,)"), F32, version=(2, 0), length=2**32 - 1),
                        "LP_ELIMIT", "4294967295"),
    "npy_header_empty": ("npy", npy(b"", F32), "LP_ECORRUPT", "byte 10: expected '{'"),
    # npy: the literal
    "npy_not_a_dict": ("npy", npy("('<f4', False, (6,))", F32), "LP_ECORRUPT", "byte 10"),
    "npy_open_end": ("npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), ", F32),
                     "LP_ECORRUPT", "expected a key"),
    "npy_text_behind": ("npy", npy(numbers("<f4", "(6,)") + " + x", F32),
                        "LP_ECORRUPT", "nothing but white space"),
    "npy_zero_byte_behind": ("npy", npy(numbers("<f4", "(6,)") + "\0", F32),
                             "LP_ECORRUPT", "nothing but white space"),
    "npy_missing_shape": ("npy", npy("{'descr': '<f4', 'fortran_order': False}", F32),
                          "LP_ECORRUPT", "'shape'"),
    "npy_missing_descr": ("npy", npy("{'fortran_order': False, 'shape': (6,)}", F32),
                          "LP_ECORRUPT", "'descr'"),
    "npy_missing_order": ("npy", npy("{'descr': '<f4', 'shape': (6,)}", F32),
                          "LP_ECORRUPT", "'fortran_order'"),
    "npy_key_twice": ("npy", npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, "
                                 "'shape': (6,)}", F32), "LP_ECORRUPT", "'descr' stands twice"),
    "npy_unknown_key": ("npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), "
                                   "'x': 1}", F32), "LP_ECORRUPT", "unknown key 'x'"),
    "npy_key_no_string": ("npy", npy("{1: '<f4'}", F32), "LP_ECORRUPT", "byte 11: expected a key"),
    "npy_no_colon": ("npy", npy("{'descr' '<f4'}", F32), "LP_ECORRUPT", "expected ':'"),
    "npy_no_comma": ("npy", npy("{'descr': '<f4' 'shape': (6,)}", F32), "LP_ECORRUPT",
                     "expected ',' or '}'"),
    "npy_order_a_number": ("npy", npy(numbers("<f4", "(6,)", "0"), F32), "LP_ECORRUPT",
                           "True or False"),
    "npy_order_a_call": ("npy", npy(numbers("<f4", "(6,)", "exit()"), F32), "LP_ECORRUPT",
                         "True or False"),
    "npy_string_open": ("npy", npy("{'descr': '<f4", F32), "LP_ECORRUPT", "for 'descr'"),
    "npy_string_escaped": ("npy", npy("{'descr': '\\x3cf4'}", F32), "LP_ECORRUPT", "for 'descr'"),
    # npy: shape
    "npy_shape_a_number": ("npy", npy(numbers("<f4", "(6)"), F32), "LP_ECORRUPT", "',' after"),
    "npy_shape_a_list": ("npy", npy(numbers("<f4", "[6]"), F32), "LP_ECORRUPT", "a tuple"),
    "npy_shape_negative": ("npy", npy(numbers("<f4", "(-6,)"), F32), "LP_ECORRUPT", "a length"),
    "npy_shape_float": ("npy", npy(numbers("<f4", "(6.0,)"), F32), "LP_ECORRUPT", "',' "),
    "npy_shape_product": ("npy", npy(numbers("<f4", "(6*1,)"), F32), "LP_ECORRUPT", "',' "),
    "npy_shape_leading_zero": ("npy", npy(numbers("<f4", "(06,)"), F32), "LP_ECORRUPT",
                               "leading zeros"),
    "npy_shape_no_length": ("npy", npy(numbers("<f4", "(,)"), F32), "LP_ECORRUPT", "a length"),
    "npy_shape_open": ("npy", npy("{'shape': (6", F32), "LP_ECORRUPT", "',' or ')'"),
    "npy_shape_66_bits": ("npy", npy(numbers("<f4", "(36893488147419103238,)"), F32),
                          "LP_ECORRUPT", "too large"),
    "npy_shape_product_wraps": ("npy", npy(numbers("<f4", "(4294967296, 4294967296, 4)"), F32),
                                "LP_ECORRUPT", "'shape'"),
    "npy_shape_bytes_wrap": ("npy", npy(numbers("<f8", "(2305843009213693953,)"), F32),
                             "LP_ECORRUPT", "'shape'"),
    "npy_shape_9_dims": ("npy", npy(numbers("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), F32[:4]),
                         "LP_ENOTSUP", "9 dimensions"),
    "npy_shape_40_dims": ("npy", npy(numbers("<f4", "(" + "1, " * 40 + ")"), F32[:4]),
                          "LP_ENOTSUP", "dimensions"),
    # npy: descr
    "npy_big_endian_f4": ("npy", npy(numbers(">f4", "(6,)"), F32), "LP_ENOTSUP",
                          "byte 20: '>f4' is big-endian"),
    "npy_big_endian_i8": ("npy", npy(numbers(">i8", "(3,)"), F32), "LP_ENOTSUP", "big-endian"),
    "npy_order_native": ("npy", npy(numbers("=f4", "(6,)"), F32), "LP_ENOTSUP", "byte order"),
    "npy_order_none": ("npy", npy(numbers("|f4", "(6,)"), F32), "LP_ENOTSUP", "byte order"),
    "npy_order_missing": ("npy", npy(numbers("f4", "(6,)"), F32), "LP_ECORRUPT", "byte order"),
    "npy_object": ("npy", npy(numbers("|O", "(3,)"), F32), "LP_ENOTSUP", "(object)"),
    "npy_string": ("npy", npy(numbers("<U3", "(2,)"), F32), "LP_ENOTSUP", "(string)"),
    "npy_byte_string": ("npy", npy(numbers("|S4", "(6,)"), F32), "LP_ENOTSUP", "(byte string)"),
    "npy_complex": ("npy", npy(numbers("<c16", "(1,)"), F32[:16]), "LP_ENOTSUP", "(complex)"),
    "npy_datetime": ("npy", npy(numbers("<M8[ns]", "(3,)"), F32), "LP_ENOTSUP", "(datetime)"),
    "npy_timedelta": ("npy", npy(numbers("<m8[s]", "(3,)"), F32), "LP_ENOTSUP", "(timedelta)"),
    "npy_long_double": ("npy", npy(numbers("<f16", "(1,)"), F32[:16]), "LP_ENOTSUP", "this size"),
    "npy_void_2": ("npy", npy(numbers("<V2", "(12,)"), F32), "LP_ENOTSUP", "bfloat16"),
    "npy_structured": ("npy", npy("{'descr': [('a', '<f4')], 'fortran_order': False, "
                                  "'shape': (6,)}", F32), "LP_ENOTSUP", "structured"),
    "npy_unknown_kind": ("npy", npy(numbers("<q8", "(3,)"), F32), "LP_ECORRUPT", "no dtype"),
    "npy_size_of_words": ("npy", npy(numbers("<f4x", "(6,)"), F32), "LP_ENOTSUP", "this size"),
    # npy: the elements
    "npy_cut": ("npy", npy(numbers("<f4", "(6,)"), F32[:-1]), "LP_ECORRUPT", "cut"),
    "npy_no_elements": ("npy", npy(numbers("<f4", "(6,)")), "LP_ECORRUPT", "cut"),
    "npy_trailing_byte": ("npy", npy(numbers("<f4", "(6,)"), F32 + b"\0"), "LP_ECORRUPT",
                          "from byte 152 on"),
    "npy_two_arrays": ("npy", npy(numbers("<f4", "(6,)"), F32) * 2, "LP_ECORRUPT", "behind"),
    "npy_empty_with_bytes": ("npy", npy(numbers("<f4", "(0,)"), F32), "LP_ECORRUPT", "behind"),
    # safetensors: length and JSON
    "st_no_bytes": ("safetensors", b"", "LP_ECORRUPT", "byte 0"),
    "st_cut_in_length": ("safetensors", b"\x10\0\0", "LP_ECORRUPT", "byte 3"),
    "st_length_past_end": ("safetensors", safetensors({"a": A}, F32, length=5000),
                           "LP_ECORRUPT", "byte 0"),
    "st_length_all_ones": ("safetensors", safetensors({"a": A}, F32, length=2**64 - 1),
                           "LP_ELIMIT", "at most 100000000"),
    "st_length_over_limit": ("safetensors", safetensors({"a": A}, F32, length=100000001),
                             "LP_ELIMIT", "100000001"),
    "st_length_zero": ("safetensors", safetensors({"a": A}, F32, length=0), "LP_ECORRUPT",
                       "0 bytes"),
    "st_header_a_list": ("safetensors", safetensors("[]"), "LP_ECORRUPT", "byte 8"),
    "st_header_space_first": ("safetensors", safetensors(" {}"), "LP_ECORRUPT", "byte 8"),
    "st_header_cut": ("safetensors", safetensors(json.dumps({"a": A})[:-2], F32), "LP_ECORRUPT",
                      "header, byte"),
    "st_header_text_behind": ("safetensors", safetensors("{} x"), "LP_ECORRUPT", "header, byte"),
    "st_header_no_utf8": ("safetensors", safetensors(b'{"\xff":' + json.dumps(A).encode() + b"}",
                                                     F32), "LP_ECORRUPT", "header, byte"),
    "st_header_lone_surrogate": ("safetensors", safetensors('{"\\ud800":' + json.dumps(A) + "}",
                                                            F32), "LP_ECORRUPT", "header, byte"),
    "st_header_zero_in_key": ("safetensors", safetensors('{"a\\u0000b":' + json.dumps(A) + "}",
                                                         F32), "LP_ECORRUPT", "header, byte"),
    "st_key_twice": ("safetensors", safetensors('{"a":' + json.dumps(A) + ',"a":' + json.dumps(A)
                                                + "}", F32), "LP_ECORRUPT", "duplicate"),
    "st_field_twice": ("safetensors", safetensors('{"a":{"dtype":"F32","dtype":"F32","shape":[6],'
                                                  '"data_offsets":[0,24]}}', F32), "LP_ECORRUPT",
                       "duplicate"),
    "st_nested_deep": ("safetensors", safetensors('{"a":' + "[" * 60 + "]" * 60 + "}"),
                       "LP_ECORRUPT", "nested deeper"),
    "st_number_66_bits": ("safetensors", safetensors('{"a":{"dtype":"F32","shape":'
                                                     '[36893488147419103238],"data_offsets":'
                                                     "[0,24]}}", F32), "LP_ECORRUPT",
                          "header, byte"),
    # safetensors: entries
    "st_entry_a_number": ("safetensors", safetensors({"a": 5}), "LP_ECORRUPT", "tensor 'a'"),
    "st_no_dtype": ("safetensors", safetensors({"a": {"shape": [6], "data_offsets": [0, 24]}}, F32),
                    "LP_ECORRUPT", "'dtype' is missing"),
    "st_no_shape": ("safetensors", safetensors({"a": {"dtype": "F32", "data_offsets": [0, 24]}},
                                               F32), "LP_ECORRUPT", "'shape' is missing"),
    "st_no_offsets": ("safetensors", safetensors({"a": {"dtype": "F32", "shape": [6]}}, F32),
                      "LP_ECORRUPT", "'data_offsets' is missing"),
    "st_fourth_key": ("safetensors", safetensors({"a": tensor("F32", [6], 0, 24, x=1)}, F32),
                      "LP_ECORRUPT", "keys beside"),
    "st_dtype_a_number": ("safetensors", safetensors({"a": tensor(4, [6], 0, 24)}, F32),
                          "LP_ECORRUPT", "'dtype'"),
    "st_dtype_unknown": ("safetensors", safetensors({"a": tensor("F33", [6], 0, 24)}, F32),
                         "LP_ENOTSUP", "'F33' is unknown"),
    "st_dtype_lower_case": ("safetensors", safetensors({"a": tensor("f32", [6], 0, 24)}, F32),
                            "LP_ENOTSUP", "unknown"),
    "st_dtype_c128": ("safetensors", safetensors({"a": tensor("C128", [1], 0, 16)}, F32),
                      "LP_ENOTSUP", "'C128' is unknown"),
    "st_f4_odd_row": ("safetensors", safetensors({"a": tensor("F4", [16, 3], 0, 24)}, F32),
                      "LP_ENOTSUP", "values of 4 bits travel 2 at a time"),
    "st_f4_scalar": ("safetensors", safetensors({"a": tensor("F4", [], 0, 24)}, F32),
                     "LP_ENOTSUP", "values of 4 bits travel 2 at a time"),
    "st_f6_odd_row": ("safetensors", safetensors({"a": tensor("F6_E3M2", [16, 2], 0, 24)}, F32),
                      "LP_ENOTSUP", "values of 6 bits travel 4 at a time"),
    "st_f4_short": ("safetensors", safetensors({"a": tensor("F4", [50], 0, 24)}, F32),
                    "LP_ECORRUPT", "24 bytes, but dtype and shape make 25"),
    "st_f6_short": ("safetensors", safetensors({"a": tensor("F6_E2M3", [28], 0, 24)}, F32),
                    "LP_ECORRUPT", "24 bytes, but dtype and shape make 21"),
    "st_shape_a_number": ("safetensors", safetensors({"a": tensor("F32", 6, 0, 24)}, F32),
                          "LP_ECORRUPT", "'shape'"),
    "st_shape_float": ("safetensors", safetensors({"a": tensor("F32", [6.0], 0, 24)}, F32),
                       "LP_ECORRUPT", "'shape': entry 0"),
    "st_shape_negative": ("safetensors", safetensors({"a": tensor("F32", [-2, -3], 0, 24)}, F32),
                          "LP_ECORRUPT", "'shape': entry 0"),
    "st_shape_true": ("safetensors", safetensors({"a": tensor("F32", [6, True], 0, 24)}, F32),
                      "LP_ECORRUPT", "'shape': entry 1"),
    "st_shape_9_dims": ("safetensors", safetensors({"a": tensor("F32", [1] * 9, 0, 4)}, F32[:4]),
                        "LP_ENOTSUP", "9 dimensions"),
    "st_shape_wraps": ("safetensors", safetensors({"a": tensor("F32", [2**32, 2**32, 4], 0, 24)},
                                                  F32), "LP_ECORRUPT", "'shape'"),
    "st_offsets_one": ("safetensors", safetensors({"a": {"dtype": "F32", "shape": [6],
                                                         "data_offsets": [24]}}, F32),
                       "LP_ECORRUPT", "'data_offsets'"),
    "st_offsets_turned": ("safetensors", safetensors({"a": tensor("F32", [6], 24, 0)}, F32),
                          "LP_ECORRUPT", "ends before it begins"),
    "st_offsets_negative": ("safetensors", safetensors({"a": tensor("F32", [6], -24, 0)}, F32),
                            "LP_ECORRUPT", "'data_offsets': entry 0"),
    "st_offsets_wrong_size": ("safetensors", safetensors({"a": tensor("F32", [5], 0, 24)}, F32),
                              "LP_ECORRUPT", "dtype and shape make 20"),
    "st_offsets_past_end": ("safetensors", safetensors({"a": tensor("F32", [6], 0, 24)}, F32[:20]),
                            "LP_ECORRUPT", "the file has 20"),
    "st_offsets_far_past_end": ("safetensors", safetensors(
        {"a": tensor("U8", [2**62 - 1], 0, 2**62 - 1)}, F32), "LP_ECORRUPT", "the file has 24"),
    "st_overlap": ("safetensors", safetensors({"a": tensor("F32", [4], 0, 16),
                                               "b": tensor("F32", [4], 8, 24)}, F32),
                   "LP_ECORRUPT", "tensor 'b'"),
    "st_same_bytes": ("safetensors", safetensors({"a": A, "b": A}, F32), "LP_ECORRUPT",
                      "within another"),
    "st_hole": ("safetensors", safetensors({"a": tensor("F32", [2], 0, 8),
                                            "b": tensor("F32", [2], 16, 24)}, F32),
                "LP_ECORRUPT", "behind a hole"),
    "st_hole_in_front": ("safetensors", safetensors({"a": tensor("F32", [5], 4, 24)}, F32),
                         "LP_ECORRUPT", "behind a hole"),
    "st_trailing_bytes": ("safetensors", safetensors({"a": A}, F32 + b"\0"), "LP_ECORRUPT",
                          "belong to no tensor"),
    "st_no_tensor_for_bytes": ("safetensors", safetensors({}, F32), "LP_ECORRUPT",
                               "belong to no tensor"),
    "st_empty_in_the_wild": ("safetensors", safetensors(
        {"a": A, "none": tensor("F32", [0], 999, 999)}, F32), "LP_ECORRUPT", "tensor 'none'"),
    "st_name_empty": ("safetensors", safetensors({"": A}, F32), "LP_ENAME", "name"),
    "st_name_newline": ("safetensors", safetensors({"a\nb": A}, F32), "LP_ENAME", "name"),
    "st_name_too_long": ("safetensors", safetensors({"n" * 513: A}, F32), "LP_ENAME", "512"),
    "st_metadata_a_list": ("safetensors", safetensors({"__metadata__": [], "a": A}, F32),
                           "LP_ECORRUPT", "__metadata__"),
    "st_metadata_number": ("safetensors", safetensors({"__metadata__": {"n": 1}, "a": A}, F32),
                           "LP_ECORRUPT", "'n' is no string"),
    "st_metadata_nested": ("safetensors", safetensors({"__metadata__": {"n": {}}, "a": A}, F32),
                           "LP_ECORRUPT", "'n' is no string"),
    # npz: the archive
    "npz_no_bytes": ("npz", b"", "LP_ECORRUPT", "zip archive"),
    "npz_zeros": ("bin", b"PK\x03\x04" + bytes(60), "LP_ECORRUPT", "zip archive"),
    "npz_cut_in_directory": ("npz", npz(Member("a.npy", NPY))[:-30], "LP_ECORRUPT", "zip archive"),
    "npz_cut_in_member": ("npz", npz(Member("a.npy", NPY))[:90], "LP_ECORRUPT", "zip archive"),
    "npz_count_too_large": ("npz", npz(Member("a.npy", NPY), count=2), "LP_ECORRUPT",
                            "zip archive"),
    "npz_count_too_small": ("npz", npz(Member("a.npy", NPY), Member("b.npy", NPY), count=1),
                            "LP_ECORRUPT", "zip archive"),
    "npz_count_huge": ("npz", npz(Member("a.npy", NPY), zip64_count=1 << 27), "LP_ECORRUPT",
                       "zip archive"),
    "npz_two_disks": ("npz", npz(Member("a.npy", NPY), disk=1), "LP_ENOTSUP", "zip archive"),
    "npz_name_in_front_differs": ("npz", npz(Member("a.npy", NPY, local_name=b"b.npy")),
                                  "LP_ECORRUPT", "zip archive"),
    "npz_size_without_zip64": ("npz", npz(Member("a.npy", NPY, 8)).replace(
        struct.pack("<I", len(NPY)), b"\xff" * 4), "LP_ECORRUPT", "without a zip64 field"),
    # npz: members
    "npz_no_npy": ("npz", npz(Member("a.npy", NPY), Member("readme.txt", b"words")), "LP_ENOTSUP",
                   "member 'readme.txt': is no .npy"),
    "npz_of_torch": ("bin", npz(Member("archive/data.pkl", b"\x80\2.")), "LP_ENOTSUP",
                     "member 'archive/data.pkl': is no .npy"),
    "npz_folder": ("npz", npz(Member("a/", b"")), "LP_ENOTSUP", "member 'a/': is no .npy"),
    "npz_twice": ("npz", npz(Member("a.npy", NPY), Member("b.npy", NPY), Member("a.npy", TURNED)),
                  "LP_ECORRUPT", "two members have the same name"),
    "npz_path_up": ("npz", npz(Member("../a.npy", NPY)), "LP_ENAME", "leads out"),
    "npz_path_up_inside": ("npz", npz(Member("a/../../b.npy", NPY)), "LP_ENAME", "leads out"),
    "npz_path_from_root": ("npz", npz(Member("/etc/a.npy", NPY)), "LP_ENAME", "leads out"),
    "npz_path_backslash": ("npz", npz(Member("..\\a.npy", NPY)), "LP_ENAME", "leads out"),
    "npz_path_is_up": ("npz", npz(Member("...npy", NPY)), "LP_ENAME", "leads out"),
    "npz_name_empty": ("npz", npz(Member(".npy", NPY)), "LP_ENAME", "member '.npy'"),
    "npz_name_newline": ("npz", npz(Member("a\nb.npy", NPY)), "LP_ENAME", "member 'a"),
    "npz_name_too_long": ("npz", npz(Member("a" * 513 + ".npy", NPY)), "LP_ENAME", "513 bytes"),
    "npz_encrypted": ("npz", npz(Member("a.npy", NPY, flags=1)), "LP_ENOTSUP",
                      "'a.npy' is encrypted"),
    "npz_bzip2": ("npz", npz(Member("a.npy", NPY, 12)), "LP_ENOTSUP", "method 12"),
    "npz_unknown_method": ("npz", npz(Member("a.npy", NPY, 77)), "LP_ENOTSUP", "method 77"),
    "npz_object": ("npz", npz(Member("a.npy", NPY), Member("b.npy", npy(numbers("|O", "(1,)"),
                                                                        b"\x80\2."))),
                   "LP_ENOTSUP", "member 'b.npy': npy key 'descr', byte 20: '|O' (object)"),
    "npz_object_deflated": ("npz", npz(Member("b.npy", npy(numbers("|O", "(1,)"), b"\x80\2."), 8)),
                            "LP_ENOTSUP", "'|O' (object)"),
    "npz_text_for_npy": ("npz", npz(Member("a.npy", b"just some words\n")), "LP_ECORRUPT",
                         "member 'a.npy': is no npy"),
    "npz_member_empty": ("npz", npz(Member("a.npy", b"")), "LP_ECORRUPT", "member 'a.npy'"),
    "npz_member_cut": ("npz", npz(Member("a.npy", NPY[:-1])), "LP_ECORRUPT", "npy file is cut"),
    "npz_member_long": ("npz", npz(Member("a.npy", NPY + b"x", 8)), "LP_ECORRUPT",
                        "1 bytes behind"),
    "npz_stored_two_sizes": ("npz", npz(Member("a.npy", NPY, packed_size=len(NPY) - 1)),
                             "LP_ECORRUPT", "two sizes"),
    "npz_deflate_cut_in_header": ("npz", npz(Member("a.npy", NPY, 8, packed=b"\0", packed_size=1)),
                                  "LP_ECORRUPT", "member 'a.npy'"),
    "npz_deflate_garbage": ("npz", npz(Member("a.npy", NPY, 8, packed=b"\xff" * 80)),
                            "LP_ECORRUPT", "member 'a.npy'"),
    "npz_bomb_too_good": ("npz", npz(Member("a.npy", NPY, 8, size=10 << 20)), "LP_ECORRUPT",
                          "cannot unpack to"),
    "npz_bomb_too_large": ("npz", npz(Member("a.npy", CLAIM_NPY, 8, size=CLAIM,
                                             packed_size=40)),
                           "LP_ELIMIT", "unpacks to 18253611008 bytes"),
    # neither
    "other_packed": ("bin", b"LANEPACK" + bytes(60), "LP_ENOTSUP", "packed already"),
    "other_text": ("bin", b"just some words\n", "LP_ENOTSUP", "needs dtype and shape"),
    "other_no_bytes": ("bin", b"", "LP_ENOTSUP", "needs dtype and shape"),
}

# case: (ending, bytes, code, part of the sentence). NPY's elements are from byte 128 on.
UNREADABLE = {
    "npz_checksum_stored": ("npz", npz(Member("a.npy", NPY, crc=1)), "LP_ECORRUPT", "CRC"),
    "npz_checksum_deflated": ("npz", npz(Member("a.npy", NPY, 8, crc=1)), "LP_ECORRUPT", "CRC"),
    "npz_element_turned": ("npz", npz(Member("a.npy", NPY[:-1] + b"x", crc=zlib.crc32(NPY))),
                           "LP_ECORRUPT", "CRC"),
    "npz_deflate_too_short": ("npz", npz(Member("a.npy", NPY[:-4], 8, size=len(NPY),
                                                crc=zlib.crc32(NPY[:-4]))),
                              "LP_ECORRUPT", "tensor 'a'"),
    "npz_deflate_too_long": ("npz", npz(Member("a.npy", NPY + bytes(9000), 8, size=len(NPY))),
                             "LP_ECORRUPT", "tensor 'a'"),
    "npz_deflate_cut": ("npz", npz(Member("a.npy", NPY, 8, packed=Member("", NPY, 8).packed[:-3])),
                        "LP_ECORRUPT", "tensor 'a'"),
}


def main():
    for folder in ("valid", "invalid", "unreadable"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    (HERE / "valid").mkdir()
    for name, data in VALID.items():
        (HERE / "valid" / name).write_bytes(data)
    for kind, cases in (("invalid", INVALID), ("unreadable", UNREADABLE)):
        for case, (ending, data, code, part) in cases.items():
            folder = HERE / kind / case
            folder.mkdir(parents=True)
            (folder / f"input.{ending}").write_bytes(data)
            (folder / "error").write_text(f"{code}\n{part}\n")
    print(len(VALID), "valid,", len(INVALID), "invalid,", len(UNREADABLE), "unreadable")


if __name__ == "__main__":
    main()
