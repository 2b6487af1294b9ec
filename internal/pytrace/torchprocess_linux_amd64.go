package pytrace

import (
	"encoding/binary"
	"strconv"
	"sync/atomic"

	"wprof/internal/proc"
)

// TorchProcess is a process whose operators of PyTorch are recorded.
type TorchProcess struct {
	*Process
	threads map[uint64]uint32 // tids by PyTorch's numbers
	texts   map[string]string
}

// Operator is an operator of PyTorch that has run, or another range that it reports.
type Operator struct {
	TID        uint32
	CPU        uint16
	Scope      uint8 // at::RecordScope
	Start, End int64 // CLOCK_MONOTONIC ns; Start 0: it began before the window
	Self       int64 // without the operators in it, ns
	Sequence   int64 // which a forward function and its backward one have in common, in a thread; -1: none
	Forward    uint32
	Name       string
	Shapes     string // of the tensors that are its arguments
}

// maxTorchTexts bounds the names and shapes that are kept of a process, and its threads.
const maxTorchTexts = 1 << 16

// AttachTorch begins to record the operators of a process, as [Attach] does calls.
func AttachTorch(pid int, shapes bool) (*TorchProcess, error) {
	word := wordTorch
	if shapes {
		word = wordShapes
	}
	p, err := attachTo(pid, word, tracing{}, torchSharedBytes, func(*Process) error { return nil })
	if err != nil {
		return nil, err
	}
	return &TorchProcess{Process: p, threads: make(map[uint64]uint32), texts: make(map[string]string)}, nil
}

// Operators calls visit with all operators that have ended since the last time, of each thread in their order, and returns how many were lost.
func (p *TorchProcess) Operators(visit func(Operator)) (lost uint64) {
	p.readThreads()
	for i := range torchMaxThreads {
		lost += p.operatorsOf(i, visit)
	}
	noPlace := atomic.LoadUint64(p.word(torchControlLost))
	lost += noPlace - p.noPlace
	p.noPlace = noPlace
	return lost
}

// readThreads notes which threads PyTorch's numbers are of: backward functions have those of their forward ones.
func (p *TorchProcess) readThreads() {
	for i := range torchMaxThreads {
		at := torchThreadsAt + i*torchThreadBytes
		id, tid := atomic.LoadUint64(p.word(at+torchThreadID)), atomic.LoadUint32(p.int(at+torchThreadTID))
		if id != 0 && tid != 0 && len(p.threads) < maxTorchTexts {
			p.threads[id] = p.threadAt(i)
		}
	}
}

// threadAt returns the thread that has a place; 0: it is one of another process.
func (p *TorchProcess) threadAt(i int) uint32 {
	return p.ownThread(i, atomic.LoadUint32(p.int(torchThreadsAt+i*torchThreadBytes+torchThreadTID)))
}

func (p *TorchProcess) operatorsOf(i int, visit func(Operator)) (lost uint64) {
	at := torchThreadsAt + i*torchThreadBytes
	head, missing := atomic.LoadUint64(p.word(at+torchThreadHead)), atomic.LoadUint64(p.word(at+torchThreadLost))
	now := proc.Monotonic() // later than all of these
	lost = missing - p.lost[i]
	p.lost[i] = missing
	if head-p.tails[i] > torchMaxRecords { // no agent writes that
		p.tails[i] = head
	}
	if head == p.tails[i] {
		return lost
	}
	tid := p.threadAt(i)
	for ; p.tails[i] != head; p.tails[i]++ {
		from := at + torchThreadRecords + int(p.tails[i]%torchMaxRecords)*torchRecordBytes
		o := p.operator(p.memory[from:from+torchRecordBytes], tid)
		if tid == 0 || o.Start < 0 || o.End <= 0 || o.Start > o.End || o.End > now || o.Self < 0 || o.Self > o.End {
			lost++
			continue
		}
		visit(o)
	}
	atomic.StoreUint64(p.word(at+torchThreadTail), head)
	return lost
}

// OpenOperators calls visit with the operators that have not ended, when the window has closed.
func (p *TorchProcess) OpenOperators(closed int64, visit func(Operator)) {
	for i := range torchMaxThreads {
		at := torchThreadsAt + i*torchThreadBytes
		depth := min(atomic.LoadUint32(p.int(at+torchThreadDepth)), torchMaxDepth)
		if depth == 0 {
			continue
		}
		tid := p.threadAt(i)
		if tid == 0 || !p.has(tid) { // its operators have ended with it, at a time that is not known
			continue
		}
		for d := range int(depth) {
			from := at + torchThreadCalls + d*torchCallBytes + torchCallRecord
			o := p.operator(p.memory[from:from+torchRecordBytes], tid)
			if o.Start > 0 && o.Start <= closed {
				o.End, o.Self, o.CPU = closed, 0, 0
				visit(o)
			}
		}
	}
}

// operator decodes a struct record.
func (p *TorchProcess) operator(b []byte, tid uint32) Operator {
	le := binary.LittleEndian
	word := func(at int) int64 { return int64(le.Uint64(b[at:])) }
	name := b[torchRecordText:][:min(int(b[torchRecordName]), torchNameBytes)]
	return Operator{
		TID: tid, CPU: le.Uint16(b[torchRecordCPU:]), Scope: b[torchRecordScope],
		Start: word(torchRecordStart), End: word(torchRecordEnd), Self: word(torchRecordSelf), Sequence: max(word(torchRecordSeq), -1),
		Forward: p.threads[le.Uint64(b[torchRecordFwd:])],
		Name:    p.text(name), Shapes: p.text(appendShapes(nil, b[torchRecordShapes:], int(b[torchRecordShape]))),
	}
}

func (p *TorchProcess) text(b []byte) string {
	s, known := p.texts[string(b)]
	if !known {
		if s = string(b); len(p.texts) < maxTorchTexts {
			p.texts[s] = s
		}
	}
	return s
}

// appendShapes appends the shapes of tensors, as [2, 3] [3, 4], from so many words: of each tensor the number of its dimensions, and these.
func appendShapes(to, words []byte, n int) []byte {
	n = min(n, torchShapeWords)
	at := func(i int) int { return int(binary.LittleEndian.Uint32(words[4*i:])) }
	for i := 0; i < n; {
		dimensions := min(at(i), n-i-1)
		if i++; i > 1 {
			to = append(to, ' ')
		}
		to = append(to, '[')
		for d := range dimensions {
			if d > 0 {
				to = append(to, ", "...)
			}
			to = strconv.AppendInt(to, int64(at(i+d)), 10)
		}
		to = append(to, ']')
		i += dimensions
	}
	return to
}
