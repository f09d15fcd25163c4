"""What fits, balls and searches on many workers would take: costs measured here, the cluster simulated.

    build/python-spark/bin/python contrib/spark/bench_scale.py [ROWS COLUMNS WORKERS]      10^9 x 768 on 100 workers

Measured in one thread of this process: seconds per row of each pass, bytes of a piece, seconds to merge one. Simulated:
tasks on the cores of the workers in the order Spark would start them, workers of uneven speed, single tasks that stall,
speculation (a task that has taken 1.5 times the median is started once more elsewhere), pieces merged in two stages
of workers (as many tasks as the square root of the partitions, then the fourth root) and by the driver.
The columns are: passes, bytes that a partition gives, bytes that reach the driver, seconds of the driver, and the time
without stragglers, with them, and with them and speculation.
"""

import heapq
import json
import math
import random
import statistics
import sys
import time

import numpy as np

from capball import Search, _core

ROWS, COLUMNS, WORKERS = (int(float(word)) for word in (sys.argv[1:4] if len(sys.argv) > 3 else ("1e9", 768, 100)))
CORES, PER_TASK = 8, 250_000  # of a worker; rows of a partition
READ = 1.0e9  # bytes per second that a core gets out of Parquet and into an array: storage, decoding, checking
NETWORK = 1.0e9  # bytes per second into one machine
TASK = 0.05  # seconds to start a task and hand its result back
SLOW, STALLED, STALL = 0.25, 0.005, 6.0  # sigma of log speed of workers; share of tasks that take STALL times as long


def timed(call, least=0.3):
    """Seconds of this thread for one call."""
    call()
    count, began = 0, time.thread_time()
    while time.thread_time() - began < least:
        call()
        count += 1
    return (time.thread_time() - began) / count


class Costs:
    """What a pass costs here: per row, per piece, per merge."""

    def __init__(self):
        rng, n = np.random.default_rng(1), 8192
        self.x = rng.normal(size=(n, COLUMNS)).astype(np.float32)
        self.ids = np.arange(n)
        self.n = n

    def take(self, piece):
        """The next rows into a piece, under ids of their own."""
        self.ids = self.ids + self.n
        piece.update(self.x, ids=self.ids)

    def piece(self, make, read):
        piece = make()
        row = timed(lambda: self.take(piece)) / self.n
        state = piece.serialize()
        other = make()
        return row, len(state), timed(lambda: other.merge(read(state)), 0.1)

    def fit(self):
        def make():
            return _core.Statistics(COLUMNS, "float32", 0)

        first = self.piece(make, _core.Statistics.deserialize)
        whole, empty = make(), make()
        self.take(whole)
        whole.begin_norms()
        empty.restart(whole)
        text = empty.serialize()
        return [first, self.piece(lambda: _core.Statistics.deserialize(text), _core.Statistics.deserialize)]

    def rounds(self, make, count):
        whole, parts = make(), []
        for _ in range(count):
            def piece():
                made = make()
                made.restart(whole)
                return made

            parts.append(self.piece(piece, lambda text: type(whole).deserialize(text, COLUMNS)))
            one = piece()
            one.update(self.x, np.arange(self.n))
            whole.merge(one)
            if whole.solve():
                break
        return parts

    def knn(self, queries, k=10):
        search = Search(self.x[:queries], k)
        row = timed(lambda: search.feed(self.x, ids=self.ids, threads=1), 1.0) / self.n
        return [(row, queries * k * 16, queries * 2e-6)]


def spread(tasks, seconds, uneven, speculate, seed):
    """When the last of `tasks` ends."""
    rng = random.Random(seed)
    speed = [rng.lognormvariate(0, SLOW) if uneven else 1.0 for _ in range(WORKERS)]
    free = [(0.0, core) for core in range(WORKERS * CORES)]
    heapq.heapify(free)
    ends = []
    for _ in range(tasks):
        at, core = heapq.heappop(free)
        stalled = uneven and rng.random() < STALLED
        lasts = TASK + seconds * speed[core % WORKERS] * (STALL if stalled else 1)
        ends.append((at, lasts))
        heapq.heappush(free, (at + lasts, core))
    if not speculate:
        return max(at + lasts for at, lasts in ends)
    usual = statistics.median(lasts for _, lasts in ends)
    end = 0.0
    for at, lasts in ends:  # a copy is started when a task has taken 1.5 times the usual, on a core of usual speed
        end = max(end, at + min(lasts, 2.5 * usual))
    return end


def simulate(name, parts, width=4):
    tasks = -(-ROWS // PER_TASK)
    merges = [tasks, math.isqrt(tasks), math.isqrt(math.isqrt(tasks))]
    sums = {"plain": 0.0, "uneven": 0.0, "speculated": 0.0}
    driver = to_driver = 0.0
    for row, size, merge in parts:
        seconds = PER_TASK * (row + COLUMNS * width / READ)
        stage = sum(TASK + many / few * (merge + size / NETWORK) * -(-few // (WORKERS * CORES))
                    for many, few in zip(merges, merges[1:]))
        last = merges[-1] * (merge + size / NETWORK)
        driver += last
        to_driver = max(to_driver, merges[-1] * size)
        for kind, (uneven, speculate) in {"plain": (0, 0), "uneven": (1, 0), "speculated": (1, 1)}.items():
            runs = [spread(tasks, seconds, uneven, speculate, seed) for seed in range(5)]
            sums[kind] += statistics.mean(runs) + stage + last
    return {"job": name, "passes": len(parts), "ns_per_row": round(sum(part[0] for part in parts) * 1e9),
            "piece_bytes": max(part[1] for part in parts), "driver_bytes": int(to_driver), "driver_s": round(driver, 1),
            **{f"{kind}_s": round(value, 1) for kind, value in sums.items()}}


def main():
    costs = Costs()
    jobs = {"fit": costs.fit(), "ball": costs.rounds(lambda: _core.BallRounds(COLUMNS), 4),
            "SVDD nu=0.1": costs.rounds(lambda: _core.SvddRounds(COLUMNS, 0.1), 12),
            "knn, 1024 queries": costs.knn(1024)}
    print(json.dumps({"rows": ROWS, "columns": COLUMNS, "workers": WORKERS, "cores": WORKERS * CORES,
                      "tasks": -(-ROWS // PER_TASK), "isa": _core.isa}))
    for name, parts in jobs.items():
        print(json.dumps(simulate(name, parts)))
    row, size, merge = max((part for parts in jobs.values() for part in parts), key=lambda part: part[1])
    for workers in (10, 100, 1000, 10000, 100000):  # where the driver is the limit: the largest pieces, five waves of tasks
        tasks = CORES * workers * 5
        few = math.isqrt(math.isqrt(tasks))
        print(json.dumps({"workers": workers, "rows": tasks * PER_TASK, "pieces": few, "piece_bytes": size,
                          "pass_s": round(5 * (TASK + PER_TASK * (row + COLUMNS * 4 / READ)), 1),
                          "driver_s": round(few * (merge + size / NETWORK), 1), "driver_bytes": few * size}))


if __name__ == "__main__":
    main()
