package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// actFlags adds the flags that say who asks for something, and why.
func actFlags(cmd *cobra.Command, act *fleet.Act) {
	cmd.Flags().StringVar(&act.By, "by", "", "`NAME` of the caller, for history and audit (default: user and host)")
	cmd.Flags().StringVar(&act.Reason, "reason", "", "`TEXT`: why, for why and audit")
}

// act completes what the flags say.
func (c *cli) act(act fleet.Act) (fleet.Act, error) {
	by, err := c.by(act.By)
	if len(act.Reason) > protocol.MaxReason {
		err = errors.Join(err, fmt.Errorf("--reason: has %d bytes, must have at most %d", len(act.Reason), protocol.MaxReason))
	}
	return fleet.Act{By: by, Reason: act.Reason, Via: wire.ViaCLI}, err
}

// by returns the caller: the value of --by, or else user and host.
func (c *cli) by(name string) (string, error) {
	if name != "" {
		if !naming.Valid(name) {
			return "", fmt.Errorf("--by: %q %s", name, naming.Rule)
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
		if naming.Valid("x" + string(r)) {
			return r
		}
		return '-'
	}, cmp.Or(user, "somebody")+"-at-"+cmp.Or(host, "some-host"))
	clean = strings.TrimLeft(clean, "._-")
	return clean[:min(len(clean), 128)]
}
