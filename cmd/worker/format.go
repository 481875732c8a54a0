package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// output is what a command prints: text or json.
type output string

const (
	asText output = "text"
	asJSON output = "json"
)

func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(o), "output", string(asText), "text or json")
}

func (o output) check() error {
	if o != asText && o != asJSON {
		return fmt.Errorf("--output: %q must be text or json", string(o))
	}
	return nil
}

// printJSON prints v on several lines.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
