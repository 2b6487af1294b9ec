package container

import "strings"

// rule is how a manager calls the cgroup of a container: the last name of a path that ends there.
type rule struct {
	runtime string
	parent  string // the name before it; "": any
	prefix  string
	suffix  string
	named   bool // the container has a name; else an id of idLength hexadecimal digits
}

// idLength is the length of the ids that docker, containerd, CRI-O and podman give.
const idLength = 64

// rules are in the order in which they are tried.
func rules() []rule {
	return []rule{
		{runtime: "docker", prefix: "docker-", suffix: ".scope"}, // systemd driver
		{runtime: "docker", parent: "docker"},                    // cgroupfs driver
		{runtime: "containerd", prefix: "cri-containerd-", suffix: ".scope"},
		{runtime: "containerd", prefix: "nerdctl-", suffix: ".scope"},
		{runtime: "cri-o", prefix: "crio-", suffix: ".scope"},
		{runtime: "cri-o", prefix: "crio-"},
		{runtime: "podman", prefix: "libpod-", suffix: ".scope"},
		{runtime: "podman", prefix: "libpod-"},
		{runtime: "nspawn", prefix: "systemd-nspawn@", suffix: ".service", named: true},
		{runtime: "machine", parent: "machine.slice", prefix: "machine-", suffix: ".scope", named: true},
		{runtime: "lxc", prefix: "lxc.payload.", named: true},
		{runtime: "lxc", parent: "lxc.payload", named: true},
		{runtime: "lxc", parent: "lxc", named: true},
		{runtime: unknownRuntime}, // cgroupfs driver of the kubelet, or a parent that the user chose
	}
}

const (
	// unknownRuntime is that of a container whose path has its id alone.
	unknownRuntime = "container"
	// podRuntime is the same below the cgroup of a pod.
	podRuntime = "kubepods"
)

// id returns the id or name of the container whose cgroup has this name below that parent; "": the rule does not apply.
func (r *rule) id(parent, name string) string {
	if r.parent != "" && r.parent != parent {
		return ""
	}
	id, ok := strings.CutPrefix(name, r.prefix)
	if !ok {
		return ""
	}
	if id, ok = strings.CutSuffix(id, r.suffix); !ok || !r.named && (len(id) != idLength || !isHex(id)) {
		return ""
	}
	return id
}

// glob returns the pattern of the cgroups of containers whose id begins with id, or whose name it is; "": there are none.
func (r *rule) glob(id string) string {
	rest := ""
	if !r.named {
		if len(id) > idLength || !isHex(id) {
			return ""
		}
		rest = strings.Repeat("?", idLength-len(id))
	}
	parent := ""
	if r.parent != "" {
		parent = r.parent + "/"
	}
	return parent + r.prefix + id + rest + r.suffix
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
