package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/configfile"
	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
)

// defaultFile is the configuration without --config.
const defaultFile = "solotick.yaml"

// override is a flag that overrides the value of a key.
type override struct{ flag, key, usage string }

var overrides = []override{
	{"replica", "replica", "`ID` of this replica, unique in the fleet (default: host name and 8 random characters)"},
	{"http", "http.addr", "`ADDR` to serve metrics and health on, host:port; port 0 picks one"},
	{"store", "store.url", "`URL` of where the fleet meets: sqlite:PATH, memory:, redis://HOST:PORT or that of another server"},
	{"redis", "redis.url", "`URL` of the Redis that coordinates the fleet; a password is better kept in the file as ${NAME}"},
	{"namespace", "namespace", "`NS` that the fleet shares"},
	{"max-runs", "max_runs", "`N`, the most weight of jobs that this replica runs at a time; 0: no limit"},
	{"log-format", "log.format", "text or json"},
	{"log-level", "log.level", "debug, info, warn or error"},
}

// load reads the configuration of a command. Errors are as those of [configfile.File.Load].
func (c *cli) load(cmd *cobra.Command) (*config.Config, error) {
	file, err := c.configFile(cmd)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(c.file); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		fmt.Fprintf(c.stderr, "%s is a named pipe: reading what somebody writes to it\n", c.file)
	}
	return file.Load()
}

// File returns the file that --config names, or else the default file, with the flags of cmd that
// override it.
func (c *cli) configFile(cmd *cobra.Command) (*configfile.File, error) {
	if c.file == "" {
		if _, err := os.Stat(defaultFile); errors.Is(err, fs.ErrNotExist) {
			return nil, &exitcode.ConfigError{Err: fmt.Errorf("no configuration: there is no %s here; name a file with --config FILE, "+
				"and see examples/quickstart.yaml for one to begin with", defaultFile)}
		}
		c.file = defaultFile
	}
	file := &configfile.File{Path: c.file, Env: c.env}
	if store, redis := cmd.Flags().Lookup("store"), cmd.Flags().Lookup("redis"); store != nil && store.Changed && redis.Changed {
		return nil, &exitcode.ConfigError{Err: errors.New("--store: cannot be combined with --redis: a fleet meets at one place; keep one of the two")}
	}
	for _, o := range overrides {
		if flag := cmd.Flags().Lookup(o.flag); flag != nil && flag.Changed {
			file.Flags = append(file.Flags, configfile.Flag{Name: o.flag, Key: o.key, Value: flag.Value.String()})
		}
	}
	return file, nil
}

func (c *cli) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the configuration, for editors",
		Long: "schema prints a JSON schema of the configuration file. An editor with a YAML language server completes and checks\n" +
			"a file that begins with the line of the example. validate finds more errors than the schema.",
		Example: `  worker schema > solotick.schema.json
  # yaml-language-server: $schema=solotick.schema.json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(config.Schema())
			return err
		},
	}
}
