// Package container derives container, pod and unit from the path of a cgroup: the managers of containers encode them in it. It is a table
// of patterns and pure functions; no container manager is queried, so it works for containers that ended long ago.
package container
