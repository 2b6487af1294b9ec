"""A shop's price list, as the standard library serves it, with a thread for each connection."""
import http.server
import json
import os

PRICES = {f"item {i}": i * 7 % 1000 / 10 for i in range(2000)}
STOCK = json.dumps({name: i % 3 for i, name in enumerate(PRICES)})


def in_stock(name):
    return json.loads(STOCK)[name] > 0


def page(first):
    names = [name for name in list(PRICES)[first:first + 20] if in_stock(name)]
    return "\n".join(f"<li>{name}: {PRICES[name]:.2f}</li>" for name in names)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one packet

    def do_GET(self):
        body = page(int(self.path[1:])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8085"))), Handler).serve_forever()
