package container

import (
	"strconv"
	"strings"
	"testing"
)

const (
	id  = "3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8"
	id2 = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	uid = "2c48913c-b29f-11e7-9350-020968147796"
)

// paths are those that the managers make.
func paths() []struct {
	path string
	want Place
} {
	under := strings.ReplaceAll(uid, "-", "_")
	return []struct {
		path string
		want Place
	}{
		{"/", Place{}},
		{"/init.scope", Place{Unit: "init.scope"}},
		{"/system.slice/cron.service", Place{Unit: "cron.service"}},
		{"/user.slice/user-1000.slice/session-3.scope", Place{Unit: "session-3.scope"}},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-2210.scope", Place{Unit: "app-gnome-firefox-2210.scope"}},
		{"/system.slice", Place{Unit: "system.slice"}},
		{"/system.slice/system-getty.slice/getty@tty1.service", Place{Unit: "getty@tty1.service"}},
		// docker, by its systemd and cgroupfs drivers, rootless, and with a --cgroup-parent
		{"/system.slice/docker-" + id + ".scope", Place{Runtime: "docker", ID: id, Unit: "docker-" + id + ".scope"}},
		{"/docker/" + id, Place{Runtime: "docker", ID: id}},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id + ".scope", Place{Runtime: "docker", ID: id, Unit: "docker-" + id + ".scope"}},
		{"/builds/" + id, Place{Runtime: "container", ID: id}},
		{"/system.slice/docker.service", Place{Unit: "docker.service"}},
		{"/system.slice/docker-0123.scope", Place{Unit: "docker-0123.scope"}},
		// systemd in a container of docker
		{"/docker/" + id + "/system.slice/nginx.service", Place{Runtime: "docker", ID: id, Unit: "nginx.service"}},
		// containerd under Kubernetes, by the kubelet's systemd and cgroupfs drivers, of each class of pods
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope", Place{Runtime: "containerd", ID: id, Pod: uid, Unit: "cri-containerd-" + id + ".scope"}},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice/cri-containerd-" + id + ".scope", Place{Runtime: "containerd", ID: id, Pod: uid, Unit: "cri-containerd-" + id + ".scope"}},
		{"/kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-" + id + ".scope", Place{Runtime: "containerd", ID: id, Pod: uid, Unit: "cri-containerd-" + id + ".scope"}},
		{"/kubepods/burstable/pod" + uid + "/" + id, Place{Runtime: "kubepods", ID: id, Pod: uid}},
		{"/kubepods/pod" + uid + "/" + id, Place{Runtime: "kubepods", ID: id, Pod: uid}},
		{"/kubepods/burstable/pod" + uid, Place{Pod: uid}},
		// a static pod, whose UID is a hash
		{"/kubepods/burstable/pod2c48913cb29f11e79350020968147796/" + id, Place{Runtime: "kubepods", ID: id, Pod: "2c48913cb29f11e79350020968147796"}},
		// containerd with the cgroupfs driver that is given paths of the systemd driver
		{"/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + id, Place{Runtime: "containerd", ID: id, Pod: uid, Unit: "containerd.service"}},
		{"/system.slice/nerdctl-" + id + ".scope", Place{Runtime: "containerd", ID: id, Unit: "nerdctl-" + id + ".scope"}},
		// CRI-O, whose monitor is in no container
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/crio-" + id + ".scope", Place{Runtime: "cri-o", ID: id, Pod: uid, Unit: "crio-" + id + ".scope"}},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/crio-" + id + ".scope/container", Place{Runtime: "cri-o", ID: id, Pod: uid, Unit: "crio-" + id + ".scope"}},
		{"/kubepods/burstable/pod" + uid + "/crio-" + id, Place{Runtime: "cri-o", ID: id, Pod: uid}},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/crio-conmon-" + id + ".scope", Place{Pod: uid, Unit: "crio-conmon-" + id + ".scope"}},
		// podman: root, rootless, in a pod of its own, cgroupfs
		{"/machine.slice/libpod-" + id + ".scope/container", Place{Runtime: "podman", ID: id, Unit: "libpod-" + id + ".scope"}},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope", Place{Runtime: "podman", ID: id, Unit: "libpod-" + id + ".scope"}},
		{"/machine.slice/machine-libpod_pod_" + id2 + ".slice/libpod-" + id + ".scope", Place{Runtime: "podman", ID: id, Pod: id2, Unit: "libpod-" + id + ".scope"}},
		{"/libpod_parent/libpod-" + id, Place{Runtime: "podman", ID: id}},
		{"/libpod_parent/" + id2 + "/libpod-" + id, Place{Runtime: "podman", ID: id, Pod: id2}},
		{"/machine.slice/libpod-conmon-" + id + ".scope", Place{Unit: "libpod-conmon-" + id + ".scope"}},
		// machines of systemd, and LXC
		{"/machine.slice/systemd-nspawn@web.service/payload", Place{Runtime: "nspawn", ID: "web", Unit: "systemd-nspawn@web.service"}},
		{`/machine.slice/machine-qemu\x2d1\x2ddb.scope/libvirt/vcpu0`, Place{Runtime: "machine", ID: `qemu\x2d1\x2ddb`, Unit: `machine-qemu\x2d1\x2ddb.scope`}},
		{"/lxc.payload.web/system.slice/cron.service", Place{Runtime: "lxc", ID: "web", Unit: "cron.service"}},
		{"/lxc/web", Place{Runtime: "lxc", ID: "web"}},
		{"/lxc.monitor.web", Place{}},
		// kind: Kubernetes in a container of docker, by both drivers
		{"/system.slice/docker-" + id2 + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + under + ".slice/cri-containerd-" + id + ".scope", Place{Runtime: "containerd", ID: id, Pod: uid, Unit: "cri-containerd-" + id + ".scope"}},
		{"/docker/" + id2 + "/kubelet/kubepods/besteffort/pod" + uid + "/" + id, Place{Runtime: "kubepods", ID: id, Pod: uid}},
	}
}

