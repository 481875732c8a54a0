package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"

	"github.com/solotick/solotick/internal/proctest"
)

// PostgresStandby starts a standby of the PostgreSQL at an address, with all that it has.
func PostgresStandby(primary string, ping func(ctx context.Context, dir string) error, settings ...string) (*Server, error) {
	host, port, err := net.SplitHostPort(primary)
	if err != nil {
		return nil, err
	}
	return PostgresFrom(func(dir string) (*exec.Cmd, error) {
		binary, err := PostgresProgram("pg_basebackup")
		return exec.Command(binary, "-D", filepath.Join(dir, "data"), "-h", host, "-p", port, "-U", "test",
			"-R", "-X", "stream", "--checkpoint=fast", "--no-sync"), err
	}, ping, settings...)
}

// MariaDBPrimary starts the primary of a pair with semi-synchronous replication: what it answers, and
// shows to others, the replica has. Without the replica it answers no write. A pair is of the MariaDB
// that is installed.
func MariaDBPrimary(ping func(ctx context.Context, dir string) error) (*Server, error) {
	return ofPair().start(ping, "--server-id=1", "--log-bin=log", "--rpl-semi-sync-master-enabled=ON",
		"--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-master-timeout=86400000")
}

// MariaDBReplica starts the replica, which is read-only.
func MariaDBReplica(ping func(ctx context.Context, dir string) error) (*Server, error) {
	return ofPair().start(ping, "--server-id=2", "--log-bin=log", "--rpl-semi-sync-slave-enabled=ON", "--read-only")
}

func ofPair() kind {
	if proctest.Other("MYSQL") == "" {
		return chosen
	}
	return installed
}

// FollowMariaDB has a replica follow the primary at an address from its first write on.
func FollowMariaDB(ctx context.Context, replica *sql.DB, primary string) error {
	host, port, err := net.SplitHostPort(primary)
	if err != nil {
		return err
	}
	_, err = replica.ExecContext(ctx, "CHANGE MASTER TO MASTER_HOST='"+host+"', MASTER_PORT="+port+", MASTER_USER='root', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos")
	if err == nil {
		_, err = replica.ExecContext(ctx, "START SLAVE")
	}
	return err
}

// PromoteMariaDB makes a replica the primary, with all that it has received.
func PromoteMariaDB(ctx context.Context, replica *sql.DB) error {
	_, err := replica.ExecContext(ctx, "STOP SLAVE IO_THREAD")
	if err != nil {
		return err
	}
	received, err := status(ctx, replica, "Gtid_IO_Pos")
	if err != nil {
		return err
	}
	var late int
	if err := replica.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT('"+received+"', 60)").Scan(&late); err != nil || late != 0 {
		return fmt.Errorf("the replica has not applied %s: %w", received, err)
	}
	for _, statement := range []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF"} {
		if _, err := replica.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// status returns a column of what a replica says of its replication.
func status(ctx context.Context, replica *sql.DB, name string) (string, error) {
	rows, err := replica.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values := make([]sql.NullString, len(columns))
	to := make([]any, len(columns))
	for i := range to {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return "", err
		}
	}
	for i, column := range columns {
		if column == name {
			return values[i].String, rows.Err()
		}
	}
	return "", fmt.Errorf("no replica: %w", rows.Err())
}
