#!/usr/bin/env python3
"""Writes the golden files beside it: one small table in every format, by NumPy, h5py and struct.

The table has 3 rows and 4 columns: element (i, j) = 4 i + j - 2, its last element 0.5 where the type
has fractions. Run it from anywhere; the files are committed, tests read them without Python."""
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

try:
    import h5py

    with h5py.File(os.path.join(here, "table.hdf5"), "w", libver="latest") as f:
        f.create_dataset("train", data=f4)
        f.create_dataset("group/test", data=table(np.float16))
        f.create_dataset("big", data=f4.astype(">f8"))
        f.create_dataset("neighbors", data=table(np.int64))
        f.create_dataset("vector", data=f4[:, 3])
        f.create_dataset("words", data=np.array([b"a", b"b"]))
except ImportError:
    print("h5py is not here: table.hdf5 is left as it is")
