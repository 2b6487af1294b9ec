# Computes in functions, in a sort and in a regular expression, and never ends.
import json, re

def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

def digits(n):
    return re.sub("[0-4]+", "", json.loads(json.dumps({"n": n, "text": str(fibonacci(n % 12))}))["text"])

def forever():
    n = 0
    while True:
        sorted((digits(i) for i in range(n, n + 100)), key=lambda text: text[::-1])
        n += 1

forever()
