package natstest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// find returns the program: bin/nats-server of this module, which `make deps` builds, or the one on
// the PATH.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			binary := filepath.Join(dir, "bin", "nats-server")
			if _, err := os.Stat(binary); err == nil {
				return binary, nil
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if found, err := exec.LookPath("nats-server"); err == nil {
		return found, nil
	}
	return "", errors.New("this test needs nats-server: run `make deps`")
}
