package pytrace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

const torchRounds = 1000 // of torchops.py, in each of two threads

// torchResults is what torchops.py prints: what its backward passes have computed.
const torchResults = "60 60"

func attachTorch(t *testing.T, pid int, shapes bool) *TorchProcess {
	t.Helper()
	p, err := AttachTorch(pid, shapes)
	if err != nil {
		t.Fatal(err)
	}
	p.Open()
	return p
}

// take reads all operators.
func (p *TorchProcess) take(t *testing.T) (all []Operator) {
	t.Helper()
	if lost := p.Operators(func(o Operator) { all = append(all, o) }); lost != 0 {
		t.Errorf("%d operators are lost", lost)
	}
	return all
}

// Each operator is recorded once, with its shapes and its backward function.
func TestOperatorsOfTorch(t *testing.T) {
	tools.NeedPrivilege(t)
	program := start(t, tools.Torch(t), "torchops.py", fmt.Sprint(torchRounds))
	before := program.belongings()
	for range 3 { // the second and third have the agent of the first one
		p := attachTorch(t, program.pid(), true)
		program.enter()
		if err := p.Started(time.Now().Add(StartWithin)); err != nil {
			t.Fatal(err)
		}
		if line := program.line(); line != torchResults {
			t.Errorf("the program has computed %s, want %s", line, torchResults)
		}
		checkOperators(t, p.take(t))
		p.Retire()
		program.enter()
		program.line()
		p.Close(time.Now().Add(time.Second))
		if after := program.belongings(); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	}
	if n := program.agents(); n != 1 {
		t.Errorf("%d agents are mapped, want 1", n)
	}
}

// agents is how many agents' code a process has mapped.
func (p *program) agents() (n int) {
	mappings, _ := readMappings(p.pid())
	for _, m := range mappings {
		if m.path == agentPath && strings.Contains(m.permissions, "x") {
			n++
		}
	}
	return n
}

func checkOperators(t *testing.T, all []Operator) {
	t.Helper()
	counts, sequences := map[string]int{}, map[string][]Operator{}
	for _, o := range all {
		counts[o.Name]++
		switch {
		case o.Name == "aten::add" && (o.Shapes != "[4, 5] [4, 5]" || o.Sequence != -1):
			t.Fatalf("%+v", o)
		case o.Name == "aten::mm" && o.Sequence >= 0, o.Name == "MmBackward0":
			of := o.TID
			if o.Name == "MmBackward0" {
				of = o.Forward
			}
			key := fmt.Sprint(of, " ", o.Sequence)
			sequences[key] = append(sequences[key], o)
		}
	}
	want := map[string]int{"aten::add": 2 * torchRounds, "aten::mm": 2 * (torchRounds/10 + 2), "matrices": 2, "MmBackward0": 2, "SumBackward0": 2}
	for name, n := range want {
		if counts[name] != n {
			t.Errorf("%d operators %s, want %d", counts[name], name, n)
		}
	}
	for key, pair := range sequences {
		if len(pair) != 2 || pair[0].Name != "aten::mm" || pair[1].Name != "MmBackward0" || pair[0].End > pair[1].Start {
			t.Errorf("of thread and number %s: %+v", key, pair)
		}
	}
	if len(sequences) != 2 {
		t.Errorf("%d forward functions have backward ones, want 2", len(sequences))
	}
}

// The agent comes and goes while threads run operators.
func TestTorchUnderLoad(t *testing.T) {
	tools.NeedPrivilege(t)
	program := start(t, tools.Torch(t), "torchops.py", "500000")
	program.enter()
	n := 0
	for range 5 {
		p := attachTorch(t, program.pid(), false)
		if err := p.Started(time.Now().Add(StartWithin)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		p.Beat()
		p.Operators(func(Operator) { n++ })
		p.Close(time.Now().Add(time.Second))
		if !program.retires() {
			t.Fatal("the agent stays")
		}
	}
	if n == 0 {
		t.Error("no operators were recorded")
	}
	if line := program.line(); line != torchResults {
		t.Errorf("the program has computed %s, want %s", line, torchResults)
	}
}

// retires waits until the shared memory is unmapped.
func (p *program) retires() bool {
	for range 2000 {
		if !strings.Contains(p.belongings(), "memfd") {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// A child of fork(2) computes as without the recorder, writes nothing, and can be recorded itself.
func TestTorchChildren(t *testing.T) {
	tools.NeedPrivilege(t)
	program := start(t, tools.Torch(t), "torchfork.py")
	p := attachTorch(t, program.pid(), false)
	program.enter()
	var child int
	if _, err := fmt.Sscan(program.line(), &child); err != nil {
		t.Fatal(err)
	}
	p.Beat()
	mine := len(p.take(t))
	program.enter()
	if line := program.line(); line != "20000" {
		t.Errorf("the child has computed %s", line)
	}
	if n := len(p.take(t)); n != 0 || mine == 0 {
		t.Errorf("%d operators before the fork, %d after it", mine, n)
	}
	of := attachTorch(t, child, false)
	program.enter()
	if line := program.line(); line != "20000" {
		t.Errorf("the child has computed %s", line)
	}
	if n := len(of.take(t)); n < 1000 {
		t.Errorf("%d operators of the child", n)
	}
	of.Retire()
	program.enter()
	program.line()
	of.Close(time.Now().Add(time.Second))
	_ = program.in.Close()
	p.Close(time.Now())
}

// Whatever a process writes, reading it ends, and tells of no more than there is room for.
func TestOperatorsOfAnyMemory(t *testing.T) {
	p := &TorchProcess{Process: &Process{memory: make([]byte, torchSharedBytes)}, threads: make(map[uint64]uint32), texts: make(map[string]string)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		for i := range torchMaxThreads {
			at := torchThreadsAt + i*torchThreadBytes
			for w := range 8 + 8*torchCallBytes/8 {
				*p.word(at + 8*w) = random.Uint64()
			}
			*p.word(at + torchThreadHead) = p.tails[i] + random.Uint64N(1<<8)
			for w := range (1 << 8) * torchRecordBytes / 8 {
				*p.word(at + torchThreadRecords + 8*w) = random.Uint64() >> (8 * (w % 8))
			}
		}
		n := 0
		p.Operators(func(Operator) { n++ })
		if n > torchMaxThreads<<8 {
			t.Fatalf("%d operators", n)
		}
		p.OpenOperators(1<<62, func(o Operator) {
			if len(o.Name) > torchNameBytes {
				t.Fatalf("%q", o.Name)
			}
		})
	}
}
