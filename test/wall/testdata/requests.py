# An HTTP server with a thread for each connection, and clients of it in another process, for some seconds. Given a port, it is the client.
import hashlib
import http.client
import http.server
import json
import subprocess
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps([hashlib.md5(str(i).encode()).hexdigest() for i in range(200)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def client(port, seconds):
    end = time.time() + seconds
    while time.time() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()


if len(sys.argv) > 2:
    for _ in range(4):
        threading.Thread(target=client, args=(int(sys.argv[1]), float(sys.argv[2]))).start()
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    subprocess.run([sys.executable, __file__, str(server.server_port), sys.argv[1]], check=True)
    server.shutdown()
