package main

import "regexp"

// target is a kind of program. Its command runs in a folder of its own, in which it writes the id of the process to record to the
// file "pid" when that computes; $src is testdata, $library a shared library.
type target struct {
	name    string
	needs   []string // programs
	command string
	right   *regexp.Regexp // whole stacks; nil: not known
}

// replaced makes the target's shell the process to record.
const replaced = "sleep 1 & echo $$ >pid; exec "

// begin matches the frames from a program's first function to main.
const begin = `[^;]*_start[^;]*;(__libc_start_main[^;]*;)?(__libc_start_call_main;)?main`

// outside matches stacks of the dynamic linker and of a program before its chain.
const outside = `|[^;]*_start[^;]*(;(_dl_|__GI___tunables).*)?|` + begin + `(;[^;]*(strcmp|signal|sigaction|make_coroutine).*|;[^;]*(_dl_|\[unnamed\]).*)?`

const computing = `(;leaf)*(;work)?`

// switching matches a call of swapcontext.
const switching = `(;[^;]*(swapcontext|sigprocmask)[^;]*)*`

// inCoroutine matches the stack of a coroutine.
const inCoroutine = `|(__start_context;|\[unnamed\];)in_coroutine(` + computing + `|` + switching + `)`

// frames is the program frames.cc with one of its chains, called by a lambda.
func frames(kind, note, right string) target {
	return target{
		name: note, needs: []string{"g++"},
		command: "g++ -O2 -o frames $src/frames.cc; " + replaced + "./frames " + kind + " $library",
		right:   regexp.MustCompile("^(" + begin + `;[^;]*_FUN[^;]*(` + right + `)?` + inCoroutine + outside + `)(;\[unnamed\])?$`),
	}
}

func targets() []target {
	java := func(flags string) string {
		return "javac -d . $src/Compute.java; java " + flags + " -XX:+UseSerialGC Compute & sleep 3; jcmd $! Compiler.perfmap; echo $! >pid; wait"
	}
	javaNeeds := []string{"java", "javac", "jcmd"}
	return []target{
		frames("leaf", "C, -O2", computing),
		frames("recursion", "C, 400 calls deep", ";recursion"+computing),
		frames("alloca", "C, alloca of 64 KB", ";large_frame(;[^;]*memset[^;]*|"+computing+")"),
		frames("signal", "C, in a signal handler", ";interrupted(;[^;]*(raise|gsignal)[^;]*(;[^;]*(kill|restore_rt|getpid|gettid)[^;]*)*(;\\[unnamed\\])?(;handler"+computing+")?)?"),
		frames("coroutine", "C, ucontext coroutines", ";resumes"+switching),
		frames("dlopen", "C, dlopen and dlclose", ";loads(;[^;]*(dl|tls).*|;call_back(;from_library(;[^;]*_FUN[^;]*"+computing+")?)?)?"),
		frames("exec", "C, exec chain", ";executes("+computing+"|;[^;]*exec[^;]*)"),
		frames("exceptions", "C++, exceptions", `;catches(\.cold)?(;throws)*(;throws\.cold)?(;work|;[^;]*(cxa|_Unwind|error|exception|malloc|free|unnamed).*)?`),
		frames("lambdas", "C++, lambdas", ";lambdas(;calls(;[^;]*_FUN[^;]*"+computing+")?)?"),
		{name: "Rust, release", needs: []string{"rustc"}, command: "rustc -O -o compute $src/compute.rs; " + replaced + "./compute"},
		{name: "Go", needs: []string{"go"}, command: "go build -o compute $src/compute.go; " + replaced + "./compute"},
		{name: "bash", needs: []string{"/bin/bash"}, command: replaced + "/bin/bash -c 'f() { local i; for ((i = 0; i < 100; i++)); do a=${a/x/y}$i; done; a=x; }; while f; do :; done'"},
		{name: "python3", needs: []string{"/usr/bin/python3"}, command: replaced + "/usr/bin/python3 $src/compute.py"},
		{name: "redis", needs: []string{"redis-server", "redis-benchmark"}, command: "redis-server --port 0 --unixsocket $PWD/socket --save '' >log & echo $! >started; sleep 1; " +
			"redis-benchmark -s $PWD/socket -l -q -P 16 -t set,get,lpush,zadd >log2 & sleep 1; mv started pid; wait"},
		{name: "postgres", needs: []string{"initdb", "postgres", "psql"}, command: "install -d -o postgres db; runuser -u postgres -- initdb -D db >log 2>&1; " +
			"runuser -u postgres -- postgres -D db -k $PWD/db -c listen_addresses= 2>log & sleep 3; psql='runuser -u postgres -- psql -At -h '$PWD'/db'; " +
			"while :; do echo 'select count(distinct md5(n::text)) from generate_series(1, 100000) n;'; done | $psql >log2 & sleep 2; " +
			`$psql -c "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()" >started; mv started pid; wait`},
		{name: "node, --perf-basic-prof", needs: []string{"node"}, command: replaced + "node --perf-basic-prof $src/compute.js"},
		{name: "Java", needs: javaNeeds, command: java("")},
		{name: "Java, -XX:+PreserveFramePointer", needs: javaNeeds, command: java("-XX:+PreserveFramePointer")},
		{name: "Java, -Xint", needs: javaNeeds, command: java("-Xint")},
	}
}
