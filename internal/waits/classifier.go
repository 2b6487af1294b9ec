package waits

import "wprof/format"

// Definitions are those of the current section; a [format.Reader] has them.
type Definitions interface {
	Stack(id format.StackID) *format.Stack
	Frame(id uint32) *format.Frame
	Wait(id format.WaitID) *format.Wait
}

// Classifier classifies the waits of a stream.
type Classifier struct {
	defs  Definitions
	rules *rules
	known map[key]Result
	facts Facts
}

// Result is what is known of a wait.
type Result struct {
	Class Class
	Idle  Idle // whether it is a wait for work
}

type key struct {
	stack  format.StackID
	wait   format.WaitID
	state  format.State
	kernel bool
}

// maxKnown bounds the waits whose classes are kept.
const maxKnown = 1 << 16

// NewClassifier returns a Classifier that looks ids up in defs.
func NewClassifier(defs Definitions) *Classifier {
	return &Classifier{defs: defs, rules: newRules(), known: make(map[key]Result)}
}

// NewSection is called when ids change their meaning.
func (c *Classifier) NewSection() { clear(c.known) }

// Blocked returns what a thread waited for that was blocked, by where it was, what it waited for, and the state in which it left its CPU.
// stack and wait may be 0.
func (c *Classifier) Blocked(stack format.StackID, wait format.WaitID, state format.State, kernelThread bool) Result {
	k := key{stack, wait, state, kernelThread}
	if result, known := c.known[k]; known {
		return result
	}
	f := &c.facts
	f.Wait, f.State, f.KernelThread = c.defs.Wait(wait), state, kernelThread
	f.Kernel, f.User = c.functions(f.Kernel[:0], f.User[:0], c.defs.Stack(stack))
	class := c.rules.classify(f)
	result := Result{class, c.rules.idle(class, f)}
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[k] = result
	return result
}

// functions appends the functions of a stack's two parts, innermost first.
func (c *Classifier) functions(kernel, user []string, s *format.Stack) (k, u []string) {
	if s == nil {
		return kernel, user
	}
	split := len(s.Frames) - min(int(s.KernelFrames), len(s.Frames))
	for i := len(s.Frames) - 1; i >= split; i-- {
		kernel = c.appendFunctions(kernel, s.Frames[i])
	}
	for i := split - 1; i >= 0 && len(user) < userFrames; i-- {
		user = c.appendFunctions(user, s.Frames[i])
	}
	return kernel, user
}

func (c *Classifier) appendFunctions(to []string, frame uint32) []string {
	for _, line := range c.defs.Frame(frame).GetLines() {
		to = append(to, string(line.GetFunction()))
	}
	return to
}
