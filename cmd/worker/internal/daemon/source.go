package daemon

import (
	"log/slog"
	"os"

	"github.com/solotick/solotick/cmd/worker/internal/configfile"
	"github.com/solotick/solotick/config"
)

// source has the configuration of a running replica, and where its changes come from.
type source struct {
	file    *configfile.File
	hash    [32]byte       // of the file at the start
	loaded  *config.Config // at the start, with the values of flags
	watched bool           // the file can be read again
	hangups <-chan os.Signal
	level   *slog.LevelVar // of the log
}

// loadSource reads the configuration for the first time. Errors are those of
// [configfile.File.Load].
func loadSource(file *configfile.File, hangups <-chan os.Signal) (*source, error) {
	s := &source{file: file, watched: file.Rereadable(), hangups: hangups, level: new(slog.LevelVar)}
	began := file.Read()
	var err error
	if s.loaded, err = file.Parse(began); err != nil {
		return nil, err
	}
	s.hash = began.Hash
	s.level.Set(s.loaded.Log.Level)
	return s, nil
}
