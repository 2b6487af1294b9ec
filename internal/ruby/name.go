package ruby

import "strings"

// FunctionName returns the name of a method or block with the file that it is in, without folders: labels have no classes.
func FunctionName(file, label string) string {
	if label == "" {
		return "[ruby?]"
	}
	if file == "" || strings.HasPrefix(file, "(") { // (eval)
		return label
	}
	name := file[strings.LastIndexByte(file, '/')+1:]
	return strings.TrimSuffix(name, ".rb") + "." + label
}
