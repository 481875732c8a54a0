// Package configfile reads the configuration file of a replica or a command, as often as it
// changes.
package configfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
)

// File is a configuration file. The flags and the environment of the start hold for each reading of
// it.
type File struct {
	Path  string
	Flags []Flag
	Env   func(string) (string, bool)
}

// Flag is a flag that was set on the command line. It overrides the value of the file at the key.
type Flag struct{ Name, Key, Value string }

// Snapshot is the content of the file at one time.
type Snapshot struct {
	text []byte
	err  error             // why there is no text
	Hash [sha256.Size]byte // equal for the same text or error
}

// Load reads the file and returns its configuration. Each error is an *exitcode.ConfigError with
// every fault of the file and of the flags.
func (f *File) Load() (*config.Config, error) { return f.Parse(f.Read()) }

// Read reads the file for the first time.
func (f *File) Read() Snapshot { return newSnapshot(config.Read(f.Path)) }

// Reread reads the file again. The snapshot has an error where the file cannot be read twice.
func (f *File) Reread() Snapshot {
	if err := isFile(f.Path); err != nil {
		return newSnapshot(nil, err)
	}
	return f.Read()
}

// Rereadable reports whether the file can be read again.
func (f *File) Rereadable() bool { return isFile(f.Path) == nil }

// Parse makes a configuration of a snapshot. Errors are as for load.
func (f *File) Parse(s Snapshot) (*config.Config, error) {
	var faults []error
	cfg, err := config.Default(), s.err
	if err == nil {
		cfg, err = config.Parse(f.Path, s.text, f.Env)
	}
	if err != nil {
		faults = append(faults, err)
		cfg = config.Default() // so that faults of the flags are found, too
	}
	for _, v := range f.Flags {
		faults = append(faults, set(cfg, v))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, &exitcode.ConfigError{Err: err}
	}
	cfg.Locate(f.Path)
	return cfg, nil
}

// set sets one value by its flag. Its faults name the flag instead of the key.
func set(cfg *config.Config, v Flag) error {
	err := cfg.Set(v.Key, v.Value)
	if path, ok := cfg.Store.File(); ok && v.Key == "store.url" && err == nil { // from where the command is given, not from the file
		if path, err = filepath.Abs(path); err == nil {
			err = cfg.Set(v.Key, "sqlite:"+path)
		}
	}
	if faults, ok := errors.AsType[config.Errors](err); ok {
		for _, fault := range faults {
			fault.Field = "--" + v.Name
		}
	}
	return err
}

// isFile returns why path cannot be read more than once. Opening a pipe again may block for ever,
// and its content is gone.
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

// inherited reports whether path names a file descriptor that this process inherited. Some systems
// continue to read such a file at its offset, and nobody can replace it.
func inherited(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/")
}

func newSnapshot(text []byte, err error) Snapshot {
	if err != nil {
		return Snapshot{err: err, Hash: sha256.Sum256([]byte("error\x00" + err.Error()))} // no configuration holds U+0000
	}
	return Snapshot{text: text, Hash: sha256.Sum256(text)}
}
