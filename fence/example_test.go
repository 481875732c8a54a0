package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/solotick/solotick/fence"
)

func Example() {
	ctx := context.Background()
	var memory fence.Memory
	balance := 0
	write := func(token int64, value int) error {
		return memory.Do(ctx, "account-7", token, func() error {
			balance = value
			return nil
		})
	}
	fmt.Println("newer:", write(1002, 100))
	err := write(1001, 50) // the older holder has thawed
	fmt.Println("older:", err)
	if stale, ok := errors.AsType[*fence.StaleError](err); ok {
		fmt.Println("the newest is", stale.Newest)
	}
	fmt.Println("balance:", balance)
	// Output:
	// newer: <nil>
	// older: fence: stale fencing token: "account-7" has seen token 1002, which is newer than 1001; end this run, for another was granted its lease
	// the newest is 1002
	// balance: 100
}
