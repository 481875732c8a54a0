// Command walk generates the walks in docs/reading.md: tables of the functions that run because of
// one tick, one renewal or one reload. For each walk, a test of this package runs a replica in
// virtual time with that event and without it. The table lists the functions that have statements
// which run only with the event. Notes on files are written by hand, and files with notes come first.
//
//	go run ./internal/walk          # fails if the page is out of date
//	go run ./internal/walk -write   # updates the page
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
)

const page = "docs/reading.md"

// section is a walk in the page: the name of its test, and a table.
var section = regexp.MustCompile(`(?s)<!-- walk: (\w+) -->\n.*?<!-- end -->`)

func main() {
	write := flag.Bool("write", false, "write the walks into "+page)
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

func run(write bool) error {
	before, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := build(dir); err != nil {
		return err
	}
	faults := []error{}
	now := section.ReplaceAllFunc(before, func(old []byte) []byte {
		name := string(section.FindSubmatch(old)[1])
		blocks, err := only(dir, "Test"+name)
		if err == nil {
			old, err = table(name, string(old), blocks)
		}
		faults = append(faults, err)
		return old
	})
	switch err := errors.Join(faults...); {
	case err != nil:
		return err
	case len(faults) == 0:
		return errors.New(page + " has no walk")
	case write:
		return os.WriteFile(page, now, 0o644) //nolint:gosec // part of the repository
	case !bytes.Equal(now, before):
		return errors.New("the code takes other walks than those in " + page + ": make reading writes them")
	}
	return nil
}
