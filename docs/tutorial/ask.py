"""Asks prices.py for pages with some clients at once, for some seconds, and prints how long that takes: ask.py CLIENTS SECONDS"""
import http.client
import os
import statistics
import sys
import threading
import time

took = []
end = time.monotonic() + float(sys.argv[2])


def client(number):
    server = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8085")))
    while time.monotonic() < end:
        begun = time.monotonic()
        server.request("GET", f"/{number * 20}")
        server.getresponse().read()
        took.append(time.monotonic() - begun)


clients = [threading.Thread(target=client, args=(i,)) for i in range(int(sys.argv[1]))]
for thread in clients:
    thread.start()
for thread in clients:
    thread.join()
print(f"{len(took) / float(sys.argv[2]):.0f} pages/s, median {1000 * statistics.median(took):.1f} ms")
