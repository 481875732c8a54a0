package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/sqlfence"
	"github.com/solotick/solotick/jobs"
)

func ExampleTable_Schema() {
	table, err := sqlfence.NewTable(sqlfence.PostgreSQL, sqlfence.DefaultName)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Schema())
	// Output: CREATE TABLE IF NOT EXISTS "solotick_guard" (resource text COLLATE "C" PRIMARY KEY, token BIGINT NOT NULL)
}

// A job that writes in a transaction that has checked its token.
func ExampleDatabase_Do() {
	var db *sql.DB // of your driver
	table, err := sqlfence.NewTable(sqlfence.PostgreSQL, sqlfence.DefaultName)
	if err != nil {
		fmt.Println(err)
		return
	}
	accounts := table.In(db)
	interest := func(ctx context.Context, run jobs.Run) error {
		err := accounts.Do(ctx, "account-7", run.Token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance * 1.01 WHERE id = 7")
			return err
		})
		if errors.Is(err, fence.ErrStale) {
			return jobs.Permanent(err) // another holder has been here: trying again is of no use
		}
		return err
	}
	_, err = jobs.New("interest", "0 2 1 * *", interest)
	fmt.Println(err)
	// Output: <nil>
}

// A job that writes rows which have a column for the token.
func ExampleColumn_Update() {
	var db *sql.DB // of your driver
	balance, err := sqlfence.NewColumn(sqlfence.PostgreSQL, "account", "id", "token")
	if err != nil {
		fmt.Println(err)
		return
	}
	deposit := func(ctx context.Context, run jobs.Run) error {
		err := balance.Update(ctx, db, 7, run.Token, "balance = balance + $1", 50)
		switch {
		case errors.Is(err, fence.ErrStale):
			return jobs.Permanent(err)
		case errors.Is(err, sql.ErrNoRows):
			return jobs.Permanent(errors.New("there is no account 7"))
		}
		return err
	}
	_, err = jobs.New("deposit", "@hourly", deposit)
	fmt.Println(err)
	// Output: <nil>
}
