// Package cmdline makes short labels of command lines: what a process is, for roots of flame graphs, rows of timelines and tables.
package cmdline

import (
	"path"
	"strings"
	"unicode/utf8"

	"wprof/format"
	"wprof/internal/printable"
)

// Bounds of a label, in characters. A longer name keeps its tail, code its head.
const (
	maxProgram = 32
	maxOperand = 40
	maxWords   = 256 // of argv that are looked at
)

// Label returns a short label of a process: its program and what distinguishes one run of it from others, each without the
// path in front.
//
//	/usr/bin/python3 -u /srv/server.py --port 80      python3 server.py
//	python3 -m http.server                            python3 -m http.server
//	/usr/bin/java -Xmx2g -cp a.jar com.acme.Main      java com.acme.Main
//	/usr/lib/go/…/compile -o x.a -p runtime a.go      compile runtime
//	/usr/libexec/gcc/…/cc1plus -quiet -O2 src/a.cpp   cc1plus a.cpp
//	sh -c make test                                   sh -c make test
//	git status --short                                git status
//	nginx: worker process                             nginx: worker process
//
// Of other programs it is the first argument if that is no option: which argument is an option's value only the program knows.
//
// argv has the words given to exec, or what the program made of them; comm is the name of the process in the kernel. Where there is no
// argv, as for kernel threads, the label is comm. If the process has given itself another name, that name follows in parentheses:
// "firefox (Web Content)". What a terminal would not show becomes U+FFFD.
//
// All tools take labels from here, so that a process has the same one in each.
func Label(argv []string, comm string) string {
	if len(argv) == 0 || strings.Trim(argv[0], " -") == "" {
		return clean(comm)
	}
	argv = argv[:min(len(argv), maxWords)]
	if title := strings.TrimSpace(argv[0]); isTitle(argv) {
		return head(clean(title), maxProgram+maxOperand)
	}
	argv = splitOptions(argv)
	program := base(argv[0])
	label := tail(clean(program), maxProgram)
	if what := operand(program, argv[1:]); what != "" {
		label += " " + what
	}
	if isRenamed(argv, comm) {
		label += " (" + clean(comm) + ")"
	}
	return label
}

// OfTask is the [Label] of a task's process. Where its command line is not known, as for kernel threads and for definitions of an
// earlier section, it is name, the name of the process.
func OfTask(r *format.Reader, d *format.Task, name string) string {
	if d.Command == 0 || r.Task(format.TaskID(d.Id)) != d {
		return name
	}
	return Label(Words(r.Command(d.Command).GetArgs()), name)
}

// Words returns the words of a command line as a stream has it, each ended by a 0 byte; no more than labels need.
func Words(args []byte) []string {
	var words []string
	for rest := string(args); rest != "" && len(words) < maxWords; {
		var word string
		word, rest, _ = strings.Cut(rest, "\x00")
		words = append(words, word)
	}
	return words
}

// isTitle reports whether a program has written a title over its command line, as PostgreSQL, nginx and sshd do: one text with spaces,
// followed by nothing or by the empty words that remain of the old one.
func isTitle(argv []string) bool {
	name, _, found := strings.Cut(argv[0], " ")
	return found && strings.Join(argv[1:], "") == "" && (!strings.HasPrefix(name, "/") || strings.HasSuffix(name, ":"))
}

// splitOptions splits a command line that a program has written over its own as one text, as Chromium does: a path followed by options.
func splitOptions(argv []string) []string {
	program, options, found := strings.Cut(argv[0], " -")
	if !found || !strings.HasPrefix(program, "/") || strings.Join(argv[1:], "") != "" {
		return argv
	}
	return append([]string{program}, strings.Fields("-"+options)...)
}

// base returns the last part of a program's path. Login shells have a hyphen before it.
func base(program string) string { return path.Base(strings.TrimPrefix(program, "-")) }

// operand returns what a program runs or works on; "": that is not known.
func operand(program string, args []string) string {
	switch r := ruleOf(program); {
	case r.named != "":
		return shown(valueOf(args, r.named))
	case r.isCompiler:
		return shown(sourceIn(args))
	case r.isInterpreter:
		return r.runs(args)
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		return shown(args[0])
	}
	return ""
}

// valueOf returns the value of an option, "-p value" or "-p=value"; "": it is not given.
func valueOf(args []string, option string) string {
	for i, arg := range args {
		if value, found := strings.CutPrefix(arg, option+"="); found {
			return value
		}
		if arg == option && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// sourceIn returns the first source file of a compiler's arguments, or if there is none the first object file.
func sourceIn(args []string) string {
	for _, suffixes := range [...]string{" .c .cc .cpp .cxx .c++ .C .S .s .m .mm .go .rs .i .ii .java .kt .swift .f90 .cu ", " .o .a "} {
		for i, arg := range args {
			isValue := i > 0 && (args[i-1] == "-o" || args[i-1] == "-MF" || args[i-1] == "-MT" || args[i-1] == "-MQ" || args[i-1] == "-auxbase-strip")
			if ext := path.Ext(arg); ext != "" && !isValue && !strings.HasPrefix(arg, "-") && strings.Contains(suffixes, " "+ext+" ") {
				return arg
			}
		}
	}
	return ""
}

// shown returns an argument without the folders of a path and with its tail, if it is long. The rest of a URL belongs to it, and a
// package of Go is no file; neither begins with a slash or a dot.
func shown(arg string) string {
	if isFile := strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") || path.Ext(arg) != ""; isFile && !strings.Contains(arg, "://") {
		arg = path.Base(arg)
	}
	return tail(clean(arg), maxOperand)
}

// isRenamed reports whether comm is neither the beginning of a word of argv nor a name that runtimes give to the first thread of every
// program, as Node.js does.
func isRenamed(argv []string, comm string) bool {
	if comm == "" || comm == "MainThread" {
		return false
	}
	for _, word := range argv {
		if strings.HasPrefix(base(word), comm) || strings.HasPrefix(word, comm) {
			return false
		}
	}
	// A script's interpreter has its own name, and a link another one than the file: python3 is python3.11.
	return !strings.HasPrefix(comm, base(argv[0]))
}

// clean replaces what a terminal would not show, and the ends of lines in code.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case !printable.Rune(r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// tail returns the last characters of a long text.
func tail(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return "…" + string(runes[len(runes)-most+1:])
}

// head returns the first characters of a long text.
func head(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
