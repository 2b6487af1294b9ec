#!/bin/bash
# Several kinds of programs at once, for SECONDS: processes that wake each other, programs that
# live 20 ms and are deleted, Go programs that compile Go, JavaScript with names from its compiler, an interpreter.
# Usage: mixed.sh SECONDS FOLDER [stripped]; FOLDER holds short and pingpong, and gets everything that is written. With "stripped",
# programs that a distribution has stripped of their symbols run too.
seconds=$1
cd "$2" || exit 1
end=$((SECONDS + seconds))
running() { ((SECONDS < end)); }
quiet() { "$@" >/dev/null 2>&1; }

(for ((i = 0; SECONDS < end; i++)); do
	cp short "short-$i" && "./short-$i"
	rm -f "short-$i"
done) &
./pingpong "$seconds" &
mkdir -p compile && cat > compile/main.go <<'G'
package main

import "net/http"

func main() { _ = http.ListenAndServe("127.0.0.1:0", nil) }
G
(while running; do
	GOCACHE=$PWD/cache GOFLAGS=-mod=mod quiet timeout $((end - SECONDS + 1)) go build -a -o compile/out compile/main.go
done) &
if command -v node >/dev/null; then
	quiet timeout "$seconds" node --perf-basic-prof --logfile="$PWD/v8.log" --no-logfile-per-isolate -e '
		require("fs").writeFileSync("node.pid", String(process.pid));
		function parse(text) { return JSON.parse(text); }
		function walk(value) { let n = 0; for (const k in value) n += typeof value[k] === "object" ? walk(value[k]) : 1; return n; }
		const text = JSON.stringify(Array.from({length: 2000}, (_, i) => ({id: i, tags: ["a", "b", String(i)]})));
		for (;;) walk(parse(text));' &
fi
(while running; do quiet python3 -c 'import json, re; [json.dumps(json.loads(json.dumps(list(range(5000))))) for i in range(50)]'; done) &
if [ "${3-}" = stripped ]; then
	(while running; do quiet timeout "$seconds" perf bench sched pipe -l 20000; done) &
	(while running; do seq 200000 | sort -R | gzip -c >/dev/null; done) &
	(while running; do echo '#include <map>
		#include <string>
		std::map<std::string, int> m; int main() { return m["a"]; }' | quiet g++ -O1 -xc++ -c -o compile/out.o -; done) &
fi
wait
[ ! -f node.pid ] || rm -f "/tmp/perf-$(cat node.pid).map"
