//go:build !linux

package symbolize

import "errors"

func readVDSO() ([]byte, error) { return nil, errors.New("only Linux has it") }
