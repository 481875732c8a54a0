package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/internal/redisadvice"
)

// The fields are those that Valkey 8.0 returns.
func TestDoctorReadsWhatValkeySays(t *testing.T) {
	const info = "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\nserver_mode:cluster\r\n# Cluster\r\ncluster_enabled:1\r\n"
	srv := &server{info: redisadvice.Fields(info), store: &stores.Store{Connection: new(stores.Connection)}}
	require.Equal(t, "Valkey 8.0.1", srv.version().Finding)
	require.Equal(t, OK, srv.version().Result)
	require.Equal(t, Fail, srv.mode().Result)
	require.Contains(t, srv.mode().Change, "cluster: true instead of url")
}
