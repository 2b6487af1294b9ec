package flame

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"wprof/internal/browser"
	"wprof/internal/cli"
	"wprof/internal/flame/analysis"
	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/html"
	"wprof/internal/flame/pprof"
	"wprof/internal/flame/profile"
	"wprof/internal/flame/speedscope"
	"wprof/internal/flame/svg"
)

// outputs are the open outputs of a request, in its order.
type outputs []*cli.Output

// create opens the outputs. shown is nil if none is to be shown.
func (q *request) create(inv *cli.Invocation, shown *browser.Shown) (outputs, error) {
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
		o, err := out.create(inv, shown)
		if err != nil {
			all.abort()
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func (out *output) create(inv *cli.Invocation, shown *browser.Shown) (*cli.Output, error) {
	path := out.path
	if path == "" && !out.isOwn {
		path = inv.String("output")
	}
	// Pictures are text, but not for a terminal.
	isText := out.form == formFolded || out.form == formAnalysis || out.form == formReport
	if out.isShown {
		return shown.Create(path, "."+string(out.form), !isText)
	}
	return inv.CreateOutput(path, !isText)
}

// checkOutputs returns an error if the files of a request cannot be created. It leaves none.
func (q *request) checkOutputs(inv *cli.Invocation, shown *browser.Shown) error {
	outs, err := q.create(inv, shown)
	if err != nil {
		return err
	}
	defer outs.abort()
	if q.folder == "" {
		return nil
	}
	folder, err := inv.CreateFolder(q.folder)
	if err != nil {
		return err
	}
	defer folder.Abort()
	table, err := folder.Create(ThreadTable(q.folder))
	if err == nil {
		table.Abort()
	}
	return err
}

func (all outputs) abort() {
	for _, o := range all {
		o.Abort()
	}
}

// write writes all outputs of a profile, pictures last: the profile is released when their graph is made.
func (q *request) write(inv *cli.Invocation, p *profile.Profile, outs outputs) error {
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

// writeForms writes the outputs other than pictures and a report's summary.
func (q *request) writeForms(p *profile.Profile, outs outputs) error {
	for i, out := range q.outputs {
		if out.form == formSVG || out.form == formReport {
			continue
		}
		if err := commitOutput(outs[i], q.writeForm(outs[i], out.form, p)); err != nil {
			return err
		}
	}
	return nil
}

// writePictures releases the profile if there is a picture among the outputs.
func (q *request) writePictures(inv *cli.Invocation, p *profile.Profile, outs outputs) error {
	if !q.draws() {
		return nil
	}
	v := q.pictureView()
	pic := q.picture(p, v)
	g := graph.Of(p, v)
	p.Release()
	return q.writeGraph(inv, g, pic, outs)
}

func (q *request) writeFolder(inv *cli.Invocation, p *profile.Profile) error {
	if q.folder == "" {
		return nil
	}
	folder, err := inv.CreateFolder(q.folder)
	if err != nil {
		return err
	}
	return q.writeThreads(folder, p)
}

func (q *request) writeThreads(folder *cli.Folder, p *profile.Profile) error {
	if err := writeThreadFiles(p, threadFolder{folder}, ThreadTable(q.folder), q.view, q.reports, q.threadFiles()...); err != nil {
		return cli.Failf("%w", err)
	}
	return nil
}

// draws reports whether there is a picture among the outputs.
func (q *request) draws() bool {
	return slices.ContainsFunc(q.outputs, func(o output) bool { return o.form == formSVG })
}

// writeGraph writes a graph to the outputs that are pictures, and a difference as folded stacks to the others.
func (q *request) writeGraph(inv *cli.Invocation, g *graph.Graph, pic svg.Picture, outs outputs) error {
	if g.LeftOut > 0 {
		inv.Warnf("the %s shortest times did not fit into the graph; they are shown as %s", cli.Grouped(g.LeftOut), profile.MoreStacks)
	}
	for i, out := range q.outputs {
		var err error
		switch {
		case out.form == formSVG:
			err = svg.Write(outs[i], g, pic)
		case q.diff && out.form == formFolded:
			err = folded.WriteGraph(outs[i], g, q.text)
		default:
			continue
		}
		if err := commitOutput(outs[i], err); err != nil {
			return err
		}
	}
	return nil
}

// commitOutput commits an output unless writing it has failed.
func commitOutput(out *cli.Output, err error) error {
	if err != nil {
		return cli.Failf("%w", err)
	}
	return out.Commit()
}

func (q *request) writeForm(w io.Writer, f form, p *profile.Profile) error {
	switch f {
	case formHTML:
		return html.Write(w, p, q.pictureView())
	case formPprof:
		return pprof.Write(w, p, q.view)
	case formSpeedscope:
		return speedscope.Write(w, p, q.view)
	case formAnalysis:
		return analysis.Write(w, p, q.view, q.reports.Report())
	}
	return folded.Write(w, p, q.view, q.text)
}

// pictureView returns the view for pictures and pages: unlike folded stacks they have waits for work in one frame.
func (q *request) pictureView() graph.View {
	v := q.view
	v.FoldIdle = !q.unfold
	return v
}

// picture returns the title and layout of a view's picture.
func (q *request) picture(p *profile.Profile, v graph.View) svg.Picture {
	title, subtitle := graph.Caption(p, v)
	return svg.Picture{Title: title, Subtitle: subtitle, IsEvents: v.Mode == graph.Events, IsCount: p.About.IsCount}
}

// differencePicture returns the title and layout of the difference to another profile. "compared with" comes
// early in the title, because a long title is cut at its end.
func (q *request) differencePicture(p, base *profile.Profile, name string) svg.Picture {
	pic := q.picture(p, q.view)
	other := filepath.Base(name)
	if from := base.About.From; q.ranged {
		other = fmt.Sprintf("%s to %s of %s", graph.Spell(from), graph.Spell(from+base.About.Span), other)
	}
	pic.Title = graph.TitleOf(p, q.view.What(p)+" compared with "+other, q.view)
	pic.Subtitle += graph.CaptionSep + "compared with " + graph.WhenOf(base, q.view) + " of " + name
	return pic
}

// threadFiles returns the files that are written for each thread.
func (q *request) threadFiles() []ThreadFile {
	return []ThreadFile{
		{Suffix: ".svg", Write: func(w io.Writer, p *profile.Profile, v graph.View) error {
			v.FoldIdle = !q.unfold
			return svg.Write(w, graph.Of(p, v), q.picture(p, v))
		}},
		{Suffix: ".folded", Write: func(w io.Writer, p *profile.Profile, v graph.View) error { return folded.Write(w, p, v, q.text) }},
		{Suffix: "_analysis.txt", Write: func(w io.Writer, p *profile.Profile, v graph.View) error {
			return analysis.Write(w, p, v, q.reports.ThreadReport(analysis.KeyOf(p.Threads[0])))
		}},
	}
}

// threadFolder is the Folder of the files of each thread.
type threadFolder struct{ *cli.Folder }

func (f threadFolder) Create(name string) (File, error) { return f.Folder.Create(name) }

// compare writes the difference between the profile of the input called name and another one.
func (q *request) compare(inv *cli.Invocation, p *profile.Profile, name string, in *cli.Capture, outs outputs) error {
	q.collect.Memory = profile.BothRoom - p.Memory
	base, inputErr, err := q.read(inv, in, q.baseSelection())
	if err != nil {
		return err
	}
	defer base.Close()
	profile.ShareIdleWaits(p, base)
	pic := q.differencePicture(p, base, in.Name)
	switch {
	case timeOf(p, &q.view) == 0:
		return nothingLeft("compare "+name, "--start, --end")
	case timeOf(base, &q.view) == 0:
		return nothingLeft("compare with "+in.Name, "--diff-start, --diff-end")
	}
	g := q.differenceGraph(p, base)
	if err := q.writeDifferencePages(p, base, in.Name, outs); err != nil {
		return err
	}
	p.Release()
	base.Release()
	if g != nil {
		err = q.writeGraph(inv, g, pic, outs)
	}
	return cmp.Or(err, inputErr)
}

// timeOf returns all time of a view.
func timeOf(p *profile.Profile, v *graph.View) (ns int64) {
	v.EachCell(p, func(c *profile.Cell) { ns += v.Weight(c).Ns() })
	return ns
}

// differenceGraph returns the graph of two profiles for pictures and folded stacks; nil if only pages are written.
func (q *request) differenceGraph(p, base *profile.Profile) *graph.Graph {
	has := func(f form) bool { return slices.ContainsFunc(q.outputs, func(o output) bool { return o.form == f }) }
	v := q.view
	switch {
	case !has(formFolded) && !has(formSVG):
		return nil
	case !has(formFolded):
		v = q.pictureView()
	}
	return graph.Compare(p, base, v, scale(p, base))
}

// writeDifferencePages writes the outputs that are pages. The other profile becomes a part of p.
func (q *request) writeDifferencePages(p, base *profile.Profile, name string, outs outputs) error {
	for i, out := range q.outputs {
		if out.form != formHTML {
			continue
		}
		of := graph.WhenOf(base, q.view) + " of " + name
		if err := commitOutput(outs[i], html.WriteCompared(outs[i], p, base, q.pictureView(), of)); err != nil {
			return err
		}
	}
	return nil
}

func nothingLeft(action, bounds string) error {
	return cli.Failf("%s: nothing is left of it to compare; choose processes by name (-n) where their ids differ, and a range (%s) that lies within its window", action, bounds)
}

// scale returns the length of p's window divided by that of base.
func scale(p, base *profile.Profile) float64 {
	if p.About.Window == 0 || base.About.Window == 0 {
		return 1
	}
	return float64(p.About.Window) / float64(base.About.Window)
}

// writeBuckets writes a file of folded stacks for each slot of time that is not empty.
func (q *request) writeBuckets(inv *cli.Invocation, p *profile.Profile) error {
	path := q.outputs[0].path
	ext := filepath.Ext(path)
	for n := range p.Slots {
		v := q.view
		v.From, v.To = n, n+1
		g := graph.Of(p, v)
		if g.Total[0].Ns() == 0 {
			continue
		}
		out, err := inv.CreateOutput(fmt.Sprintf("%s.%04d%s", strings.TrimSuffix(path, ext), n, ext), false)
		if err != nil {
			return err
		}
		if err := folded.WriteGraph(out, g, q.text); err != nil {
			out.Abort()
			return cli.Failf("%w", err)
		}
		if err := out.Commit(); err != nil {
			return err
		}
	}
	return nil
}
