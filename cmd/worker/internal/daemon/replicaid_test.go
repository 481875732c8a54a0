package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/naming"
)

func TestReplicaIDsAreValidAndDiffer(t *testing.T) {
	for host, prefix := range map[string]string{
		"web-1":                         "web-1-",
		"web-1.example.com":             "web-1.example.com-",
		"":                              "replica-",
		"-.-":                           "replica-",
		"my laptop (old)":               "my-laptop--old-",
		"größe":                         "gr--e-",
		strings.Repeat("x", 200):        strings.Repeat("x", 119) + "-",
		strings.Repeat("é", 200):        "replica-",
		"_host_":                        "host-",
		strings.Repeat("x", 118) + "-y": strings.Repeat("x", 118) + "-",
	} {
		t.Run(fmt.Sprintf("%.20q", host), func(t *testing.T) {
			id := replicaID(host)
			require.True(t, naming.Valid(id), id)
			require.Equal(t, prefix, id[:len(id)-8])
			require.NotEqual(t, id, replicaID(host))
		})
	}
}
