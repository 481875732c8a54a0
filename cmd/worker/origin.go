package main

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/config"
)

// origin is where a replica's configuration came from, and comes from again: each time with the flags and the environment
// of the start.
type origin struct {
	file    configFile
	began   reading        // what the file was at the start
	loaded  *config.Config // and what that said, with the flags
	watched bool           // the file can be read again
	parse   func(reading) (*config.Config, error)
	hangups <-chan os.Signal
	level   *slog.LevelVar // of the log
}

// origin loads the configuration, as load does.
func (c *cli) origin(cmd *cobra.Command, hangups <-chan os.Signal) (*origin, error) {
	if err := c.chooseFile(); err != nil {
		return nil, err
	}
	o := &origin{
		file: configFile(c.file), watched: isFile(c.file) == nil, hangups: hangups, level: new(slog.LevelVar),
		parse: func(r reading) (*config.Config, error) { return c.parse(cmd, r.text, r.err) },
	}
	began := readFile(c.file)
	var err error
	if o.loaded, err = o.parse(began); err != nil {
		return nil, err
	}
	o.began.print = began.print // the text is not needed any more
	o.level.Set(o.loaded.Log.Level)
	return o, nil
}

// again reads the file as it is now.
func (o *origin) again() reading {
	if err := isFile(string(o.file)); err != nil {
		return newReading(nil, err)
	}
	return readFile(string(o.file))
}

// isFile says why path cannot be read more than once: to open a pipe again may wait for ever, and it has given away what
// was in it.
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

// inherited reports whether path stands for a file that this process was started with. Some systems go on reading it where
// they were, and nobody could replace it.
func inherited(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/")
}

// reading is what was in the file at one time.
type reading struct {
	text  []byte
	err   error             // why there is none
	print [sha256.Size]byte // the same for the same text or error
}

func readFile(path string) reading { return newReading(config.Read(path)) }

func newReading(text []byte, err error) reading {
	if err != nil {
		return reading{err: err, print: sha256.Sum256([]byte("error\x00" + err.Error()))} // no configuration holds U+0000
	}
	return reading{text: text, print: sha256.Sum256(text)}
}
