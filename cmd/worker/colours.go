package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// wantsColours reports whether w is a terminal that shows colours. NO_COLOR in the environment prevents it.
func wantsColours(w io.Writer, env func(string) (string, bool)) bool {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	value, _ := env("NO_COLOR")
	return value == ""
}
