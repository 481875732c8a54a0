package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// times is how often each test runs. Waits and selects are random, and a block of statements is on
// a walk when it runs each time with what the test is about, and never without.
const times = 16

// build compiles the tests of this package so that the statements of what they import are counted.
func build(dir string) error {
	packages, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", //nolint:noctx // ends with this program
		"./scheduler", "./lease/memlease").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	return start("go", "test", "-c", "-coverpkg="+strings.Join(strings.Fields(string(packages)), ","), "-o", filepath.Join(dir, "tests"), "./internal/walk")
}

// only returns the blocks on the walk of a test, as the profile names them: file.go:1.2,3.4.
func only(dir, test string) (map[string]bool, error) {
	with, err := cover(dir, test+"$/^with$", 1)
	for i := 1; i < times && err == nil; i++ {
		var again map[string]bool
		again, err = cover(dir, test+"$/^with$", 1)
		maps.DeleteFunc(with, func(block string, _ bool) bool { return !again[block] })
	}
	if err != nil {
		return nil, err
	}
	without, err := cover(dir, test+"$/^without$", times)
	maps.DeleteFunc(with, func(block string, _ bool) bool { return without[block] })
	return with, err
}

// cover returns the blocks that run in a test.
func cover(dir, test string, count int) (map[string]bool, error) {
	profile := filepath.Join(dir, "profile")
	if err := start(filepath.Join(dir, "tests"), "-test.run=^"+test, fmt.Sprint("-test.count=", count), "-test.coverprofile="+profile); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(profile)
	ran := map[string]bool{}
	for line := range strings.Lines(string(text)) { // block, number of statements, whether they ran
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] != "0" {
			ran[fields[0]] = true
		}
	}
	return ran, err
}

// start runs a program. On one processor, goroutines run in the same order each time.
func start(name string, args ...string) error {
	c := exec.Command(name, args...) //nolint:noctx // ends with this program
	if c.Env = os.Environ(); name != "go" {
		c.Env = append(c.Env, "GOMAXPROCS=1", "GOGC=off")
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return nil
}
