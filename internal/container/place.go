package container

import "strings"

// Place is what the path of a cgroup shows.
type Place struct {
	Runtime string // docker, containerd, cri-o, podman, nspawn, machine, lxc, kubepods, container; "": it is in no container
	ID      string // of the innermost container, or its name
	Pod     string // UID of the innermost pod of Kubernetes, or id of one of podman; "": none
	Unit    string // the innermost unit of systemd, a slice only if there is nothing else; "": none
}

// Of returns the place of a cgroup.
func Of(path string) Place {
	var p Place
	all, parent, slice := rules(), "", ""
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		// A manager with the cgroupfs driver that is given a path for the systemd driver: SLICE:PREFIX:ID.
		outer, prefix, id := splitColons(name)
		pod := podOf(parent, outer)
		if pod != "" {
			p.Pod = pod
		}
		if pod == "" || prefix != "" {
			if c := containerOf(all, parent, prefix, id); c.ID != "" {
				p.Runtime, p.ID = c.Runtime, c.ID
			}
		}
		switch {
		case strings.HasSuffix(name, ".service"), strings.HasSuffix(name, ".scope"):
			p.Unit = name
		case strings.HasSuffix(name, ".slice"):
			slice = name
		}
		parent = name
	}
	if p.Unit == "" {
		p.Unit = slice
	}
	return p
}

// splitColons returns the parts of SLICE:PREFIX:ID; of other names the whole as outer and id.
func splitColons(name string) (outer, prefix, id string) {
	if parts := strings.Split(name, ":"); len(parts) == 3 {
		return parts[0], parts[1], parts[2]
	}
	return name, "", name
}

// containerOf returns the container of a cgroup's name.
func containerOf(all []rule, parent, prefix, name string) Place {
	if prefix != "" {
		name = prefix + "-" + name + ".scope"
	}
	for i := range all {
		if id := all[i].id(parent, name); id != "" {
			runtime := all[i].runtime
			if runtime == unknownRuntime && podOf("", parent) != "" {
				runtime = podRuntime
			}
			return Place{Runtime: runtime, ID: id}
		}
	}
	return Place{}
}

// uidLengths are those of a pod's UID, and of a static pod's, which is a hash.
const (
	uidLength    = 36
	staticLength = 32
)

// podOf returns the pod of a cgroup's name: podUID, …-podUID.slice (with _ for -), machine-libpod_pod_ID.slice, or ID below libpod_parent.
func podOf(parent, name string) string {
	if parent == "libpod_parent" && len(name) == idLength && isHex(name) {
		return name
	}
	if inSlice, ok := strings.CutSuffix(name, ".slice"); ok {
		if id, ok := strings.CutPrefix(inSlice, "machine-libpod_pod_"); ok && isHex(id) {
			return id
		}
		if _, uid, ok := strings.Cut(inSlice, "-pod"); ok {
			return uidOf(strings.ReplaceAll(uid, "_", "-"))
		}
		return ""
	}
	if uid, ok := strings.CutPrefix(name, "pod"); ok {
		return uidOf(uid)
	}
	return ""
}

func uidOf(text string) string {
	if len(text) == uidLength && isHex(strings.ReplaceAll(text, "-", "")) || len(text) == staticLength && isHex(text) {
		return text
	}
	return ""
}

// shortID is how many digits of an id are shown, as docker and crictl do.
const shortID = 12

// Label is what a container is called where there is little room: docker:0123456789ab. "": it is in none.
func (p *Place) Label() string {
	if p.ID == "" {
		return ""
	}
	id := p.ID
	if len(id) == idLength && isHex(id) {
		id = id[:shortID]
	}
	return p.Runtime + ":" + id
}
