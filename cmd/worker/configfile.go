// Package configfile reads the configuration file of a replica or a command, as often as it changes.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/solotick/solotick/config"
)

// configFile is a configuration file. The flags and the environment of the start hold for each reading of it.
type configFile struct {
	path  string
	flags []flagValue
	env   func(string) (string, bool)
}

// flagValue is a flag that was set on the command line. It overrides the value of the file at the key.
type flagValue struct{ flag, key, value string }

// snapshot is the content of the file at one time.
type snapshot struct {
	text []byte
	err  error             // why there is no text
	hash [sha256.Size]byte // equal for the same text or error
}

// load reads the file and returns its configuration. Each error is an *exitcode.ConfigError with every fault of the file and
// of the flags.
func (f *configFile) load() (*config.Config, error) { return f.parse(f.read()) }

// read reads the file for the first time.
func (f *configFile) read() snapshot { return newSnapshot(config.Read(f.path)) }

// reread reads the file again. The snapshot has an error where the file cannot be read twice.
func (f *configFile) reread() snapshot {
	if err := isFile(f.path); err != nil {
		return newSnapshot(nil, err)
	}
	return f.read()
}

// rereadable reports whether the file can be read again.
func (f *configFile) rereadable() bool { return isFile(f.path) == nil }

// parse makes a configuration of a snapshot. Errors are as for load.
func (f *configFile) parse(s snapshot) (*config.Config, error) {
	var faults []error
	cfg, err := config.Default(), s.err
	if err == nil {
		cfg, err = config.Parse(f.path, s.text, f.env)
	}
	if err != nil {
		faults = append(faults, err)
		cfg = config.Default() // so that faults of the flags are found, too
	}
	for _, v := range f.flags {
		faults = append(faults, set(cfg, v))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, &configError{err: err}
	}
	return cfg, nil
}

// set sets one value by its flag. Its faults name the flag instead of the key.
func set(cfg *config.Config, v flagValue) error {
	err := cfg.Set(v.key, v.value)
	if faults, ok := errors.AsType[config.Errors](err); ok {
		for _, fault := range faults {
			fault.Field = "--" + v.flag
		}
	}
	return err
}

// isFile returns why path cannot be read more than once. Opening a pipe again may block for ever, and its content is gone.
func isFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("read configuration: %w", err)
	case !info.Mode().IsRegular(), inherited(path):
		return fmt.Errorf("read configuration: %s is not a file, so it cannot be read again; restart the worker instead", path)
	}
	return nil
}

// inherited reports whether path names a file descriptor that this process inherited. Some systems continue to read such a
// file at its offset, and nobody can replace it.
func inherited(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/")
}

func newSnapshot(text []byte, err error) snapshot {
	if err != nil {
		return snapshot{err: err, hash: sha256.Sum256([]byte("error\x00" + err.Error()))} // no configuration holds U+0000
	}
	return snapshot{text: text, hash: sha256.Sum256(text)}
}
