package redislease

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

// permanently are beginnings of errors that the same command gets until somebody changes the
// server's users, the client's options, or the key. READONLY, LOADING, CLUSTERDOWN, MASTERDOWN,
// OOM, MISCONF and the like pass.
//
// NOAUTH and WRONGPASS are among them. A server reads its users before it asks for a password, so
// neither a start nor a failover between servers of the same users causes them.
var permanently = []string{
	"NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE",
	"ERR Protocol error: unauthenticated", // NOAUTH, to a command of more than ten words
	"ERR AUTH", "ERR invalid password", "ERR DB index", "ERR unknown command", "ERR Error compiling script",
	"ERR The user executing the script", "ERR ACL failure in script", // NOPERM in a script: of Redis 7.0; of Valkey 8.0
}

// classified returns err. The result matches lease.ErrPermanent if a retry cannot succeed.
func classified(err error) error {
	if errors.Is(err, redis.ErrClosed) {
		return protocol.Permanent(err)
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) {
		return protocol.Permanent(err)
	}
	message := err.Error()
	for _, beginning := range permanently {
		if strings.HasPrefix(message, beginning) {
			return protocol.Permanent(err)
		}
	}
	return err
}
