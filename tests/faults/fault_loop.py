#!/usr/bin/env python3
"""The anomaly loop: every command, with its 1st, 2nd, .. N-th allocation or system call failing, once or from there on.

  fault_loop.py CAPBALL SHIM [--short] [--only WORD]

Whatever fails: the exit code is 0, 1 or 2; 0 only with the output of a run without faults; else there is a sentence, and
every output is the old file or the whole new one, and no seal is the old one beside new rows; nothing crashes or hangs; after a next run nothing is left behind.
At last a power cut is replayed at every point between two changes to the files. Prints TAP."""
import argparse, concurrent.futures, mmap, os, shutil, struct, subprocess, sys, tempfile

CRASH_ELSEWHERE = 99
SECONDS = 120

PREPARE = r"""
printf '0,0\n3,4\n6,8\n1,1\n2,5\n4,1\n' >base.csv
printf '0,1\n5,5\n' >queries.csv
printf '1\n1\n2\n1\n1\n1\n' >weights.csv
printf '0\n0\n1\n0\n0\n0\n' >labels.csv
printf '{"ball":{"c":[1,2],"r":1}}\n{"halfspace":{"n":[1,0],"h":2},"id":7}\n' >regions.jsonl
seq 0 99 | awk '{ print $1 % 10 "," int($1 / 10) }' >points.csv
capball convert base.csv base.fvecs; capball convert base.csv base.npy; capball convert base.csv base.libsvm
capball convert base.csv base.hdf5:train
capball fit base.csv -o map.json -q --evidence 2>/dev/null || capball fit base.csv -o map.json -q
capball embed -m map.json base.csv -o sphere.csv; capball embed -m map.json base.csv -o sphere.npy
capball embed -m map.json queries.csv -o asked.csv; capball knn sphere.csv asked.csv -k 3 -o ids.csv
capball ball base.csv -o ball.json -q
capball ball base.csv -o rbf.json --nu 0.5 --kernel rbf -q
capball fit base.csv --state a.state -q
capball fit queries.csv --state b.state --first-row 6 -q
capball merge a.state b.state -o all.state -q
capball fit base.csv --about all.state --state a2.state -q
capball fit queries.csv --about all.state --state b2.state --first-row 6 -q
capball sketch train points.csv -o sketch.json --bits 16 -q
capball sketch encode -m sketch.json points.csv -o codes.u8bin
"""

# name: command line; words that begin with @ are outputs
CASES = {
    "convert": "convert base.csv @out.fbin",
    "convert-text": "convert base.npy @out.csv",
    "convert-fvecs": "convert base.fvecs @out.npy --dtype f64",
    "convert-libsvm": "convert base.libsvm @out.libsvm --rows 1:4",
    "convert-hdf5": "convert base.hdf5:train @out.hdf5",
    "add-hdf5": "convert base.csv @add.hdf5:more",
    "info": "info base.csv --json",
    "info-npy": "info base.npy",
    "fit": "fit base.csv -o @out.json",
    "fit-whiten": "fit base.npy -o @out.json --whiten --goal median --json",
    "fit-spread": "fit points.csv -o @out.json --goal spread",
    "fit-recall": "fit points.csv -o @out.json --goal recall -k 3",
    "fit-spherical": "fit sphere.csv -o @out.json --spherical",
    "fit-state": "fit base.csv --state @out.state",
    "merge": "merge a2.state b2.state -o @out.json --goal median",
    "merge-state": "merge a.state b.state -o @out.state",
    "abid": "abid points.csv --sweep --json",
    "cosines": "cosines base.csv --json",
    "embed": "embed -m map.json base.npy -o @out.npy",
    "embed-skip": "embed -m map.json base.csv -o @out.csv --skip-bad",
    "embed-lift": "embed --transform lift-cosine base.csv -o @out.npy",
    "embed-hdf5": "embed -m map.json base.csv -o @out.hdf5",
    "unembed": "unembed -m map.json sphere.csv -o @out.csv",
    "dual": "dual --scale 2 regions.jsonl",
    "dual-map": "dual -m map.json regions.jsonl",
    "knn": "knn base.csv queries.csv -k 2 -o @out.csv --distances @far.npy",
    "range": "range base.csv queries.csv --radius 3.5 -o @out.jsonl",
    "recommend": "recommend points.csv -k 3 --json --html @out.html",
    "query": "query -m map.json queries.csv --radius 3.5 -o @out.csv --thresholds @b.csv",
    "query-knn": "query -m map.json queries.csv --knn 2 --base base.csv -o @out.csv --json",
    "rescore": "rescore -m map.json queries.csv ids.csv --embedded sphere.csv -k 2 -o @out.csv --distances @far.csv "
               "--certificates @proof.csv --json",
    "rescore-npy": "rescore -m map.json queries.csv ids.csv --embedded sphere.npy -k 2 -o @out.npy",
    "ball": "ball base.csv -o @out.json --sql @out.sql --json",
    "ball-soft": "ball base.csv -o @out.json --nu 0.5 --weights weights.csv",
    "ball-rbf": "ball base.csv -o @out.json --nu 0.5 --kernel rbf",
    "ball-svm": "ball base.csv -o @out.json --nu 0.5 --method cap-svm",
    "score": "score -m ball.json base.csv -o @out.csv --ranks --labels labels.csv --json",
    "score-rbf": "score -m rbf.json base.npy -o @out.npy",
    "sketch-train": "sketch train points.csv -o @out.json --bits 16 --json",
    "sketch-encode": "sketch encode -m sketch.json points.csv -o @out.u8bin",
    "sketch-search": "sketch search -m sketch.json codes.u8bin queries.csv -k 2 --base points.csv -o @out.csv --distances @far.csv",
    "sketch-embedded": "sketch search -m sketch.json codes.u8bin queries.csv -k 2 -o @out.csv",
    "theory": "theory T3",
    "theory-json": "theory --json",
    "help": "help fit",
    "man": "man",
    "completion": "completion bash",
    "version": "--version",
    "demo": "demo -o @out.html",
}
KINDS = ["alloc", "call"]
MODES = {"alloc": ["once", "on"], "call": ["once", "on", "short"]}


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


