package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `<!doctype html><title>t</title><style>:root{color:rgb(0, 0, 0)}
@media (prefers-color-scheme: dark){:root{color:rgb(255, 255, 255)}}</style>
<button id=b onclick="log.push('click')">b</button><input id=i>
<script>
const log = [];
addEventListener('keydown', (e) => log.push(e.key + (e.ctrlKey ? '^' : '')));
addEventListener('mousemove', (e) => { window.mouse = [e.x, e.y]; });
</script>`

func open(t *testing.T, html string) *Page {
	t.Helper()
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a b.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	return Open(t, file)
}

func TestPageGetsMouseAndKeys(t *testing.T) {
	p := open(t, sample)
	p.ClickOn("#b")
	p.ClickOn("#i")
	p.Type("<x>")
	p.Key("a")
	p.Key("Control+z")
	p.Key("Escape")
	if got := p.Text(`JSON.stringify(log)`); got != `["click","a","z^","Escape"]` {
		t.Errorf("the page saw %s", got)
	}
	p.Hover(100, 50)
	p.Wait("mouse[0] === 100 && mouse[1] === 50")
	p.Reload()
	if got := p.Text(`JSON.stringify(log)`); got != `[]` {
		t.Errorf("after loading it again the page has seen %s", got)
	}
	if e, r := p.ConsoleErrors(), p.Requests(); len(e)+len(r) > 0 {
		t.Errorf("errors %q and requests %q of a page without", e, r)
	}
}

func TestPageReportsErrorsAndRequests(t *testing.T) {
	p := open(t, `<script>console.error("one")</script><script>throw Error("two")</script>
		<img src="https://wprof.invalid/three.png"><script>document.title = location</script>`)
	errors, requests := strings.Join(p.ConsoleErrors(), "\n"), strings.Join(p.Requests(), "\n")
	for _, want := range []string{"one", "two", "three.png"} {
		if !strings.Contains(errors, want) {
			t.Errorf("want %q in the console's errors, got %s", want, errors)
		}
	}
	if requests != "https://wprof.invalid/three.png" {
		t.Errorf("requests %q", requests)
	}
}

func TestPageSetsColorSchemeAndSize(t *testing.T) {
	p := open(t, sample)
	for scheme, want := range map[string]string{"dark": "rgb(255, 255, 255)", "light": "rgb(0, 0, 0)"} {
		p.Prefer("color-scheme", scheme)
		if got := p.Text(`getComputedStyle(document.documentElement).color`); got != want {
			t.Errorf("%s: %s, want %s", scheme, got, want)
		}
	}
	p.Eval(`addEventListener('resize', () => { window.resized = [innerWidth, devicePixelRatio].join(); })`, nil)
	p.Resize(Size{400, 300}, 2)
	if got := p.Text("resized"); got != "400,2" {
		t.Errorf("the page has the size %s", got)
	}
	file := filepath.Join(t.TempDir(), "p.png")
	p.Screenshot(file)
	if png, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("the picture is %.8q, %v", png, err)
	}
}

func TestContrastIsThatOfWCAG(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       float64
	}{
		{"rgb(0, 0, 0)", "rgb(255, 255, 255)", 21},
		{"rgb(119, 119, 119)", "rgb(255, 255, 255)", 4.478},
	} {
		if got, err := Contrast(c.one, c.other); err != nil || got < c.want-0.01 || got > c.want+0.01 {
			t.Errorf("%s on %s: %v %v, want %v", c.one, c.other, got, err, c.want)
		}
	}
	if _, err := Contrast("red", "rgb(0, 0, 0)"); err == nil {
		t.Error("a colour by name is taken")
	}
}
