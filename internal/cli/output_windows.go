package cli

import "os"

func giveToSudoUser(*os.File) error { return nil }
