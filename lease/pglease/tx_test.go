package pglease_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// The settings of the caller's transaction stay as they are.
func TestTransactionOfTheCallerKeepsItsSettings(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	settings := func() (list [3]string) {
		for i, name := range []string{"lock_timeout", "tcp_user_timeout", "idle_in_transaction_session_timeout"} {
			require.NoError(t, tx.QueryRowContext(t.Context(), "SHOW "+name).Scan(&list[i]))
		}
		return list
	}
	before := settings()
	put := protocol.Put{Name: "job/a", Revision: "r", Schedule: "UTC @hourly", After: 1}
	answers, err := open(t, dsn).InTx(tx).PutSchedules(t.Context(), []protocol.Put{put})
	require.NoError(t, err)
	require.Equal(t, protocol.PutAnswer{Status: protocol.PutCreated}, answers[0])
	require.Equal(t, before, settings())
}
