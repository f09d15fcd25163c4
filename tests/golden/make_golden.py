#!/usr/bin/env python3
"""Writes the golden files beside it: one small table in every format, by NumPy, h5py and struct.

The table has 3 rows and 4 columns: element (i, j) = 4 i + j - 2, its last element 0.5 where the type
has fractions. Run it from anywhere; the files are committed, tests read them without Python. All come out
the same each time but table.hdf5, which holds the time of its making."""
import os
import struct

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def table(dtype):
    x = np.arange(12, dtype=np.float64).reshape(3, 4) - 2
    if np.issubdtype(dtype, np.floating):
        x[2, 3] = 0.5
    if dtype == np.uint8:
        x = x + 2
    return x.astype(dtype)


def write(name, data):
    with open(os.path.join(here, name), "wb") as f:
        f.write(data)


def vecs(x):
    return b"".join(struct.pack("<i", x.shape[1]) + row.tobytes() for row in x)


def binary(x):
    return struct.pack("<II", *x.shape) + x.tobytes()


f4, u1, i4 = table(np.float32), table(np.uint8), table(np.int32)
write("table.fvecs", vecs(f4))
write("table.bvecs", vecs(u1))
write("table.ivecs", vecs(i4))
write("table.fbin", binary(f4))
write("table.u8bin", binary(u1))
write("table.i8bin", binary(table(np.int8)))
write("table.f16bin", binary(table(np.float16)))
write("table.ibin", binary(i4))

for code in ["f2", "f4", "f8", "u1", "i1", "i4", "i8"]:
    x = table(np.dtype(code).type)
    np.save(os.path.join(here, f"c_{code}.npy"), x)
    np.save(os.path.join(here, f"fortran_{code}.npy"), np.asfortranarray(x))
for version in [(2, 0), (3, 0)]:
    with open(os.path.join(here, f"version{version[0]}.npy"), "wb") as f:
        np.lib.format.write_array(f, f4, version=version)
np.save(os.path.join(here, "vector.npy"), f4[:, 3].copy())
np.save(os.path.join(here, "object.npy"), np.array([1, "a"], dtype=object), allow_pickle=True)
np.save(os.path.join(here, "big_endian.npy"), f4.astype(">f4"))
np.save(os.path.join(here, "records.npy"), np.zeros(2, dtype=[("a", "<f4")]))
np.save(os.path.join(here, "cube.npy"), np.zeros((2, 1, 1), dtype="<f4"))
np.save(os.path.join(here, "complex.npy"), np.zeros((1, 1), dtype="<c8"))

write("table.csv", b"\xef\xbb\xbfa,\"b, \"\"quoted\"\"\",c,d\r\n-2,-1,0,1\r\n\r\n\"2\", 3 ,4,5\r\n6e0,+7,8.0,.5")
write("bare.csv", b"-2,-1,0,1\n2,3,4,5\n6,7,8,0.5\n")
write("table.tsv", b"-2\t-1\t0\t1\n2\t3\t4\t5\n\n6\t7\t8\t0.5\n")
write("table.libsvm", b"1 1:-2 2:-1 4:1\n# a comment\n-1 1:2 2:3 3:4 4:5 # more\n\n0 1:6 2:7 3:8 4:5e-1\n")



def number(x):
    text = "%.17g" % x
    return text if any(c in text for c in ".e") else text + ".0"


def vector(x, per_line):
    if x is None:
        return "null"
    if len(x) <= per_line:
        return "[" + ", ".join(map(number, x)) + "]"
    lines = [", ".join(map(number, x[i:i + per_line])) for i in range(0, len(x), per_line)]
    return "[\n    " + ",\n    ".join(lines) + "]"


def checksum(d, s, parts):
    text = "dim %d scale %.17g" % (d, s)
    for key, x in parts.items():
        text += " " + key + "".join(" %.17g" % v for v in x) if x is not None else " " + key + " null"
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return "%016x" % value


def map_file(name, d, s, goal, source, rows, **given):
    parts = {key: given.get(key) for key in ["center", "pole", "whiten", "toward"]}
    text = '{\n  "capball": {"kind": "map", "version": 1},\n'
    text += '  "dim": %d,\n  "scale": %s,\n' % (d, number(s))
    for key, x in parts.items():
        text += '  "%s": %s,\n' % (key, vector(x, d if key == "whiten" and d <= 8 else 4))
    text += '  "goal": %s,\n' % goal
    text += '  "made_from": {"source": %s, "rows": %d},\n' % (source, rows)
    text += '  "checksum": "%s"\n}\n' % checksum(d, s, parts)
    write(name, text.encode())


map_file("plain.json", 3, 2.0, "null", "null", 0)
map_file("whitened.json", 3, 1 / 3, '"mean"', '"base.fvecs"', 1000, center=[0.1, -0.0, 1e-300],
         whiten=[2.0, 0.25, 0.0, 0.0, 1.0, -0.5, 0.0, 0.0, 3.0])
map_file("pole.json", 2, 1e17, '"given"', "null", 0, pole=[0.0, 0.6, 0.8])
map_file("toward.json", 2, 1.5, '"given"', "null", 0, toward=[1.0, 2.0, -2.0])

try:
    import h5py

    sets = {"train": f4, "group/test": table(np.float16), "big": f4.astype(">f8"), "vector": f4[:, 3],
            "neighbors": table(np.int64), "words": np.array([b"a", b"b"])}
    with h5py.File(os.path.join(here, "table.hdf5"), "w", libver="latest") as f:
        for name, x in sets.items():
            f.create_dataset(name, data=x, track_times=False)
except ImportError:
    print("h5py is not here: table.hdf5 is left as it is")
