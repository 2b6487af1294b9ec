"""Lives for a few ms, of which it sleeps 5."""
import os
import time


def rest():
    time.sleep(0.005)


def main():
    rest()


print(os.getpid())
main()
