package guards

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/sqlfence"
)

func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file::memory:?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own

	table, err := sqlfence.NewTable(sqlfence.SQLite, sqlfence.DefaultName)
	if err != nil {
		log.Fatal(err)
	}
	if err := table.Create(ctx, db); err != nil {
		log.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)"); err != nil {
		log.Fatal(err)
	}

	write := func(token int64, balance int) error {
		return table.In(db).Do(ctx, "account-7", token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO account VALUES (7, ?) ON CONFLICT DO UPDATE SET balance = excluded.balance", balance)
			return err
		})
	}
	fmt.Println("the newer holder writes 100:", write(1002, 100))
	err = write(1001, 50) // the older one has thawed
	fmt.Println("the older one is refused:", errors.Is(err, fence.ErrStale))
	var balance int
	if err := db.QueryRowContext(ctx, "SELECT balance FROM account").Scan(&balance); err != nil {
		log.Fatal(err)
	}
	fmt.Println("balance:", balance)
	// Output:
	// the newer holder writes 100: <nil>
	// the older one is refused: true
	// balance: 100
}
