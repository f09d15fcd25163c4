"""examples/server.py under load: so many clients ask one after the other over connections that stay open, while a writer replaces rows.

    bench_server.py [CLIENTS] [SECONDS]     8 clients, 10 seconds; SERVER_ROWS rows (20000) of 64 numbers

Prints how many queries were answered, whether all answers were right (queries near rows that the writer leaves alone), and times."""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import capball

clients, seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 8, float(sys.argv[2]) if len(sys.argv) > 2 else 10
n, d = int(os.environ.get("SERVER_ROWS", 20000)), 64
rng = np.random.default_rng(0)
rows = rng.normal(size=(n, d)).astype(np.float32)
keys = [f"product {i}" for i in range(n)]
queries = rows[: n // 2 : 97] + 0.01 * rng.normal(size=(len(range(0, n // 2, 97)), d)).astype(np.float32)
right = [keys[i] for i in capball.knn(rows, queries, 1).ids[:, 0]]
asked = [json.dumps({"queries": [query.tolist()], "k": 10}) for query in queries]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def client(number, port, stop, times, wrong):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    mine = np.random.default_rng(number)
    while not stop.is_set():
        at = int(mine.integers(len(queries)))
        begin = time.perf_counter()
        connection.request("POST", "/", asked[at])
        answer = json.loads(connection.getresponse().read())
        times.append(time.perf_counter() - begin)
        if answer.get("ids", [[None]])[0][0] != right[at]:
            wrong.append(answer)


def write(path, stop, puts):
    with capball.Index.open(path, writable=True) as index:
        while not stop.is_set():
            some = n // 2 + rng.integers(0, n - n // 2, 10)
            some = np.unique(some)
            index.put(10 + rows[some], [keys[i] for i in some])
            puts.append(len(some))
            time.sleep(0.1)


with tempfile.TemporaryDirectory() as folder:
    path, port = Path(folder) / "rows.index", free_port()
    capball.Index(rows, ids=keys).save(path)
    server = subprocess.Popen([sys.executable, str(Path(__file__).parents[1] / "examples" / "server.py"), str(path), str(port)])
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert server.poll() is None, "the server has ended"
                time.sleep(0.05)
        stop, times, wrong, puts = threading.Event(), [], [], []
        threads = [threading.Thread(target=client, args=(i, port, stop, times, wrong)) for i in range(clients)]
        threads.append(threading.Thread(target=write, args=(path, stop, puts)))
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        stop.set()
        for thread in threads:
            thread.join()
    finally:
        server.kill()
        server.wait()
    ms = 1e3 * np.sort(times)
    print(f"{n} x {d}, {clients} clients, {seconds:g} s: {len(ms) / seconds:.0f} queries a second, {len(wrong)} of {len(ms)} wrong; ms: median {np.median(ms):.1f}, "
          f"p99 {ms[int(0.99 * len(ms))]:.1f}, most {ms[-1]:.1f}; {sum(puts)} rows put meanwhile")
    sys.exit(bool(wrong))
