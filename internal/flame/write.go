package flame

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"wprof/internal/cli"
)

// outputs are the open outputs of a request, in its order.
type outputs []*cli.Output

func (q *request) create(inv *cli.Invocation) (outputs, error) {
	var all outputs
	if q.buckets > 0 {
		return nil, nil
	}
	for _, out := range q.outputs {
		path := out.path
		if path == "" {
			path = inv.String("output")
		}
		// Pictures are text, but not for people.
		isText := out.form == formFolded || out.form == formAnalysis
		o, err := inv.CreateOutput(path, !isText)
		if err != nil {
			all.abort()
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func (all outputs) abort() {
	for _, o := range all {
		o.Abort()
	}
}

// write writes a profile in all ways that were asked for.
func (q *request) write(inv *cli.Invocation, p *Profile, outs outputs) error {
	for i, out := range q.outputs {
		if err := q.writeForm(outs[i], out.form, p); err != nil {
			return cli.Failf("%w", err)
		}
		if err := outs[i].Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) writeForm(w io.Writer, f form, p *Profile) error {
	switch f {
	case formFolded:
		return p.Graph(q.view).WriteFolded(w, q.text)
	}
	return fmt.Errorf("%s", f)
}

// compare writes the difference of a profile to another one.
func (q *request) compare(inv *cli.Invocation, p *Profile, in io.Reader, outs outputs) error {
	return nil
}

// writeBuckets writes a file of folded stacks for each slot of time in which there is something.
func (q *request) writeBuckets(inv *cli.Invocation, p *Profile) error {
	path := q.outputs[0].path
	ext := filepath.Ext(path)
	for n := range p.Slots {
		v := q.view
		v.From, v.To = n, n+1
		g := p.Graph(v)
		if g.Nodes[0].Total.Ns() == 0 {
			continue
		}
		out, err := inv.CreateOutput(fmt.Sprintf("%s.%04d%s", strings.TrimSuffix(path, ext), n, ext), false)
		if err != nil {
			return err
		}
		if err := g.WriteFolded(out, q.text); err != nil {
			out.Abort()
			return cli.Failf("%w", err)
		}
		if err := out.Commit(); err != nil {
			return err
		}
	}
	return nil
}
