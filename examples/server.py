"""Searches of an index over HTTP: python server.py FILE.index [PORT]. Changes of the file's writer are seen at once.

    curl -d '{"queries": [[1, 2, 3]], "k": 5, "filter": ["red", "blue"]}' http://localhost:8000/"""
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import capball

index = capball.Index.open(sys.argv[1], follow=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, -1
    log_message = lambda self, *words: None

    def do_POST(self):
        try:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = index.search(asked["queries"], asked.get("k", 10), filter=asked.get("filter"), threads=1)
            code, answer = 200, {"ids": found.ids.tolist(), "distances": found.distances.tolist()}
        except (KeyError, TypeError, ValueError) as error:
            code, answer = 400, {"error": str(error)}
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 8000), Handler).serve_forever()
