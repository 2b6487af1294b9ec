package cli

import (
	"io/fs"
	"os"
)

// noFollow is nothing here: opening a device by its name follows no link.
const noFollow = 0

func replaceable(string, fs.FileInfo) error { return nil }

func giveToSudoUser(*os.File) error { return nil }
