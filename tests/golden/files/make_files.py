#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tensor files beside it: valid/<name>, and invalid/<case>/{input.*, error}.

Plain bytes, no numpy: the files are what the formats' descriptions say, not what one program
happens to write. `error` holds the code that every reader must give and, on a second line, a part
of the sentence that names the byte or key. Run it again after a change; nothing else makes files.
"""

import json
import pathlib
import shutil
import struct

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


F32 = struct.pack("<6f", 0.0, -0.0, 1.5, -2.25, 3e38, 1e-40)
A = tensor("F32", [2, 3], 0, 24)

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
    # neither
    "other_zip": ("bin", b"PK\x03\x04" + bytes(60), "LP_ENOTSUP", "zip"),
    "other_packed": ("bin", b"LANEPACK" + bytes(60), "LP_ENOTSUP", "packed already"),
    "other_text": ("bin", b"just some words\n", "LP_ENOTSUP", "needs dtype and shape"),
    "other_no_bytes": ("bin", b"", "LP_ENOTSUP", "needs dtype and shape"),
}


def main():
    for folder in ("valid", "invalid"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    (HERE / "valid").mkdir()
    for name, data in VALID.items():
        (HERE / "valid" / name).write_bytes(data)
    for case, (ending, data, code, part) in INVALID.items():
        folder = HERE / "invalid" / case
        folder.mkdir(parents=True)
        (folder / f"input.{ending}").write_bytes(data)
        (folder / "error").write_text(f"{code}\n{part}\n")
    print(len(VALID), "valid,", len(INVALID), "invalid")


if __name__ == "__main__":
    main()
