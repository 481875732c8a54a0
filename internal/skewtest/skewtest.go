// Package skewtest makes wall clocks wrong. A Go program gets one by how it is built, by a duration
// that the environment names; a server in C by a library that is loaded before its own. Such a
// library does not reach Go, which makes no call that it could replace.
package skewtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Variable is the environment variable that says by how much the wall clock is off, as 300ms or
// -1m.
const Variable = "SOLOTICK_TEST_SKEW"

// Overlay writes into dir what `go build -overlay` needs, and returns the overlay's path. In a
// program that is built with it, time.Now adds the duration of [Variable] to the wall clock, and
// leaves the monotonic clock as it is.
func Overlay(dir string) (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	path := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	const reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !bytes.Contains(source, []byte(reading)) {
		return "", fmt.Errorf("%s: time.Now does not read as expected; adapt package skewtest", path)
	}
	const skewing = reading + `	sec, nsec = skewed(sec, nsec)
`
	const skewed = `
var skew = sync.OnceValue(func() int64 {
	s, _ := syscall.Getenv("` + Variable + `")
	d, _ := ParseDuration(s)
	return int64(d)
})

func skewed(sec int64, nsec int32) (int64, int32) {
	n := int64(nsec) + skew()
	sec += n / 1e9
	if n %= 1e9; n < 0 {
		n += 1e9
		sec--
	}
	return sec, int32(n)
}
`
	changed := strings.Replace(string(source), reading, skewing, 1) + skewed
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"sync\"\n\t\"syscall\"\n", 1)
	replacement := filepath.Join(dir, "time.go")
	if err := os.WriteFile(replacement, []byte(changed), 0o600); err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, path, replacement), 0o600)
}
