package pytrace

import (
	"bytes"
	"fmt"
	"regexp"
)

// torchLayout is what the headers of a release of PyTorch say of its classes: offsets in bytes.
type torchLayout struct {
	scope, sequence, inputs, forward uint64 // in at::RecordFunction
	sizes, sizePolicy                uint64 // in c10::TensorImpl
	policyMask                       uint64 // bits of the 16 at sizePolicy with which the sizes are not plain numbers
	// name is how the code of at::RecordFunction::name() begins, which has offsets of what lies before sequence: a build with
	// another standard library has other ones.
	name []byte
}

// torchLayouts returns the releases that are known: ATen/record_function.h, c10/core/TensorImpl.h.
func torchLayouts() map[string]torchLayout {
	return map[string]torchLayout{
		"2.15": {
			scope: 96, sequence: 200, inputs: 208, forward: 304, sizes: 56, sizePolicy: 166, policyMask: 0x187c,
			// cmpb $0, 192(%rdi); mov 160(%rdi), %rax
			name: []byte{0x80, 0xbf, 0xc0, 0, 0, 0, 0, 0x48, 0x8b, 0x87, 0xa0, 0, 0, 0},
		},
	}
}

// torchVersion reads the version, as 2.15.0, and what its layout is called from the text of torch/version.py.
func torchVersion(text []byte) (version, release string, err error) {
	m := regexp.MustCompile(`(?m)^__version__ = '((\d+\.\d+)[\w.+-]*)'`).FindSubmatch(text)
	if m == nil {
		return "", "", fmt.Errorf("the version of its PyTorch is not known")
	}
	return string(m[1]), string(m[2]), nil
}

// torchLayoutOf returns the layout of the release that the text of torch/version.py says.
func torchLayoutOf(text []byte) (torchLayout, error) {
	version, release, err := torchVersion(text)
	if err != nil {
		return torchLayout{}, err
	}
	l, ok := torchLayouts()[release]
	if !ok {
		return l, fmt.Errorf("operators of PyTorch %s cannot be recorded yet: it takes 2.15", version)
	}
	return l, nil
}

// isBuilt reports whether a build has the layout, by the code of at::RecordFunction::name().
func (l *torchLayout) isBuilt(code []byte) bool { return bytes.HasPrefix(code, l.name) }
