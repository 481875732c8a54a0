package pglease

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/solotick/solotick/internal/sqlstore"
)

//go:embed do.sql
var source string

// function carries out operations. Its name has a digest of its text, so that releases that
// differ in it share a database.
var function = func() (f stored) {
	sum := sha256.Sum256([]byte(source))
	f.name = "solotick_do_" + hex.EncodeToString(sum[:4])
	f.create = strings.Replace(source, "FUNCTION solotick_do(", "FUNCTION "+f.name+"(", 1)
	_, f.body, _ = strings.Cut(source, "$$")
	f.body, _, _ = strings.Cut(f.body, "$$")
	return f
}()

type stored struct{ name, create, body string }

// prepare makes the function where there is none, and checks the one that is there.
func (f stored) prepare(ctx context.Context, db *sql.DB) error {
	var body sql.NullString
	var version int
	err := db.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::integer, (SELECT prosrc FROM pg_proc WHERE oid = to_regproc('"+f.name+"'))").Scan(&version, &body)
	switch {
	case err != nil:
		return err
	case version < oldest:
		return errOld
	case !body.Valid:
		_, err := db.ExecContext(ctx, f.create)
		return err
	case body.String != f.body:
		return fmt.Errorf("%w: function %s", sqlstore.ErrChanged, f.name)
	}
	return nil
}
