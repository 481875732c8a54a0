package output

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Colours reports whether w is a terminal that shows colours. NO_COLOR in the environment prevents it.
func Colours(w io.Writer, env func(string) (string, bool)) bool {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	value, _ := env("NO_COLOR")
	return value == ""
}
