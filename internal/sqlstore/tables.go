package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// prepare makes the tables where there are none, brings older ones up to date, and checks those that
// are there. Any number of processes may do so at once.
func (db *database) prepare(ctx context.Context) error {
	db.ready.Lock()
	defer db.ready.Unlock()
	if db.tables {
		return nil
	}
	version, err := db.version(ctx, db.DB, "")
	if err == nil && version < len(db.Migrations) {
		err = db.migrate(ctx)
	}
	if err == nil {
		err = db.check(ctx)
	}
	if err == nil && db.Prepare != nil {
		err = db.Prepare(ctx, db.DB)
	}
	db.tables = err == nil
	return err
}

// forget has the next call look for the tables again.
func (db *database) forget() {
	db.ready.Lock()
	defer db.ready.Unlock()
	db.tables = false
}

// version returns the version of the tables, 0 when there are none.
func (db *database) version(ctx context.Context, q Querier, lock string) (version int, err error) {
	_, err = db.one(ctx, q, "SELECT version FROM solotick_store WHERE one = 1"+lock, &version)
	switch {
	case err != nil && db.Missing(err):
		return 0, nil
	case err == nil && version > len(db.Migrations):
		return 0, fmt.Errorf("%w: they have version %d, and this release knows %d", errNewer, version, len(db.Migrations))
	}
	return version, err
}

// migrate brings the tables up to date. Processes that do so at once wait for each other where the
// database has its tables within transactions, at the latest at the row of solotick_store.
func (db *database) migrate(ctx context.Context) error {
	for {
		done := false
		err := db.within(ctx, func(tx *sql.Tx) error {
			version, err := db.versionLocked(ctx, tx)
			if err != nil {
				return err
			}
			if done = version == len(db.Migrations); done {
				return nil
			}
			for statement := range strings.SplitSeq(db.Migrations[version], ";\n") {
				if statement = strings.TrimSpace(statement); statement == "" {
					continue
				}
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("version %d of the tables: %w", version+1, err)
				}
			}
			if version > 0 {
				err = db.exec(ctx, tx, "UPDATE solotick_store SET version = ? WHERE one = 1 AND version = ?", version+1, version)
				return err
			}
			err = db.exec(ctx, tx, "INSERT INTO solotick_store (one, version, since, floor) VALUES (1, 1, "+db.Now+", 0)")
			return err
		})
		if err != nil || done {
			return err
		}
	}
}

// versionLocked returns the version, and has others wait who want to change it.
func (db *database) versionLocked(ctx context.Context, tx *sql.Tx) (int, error) {
	there, column := false, ""
	err := db.each(ctx, tx, db.Columns, nil, []any{&column}, func() error {
		there = there || strings.HasPrefix(column, "solotick_store ")
		return nil
	})
	if err != nil || !there {
		return 0, err
	}
	return db.version(ctx, tx, " FOR UPDATE")
}

// check looks whether the tables are those of this release.
func (db *database) check(ctx context.Context) error {
	want := strings.Split(strings.TrimSpace(db.Tables), "\n")
	var column string
	err := db.each(ctx, db.DB, db.Columns, nil, []any{&column}, func() error {
		i := slices.Index(want, column)
		if i < 0 {
			return fmt.Errorf("%w: %s is not expected", ErrChanged, column)
		}
		want = slices.Delete(want, i, i+1)
		return nil
	})
	if err == nil && len(want) > 0 {
		return fmt.Errorf("%w: %s is missing", ErrChanged, want[0])
	}
	return err
}
