package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/jobs"
)

// byFlag adds the flag that names the caller.
func (c *cli) byFlag(cmd *cobra.Command, by *string) {
	cmd.Flags().StringVar(by, "by", "", "`NAME` of the caller, for the history (default: user and host)")
}

// by returns the caller: the value of --by, or else user and host.
func (c *cli) by(name string) (string, error) {
	if name != "" {
		if !jobs.ValidName(name) {
			return "", fmt.Errorf("--by: %q %s", name, jobs.NameRule)
		}
		return name, nil
	}
	who, _ := c.env("USER")
	if who == "" {
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
	}
	host, _ := os.Hostname()
	return caller(who, host), nil
}

// caller returns a name for a user on a host. Names cannot contain an at sign.
func caller(user, host string) string {
	clean := strings.Map(func(r rune) rune {
		if jobs.ValidName("x" + string(r)) {
			return r
		}
		return '-'
	}, cmp.Or(user, "somebody")+"-at-"+cmp.Or(host, "some-host"))
	clean = strings.TrimLeft(clean, "._-")
	return clean[:min(len(clean), 128)]
}
