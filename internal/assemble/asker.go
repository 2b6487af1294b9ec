package assemble

import (
	"sync"
	"wprof/internal/symbol"
)

// asker asks for names while a live recording goes on, in a goroutine of its own.
type asker struct {
	namer Namer
	wake  chan struct{} // one element: there are questions
	done  chan struct{} // closed when the goroutine has ended

	mu        sync.Mutex
	questions []question
	answers   []answer
	ended     bool
}

// question is a place whose name is wanted. Of the module only the definition is used, which never changes.
type question struct {
	module *module
	at     symbol.Address
}

type answer struct {
	question
	name symbol.Name
	err  error
}

// maxQuestions bounds what waits for the namer. What is not asked is asked again in the next section.
const maxQuestions = 1 << 16

func newAsker(namer Namer) *asker {
	a := &asker{namer: namer, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go a.run()
	return a
}

// ask never waits; false: too many questions are open.
func (a *asker) ask(q question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.questions) >= maxQuestions || len(a.answers) >= maxQuestions {
		return false
	}
	a.questions = append(a.questions, q)
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns what has been answered since the last call.
func (a *asker) take() []answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	answers := a.answers
	a.answers = nil
	return answers
}

// end ends the goroutine: it finishes the module that it is at, and asks no further one.
func (a *asker) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	close(a.wake)
}

func (a *asker) run() {
	defer close(a.done)
	for range a.wake {
		for a.batch() {
		}
	}
}

// batch asks all questions about the module of the first one.
func (a *asker) batch() bool {
	a.mu.Lock()
	if a.ended || len(a.questions) == 0 {
		a.mu.Unlock()
		return false
	}
	m := a.questions[0].module
	var batch, rest []question
	for _, q := range a.questions {
		if q.module == m {
			batch = append(batch, q)
		} else {
			rest = append(rest, q)
		}
	}
	a.questions = rest
	a.mu.Unlock()

	at, out := make([]symbol.Address, len(batch)), make([]symbol.Name, len(batch))
	for i := range batch {
		at[i] = batch[i].at
	}
	err := a.namer.Names(m.definition, at, out)

	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range batch {
		a.answers = append(a.answers, answer{batch[i], out[i], err})
	}
	return true
}
