#!/bin/sh
# Files of NumPy and h5py are read, and ours are read by them, for every dtype and order. The converter
# is the test program round_trip; BUILD is the build directory. Prints TAP.
BUILD=${BUILD:-build}
convert=$BUILD/tests/round_trip
for candidate in /usr/bin/python3 python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then echo "1..0 # SKIP no python3 with numpy"; exit 0; fi
if [ ! -x "$convert" ]; then echo "1..0 # SKIP $convert is not built"; exit 0; fi
exec "$python" - "$convert" <<'PYTHON'
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

try:
    import h5py
except ImportError:
    h5py = None

convert = sys.argv[1]
directory = tempfile.TemporaryDirectory(prefix="capball-numpy-")
names = {"f4": "f32", "f8": "f64", "f2": "f16", "u1": "u8", "i1": "i8", "i4": "i32", "i8": "i64"}
shapes = [(1, 1), (1, 7), (7, 1), (33, 17), (3, 200), (2500, 3)]
rng = np.random.default_rng(1)
np.seterr(over="ignore")
count = failures = 0


def at(name):
    return os.path.join(directory.name, name)


def run(*arguments):
    return subprocess.run([convert, *arguments], capture_output=True, text=True)


def report(ok, text):
    global count, failures
    count += 1
    failures += not ok
    print(("ok" if ok else "not ok"), count, "-", text)


def rows(code, shape):
    dtype = np.dtype(code)
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)
    x = (rng.standard_normal(shape) * np.exp(3 * rng.standard_normal(shape))).astype(dtype)
    x.flat[0] = np.inf
    return x


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def through(source, target, *more):
    result = run(source, target, *more)
    if result.returncode != 0:
        print("#", result.stderr.strip())
    return result.returncode == 0


for code in names:
    for order in "CF":
        good = good_bytes = True
        for shape in shapes:
            x = rows(code, shape)
            np.save(at("a.npy"), np.asarray(x, order=order))
            good = good and through(at("a.npy"), at("b.npy")) and same(np.load(at("b.npy")), x)
            np.save(at("c.npy"), x)
            good_bytes = good_bytes and open(at("b.npy"), "rb").read() == open(at("c.npy"), "rb").read()
        report(good, f"npy {code} in {order} order is read, and NumPy reads what is written")
        report(good_bytes, f"npy {code} from {order} order is byte for byte what NumPy saves")
    x = rows(code, (9,))
    np.save(at("a.npy"), x)
    good = through(at("a.npy"), at("b.npy")) and same(np.load(at("b.npy")), x.reshape(9, 1))
    report(good, f"npy {code}: a vector is read as one column")
    x = np.zeros((0, 3), dtype=code)
    np.save(at("a.npy"), x)
    report(through(at("a.npy"), at("b.npy")) and same(np.load(at("b.npy")), x), f"npy {code}: no rows")

for code, wide in [("u2", "i4"), ("i2", "i4"), ("u4", "i8"), ("?", "u1")]:
    for order in "CF":
        good = True
        for shape in shapes:
            x = rng.integers(2, size=shape).astype("?") if code == "?" else rows(code, shape)
            np.save(at("a.npy"), np.asarray(x, order=order))
            good = good and through(at("a.npy"), at("b.npy")) and same(np.load(at("b.npy")), x.astype(wide))
        report(good, f"npy {np.dtype(code).str} in {order} order is read as {wide}")

for version in [(1, 0), (2, 0), (3, 0)]:
    x = rows("f4", (5, 4))
    with open(at("a.npy"), "wb") as f:
        np.lib.format.write_array(f, x, version=version)
    report(through(at("a.npy"), at("b.npy")) and same(np.load(at("b.npy")), x), f"npy version {version[0]}")

for extension, code in [("fbin", "f4"), ("u8bin", "u1"), ("i8bin", "i1"), ("f16bin", "f2"), ("ibin", "i4")]:
    x = rows(code, (33, 17))
    expected = struct.pack("<II", 33, 17) + x.tobytes()
    np.save(at("a.npy"), x)
    good = through(at("a.npy"), at("b." + extension)) and open(at("b." + extension), "rb").read() == expected
    good = good and through(at("b." + extension), at("c.npy")) and same(np.load(at("c.npy")), x)
    report(good, f"{extension} there and back")

