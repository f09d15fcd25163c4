"""build/libcapball.so through ctypes, for benchmarks against Python's libraries."""
import ctypes
import os

# Debian's OpenBLAS 0.3.21 takes new processors for old ones; both sides shall have their best. It is read when
# NumPy is loaded: import this module first.
_FLAGS = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX" if "avx512f" in _FLAGS else "HASWELL")

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build"))
DTYPES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int8": 4}


class Rows(ctypes.Structure):
    """A cpb_view, and a cpb_out too."""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rows", ctypes.c_size_t),
                ("cols", ctypes.c_size_t), ("stride", ctypes.c_size_t)]


class Failure(ctypes.Structure):
    """A cpb_error."""
    _fields_ = [("status", ctypes.c_int), ("reason", ctypes.c_int), ("row", ctypes.c_int64), ("about", ctypes.c_int32),
                ("argument", ctypes.c_char * 60), ("text", ctypes.c_char * 512)]


def processor():
    """Its name and the number of its cores."""
    names = [line.split(":", 1)[1].strip() for line in _FLAGS.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"


def rows(array):
    return Rows(array.ctypes.data, DTYPES[array.dtype.name], array.shape[0], array.shape[1], array.shape[1])


def load():
    lib = ctypes.CDLL(os.path.join(BUILD, "libcapball.so"))
    lib.cpb_isa_name.restype = ctypes.c_char_p
    lib.cpb_pool_exec.restype = ctypes.c_void_p
    return lib


class Copy(ctypes.Structure):
    """A roofline_copy of bench/support/roofline.h."""
    _fields_ = [("source", ctypes.c_void_p), ("target", ctypes.c_void_p), ("read", ctypes.c_size_t),
                ("written", ctypes.c_size_t), ("exec", ctypes.c_void_p)]


def roofline(source, target, exec):
    """Copies the source to the beginning of the target as fast as the machine can."""
    copy = Copy(source.ctypes.data, target.ctypes.data, source.nbytes, source.nbytes, exec)
    lib = ctypes.CDLL(os.path.join(BUILD, "libcpb_roofline.so"))
    return lambda: lib.roofline_run(ctypes.byref(copy))


def threads(lib, count):
    """An exec of so many threads; they live as long as the process."""
    pool = ctypes.c_void_p()
    if lib.cpb_pool_new(ctypes.c_size_t(count), ctypes.byref(pool), None) != 0:
        raise SystemExit("no threads")
    return lib.cpb_pool_exec(pool)
