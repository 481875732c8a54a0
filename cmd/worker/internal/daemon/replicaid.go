package daemon

import (
	"strings"

	"github.com/google/uuid"
)

// replicaID returns an id for a replica on a host. It has the characters of the host name that ids
// may have, and 8 random ones, so that each start has its own.
func replicaID(host string) string {
	const suffix, maxLength = 8, 128
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, host)
	clean = strings.TrimLeft(clean, "._-")
	clean = strings.TrimRight(clean[:min(len(clean), maxLength-1-suffix)], "._-")
	if clean == "" {
		clean = "replica"
	}
	return clean + "-" + uuid.NewString()[:suffix]
}
