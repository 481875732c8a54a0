// Command overlay writes into a directory what `go build -overlay` needs to build a program whose
// wall clock a test can set, and prints the overlay's path: see package skewtest.
package main

import (
	"fmt"
	"os"

	"github.com/solotick/solotick/internal/skewtest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: overlay DIRECTORY")
		os.Exit(2)
	}
	path, err := skewtest.Overlay(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
