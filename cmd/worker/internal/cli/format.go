package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
)

// format is the output format of a command: text or json.
type format string

const (
	asText format = "text"
	asJSON format = "json"
)

func (o *format) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(o), "output", string(asText), "text or json")
}

func (o format) check() error {
	if o != asText && o != asJSON {
		return fmt.Errorf("--output: %q must be text or json", string(o))
	}
	return nil
}

// writeJSON prints v on several lines.
func writeJSON(w io.Writer, v any) error {
	text, err := fleet.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, append(text, '\n'), "", "  "); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}
