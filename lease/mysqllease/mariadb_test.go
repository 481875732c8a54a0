package mysqllease_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
)

func TestMariaDBKeepsCommitsOverKills(t *testing.T) {
	s, err := dbtest.MariaDB(answers)
	require.NoError(t, err)
	db, err := sql.Open("mysql", "root@tcp("+s.Addr+")/?parseTime=true")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, query := range []string{"CREATE DATABASE a", "CREATE TABLE a.b (c INT)", "INSERT INTO a.b VALUES (7)"} {
		_, err = db.ExecContext(t.Context(), query)
		require.NoError(t, err, query)
	}

	require.NoError(t, s.Freeze())
	frozen, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, db.PingContext(frozen), "a frozen server answers nothing")
	require.NoError(t, s.Thaw())
	s.Kill()
	require.Error(t, db.PingContext(t.Context()), "a killed server answers nothing")
	require.NoError(t, s.Restart())

	var kept int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT c FROM a.b").Scan(&kept))
	require.Equal(t, 7, kept)
	require.NoError(t, s.SetClock(-24*time.Hour))
	var now time.Time
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT UTC_TIMESTAMP(6)").Scan(&now))
	require.InDelta(t, -24, time.Until(now).Hours(), 1)
}
