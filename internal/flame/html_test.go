package flame

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"wprof/test/page"
)

// openPage writes a profile as a page and opens it.
func openPage(t testing.TB, p *Profile, v ...View) *page.Page {
	t.Helper()
	return openFile(t, writePage(t, p, v...))
}

func openFile(t testing.TB, path string) *page.Page {
	t.Helper()
	pg := page.Open(t, path)
	pg.Wait("globalThis.wprof || document.querySelector('#trouble').textContent.startsWith('Cannot')")
	pg.Eval("wprof.settled.then(() => true)", nil)
	return pg
}

func writePage(t testing.TB, p *Profile, v ...View) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	if err := p.WriteHTML(out, v...); err != nil {
		t.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHTMLShots(t *testing.T) {
	dir := os.Getenv("SHOTS")
	if dir == "" {
		t.Skip()
	}
	for name, s := range map[string]sample{
		"one":    {threads: 1, stacks: 60, depth: 14, functions: 80, cells: 40, slots: 100, asleep: 0.2},
		"sixty":  {threads: 60, stacks: 600, depth: 24, functions: 400, cells: 60, slots: 300, asleep: 0.5},
		"asleep": {threads: 8, stacks: 80, depth: 20, functions: 100, cells: 20, slots: 300, asleep: 0.99},
	} {
		pg := openPage(t, s.profile())
		pg.Screenshot(filepath.Join(dir, name+"-light.png"))
		pg.Prefer("color-scheme", "dark")
		pg.Screenshot(filepath.Join(dir, name+"-dark.png"))
		t.Log(name, pg.ConsoleErrors(), pg.Requests(), pg.Text("document.querySelector('#trouble').textContent"))
	}
}
