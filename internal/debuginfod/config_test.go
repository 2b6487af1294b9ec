package debuginfod

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEnvironmentIsReadAsElfutilsDoes(t *testing.T) {
	old := t.TempDir()
	if err := os.Mkdir(filepath.Join(old, ".debuginfod_client_cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	usual := Config{Timeout: 90 * time.Second, MaxSize: defaultMaxSize}
	with := func(change func(*Config)) Config {
		c := usual
		change(&c)
		return c
	}
	for _, c := range []struct {
		environment string
		want        Config
		ignored     string
	}{
		{"", usual, ""},
		{"HOME=/h", with(func(c *Config) { c.Cache = "/h/.cache/debuginfod_client" }), ""},
		{"HOME=/h XDG_CACHE_HOME=/x", with(func(c *Config) { c.Cache = "/x/debuginfod_client" }), ""},
		{"HOME=" + old + " XDG_CACHE_HOME=/x", with(func(c *Config) { c.Cache = old + "/.debuginfod_client_cache" }), ""},
		{"HOME=/h XDG_CACHE_HOME=/x DEBUGINFOD_CACHE_PATH=/c", with(func(c *Config) { c.Cache = "/c" }), ""},
		{"DEBUGINFOD_TIMEOUT=5 DEBUGINFOD_MAXTIME=60 DEBUGINFOD_MAXSIZE=1000", with(func(c *Config) { c.Timeout, c.MaxTime, c.MaxSize = 5*time.Second, time.Minute, 1000 }), ""},
		{"DEBUGINFOD_TIMEOUT=0 DEBUGINFOD_MAXSIZE=0", with(func(c *Config) { c.Timeout = 0 }), ""},
		{"DEBUGINFOD_TIMEOUT=-1 DEBUGINFOD_MAXTIME=9223372036854775807", with(func(c *Config) { c.Timeout, c.MaxTime = 0, 1<<31*time.Second }), ""},
		{"DEBUGINFOD_TIMEOUT=soon", usual, "DEBUGINFOD_TIMEOUT"},
		{"DEBUGINFOD_URLS=http://a,https://b/c", with(func(c *Config) { c.Servers = []string{"http://a", "https://b/c"} }), ""},
		{"DEBUGINFOD_URLS=ima:enforcing,https://b,file:///c,http://", with(func(c *Config) { c.Servers = []string{"https://b"} }), "file:///c"},
	} {
		got, ignored := FromEnvironment(func(name string) string {
			for v := range strings.FieldsSeq(c.environment) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return strings.ReplaceAll(value, ",", " ")
				}
			}
			return ""
		})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.environment, got, c.want)
		}
		if len(ignored) == 0 != (c.ignored == "") || len(ignored) > 0 && !strings.Contains(ignored[0].Error(), c.ignored) {
			t.Errorf("%s: ignored %v, want %q", c.environment, ignored, c.ignored)
		}
	}
}
