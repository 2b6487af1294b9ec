package flame

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
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
	if q.report != "" {
		if _, err := q.report.hasFolder(); err != nil {
			return nil, err
		}
	}
	for _, out := range q.outputs {
		path := out.path
		if path == "" {
			path = inv.String("output")
		}
		// Pictures are text, but not for people.
		isText := out.form == formFolded || out.form == formAnalysis || out.form == formReport
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

// write writes all outputs of a profile, pictures last: the profile is released when their graph is made.
func (q *request) write(inv *cli.Invocation, p *Profile, outs outputs) error {
	if q.report != "" {
		return q.writeReport(inv, p, outs)
	}
	if err := q.writeForms(p, outs); err != nil {
		return err
	}
	if err := q.writeFolder(inv, p); err != nil {
		return err
	}
	return q.writePictures(inv, p, outs)
}

// writeForms writes the outputs that are neither pictures nor the summary of a report.
func (q *request) writeForms(p *Profile, outs outputs) error {
	for i, out := range q.outputs {
		if out.form == formSVG || out.form == formReport {
			continue
		}
		if err := finished(outs[i], q.writeForm(outs[i], out.form, p)); err != nil {
			return err
		}
	}
	return nil
}

// writePictures releases the profile if there is a picture among the outputs.
func (q *request) writePictures(inv *cli.Invocation, p *Profile, outs outputs) error {
	if !q.draws() {
		return nil
	}
	pic := q.picture(p, q.view)
	g := p.Graph(q.view)
	p.release()
	return q.writeGraph(inv, g, pic, outs)
}

func (q *request) writeFolder(inv *cli.Invocation, p *Profile) error {
	if q.folder == "" {
		return nil
	}
	folder, err := inv.CreateFolder(q.folder)
	if err != nil {
		return err
	}
	return q.writeThreads(folder, p)
}

func (q *request) writeThreads(folder *cli.Folder, p *Profile) error {
	if err := p.WriteThreads(threadFolder{folder}, ThreadTable(q.folder), q.view, q.threadFiles()...); err != nil {
		return cli.Failf("%w", err)
	}
	return nil
}

// draws reports whether there is a picture among the outputs.
func (q *request) draws() bool {
	return slices.ContainsFunc(q.outputs, func(o output) bool { return o.form == formSVG })
}

// writeGraph writes a graph to the outputs that are pictures, and a difference as folded stacks to the others.
func (q *request) writeGraph(inv *cli.Invocation, g *Graph, pic Picture, outs outputs) error {
	if g.Left > 0 {
		inv.Warnf("%s of the shortest times did not fit into the graph; they are shown as %s", cli.Grouped(g.Left), moreStacks)
	}
	for i, out := range q.outputs {
		var err error
		switch {
		case out.form == formSVG:
			err = g.WriteSVG(outs[i], pic)
		case q.diff:
			err = g.WriteFolded(outs[i], q.text)
		default:
			continue
		}
		if err := finished(outs[i], err); err != nil {
			return err
		}
	}
	return nil
}

// finished commits an output unless writing it has failed.
func finished(out *cli.Output, err error) error {
	if err != nil {
		return cli.Failf("%w", err)
	}
	return out.Commit()
}

func (q *request) writeForm(w io.Writer, f form, p *Profile) error {
	switch f {
	case formHTML:
		return p.WriteHTML(w, q.view)
	case formPprof:
		return p.WritePprof(w, q.view)
	case formSpeedscope:
		return p.WriteSpeedscope(w, q.view)
	case formAnalysis:
		return p.WriteAnalysis(w, q.view)
	}
	return p.WriteFolded(w, q.view, q.text)
}

// picture is what stands around a graph of a view.
func (q *request) picture(p *Profile, v View) Picture {
	title, subtitle := p.Caption(v)
	return Picture{Title: title, Subtitle: subtitle}
}

// pictureOfBoth is what stands around the difference to another profile. The title says that it is one, and the other's name
// first: a long title loses its end.
func (q *request) pictureOfBoth(p, base *Profile, name string) Picture {
	pic := q.picture(p, q.view)
	other := filepath.Base(name)
	if from := base.About.From; q.ranged {
		other = fmt.Sprintf("%s to %s of %s", spell(from), spell(from+base.About.Span), other)
	}
	pic.Title = p.title(q.view.what()+" compared with "+other, q.view)
	pic.Subtitle += captionSep + "compared with " + base.when(q.view) + " of " + name
	return pic
}

// threadFiles are what is written of each thread.
func (q *request) threadFiles() []ThreadFile {
	return []ThreadFile{
		{Suffix: ".svg", Write: func(p *Profile, w io.Writer, v View) error {
			return p.Graph(v).WriteSVG(w, q.picture(p, v))
		}},
		{Suffix: ".folded", Write: func(p *Profile, w io.Writer, v View) error { return p.WriteFolded(w, v, q.text) }},
		AnalysisFile(),
	}
}

// threadFolder is where the files of each thread go.
type threadFolder struct{ *cli.Folder }

func (f threadFolder) Create(name string) (File, error) { return f.Folder.Create(name) }

// compare writes the difference between the profile of the input called name and another one.
func (q *request) compare(inv *cli.Invocation, p *Profile, name string, in io.Reader, outs outputs) error {
	q.collect.Memory = bothRoom - p.memory
	base, verdict, err := q.read(inv, in, q.otherName(inv), q.compared())
	if err != nil {
		return err
	}
	defer base.Close()
	agreeOnIdle(p, base)
	pic := q.pictureOfBoth(p, base, q.otherName(inv))
	g := Compare(p, base, q.view, scale(p, base))
	p.release()
	base.release()
	if g.Total[0].Ns() == 0 {
		return nothingLeft("compare "+name, "--start, --end")
	}
	if g.Base[0].Ns() == 0 {
		return nothingLeft("compare with "+q.otherName(inv), "--diff-start, --diff-end")
	}
	if err := q.writeGraph(inv, g, pic, outs); err != nil {
		return err
	}
	return verdict
}

func nothingLeft(action, bounds string) error {
	return cli.Failf("%s: nothing of it is left to compare; choose processes by name (-n) where their ids differ, and a range (%s) that lies within its window", action, bounds)
}

// scale is how long one profile took for each second of another one.
func scale(p, base *Profile) float64 {
	if p.About.Window == 0 || base.About.Window == 0 {
		return 1
	}
	return float64(p.About.Window) / float64(base.About.Window)
}

// writeBuckets writes a file of folded stacks for each slot of time in which there is something.
func (q *request) writeBuckets(inv *cli.Invocation, p *Profile) error {
	path := q.outputs[0].path
	ext := filepath.Ext(path)
	for n := range p.Slots {
		v := q.view
		v.From, v.To = n, n+1
		g := p.Graph(v)
		if g.Total[0].Ns() == 0 {
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
