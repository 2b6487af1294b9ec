package flamehtml

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/html"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

// open writes a profile as a page and opens it. The test fails if the page logs an error or requests anything.
func open(t testing.TB, p *profile.Profile, v ...graph.View) *page.Page {
	t.Helper()
	return openFile(t, write(t, p, v...))
}

func openFile(t testing.TB, path string) *page.Page {
	t.Helper()
	return checked(t, page.Open(t, path))
}

func openURL(t testing.TB, address string) *page.Page {
	t.Helper()
	return checked(t, page.OpenURL(t, address))
}

// checked waits until a page is drawn, and makes the test fail if it logs an error or requests anything.
func checked(t testing.TB, pg *page.Page) *page.Page {
	t.Helper()
	t.Cleanup(func() {
		if logged := pg.ConsoleErrors(); len(logged) > 0 {
			t.Errorf("the page logged %q", logged)
		}
		if requests := pg.Requests(); len(requests) > 0 {
			t.Errorf("the page requested %q", requests)
		}
	})
	pg.Wait("globalThis.wprof?.rendered || /Cannot/.test(document.querySelector('#trouble')?.textContent)")
	waitRendered(pg)
	return pg
}

// waitRendered waits until the page shows what was last requested.
func waitRendered(pg *page.Page) {
	pg.Eval("(async () => { await wprof.rendered; wprof.flame.drawNow(); return true; })()", nil)
}

func write(t testing.TB, p *profile.Profile, v ...graph.View) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	var first graph.View
	if len(v) > 0 {
		first = v[0]
	}
	if err := html.Write(out, p, first); err != nil {
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
