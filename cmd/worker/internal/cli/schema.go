package cli

import (
	"github.com/spf13/cobra"

	"github.com/solotick/solotick/config"
)

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
