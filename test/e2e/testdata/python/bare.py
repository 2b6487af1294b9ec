"""Computes and sleeps in functions that a stack cannot be walked out of: see bare.c."""
import os
import threading
import time


def computes():
    return os.getloadavg()


def sleeps():
    os.sync()


for _ in range(50):  # until the recorder knows the interpreter
    time.sleep(0.01)
threading.Thread(target=sleeps, daemon=True).start()
begun = time.monotonic()
while time.monotonic() - begun < 1.5:
    computes()
print("ready", flush=True)
time.sleep(30)
