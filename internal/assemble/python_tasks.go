package assemble

import (
	"slices"

	"wprof/internal/ringdata"
)

// frameWord is a frame of Python, or a mark between those of tasks.
type frameWord struct {
	word   uint64
	awaits bool // it does not run
	mark   markKind
}

// markKind is what a frame says that is no function.
type markKind uint8

const (
	noMark      markKind = iota
	runningMark          // the frames inside of it are the running task's
	taskMark             // those inside of it, up to the next mark, are of a task that awaits
	severalMark          // several tasks await those inside of it
	deeperMark           // more tasks await them than are followed
)

func (k markKind) String() string {
	return [...]string{noMark: "", runningMark: "running task", taskMark: "awaiting task", severalMark: "several tasks await", deeperMark: "more tasks await"}[k]
}

// markCode is what stands for a mark. name is that of its task; nil: it has none.
func markCode(k markKind, name *pythonCode) *pythonCode {
	text := k.String()
	if name != nil {
		text += " " + name.function
	}
	code := &pythonCode{function: "[" + text + "]"}
	code.number = code.hash()
	return code
}

// frameWords returns the frames of a run, innermost first: words of tasks that await have the coroutine of each that was made first before those
// that it awaits, and outside of the frames of a task is its mark.
func frameWords(run []uint64) []frameWord {
	all := make([]frameWord, 0, len(run)+1)
	var task []frameWord // its mark, then its frames
	flush := func() {
		slices.Reverse(task)
		all, task = append(all, task...), task[:0]
	}
	for _, word := range run {
		mark := markOf(word)
		switch {
		case mark == noMark && len(task) == 0:
			all = append(all, frameWord{word: word})
			continue
		case mark == noMark:
			task = append(task, frameWord{word: word, awaits: true})
			continue
		case len(all) == 0 || !all[len(all)-1].awaits:
			all = append(all, frameWord{awaits: true, mark: runningMark})
		}
		flush()
		task = append(task, frameWord{word, true, mark})
	}
	flush()
	return all
}

func markOf(word uint64) markKind {
	if word&ringdata.PythonWordFrame != 0 {
		return noMark
	}
	switch word & ringdata.PythonWordTaskMask {
	case ringdata.PythonWordTask:
		return taskMark
	case ringdata.PythonWordTaskSeveral:
		return severalMark
	case ringdata.PythonWordTaskDeeper:
		return deeperMark
	}
	return noMark
}