class Place:
    """A directory in which one run after the other happens."""

    def __init__(self, options, inputs):
        self.options, self.inputs = options, inputs
        self.path = tempfile.mkdtemp(prefix="faults-")
        self.report = os.path.join(self.path, ".report")
        for name, content in inputs.items():
            self.put(name, content)
        self.put(".report", bytes(4096))
        self.map = mmap.mmap(os.open(self.report, os.O_RDWR), 4096)

    def put(self, name, content):
        path = os.path.join(self.path, name)
        if content is None:
            if os.path.exists(path):
                os.unlink(path)
            return
        with open(path, "wb") as file:
            file.write(content)

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def counts(self):
        return struct.unpack("QQQ", self.map[:24])

    def extra(self, outputs):
        known = set(self.inputs) | set(outputs) | {".report"}
        return sorted(set(os.listdir(self.path)) - known)

    def run(self, words, kind=None, at=None, mode="once", named=False, trace=None):
        env = {"PATH": "/nowhere", "LC_ALL": "C", "LD_PRELOAD": self.options.shim, "FAULT_REPORT": self.report}
        if kind:
            env["FAULT_KIND"] = kind
        if at:
            env.update(FAULT_AT=str(at), FAULT_MODE=mode)
        if named:
            env["FAULT_NAMED"] = "1"
        if trace:
            env["FAULT_TRACE"] = trace
        try:
            done = subprocess.run([self.options.capball] + words, cwd=self.path, env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "hangs", b"", b""
        return done.returncode, done.stdout, done.stderr


class Case:
    def __init__(self, name, line, options, inputs):
        self.name, self.options = name, options
        self.words = [w.lstrip("@") for w in line.split()]
        accepts = subprocess.run([options.capball, "help"] + self.verb(), capture_output=True, text=True).stdout
        if "--threads" in accepts:
            self.words += ["--threads", "1"]
        self.outputs = [w[1:].split(":")[0] for w in line.split() if w.startswith("@")]
        self.place = Place(options, inputs)
        self.old = {o: inputs.get("base.hdf5") if o == "add.hdf5" else b"old\n" for o in self.outputs}
        self.troubles, self.runs, self.foreign = [], 0, 0

    def verb(self):
        return self.words[:2] if self.words[0] == "sketch" else self.words[:1]

    def reset(self, there):
        for output in self.outputs:
            self.place.put(output, self.old[output] if there or output == "add.hdf5" else None)

    def files(self):
        return {o: read(os.path.join(self.place.path, o)) for o in self.outputs}

    def find_seals(self):
        """Rows of a map have a seal beside them, a file like the others."""
        for seal in [o + ".capball" for o in self.outputs]:
            if os.path.exists(os.path.join(self.place.path, seal)):
                self.outputs.append(seal)
                self.old[seal] = b"old\n"

    def baseline(self):
        results = []
        for _ in range(2):
            self.reset(True)
            code, out, err = self.place.run(self.words, "call")
            self.find_seals()
            results.append((code, out, self.files()))
            if code != 0:
                self.trouble("without faults", f"exit {code}: {err.decode(errors='replace')}")
                return False
        self.new = results[0][2]
        if results[0][2] != results[1][2]:
            self.trouble("without faults", "two runs, two outputs")
        self.stdout = results[0][1] if results[0][1] == results[1][1] else None
        allocations, calls, _ = self.place.counts()
        self.count = {"alloc": allocations, "call": calls}
        return True

    def trouble(self, where, what):
        self.troubles.append(f"{where}: {what}")

    def torn(self, files, before):
        """Outputs that are neither old nor new. A seal may be gone; it is never the old one beside other rows."""
        for output in self.outputs:
            content, rows = files.get(output), output.removesuffix(".capball")
            if content not in (before[output], self.new[output]) and (rows == output or content is not None):
                yield output
            elif rows != output and content not in (None, self.new[output]) and files.get(rows) != before[rows]:
                yield output

    def judge(self, where, result, before):
        code, out, err = result
        files = self.files()
        text = err.decode(errors="replace")
        if code == CRASH_ELSEWHERE or (code == 255 and "hdf5" in self.name):  # 255: libhdf5 cannot close itself
            self.foreign += 1
        elif code not in (0, 1, 2):
            self.trouble(where, f"ends with {code}: {text[-300:]}")
        elif code == 0 and files != self.new:
            self.trouble(where, "exit 0 with another output: " + ", ".join(o for o in files if files[o] != self.new[o]))
        elif code == 0 and self.stdout is not None and out != self.stdout:
            self.trouble(where, f"exit 0 with another text: {out[-200:]}")
        elif code != 0 and not any(line.startswith("capball") for line in text.splitlines()):
            self.trouble(where, f"exit {code} without a sentence: {text[:300]!r}")
        for output in self.torn(files, before):
            self.trouble(where, f"{output} is neither old nor new, {len(files[output] or b'')} bytes")

    def attempt(self, kind, at, mode, named=False):
        there = mode != "on"
        self.reset(there)
        before = self.files()
        where = f"{kind} {at} {mode}{' named' if named else ''}"
        self.judge(where, self.place.run(self.words, kind, at, mode, named), before)
        self.runs += 1
        if self.place.extra(self.outputs):
            self.place.run(self.words)
            left = self.place.extra(self.outputs)
            if left:
                self.trouble(where, "left behind: " + " ".join(left))
                for name in left:
                    os.unlink(os.path.join(self.place.path, name))

    def numbers(self, count, kind="call"):
        """All of them, or in the short form the first and some of the others; of those inside libhdf5 some."""
        most = self.options.each
        if kind == "alloc" and "hdf5" in self.name:
            most = min(most, 600)
        if count <= most:
            return range(1, count + 1)
        head = most // 3
        return sorted(set(range(1, head + 1)) | {head + 1 + i * (count - head) // (most - head) for i in range(most - head)})

    def loop(self):
        if self.baseline():
            for kind in KINDS:
                for mode in MODES[kind]:
                    for at in self.numbers(self.count[kind] + 2, kind):
                        if len(self.troubles) < 20:
                            self.attempt(kind, at, mode)
            for at in self.numbers(self.count["call"] + 40):
                if len(self.troubles) < 20 and self.outputs:
                    self.attempt("call", at, "once", named=True)
            if self.outputs:
                for named in (False, True):
                    self.power_cut(named)
        self.place.close()
        return self

    # ---- a power cut ----

    def power_cut(self, named):
        for there in (True, False):
            self.reset(there)
            before = self.files()
            inodes = {os.stat(os.path.join(self.place.path, o)).st_ino: o for o in before if before[o] is not None}
            trace = os.path.join(self.place.path, ".trace")
            self.place.put(".trace", b"")
            code, _, err = self.place.run(self.words, named=named, trace=trace)
            changes = parse_trace(read(trace))
            os.unlink(trace)
            if code != 0:
                self.trouble("power cut", f"exit {code}: {err!r}")
                return
            disk = Disk(before, inodes)
            where = f"power cut{' named' if named else ''}"
            for number, change in enumerate(changes):
                disk.apply(change)
                self.runs += 1
                for state in disk.after_cut():
                    for output in self.torn(state, before):
                        self.trouble(f"{where} after change {number}", f"{output} is torn")
            for state in disk.least():
                for output in self.outputs:
                    if state.get(output) != self.new[output]:
                        self.trouble(f"{where} after the end", f"{output} is not there yet")


WRITE, RESIZE, SYNC, OPEN, LINK, RENAME, UNLINK = range(1, 8)
RECORD = struct.Struct("IIQQQII")


def parse_trace(data):
    at, changes = 0, []
    while at < len(data):
        operation, is_directory, inode, offset, length, first, second = RECORD.unpack_from(data, at)
        at += RECORD.size
        names = [os.path.basename(data[at:at + first].decode()), os.path.basename(data[at + first:at + first + second].decode())]
        at += first + second
        content = data[at:at + length] if operation == WRITE else b""
        at += len(content)
        changes.append((operation, is_directory, inode, offset, names, content))
    return changes


class Disk:
    """What would be there after a power cut: of each file the bytes of its last fsync, and of those written since then
    none, some or all; of the directory any number of the changes since its last fsync, in their order."""

    def __init__(self, files, inodes):
        self.synced = {inode: files[name] for inode, name in inodes.items()}
        self.pending = {}
        self.names = [{name: inode for inode, name in inodes.items()}]  # after each change since the last fsync

    def apply(self, change):
        operation, is_directory, inode, offset, names, content = change
        latest = dict(self.names[-1])
        if operation in (WRITE, RESIZE):
            self.pending.setdefault(inode, []).append((operation, offset, content))
        elif operation == SYNC and is_directory:
            self.names = [latest]
        elif operation == SYNC:
            self.synced[inode] = self.image(inode, None)
            self.pending[inode] = []
        elif operation == OPEN and offset & os.O_CREAT:
            latest[names[0]] = inode
            self.names.append(latest)
        elif operation == LINK:
            latest[names[1]] = inode
            self.names.append(latest)
        elif operation == RENAME and names[0] in latest:
            latest[names[1]] = latest.pop(names[0])
            self.names.append(latest)
        elif operation == UNLINK and names[0] in latest:
            latest.pop(names[0])
            self.names.append(latest)

    def image(self, inode, keep):
        data = bytearray(self.synced.get(inode, b""))
        for operation, offset, content in self.pending.get(inode, [])[:keep]:
            if operation == RESIZE:
                data = data[:offset] + bytes(max(0, offset - len(data)))
            else:
                data += bytes(max(0, offset - len(data)))
                data[offset:offset + len(content)] = content
        return bytes(data)

    def after_cut(self):
        for names in self.names:
            for keep in (0, 1, None):
                yield {name: self.image(inode, keep) for name, inode in names.items()}

    def least(self):
        yield {name: self.image(inode, 0) for name, inode in self.names[0].items()}


def prepare(options):
    place = tempfile.mkdtemp(prefix="faults-")
    env = dict(os.environ, PATH=os.path.dirname(options.capball) + ":" + os.environ["PATH"], LC_ALL="C")
    subprocess.run(["bash", "-c", PREPARE], cwd=place, env=env, check=True, stderr=subprocess.DEVNULL)
    inputs = {name: read(os.path.join(place, name)) for name in os.listdir(place)}
    shutil.rmtree(place)
    return inputs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("capball")
    parser.add_argument("shim")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.capball, options.shim = os.path.abspath(options.capball), os.path.abspath(options.shim)
    options.each = 3 if options.short else 1 << 30
    inputs = prepare(options)
    hdf5 = inputs.get("base.hdf5") is not None
    names = [n for n in CASES if options.only in n and (hdf5 or "hdf5" not in n)]
    names.sort(key=lambda name: "hdf5" in name)
    cases = [Case(name, CASES[name], options, inputs) for name in names]
    failed = runs = foreign = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for number, case in enumerate(pool.map(Case.loop, cases), 1):
            runs, foreign, failed = runs + case.runs, foreign + case.foreign, failed + bool(case.troubles)
            print(f"{'not ok' if case.troubles else 'ok'} {number} - {case.name}: {case.runs} faults")
            for trouble in case.troubles:
                print(f"# {trouble}")
            sys.stdout.flush()
    print(f"# {runs} faults, {foreign} crashes inside libhdf5")
    print(f"1..{len(cases)}")
    return 1 if failed else 0


sys.exit(main())
