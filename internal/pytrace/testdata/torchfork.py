# Forks after it got a line, prints the child's id and serves it: each line is a round of operators in the child, whose results it prints.
import os
import sys
import warnings

warnings.simplefilter("ignore")
import torch

b = torch.ones(4, 5)
b + b
print("ready", flush=True)
sys.stdin.readline()
b + b
child = os.fork()
if child:
    os.waitpid(child, 0)
    print("ended", flush=True)
    sys.exit()
print(os.getpid(), flush=True)
while sys.stdin.readline() != "\n":
    pass
for n in range(1000):
    c = b + n
print(int(c.sum()), flush=True)
while sys.stdin.readline():
    for n in range(1000):
        c = b + n
    print(int(c.sum()), flush=True)
