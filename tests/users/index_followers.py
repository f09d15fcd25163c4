"""Job: "one process changes the index, others search it." A writer puts 100 rows a second and is killed at random; four readers
follow. Every answer is that of a plain loop over a state that was committed when the search began, or later; what was committed
is never lost. INDEX_SECONDS: how long, 3 otherwise."""

import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import capball

N, D, K, READERS, RATE = 1500, 16, 5, 4, 100


def row_of(change):
    """The row of a change; the first N are the rows at the beginning."""
    return np.random.default_rng(change).integers(-50, 50, D).astype(np.float32)


def key_of(change):
    return f"article {change % N}"


def tell(file, *words):
    os.write(file, (" ".join(map(str, words)) + "\n").encode())


def write(folder):
    log = os.open(folder / "changes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    lines = (folder / "changes").read_text().split("\n")
    change = max([N, *(int(line.split()[1]) + 1 for line in lines if line.startswith("end"))])
    with capball.Index.open(folder / "rows.index", writable=True) as index:
        for past in range(max(N, change - N + 1), change):  # nothing that was committed is lost
            assert (index[key_of(past)] == row_of(past)).all(), f"change {past} is lost"
        due = time.monotonic()
        while True:
            tell(log, "begin", change, time.monotonic())
            index.put(row_of(change)[None], [key_of(change)])
            tell(log, "end", change, time.monotonic())
            change += 1
            due += 1 / RATE
            time.sleep(max(0, due - time.monotonic()))


def read(folder, number):
    log = os.open(folder / f"answers{number}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    index = capball.Index.open(folder / "rows.index", follow=True)
    query = 0
    while True:
        query += 1
        begin = time.monotonic()
        found = index.search(row_of(10**6 * (number + 1) + query)[None], K, threads=1)
        tell(log, number, query, begin, time.monotonic(), *(key.split()[1] for key in found.ids[0]), *found.distances[0])
        time.sleep(0.01)


def wait_for(process, path):
    """Until the process has added to its file: interpreters take their time to start."""
    size = path.stat().st_size
    while path.stat().st_size == size:
        assert process.is_alive(), "a process has ended"
        time.sleep(0.01)


def start(job, *arguments):
    process = multiprocessing.get_context("fork").Process(target=job, args=arguments)
    process.start()
    return process


def check(folder):
    """How many answers, and how many changes; every answer is that of a state of its time."""
    begun, ended = {}, {}
    for line in (folder / "changes").read_text().splitlines():
        what, change, when = line.split()
        if what == "begin":
            begun.setdefault(int(change), float(when))
        else:
            ended[int(change)] = float(when)
    answers = sorted((float(words[2]), words) for number in range(READERS) for words in map(str.split, (folder / f"answers{number}").read_text().splitlines()))
    changes = sorted(begun)
    state = np.stack([row_of(i) for i in range(N)])
    last, checked = N - 1, 0  # the last change that is in `state`
    for began, words in answers:
        while last + 1 in ended and ended[last + 1] <= began:  # committed before the search began
            last += 1
            state[last % N] = row_of(last)
        number, query, end = int(words[0]), int(words[1]), float(words[3])
        q, seen, fits = row_of(10**6 * (number + 1) + query), state.copy(), False
        for change in [last, *(c for c in changes if c > last and begun[c] <= end)]:
            if change > last:
                seen[change % N] = row_of(change)
            distances = np.sqrt(((seen.astype(float) - q) ** 2).sum(axis=1))
            order = np.sort(distances)[:K]
            fits = fits or (np.array(words[4 + K:], float) == order).all() and all(
                distances[int(key)] == order[i] for i, key in enumerate(words[4:4 + K]))
        assert fits, f"answer {query} of reader {number} is of no state of its time"
        checked += 1
    return checked, len(ended)


def main():
    seconds, kills = float(os.environ.get("INDEX_SECONDS", 3)), 0
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), np.random.default_rng(int(time.time()))
        capball.Index(np.stack([row_of(i) for i in range(N)]), ids=[key_of(i) for i in range(N)]).save(folder / "rows.index")
        for file in ("changes", *(f"answers{i}" for i in range(READERS))):
            (folder / file).touch()
        readers, writer = [start(read, folder, i) for i in range(READERS)], start(write, folder)
        try:
            for i in range(READERS):
                wait_for(readers[i], folder / f"answers{i}")
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(min(rng.uniform(0.3, max(2, seconds / 8)), max(0, end - time.monotonic())))
                wait_for(writer, folder / "changes")
                writer.kill()
                writer.join()
                kills += 1
                writer = start(write, folder)
            assert all(reader.is_alive() for reader in readers), "a reader has ended"
        finally:
            for process in [writer, *readers]:
                process.kill()
                process.join()
        print("%d answers of %d readers are right, of %d changes by a writer that was killed %d times" % (
            (checked := check(folder))[0], READERS, checked[1], kills))
        assert checked[0] > 0 and checked[1] > 0


main()
