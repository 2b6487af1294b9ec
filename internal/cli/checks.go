package cli

import (
	"fmt"
	"os"
)

// CheckFolder checks a flag's value that is a folder to read from.
func CheckFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	return nil
}
