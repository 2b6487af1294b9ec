package cmdline

import "strings"

// rule is where the command line of a program says what it runs.
type rule struct {
	named         string // an option whose value it is; "": none
	isCompiler    bool   // it is a source file
	isInterpreter bool   // it is the first argument that is no option

	code   string // options of an interpreter, separated by spaces, after which code follows
	module string // after which what it runs follows, and which are part of the label
	file   string // after which what it runs follows
	values string // other options with a value in the next word
}

// ruleOf returns the rule of a program; names of versions (python3.11, g++-13) and of targets (x86_64-linux-gnu-gcc) do not matter.
func ruleOf(program string) rule {
	name := strings.TrimSuffix(strings.TrimRight(program, "0123456789."), "-")
	last := name[strings.LastIndexByte(name, '-')+1:]
	for _, r := range rules() {
		if has(r.programs, program) || has(r.programs, name) || has(r.programs, last) {
			return r.rule
		}
	}
	return rule{}
}

type programRule struct {
	programs string
	rule
}

func rules() [12]programRule {
	return [...]programRule{
		{"compile asm", rule{named: "-p"}}, // of Go
		{"cgo", rule{named: "-importpath"}},
		{"ld collect2 lld mold gold bfd link", rule{named: "-o"}},
		{"rustc", rule{named: "--crate-name"}},
		{"cc cc1 cc1plus cc1obj gcc g++ c++ clang clang++ as javac kotlinc swiftc gfortran f951 nvcc cicc", rule{isCompiler: true}},
		{"python pypy", rule{isInterpreter: true, code: "-c", module: "-m", values: "-W -X --check-hash-based-pycs"}},
		{"node nodejs bun", rule{isInterpreter: true, code: "-e -p -pe --eval --print", values: "-r -C --require --import --loader --experimental-loader --conditions --env-file"}},
		{"ruby perl", rule{isInterpreter: true, code: "-e -E", values: "-I -r -C"}},
		{"php", rule{isInterpreter: true, code: "-r", file: "-f", values: "-d -c"}},
		{"lua luajit Rscript", rule{isInterpreter: true, code: "-e", values: "-l"}},
		{"sh bash dash ash ksh zsh fish", rule{isInterpreter: true, code: "-c", values: "-o -O +o +O --rcfile --init-file"}},
		{"java", rule{isInterpreter: true, file: "-jar -m --module", values: "-cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules --add-opens --add-exports --add-reads --limit-modules --patch-module"}},
	}
}

// runs returns what an interpreter runs.
func (r *rule) runs(args []string) string {
	for i := 0; i < len(args); i++ {
		arg, next := args[i], ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch option := r.optionIn(arg); {
		case option == "":
			return shown(arg)
		case has(r.code, option):
			return strings.TrimSpace(option + " " + head(clean(next), maxOperand))
		case has(r.module, option):
			return strings.TrimSpace(option + " " + shown(next))
		case has(r.file, option):
			return shown(next)
		case has(r.values, option):
			i++
		}
	}
	return ""
}

// optionIn returns the option that an argument is; "" for an operand. Of one-letter options in one word (-uc, -euo) it is the last one, if
// a word belongs to it.
func (r *rule) optionIn(arg string) string {
	all := r.code + " " + r.module + " " + r.file + " " + r.values
	if len(arg) < 2 || arg[0] != '-' && !has(all, arg) {
		return ""
	}
	if len(arg) > maxCluster || arg[1] == '-' || has(all, arg) || has(r.values, arg[:2]) {
		return arg
	}
	if last := "-" + arg[len(arg)-1:]; has(all, last) {
		return last
	}
	return arg
}

// maxCluster bounds one-letter options in one word: longer ones are names.
const maxCluster = 5

// has reports whether a word is one of a list, in which spaces separate words.
func has(list, word string) bool {
	for rest, more := list, word != ""; more; {
		var one string
		if one, rest, more = strings.Cut(rest, " "); one == word {
			return true
		}
	}
	return false
}
