package python

import "strings"

// FunctionName returns the name of a function with its module, which is that of its file: a frame does not hold its own.
func FunctionName(file, qualname string) string {
	if module := Module(file); module != "" {
		return module + "." + qualname
	}
	return qualname
}

// Module returns the module of a source file: its path from the folder of libraries on, or only its own name; "": the code is of no file.
func Module(file string) string {
	if name, ok := strings.CutPrefix(file, "<frozen "); ok {
		return strings.TrimSuffix(name, ">")
	}
	path, ok := strings.CutSuffix(file, ".py")
	if !ok {
		return ""
	}
	if _, after, ok := cutLast(path, "/site-packages/", "/dist-packages/"); ok {
		path = after
	} else if at := strings.LastIndex(path, "/lib/python3"); at >= 0 {
		_, path, _ = strings.Cut(path[at+len("/lib/"):], "/")
	} else {
		path = path[strings.LastIndexByte(strings.TrimSuffix(path, "/__init__"), '/')+1:]
	}
	return strings.ReplaceAll(strings.TrimSuffix(path, "/__init__"), "/", ".")
}

// cutLast cuts a path at the last of some folders.
func cutLast(path string, folders ...string) (before, after string, ok bool) {
	for _, folder := range folders {
		if at := strings.LastIndex(path, folder); at >= 0 {
			return path[:at], path[at+len(folder):], true
		}
	}
	return path, "", false
}
