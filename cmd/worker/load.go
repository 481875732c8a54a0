package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/config"
)

// defaultFile is read when no file is named.
const defaultFile = "solotick.yaml"

// override is a flag that wins over a value of the file.
type override struct{ flag, path, usage string }

var overrides = []override{
	{"replica", "replica", "`ID` of this replica, unique in the fleet (default: host name and 8 random characters)"},
	{"http", "http.addr", "`ADDR` to serve metrics and health on, host:port; port 0 picks one"},
	{"redis", "redis.url", "`URL` of the Redis that coordinates the fleet; a password is better kept in the file as ${NAME}"},
	{"namespace", "namespace", "`NS` that the fleet shares"},
	{"max-runs", "max_runs", "`N`, the most weight of jobs that this replica runs at a time; 0: no limit"},
	{"log-format", "log.format", "text or json"},
	{"log-level", "log.level", "debug, info, warn or error"},
}

// load reads the configuration, with what the flags of cmd override. The error is a *configError with every fault of the
// file and of the flags.
func (c *cli) load(cmd *cobra.Command) (*config.Config, error) {
	if err := c.chooseFile(); err != nil {
		return nil, err
	}
	text, err := config.Read(c.file)
	return c.parse(cmd, text, err)
}

func (c *cli) chooseFile() error {
	if c.file != "" {
		return nil
	}
	if _, err := os.Stat(defaultFile); errors.Is(err, fs.ErrNotExist) {
		return &configError{fmt.Errorf("no configuration: there is no %s here; name a file with --config FILE, "+
			"and see examples/quickstart.yaml for one to begin with", defaultFile)}
	}
	c.file = defaultFile
	return nil
}

// parse makes a configuration of the file's text, or reports why it could not be read, as load does.
func (c *cli) parse(cmd *cobra.Command, text []byte, readErr error) (*config.Config, error) {
	var faults []error
	cfg, err := config.Default(), readErr
	if err == nil {
		cfg, err = config.Parse(c.file, text, c.env)
	}
	if err != nil {
		faults = append(faults, err)
		cfg = config.Default() // to find what is wrong with the flags, too
	}
	for _, o := range overrides {
		if flag := cmd.Flags().Lookup(o.flag); flag != nil && flag.Changed {
			faults = append(faults, set(cfg, o, flag.Value.String()))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, &configError{err}
	}
	return cfg, nil
}

// set sets one value by its flag, which is what faults name.
func set(cfg *config.Config, o override, text string) error {
	err := cfg.Set(o.path, text)
	if faults, ok := errors.AsType[config.Errors](err); ok {
		for _, fault := range faults {
			fault.Field = "--" + o.flag
		}
	}
	return err
}
