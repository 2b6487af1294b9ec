//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// torchOperator is a line of JSON.
type torchOperator struct {
	Type  string  `json:"t"`
	Name  string  `json:"name"`
	Start float64 `json:"start_ts"`
	Dur   float64 `json:"dur"`
	Task  struct{ TID, PID int }
	Args  struct {
		Operator, Shapes, Scope string
		Sequence                *int
		ForwardThread           struct{ TID int } `json:"forward_thread"`
		Self                    float64
	}
}

const torchRounds = 1000 // of torchops.py, in each of two threads

// Each operator of PyTorch is a span, and backward functions are those of their forward ones, in all outputs.
func TestOperatorsOfTorch(t *testing.T) {
	tools.NeedPrivilege(t)
	python := tools.Torch(t)
	script, _ := filepath.Abs("../../internal/pytrace/testdata/torchops.py")
	w := tools.StartWorkload(t, exec.Command(python, script, fmt.Sprint(torchRounds)))
	w.Until("ready")
	args := []string{"--no-stacks", "-f", "py-torch=shapes:" + w.PIDText()}
	capture := tools.Record(t, filepath.Join(t.TempDir(), "torch.wprof"), args, func() {
		w.Send("\n")
		if others := w.Until("60 60"); len(others) > 0 {
			t.Errorf("the program has computed %s, want 60 60", others)
		}
	})
	checkOperatorsOfTorch(t, capture, w.PID())
	checkDrawnOperators(t, capture)
	if table := tools.Run(t, "wprof-info", "--calls", capture); !regexp.MustCompile(`(?m)^ *2,000 .* aten::add$`).Match(table) {
		t.Errorf("the table lacks 2,000 calls of aten::add:\n%s", table)
	}
	tools.Run(t, "wprof-info", "--check", capture)
}

func checkOperatorsOfTorch(t *testing.T, capture string, pid int) {
	t.Helper()
	counts, nodes := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(tools.Run(t, "wprof-json", capture)) {
		var o torchOperator
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		if o.Type == "lost" {
			t.Errorf("%s", line)
		}
		if o.Name != "torch_op" {
			continue
		}
		counts[o.Args.Operator]++
		if o.Task.PID != pid || o.Args.Self > o.Dur || o.Args.Operator == "aten::add" && o.Args.Shapes != "[4, 5] [4, 5]" {
			t.Fatalf("%s", line)
		}
		switch {
		case o.Args.Operator == "MmBackward0" && o.Args.Sequence != nil && o.Args.Scope == "backward":
			nodes[fmt.Sprint(o.Args.ForwardThread.TID, *o.Args.Sequence)] += 10
		case o.Args.Operator == "aten::mm" && o.Args.Sequence != nil && o.Args.Scope == "operator":
			nodes[fmt.Sprint(o.Task.TID, *o.Args.Sequence)]++
		}
	}
	for name, want := range map[string]int{"aten::add": 2 * torchRounds, "aten::mm": 2 * (torchRounds/10 + 2), "matrices": 2, "SumBackward0": 2} {
		if counts[name] != want {
			t.Errorf("%d operators %s, want %d", counts[name], name, want)
		}
	}
	for node, n := range nodes {
		if n != 11 {
			t.Errorf("of node %s there are %d forward and %d backward functions", node, n%10, n/10)
		}
	}
	if len(nodes) != 2 {
		t.Errorf("%d nodes, want 2", len(nodes))
	}
}

// checkDrawnOperators looks for operators within each other on a track of their thread, and for arrows to backward functions.
func checkDrawnOperators(t *testing.T, capture string) {
	t.Helper()
	engine.Need(t)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "trace.pb"), "wprof-perfetto", capture)
	engine.CheckStats(t, trace)
	answers := engine.Query(t, trace,
		`select count(*) as n, count(distinct s.track_id) as tracks, sum(p.name = 'aten::matmul') as within from slice s left join slice p on p.id = s.parent_id where s.name = 'aten::mm'`,
		`select a.name as forward, b.name as backward, count(*) as n from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in
		where b.name glob '*Backward0' group by 1, 2 order by 1`)
	for i, want := range []string{
		fmt.Sprintf("[map[n:%d tracks:2 within:%d]]", 2*(torchRounds/10+2), 2*(torchRounds/10+1)),
		"[map[backward:MmBackward0 forward:aten::mm n:2] map[backward:SumBackward0 forward:aten::sum n:2]]",
	} {
		if got := fmt.Sprint(answers[i]); got != want {
			t.Errorf("query %d: %s, want %s", i, got, want)
		}
	}
}
