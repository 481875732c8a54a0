package daemon

import (
	"strings"

	"github.com/google/uuid"
)

// replicaID makes up an id for a replica on a host: its name, as far as that can be part of one, and 8 characters of a
// UUID, so that a restarted replica is another one.
func replicaID(host string) string {
	const suffix, most = 8, 128
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, host)
	clean = strings.TrimLeft(clean, "._-")
	clean = strings.TrimRight(clean[:min(len(clean), most-1-suffix)], "._-")
	if clean == "" {
		clean = "replica"
	}
	return clean + "-" + uuid.NewString()[:suffix]
}