for extension, code in [("fvecs", "f4"), ("bvecs", "u1"), ("ivecs", "i4")]:
    x = rows(code, (33, 17))
    expected = b"".join(struct.pack("<i", 17) + row.tobytes() for row in x)
    np.save(at("a.npy"), np.asfortranarray(x))
    good = through(at("a.npy"), at("b." + extension)) and open(at("b." + extension), "rb").read() == expected
    good = good and through(at("b." + extension), at("c.npy")) and same(np.load(at("c.npy")), x)
    report(good, f"{extension} there and back")

x = rows("f8", (33, 5))
np.save(at("a.npy"), x)
good = through(at("a.npy"), at("b.csv")) and same(np.loadtxt(at("b.csv"), delimiter=","), x)
report(good, "csv f64: NumPy reads the same bits")
np.savetxt(at("c.csv"), x, delimiter=",", header="a,b,c,d,e")
report(through(at("c.csv"), at("d.npy")) and np.array_equal(np.load(at("d.npy")), x), "csv of NumPy, with a header")
np.savetxt(at("c.tsv"), x, delimiter="\t", fmt="%.17g")
report(through(at("c.tsv"), at("d.npy")) and same(np.load(at("d.npy")), x), "tsv of NumPy")
y = rows("f4", (33, 5))
np.save(at("a.npy"), y)
good = through(at("a.npy"), at("b.csv")) and through(at("b.csv"), at("c.npy"), "f32")
report(good and same(np.load(at("c.npy")), y), "csv f32: 9 digits bring the same bits back")

refusals = {"object": np.array([1, "a"], dtype=object), "big-endian": np.zeros((2, 2), dtype=">f4"),
            "structured": np.zeros(2, dtype=[("a", "<f4")]), "dimensions": np.zeros((2, 2, 2), dtype="<f4"),
            "not one of": np.zeros((2, 2), dtype="<u8")}
for word, x in refusals.items():
    np.save(at("a.npy"), x, allow_pickle=True)
    result = run(at("a.npy"), at("refused.npy"))
    report(result.returncode == 1 and word in result.stderr and not os.path.exists(at("refused.npy")),
           f"npy refused with a sentence: {word}")

if h5py is not None and "without HDF5" not in run(at("none.hdf5"), at("n.npy")).stderr:
    probe = rows("f4", (2, 2))
    np.save(at("a.npy"), probe)
    built_with = "without HDF5" not in run(at("a.npy"), at("probe.hdf5")).stderr
else:
    built_with = False
if built_with:
    for code in names:
        good = True
        for shape in shapes:
            x = rows(code, shape)
            for options in [{}, {"chunks": True, "compression": "gzip"}]:
                with h5py.File(at("a.hdf5"), "w") as f:
                    f.create_dataset("group/" + code, data=x, **options)
                good = good and through(at("a.hdf5:group/" + code), at("b.npy")) and same(np.load(at("b.npy")), x)
            good = good and through(at("b.npy"), at("c.h5:deep/set"))
            with h5py.File(at("c.h5"), "r") as f:
                good = good and same(f["deep/set"][:], x)
        report(good, f"hdf5 {code} of h5py is read, and h5py reads what is written")
    for code, wide in [(">f4", "f4"), (">i8", "i8"), ("u2", "i4"), ("i2", "i4"), ("u4", "i8")]:
        x = rows(code if code[0] != ">" else code[1:], (7, 3))
        with h5py.File(at("a.hdf5"), "w") as f:
            f["train"] = x.astype(code)
        good = through(at("a.hdf5"), at("b.npy")) and same(np.load(at("b.npy")), x.astype(wide))
        report(good, f"hdf5 {code} is read as {wide}")
    with h5py.File(at("a.hdf5"), "w") as f:
        f["train"] = np.zeros((2, 2), dtype="u8")
        f["text"] = np.array([b"a"])
    for name in ["train", "text", "absent"]:
        result = run(at("a.hdf5:" + name), at("refused.npy"))
        clean = "HDF5-DIAG" not in result.stderr and name in result.stderr
        clean = clean and (name != "absent" or "it has text, train" in result.stderr)
        report(result.returncode == 1 and clean, f"hdf5 refused with a sentence: {name}")
else:
    report(True, "hdf5 # SKIP no h5py, or built without HDF5")

print(f"1..{count}")
sys.exit(failures != 0)
PYTHON
