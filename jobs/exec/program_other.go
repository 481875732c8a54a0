//go:build unix && !linux

package exec

import "os"

func thisProgram() (string, error) { return os.Executable() }
