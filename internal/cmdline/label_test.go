package cmdline

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLabel writes words of command lines separated by bars.
func TestLabel(t *testing.T) {
	for _, c := range []struct{ argv, comm, want string }{
		{"", "kworker/0:1", "kworker/0:1"},
		{"|x", "odd", "odd"},
		{"/usr/bin/python3|-u|/srv/app/server.py|--port|80", "python3", "python3 server.py"},
		{"/usr/bin/python3.11|server.py", "python3", "python3.11 server.py"},
		{"python3|-W|error|-X|dev|a.py", "python3", "python3 a.py"},
		{"python3|-m|http.server|8000", "python3", "python3 -m http.server"},
		{"python3|-Im|pip|install", "python3", "python3 -m pip"},
		{"python3|-c|import time\ntime.sleep(9)", "python3", "python3 -c import time time.sleep(9)"},
		{"python3", "python3", "python3"},
		{"/usr/bin/python3|/usr/local/bin/flask|run", "flask", "python3 flask"},
		{"node|--max-old-space-size=4096|--require|./trace.js|dist/server.js", "MainThread", "node server.js"},
		{"/usr/bin/node|-e|setInterval(()=>{}, 1)", "node", "node -e setInterval(()=>{}, 1)"},
		{"/usr/lib/jvm/21/bin/java|-Xmx2g|-cp|a.jar:b.jar|com.acme.Main|arg", "java", "java com.acme.Main"},
		{"java|-XX:+UseZGC|-jar|/opt/acme/app-1.2.jar", "java", "java app-1.2.jar"},
		{"/usr/lib/go/pkg/tool/linux_amd64/compile|-o|/tmp/b1/_pkg_.a|-trimpath|/tmp/b1=>|-p|runtime|-std|./a.go", "compile", "compile runtime"},
		{"/go/compile|-o|x|-p|golang.org/x/tools/internal/a/very/long/import/path", "compile", "compile …/tools/internal/a/very/long/import/path"},
		{"/go/link|-o|/tmp/go-build1/b001/exe/a.out|-importcfg|x", "link", "link a.out"},
		{"/usr/libexec/gcc/x86_64-linux-gnu/13/cc1plus|-quiet|-D|_GNU_SOURCE|src/a.cpp|-o|/tmp/ccX.s", "cc1plus", "cc1plus a.cpp"},
		{"x86_64-linux-gnu-g++-13|-O2|-c|-o|b.o|b.cc", "x86_64-linux-gn", "x86_64-linux-gnu-g++-13 b.cc"},
		{"as|--64|-o|a.o|/tmp/cc1.s", "as", "as cc1.s"},
		{"/usr/bin/ld|-plugin|x|-o|a.out|crt1.o", "ld", "ld a.out"},
		{"rustc|--crate-name|serde|--edition=2021|src/lib.rs", "rustc", "rustc serde"},
		{"sh|-c|make test", "sh", "sh -c make test"},
		{"/bin/bash|-euo|pipefail|-c|true", "bash", "bash -c true"},
		{"/bin/bash|-o|pipefail|./run.sh", "bash", "bash run.sh"},
		{"-bash", "bash", "bash"},
		{"git|status|--short", "git", "git status"},
		{"redis-benchmark|-n|1000", "redis-benchmark", "redis-benchmark"},
		{"/usr/bin/redis-server 127.0.0.1:6379", "redis-server", "redis-server 127.0.0.1:6379"},
		{"curl|https://example.org/a/b.html", "curl", "curl https://example.org/a/b.html"},
		{"sleep|5", "sleep", "sleep 5"},
		{"/usr/lib/chromium/chromium --type=renderer --lang=en|", "chromium", "chromium"},
		{"/opt/an app/run", "run", "run"},
		{"nginx: worker process|||", "nginx", "nginx: worker process"},
		{"postgres: checkpointer ", "postgres", "postgres: checkpointer"},
		{"/usr/lib/firefox/firefox|-contentproc|-childID", "Web Content", "firefox (Web Content)"},
		{"/opt/acme-service-with-a-name-that-is-much-too-long-to-show|-d", "acme-service-wi", "…e-that-is-much-too-long-to-show"},
		{"a\x1b[31m|b\xff", "a\x1b[31m", "a\uFFFD[31m b\uFFFD"},
	} {
		var argv []string
		if c.argv != "" {
			argv = strings.Split(c.argv, "|")
		}
		if got := Label(argv, c.comm); got != c.want {
			t.Errorf("%s (%s):\ngot  %q\nwant %q", c.argv, c.comm, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	for args, want := range map[string][]string{"": nil, "a\x00": {"a"}, "a\x00\x00b": {"a", "", "b"}, "a\x00cut": {"a", "cut"}} {
		if got := Words([]byte(args)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

// Whatever a process writes over its command line, its label is short, in UTF-8 and without control characters.
func FuzzLabel(f *testing.F) {
	f.Add("python3\x00-m", "x")
	f.Add("-\x00", "")
	f.Add("/", "\xff")
	f.Add("sh\x00-c", "sh")
	f.Fuzz(func(t *testing.T, args, comm string) {
		comm = comm[:min(len(comm), 15)]
		got := Label(Words([]byte(args)), comm)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00\x1b") || utf8.RuneCountInString(got) > 100 {
			t.Errorf("%q", got)
		}
	})
}
