// Package skewtest makes wall clocks wrong. A Go program gets one by how it is built, by a duration
// or a file that the environment names; a server in C by a library that is loaded before its own.
// Such a library does not reach Go, which makes no call that it could replace.
package skewtest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Variable is the environment variable that says by how much the wall clock is off, as 300ms or
// -1m.
const Variable = "SOLOTICK_TEST_SKEW"

//go:embed skewed.go.txt
var skewed []byte

// Overlay writes into dir what `go build -overlay` needs, and returns the overlay's path. In a
// program that is built with it, time.Now adds the duration of [Variable] to the wall clock, or that
// of a [Clock], and leaves the monotonic clock as it is.
func Overlay(dir string) (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	in := func(name string) string {
		return filepath.Join(strings.TrimSpace(string(root)), "src", "time", name)
	}
	changed, err := skew(in("time.go"))
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for name, text := range map[string][]byte{"time.go": changed, "skewed.go": skewed} {
		replaced[in(name)] = filepath.Join(dir, name)
		if err := os.WriteFile(replaced[in(name)], text, 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// skew returns the source of package time with a time.Now that calls skewed. It is the only
// function that reads the wall clock: otherwise there is an error.
func skew(path string) ([]byte, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	before, after, found := strings.Cut(string(source), reading)
	if !found || strings.Contains(after, "runtimeNow()") {
		return nil, fmt.Errorf("%s: time.Now does not read as expected; adapt package skewtest", path)
	}
	return []byte(before + reading + "\tsec, nsec = skewed(sec, nsec)\n" + after), nil
}
