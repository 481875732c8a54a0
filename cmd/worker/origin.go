package main

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// fixed returns the keys of the settings in which two configurations differ, and which a running worker does not change.
func fixed(a, b *config.Config) (keys []string) {
	differ := func(key string, yes bool) {
		if yes {
			keys = append(keys, key)
		}
	}
	differ("namespace", a.Namespace != b.Namespace)
	differ("replica", a.Replica != b.Replica)
	differ("groups", !slices.Equal(a.Groups, b.Groups))
	differ("max_runs", a.MaxRuns != b.MaxRuns)
	secret := func(a, b config.Secret) bool { return a.Reveal() != b.Reveal() }
	differ("redis.url", secret(a.Redis.URL, b.Redis.URL))
	differ("redis.addrs", !slices.Equal(a.Redis.Addrs, b.Redis.Addrs))
	differ("redis.cluster", a.Redis.Cluster != b.Redis.Cluster)
	differ("redis.master", a.Redis.Master != b.Redis.Master)
	differ("redis.quorum", !slices.EqualFunc(a.Redis.Quorum, b.Redis.Quorum, func(a, b config.Secret) bool { return !secret(a, b) }))
	differ("redis.username", a.Redis.Username != b.Redis.Username)
	differ("redis.password", secret(a.Redis.Password, b.Redis.Password))
	differ("redis.database", a.Redis.Database != b.Redis.Database)
	differ("redis.sentinel_username", a.Redis.SentinelUsername != b.Redis.SentinelUsername)
	differ("redis.sentinel_password", secret(a.Redis.SentinelPassword, b.Redis.SentinelPassword))
	differ("redis.tls", (a.Redis.TLS == nil) != (b.Redis.TLS == nil) || a.Redis.TLS != nil && *a.Redis.TLS != *b.Redis.TLS)
	differ("redis.wait_replicas", a.Redis.WaitReplicas != b.Redis.WaitReplicas)
	differ("redis.failover_grace", a.Redis.FailoverGrace != b.Redis.FailoverGrace)
	differ("lease.ttl", a.Lease != b.Lease)
	differ("http.addr", a.HTTP != b.HTTP)
	differ("shutdown_grace", a.ShutdownGrace != b.ShutdownGrace)
	differ("log.format", a.Log.Format != b.Log.Format)
	return keys
}