func TestPlacesOfPaths(t *testing.T) {
	for _, c := range paths() {
		if got := Of(c.path); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.path, got, c.want)
		}
	}
}

// TestGlobsFindContainers: the patterns of a container match its cgroup and those below, by its whole id and by the beginning, and none of
// another one.
func TestGlobsFindContainers(t *testing.T) {
	match := func(what, path string) bool {
		globs, err := Globs(what)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range globs {
			if len(g) > MaxGlob {
				t.Errorf("%q is longer than %d bytes", g, MaxGlob)
			}
			if Match(g, []byte(path)) {
				return true
			}
		}
		return false
	}
	for _, c := range paths() {
		p := c.want
		if p.ID == "" {
			if c.want.Pod == "" && (match(id, c.path) || match("web", c.path)) {
				t.Errorf("%s is in no container", c.path)
			}
			continue
		}
		whats := []string{p.ID}
		if p.ID == id {
			whats = append(whats, id[:12], id[:1])
		}
		for _, what := range whats {
			if !match(what, c.path) || !match(what, c.path+"/below/it") {
				t.Errorf("%s is not found by %s", c.path, what)
			}
		}
		if match("9"+id[1:12], c.path) || match(id+"0", c.path) || match("other", c.path) {
			t.Errorf("%s is found by other ids", c.path)
		}
		if strings.Contains(c.path, "kubelet") && !match(id2[:12], c.path) {
			t.Errorf("%s is not found by the outer container", c.path)
		}
	}
	for _, bad := range []string{"", "a b", "/docker/x", "*", strings.Repeat("a", 200)} {
		if _, err := Globs(bad); err == nil {
			t.Errorf("%q is taken for a container", bad)
		}
	}
}

func TestPathGlobs(t *testing.T) {
	for _, c := range []struct {
		text, path string
		want       bool
	}{
		{"/", "/", true}, {"/", "/a/b", true},
		{"/system.slice", "/system.slice", true}, {"/system.slice", "/system.slice/cron.service", true},
		{"/system.slice/", "/system.slice/cron.service", true},
		{"/system.slice", "/system.slices", false}, {"/system.slice", "/x/system.slice", false}, {"/system.slice", "/", false},
		{"cron.service", "/system.slice/cron.service", true}, {"cron.service", "/system.slice/xcron.service", false},
		{"cron.service", "/cron.service/x", true},
		{"/system.slice/*.service", "/system.slice/a/b.service/c", true}, {"/system.slice/?.service", "/system.slice/a.service", true},
		{"/a?b", "/a/b", false}, {"/a*b", "/a/x/b", true}, {"/a*b", "/a/x/bc", false}, {"/a*b*c", "/abxbxc/d", true},
		{"*docker*", "/system.slice/docker-1.scope", true}, {"docker-*", "/system.slice/docker-1.scope", true},
		{"docker-*", "/system.slice/mydocker-1.scope", false},
		{"/a/b", "/a", false}, {"a*", "/", false},
	} {
		glob, err := PathGlob(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Match(glob, []byte(c.path)); got != c.want {
			t.Errorf("%q (%q) and %q: %v", c.text, glob, c.path, got)
		}
	}
	for _, bad := range []string{"", "a\x00b", strings.Repeat("a", 254), "/" + strings.Repeat("a", 255)} {
		if _, err := PathGlob(bad); err == nil {
			t.Errorf("%q is taken", bad)
		} else if !strings.HasPrefix(err.Error(), strconv.Quote(bad)+" ") {
			t.Errorf("the message about %q begins with something else: %v", bad, err)
		}
	}
	for _, good := range []string{strings.Repeat("a", 253), "/" + strings.Repeat("a", 254)} {
		if glob, err := PathGlob(good); err != nil || len(glob) > MaxGlob {
			t.Errorf("%q: %q, %v", good, glob, err)
		}
	}
}

func TestLabels(t *testing.T) {
	for path, want := range map[string]string{"/docker/" + id: "docker:3f8a1c0de5b7", "/lxc/web": "lxc:web", "/a.slice": ""} {
		p := Of(path)
		if got := p.Label(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, c := range paths() {
		f.Add(c.path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if p := Of(path); (p.ID == "") != (p.Runtime == "") || !strings.Contains(path, p.ID) {
			t.Errorf("%q: %+v", path, p)
		}
	})
}
