# SPDX-License-Identifier: Apache-2.0
# A web server with a thread per connection, and four clients in another process that send their next request at once: 1.5 s long.
# Prints "cpu SECONDS" of its own process.
import http.client
import http.server
import os
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # header and answer in one packet

    def do_GET(self):
        answer = str(sum(i * i for i in range(40000))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def request_until(port, end):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.monotonic() < end:
        connection.request("GET", "/")
        connection.getresponse().read()
    connection.close()


def run_clients(port, end):
    threads = [threading.Thread(target=request_until, args=(port, end)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
clients = os.fork()
if clients == 0:
    run_clients(server.server_address[1], time.monotonic() + 1.5)
    os._exit(0)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.waitpid(clients, 0)
print("cpu", time.process_time(), flush=True)
os._exit(0)
